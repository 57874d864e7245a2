//! Returns and advantages of a rollout, as pure functions over `[T][N]` arrays.
//!
//! An episode can end in two ways and they are kept apart. A *termination* is the task's own end: nothing follows, the
//! future is worth 0. A *truncation* is a time limit: the episode would have gone on, so the future is worth the value
//! of the observation it was cut at. Both stop the accumulation, since the next row belongs to another episode.

/// The rollout that is credited: rows of N numbers, one row per step.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Number of environments N.
    pub n: usize,
    /// Rewards `[T][N]`.
    pub rewards: &'a [f32],
    /// Values of the observations `[T + 1][N]`; the last row is the bootstrap of the rollout's end.
    pub values: &'a [f32],
    /// Values of the last observations of truncated episodes `[T][N]`; read only where `truncated`.
    pub final_values: &'a [f32],
    /// Where the task ended `[T][N]`; wins over `truncated`.
    pub terminated: &'a [bool],
    /// Where a time limit cut the episode `[T][N]`.
    pub truncated: &'a [bool],
}

impl Segment<'_> {
    fn check(&self) {
        let len = self.rewards.len();
        assert_eq!(self.values.len(), len + self.n, "values are [T + 1][N]");
        assert_eq!(self.final_values.len(), len, "final values are [T][N]");
        assert_eq!(self.terminated.len(), len, "terminations are [T][N]");
        assert_eq!(self.truncated.len(), len, "truncations are [T][N]");
    }

    /// Value of what follows step `i`, and whether the episode goes on in the next row.
    #[inline]
    fn next(&self, i: usize) -> (f32, bool) {
        if self.terminated[i] {
            (0.0, false)
        } else if self.truncated[i] {
            (self.final_values[i], false)
        } else {
            (self.values[i + self.n], true)
        }
    }

    /// `delta = r + gamma V(s') - V(s)` of step `i`.
    #[inline]
    pub(crate) fn td_error(&self, i: usize, gamma: f32) -> f32 {
        self.rewards[i] + gamma * self.next(i).0 - self.values[i]
    }
}

/// Generalised advantage estimation: `A_t = sum_k (gamma lambda)^k delta_(t+k)` with
/// `delta_t = r_t + gamma V(s_(t+1)) - V(s_t)`, and the value targets `A_t + V(s_t)`.
///
/// `lambda = 0` is the one-step TD error, `lambda = 1` the Monte-Carlo return minus the value.
///
/// ```
/// use epgt_pg::gae::{Segment, advantages_and_returns};
/// let segment = Segment {
///     n: 1,
///     rewards: &[1.0, 1.0],
///     values: &[0.5, 0.5, 9.0],
///     final_values: &[0.0, 0.0],
///     terminated: &[false, true],
///     truncated: &[false, false],
/// };
/// let (mut advantages, mut returns) = ([0.0; 2], [0.0; 2]);
/// advantages_and_returns(segment, 0.5, 1.0, &mut advantages, &mut returns);
/// assert_eq!(returns, [1.5, 1.0]);
/// assert_eq!(advantages, [1.0, 0.5]);
/// ```
pub fn advantages_and_returns(
    segment: Segment<'_>,
    gamma: f32,
    lambda: f32,
    advantages: &mut [f32],
    returns: &mut [f32],
) {
    segment.check();
    let len = segment.rewards.len();
    assert_eq!(advantages.len(), len, "advantages are [T][N]");
    assert_eq!(returns.len(), len, "returns are [T][N]");
    for i in (0..len).rev() {
        let (next_value, goes_on) = segment.next(i);
        let value = segment.values[i];
        let mut advantage = segment.rewards[i] + gamma * next_value - value;
        if goes_on && i + segment.n < len {
            advantage += gamma * lambda * advantages[i + segment.n];
        }
        advantages[i] = advantage;
        returns[i] = advantage + value;
    }
}

