//! Drawings as PNG: the light face on white, twice as fine as the SVG's pixels.

use std::fmt;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::drawing::{Anchor, Drawing, Mark, Paint, dash, ramp};
use super::font;
use super::svg::{SERIES, TONES};

/// Pixels of the file per pixel of the drawing.
const FINE: f32 = 2.0;

/// Why a drawing has no file.
#[derive(Clone, Debug, PartialEq)]
pub enum PngError {
    /// It has too many pixels.
    TooLarge {
        /// Pixels of the file from left to right.
        width: u32,
        /// From top to bottom.
        height: u32,
    },
    /// The encoder refuses it, with this sentence.
    Encoding(String),
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { width, height } => write!(f, "a picture of {width} x {height} pixels is too large"),
            Self::Encoding(sentence) => write!(f, "cannot make a PNG: {sentence}"),
        }
    }
}

impl std::error::Error for PngError {}

/// The file of a drawing.
///
/// ```
/// use epgt_report::chart::{Drawing, png};
/// let drawing = Drawing { width: 30.0, height: 20.0, ..Drawing::default() };
/// let file = png::encode(&drawing)?;
/// assert_eq!(&file[1..4], b"PNG");
/// # Ok::<(), png::PngError>(())
/// ```
pub fn encode(drawing: &Drawing) -> Result<Vec<u8>, PngError> {
    let size = |length: f64| (length as f32 * FINE).ceil().max(1.0) as u32;
    let (width, height) = (size(drawing.width), size(drawing.height));
    let mut canvas = Pixmap::new(width, height).ok_or(PngError::TooLarge { width, height })?;
    canvas.fill(Color::WHITE);
    for mark in &drawing.marks {
        paint(&mut canvas, mark);
    }
    canvas
        .encode_png()
        .map_err(|error| PngError::Encoding(error.to_string()))
}

fn paint(canvas: &mut Pixmap, mark: &Mark) {
    let zoom = Transform::from_scale(FINE, FINE);
    match mark {
        Mark::Line {
            points,
            paint,
            width,
            dash: pattern,
            opacity,
        } => {
            let lengths: Vec<f32> = dash(*pattern).iter().map(|&length| length as f32).collect();
            let stroke = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(lengths, 0.0),
                ..Stroke::default()
            };
            if let Some(path) = path(points, false) {
                canvas.stroke_path(&path, &brush(*paint, *opacity), &stroke, zoom, None);
            }
        }
        Mark::Area { points, paint, opacity } => {
            if let Some(path) = path(points, true) {
                canvas.fill_path(&path, &brush(*paint, *opacity), FillRule::Winding, zoom, None);
            }
        }
        Mark::Dot { at, radius, paint } => {
            if let Some(path) = PathBuilder::from_circle(at[0] as f32, at[1] as f32, *radius as f32) {
                canvas.fill_path(&path, &brush(*paint, 1.0), FillRule::Winding, zoom, None);
            }
        }
        Mark::Hint { .. } => {}
        Mark::Text {
            at,
            text,
            paint,
            size,
            anchor,
            upwards,
        } => {
            // Capitals of common typefaces are about 0.7 of their size.
            let unit = 0.7 * size / font::CAPITAL;
            let start = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -font::width(text) / 2.0,
                Anchor::End => -font::width(text),
            };
            let (x, y) = (at[0] as f32, at[1] as f32);
            let turn = if *upwards {
                Transform::from_rotate_at(-90.0, x, y)
            } else {
                Transform::identity()
            };
            let stroke = Stroke {
                width: (0.1 * size) as f32,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                ..Stroke::default()
            };
            if let Some(path) = words(text, *at, start, unit) {
                canvas.stroke_path(&path, &brush(*paint, 1.0), &stroke, turn.post_concat(zoom), None);
            }
        }
    }
}

/// The strokes of a text whose first letter is `start` grid units from its place.
fn words(text: &str, at: [f64; 2], start: f64, unit: f64) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let mut left = start;
    for character in text.chars() {
        let (lines, advance) = font::glyph(character);
        for line in lines {
            let place = |[x, y]: [f64; 2]| [at[0] + (left + x) * unit, at[1] + (y - font::CAPITAL) * unit];
            for (index, point) in line.iter().enumerate() {
                let [x, y] = place(*point).map(|x| x as f32);
                match index {
                    0 => builder.move_to(x, y),
                    // A point is a stroke without length, which would not be painted.
                    _ => builder.line_to(x + 0.01, y),
                }
            }
        }
        left += advance;
    }
    builder.finish()
}

/// A path through the finite points; gaps where they are not.
fn path(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let mut drawing = false;
    for point in points {
        let [x, y] = point.map(|x| x as f32);
        match (x.is_finite() && y.is_finite(), drawing) {
            (true, true) => builder.line_to(x, y),
            (true, false) => builder.move_to(x, y),
            (false, _) => {}
        }
        drawing = x.is_finite() && y.is_finite();
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn brush(paint: Paint, opacity: f64) -> Brush<'static> {
    let [r, g, b] = match paint {
        Paint::Ink => hexadecimal(TONES[0].1),
        Paint::Muted => hexadecimal(TONES[1].1),
        Paint::Grid => hexadecimal(TONES[2].1),
        Paint::Series(index) => hexadecimal(SERIES[index % SERIES.len()].0),
        Paint::Ramp(value) => ramp(value),
    };
    let mut brush = Brush::default();
    brush.set_color_rgba8(r, g, b, (255.0 * opacity.clamp(0.0, 1.0)).round() as u8);
    brush
}

/// `#rrggbb` as numbers.
fn hexadecimal(colour: &str) -> [u8; 3] {
    let number = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or(0);
    [(number >> 16) as u8, (number >> 8) as u8, number as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_painted_where_its_marks_are() {
        let mut drawing = Drawing {
            width: 40.0,
            height: 40.0,
            ..Drawing::default()
        };
        let corners = vec![[0.0, 0.0], [20.0, 0.0], [20.0, 40.0], [0.0, 40.0]];
        drawing.marks.push(Mark::Area {
            points: corners,
            paint: Paint::Series(0),
            opacity: 1.0,
        });
        drawing.line(vec![[0.0, 0.0], [f64::NAN, 0.0]], Paint::Ink, 1.0);
        drawing.text([30.0, 30.0], "l", Paint::Ink, 12.0, Anchor::Start);
        let picture = Pixmap::decode_png(&encode(&drawing).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (80, 80));
        let at = |x, y| picture.pixel(x, y).map(|p| (p.red(), p.green(), p.blue())).unwrap();
        assert_eq!(at(20, 60), (0, 0x72, 0xb2));
        assert_eq!(at(70, 10), (255, 255, 255));
        assert!(at(60, 50).0 < 128, "the letter's stem: {:?}", at(60, 50));
    }
}
