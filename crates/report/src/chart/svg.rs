//! Drawings as SVG, within a page or as files of their own.

use std::fmt::Write;

use super::drawing::{Anchor, Drawing, Mark, Paint, dash, ramp};
use crate::text::html;

/// Colours of the series on light and on dark ground: Okabe and Ito's, which the colour-blind can tell apart, with the
/// yellow and the sky blue darkened for white paper.
pub const SERIES: [(&str, &str); 8] = [
    ("#0072b2", "#56a8e0"),
    ("#d55e00", "#f08a3c"),
    ("#009e73", "#2fc79b"),
    ("#b8579c", "#dd8cc4"),
    ("#8a6d00", "#e0c04a"),
    ("#3a3f47", "#d5d9e0"),
    ("#3b9fd1", "#9ad5f5"),
    ("#8b1e3f", "#f0708f"),
];

/// Ink, muted, grid and ground, on light and on dark.
pub const TONES: [(&str, &str, &str); 4] = [
    ("ink", "#1c2430", "#e8ecf2"),
    ("muted", "#5b6675", "#a3aebd"),
    ("grid", "#e3e7ed", "#323a46"),
    ("ground", "#ffffff", "#171c24"),
];

/// The rules that give names their colours, with a dark face where the reader prefers one. On paper it is always light.
///
/// ```
/// assert!(epgt_report::chart::svg::colours().contains("prefers-color-scheme: dark"));
/// ```
pub fn colours() -> String {
    let face = |dark: bool| {
        let mut text = String::new();
        for (index, (light, deep)) in SERIES.iter().enumerate() {
            let _ = write!(text, "--s{index}:{};", if dark { deep } else { light });
        }
        for (name, light, deep) in TONES {
            let _ = write!(text, "--{name}:{};", if dark { deep } else { light });
        }
        text
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n",
        face(false),
        face(true)
    )
}

/// A picture to be put into a page that has [`colours`].
pub fn inline(drawing: &Drawing) -> String {
    write(drawing, "")
}

/// A picture that is a file of its own.
///
/// ```
/// use epgt_report::chart::{Drawing, svg};
/// let drawing = Drawing { width: 100.0, height: 50.0, title: "a < b".to_string(), marks: vec![] };
/// assert!(svg::standalone(&drawing).contains("<title>a &lt; b</title>"));
/// ```
pub fn standalone(drawing: &Drawing) -> String {
    let ground = "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>";
    write(drawing, &format!("<style>{}</style>{ground}", colours()))
}

fn write(drawing: &Drawing, before: &str) -> String {
    let (width, height) = (drawing.width, drawing.height);
    let title = html(&drawing.title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif\">\
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
            dash: pattern,
            opacity,
        } => {
            let path = path(points);
            if path.is_empty() {
                return;
            }
            let mut more = String::new();
            if !dash(*pattern).is_empty() {
                let lengths: Vec<String> = dash(*pattern).iter().map(f64::to_string).collect();
                let _ = write!(more, " stroke-dasharray=\"{}\"", lengths.join(" "));
            }
            if *opacity < 1.0 {
                let _ = write!(more, " opacity=\"{opacity}\"");
            }
            writeln!(
                text,
                "<path d=\"{path}\" style=\"stroke:{}\" stroke-width=\"{width}\" fill=\"none\" stroke-linejoin=\"round\"{more}/>",
                colour(*paint)
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
            "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" style=\"fill:{}\"/>",
            short(at[0]),
            short(at[1]),
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
            upwards,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(*x), short(*y));
            let turn = match upwards {
                true => format!(" transform=\"rotate(-90 {x} {y})\""),
                false => String::new(),
            };
            writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" style=\"fill:{}\"{turn}>{}</text>",
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
