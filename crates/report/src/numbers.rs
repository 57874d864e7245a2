//! Numbers as people read them.

/// A hyperparameter's value with at most four digits: `7e-4`, `0.99`, `2.333e-4`.
pub fn short(x: f64) -> String {
    if !x.is_finite() {
        return "-".to_string();
    }
    if x != 0.0 && !(1e-2..1e6).contains(&x.abs()) {
        let text = format!("{x:.3e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    without_zeros(&fixed(x, decimals(x))).to_string()
}

/// Numbers of one column: as many decimals for all as the largest needs to show four digits.
pub fn column(values: impl Iterator<Item = f64> + Clone) -> impl Fn(f64) -> String {
    let largest = values
        .filter(|x| x.is_finite())
        .fold(0.0, |most: f64, x| most.max(x.abs()));
    move |x| match x.is_finite() {
        true => fixed(x, decimals(largest)),
        false => "-".to_string(),
    }
}

/// A number with two decimals; a dash where it is none.
///
/// ```
/// use epgt_report::numbers::hundredths;
/// assert_eq!([hundredths(9.199), hundredths(f64::NAN)], ["9.20", "-"]);
/// ```
pub fn hundredths(x: f64) -> String {
    match x.is_finite() {
        true => format!("{x:.2}"),
        false => "-".to_string(),
    }
}

/// A large number to two digits, with its thousands apart; a dash where it is none.
///
/// ```
/// use epgt_report::numbers::rounded;
/// assert_eq!([rounded(194_700.0), rounded(1.25e6), rounded(f64::NAN)], ["190,000", "1,300,000", "-"]);
/// ```
pub fn rounded(x: f64) -> String {
    if !x.is_finite() {
        return "-".to_string();
    }
    let unit = 10.0_f64.powi((x.abs().max(1.0).log10().floor() as i32 - 1).max(0));
    let digits = format!("{:.0}", (x / unit).round() * unit);
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        let left = digits.len() - i;
        if text.ends_with(|c: char| c.is_ascii_digit()) && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With its sign, for changes.
pub fn signed(x: f64) -> String {
    match x >= 0.0 {
        true => format!("+{}", short(x)),
        false => short(x),
    }
}

/// `one`, `many` as the count wants it.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    // A number that rounds to nothing has no sign.
    match text.trim_matches(['-', '0', '.']).is_empty() {
        true => format!("{:.decimals$}", 0.0),
        false => text,
    }
}

/// Decimals that show four digits of `x`.
fn decimals(x: f64) -> usize {
    match x.abs() {
        x if x > 0.0 => (3 - x.log10().floor() as i32).clamp(0, 9) as usize,
        _ => 1,
    }
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_a_user_would_write_them() {
        let shown: Vec<String> = [7e-4, 0.99, 0.0, 7e-4 / 3.0, 2048.0, -0.25, 1e7, f64::NAN]
            .map(short)
            .into();
        assert_eq!(shown, ["7e-4", "0.99", "0", "2.333e-4", "2048", "-0.25", "1e7", "-"]);
        assert_eq!(signed(0.5), "+0.5");
    }

    #[test]
    fn a_column_has_the_same_decimals_throughout_and_no_negative_zero() {
        let values = [0.0123, -0.00042, -1e-9, f64::NAN];
        let shown: Vec<String> = values.iter().map(|&x| column(values.into_iter())(x)).collect();
        assert_eq!(shown, ["0.01230", "-0.00042", "0.00000", "-"]);
    }
}
