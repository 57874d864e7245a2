//! Action distributions: what the policy network's outputs mean.
//!
//! Plain functions over batches of rows, with no state and no allocation. A row of outputs holds the logits of a
//! categorical distribution, or the means of a diagonal Gaussian whose log standard deviations do not depend on the
//! observation (one `log_std` row for the whole batch; empty for the categorical). Losses speak of log-probabilities
//! and entropies; [`ActionDistribution::backward`] carries their gradients on to the outputs.

use std::sync::Arc;

use crate::multi_categorical as multi;
use epgt_envs::Space;
use epgt_rng::Pcg64;

const LN_SQRT_TWO_PI: f32 = 0.918_938_5;
/// Entropy of a standard Gaussian, ln sqrt(2 pi e).
const UNIT_ENTROPY: f32 = LN_SQRT_TWO_PI + 0.5;

/// The family of distributions over actions that an action space asks for.
///
/// ```
/// use epgt_pg::ActionDistribution;
/// let coin = ActionDistribution::Categorical { n: 2 };
/// let (mut log_probs, mut entropies) = ([0.0], [0.0]);
/// coin.evaluate(&[1.0, 1.0], &[], &[0.0], &mut log_probs, &mut entropies);
/// assert!((log_probs[0] - 0.5f32.ln()).abs() < 1e-6);
/// assert!((entropies[0] - 2f32.ln()).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionDistribution {
    /// One of `n` actions, by logits; an action is its index.
    Categorical {
        /// Number of actions.
        n: usize,
    },
    /// Several choices at once, each by its own logits; an action is their indices.
    MultiCategorical {
        /// Number of actions of each choice.
        counts: Arc<[usize]>,
    },
    /// Independent Gaussians, by means and state-independent log standard deviations.
    DiagonalGaussian {
        /// Numbers in an action.
        dim: usize,
    },
}

use ActionDistribution::{Categorical, DiagonalGaussian, MultiCategorical};

impl ActionDistribution {
    /// The distribution for an action space: categorical for a discrete one, several for a multi-discrete one, Gaussian
    /// for a box.
    ///
    /// # Panics
    /// If it is a space of images.
    pub fn for_space(space: &Space) -> Self {
        match space {
            Space::Discrete(n) => Categorical { n: *n },
            Space::MultiDiscrete(counts) => MultiCategorical {
                counts: counts[..].into(),
            },
            Space::Box { .. } => DiagonalGaussian { dim: space.size() },
            Space::Image { .. } => panic!("actions are choices or numbers"),
        }
    }

    /// Numbers the policy network must put out per row.
    pub fn outputs(&self) -> usize {
        match *self {
            Categorical { n } => n,
            MultiCategorical { ref counts } => counts.iter().sum(),
            DiagonalGaussian { dim } => dim,
        }
    }

    /// Numbers in one action.
    pub fn action_size(&self) -> usize {
        match *self {
            Categorical { .. } => 1,
            MultiCategorical { ref counts } => counts.len(),
            DiagonalGaussian { dim } => dim,
        }
    }

    /// Numbers in `log_std`.
    pub fn log_std_size(&self) -> usize {
        match *self {
            Categorical { .. } | MultiCategorical { .. } => 0,
            DiagonalGaussian { dim } => dim,
        }
    }

    fn check(&self, outputs: &[f32], log_std: &[f32], batch: usize) {
        assert_eq!(outputs.len(), batch * self.outputs(), "one row of outputs per step");
        assert_eq!(log_std.len(), self.log_std_size(), "one log-std per action number");
    }

    /// Draws an action for every row, and writes its log-probability.
    pub fn sample(
        &self,
        outputs: &[f32],
        log_std: &[f32],
        rng: &mut Pcg64,
        actions: &mut [f32],
        log_probs: &mut [f32],
    ) {
        self.check(outputs, log_std, log_probs.len());
        match *self {
            Categorical { n } => {
                let rows = outputs.chunks_exact(n).zip(actions.iter_mut().zip(log_probs));
                for (logits, (action, log_prob)) in rows {
                    let normaliser = log_sum_exp(logits);
                    let chosen = invert(logits, normaliser, rng.next_f32());
                    *action = chosen as f32;
                    *log_prob = logits[chosen] - normaliser;
                }
            }
            MultiCategorical { ref counts } => multi::sample(counts, outputs, rng, actions, log_probs),
            DiagonalGaussian { dim } => {
                log_probs.fill(0.0);
                for (d, &log_std) in log_std.iter().enumerate() {
                    let std = log_std.exp();
                    for (i, log_prob) in log_probs.iter_mut().enumerate() {
                        let noise = rng.standard_normal() as f32;
                        actions[i * dim + d] = outputs[i * dim + d] + std * noise;
                        *log_prob -= 0.5 * noise * noise + log_std + LN_SQRT_TWO_PI;
                    }
                }
            }
        }
    }

