//! How much the returns of training say of the choices before them, in one run and over many.
//!
//! The unit is *effect over noise, summed over the run*. A choice that moves the outcome of its window by an effect of
//! deviation e over the values tried, in noise of deviation s, has a signal of `sqrt(n) * e / s` after n decisions. At
//! a signal of 3 ([`SURE`]) the effect is three standard errors wide, and its sign is sure. The square grows with the
//! decisions, so a run with a signal of g would have to be `9 / g^2` times as long.
//!
//! **One run** ([`Evidence`]). With k values tried in n decisions, the F statistic of the outcomes by value has the
//! noncentral F distribution with `k - 1` and `n - k` degrees of freedom and the noncentrality lambda = signal^2. Its
//! mean gives the unbiased estimate `lambda = (k - 1) * ((n - k - 2) / (n - k) * F - 1)`. Where F is not above what
//! chance reaches in 95 of 100 runs, that estimate is worth nothing and an upper bound is told instead.
//!
//! What counts as the outcome of a decision is the *improvement* of its window on the window before, as in the F of the
//! metrics. Returns drift while training goes on, and the difference takes the drift out. Its price is the noise of two
//! windows instead of one. Taking out the mean of blocks of neighbouring windows instead would be up to `sqrt(2)`
//! better where noise does not last from window to window, and worse where it does, or where effects last; and somebody
//! would have to choose the length of a block. docs/signal.md has both on the same runs: either way a run of A2C knows
//! nothing. One run cannot tell an effect whose sign changes while training goes on from noise: it tells of values that
//! are better throughout.
//!
//! **Many runs** ([`Across`]). Where many runs have drawn their values at random at the same moments, each moment is
//! looked at by itself across runs. This sees effects that change over training, too: what a schedule by time could
//! know.
//!
//! F statistics presume choices that were drawn at random. Where a scheduler prefers what went well before, they tell
//! what was seen together, not what was caused.

use std::fmt;

use crate::f_distribution::{crossing, probability, quantile};
use crate::numbers::rounded;
use crate::statistics::{f_statistic, mean};

/// The signal at which the sign of an effect is sure: three standard errors.
pub const SURE: f64 = 3.0;

/// The share of runs without any effect whose F is below [`Evidence::chance`], and the confidence of bounds.
const CONFIDENCE: f64 = 0.95;

/// Degrees of freedom within values that F needs to have a variance, so that anything can be said of it.
const LEAST_WITHIN: f64 = 5.0;

/// The F statistic of outcomes by choice, of one run or of several that are pooled.
///
/// ```
/// use epgt_report::signal::Evidence;
/// let decisions = (0..90).map(|i| (f64::from(i % 3), f64::from(i % 7)));
/// let evidence = Evidence::of(decisions).unwrap();
/// assert_eq!((evidence.between, evidence.within), (2.0, 87.0));
/// assert!(!evidence.shows());
/// assert_eq!(
///     evidence.sentence("choice", 100_000.0),
///     "This run cannot know which choice is best: its returns hold a signal of at most 2.5, where 3 would be sure. \
///      At least 150,000 steps like these would be needed to tell it from chance."
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Variance between values over variance within them.
    pub f: f64,
    /// Degrees of freedom between values: those that were tried, less one.
    pub between: f64,
    /// Degrees of freedom within values: decisions, less values.
    pub within: f64,
    /// How many runs are pooled.
    pub runs: usize,
}

impl Evidence {
    /// What one run says, from the value and the outcome of every decision. `None` where too few decisions were made,
    /// one value was tried alone, or nothing varies.
    pub fn of(decisions: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let mut decisions: Vec<(f64, f64)> = decisions.into_iter().collect();
        decisions.sort_by(|a, b| a.0.total_cmp(&b.0));
        let outcomes: Vec<f64> = decisions.iter().map(|decision| decision.1).collect();
        let mut rest = outcomes.as_slice();
        let mut groups = Vec::new();
        for same in decisions.chunk_by(|a, b| a.0 == b.0) {
            let (group, others) = rest.split_at(same.len());
            groups.push(group);
            rest = others;
        }
        let f = f_statistic(&groups);
        let (between, within) = (groups.len() as f64 - 1.0, decisions.len() as f64 - groups.len() as f64);
        (f.is_finite() && between >= 1.0 && within >= LEAST_WITHIN).then_some(Self {
            f,
            between,
            within,
            runs: 1,
        })
    }

