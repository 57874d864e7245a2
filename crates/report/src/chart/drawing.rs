//! A picture before it is a file: marks in pixels from the top left, painted in order.

/// What a mark is painted with; the writer knows the colour for light and for dark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paint {
    /// Words and axes.
    Ink,
    /// Words of less weight.
    Muted,
    /// Lines that must not be noticed.
    Grid,
    /// The n-th of the things compared.
    Series(usize),
    /// A value between 0 (low) and 1 (high).
    Ramp(f64),
}

/// Where a text lies relative to its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// One thing to paint.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Straight lines from point to point; a point that is not finite leaves a gap.
    Line {
        /// The points.
        points: Vec<[f64; 2]>,
        /// Its colour.
        paint: Paint,
        /// Its thickness.
        width: f64,
        /// Which of the patterns of [`dash`].
        dash: usize,
        /// 1 hides what lies below.
        opacity: f64,
    },
    /// A closed area.
    Area {
        /// Its corners.
        points: Vec<[f64; 2]>,
        /// Its colour.
        paint: Paint,
        /// 1 hides what lies below.
        opacity: f64,
    },
    /// A disc.
    Dot {
        /// Its centre.
        at: [f64; 2],
        /// Its radius.
        radius: f64,
        /// Its colour.
        paint: Paint,
    },
    /// A place that shows words under the mouse and nothing else.
    Hint {
        /// Its centre.
        at: [f64; 2],
        /// What it says.
        text: String,
    },
    /// Words.
    Text {
        /// Their place, on the baseline.
        at: [f64; 2],
        /// The words.
        text: String,
        /// Their colour.
        paint: Paint,
        /// Their size.
        size: f64,
        /// Which part of them is at that place.
        anchor: Anchor,
        /// Whether they run upwards.
        upwards: bool,
    },
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// In pixels.
    pub width: f64,
    /// In pixels.
    pub height: f64,
    /// What it shows, for those who do not see it.
    pub title: String,
    /// From back to front.
    pub marks: Vec<Mark>,
}

impl Drawing {
    /// Adds words that run to the right.
    ///
    /// ```
    /// use epgt_report::chart::{Anchor, Drawing, Paint};
    /// let mut drawing = Drawing::default();
    /// drawing.text([10.0, 20.0], "steps", Paint::Ink, 12.0, Anchor::Start);
    /// assert_eq!(drawing.marks.len(), 1);
    /// ```
    pub fn text(&mut self, at: [f64; 2], text: impl Into<String>, paint: Paint, size: f64, anchor: Anchor) {
        self.marks.push(Mark::Text {
            at,
            text: text.into(),
            paint,
            size,
            anchor,
            upwards: false,
        });
    }

    /// Adds a plain line.
    ///
    /// ```
    /// use epgt_report::chart::{Drawing, Paint};
    /// let mut drawing = Drawing::default();
    /// drawing.line(vec![[0.0, 0.0], [10.0, 0.0]], Paint::Grid, 1.0);
    /// assert_eq!(drawing.marks.len(), 1);
    /// ```
    pub fn line(&mut self, points: Vec<[f64; 2]>, paint: Paint, width: f64) {
        self.marks.push(Mark::Line {
            points,
            paint,
            width,
            dash: 0,
            opacity: 1.0,
        });
    }
}

/// The pattern of line number `index`: lengths of strokes and gaps in pixels; empty is unbroken. Colours repeat every
/// eight series and patterns every five, so that forty series are told apart.
///
/// ```
/// assert!(epgt_report::chart::dash(0).is_empty());
/// assert_eq!(epgt_report::chart::dash(1), [7.0, 3.0]);
/// ```
pub fn dash(index: usize) -> &'static [f64] {
    [&[][..], &[7.0, 3.0], &[2.0, 3.0], &[9.0, 3.0, 2.0, 3.0], &[4.0, 2.0]][index % 5]
}

/// The colour of a value between 0 and 1: dark violet over green-blue to yellow, lighter for more throughout, so that
/// it survives colour blindness and a black-and-white print.
///
/// ```
/// use epgt_report::chart::ramp;
/// let grey = |[r, g, b]: [u8; 3]| 2 * u32::from(r) + 5 * u32::from(g) + u32::from(b);
/// assert!(grey(ramp(0.0)) < grey(ramp(0.5)) && grey(ramp(0.5)) < grey(ramp(1.0)));
/// ```
pub fn ramp(value: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 5] = [
        [70.0, 20.0, 100.0],
        [60.0, 80.0, 150.0],
        [30.0, 145.0, 140.0],
        [110.0, 200.0, 90.0],
        [245.0, 225.0, 60.0],
    ];
    let place = value.clamp(0.0, 1.0) * 4.0;
    let from = (place as usize).min(3);
    let share = place - from as f64;
    [0, 1, 2].map(|channel| (STOPS[from][channel] * (1.0 - share) + STOPS[from + 1][channel] * share).round() as u8)
}

/// A text cut to a width, with a sign that it was.
///
/// ```
/// use epgt_report::chart::fitting;
/// assert_eq!(fitting("short", 12.0, 100.0), "short");
/// assert!(fitting("something much longer", 12.0, 60.0).ends_with('…'));
/// ```
pub fn fitting(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_string();
    }
    let mut cut = String::new();
    for character in text.chars() {
        cut.push(character);
        if text_width(&cut, size) + size > width {
            break;
        }
    }
    cut + "…"
}

/// Names cut to a width such that no two that differ look the same: what a cut makes equal is cut in its middle
/// instead, and where even that is equal it is numbered.
///
/// ```
/// use epgt_report::chart::fitting_apart;
/// let names = ["a2c epgt learning_rate=0.001", "a2c epgt learning_rate=0.002", "fixed"];
/// let cut = fitting_apart(&names, 12.0, 100.0);
/// assert!(cut[0] != cut[1] && cut[0].ends_with("0.001") && cut[2] == "fixed");
/// ```
pub fn fitting_apart(names: &[&str], size: f64, width: f64) -> Vec<String> {
    let mut cut: Vec<String> = names.iter().map(|name| fitting(name, size, width)).collect();
    let clash = |at: usize| (0..cut.len()).any(|other| cut[other] == cut[at] && names[other] != names[at]);
    let clashes: Vec<usize> = (0..cut.len()).filter(|&at| clash(at)).collect();
    for at in clashes {
        cut[at] = middle_cut(names[at], size, width);
    }
    for at in 0..cut.len() {
        if (0..at).any(|other| cut[other] == cut[at] && names[other] != names[at]) {
            cut[at] = format!("{} ({})", cut[at], at + 1);
        }
    }
    cut
}

/// The two ends of a text that is too wide.
fn middle_cut(text: &str, size: f64, width: f64) -> String {
    let head = fitting(text, size, width / 2.0);
    let mut tail: Vec<char> = Vec::new();
    for character in text.chars().rev() {
        tail.push(character);
        if text_width(&tail.iter().collect::<String>(), size) + size > width / 2.0 {
            break;
        }
    }
    head + &tail.iter().rev().collect::<String>()
}

/// About how wide a text is in a plain typeface of this size.
///
/// ```
/// assert!(epgt_report::chart::text_width("mmm", 12.0) > epgt_report::chart::text_width("iii", 12.0));
/// ```
pub fn text_width(text: &str, size: f64) -> f64 {
    let letter = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.3,
        'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | '-' | ' ' | '/' => 0.37,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.87,
        'A'..='Z' => 0.67,
        _ => 0.56,
    };
    size * text.chars().map(letter).sum::<f64>()
}
