//! Drawings as PNG: the light face on white.

use std::fmt;

use tiny_skia::{Color, FillRule, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use super::drawing::{Anchor, Drawing, Mark, Paint};
use super::face::{glyph, outline, units, width};
use super::palette::{ramp, series, tone};

/// Pixels of a file per pixel of a drawing for the screen.
pub const SCREEN: f64 = 2.0;

/// Pixels of a file per point of a drawing for paper: 400 to the inch.
pub const PAPER: f64 = 400.0 / 72.0;

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

/// The file of a drawing, with so many pixels per unit of its lengths.
///
/// ```
/// use epgt_report::chart::{Drawing, png};
/// let drawing = Drawing { width: 30.0, height: 20.0, ..Drawing::default() };
/// let file = png::encode(&drawing, png::SCREEN)?;
/// assert_eq!(&file[1..4], b"PNG");
/// # Ok::<(), png::PngError>(())
/// ```
pub fn encode(drawing: &Drawing, density: f64) -> Result<Vec<u8>, PngError> {
    let size = |length: f64| (length * density).ceil().max(1.0) as u32;
    let (width, height) = (size(drawing.width), size(drawing.height));
    let mut canvas = Pixmap::new(width, height).ok_or(PngError::TooLarge { width, height })?;
    canvas.fill(Color::WHITE);
    for mark in &drawing.marks {
        paint(&mut canvas, mark, Transform::from_scale(density as f32, density as f32));
    }
    canvas
        .encode_png()
        .map_err(|error| PngError::Encoding(error.to_string()))
}

fn paint(canvas: &mut Pixmap, mark: &Mark, zoom: Transform) {
    match mark {
        Mark::Line {
            points,
            paint,
            width,
            dash,
            opacity,
        } => {
            let lengths: Vec<f32> = dash.iter().map(|length| (length * width) as f32).collect();
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
        } => {
            let left = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -width(text, *size) / 2.0,
                Anchor::End => -width(text, *size),
            };
            if let Some(path) = words(text, [at[0] + left, at[1]], *size) {
                canvas.fill_path(&path, &brush(*paint, 1.0), FillRule::Winding, zoom, None);
            }
        }
    }
}

/// The outlines of a text that begins at a place.
fn words(text: &str, at: [f64; 2], size: f64) -> Option<Path> {
    let mut outlines = Outlines {
        path: PathBuilder::new(),
        at,
        unit: size / units(),
    };
    for character in text.chars() {
        let glyph = glyph(character);
        outline(glyph.id, &mut outlines);
        outlines.at[0] += glyph.advance * size;
    }
    outlines.path.finish()
}

/// Letters on their way into a path: the font's y runs upwards.
struct Outlines {
    path: PathBuilder,
    at: [f64; 2],
    unit: f64,
}

impl Outlines {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let [left, baseline] = self.at;
        (
            (left + f64::from(x) * self.unit) as f32,
            (baseline - f64::from(y) * self.unit) as f32,
        )
    }
}

impl OutlineBuilder for Outlines {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
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
        Paint::Ink => tone("ink"),
        Paint::Muted => tone("muted"),
        Paint::Grid => tone("grid"),
        Paint::Series(index) => series(index),
        Paint::Ramp(value) => ramp(value),
    };
    let mut brush = Brush::default();
    brush.set_color_rgba8(r, g, b, (255.0 * opacity.clamp(0.0, 1.0)).round() as u8);
    brush
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
        let picture = Pixmap::decode_png(&encode(&drawing, 2.0).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (80, 80));
        let at = |x, y| picture.pixel(x, y).map(|p| (p.red(), p.green(), p.blue())).unwrap();
        let [r, g, b] = series(0);
        assert_eq!(at(20, 60), (r, g, b));
        assert_eq!(at(70, 10), (255, 255, 255));
        assert!((60..66).any(|x| at(x, 50).0 < 128), "the letter's stem");
    }
}