    /// What several runs of one kind say together, each measured in its own noise: the mean of their F, with the
    /// degrees of freedom of all.
    pub fn pooled(runs: &[Self]) -> Option<Self> {
        let sum = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>();
        let between = sum(|run| run.between);
        (!runs.is_empty()).then(|| Self {
            f: sum(|run| run.f * run.between) / between,
            between,
            within: sum(|run| run.within),
            runs: runs.iter().map(|run| run.runs).sum(),
        })
    }

    /// The F that chance alone stays below in 95 of 100 cases.
    pub fn chance(&self) -> f64 {
        quantile(CONFIDENCE, self.between, self.within)
    }

    /// Whether the choice shows in the outcomes: F is above what chance reaches.
    pub fn shows(&self) -> bool {
        self.f > self.chance()
    }

    /// The unbiased estimate of the squared signal of all runs together; below 0 where F is below its mean by chance.
    pub fn estimate(&self) -> f64 {
        self.between * ((self.within - 2.0) / self.within * self.f - 1.0)
    }

    /// The upper bound of the squared signal of all runs together, with a confidence of at least 95%.
    ///
    /// It is where an F as small as this one is 20 times less probable than without any signal. An F that is small by
    /// luck would have the plain bound, where an F as small has a probability of 5%, exclude even a signal of 0;
    /// this one is above `2 ln 20` always, and near the plain one where F is not small.
    pub fn bound(&self) -> f64 {
        let of = |squared: f64| probability(self.f, self.between, self.within, squared);
        let without = of(0.0);
        match without > 0.0 {
            true => crossing(|squared| (1.0 - CONFIDENCE) - of(squared) / without),
            // The limit for F = 0.
            false => -2.0 * (1.0 - CONFIDENCE).ln(),
        }
    }

    /// What a run can know, in a sentence or two. `what` is chosen, such as "learning_rate", and `steps` are the
    /// environment steps of all runs together.
    pub fn sentence(&self, what: &str, steps: f64) -> String {
        let runs = self.runs as f64;
        let (who, whose) = match self.runs {
            1 => ("This run", "this run"),
            _ => ("A run like these", "a run like these"),
        };
        let needed = |squared: f64| rounded(steps * SURE * SURE / squared);
        let squared = if self.shows() { self.estimate() } else { self.bound() };
        let signal = (squared / runs).sqrt();
        match (self.shows(), signal >= SURE) {
            (true, true) => format!(
                "The returns of {whose} hold a signal of about {signal:.1}, where 3 is sure: about {} steps like these tell \
                 the best {what} from chance.",
                needed(squared)
            ),
            (true, false) => format!(
                "{who} cannot be sure which {what} is best: its returns hold a signal of about {signal:.1}, where 3 would be \
                 sure. About {} steps like these would tell it from chance.",
                needed(squared)
            ),
            (false, false) => format!(
                "{who} cannot know which {what} is best: its returns hold a signal of at most {signal:.1}, where 3 would be \
                 sure. At least {} steps like these would be needed to tell it from chance.",
                needed(squared)
            ),
            // These steps were too few, though the bound alone would allow for fewer.
            (false, true) => format!(
                "{who} cannot know which {what} is best: chance alone makes returns like its own. A signal of up to \
                 {signal:.1} may be hidden in them, where 3 would be sure: more than {} steps like these are needed to tell \
                 it from chance.",
                rounded(steps / runs)
            ),
        }
    }
}

/// One run's decisions for [`Across::of`]: the value in force, as a number that effects are straight in (the logarithm
/// of a rate), and the outcome of its window.
pub type Windows = Vec<(f64, f64)>;

/// The signal over many runs that have drawn their values at random, at the same moments.
///
/// At every decision but the first, the difference of the outcome to the window before is regressed on the value across
/// runs: `b` is the slope, and effect over noise is `b * sd(x) / sd(residual)`. The squares are summed over the
/// decisions, and the root of the sum is the signal of one run, with chance's share still in it.
///
/// ```
/// use epgt_report::signal::{Across, Windows};
/// // Twenty runs whose outcome follows their value by much more than it wanders.
/// let run = |r: u32| -> Windows {
///     let x = |t: u32| f64::from((r * r + t * 5 + r / 3) % 3) - 1.0;
///     (0..9).map(|t| (x(t), 10.0 * x(t) + f64::from((r * 13 + t * 11) % 17) / 17.0)).collect()
/// };
/// let across = Across::of(&(0..20).map(run).collect::<Vec<_>>()).unwrap();
/// assert_eq!((across.runs, across.decisions), (20, 8));
/// assert!(across.shows());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Across {
    /// Runs that were looked at.
    pub runs: usize,
    /// Decisions at which an effect could be measured.
    pub decisions: usize,
    /// Effect over noise, summed over the run, with what chance adds to it.
    pub signal: f64,
}

