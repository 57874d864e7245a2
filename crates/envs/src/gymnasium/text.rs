//! What a worker says, made fit to be shown: all of it is read as a [`Line`] or as [`Lines`], or goes through
//! [`clean`](epgt_settings::clean); so none of it reaches the terminal as it came.

use epgt_settings::{clean, clean_line};
use serde::{Deserialize, Deserializer};

/// Characters of a sentence that a worker may say.
const SENTENCE: usize = 2100;
/// Characters of all that may stand below it.
const BELOW: usize = 10_000;

/// One line of a worker's, cleaned as it is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line(pub String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Self(clean_line(&String::deserialize(source)?, SENTENCE)))
    }
}

/// Several lines of a worker's, cleaned as they are read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lines(pub String);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Self(clean(&String::deserialize(source)?, BELOW)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_says_is_clean_once_it_is_read() {
        let line: Line = serde_json::from_str(r#""a\u001b[31m\nb""#).unwrap();
        assert_eq!(line.0, r"a\u{1b}[31m b");
        let lines: Lines = serde_json::from_str(r#""a\u001b\nb""#).unwrap();
        assert_eq!(lines.0, "a\\u{1b}\nb");
    }
}
