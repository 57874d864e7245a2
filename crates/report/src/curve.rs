//! Curves over training: one run's values at its own steps, and what several runs say together.

use epgt_rng::Pcg64;

use crate::statistics::{Interval, LEAST_SCORES, mean, middle};

/// The values of one run against its steps, which ascend; a missing value is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Environment steps.
    pub steps: Vec<f64>,
    /// One value per step.
    pub values: Vec<f64>,
}

impl Curve {
    /// The mean of the curve over the steps, each value standing for the steps since the row before it; what is missing
    /// is left out. The area under the learning curve, in the units of the score.
    ///
    /// ```
    /// let curve = epgt_report::curve::Curve { steps: vec![10.0, 30.0], values: vec![1.0, 4.0] };
    /// assert_eq!(curve.area(), Some(3.0));
    /// ```
    pub fn area(&self) -> Option<f64> {
        let (mut sum, mut weight, mut before) = (0.0, 0.0, 0.0);
        for (&step, &value) in self.steps.iter().zip(&self.values) {
            if value.is_finite() {
                sum += (step - before) * value;
                weight += step - before;
            }
            before = step;
        }
        (weight > 0.0).then(|| sum / weight)
    }

    /// Whether there is nothing to draw.
    ///
    /// ```
    /// let curve = epgt_report::curve::Curve { steps: vec![10.0], values: vec![f64::NAN] };
    /// assert!(curve.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        !self.values.iter().any(|value| value.is_finite())
    }

    /// The last step, 0 where there is none.
    ///
    /// ```
    /// let curve = epgt_report::curve::Curve { steps: vec![10.0, 30.0], values: vec![1.0, 4.0] };
    /// assert_eq!(curve.end(), 30.0);
    /// ```
    pub fn end(&self) -> f64 {
        self.steps.last().copied().unwrap_or(0.0)
    }

    /// The values at other steps, by straight lines between those that are there; NaN before the first and after the
    /// last.
    ///
    /// ```
    /// let curve = epgt_report::curve::Curve { steps: vec![10.0, 20.0, 30.0], values: vec![1.0, f64::NAN, 3.0] };
    /// let at = curve.at(&[5.0, 10.0, 20.0, 40.0]);
    /// assert!(at[0].is_nan() && at[1..3] == [1.0, 2.0] && at[3].is_nan());
    /// ```
    pub fn at(&self, steps: &[f64]) -> Vec<f64> {
        let known = self
            .steps
            .iter()
            .zip(&self.values)
            .filter(|(_, value)| value.is_finite());
        let known: Vec<(f64, f64)> = known.map(|(&step, &value)| (step, value)).collect();
        let value = |&step: &f64| {
            let after = known.partition_point(|point| point.0 < step);
            match (after.checked_sub(1).map(|before| known[before]), known.get(after)) {
                (_, Some(point)) if point.0 == step => point.1,
                (Some(from), Some(to)) => from.1 + (to.1 - from.1) * (step - from.0) / (to.0 - from.0),
                _ => f64::NAN,
            }
        };
        steps.iter().map(value).collect()
    }
}

impl Curve {
    /// The values at other steps where each holds until the next one is known; NaN before the first and after the last
    /// step.
    ///
    /// ```
    /// let curve = epgt_report::curve::Curve { steps: vec![10.0, 20.0, 30.0], values: vec![1.0, f64::NAN, 3.0] };
    /// let at = curve.held_at(&[5.0, 10.0, 29.0, 30.0, 31.0]);
    /// assert!(at[0].is_nan() && at[1..4] == [1.0, 1.0, 3.0] && at[4].is_nan());
    /// ```
    pub fn held_at(&self, steps: &[f64]) -> Vec<f64> {
        let value = |&step: &f64| {
            let known = self.steps.partition_point(|&other| other <= step);
            let held = self.values[..known.min(self.values.len())].iter().rev();
            match step <= self.end() {
                true => held.copied().find(|value| value.is_finite()).unwrap_or(f64::NAN),
                false => f64::NAN,
            }
        };
        steps.iter().map(value).collect()
    }
}

/// What several runs say together at common steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// The common steps.
    pub steps: Vec<f64>,
    /// The mean over runs; NaN where fewer than half of them have a value.
    pub mean: Vec<f64>,
    /// The 95% bootstrap interval of the mean; unknown where fewer than three of them have a value.
    pub intervals: Vec<Interval>,
}

/// Resamples of a band: it is looked at, not quoted.
const RESAMPLES: usize = 1000;

/// The mean of curves and its interval at `points` steps from the first to the last of any run. Runs are resampled once
/// for the whole band, each with all of its curve, so that the band is as smooth as the curves are.
///
/// ```
/// use epgt_report::curve::{Curve, band};
/// let curve = |values: [f64; 2]| Curve { steps: vec![0.0, 10.0], values: values.to_vec() };
/// let band = band(&[curve([0.0, 2.0]), curve([2.0, 4.0])], 3);
/// assert_eq!(band.steps, [0.0, 5.0, 10.0]);
/// assert_eq!(band.mean, [1.0, 2.0, 3.0]);
/// ```
pub fn band(curves: &[Curve], points: usize) -> Band {
    band_by(curves, points, Curve::at)
}