/// Runs that a slope, its residuals and their variance need.
pub const LEAST_RUNS: usize = 7;

impl Across {
    /// The signal of runs whose decisions are at the same moments; those after the end of the shortest do not count.
    /// `None` where there are fewer than [`LEAST_RUNS`], or nothing varies at any decision.
    pub fn of(runs: &[Windows]) -> Option<Self> {
        let decisions = runs.iter().map(Vec::len).min().filter(|_| runs.len() >= LEAST_RUNS)?;
        let ratios: Vec<f64> = (1..decisions).filter_map(|at| squared_ratio(runs, at)).collect();
        (!ratios.is_empty()).then(|| Self {
            runs: runs.len(),
            decisions: ratios.len(),
            signal: ratios.iter().sum::<f64>().sqrt(),
        })
    }

    /// What the signal is on average where no choice has any effect. The squared ratio of a decision is `t^2 / (S - 2)`
    /// of a slope over S runs, and chance alone gives it the mean `1 / (S - 4)`; for many runs this is
    /// `sqrt(decisions / runs)`.
    pub fn chance(&self) -> f64 {
        (self.decisions as f64 / (self.runs as f64 - 4.0)).sqrt()
    }

    /// The unbiased estimate of the squared signal, without chance's share; below 0 where it is smaller than chance
    /// makes it on average.
    pub fn estimate(&self) -> f64 {
        let runs = self.runs as f64;
        (self.signal.powi(2) - self.chance().powi(2)) * (runs - 4.0) / (runs - 2.0)
    }

    /// Whether the signal is above what chance reaches in 95 of 100 cases.
    pub fn shows(&self) -> bool {
        self.evidence().shows()
    }

    /// The upper bound of the squared signal, with a confidence of at least 95%.
    pub fn bound(&self) -> f64 {
        let evidence = self.evidence();
        evidence.bound() / evidence.between * self.decisions as f64 / (self.runs as f64 - 2.0)
    }

    /// The mean over decisions of an F with 1 and S - 2 degrees of freedom, in units of what chance makes it, as one F:
    /// its degrees of freedom between are those that give it the same variance.
    fn evidence(&self) -> Evidence {
        let (runs, decisions) = (self.runs as f64, self.decisions as f64);
        Evidence {
            f: (self.signal / self.chance()).powi(2),
            between: decisions * (runs - 6.0) / (runs - 3.0),
            within: decisions * (runs - 2.0),
            runs: self.runs,
        }
    }
}

/// The squared effect over noise of the decision at a position; `None` where all values or all residuals are the same.
fn squared_ratio(runs: &[Windows], at: usize) -> Option<f64> {
    let values: Vec<f64> = runs.iter().map(|run| run[at].0).collect();
    let changes: Vec<f64> = runs.iter().map(|run| run[at].1 - run[at - 1].1).collect();
    let (value, change) = (mean(&values), mean(&changes));
    let pairs = || values.iter().zip(&changes).map(|(x, y)| (x - value, y - change));
    let (squares, products): (f64, f64) = pairs().fold((0.0, 0.0), |(s, p), (x, y)| (s + x * x, p + x * y));
    if squares <= 0.0 {
        return None;
    }
    let slope = products / squares;
    let residual: f64 = pairs().map(|(x, y)| (y - slope * x).powi(2)).sum();
    // Both deviations have the divisor S - 1, which cancels.
    Some(slope * slope * squares / residual).filter(|ratio| residual > 0.0 && ratio.is_finite())
}

impl fmt::Display for Across {
    /// The signal, and in brackets what chance alone gives.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} [{:.2}]", self.signal, self.chance())
    }
}

#[cfg(test)]
mod tests {
    use epgt_rng::Pcg64;

    use super::*;

    /// Values 0, 1 and 2 drawn at random, and outcomes in noise of deviation 1 whose means lie `effect` apart.
    fn decisions(count: usize, effect: f64, rng: &mut Pcg64) -> Windows {
        let draw = |_| {
            let value = rng.below(3) as f64;
            (value, effect * value + rng.standard_normal())
        };
        (0..count).map(draw).collect()
    }

