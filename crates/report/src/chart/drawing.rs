//! A picture before it is a file: marks from the top left, painted in order. The unit is a pixel on a page and a point
//! (1/72 inch) on paper.

use super::face::width;

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
        /// Strokes and gaps in units of its thickness, as [`dash`](super::dash) has them; empty is unbroken.
        dash: &'static [f64],
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
    },
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// What it shows, for those who do not see it.
    pub title: String,
    /// From back to front.
    pub marks: Vec<Mark>,
}

impl Drawing {
    /// Adds words.
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
            dash: &[],
            opacity: 1.0,
        });
    }

    /// Adds words in lines below each other, the first at this place, and says how many lines they take.
    pub(super) fn lines(&mut self, at: [f64; 2], text: &str, paint: Paint, size: f64, width: f64) -> usize {
        let lines = broken(text, size, width);
        for (index, line) in lines.iter().enumerate() {
            let y = at[1] + index as f64 * size * LINE;
            self.text([at[0], y], line, paint, size, Anchor::Start);
        }
        lines.len()
    }

    /// Puts another picture onto this one, its top left at a place.
    pub(super) fn put(&mut self, other: Self, [x, y]: [f64; 2]) {
        let moved = |[a, b]: [f64; 2]| [a + x, b + y];
        for mut mark in other.marks {
            match &mut mark {
                Mark::Line { points, .. } | Mark::Area { points, .. } => {
                    points.iter_mut().for_each(|point| *point = moved(*point));
                }
                Mark::Dot { at, .. } | Mark::Hint { at, .. } | Mark::Text { at, .. } => *at = moved(*at),
            }
            self.marks.push(mark);
        }
    }
}

/// From one line of words to the next, in units of their size.
pub(super) const LINE: f64 = 1.3;

/// A text in lines that are no wider than this: broken between words, where a word is too wide behind a sign within it,
/// and else anywhere. No letter is lost.
///
/// ```
/// use epgt_report::chart::broken;
/// assert_eq!(broken("short", 12.0, 100.0), ["short"]);
/// assert_eq!(broken("one two", 12.0, 40.0), ["one", "two"]);
/// assert_eq!(broken("learning_rate=0.001", 12.0, 90.0), ["learning_rate=", "0.001"]);
/// ```
pub fn broken(text: &str, size: f64, width_left: f64) -> Vec<String> {
    let fits = |text: &str| width(text, size) <= width_left;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map_or(String::new(), std::mem::take);
        let joined = if last.is_empty() {
            word.to_string()
        } else {
            format!("{last} {word}")
        };
        if fits(&joined) {
            lines.pop();
            lines.push(joined);
            continue;
        }
        lines.pop();
        if !last.is_empty() {
            lines.push(last);
        }
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let mut most = rest.len();
            while most > 1 && !fits(&rest[..most].iter().collect::<String>()) {
                most -= 1;
            }
            if most < rest.len() {
                let after_sign = (1..=most).rev().find(|&at| "-_=/.,:".contains(rest[at - 1]));
                most = after_sign.filter(|&at| 3 * at >= most).unwrap_or(most);
            }
            lines.push(rest.drain(..most).collect());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_it_may_be_and_no_letter_is_lost() {
        let text = "a few words, averyveryverylongone, learning_rate=0.001 and ünïcode";
        for limit in [10.0, 25.0, 60.0, 200.0, 1000.0] {
            let lines = broken(text, 10.0, limit);
            assert!(
                lines
                    .iter()
                    .all(|line| width(line, 10.0) <= limit || line.chars().count() == 1),
                "{lines:?}"
            );
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            assert_eq!(letters(&lines.concat()), letters(text));
        }
    }
}
