//! A map of points coloured by a value, with the key to its colours; the axes of such a map mean nothing and are not
//! drawn.

use super::drawing::{Anchor, Drawing, Mark, Paint, fitting};
use super::scale::number;
use crate::statistics::{percentile, sorted};

/// Lays a map out; the colours span the middle 96% of the values, so that an outlier does not take them all.
///
/// ```
/// use epgt_report::chart::{Mark, scatter};
/// let map = scatter("Keys", "value", &[[0.0, 0.0], [1.0, 2.0]], &[0.5, 0.7]);
/// assert_eq!(map.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count(), 2);
/// ```
pub fn scatter(title: &str, label: &str, points: &[[f64; 2]], values: &[f64]) -> Drawing {
    const SIDE: f64 = 380.0;
    const TOP: f64 = 34.0;
    let mut drawing = Drawing {
        width: SIDE,
        height: TOP + SIDE + 40.0,
        title: title.to_string(),
        marks: Vec::new(),
    };
    drawing.text(
        [12.0, 18.0],
        fitting(title, 14.0, SIDE - 24.0),
        Paint::Ink,
        14.0,
        Anchor::Start,
    );
    let extreme = |axis: usize, pick: fn(f64, f64) -> f64, start: f64| points.iter().map(|p| p[axis]).fold(start, pick);
    let low = [0, 1].map(|axis| extreme(axis, f64::min, f64::INFINITY));
    let high = [0, 1].map(|axis| extreme(axis, f64::max, f64::NEG_INFINITY));
    // One scale for both: distances are what the map is about.
    let range = (high[0] - low[0]).max(high[1] - low[1]).max(1e-12);
    let middle = [0, 1].map(|axis| (low[axis] + high[axis]) / 2.0);
    let ordered = sorted(values);
    let (least, most) = (percentile(&ordered, 0.02), percentile(&ordered, 0.98));
    let share = |value: f64| match most > least {
        true => ((value - least) / (most - least)).clamp(0.0, 1.0),
        false => 0.5,
    };
    let scale = (SIDE - 24.0) / range;
    for (point, &value) in points.iter().zip(values) {
        let at = [
            SIDE / 2.0 + (point[0] - middle[0]) * scale,
            TOP + SIDE / 2.0 - (point[1] - middle[1]) * scale,
        ];
        drawing.marks.push(Mark::Dot {
            at,
            radius: 3.0,
            paint: Paint::Ramp(share(value)),
        });
    }
    let y = TOP + SIDE + 8.0;
    const PARTS: usize = 32;
    let (left, right) = (90.0, SIDE - 90.0);
    for part in 0..PARTS {
        let x = |part: usize| left + (right - left) * part as f64 / PARTS as f64;
        let (from, to) = (x(part), x(part + 1) + 0.4);
        drawing.marks.push(Mark::Area {
            points: vec![[from, y], [to, y], [to, y + 10.0], [from, y + 10.0]],
            paint: Paint::Ramp((part as f64 + 0.5) / PARTS as f64),
            opacity: 1.0,
        });
    }
    drawing.text([left - 8.0, y + 9.0], number(least), Paint::Muted, 12.0, Anchor::End);
    drawing.text([right + 8.0, y + 9.0], number(most), Paint::Muted, 12.0, Anchor::Start);
    drawing.text([SIDE / 2.0, y + 25.0], label, Paint::Muted, 12.0, Anchor::Middle);
    drawing
}