    #[test]
    fn the_estimate_is_unbiased_and_the_bound_holds_in_95_of_100_runs() {
        let mut rng = Pcg64::from_seed(0);
        // The variance of 0, 1 and 2 drawn alike is 2/3.
        for (effect, count) in [(0.0, 60), (0.2, 100), (0.5, 150)] {
            let truth = count as f64 * effect * effect * 2.0 / 3.0;
            let runs: Vec<Evidence> = (0..1000)
                .map(|_| Evidence::of(decisions(count, effect, &mut rng)).unwrap())
                .collect();
            let estimates: Vec<f64> = runs.iter().map(Evidence::estimate).collect();
            let error = mean(&estimates) - truth;
            let deviation = crate::statistics::standard_deviation(&estimates) / 1000_f64.sqrt();
            assert!(
                error.abs() < 3.0 * deviation,
                "{effect}: off by {error}, deviation {deviation}"
            );
            let covered = runs.iter().take(300).filter(|run| run.bound() >= truth).count();
            assert!(covered >= 276, "{effect}: {covered} of 300 bounds hold");
            let pooled = Evidence::pooled(&runs).unwrap();
            let per_run = pooled.estimate() / 1000.0;
            assert!(
                (per_run - truth).abs() < 0.05 * truth + 0.25,
                "{per_run} where {truth} is true"
            );
            assert_eq!(pooled.shows(), effect > 0.0);
        }
    }

    #[test]
    fn chance_is_told_from_a_signal_in_five_of_a_hundred_runs_without_one() {
        let mut rng = Pcg64::from_seed(1);
        let shown = (0..1000)
            .filter(|_| Evidence::of(decisions(50, 0.0, &mut rng)).unwrap().shows())
            .count();
        assert!((30..75).contains(&shown), "{shown} of 1000");
    }

    #[test]
    fn a_run_says_what_it_knows_and_how_many_steps_it_would_take() {
        let evidence = |f: f64, runs: usize| Evidence {
            f,
            between: 2.0 * runs as f64,
            within: 97.0 * runs as f64,
            runs,
        };
        let says = |f: f64, runs: usize, words: &str| {
            let sentence = evidence(f, runs).sentence("choice", 100_000.0 * runs as f64);
            assert!(sentence.contains(words), "F = {f}: {sentence}");
        };
        // bound 6.39 (SciPy): 100,000 * 9 / 6.39 = 140,800.
        says(
            0.13,
            1,
            "This run cannot know which choice is best: its returns hold a signal of at most 2.5, where 3",
        );
        says(0.13, 1, "At least 140,000 steps like these");
        // bound 14.2: no fewer than were made.
        says(2.5, 1, "A signal of up to 3.8 may be hidden");
        says(2.5, 1, "more than 100,000 steps like these");
        // 2 * (95 / 97 * 4 - 1) = 5.84.
        says(
            4.0,
            1,
            "cannot be sure which choice is best: its returns hold a signal of about 2.4, where 3",
        );
        says(4.0, 1, "About 150,000 steps like these");
        // 2 * (95 / 97 * 10 - 1) = 17.59.
        says(
            10.0,
            1,
            "The returns of this run hold a signal of about 4.2, where 3 is sure",
        );
        says(10.0, 1, "about 51,000 steps like these");
        // Fifty runs: 100 * (0.99979 * 1.5 - 1) = 49.97, of which each has a fiftieth.
        says(
            1.5,
            50,
            "A run like these cannot be sure which choice is best: its returns hold a signal of about 1.0",
        );
        says(1.5, 50, "About 900,000 steps like these");
    }

