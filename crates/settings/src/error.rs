//! What can be wrong with a setting, each as one sentence for the user.

use std::fmt;

use crate::{UnknownName, quoted};

/// What a value should have been: a phrase that goes on from "... cannot be used:".
///
/// ```
/// use epgt_settings::{Value, Wanted};
/// assert_eq!(bool::parse("perhaps"), Err(Wanted::from("true or false is wanted")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted(String);

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wanted {}

impl From<&str> for Wanted {
    fn from(phrase: &str) -> Self {
        Self(phrase.to_string())
    }
}

impl From<String> for Wanted {
    fn from(phrase: String) -> Self {
        Self(phrase)
    }
}

impl From<UnknownName> for Wanted {
    fn from(error: UnknownName) -> Self {
        Self(error.to_string())
    }
}

impl From<Wanted> for String {
    fn from(wanted: Wanted) -> Self {
        wanted.0
    }
}

/// Why a setting cannot be assigned.
///
/// ```
/// use epgt_settings::SettingError;
/// let error = SettingError::value("rate", "fast", "a number is wanted");
/// assert_eq!(error.to_string(), "rate = fast cannot be used: a number is wanted");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no setting of this name.
    Unknown(UnknownName),
    /// A setting cannot have this value.
    Value {
        /// The setting.
        key: String,
        /// What was said.
        value: String,
        /// What is wanted instead.
        wants: Wanted,
    },
}

impl SettingError {
    /// A value that a setting cannot have.
    pub fn value(key: &str, value: impl Into<String>, wants: impl Into<Wanted>) -> Self {
        Self::Value {
            key: key.to_string(),
            value: value.into(),
            wants: wants.into(),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Value { key, value, wants } => write!(f, "{key} = {} cannot be used: {wants}", quoted(value)),
        }
    }
}

impl std::error::Error for SettingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unknown(error) => Some(error),
            Self::Value { wants, .. } => Some(wants),
        }
    }
}

impl From<UnknownName> for SettingError {
    fn from(error: UnknownName) -> Self {
        Self::Unknown(error)
    }
}
