//! Drawings as PDF: the light face as lines and words, for a paper. The letters that are used are embedded, as
//! publishers ask for, and can be searched and copied.

mod font;

use std::collections::BTreeMap;
use std::fmt::Write;

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::drawing::{Anchor, Drawing, Mark, Paint};
use super::face::{glyph, width};
use super::palette::{ramp, series, tone};

/// The file of a drawing, one unit of whose lengths is a point. The same drawing gives the same bytes.
///
/// ```
/// use epgt_report::chart::{Anchor, Drawing, Paint, pdf};
/// let mut drawing = Drawing { width: 100.0, height: 50.0, ..Drawing::default() };
/// drawing.text([10.0, 20.0], "return", Paint::Ink, 8.0, Anchor::Start);
/// assert!(pdf::encode(&drawing).starts_with(b"%PDF-1.7"));
/// ```
pub fn encode(drawing: &Drawing) -> Vec<u8> {
    let mut page = Content::default();
    // From here on y runs downwards, as in the drawing.
    page.push(&format!("1 0 0 -1 0 {} cm 1 J 1 j", short(drawing.height)));
    for mark in &drawing.marks {
        page.paint(mark);
    }
    let states: String = page
        .opacities
        .iter()
        .enumerate()
        .fold(String::new(), |mut text, (index, &share)| {
            let share = f64::from(share) / 1000.0;
            let _ = write!(text, "/G{index} <</ca {share} /CA {share}>> ");
            text
        });
    let mut file = File::default();
    file.object("<</Type /Catalog /Pages 2 0 R>>");
    file.object("<</Type /Pages /Kids [3 0 R] /Count 1>>");
    file.object(&format!(
        "<</Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Group <</S /Transparency /CS /DeviceRGB>> \
         /Resources <</Font <</F 5 0 R>> /ExtGState <<{states}>>>>>>",
        short(drawing.width),
        short(drawing.height)
    ));
    file.stream("", page.text.as_bytes());
    font::write(&mut file, &page.letters, 5);
    file.finish(&drawing.title)
}

/// The page's operators, and what they use.
#[derive(Default)]
struct Content {
    text: String,
    /// Thousandths, in the order of their states.
    opacities: Vec<u32>,
    /// The character of every glyph that is shown.
    letters: BTreeMap<u16, char>,
}

impl Content {
    fn push(&mut self, operators: &str) {
        self.text.push_str(operators);
        self.text.push('\n');
    }

    fn paint(&mut self, mark: &Mark) {
        match mark {
            Mark::Line {
                points,
                paint,
                width,
                dash,
                opacity,
            } => {
                let state = self.state(*opacity);
                let lengths: Vec<String> = dash.iter().map(|length| short(length * width)).collect();
                // Round ends would fill the gaps of a pattern.
                let cap = if dash.is_empty() { 1 } else { 0 };
                let path = path(points);
                self.push(&format!(
                    "q {state} gs {} RG {} w {cap} J [{}] 0 d\n{path}S Q",
                    colour(*paint),
                    short(*width),
                    lengths.join(" ")
                ));
            }
            Mark::Area { points, paint, opacity } => {
                let state = self.state(*opacity);
                let path = path(points);
                self.push(&format!("q {state} gs {} rg\n{path}f Q", colour(*paint)));
            }
            Mark::Dot { at, radius, paint } => {
                let state = self.state(1.0);
                self.push(&format!(
                    "q {state} gs {} rg {}f Q",
                    colour(*paint),
                    circle(*at, *radius)
                ));
            }
            Mark::Hint { .. } => {}
            Mark::Text {
                at: [x, y],
                text,
                paint,
                size,
                anchor,
            } => {
                let left = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - width(text, *size) / 2.0,
                    Anchor::End => x - width(text, *size),
                };
                let mut letters = String::new();
                for character in text.chars() {
                    let id = glyph(character).id;
                    self.letters.entry(id).or_insert(character);
                    let _ = write!(letters, "{id:04x}");
                }
                let state = self.state(1.0);
                self.push(&format!(
                    "q {state} gs {} rg BT /F {} Tf 1 0 0 -1 {} {} Tm <{letters}> Tj ET Q",
                    colour(*paint),
                    short(*size),
                    short(left),
                    short(*y)
                ));
            }
        }
    }

    /// The name of the state with an opacity.
    fn state(&mut self, opacity: f64) -> String {
        let share = (1000.0 * opacity.clamp(0.0, 1.0)).round() as u32;
        let place = self.opacities.iter().position(|&other| other == share);
        let index = place.unwrap_or_else(|| {
            self.opacities.push(share);
            self.opacities.len() - 1
        });
        format!("/G{index}")
    }
}

