//! What a message may quote: numbers as a person writes them, and texts of any length and content in one short line.

use std::fmt::{Display, LowerExp};

/// The most characters of a text that a message quotes.
const MOST_QUOTED: usize = 60;

/// A number in the middle of a sentence: in digits where they are few, else with an exponent.
///
/// ```
/// use epgt_settings::number;
/// assert_eq!([number(1e300), number(0.25), number(100_000.0), number(0.0)], ["1e300", "0.25", "100000", "0"]);
/// assert_eq!([number(1e-7f32), number(0.1f32), number(f32::INFINITY)], ["1e-7", "0.1", "inf"]);
/// ```
pub fn number<T: Display + LowerExp + Into<f64> + Copy>(x: T) -> String {
    let size: f64 = x.into().abs();
    match size == 0.0 || (1e-5..1e15).contains(&size) || !size.is_finite() {
        true => format!("{x}"),
        false => format!("{x:e}"),
    }
}

/// A text that came from outside, for the middle of a sentence: no line breaks or other control characters, and not more than
/// some words of it.
///
/// ```
/// use epgt_settings::quoted;
/// assert_eq!(quoted("fast"), "fast");
/// assert_eq!(quoted("a\nb\x1b[2J"), "a b [2J");
/// assert_eq!(quoted(&"x".repeat(1_000_000)), format!("{}... (1000000 bytes)", "x".repeat(60)));
/// ```
pub fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_QUOTED).map(printable).collect();
    if text.len() > short.len() && text.chars().nth(MOST_QUOTED).is_some() {
        short.push_str(&format!("... ({} bytes)", text.len()));
    }
    short
}

/// A message for a terminal: whatever was quoted in it does nothing to the terminal. Lines stay lines.
///
/// ```
/// use epgt_settings::harmless;
/// assert_eq!(harmless("first\r\nsecond\x07"), "first \nsecond ");
/// ```
pub fn harmless(text: &str) -> String {
    let character = |character| if character == '\n' { '\n' } else { printable(character) };
    text.chars().map(character).collect()
}

/// The character itself, or a space for one that moves the cursor or rings the bell.
fn printable(character: char) -> char {
    // Marks that reverse the direction of writing are no controls to Unicode, but make a line read as something else.
    let reverses = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match character.is_control() || reverses || matches!(character, '\u{2028}' | '\u{2029}') {
        true => ' ',
        false => character,
    }
}
