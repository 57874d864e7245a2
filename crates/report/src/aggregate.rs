//! Statistics over several tasks, as Agarwal et al. (2021) propose them and their package `rliable` computes them.
//!
//! Scores come as one list per task, in the same order of tasks for every method; lists may have different lengths.
//! Intervals are stratified bootstrap intervals: every resample draws the seeds of each task anew from that task's own
//! scores, so that no resample is easier or harder than the suite; they are unknown where a task has fewer than
//! [`LEAST_SCORES`] scores. Scores of different tasks are only comparable after [`normalised`].

use epgt_rng::Pcg64;

use crate::statistics::{Interval, LEAST_SCORES, interquartile_mean, mean, median, middle};

/// The mean over tasks of the mean score.
///
/// ```
/// assert_eq!(epgt_report::aggregate::aggregate_mean(&[vec![1.0, 3.0], vec![10.0]]), 6.0);
/// ```
pub fn aggregate_mean(tasks: &[Vec<f64>]) -> f64 {
    mean(&task_means(tasks))
}

/// The median over tasks of the mean score.
///
/// ```
/// assert_eq!(epgt_report::aggregate::aggregate_median(&[vec![1.0, 3.0], vec![10.0], vec![4.0]]), 4.0);
/// ```
pub fn aggregate_median(tasks: &[Vec<f64>]) -> f64 {
    median(&task_means(tasks))
}

/// The interquartile mean of all scores of all tasks together.
///
/// ```
/// assert_eq!(epgt_report::aggregate::aggregate_iqm(&[vec![-100.0, 2.0], vec![4.0, 900.0]]), 3.0);
/// ```
pub fn aggregate_iqm(tasks: &[Vec<f64>]) -> f64 {
    interquartile_mean(&tasks.concat())
}

/// The probability that a run of `a` scores higher than a run of `b` on the same task, ties counting half, averaged
/// over tasks: the Mann-Whitney statistic over the number of pairs.
///
/// ```
/// use epgt_report::aggregate::probability_of_improvement;
/// assert_eq!(probability_of_improvement(&[vec![3.0, 1.0]], &[vec![2.0, 0.0]]), 0.75);
/// assert_eq!(probability_of_improvement(&[vec![1.0]], &[vec![1.0]]), 0.5);
/// ```
pub fn probability_of_improvement(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len(), "both methods have the same tasks");
    let shares: Vec<f64> = a.iter().zip(b).map(|(a, b)| share_of_wins(a, b)).collect();
    mean(&shares)
}

fn share_of_wins(a: &[f64], b: &[f64]) -> f64 {
    if a.iter().chain(b).any(|score| score.is_nan()) {
        return f64::NAN;
    }
    let win = |x: f64, y: f64| match x {
        x if x > y => 1.0,
        x if x == y => 0.5,
        _ => 0.0,
    };
    let wins: f64 = a.iter().map(|&x| b.iter().map(|&y| win(x, y)).sum::<f64>()).sum();
    wins / (a.len() * b.len()) as f64
}

/// The 95% stratified bootstrap interval of a statistic of one method.
///
/// ```
/// use epgt_report::aggregate::{aggregate_iqm, stratified_interval};
/// let tasks = [vec![1.0, 2.0, 3.0, 4.0], vec![11.0, 12.0, 13.0, 14.0]];
/// let interval = stratified_interval(&tasks, 1000, 0, aggregate_iqm);
/// assert!(interval.low < 7.5 && 7.5 < interval.high);
/// ```
pub fn stratified_interval(
    tasks: &[Vec<f64>],
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&[Vec<f64>]) -> f64,
) -> Interval {
    if !are_enough(tasks) {
        return Interval::UNKNOWN;
    }
    let mut rng = Pcg64::from_seed(seed);
    let mut drawn = tasks.to_vec();
    let draw = |_| {
        redraw(tasks, &mut drawn, &mut rng);
        statistic(&drawn)
    };
    middle(&(0..resamples).map(draw).collect::<Vec<f64>>())
}

/// The 95% stratified bootstrap interval of [`probability_of_improvement`]; both methods are resampled, independently.
///
/// ```
/// use epgt_report::aggregate::improvement_interval;
/// let interval = improvement_interval(&[vec![5.0, 6.0, 7.0]], &[vec![1.0, 2.0, 3.0]], 100, 0);
/// assert_eq!((interval.low, interval.high), (1.0, 1.0));
/// ```
pub fn improvement_interval(a: &[Vec<f64>], b: &[Vec<f64>], resamples: usize, seed: u64) -> Interval {
    if !are_enough(a) || !are_enough(b) {
        return Interval::UNKNOWN;
    }
    let mut rng = Pcg64::from_seed(seed);
    let (mut drawn_a, mut drawn_b) = (a.to_vec(), b.to_vec());
    let draw = |_| {
        redraw(a, &mut drawn_a, &mut rng);
        redraw(b, &mut drawn_b, &mut rng);
        probability_of_improvement(&drawn_a, &drawn_b)
    };
    middle(&(0..resamples).map(draw).collect::<Vec<f64>>())
}