/// How the advantages of [`advantages_and_returns`] move with gamma and with lambda, exactly: the recursion
/// differentiated, `dA_t/dgamma = V(s_(t+1)) + lambda A_(t+1) + gamma lambda dA_(t+1)/dgamma` and `dA_t/dlambda = gamma
/// A_(t+1) + gamma lambda dA_(t+1)/dlambda`. Values are constants, so value targets move alike.
///
/// ```
/// use epgt_pg::gae::{Segment, advantage_slopes};
/// let segment = Segment {
///     n: 1,
///     rewards: &[1.0, 1.0],
///     values: &[0.5, 0.5, 9.0],
///     final_values: &[0.0, 0.0],
///     terminated: &[false, true],
///     truncated: &[false, false],
/// };
/// let (mut by_gamma, mut by_lambda) = ([0.0; 2], [0.0; 2]);
/// // The advantages at gamma = 0.5 and lambda = 1.
/// advantage_slopes(segment, 0.5, 1.0, &[1.0, 0.5], &mut by_gamma, &mut by_lambda);
/// assert_eq!(by_gamma, [1.0, 0.0]);
/// assert_eq!(by_lambda, [0.25, 0.0]);
/// ```
pub fn advantage_slopes(
    segment: Segment<'_>,
    gamma: f32,
    lambda: f32,
    advantages: &[f32],
    by_gamma: &mut [f32],
    by_lambda: &mut [f32],
) {
    segment.check();
    let (n, len) = (segment.n, segment.rewards.len());
    assert_eq!(advantages.len(), len, "advantages are [T][N]");
    assert_eq!(by_gamma.len(), len, "slopes are [T][N]");
    assert_eq!(by_lambda.len(), len, "slopes are [T][N]");
    for i in (0..len).rev() {
        let (next_value, goes_on) = segment.next(i);
        (by_gamma[i], by_lambda[i]) = (next_value, 0.0);
        if goes_on && i + n < len {
            let next = i + n;
            by_gamma[i] += lambda * (advantages[next] + gamma * by_gamma[next]);
            by_lambda[i] = gamma * (advantages[next] + lambda * by_lambda[next]);
        }
    }
}

