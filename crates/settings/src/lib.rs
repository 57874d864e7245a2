//! Documented settings.
//!
//! Every setting of the program is declared once, with [`settings!`]: its name, type, default, meaning and (where it
//! has one) its symbol in the paper. The struct, its `Default`, the `--help` text, the commented TOML of
//! `--print-config` and the parser of `--set KEY=VALUE` all come from that declaration, so they cannot disagree.
//! [`choice!`] does the same for settings that take one of a few names.
//!
//! ```
//! epgt_settings::settings! {
//!     /// How the memory is read.
//!     pub struct Memory {
//!         /// Number of neighbours that are averaged.
//!         @ "K"
//!         pub neighbours: usize = 3;
//!     }
//! }
//! use epgt_settings::Settings;
//! let mut memory = Memory::default();
//! memory.assign("neighbours", "5")?;
//! assert_eq!(memory.neighbours, 5);
//! let error = memory.assign("neigbours", "5").unwrap_err();
//! assert_eq!(error.to_string(), "unknown setting 'neigbours'; did you mean 'neighbours'?");
//! # Ok::<(), epgt_settings::SettingError>(())
//! ```

mod error;
mod nearest;
mod text;
mod value;

pub use error::{SettingError, Wanted};
pub use nearest::{UnknownName, nearest, unknown};
pub use text::{clean, clean_line, number, one_line, quoted, shortened};
pub use value::Value;

/// What is known of one setting: enough for a line of help and a line of TOML.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, as written in a configuration file.
    pub key: &'static str,
    /// What it means.
    pub meaning: String,
    /// Its symbol in the paper; empty where it has none.
    pub symbol: &'static str,
    /// Its current value as a TOML literal.
    pub value: String,
    /// The names it accepts, for settings that take one of a few; empty otherwise.
    pub choices: Vec<String>,
}

/// A struct declared by [`settings!`].
pub trait Settings {
    /// Every setting with its current value, in the order of declaration.
    fn entries(&self) -> Vec<Entry>;

    /// Sets one setting from its text; the error is one sentence for the user.
    fn assign(&mut self, key: &str, value: &str) -> Result<(), SettingError>;
}

/// Declares a struct of documented settings; see the crate's documentation for an example.
#[macro_export]
macro_rules! settings {
    (
        $(#[$struct_attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(@ $symbol:literal)?
                pub $field:ident : $type:ty = $default:expr;
            )+
        }
    ) => {
        $(#[$struct_attribute])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::Settings for $name {
            fn entries(&self) -> Vec<$crate::Entry> {
                vec![$($crate::Entry {
                    key: stringify!($field),
                    meaning: [$($doc),+].map(str::trim).join(" "),
                    symbol: concat!($($symbol)?),
                    value: $crate::Value::show(&self.$field),
                    choices: <$type as $crate::Value>::CHOICES.iter().map(|&name| name.to_string()).collect(),
                },)+]
            }

            fn assign(&mut self, key: &str, value: &str) -> Result<(), $crate::SettingError> {
                match key {
                    $(stringify!($field) => {
                        self.$field = $crate::Value::parse(value)
                            .map_err(|wants: $crate::Wanted| $crate::SettingError::value(key, value, wants))?;
                    })+
                    _ => return Err($crate::UnknownName::new("setting", key, &[$(stringify!($field)),+]).into()),
                }
                Ok(())
            }
        }
    };
}

/// Declares an enum whose values are written by name. Other words for one may follow its name: they are not accepted,
/// but whoever writes them is told the name.
///
/// ```
/// epgt_settings::choice! {
///     /// How a hyper-return is written.
///     pub enum WriteRule {
///         /// Weighted average of neighbours.
///         Average = "average",
///         /// The best return seen.
///         Max = "max" | "best",
///     }
/// }
/// use epgt_settings::Value;
/// assert_eq!(WriteRule::parse("max"), Ok(WriteRule::Max));
/// assert!(WriteRule::parse("avrage").unwrap_err().to_string().contains("did you mean 'average'?"));
/// assert!(WriteRule::parse("best").unwrap_err().to_string().contains("did you mean 'max'?"));
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$enum_attribute:meta])*
        pub enum $name:ident {
            $($(#[$attribute:meta])* $variant:ident = $text:literal $(| $also:literal)*,)+
        }
    ) => {
        $(#[$enum_attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$attribute])* $variant,)+
        }

        impl $name {
            /// The name under which it is written.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl $crate::Value for $name {
            const CHOICES: &'static [&'static str] = &[$($text),+];

            fn parse(text: &str) -> Result<Self, $crate::Wanted> {
                match text.trim().trim_matches('"') {
                    $($text => Ok(Self::$variant),)+
                    other => {
                        let also: &[(&str, &str)] = &[$($(($also, $text),)*)+];
                        Err($crate::UnknownName::choice(other, Self::CHOICES, also).into())
                    }
                }
            }

            fn show(&self) -> String {
                format!("\"{}\"", self.name())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    settings! {
        /// A pair of settings.
        pub struct Pair {
            /// How fast
            /// it learns.
            @ "alpha"
            pub rate: f32 = 7e-4;
            /// How wide each layer is.
            pub hidden: Vec<usize> = vec![32, 32];
        }
    }

    #[test]
    fn a_declaration_gives_help_and_defaults() {
        let entries = Pair::default().entries();
        assert_eq!(entries[0].meaning, "How fast it learns.");
        assert_eq!(entries[0].symbol, "alpha");
        assert_eq!(entries[0].value, "0.0007");
        assert_eq!(entries[1].value, "[32, 32]");
        assert_eq!(entries[1].symbol, "");
    }

    #[test]
    fn what_is_shown_parses_back_to_the_same_value() {
        let mut pair = Pair::default();
        pair.assign("rate", "3.25e-9").unwrap();
        pair.assign("hidden", "[64,8]").unwrap();
        let mut copy = Pair::default();
        for entry in pair.entries() {
            copy.assign(entry.key, &entry.value).unwrap();
        }
        assert_eq!(copy, pair);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_its_key() {
        let error = Pair::default().assign("rate", "fast").unwrap_err();
        assert_eq!(
            error.to_string(),
            "rate = fast cannot be used: a number is wanted, such as 0.001 or 1e-3"
        );
    }
}
