//! A chart with one row per method: every run a dot, the mean and its interval on top. Who is best is seen before it is
//! read.

use super::drawing::{Anchor, Drawing, Mark, Paint, fitting, fitting_apart, text_width};
use super::scale::{Scale, between, number};
use crate::statistics::Interval;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Beside it.
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

/// Lays the rows out, the first on top.
///
/// ```
/// use epgt_report::chart::{Row, rows};
/// use epgt_report::statistics::Interval;
/// let row = Row { name: "ppo".to_string(), index: 0, values: vec![1.0, 3.0], mean: 2.0, interval: Interval::UNKNOWN };
/// assert!(rows("Final return", "return", &[row]).height > 60.0);
/// ```
pub fn rows(title: &str, label: &str, rows: &[Row]) -> Drawing {
    const WIDTH: f64 = 480.0;
    const ROW: f64 = 28.0;
    let names = rows.iter().map(|row| text_width(&row.name, 13.0)).fold(0.0, f64::max);
    let (left, right) = ((names + 24.0).min(220.0), WIDTH - 20.0);
    let ends = |row: &Row| [row.mean, row.interval.low, row.interval.high];
    let all = rows.iter().flat_map(|row| row.values.iter().copied().chain(ends(row)));
    let scale = Scale::around(all, false, 5);
    let place = |value: f64| left + (right - left) * scale.place(value);
    let bottom = 34.0 + ROW * rows.len() as f64;
    let mut drawing = Drawing {
        width: WIDTH,
        height: bottom + 44.0,
        title: title.to_string(),
        marks: Vec::new(),
    };
    drawing.text(
        [12.0, 18.0],
        fitting(title, 14.0, WIDTH - 24.0),
        Paint::Ink,
        14.0,
        Anchor::Start,
    );
    for tick in scale.ticks() {
        drawing.line(vec![[place(tick), 30.0], [place(tick), bottom]], Paint::Grid, 1.0);
        drawing.text(
            [place(tick), bottom + 17.0],
            number(tick),
            Paint::Muted,
            12.0,
            Anchor::Middle,
        );
    }
    drawing.text(
        [(left + right) / 2.0, bottom + 36.0],
        label,
        Paint::Muted,
        12.0,
        Anchor::Middle,
    );
    let all: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let cut = fitting_apart(&all, 13.0, left - 18.0);
    for (index, row) in rows.iter().enumerate() {
        let y = 34.0 + ROW * (index as f64 + 0.5);
        let paint = Paint::Series(row.index);
        drawing.text([left - 12.0, y + 4.0], &cut[index], Paint::Ink, 13.0, Anchor::End);
        for value in row.values.iter().filter(|value| value.is_finite()) {
            let x = place(*value);
            drawing.line(vec![[x, y - 6.0], [x, y + 6.0]], paint, 1.0);
        }
        if row.interval.is_known() {
            let (low, high) = (place(row.interval.low), place(row.interval.high));
            let points = vec![[low, y - 4.0], [high, y - 4.0], [high, y + 4.0], [low, y + 4.0]];
            drawing.marks.push(Mark::Area {
                points,
                paint,
                opacity: 0.35,
            });
        }
        if row.mean.is_finite() {
            let at = [place(row.mean), y];
            drawing.marks.push(Mark::Dot { at, radius: 5.0, paint });
            let interval = between(row.interval.low, row.interval.high);
            let text = format!("{}: {}{interval}", row.name, number(row.mean));
            drawing.marks.push(Mark::Hint { at, text });
        }
    }
    drawing
}
