//! Statistics of a handful of runs.
//!
//! Every function takes scores in any order and is a pure function of its arguments. A statistic that is not defined
//! for what it was given (no scores, one score where a spread is asked for, a NaN among them) is NaN, as in NumPy, so
//! that a report with a missing run still prints.

use std::fmt;

use epgt_rng::Pcg64;

/// How many resamples [`bootstrap_interval`] should draw when nothing speaks for another number: the ends of the
/// interval then wander by about 1% of its width from seed to seed.
pub const RESAMPLES: usize = 10_000;

/// Fewer scores than these have no interval and no effect size: what they say of the next run is too little to be a
/// number.
pub const LEAST_SCORES: usize = 3;

/// The arithmetic mean.
///
/// ```
/// assert_eq!(epgt_report::statistics::mean(&[1.0, 2.0, 6.0]), 3.0);
/// assert!(epgt_report::statistics::mean(&[]).is_nan());
/// ```
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of the population that the values are a sample of (divisor n - 1).
///
/// ```
/// assert_eq!(epgt_report::statistics::standard_deviation(&[1.0, 3.0, 5.0]), 2.0);
/// assert!(epgt_report::statistics::standard_deviation(&[1.0]).is_nan());
/// ```
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    (squared_deviations(values) / (values.len() - 1) as f64).sqrt()
}

/// The middle value, or the mean of the two middle ones.
///
/// ```
/// assert_eq!(epgt_report::statistics::median(&[9.0, 1.0, 2.0]), 2.0);
/// assert_eq!(epgt_report::statistics::median(&[9.0, 1.0, 2.0, 4.0]), 3.0);
/// ```
pub fn median(values: &[f64]) -> f64 {
    percentile(&sorted(values), 0.5)
}

/// The mean of what is left after a quarter of the values, rounded down, is taken from each end: robust to outliers as
/// the median is, but using half of the data (Agarwal et al. 2021). Equal to `scipy.stats.trim_mean(values, 0.25)`.
///
/// ```
/// assert_eq!(epgt_report::statistics::interquartile_mean(&[1000.0, 2.0, 4.0, -50.0]), 3.0);
/// ```
pub fn interquartile_mean(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// A range that holds the unknown quantity with some confidence.
///
/// Formatted as `[low, high]`, with the precision that the format asks for; one that is not known is a dash.
///
/// ```
/// use epgt_report::statistics::Interval;
/// let interval = Interval { low: 1.25, high: 3.0 };
/// assert_eq!(format!("{interval:.1}"), "[1.2, 3.0]");
/// assert_eq!(format!("{:.1}", Interval::UNKNOWN), "-");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of what is not known: both ends are NaN.
    pub const UNKNOWN: Self = Self {
        low: f64::NAN,
        high: f64::NAN,
    };

    /// Whether it has both ends.
    ///
    /// ```
    /// use epgt_report::statistics::{Interval, bootstrap_interval};
    /// assert!(!Interval::UNKNOWN.is_known() && !bootstrap_interval(&[1.0, 2.0], 100, 0).is_known());
    /// assert!(bootstrap_interval(&[1.0, 2.0, 3.0], 100, 0).is_known());
    /// ```
    pub fn is_known(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_known() {
            return f.write_str("-");
        }
        f.write_str("[")?;
        fmt::Display::fmt(&self.low, f)?;
        f.write_str(", ")?;
        fmt::Display::fmt(&self.high, f)?;
        f.write_str("]")
    }
}

/// The 95% percentile bootstrap interval of the mean: the 2.5th and 97.5th percentiles of the means of `resamples`
/// samples drawn from the values with replacement. The same seed gives the same interval; fewer than [`LEAST_SCORES`]
/// values have none.
///
/// ```
/// use epgt_report::statistics::{RESAMPLES, bootstrap_interval};
/// let interval = bootstrap_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], RESAMPLES, 0);
/// assert!(interval.low > 1.0 && interval.low < 3.0 && interval.high > 3.0 && interval.high < 5.0);
/// ```
pub fn bootstrap_interval(values: &[f64], resamples: usize, seed: u64) -> Interval {
    let n = values.len();
    if n < LEAST_SCORES {
        return Interval::UNKNOWN;
    }
    let mut rng = Pcg64::from_seed(seed);
    let draw_mean = |_| {
        let sum: f64 = (0..n).map(|_| values[rng.below(n as u64) as usize]).sum();
        sum / n as f64
    };
    middle(&(0..resamples).map(draw_mean).collect::<Vec<f64>>())
}

/// The 2.5th and 97.5th percentiles of what resamples came to.
pub(crate) fn middle(resampled: &[f64]) -> Interval {
    let resampled = sorted(resampled);
    Interval {
        low: percentile(&resampled, 0.025),
        high: percentile(&resampled, 0.975),
    }
}