/// The performance profile: for each threshold the share of all runs of all tasks that score above it.
///
/// ```
/// let profile = epgt_report::aggregate::performance_profile(&[vec![0.0, 1.0], vec![2.0, 3.0]], &[-1.0, 1.0, 3.0]);
/// assert_eq!(profile, [1.0, 0.5, 0.0]);
/// ```
pub fn performance_profile(tasks: &[Vec<f64>], thresholds: &[f64]) -> Vec<f64> {
    let count: usize = tasks.iter().map(Vec::len).sum();
    let above = |&threshold: &f64| {
        let scores = tasks.iter().flatten();
        scores.filter(|&&score| score > threshold).count() as f64 / count as f64
    };
    thresholds.iter().map(above).collect()
}

/// The 95% stratified bootstrap intervals of a performance profile, one per threshold.
///
/// ```
/// let tasks = [vec![0.0, 1.0, 2.0, 3.0]];
/// let band = epgt_report::aggregate::profile_intervals(&tasks, &[-1.0, 1.5], 200, 0);
/// assert_eq!((band[0].low, band[0].high), (1.0, 1.0));
/// assert!(band[1].low < 0.5 && band[1].high > 0.5);
/// ```
pub fn profile_intervals(tasks: &[Vec<f64>], thresholds: &[f64], resamples: usize, seed: u64) -> Vec<Interval> {
    if !are_enough(tasks) {
        return vec![Interval::UNKNOWN; thresholds.len()];
    }
    let mut rng = Pcg64::from_seed(seed);
    let mut drawn = tasks.to_vec();
    let mut shares = vec![Vec::with_capacity(resamples); thresholds.len()];
    for _ in 0..resamples {
        redraw(tasks, &mut drawn, &mut rng);
        let profile = performance_profile(&drawn, thresholds);
        shares.iter_mut().zip(profile).for_each(|(all, share)| all.push(share));
    }
    shares.iter().map(|all| middle(all)).collect()
}

/// The scores of several methods, `methods[m][task][seed]`, on one scale per task: 0 is the worst run of any method, 1
/// the best. Where all are equal they are all 1.
///
/// ```
/// let scaled = epgt_report::aggregate::normalised(&[vec![vec![10.0, 20.0]], vec![vec![15.0]]]);
/// assert_eq!(scaled, [vec![vec![0.0, 1.0]], vec![vec![0.5]]]);
/// ```
pub fn normalised(methods: &[Vec<Vec<f64>>]) -> Vec<Vec<Vec<f64>>> {
    let mut scaled = methods.to_vec();
    for task in 0..methods.first().map_or(0, Vec::len) {
        let all = || methods.iter().flat_map(|tasks| &tasks[task]).copied();
        let (low, high) = (
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
        );
        for score in scaled.iter_mut().flat_map(|tasks| &mut tasks[task]) {
            *score = if high > low { (*score - low) / (high - low) } else { 1.0 };
        }
    }
    scaled
}

fn task_means(tasks: &[Vec<f64>]) -> Vec<f64> {
    tasks.iter().map(|scores| mean(scores)).collect()
}

/// Draws every task's scores anew from its own, with replacement.
fn redraw(tasks: &[Vec<f64>], drawn: &mut [Vec<f64>], rng: &mut Pcg64) {
    for (scores, drawn) in tasks.iter().zip(drawn) {
        for place in drawn {
            *place = scores[rng.below(scores.len() as u64) as usize];
        }
    }
}

/// Whether every task has the scores that an interval takes.
fn are_enough(tasks: &[Vec<f64>]) -> bool {
    tasks.iter().all(|scores| scores.len() >= LEAST_SCORES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resamples_stay_within_their_task() {
        let tasks = [vec![1.0; 4], vec![5.0; 3]];
        let interval = stratified_interval(&tasks, 50, 3, aggregate_mean);
        assert_eq!((interval.low, interval.high), (3.0, 3.0));
    }

    #[test]
    fn intervals_depend_on_the_seed_alone() {
        let tasks = [vec![3.0, 1.0, 4.0], vec![1.5, 9.0, 2.6]];
        let of = |seed| stratified_interval(&tasks, 200, seed, aggregate_iqm);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn a_method_without_scores_or_with_a_nan_gives_nan() {
        assert!(aggregate_iqm(&[]).is_nan());
        assert!(probability_of_improvement(&[vec![]], &[vec![1.0]]).is_nan());
        assert!(probability_of_improvement(&[vec![f64::NAN]], &[vec![1.0]]).is_nan());
        assert!(performance_profile(&[], &[0.0])[0].is_nan());
        let interval = stratified_interval(&[vec![1.0, f64::NAN, 2.0]], 50, 0, aggregate_mean);
        assert!(interval.low.is_nan());
    }

    #[test]
    fn a_task_with_fewer_than_three_scores_leaves_no_interval() {
        let (few, enough) = (
            [vec![1.0, 2.0, 3.0], vec![4.0, 5.0]],
            [vec![1.0, 2.0, 3.0], vec![4.0; 3]],
        );
        assert!(!stratified_interval(&few, 50, 0, aggregate_iqm).is_known());
        assert!(!improvement_interval(&few, &enough, 50, 0).is_known());
        assert!(!profile_intervals(&few, &[2.0], 50, 0)[0].is_known());
        assert!(stratified_interval(&enough, 50, 0, aggregate_iqm).is_known());
    }

    #[test]
    fn equal_scores_are_all_at_the_top_of_the_scale() {
        assert_eq!(normalised(&[vec![vec![7.0, 7.0]]]), [vec![vec![1.0, 1.0]]]);
    }
}
