//! Values that a setting can have, and their text.

use crate::Wanted;

/// A type that a setting can have. `show` writes a TOML literal and `parse` reads one back (quotes are optional).
///
/// ```
/// use epgt_settings::Value;
/// assert_eq!(usize::parse("10_000"), Ok(10_000));
/// assert_eq!(Option::<usize>::parse("auto"), Ok(None));
/// assert_eq!(0.5f32.show(), "0.5");
/// ```
pub trait Value: Sized {
    /// The accepted names, for types that are one of a few.
    const CHOICES: &'static [&'static str] = &[];

    /// Reads the value; the error says what is wanted.
    fn parse(text: &str) -> Result<Self, Wanted>;

    /// Writes the value as TOML.
    fn show(&self) -> String;
}

macro_rules! number {
    ($($type:ty)+) => {$(
        impl Value for $type {
            fn parse(text: &str) -> Result<Self, Wanted> {
                let text = text.trim().trim_matches('"').replace('_', "");
                let number: Self = text
                    .parse()
                    .map_err(|_| Wanted::from("a number is wanted, such as 0.001 or 1e-3"))?;
                // Infinity may be said, but a number in digits that is too large for the type is not it.
                match number.is_infinite() && text.contains(|character: char| character.is_ascii_digit()) {
                    true => Err(format!("a number of at most {:.1e} is wanted", Self::MAX).into()),
                    false => Ok(number),
                }
            }

            fn show(&self) -> String {
                format!("{self:?}")
            }
        }
    )+};
}

number! { f32 f64 }

impl Value for bool {
    fn parse(text: &str) -> Result<Self, Wanted> {
        let text = text.trim().trim_matches('"');
        text.parse().map_err(|_| Wanted::from("true or false is wanted"))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// The largest whole number that is accepted with an exponent: up to here floating point holds all of them.
const MOST_WHOLE: f64 = 9e15;

macro_rules! whole_number {
    ($($type:ty)+) => {$(
        impl Value for $type {
            fn parse(text: &str) -> Result<Self, Wanted> {
                let text = text.trim().trim_matches('"').replace('_', "");
                let wants = || Wanted::from("a whole number is wanted, such as 16, 100_000 or 1e6");
                if let Ok(number) = text.parse() {
                    return Ok(number);
                }
                let number: f64 = text.parse().map_err(|_| wants())?;
                if number > MOST_WHOLE {
                    return Err(format!("a whole number of at most {} is wanted", crate::number(MOST_WHOLE)).into());
                }
                if number.fract() != 0.0 || !(0.0..=MOST_WHOLE).contains(&number) {
                    return Err(wants());
                }
                Ok(number as $type)
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

whole_number! { usize u64 }

impl Value for String {
    fn parse(text: &str) -> Result<Self, Wanted> {
        Ok(text.trim().trim_matches('"').to_string())
    }

    fn show(&self) -> String {
        // TOML's escapes are not Rust's.
        let escaped: String = self
            .chars()
            .map(|character| match character {
                '"' => "\\\"".to_string(),
                '\\' => "\\\\".to_string(),
                control if control.is_control() => format!("\\u{:04X}", u32::from(control)),
                other => other.to_string(),
            })
            .collect();
        format!("\"{escaped}\"")
    }
}

/// A value that the program works out when it is `auto`.
impl<T: Value> Value for Option<T> {
    fn parse(text: &str) -> Result<Self, Wanted> {
        match text.trim().trim_matches('"') {
            "auto" => Ok(None),
            other => T::parse(other)
                .map(Some)
                .map_err(|wants| format!("\"auto\", or {wants}").into()),
        }
    }

    fn show(&self) -> String {
        match self {
            None => "\"auto\"".to_string(),
            Some(value) => value.show(),
        }
    }
}

/// A list, written `[a, b, c]`; the brackets are optional.
impl<T: Value> Value for Vec<T> {
    fn parse(text: &str) -> Result<Self, Wanted> {
        let inner = text.trim().trim_matches('"');
        let inner = inner.strip_prefix('[').unwrap_or(inner);
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        inner
            .split(',')
            .filter(|item| !item.trim().is_empty())
            .map(T::parse)
            .collect()
    }

    fn show(&self) -> String {
        let items: Vec<String> = self.iter().map(Value::show).collect();
        format!("[{}]", items.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_written_with_an_exponent_but_not_with_a_fraction() {
        assert_eq!(u64::parse("1e6"), Ok(1_000_000));
        assert!(u64::parse("1.5").is_err());
        assert!(u64::parse("-3").is_err());
        assert!(usize::parse("nan").is_err());
        assert_eq!(
            u64::parse("1e300").unwrap_err().to_string(),
            "a whole number of at most 9e15 is wanted"
        );
    }

    #[test]
    fn a_number_too_large_for_its_type_is_not_taken_for_infinity() {
        assert_eq!(
            f32::parse("1e300").unwrap_err().to_string(),
            "a number of at most 3.4e38 is wanted"
        );
        assert_eq!(f64::parse("1e300"), Ok(1e300));
        assert_eq!(
            f64::parse("1e400").unwrap_err().to_string(),
            "a number of at most 1.8e308 is wanted"
        );
        assert_eq!(f64::parse("inf"), Ok(f64::INFINITY));
    }
}