/// The points as a path; what is not finite interrupts it.
fn path(points: &[[f64; 2]]) -> String {
    let mut text = String::new();
    let finite = |point: &[f64; 2]| point.iter().all(|x| x.is_finite());
    for run in points.split(|point| !finite(point)).filter(|run| !run.is_empty()) {
        for (index, [x, y]) in run.iter().enumerate() {
            let operator = if index == 0 { 'm' } else { 'l' };
            let _ = writeln!(text, "{} {} {operator}", short(*x), short(*y));
        }
        if let [[x, y]] = run {
            let _ = writeln!(text, "{} {} l", short(x + 0.5), short(*y));
        }
    }
    text
}

/// A circle of four curves, each off by less than 0.03% of the radius.
fn circle([x, y]: [f64; 2], radius: f64) -> String {
    let pull = 0.552_284_75 * radius;
    let mut text = format!("{} {} m\n", short(x + radius), short(y));
    let (mut from, mut along) = ([1.0, 0.0], [0.0, 1.0]);
    for _ in 0..4 {
        let to: [f64; 2] = along;
        let back = from;
        let point = |a: [f64; 2], by: f64, b: [f64; 2]| {
            format!(
                "{} {}",
                short(x + radius * a[0] + by * b[0]),
                short(y + radius * a[1] + by * b[1])
            )
        };
        let _ = writeln!(
            text,
            "{} {} {} c",
            point(from, pull, along),
            point(to, pull, back),
            point(to, 0.0, back)
        );
        (from, along) = (to, [-to[1], to[0]]);
    }
    text
}

fn colour(paint: Paint) -> String {
    let bytes = match paint {
        Paint::Ink => tone("ink"),
        Paint::Muted => tone("muted"),
        Paint::Grid => tone("grid"),
        Paint::Series(index) => series(index),
        Paint::Ramp(value) => ramp(value),
    };
    bytes.map(|byte| short(f64::from(byte) / 255.0)).join(" ")
}

/// A thousandth of a point is enough.
fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_string()
    } else {
        text.to_string()
    }
}

/// Objects on their way into a file; the first has the number 1.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    /// Where each object begins.
    places: Vec<usize>,
}

