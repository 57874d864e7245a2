//! A small typeface of strokes, so that PNG pictures need no font of the machine they are made on.
//!
//! A letter is a few strokes on a grid: x to the right, y downwards, capitals from 0 to the baseline at 6, small
//! letters from 2, descenders to 8. A stroke is a list of points, each two digits `xy`; strokes are separated by a
//! comma.

/// Grid units between the baseline and the top of a capital.
pub const CAPITAL: f64 = 6.0;

/// The strokes of a character; a box for one that is not known.
fn strokes(character: char) -> &'static str {
    match character {
        ' ' => "",
        '0' => "10 30 41 45 36 16 05 01 10,32 14",
        '1' => "01 20 26,06 46",
        '2' => "01 10 30 41 42 06 46",
        '3' => "00 40 22 32 43 45 36 16 05",
        '4' => "36 30 04 44",
        '5' => "40 00 02 32 43 45 36 16 05",
        '6' => "30 20 02 05 16 36 45 44 33 03",
        '7' => "00 40 16",
        '8' => "10 30 41 42 33 13 04 05 16 36 45 44 33,13 02 01 10",
        '9' => "16 26 44 41 30 10 01 02 13 43",
        'A' => "06 20 46,14 34",
        'B' => "00 06 36 45 44 33 03,33 42 41 30 00",
        'C' => "41 30 10 01 05 16 36 45",
        'D' => "00 06 26 44 42 20 00",
        'E' => "40 00 06 46,03 33",
        'F' => "40 00 06,03 33",
        'G' => "41 30 10 01 05 16 36 45 43 23",
        'H' => "00 06,40 46,03 43",
        'I' => "10 30,20 26,16 36",
        'J' => "40 45 36 16 05",
        'K' => "00 06,40 03 46",
        'L' => "00 06 46",
        'M' => "06 00 23 40 46",
        'N' => "06 00 46 40",
        'O' => "10 30 41 45 36 16 05 01 10",
        'P' => "06 00 30 41 42 33 03",
        'Q' => "10 30 41 45 36 16 05 01 10,24 46",
        'R' => "06 00 30 41 42 33 03,23 46",
        'S' => "41 30 10 01 02 13 33 44 45 36 16 05",
        'T' => "00 40,20 26",
        'U' => "00 05 16 36 45 40",
        'V' => "00 26 40",
        'W' => "00 16 23 36 40",
        'X' => "00 46,40 06",
        'Y' => "00 23 40,23 26",
        'Z' => "00 40 06 46",
        'a' => "12 22 33 36,34 14 05 16 26 35",
        'b' => "00 06,03 12 22 33 35 26 16 05",
        'c' => "33 22 12 03 05 16 26 35",
        'd' => "30 36,33 22 12 03 05 16 26 35",
        'e' => "04 34 33 22 12 03 05 16 26 35",
        'f' => "30 20 11 16,02 22",
        'g' => "32 37 28 18 07,33 22 12 03 05 16 26 35",
        'h' => "00 06,03 12 22 33 36",
        'i' => "02 06,00 00",
        'j' => "12 17 08,10 10",
        'k' => "00 06,32 04 36",
        'l' => "00 05 16",
        'm' => "06 02,03 12 23 26,23 32 43 46",
        'n' => "06 02,03 12 22 33 36",
        'o' => "12 22 33 35 26 16 05 03 12",
        'p' => "08 02,03 12 22 33 35 26 16 05",
        'q' => "38 32,33 22 12 03 05 16 26 35",
        'r' => "06 02,03 12 22",
        's' => "32 12 03 24 35 26 06",
        't' => "10 15 26,02 22",
        'u' => "02 05 16 26 35,32 36",
        'v' => "02 16 32",
        'w' => "02 16 23 36 42",
        'x' => "02 36,32 06",
        'y' => "02 05 16 26 35,32 37 28 08",
        'z' => "02 32 06 36",
        '.' => "06 06",
        ',' => "05 06 07",
        ':' => "03 03,06 06",
        ';' => "03 03,05 06 07",
        '-' => "04 24",
        '…' => "06 06,26 26,46 46",
        '–' | '—' => "04 44",
        '+' => "04 44,22 26",
        '±' => "03 43,21 25,06 46",
        '=' => "03 43,05 45",
        '_' => "07 47",
        '/' => "06 30",
        '\\' => "00 36",
        '|' => "00 08",
        '(' => "10 02 05 17",
        ')' => "00 12 15 07",
        '[' => "10 00 07 17",
        ']' => "00 10 17 07",
        '{' => "20 11 13 04 15 16 27",
        '}' => "00 11 13 24 15 16 07",
        '<' => "32 04 36",
        '>' => "02 34 06",
        '%' => "06 40,00 10 11 01 00,35 45 46 36 35",
        '*' => "11 33,31 13,20 24",
        '\'' => "00 01",
        '"' => "00 01,20 21",
        '!' => "00 04,06 06",
        '?' => "01 10 20 31 32 14,16 16",
        '#' => "10 16,30 36,02 42,04 44",
        '&' => "46 11 20 31 04 05 16 26 44",
        '@' => "34 23 14 25 34 35 44 41 30 10 01 05 16 36",
        '^' => "02 20 42",
        '~' => "04 13 34 43",
        '$' => "41 30 10 01 02 13 33 44 45 36 16 05,20 26",
        _ => "00 40 46 06 00",
    }
}

/// The strokes of a character in grid units, and how far the next one is moved.
pub fn glyph(character: char) -> (impl Iterator<Item = Vec<[f64; 2]>>, f64) {
    let text = strokes(character);
    let digit = |byte: u8| f64::from(byte - b'0');
    let widest = text.split([' ', ',']).filter_map(|point| point.bytes().next());
    let advance = widest.map(digit).fold(0.0, f64::max);
    let lines = text.split(',').filter(|line| !line.is_empty()).map(move |line| {
        let point = |point: &str| [digit(point.as_bytes()[0]), digit(point.as_bytes()[1])];
        line.split(' ').map(point).collect()
    });
    (lines, if text.is_empty() { 2.6 } else { advance + 1.7 })
}

/// The width of a text in grid units.
pub fn width(text: &str) -> f64 {
    text.chars().map(|character| glyph(character).1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_letter_has_strokes_on_the_grid_and_none_is_a_box() {
        for character in ('!'..='~').filter(|c| *c != '`') {
            assert_ne!(strokes(character), strokes('\u{7f}'), "{character}");
            let (lines, advance) = glyph(character);
            let points: Vec<[f64; 2]> = lines.flatten().collect();
            assert!(points.len() >= 2 && advance > 0.0, "{character}");
            assert!(points.iter().all(|[x, y]| *x <= 4.0 && *y <= 8.0), "{character}");
        }
    }
}
