//! The typeface of pictures: Noto Sans, which comes with the program, so that a picture looks the same whatever fonts the
//! machine has, and its words are measured rather than guessed.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font's file.
pub(super) const FONT: &[u8] = notosans::REGULAR_TTF;

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FONT, 0).ok());

/// One letter of the font.
pub(super) struct Glyph {
    /// Its number in the font; 0 is the box of a letter that the font does not have.
    pub id: u16,
    /// From its beginning to that of the next, in units of the size.
    pub advance: f64,
}

/// The letter of a character.
pub(super) fn glyph(character: char) -> Glyph {
    let found = FACE.as_ref().map(|face| {
        let id = face.glyph_index(character).unwrap_or(GlyphId(0));
        let advance = face.glyph_hor_advance(id).unwrap_or(0);
        (id.0, f64::from(advance) / f64::from(face.units_per_em()))
    });
    let (id, advance) = found.unwrap_or((0, 0.6));
    Glyph { id, advance }
}

/// Draws a letter's outline into `builder`, in units of the font with y upwards.
pub(super) fn outline(id: u16, builder: &mut dyn OutlineBuilder) {
    if let Some(face) = FACE.as_ref() {
        face.outline_glyph(GlyphId(id), builder);
    }
}

/// Units of the font in its size.
pub(super) fn units() -> f64 {
    FACE.as_ref().map_or(1000.0, |face| f64::from(face.units_per_em()))
}

/// How wide a text of this size is.
///
/// ```
/// use epgt_report::chart::width;
/// assert!(width("mmm", 12.0) > width("iii", 12.0));
/// ```
pub fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(|character| glyph(character).advance).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_of_european_languages_and_says_how_wide_they_are() {
        for character in ('!'..='~').chain("äéñøłžβλπΩЖя±×–…".chars()) {
            let glyph = glyph(character);
            assert!(
                glyph.id != 0 && glyph.advance > 0.1 && glyph.advance < 1.5,
                "{character}"
            );
        }
        assert_eq!(glyph('漢').id, 0);
        // The width of its digits in units of 1/1000, as the font's metrics have it.
        assert!((width("0", 1000.0) - 572.0).abs() < 0.5, "{}", width("0", 1000.0));
    }
}