    /// The likeliest action of every row: what a trained policy is judged by.
    pub fn mode(&self, outputs: &[f32], actions: &mut [f32]) {
        match *self {
            Categorical { n } => {
                for (logits, action) in outputs.chunks_exact(n).zip(actions) {
                    let mut best = 0;
                    for (k, &logit) in logits.iter().enumerate() {
                        if logit > logits[best] {
                            best = k;
                        }
                    }
                    *action = best as f32;
                }
            }
            MultiCategorical { ref counts } => multi::mode(counts, outputs, actions),
            DiagonalGaussian { .. } => actions.copy_from_slice(outputs),
        }
    }

    /// Log-probability of the given actions, and entropy, of every row.
    pub fn evaluate(
        &self,
        outputs: &[f32],
        log_std: &[f32],
        actions: &[f32],
        log_probs: &mut [f32],
        entropies: &mut [f32],
    ) {
        self.check(outputs, log_std, log_probs.len());
        match *self {
            Categorical { n } => {
                let results = log_probs.iter_mut().zip(entropies);
                let rows = outputs.chunks_exact(n).zip(actions).zip(results);
                for ((logits, &action), (log_prob, entropy)) in rows {
                    let normaliser = log_sum_exp(logits);
                    *log_prob = logits[action as usize] - normaliser;
                    *entropy = row_entropy(logits, normaliser);
                }
            }
            MultiCategorical { ref counts } => multi::evaluate(counts, outputs, actions, log_probs, entropies),
            DiagonalGaussian { dim } => {
                log_probs.fill(0.0);
                for (d, &log_std) in log_std.iter().enumerate() {
                    let precision = (-log_std).exp();
                    for (i, log_prob) in log_probs.iter_mut().enumerate() {
                        let z = (actions[i * dim + d] - outputs[i * dim + d]) * precision;
                        *log_prob -= 0.5 * z * z + log_std + LN_SQRT_TWO_PI;
                    }
                }
                entropies.fill(log_std.iter().map(|log_std| log_std + UNIT_ENTROPY).sum());
            }
        }
    }

    /// Kullback-Leibler divergence KL(old || new) of every row.
    pub fn kl(&self, old: (&[f32], &[f32]), new: (&[f32], &[f32]), divergences: &mut [f32]) {
        let ((old, old_log_std), (new, new_log_std)) = (old, new);
        self.check(old, old_log_std, divergences.len());
        self.check(new, new_log_std, divergences.len());
        match *self {
            Categorical { n } => {
                let rows = old.chunks_exact(n).zip(new.chunks_exact(n));
                for ((old, new), divergence) in rows.zip(divergences) {
                    *divergence = categorical_kl(old, new);
                }
            }
            MultiCategorical { ref counts } => multi::kl(counts, old, new, divergences),
            DiagonalGaussian { dim } => {
                divergences.fill(0.0);
                for (d, (old_log_std, new_log_std)) in old_log_std.iter().zip(new_log_std).enumerate() {
                    let precision = (-new_log_std).exp();
                    let ratio = (old_log_std - new_log_std).exp();
                    let constant = new_log_std - old_log_std + 0.5 * (ratio * ratio - 1.0);
                    for (i, divergence) in divergences.iter_mut().enumerate() {
                        let z = (old[i * dim + d] - new[i * dim + d]) * precision;
                        *divergence += constant + 0.5 * z * z;
                    }
                }
            }
        }
    }

