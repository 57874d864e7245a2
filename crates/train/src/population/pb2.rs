//! Population-based bandits: which values a member should try next (PB2; Parker-Holder, Nguyen and Roberts, 2020).
//!
//! A Gaussian process over (time, score, values) predicts by how much the score will change until the next exchange.
//! The values with the highest upper confidence bound, mean + sqrt(beta) * deviation, are tried next; the deviation is
//! that after all members that train meanwhile have been seen too, whatever they will bring (GP-BUCB), so that two do
//! not try the same.

use serde::{Deserialize, Serialize};

use super::gp::{GaussianProcess, most_likely};
use super::range::Range;

/// Observations that are kept; the authors' code takes 200 or more, whichever number is most likely.
pub(super) const WINDOW: usize = 200;

/// beta = C1 + max(0, ln(C2 n)) after n observations; the constants are TV-GP-UCB's (Bogunovic et al., 2016), the form
/// that of the maintained code of PB2's authors.
const C1: f64 = 0.2;
const C2: f64 = 0.4;

/// Points at which the bound is looked at first, and how many of the best of them are refined.
const CANDIDATES: usize = 400;
const REFINED: usize = 5;

/// What one member's training between two exchanges has shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Observation {
    /// When it began.
    pub time: f64,
    /// The score it began with.
    pub score: f64,
    /// The values in force.
    pub values: Vec<f64>,
    /// By how much the score changed.
    pub change: f64,
}

/// The values with the highest bound for a member that begins at `time` with `score` while others train with `pending`
/// values; `None` as long as nothing is known.
pub(super) fn propose(
    observations: &[Observation],
    ranges: &[Range],
    (time, score): (f64, f64),
    pending: &[Vec<f64>],
) -> Option<Vec<f64>> {
    let times = Scale::of(observations.iter().map(|seen| seen.time).chain([time]));
    let scores = Scale::of(observations.iter().map(|seen| seen.score).chain([score]));
    let width = ranges.len() + 2;
    let row = |rows: &mut Vec<f64>, time: f64, score: f64, values: &[f64]| {
        rows.extend([times.to_unit(time), scores.to_unit(score)]);
        rows.extend(ranges.iter().zip(values).map(|(range, &value)| range.to_unit(value)));
    };
    let mut rows = Vec::new();
    for seen in observations {
        row(&mut rows, seen.time, seen.score, &seen.values);
    }
    let mut y: Vec<f64> = observations.iter().map(|seen| seen.change).collect();
    standardise(&mut y);
    let kernel = most_likely(width, &rows, &y);
    let known = GaussianProcess::new(kernel, width, rows.clone(), &y)?;
    for values in pending {
        row(&mut rows, time, score, values);
    }
    y.resize(y.len() + pending.len(), 0.0);
    let awaited = GaussianProcess::new(kernel, width, rows, &y)?;

    let beta = C1 + (C2 * observations.len() as f64).ln().max(0.0);
    let mut query = vec![times.to_unit(time), scores.to_unit(score)];
    let place = highest(ranges.len(), |place| {
        query.truncate(2);
        query.extend_from_slice(place);
        known.posterior(&query).0 + (beta * awaited.posterior(&query).1).sqrt()
    });
    Some(
        ranges
            .iter()
            .zip(&place)
            .map(|(range, &place)| range.from_unit(place))
            .collect(),
    )
}

/// The extent of something that is brought to 0..1.
struct Scale {
    low: f64,
    extent: f64,
}

impl Scale {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
            (low.min(x), high.max(x))
        });
        let extent = if high > low { high - low } else { 1.0 };
        Self { low, extent }
    }

    fn to_unit(&self, x: f64) -> f64 {
        (x - self.low) / self.extent
    }
}

/// Mean 0 and deviation 1, cut off at two deviations as the authors do, so that one lucky change does not drown the
/// others.
fn standardise(y: &mut [f64]) {
    let n = y.len().max(1) as f64;
    let mean = y.iter().sum::<f64>() / n;
    let deviation = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
    for y in y {
        *y = ((*y - mean) / (deviation + 1e-8)).clamp(-2.0, 2.0);
    }
}

/// Where in the unit cube a function is highest, as far as a search without chance finds: an even cover of the cube,
/// then steps along the axes from the best of it.
fn highest(dimensions: usize, mut function: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut candidates: Vec<(f64, Vec<f64>)> = (0..CANDIDATES)
        .map(|i| {
            let place = cover(i, dimensions);
            (function(&place), place)
        })
        .collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    candidates.truncate(REFINED);
    for (height, place) in &mut candidates {
        let mut step = 0.1;
        while step > 0.002 {
            let mut moved = false;
            for axis in 0..dimensions {
                for sign in [-1.0, 1.0] {
                    let before = place[axis];
                    place[axis] = (before + sign * step).clamp(0.0, 1.0);
                    let found = function(place);
                    if found > *height {
                        (*height, moved) = (found, true);
                    } else {
                        place[axis] = before;
                    }
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
    }
    let best = candidates.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.map_or(vec![0.5; dimensions], |(_, place)| place)
}

/// Point `i` of a sequence that covers the unit cube evenly: multiples of 1/g, 1/g^2, ... modulo 1, with g^(d+1) = g +
/// 1.
fn cover(i: usize, dimensions: usize) -> Vec<f64> {
    let mut g: f64 = 1.5;
    for _ in 0..60 {
        g = (1.0 + g).powf(1.0 / (dimensions as f64 + 1.0));
    }
    (1..=dimensions)
        .map(|axis| (0.5 + (i + 1) as f64 / g.powi(axis as i32)).fract())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_a_peak_and_a_corner() {
        let peak = highest(3, |x| {
            -(x[0] - 0.3).powi(2) - (x[1] - 0.9).powi(2) - (x[2] - 0.5).powi(2)
        });
        assert!(
            peak.iter().zip([0.3, 0.9, 0.5]).all(|(x, y)| (x - y).abs() < 0.01),
            "{peak:?}"
        );
        assert_eq!(highest(2, |x| x[0] - x[1]), [1.0, 0.0]);
    }

    #[test]
    fn what_others_are_trying_is_not_tried_again() {
        let range = Range {
            values: vec![0.0, 1.0],
            logarithmic: false,
            whole: false,
        };
        // Nothing tells the values apart, so only what is not known matters.
        let seen = |value: f64| Observation {
            time: 0.0,
            score: 0.0,
            values: vec![value],
            change: 0.0,
        };
        let observations = [seen(0.4), seen(0.6)];
        let first = propose(&observations, std::slice::from_ref(&range), (1.0, 0.0), &[]).unwrap();
        let second = propose(&observations, &[range], (1.0, 0.0), std::slice::from_ref(&first)).unwrap();
        assert!((first[0] - second[0]).abs() > 0.5, "{first:?} {second:?}");
    }
}