    #[test]
    fn nothing_is_said_of_one_value_of_few_decisions_or_of_outcomes_that_do_not_vary() {
        let of = |decisions: &[(f64, f64)]| Evidence::of(decisions.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1.0, 2.0); 20]), None);
        assert_eq!(of(&[(1.0, 2.0), (1.0, 3.0), (2.0, 1.0), (2.0, 5.0)]), None);
        let constant: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i % 2), 1.0)).collect();
        assert_eq!(of(&constant), None);
        assert_eq!(Evidence::pooled(&[]), None);
        let unlucky = Evidence {
            f: 0.0,
            between: 2.0,
            within: 20.0,
            runs: 1,
        };
        assert!((unlucky.bound() - 2.0 * 20_f64.ln()).abs() < 1e-9);
    }

    /// Runs whose level wanders and whose values raise the outcome of their window by `effect` a step, in noise of
    /// deviation 1: the noise of a difference has twice that variance.
    fn windows(runs: usize, decisions: usize, effect: impl Fn(usize) -> f64, rng: &mut Pcg64) -> Vec<Windows> {
        let mut run = || {
            let mut level = 0.0;
            let window = |at: usize| {
                let value = rng.below(3) as f64 - 1.0;
                level += 0.3 + effect(at) * value;
                (value, level + rng.standard_normal())
            };
            (0..decisions).map(window).collect()
        };
        (0..runs).map(|_| run()).collect()
    }

    #[test]
    fn the_signal_over_runs_is_the_one_that_was_put_in_even_where_its_sign_changes() {
        let mut rng = Pcg64::from_seed(2);
        let effect = |at: usize| if at < 50 { 0.3 } else { -0.3 };
        // 98 differences: variance 2/3 * 0.09 of the effect over 2 of the noise.
        let truth = 98.0 * 0.06 / 2.0;
        let across = Across::of(&windows(400, 99, effect, &mut rng)).unwrap();
        assert_eq!((across.runs, across.decisions), (400, 98));
        assert!((across.estimate() - truth).abs() < 0.25, "{}", across.estimate());
        assert!(across.shows() && across.bound() > truth);
        // One run sees nothing of an effect whose sign changes, nor do all of them pooled over time.
        let changes = |run: &Windows| run.windows(2).map(|w| (w[1].0, w[1].1 - w[0].1)).collect::<Vec<_>>();
        let runs: Vec<Evidence> = windows(400, 99, effect, &mut rng)
            .iter()
            .map(|run| Evidence::of(changes(run)).unwrap())
            .collect();
        assert!(Evidence::pooled(&runs).unwrap().estimate() / 400.0 < 0.2);
    }

    #[test]
    fn without_an_effect_the_signal_over_runs_is_chance_whatever_the_number_of_runs() {
        let mut rng = Pcg64::from_seed(3);
        for runs in [10, 30, 200] {
            let tries: Vec<Across> = (0..60)
                .map(|_| Across::of(&windows(runs, 40, |_| 0.0, &mut rng)).unwrap())
                .collect();
            let squared: Vec<f64> = tries.iter().map(|across| across.signal.powi(2)).collect();
            let ratio = mean(&squared) / tries[0].chance().powi(2);
            assert!((0.9..1.1).contains(&ratio), "{runs} runs: {ratio}");
            let shown = tries.iter().filter(|across| across.shows()).count();
            assert!(shown <= 8, "{runs} runs: {shown} of 60 tries show a signal");
            assert!(tries.iter().all(|across| across.bound() > 0.0));
            // 39 differences in twice the noise; the root of 60 * 0.05 * 0.95 is 1.7.
            let truth = 39.0 * 0.06 / 2.0;
            let bound = |_| Across::of(&windows(runs, 40, |_| 0.3, &mut rng)).unwrap().bound();
            let held = (0..60).map(bound).filter(|&bound| bound >= truth).count();
            assert!(held >= 53, "{runs} runs: {held} of 60 bounds hold");
        }
    }

    #[test]
    fn the_signal_over_runs_is_the_ratio_of_deviations_in_a_case_by_hand() {
        // At the second decision values are -1, 0, 1, twice, and an eighth run with 0; changes are 2x + residuals.
        let values = [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0, 0.0, 0.0];
        let residuals = [0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 1.0, -1.0];
        let run = |i: usize| {
            vec![
                (0.0, 7.0 * i as f64),
                (values[i], 7.0 * i as f64 + 2.0 * values[i] + residuals[i]),
            ]
        };
        let across = Across::of(&(0..8).map(run).collect::<Vec<_>>()).unwrap();
        // The residuals have no mean and no slope: slope 2, squares of values 4, of residuals 3.5.
        assert!((across.signal.powi(2) - 4.0 * 4.0 / 3.5).abs() < 1e-12, "{across:?}");
        assert_eq!(across.decisions, 1);
        assert_eq!(Across::of(&(0..6).map(run).collect::<Vec<_>>()), None);
        let still: Vec<Windows> = (0..8).map(|i| vec![(0.0, 1.0), (values[i], 1.0)]).collect();
        assert_eq!(Across::of(&still), None);
    }
}