/// The empirical return G of a rollout, the hyper-reward (paper, section "Hyperparameter Reinforcement Learning"): the
/// mean over its steps of the discounted sum of raw rewards to the rollout's or the episode's end, bootstrapped with
/// the value at the cut.
///
/// `segment.rewards` are the raw rewards; `value_scale` turns a value into their unit (1 unless the values were learned
/// from normalised rewards, then the deviation these were divided by).
///
/// ```
/// use epgt_pg::gae::{Segment, discounted_return_mean};
/// let segment = Segment {
///     n: 1,
///     rewards: &[1.0, 2.0],
///     values: &[0.0, 0.0, 4.0],
///     final_values: &[0.0, 0.0],
///     terminated: &[false, false],
///     truncated: &[false, false],
/// };
/// // (1 + 0.5 * (2 + 0.5 * 8) + (2 + 0.5 * 8)) / 2
/// assert_eq!(discounted_return_mean(segment, 0.5, 2.0), 5.0);
/// ```
pub fn discounted_return_mean(segment: Segment<'_>, gamma: f32, value_scale: f32) -> f64 {
    segment.check();
    let (n, len) = (segment.n, segment.rewards.len());
    let (gamma, scale) = (f64::from(gamma), f64::from(value_scale));
    let mut sum = 0.0;
    for env in 0..n {
        let mut future = 0.0;
        for i in (env..len).step_by(n).rev() {
            let (next_value, goes_on) = segment.next(i);
            if !goes_on || i + n >= len {
                future = scale * f64::from(next_value);
            }
            future = f64::from(segment.rewards[i]) + gamma * future;
            sum += future;
        }
    }
    sum / len.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_rng::Pcg64;

    /// A random rollout of `t` steps in `n` environments that ends now and then in both ways.
    struct Random {
        n: usize,
        rewards: Vec<f32>,
        values: Vec<f32>,
        final_values: Vec<f32>,
        terminated: Vec<bool>,
        truncated: Vec<bool>,
    }

    impl Random {
        fn new(seed: u64, t: usize, n: usize) -> Self {
            let mut rng = Pcg64::from_seed(seed);
            let mut normal = |len| -> Vec<f32> { (0..len).map(|_| rng.standard_normal() as f32).collect() };
            let (rewards, values, final_values) = (normal(t * n), normal((t + 1) * n), normal(t * n));
            let mut flags = |_| -> Vec<bool> { (0..t * n).map(|_| rng.next_f64() < 0.15).collect() };
            let (terminated, truncated) = (flags(0), flags(1));
            Self {
                n,
                rewards,
                values,
                final_values,
                terminated,
                truncated,
            }
        }

        fn segment(&self) -> Segment<'_> {
            Segment {
                n: self.n,
                rewards: &self.rewards,
                values: &self.values,
                final_values: &self.final_values,
                terminated: &self.terminated,
                truncated: &self.truncated,
            }
        }

        fn advantages_and_returns(&self, gamma: f32, lambda: f32) -> (Vec<f32>, Vec<f32>) {
            let mut advantages = vec![f32::NAN; self.rewards.len()];
            let mut returns = advantages.clone();
            advantages_and_returns(self.segment(), gamma, lambda, &mut advantages, &mut returns);
            (advantages, returns)
        }
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() <= 1e-5 * (1.0 + b.abs())
    }

    #[test]
    fn lambda_one_gives_bootstrapped_monte_carlo_returns() {
        let random = Random::new(1, 40, 3);
        let (_, returns) = random.advantages_and_returns(0.97, 1.0);
        for (start, &found) in returns.iter().enumerate() {
            let (mut i, mut discount, mut sum) = (start, 1.0, 0.0);
            let monte_carlo = loop {
                sum += discount * f64::from(random.rewards[i]);
                discount *= f64::from(0.97f32);
                if random.terminated[i] {
                    break sum;
                } else if random.truncated[i] {
                    break sum + discount * f64::from(random.final_values[i]);
                } else if i + 3 >= random.rewards.len() {
                    break sum + discount * f64::from(random.values[i + 3]);
                }
                i += 3;
            };
            assert!(close(found, monte_carlo as f32), "step {start}");
        }
    }

    #[test]
    fn lambda_zero_gives_one_step_errors() {
        let random = Random::new(2, 30, 2);
        let (advantages, _) = random.advantages_and_returns(0.9, 0.0);
        for (i, &advantage) in advantages.iter().enumerate() {
            let next = match (random.terminated[i], random.truncated[i]) {
                (true, _) => 0.0,
                (false, true) => random.final_values[i],
                (false, false) => random.values[i + 2],
            };
            assert!(close(advantage, random.rewards[i] + 0.9 * next - random.values[i]));
        }
    }

    #[test]
    fn the_slopes_of_the_advantages_are_their_central_differences() {
        let random = Random::new(6, 12, 3);
        let (gamma, lambda, h) = (0.9f32, 0.8f32, 0.01f32);
        let (advantages, _) = random.advantages_and_returns(gamma, lambda);
        let (mut by_gamma, mut by_lambda) = (vec![0.0; 36], vec![0.0; 36]);
        advantage_slopes(
            random.segment(),
            gamma,
            lambda,
            &advantages,
            &mut by_gamma,
            &mut by_lambda,
        );
        let difference = |above: (Vec<f32>, Vec<f32>), below: (Vec<f32>, Vec<f32>)| -> Vec<f32> {
            let pairs = above.0.iter().zip(&below.0);
            pairs.map(|(above, below)| (above - below) / (2.0 * h)).collect()
        };
        let at = |gamma, lambda| random.advantages_and_returns(gamma, lambda);
        let gammas = difference(at(gamma + h, lambda), at(gamma - h, lambda));
        let lambdas = difference(at(gamma, lambda + h), at(gamma, lambda - h));
        for i in 0..36 {
            assert!((by_gamma[i] - gammas[i]).abs() < 5e-3 * (1.0 + gammas[i].abs()), "{i}");
            assert!(
                (by_lambda[i] - lambdas[i]).abs() < 5e-3 * (1.0 + lambdas[i].abs()),
                "{i}"
            );
        }
        assert!(by_lambda.iter().any(|slope| slope.abs() > 0.1));
    }

    #[test]
    fn the_mean_return_of_normalised_rewards_is_the_mean_monte_carlo_return() {
        let random = Random::new(3, 25, 4);
        let (_, returns) = random.advantages_and_returns(0.95, 1.0);
        let mean = returns.iter().sum::<f32>() / returns.len() as f32;
        assert!(close(discounted_return_mean(random.segment(), 0.95, 1.0) as f32, mean));
    }

    #[test]
    fn a_constant_stream_cut_by_time_limits_is_worth_the_infinite_sum() {
        let (gamma, worth) = (0.9f32, 2.0 / (1.0 - 0.9));
        let segment = Segment {
            n: 2,
            rewards: &[2.0; 12],
            values: &[worth; 14],
            final_values: &[worth; 12],
            terminated: &[false; 12],
            truncated: &[true; 12],
        };
        let (mut advantages, mut returns) = ([1.0; 12], [0.0; 12]);
        advantages_and_returns(segment, gamma, 0.95, &mut advantages, &mut returns);
        assert!(advantages.iter().all(|advantage| advantage.abs() < 1e-5));
        assert!(returns.iter().all(|&value| close(value, worth)));
        assert!(close(discounted_return_mean(segment, gamma, 1.0) as f32, worth));
    }

    #[test]
    fn the_value_scale_multiplies_bootstraps_but_not_rewards() {
        let mut random = Random::new(4, 20, 2);
        let scaled = discounted_return_mean(random.segment(), 0.9, 3.0);
        for value in random.values.iter_mut().chain(&mut random.final_values) {
            *value *= 3.0;
        }
        let plain = discounted_return_mean(random.segment(), 0.9, 1.0);
        assert!((scaled - plain).abs() < 1e-5);
    }
}
