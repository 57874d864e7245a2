//! Drawings as SVG, within a page or as files of their own.

use std::fmt::Write;

use super::drawing::{Anchor, Drawing, Mark, Paint};
use super::palette::{SERIES, dash, ramp, rules};
use crate::text::html;

/// Typefaces that are no wider than the one that words are measured by.
const FONTS: &str = "Noto Sans,Segoe UI,Roboto,Helvetica,Arial,sans-serif";

/// A picture to be put into a page that has the [stylesheet](crate::style::stylesheet).
pub fn inline(drawing: &Drawing) -> String {
    let (width, height) = (fine(drawing.width), fine(drawing.height));
    write(drawing, &format!(" width=\"{width}\" height=\"{height}\""), "")
}

/// The line of a method, to stand before its name.
///
/// ```
/// assert!(epgt_report::chart::svg::swatch(1).contains("var(--s1)"));
/// ```
pub fn swatch(index: usize) -> String {
    let lengths: Vec<String> = dash(index).iter().map(|length| short(length * 2.6)).collect();
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><path d=\"M0 4h28\" style=\"stroke:{}\" \
         stroke-width=\"2.6\" stroke-dasharray=\"{}\"/></svg>",
        colour(Paint::Series(index)),
        lengths.join(" ")
    )
}

/// A picture that is a file of its own, whose unit is a pixel or, on `paper`, a point.
///
/// ```
/// use epgt_report::chart::{Drawing, svg};
/// let drawing = Drawing { width: 100.0, height: 50.0, title: "a < b".to_string(), marks: vec![] };
/// assert!(svg::standalone(&drawing, false).contains("<title>a &lt; b</title>"));
/// ```
pub fn standalone(drawing: &Drawing, paper: bool) -> String {
    let unit = if paper { "pt" } else { "" };
    let (width, height) = (fine(drawing.width), fine(drawing.height));
    let size = format!(" width=\"{width}{unit}\" height=\"{height}{unit}\"");
    let ground = "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>";
    write(drawing, &size, &format!("<style>{}</style>{ground}", rules()))
}

fn write(drawing: &Drawing, size: &str, before: &str) -> String {
    let (width, height) = (fine(drawing.width), fine(drawing.height));
    let title = html(&drawing.title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"{size} \
         role=\"img\" aria-label=\"{title}\" font-family=\"{FONTS}\">\
         <title>{title}</title>{before}\n"
    );
    for mark in &drawing.marks {
        push(&mut text, mark);
    }
    text.push_str("</svg>\n");
    text
}

fn push(text: &mut String, mark: &Mark) {
    let _ = match mark {
        Mark::Line {
            points,
            paint,
            width,
            dash,
            opacity,
        } => {
            let path = path(points);
            if path.is_empty() {
                return;
            }
            let mut more = String::new();
            if !dash.is_empty() {
                let lengths: Vec<String> = dash.iter().map(|length| short(length * width)).collect();
                let _ = write!(more, " stroke-dasharray=\"{}\"", lengths.join(" "));
            }
            if *opacity < 1.0 {
                let _ = write!(more, " opacity=\"{opacity}\"");
            }
            writeln!(
                text,
                "<path d=\"{path}\" style=\"stroke:{}\" stroke-width=\"{}\" fill=\"none\" stroke-linejoin=\"round\"{more}/>",
                colour(*paint),
                fine(*width)
            )
        }
        Mark::Area { points, paint, opacity } => writeln!(
            text,
            "<path d=\"{}Z\" style=\"fill:{}\" opacity=\"{opacity}\"/>",
            path(points),
            colour(*paint)
        ),
        Mark::Dot { at, radius, paint } => writeln!(
            text,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" style=\"fill:{}\"/>",
            short(at[0]),
            short(at[1]),
            fine(*radius),
            colour(*paint)
        ),
        Mark::Hint { at, text: words } => writeln!(
            text,
            "<circle cx=\"{}\" cy=\"{}\" r=\"7\" fill=\"transparent\"><title>{}</title></circle>",
            short(at[0]),
            short(at[1]),
            html(words)
        ),
        Mark::Text {
            at: [x, y],
            text: words,
            paint,
            size,
            anchor,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(*x), short(*y));
            writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" style=\"fill:{}\">{}</text>",
                fine(*size),
                colour(*paint),
                html(words)
            )
        }
    };
}

/// The points as a path; what is not finite interrupts it, and a point alone becomes a dot's worth of line.
fn path(points: &[[f64; 2]]) -> String {
    let mut text = String::new();
    let finite = |point: &[f64; 2]| point.iter().all(|x| x.is_finite());
    for run in points.split(|point| !finite(point)).filter(|run| !run.is_empty()) {
        for (index, [x, y]) in run.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let _ = write!(text, "{letter}{} {}", short(*x), short(*y));
        }
        if run.len() == 1 {
            text.push_str("h1");
        }
    }
    text
}

fn colour(paint: Paint) -> String {
    match paint {
        Paint::Ink => "var(--ink)".to_string(),
        Paint::Muted => "var(--muted)".to_string(),
        Paint::Grid => "var(--grid)".to_string(),
        Paint::Series(index) => format!("var(--s{})", index % SERIES.len()),
        Paint::Ramp(value) => {
            let [r, g, b] = ramp(value);
            format!("#{r:02x}{g:02x}{b:02x}")
        }
    }
}

/// Thicknesses and sizes, to a hundredth.
fn fine(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A tenth of a pixel is enough.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_string(),
        Some(whole) => whole.to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_leaves_a_gap() {
        let nan = [2.0, f64::NAN];
        assert_eq!(
            path(&[[0.0, 0.0], [1.0, 1.0], nan, [3.0, 3.0], [4.0, 4.25]]),
            "M0 0L1 1M3 3L4 4.2"
        );
        assert_eq!(path(&[nan, [3.0, -0.01], nan]), "M3 0h1");
        assert_eq!(path(&[nan]), "");
    }

    #[test]
    fn no_text_can_break_out_of_the_picture() {
        let mut drawing = Drawing {
            title: "</title><script>".to_string(),
            ..Drawing::default()
        };
        drawing.text([0.0, 0.0], "<b>\u{1}", Paint::Ink, 12.0, Anchor::Start);
        let picture = inline(&drawing);
        assert!(!picture.contains("<script>") && !picture.contains("<b>") && !picture.contains('\u{1}'));
    }
}
