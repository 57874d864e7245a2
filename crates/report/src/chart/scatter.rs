//! A map of points coloured by a value, with the key to its colours; the axes of such a map mean nothing and are not
//! drawn.

use super::drawing::{Anchor, Drawing, LINE, Mark, Paint, broken};
use super::face::width;
use super::figure::Look;
use super::scale::number;
use crate::statistics::{percentile, sorted};

/// A map.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Above it.
    pub title: String,
    /// What the colours are.
    pub label: String,
    /// The places.
    pub points: Vec<[f64; 2]>,
    /// A value for each.
    pub values: Vec<f64>,
}

/// Steps of the key to the colours.
const PARTS: usize = 32;

impl Scatter {
    pub(super) fn lines_above(&self, look: Look) -> usize {
        broken(&self.title, look.em, look.width).len()
    }

    /// Lays a map out; the colours span the middle 96% of the values, so that an outlier does not take them all.
    ///
    /// ```
    /// use epgt_report::chart::{Look, Mark, Scatter};
    /// let (points, values) = (vec![[0.0, 0.0], [1.0, 2.0]], vec![0.5, 0.7]);
    /// let map = Scatter { title: "Keys".to_string(), label: "value".to_string(), points, values };
    /// let drawing = map.draw(Look { width: 300.0, em: 12.0 });
    /// assert_eq!(drawing.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count(), 2);
    /// ```
    pub fn draw(&self, look: Look) -> Drawing {
        self.draw_below(look, self.lines_above(look))
    }

    pub(super) fn draw_below(&self, look: Look, lines: usize) -> Drawing {
        let (em, side) = (look.em, look.width);
        let top = lines as f64 * LINE * em + 0.6 * em;
        let mut drawing = Drawing {
            width: side,
            height: top + side + 3.6 * em,
            title: self.title.clone(),
            marks: Vec::new(),
        };
        drawing.lines([0.0, em], &self.title, Paint::Ink, em, side);
        let extreme = |axis: usize, pick: fn(f64, f64) -> f64, start: f64| {
            self.points.iter().map(|point| point[axis]).fold(start, pick)
        };
        let low = [0, 1].map(|axis| extreme(axis, f64::min, f64::INFINITY));
        let high = [0, 1].map(|axis| extreme(axis, f64::max, f64::NEG_INFINITY));
        // One scale for both: distances are what the map is about.
        let range = (high[0] - low[0]).max(high[1] - low[1]).max(1e-12);
        let middle = [0, 1].map(|axis| (low[axis] + high[axis]) / 2.0);
        let ordered = sorted(&self.values);
        let (least, most) = (percentile(&ordered, 0.02), percentile(&ordered, 0.98));
        let share = |value: f64| match most > least {
            true => ((value - least) / (most - least)).clamp(0.0, 1.0),
            false => 0.5,
        };
        let scale = (side - em) / range;
        for (point, &value) in self.points.iter().zip(&self.values) {
            let at = [
                side / 2.0 + (point[0] - middle[0]) * scale,
                top + side / 2.0 - (point[1] - middle[1]) * scale,
            ];
            drawing.marks.push(Mark::Dot {
                at,
                radius: side / 130.0,
                paint: Paint::Ramp(share(value)),
            });
        }
        let y = top + side + 0.8 * em;
        let words = [number(least), number(most)];
        let room = words.iter().map(|word| width(word, em)).fold(0.0, f64::max) + 0.6 * em;
        let (left, right) = ((0.15 * side).max(room), side - (0.15 * side).max(room));
        for part in 0..PARTS {
            let x = |part: usize| left + (right - left) * part as f64 / PARTS as f64;
            let (from, to) = (x(part), x(part + 1) + 0.4);
            drawing.marks.push(Mark::Area {
                points: vec![[from, y], [to, y], [to, y + 0.8 * em], [from, y + 0.8 * em]],
                paint: Paint::Ramp((part as f64 + 0.5) / PARTS as f64),
                opacity: 1.0,
            });
        }
        let [least, most] = words;
        drawing.text([left - 0.5 * em, y + 0.75 * em], least, Paint::Muted, em, Anchor::End);
        drawing.text([right + 0.5 * em, y + 0.75 * em], most, Paint::Muted, em, Anchor::Start);
        drawing.text(
            [side / 2.0, y + 2.1 * em],
            &self.label,
            Paint::Muted,
            em,
            Anchor::Middle,
        );
        drawing
    }
}