/// Cohen's d: by how many pooled standard deviations the mean of `a` is above that of `b`. The paper calls a result
/// better when d > 0.5. Fewer than [`LEAST_SCORES`] values have none, nor have values without any spread to measure in.
///
/// ```
/// let d = epgt_report::statistics::cohens_d(&[3.0, 5.0, 7.0], &[1.0, 3.0, 5.0]);
/// assert_eq!(d, 1.0);
/// ```
pub fn cohens_d(a: &[f64], b: &[f64]) -> f64 {
    if a.len().min(b.len()) < LEAST_SCORES {
        return f64::NAN;
    }
    let freedom = (a.len() + b.len() - 2) as f64;
    let pooled = ((squared_deviations(a) + squared_deviations(b)) / freedom).sqrt();
    match pooled > 0.0 {
        true => (mean(a) - mean(b)) / pooled,
        false => f64::NAN,
    }
}

/// The F statistic of a one-way analysis of variance: how much the means of the groups vary, over how much the values
/// vary within their groups. About 1 when the groups do not differ.
///
/// ```
/// let f = epgt_report::statistics::f_statistic(&[&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]]);
/// assert_eq!(f, 6.0);
/// ```
pub fn f_statistic(groups: &[&[f64]]) -> f64 {
    let count: usize = groups.iter().map(|group| group.len()).sum();
    if groups.len() < 2 || count <= groups.len() {
        return f64::NAN;
    }
    let total: f64 = groups.iter().flat_map(|group| group.iter()).sum();
    let grand_mean = total / count as f64;
    let between: f64 = groups
        .iter()
        .map(|group| group.len() as f64 * (mean(group) - grand_mean).powi(2))
        .sum();
    let within: f64 = groups.iter().map(|group| squared_deviations(group)).sum();
    (between / (groups.len() - 1) as f64) / (within / (count - groups.len()) as f64)
}

/// The sum of the squared distances to the mean.
fn squared_deviations(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// In ascending order; all NaN if any value is, so that no order statistic hides it.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    if sorted.iter().any(|value| value.is_nan()) {
        sorted.fill(f64::NAN);
    }
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The value below which a `share` of the sorted ones lies, with straight lines between them (NumPy's default).
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = share * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    if low == high {
        return low;
    }
    low + (high - low) * (position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_defined_is_nan() {
        let empty = bootstrap_interval(&[], RESAMPLES, 0);
        let undefined = [
            mean(&[]),
            standard_deviation(&[1.0]),
            median(&[]),
            interquartile_mean(&[]),
            empty.low,
            empty.high,
            cohens_d(&[1.0, 2.0, 3.0], &[]),
            f_statistic(&[&[1.0, 2.0]]),
            f_statistic(&[&[1.0], &[2.0]]),
            f_statistic(&[&[1.0, 2.0], &[], &[3.0]]),
        ];
        for (index, value) in undefined.into_iter().enumerate() {
            assert!(value.is_nan(), "number {index} is {value}");
        }
    }

    #[test]
    fn fewer_than_three_scores_have_no_interval_and_no_effect_size() {
        for few in [&[5.0][..], &[5.0, 5.0], &[1.0, 9.0]] {
            assert!(!bootstrap_interval(few, 100, 0).is_known(), "{few:?}");
            assert!(cohens_d(few, &[1.0, 2.0, 3.0]).is_nan() && cohens_d(&[1.0, 2.0, 3.0], few).is_nan());
        }
        assert!(bootstrap_interval(&[5.0, 6.0, 7.0], 100, 0).is_known());
    }

    #[test]
    fn a_nan_among_the_scores_is_never_hidden() {
        let scores = [1.0, f64::NAN, 2.0, 3.0, 4.0];
        let interval = bootstrap_interval(&scores, 100, 0);
        let tainted = [
            mean(&scores),
            median(&scores),
            interquartile_mean(&scores),
            interval.low,
            interval.high,
            cohens_d(&scores, &[1.0, 2.0, 3.0]),
            f_statistic(&[&scores, &[1.0, 2.0]]),
        ];
        assert!(tainted.iter().all(|value| value.is_nan()), "{tainted:?}");
    }

    #[test]
    fn equal_scores_have_an_interval_without_width() {
        let interval = bootstrap_interval(&[2.0; 4], 100, 1);
        assert_eq!(interval, Interval { low: 2.0, high: 2.0 });
    }

    #[test]
    fn the_interval_depends_on_the_seed_alone() {
        let scores = [3.0, 1.0, 4.0, 1.5, 9.0];
        let first = bootstrap_interval(&scores, 200, 7);
        assert_eq!(bootstrap_interval(&scores, 200, 7), first);
        assert_ne!(bootstrap_interval(&scores, 200, 8), first);
    }

    #[test]
    fn groups_that_differ_without_spread_have_an_infinite_f_and_no_effect_size() {
        assert!(cohens_d(&[2.0; 3], &[1.0; 3]).is_nan());
        assert_eq!(f_statistic(&[&[2.0, 2.0], &[1.0, 1.0]]), f64::INFINITY);
    }
}