impl File {
    fn begin(&mut self) {
        if self.bytes.is_empty() {
            // The second line says that the file is not text.
            self.bytes.extend_from_slice(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n");
        }
        self.places.push(self.bytes.len());
        self.bytes
            .extend_from_slice(format!("{} 0 obj\n", self.places.len()).as_bytes());
    }

    fn object(&mut self, text: &str) {
        self.begin();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(b"\nendobj\n");
    }

    /// Compressed bytes with some entries of their own.
    fn stream(&mut self, entries: &str, bytes: &[u8]) {
        self.begin();
        let packed = compress_to_vec_zlib(bytes, 9);
        let head = format!("<<{entries} /Filter /FlateDecode /Length {}>>\nstream\n", packed.len());
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(&packed);
        self.bytes.extend_from_slice(b"\nendstream\nendobj\n");
    }

    fn finish(mut self, title: &str) -> Vec<u8> {
        // UTF-16, of which any text is made.
        let letters = title.encode_utf16().fold("feff".to_string(), |mut text, unit| {
            let _ = write!(text, "{unit:04x}");
            text
        });
        self.object(&format!("<</Title <{letters}> /Producer (epgt)>>"));
        let start = self.bytes.len();
        let (count, info) = (self.places.len() + 1, self.places.len());
        let mut tail = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for place in &self.places {
            let _ = writeln!(tail, "{place:010} 00000 n ");
        }
        let _ = write!(
            tail,
            "trailer\n<</Size {count} /Root 1 0 R /Info {info} 0 R>>\nstartxref\n{start}\n%%EOF\n"
        );
        self.bytes.extend_from_slice(tail.as_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec_zlib;

    fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
        bytes.windows(part.len()).position(|window| window == part)
    }

    fn drawing() -> Drawing {
        let mut drawing = Drawing {
            width: 200.0,
            height: 100.0,
            title: "λ (a\\b) <title>".to_string(),
            ..Drawing::default()
        };
        drawing.text([10.0, 20.0], "return (λ) é", Paint::Ink, 8.0, Anchor::Middle);
        drawing.line(
            vec![[0.0, 0.0], [f64::NAN, 1.0], [3.0, 4.0], [5.0, 6.0]],
            Paint::Series(3),
            1.0,
        );
        drawing.marks.push(Mark::Dot {
            at: [50.0, 50.0],
            radius: 3.0,
            paint: Paint::Ramp(0.5),
        });
        drawing
    }

    #[test]
    fn every_object_is_where_the_table_says() {
        let file = encode(&drawing());
        let table = find(&file, b"xref\n").unwrap();
        let text = String::from_utf8_lossy(&file[table..]).into_owned();
        assert!(text.ends_with(&format!("startxref\n{table}\n%%EOF\n")));
        let rows: Vec<usize> = text
            .lines()
            .filter(|line| line.ends_with(" n "))
            .map(|line| line[..10].parse().unwrap())
            .collect();
        assert_eq!(rows.len(), 10);
        for (index, place) in rows.iter().enumerate() {
            let head = format!("{} 0 obj\n", index + 1);
            assert!(file[*place..].starts_with(head.as_bytes()), "object {}", index + 1);
        }
    }

    #[test]
    fn streams_unpack_and_the_font_holds_the_letters_that_are_used() {
        let file = encode(&drawing());
        let mut streams = Vec::new();
        let mut rest = &file[..];
        while let Some(at) = find(rest, b"stream\n") {
            let end = at + find(&rest[at..], b"\nendstream").unwrap();
            streams.push(decompress_to_vec_zlib(&rest[at + 7..end]).unwrap());
            rest = &rest[end + 10..];
        }
        let page = String::from_utf8(streams[0].clone()).unwrap();
        assert!(page.contains("BT /F 8 Tf") && !page.contains("NaN"), "{page}");
        let face = ttf_parser::Face::parse(&streams[1], 0).unwrap();
        let count = |letter| {
            struct Count(usize);
            impl ttf_parser::OutlineBuilder for Count {
                fn move_to(&mut self, _: f32, _: f32) {
                    self.0 += 1;
                }
                fn line_to(&mut self, _: f32, _: f32) {}
                fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {}
                fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
                fn close(&mut self) {}
            }
            let mut count = Count(0);
            face.outline_glyph(ttf_parser::GlyphId(glyph(letter).id), &mut count);
            count.0
        };
        // The e with its accent is made of two glyphs, which are there too.
        assert_eq!(
            ("rλé".chars().map(count).collect::<Vec<_>>(), count('z')),
            (vec![1, 1, 3], 0)
        );
        let unicode = String::from_utf8(streams[2].clone()).unwrap();
        assert!(unicode.contains("<03bb>") && unicode.contains("<00e9>"), "{unicode}");
        assert!(file.len() < 30_000, "{}", file.len());
    }
}