    /// Carries gradients with respect to each row's log-probability and entropy on to the outputs and `log_std`. Both
    /// results are overwritten.
    ///
    /// Categorical: `d logp(a) / d logit_j = [j = a] - p_j`, `d H / d logit_j = -p_j (log p_j + H)`. Gaussian: with `z
    /// = (a - mean) / std`, `d logp / d mean = z / std`, `d logp / d log_std = z^2 - 1`, `d H / d log_std = 1`.
    pub fn backward(
        &self,
        (outputs, log_std): (&[f32], &[f32]),
        actions: &[f32],
        log_prob_gradient: &[f32],
        entropy_gradient: &[f32],
        output_gradient: &mut [f32],
        log_std_gradient: &mut [f32],
    ) {
        self.check(outputs, log_std, log_prob_gradient.len());
        self.check(output_gradient, log_std_gradient, entropy_gradient.len());
        match *self {
            Categorical { n } => {
                let weights = log_prob_gradient.iter().zip(entropy_gradient);
                let rows = outputs.chunks_exact(n).zip(output_gradient.chunks_exact_mut(n));
                for (((logits, gradient), &action), (&log_prob, &entropy)) in rows.zip(actions).zip(weights) {
                    let normaliser = log_sum_exp(logits);
                    let row_entropy = row_entropy(logits, normaliser);
                    for (out, logit) in gradient.iter_mut().zip(logits) {
                        let log_p = logit - normaliser;
                        *out = -log_p.exp() * (log_prob + entropy * (log_p + row_entropy));
                    }
                    gradient[action as usize] += log_prob;
                }
            }
            MultiCategorical { ref counts } => multi::backward(
                counts,
                outputs,
                actions,
                log_prob_gradient,
                entropy_gradient,
                output_gradient,
            ),
            DiagonalGaussian { dim } => {
                let entropy_sum: f32 = entropy_gradient.iter().sum();
                for (d, (&log_std, gradient)) in log_std.iter().zip(log_std_gradient).enumerate() {
                    let precision = (-log_std).exp();
                    *gradient = entropy_sum;
                    for (i, &log_prob) in log_prob_gradient.iter().enumerate() {
                        let z = (actions[i * dim + d] - outputs[i * dim + d]) * precision;
                        output_gradient[i * dim + d] = log_prob * z * precision;
                        *gradient += log_prob * (z * z - 1.0);
                    }
                }
            }
        }
    }
}

#[inline]
pub(crate) fn log_sum_exp(logits: &[f32]) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    max + logits.iter().map(|logit| (logit - max).exp()).sum::<f32>().ln()
}

/// KL of two categorical distributions, by their logits: the mean under the old one of the difference of logits, and the
/// difference of the normalisers. Every exponential is taken once.
#[inline]
pub(crate) fn categorical_kl(old: &[f32], new: &[f32]) -> f32 {
    if let ([old_a, old_b], [new_a, new_b]) = (old, new) {
        return pair_kl([*old_a, *old_b], [*new_a, *new_b]);
    }
    let max = |logits: &[f32]| logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (old_max, new_max) = (max(old), max(new));
    let (mut old_sum, mut new_sum, mut moved) = (0.0, 0.0, 0.0);
    for (old, new) in old.iter().zip(new) {
        let (old, new) = (old - old_max, new - new_max);
        let weight = old.exp();
        old_sum += weight;
        new_sum += new.exp();
        moved += weight * (old - new);
    }
    moved / old_sum + (new_sum / old_sum).ln()
}

/// The same of two actions, where half of the exponentials are those of 0: digit for digit what the sums would give.
#[inline]
fn pair_kl(old: [f32; 2], new: [f32; 2]) -> f32 {
    let below_max = |[a, b]: [f32; 2]| {
        let max = a.max(b);
        [a - max, b - max]
    };
    let (old, new) = (below_max(old), below_max(new));
    let (less, new_less) = (old[0].min(old[1]).exp(), new[0].min(new[1]).exp());
    let weight = |below: f32| if below == 0.0 { 1.0 } else { less };
    let moved = weight(old[0]) * (old[0] - new[0]) + weight(old[1]) * (old[1] - new[1]);
    let (old_sum, new_sum) = (1.0 + less, 1.0 + new_less);
    moved / old_sum + (new_sum / old_sum).ln()
}

#[inline]
pub(crate) fn row_entropy(logits: &[f32], normaliser: f32) -> f32 {
    let term = |logit: &f32| {
        let log_p = logit - normaliser;
        log_p.exp() * log_p
    };
    -logits.iter().map(term).sum::<f32>()
}

