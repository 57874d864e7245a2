//! What a message may quote: numbers as a person writes them, and text that others have written, made fit to be shown:
//! short, and without anything that a terminal would obey.

use std::fmt::{Display, LowerExp};

/// The most characters of a text that a message quotes.
const MOST_QUOTED: usize = 60;

/// At most `most` characters of a text. Characters that move the cursor, change colours or reverse the writing become
/// their codes; ends of lines and tabs stay.
///
/// ```
/// assert_eq!(epgt_settings::clean("\u{1b}[31mred and more", 8), r"\u{1b}[31mred...");
/// ```
pub fn clean(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let mut characters = text.chars().peekable();
    let mut count = 0;
    while let Some(character) = characters.next() {
        if count == most {
            kept.push_str("...");
            break;
        }
        count += 1;
        match character {
            '\n' | '\t' => kept.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            character if disturbs(character) => kept.extend(character.escape_unicode()),
            character => kept.push(character),
        }
    }
    kept
}

/// The same on one line.
///
/// ```
/// assert_eq!(epgt_settings::clean_line("one\ntwo", 100), "one two");
/// ```
pub fn clean_line(text: &str, most: usize) -> String {
    // A text of any length costs no more than what is kept of it.
    let start: String = text.chars().take(most.saturating_add(1)).collect();
    clean(&start.replace(['\n', '\r', '\t'], " "), most)
}

/// All of a text on one line, for a name in a table or on a page: without space around it, and without the characters
/// that [`clean`] shows as codes.
///
/// ```
/// assert_eq!(epgt_settings::one_line(" two\r\nlines\x1b[31m "), "two  lines[31m");
/// ```
pub fn one_line(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|character| match character {
        '\n' | '\r' | '\t' => Some(' '),
        character if disturbs(character) => None,
        character => Some(character),
    });
    kept.collect()
}

/// A text of at most so many characters; of a longer one its two ends, which say what it is about and what of it.
///
/// ```
/// assert_eq!(epgt_settings::shortened("abc", 3), "abc");
/// assert_eq!(epgt_settings::shortened("abcdefghijk", 9), "abcd...jk");
/// ```
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_string();
    }
    let kept = most.saturating_sub(3);
    let tail = kept / 3;
    let ends = text.chars().take(kept - tail).chain("...".chars());
    ends.chain(text.chars().skip(count - tail)).collect()
}

/// A text that came from outside, for the middle of a sentence: one line, and not more than some words of it.
///
/// ```
/// use epgt_settings::quoted;
/// assert_eq!(quoted("fast"), "fast");
/// assert_eq!(quoted(&"x".repeat(1_000_000)), format!("{}... (1000000 bytes)", "x".repeat(60)));
/// ```
pub fn quoted(text: &str) -> String {
    let short = clean_line(text, MOST_QUOTED);
    match text.chars().nth(MOST_QUOTED) {
        Some(_) => format!("{short} ({} bytes)", text.len()),
        None => short,
    }
}

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

/// Control characters, and those that change the direction of what follows or break lines without being ends of lines.
fn disturbs(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_a_code() {
        assert_eq!(clean("\u{1b}[2Jred\u{7}\0", 100), r"\u{1b}[2Jred\u{7}\u{0}");
        assert_eq!(clean("a\u{9b}31m\u{202e}b", 100), r"a\u{9b}31m\u{202e}b");
        assert_eq!(clean("10%\r20%\r\ndone\tnow", 100), "10%\n20%\ndone\tnow");
        assert_eq!(clean_line("one\ntwo\r\nthree", 100), "one two  three");
        assert_eq!(clean("größer als 漢字", 100), "größer als 漢字");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(clean(&"k".repeat(1_000_000), 5), "kkkkk...");
        assert_eq!(clean_line(&"k".repeat(1_000_000), 5), "kkkkk...");
        assert_eq!(clean("kkkkk", 5), "kkkkk");
    }
}