/// The same of curves whose values hold until the next.
///
/// ```
/// use epgt_report::curve::{Curve, band_of_held};
/// let curve = Curve { steps: vec![0.0, 10.0], values: vec![1.0, 2.0] };
/// assert_eq!(band_of_held(&[curve], 3).mean, [1.0, 1.0, 2.0]);
/// ```
pub fn band_of_held(curves: &[Curve], points: usize) -> Band {
    band_by(curves, points, Curve::held_at)
}

fn band_by(curves: &[Curve], points: usize, at: impl Fn(&Curve, &[f64]) -> Vec<f64>) -> Band {
    let start = curves
        .iter()
        .filter_map(|curve| curve.steps.first().copied())
        .fold(f64::INFINITY, f64::min);
    let end = curves.iter().map(Curve::end).fold(0.0, f64::max);
    if !start.is_finite() {
        return Band::default();
    }
    let place = |index: usize| start + (end - start) * index as f64 / (points.max(2) - 1) as f64;
    let steps: Vec<f64> = (0..points.max(2)).map(place).collect();
    let rows: Vec<Vec<f64>> = curves.iter().map(|curve| at(curve, &steps)).collect();
    let mut band = Band {
        steps,
        ..Band::default()
    };
    let draws = draws(rows.len());
    for index in 0..band.steps.len() {
        let here: Vec<f64> = rows.iter().map(|row| row[index]).collect();
        let known: Vec<f64> = here.iter().copied().filter(|value| value.is_finite()).collect();
        let enough = 2 * known.len() >= rows.len() && !known.is_empty();
        band.mean.push(if enough { mean(&known) } else { f64::NAN });
        band.intervals.push(match enough && known.len() >= LEAST_SCORES {
            true => resampled(&here, &draws),
            false => Interval::UNKNOWN,
        });
    }
    band
}

/// The runs of each resample, as many as there are.
fn draws(runs: usize) -> Vec<Vec<usize>> {
    let mut rng = Pcg64::from_seed(0);
    let mut draw = || (0..runs).map(|_| rng.below(runs as u64) as usize).collect();
    (0..RESAMPLES).map(|_| draw()).collect()
}

/// The interval of the mean of what the runs have at one step; a resample leaves out runs that have nothing there.
fn resampled(here: &[f64], draws: &[Vec<usize>]) -> Interval {
    let mean_of = |draw: &Vec<usize>| {
        let (mut sum, mut count) = (0.0, 0);
        for value in draw.iter().map(|&run| here[run]).filter(|value| value.is_finite()) {
            sum += value;
            count += 1;
        }
        (count > 0).then(|| sum / f64::from(count))
    };
    middle(&draws.iter().filter_map(mean_of).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_stretch_has_no_area_and_no_weight() {
        let curve = Curve {
            steps: vec![10.0, 20.0, 40.0],
            values: vec![f64::NAN, 1.0, 4.0],
        };
        assert_eq!(curve.area(), Some(3.0));
        assert_eq!(Curve::default().area(), None);
    }

    #[test]
    fn a_band_is_as_smooth_as_its_curves() {
        // Straight lines of different slopes: any resample's mean is a straight line too, and so are the band's ends
        // wherever the same resamples stay at the ends, which they do where all lines fan out from one point.
        let line = |slope: f64| Curve {
            steps: vec![0.0, 100.0],
            values: vec![0.0, 100.0 * slope],
        };
        let fan = band(&[line(0.1), line(0.5), line(0.7), line(2.0), line(2.5)], 51);
        for (step, interval) in fan.steps.iter().zip(&fan.intervals).skip(1) {
            let (low, high) = (interval.low / step, interval.high / step);
            let last = fan.intervals[50];
            assert!((low - last.low / 100.0).abs() < 1e-12 && (high - last.high / 100.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_band_of_one_or_two_runs_has_a_mean_and_no_interval() {
        let curve = |value: f64| Curve {
            steps: vec![0.0, 1.0],
            values: vec![value; 2],
        };
        let two = band(&[curve(1.0), curve(3.0)], 2);
        assert_eq!(two.mean, [2.0, 2.0]);
        assert!(two.intervals.iter().all(|interval| !interval.is_known()));
        let three = band(&[curve(1.0), curve(3.0), curve(5.0)], 2);
        assert!(three.intervals.iter().all(Interval::is_known));
    }

    #[test]
    fn a_band_is_drawn_where_half_of_the_runs_have_come() {
        let long = Curve {
            steps: vec![0.0, 10.0],
            values: vec![0.0, 10.0],
        };
        let short = Curve {
            steps: vec![0.0, 4.0],
            values: vec![0.0, 4.0],
        };
        let two_short = band(&[long.clone(), short.clone(), short.clone()], 3);
        assert!(two_short.mean[2].is_nan());
        assert_eq!(band(&[long, short], 3).mean[2], 10.0);
        assert_eq!(band(&[], 3), Band::default());
    }
}