/// The action whose share of the cumulative distribution holds `u` of [0, 1); never one of probability 0.
#[inline]
pub(crate) fn invert(logits: &[f32], normaliser: f32, u: f32) -> usize {
    let (mut left, mut chosen) = (u, 0);
    for (k, logit) in logits.iter().enumerate() {
        let p = (logit - normaliser).exp();
        if p > 0.0 {
            chosen = k;
        }
        left -= p;
        if left < 0.0 {
            break;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_drawn_as_often_as_their_probability_says() {
        let probabilities = [0.1f32, 0.0, 0.6, 0.3, 0.0];
        let logits = probabilities.map(f32::ln);
        let categorical = Categorical { n: 5 };
        let mut rng = Pcg64::from_seed(5);
        let mut counts = [0u32; 5];
        for _ in 0..20_000 {
            let (mut action, mut log_prob) = ([0.0], [0.0]);
            categorical.sample(&logits, &[], &mut rng, &mut action, &mut log_prob);
            let chosen = action[0] as usize;
            counts[chosen] += 1;
            assert!((log_prob[0] - logits[chosen]).abs() < 1e-5);
        }
        for (count, p) in counts.iter().zip(probabilities) {
            assert!((*count as f32 / 20_000.0 - p).abs() < 0.015, "{counts:?}");
        }
    }

    #[test]
    fn the_divergence_of_two_actions_is_digit_for_digit_that_of_the_sums() {
        let mut rng = Pcg64::from_seed(1);
        for scale in [0.01, 1.0, 30.0] {
            for _ in 0..2000 {
                let logits: [f32; 4] = std::array::from_fn(|_| scale * (2.0 * rng.next_f32() - 1.0));
                let [a, b, c, d] = logits;
                // A third action of probability 0 changes no sum, and leads through the loop.
                let loop_of_three = categorical_kl(&[a, b, -1e30], &[c, d, -1e30]);
                assert_eq!(categorical_kl(&[a, b], &[c, d]), loop_of_three, "{logits:?}");
                assert_eq!(categorical_kl(&[a, b], &[a, b]), 0.0);
            }
        }
        assert!(categorical_kl(&[f32::NAN, 0.0], &[0.0, 0.0]).is_nan());
        assert!(categorical_kl(&[0.0, 0.0], &[0.0, f32::NAN]).is_nan());
    }

    #[test]
    fn gaussian_actions_have_the_mean_and_deviation_asked_for() {
        let gaussian = DiagonalGaussian { dim: 2 };
        let (means, log_std) = ([1.0f32, -2.0].repeat(20_000), [0.5f32.ln(), 2f32.ln()]);
        let (mut actions, mut log_probs) = (vec![0.0; 40_000], vec![0.0; 20_000]);
        gaussian.sample(&means, &log_std, &mut Pcg64::from_seed(5), &mut actions, &mut log_probs);
        let (mut again, mut entropies) = (vec![0.0; 20_000], vec![0.0; 20_000]);
        gaussian.evaluate(&means, &log_std, &actions, &mut again, &mut entropies);
        assert!(again.iter().zip(&log_probs).all(|(a, b)| (a - b).abs() < 1e-4));
        for (d, std) in [0.5, 2.0].into_iter().enumerate() {
            let column = || actions.iter().skip(d).step_by(2).map(|&a| f64::from(a));
            let mean = column().sum::<f64>() / 20_000.0;
            let variance = column().map(|a| (a - mean).powi(2)).sum::<f64>() / 20_000.0;
            assert!((mean - f64::from(means[d])).abs() < 0.03 * std);
            assert!((variance.sqrt() - std).abs() < 0.02 * std);
        }
    }

    #[test]
    fn the_mode_is_the_likeliest_action() {
        let mut actions = [9.0; 2];
        Categorical { n: 3 }.mode(&[1.0, 3.0, 2.0, 0.5, -1.0, 0.0], &mut actions);
        assert_eq!(actions, [1.0, 0.0]);
        DiagonalGaussian { dim: 2 }.mode(&[0.3, -0.7], &mut actions);
        assert_eq!(actions, [0.3, -0.7]);
    }
}
