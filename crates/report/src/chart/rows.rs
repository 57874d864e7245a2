//! A chart with one row per method: every run a stroke, the mean and its interval on top. Who is best is seen before it
//! is read.

use super::drawing::{Anchor, Drawing, LINE, Mark, Paint, broken};
use super::face::width;
use super::figure::Look;
use super::scale::{Scale, between, labels, number};
use crate::statistics::Interval;

/// From row to row, and the height that few rows are spread over, in sizes of words.
const ROW: f64 = 1.9;
const TALL: f64 = 24.0;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Beside it, or above it where it is long.
    pub name: String,
    /// Its colour.
    pub index: usize,
    /// The runs.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// The mean's interval; none is drawn where it is not known.
    pub interval: Interval,
}

/// The rows, the first on top.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Below the axis.
    pub label: String,
    /// What is compared.
    pub rows: Vec<Row>,
}

impl Rows {
    /// Lays the rows out.
    ///
    /// ```
    /// use epgt_report::chart::{Look, Row, Rows};
    /// use epgt_report::statistics::Interval;
    /// let row = Row { name: "ppo".to_string(), index: 0, values: vec![1.0, 3.0], mean: 2.0, interval: Interval::UNKNOWN };
    /// let rows = Rows { label: "return".to_string(), rows: vec![row] };
    /// assert!(rows.draw(Look { width: 300.0, em: 12.0 }).height > 40.0);
    /// ```
    pub fn draw(&self, look: Look) -> Drawing {
        let em = look.em;
        let widest = self.rows.iter().map(|row| width(&row.name, em)).fold(0.0, f64::max);
        // Names beside the rows leave most of the width to the scores; longer ones stand above their rows.
        let beside = widest <= 0.34 * look.width;
        let mut left = if beside { widest + 0.9 * em } else { 0.6 * em };
        let names: Vec<Vec<String>> = match beside {
            true => self.rows.iter().map(|row| vec![row.name.clone()]).collect(),
            false => self.rows.iter().map(|row| broken(&row.name, em, look.width)).collect(),
        };
        let ends = |row: &Row| [row.mean, row.interval.low, row.interval.high];
        let all = || {
            self.rows
                .iter()
                .flat_map(|row| row.values.iter().copied().chain(ends(row)))
        };
        let mut scale = Scale::around(all(), false, 5);
        let mut right = look.width - 0.6 * em;
        for count in (1..=5).rev() {
            scale = Scale::around(all(), false, count);
            let ticks = scale.ticks();
            let widest = labels(&ticks).iter().map(|label| width(label, em)).fold(0.0, f64::max);
            right = look.width - (widest / 2.0).max(0.6 * em);
            left = left.max(widest / 2.0);
            let apart = match ticks.as_slice() {
                [first, second, ..] => (scale.place(*second) - scale.place(*first)) * (right - left),
                _ => f64::INFINITY,
            };
            if apart >= widest + 0.8 * em {
                break;
            }
        }
        let place = |value: f64| left + (right - left) * scale.place(value);
        let top = 0.4 * em;
        // Few rows are spread, so that the chart is no sliver.
        let above = |lines: &Vec<String>| if beside { 0.0 } else { lines.len() as f64 * LINE * em };
        let needed: f64 = names.iter().map(|lines| above(lines) + ROW * em).sum();
        let spread = ((TALL * em - needed) / names.len().max(1) as f64).clamp(0.0, 1.5 * ROW * em);
        let mut middles = Vec::new();
        let mut y = top;
        for lines in &names {
            middles.push(y + spread / 2.0 + above(lines) + 0.9 * em);
            y += above(lines) + ROW * em + spread;
        }
        let bottom = y;
        let label = broken(&self.label, em, look.width);
        let mut drawing = Drawing {
            width: look.width,
            height: bottom + 2.1 * em + label.len() as f64 * LINE * em,
            title: self.label.clone(),
            marks: Vec::new(),
        };
        let thin = em / 12.0;
        let ticks = scale.ticks();
        for (&tick, label) in ticks.iter().zip(labels(&ticks)) {
            drawing.line(vec![[place(tick), top], [place(tick), bottom]], Paint::Grid, thin);
            drawing.text(
                [place(tick), bottom + 1.2 * em],
                label,
                Paint::Muted,
                em,
                Anchor::Middle,
            );
        }
        for (index, line) in label.iter().enumerate() {
            let y = bottom + 2.6 * em + index as f64 * LINE * em;
            drawing.text([look.width, y], line, Paint::Muted, em, Anchor::End);
        }
        for ((row, lines), y) in self.rows.iter().zip(&names).zip(middles) {
            match beside {
                true => drawing.text([left - 0.7 * em, y + 0.35 * em], &row.name, Paint::Ink, em, Anchor::End),
                false => {
                    for (index, line) in lines.iter().enumerate() {
                        let up = (lines.len() - index) as f64 * LINE * em;
                        drawing.text([0.0, y + 0.45 * em - up], line, Paint::Ink, em, Anchor::Start);
                    }
                }
            }
            paint(&mut drawing, row, y, em, &place);
        }
        drawing
    }
}

/// The runs, the interval and the mean of one row.
fn paint(drawing: &mut Drawing, row: &Row, y: f64, em: f64, place: &dyn Fn(f64) -> f64) {
    let paint = Paint::Series(row.index);
    for value in row.values.iter().filter(|value| value.is_finite()) {
        let x = place(*value);
        drawing.line(vec![[x, y - 0.5 * em], [x, y + 0.5 * em]], paint, em / 12.0);
    }
    if row.interval.is_known() {
        let (low, high) = (place(row.interval.low), place(row.interval.high));
        let (up, down) = (y - 0.32 * em, y + 0.32 * em);
        drawing.marks.push(Mark::Area {
            points: vec![[low, up], [high, up], [high, down], [low, down]],
            paint,
            opacity: 0.35,
        });
    }
    if row.mean.is_finite() {
        let at = [place(row.mean), y];
        let radius = 0.4 * em;
        drawing.marks.push(Mark::Dot { at, radius, paint });
        let interval = between(row.interval.low, row.interval.high);
        let text = format!("{}: {}{interval}", row.name, number(row.mean));
        drawing.marks.push(Mark::Hint { at, text });
    }
}
