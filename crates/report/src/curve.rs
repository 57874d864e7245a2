//! Curves over training: one run's values at its own steps, and what several runs say together.

use crate::statistics::{Interval, bootstrap_interval, mean};

/// The values of one run against its steps, which ascend; a missing value is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Environment steps.
    pub steps: Vec<f64>,
    /// One value per step.
    pub values: Vec<f64>,
}

impl Curve {
    /// The mean of the curve over the steps, each value standing for the steps since the row before it; what is missing is left
    /// out. The area under the learning curve, in the units of the score.
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

    /// The values at other steps, by straight lines between those that are there; NaN before the first and after the last.
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

/// What several runs say together at common steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// The common steps.
    pub steps: Vec<f64>,
    /// The mean over runs; NaN where fewer than half of them have a value.
    pub mean: Vec<f64>,
    /// The 95% bootstrap interval of the mean.
    pub intervals: Vec<Interval>,
}

/// Resamples of the interval at each point of a band: it is looked at, not quoted.
const RESAMPLES: usize = 1000;

/// The mean of curves and its interval at `points` steps from the first to the last of any run.
///
/// ```
/// use epgt_report::curve::{Curve, band};
/// let curve = |values: [f64; 2]| Curve { steps: vec![0.0, 10.0], values: values.to_vec() };
/// let band = band(&[curve([0.0, 2.0]), curve([2.0, 4.0])], 3);
/// assert_eq!(band.steps, [0.0, 5.0, 10.0]);
/// assert_eq!(band.mean, [1.0, 2.0, 3.0]);
/// ```
pub fn band(curves: &[Curve], points: usize) -> Band {
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
    let rows: Vec<Vec<f64>> = curves.iter().map(|curve| curve.at(&steps)).collect();
    let mut band = Band {
        steps,
        ..Band::default()
    };
    let mut here = Vec::with_capacity(rows.len());
    for index in 0..band.steps.len() {
        here.clear();
        here.extend(rows.iter().map(|row| row[index]).filter(|value| value.is_finite()));
        let enough = 2 * here.len() >= rows.len() && !here.is_empty();
        band.mean.push(if enough { mean(&here) } else { f64::NAN });
        band.intervals.push(match enough {
            true => bootstrap_interval(&here, RESAMPLES, index as u64),
            false => Interval {
                low: f64::NAN,
                high: f64::NAN,
            },
        });
    }
    band
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
