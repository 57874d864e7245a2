//! What one environment phase leaves behind: T steps of N environments as contiguous `[T][N][..]` arrays.
//!
//! Allocated once and overwritten by every phase. The environments write straight into it, the policy reads whole rows
//! from it, and the update sees all steps as one batch of T * N rows without a copy.

use std::ops::Range;

use crate::gae::{Segment, advantage_slopes, advantages_and_returns, discounted_return_mean};
use epgt_envs::{Episode, Observations, RowShape, Rows};

/// T steps in each of N environments. Observations and rewards are those learned from (normalised where that is on);
/// `raw_rewards` are the task's own.
///
/// ```
/// use epgt_pg::Rollout;
/// let mut rollout = Rollout::new(2, 1, 3, 1);
/// rollout.raw_rewards.copy_from_slice(&[1.0, 3.0]);
/// assert_eq!(rollout.reward_rate(), 2.0);
/// assert_eq!(rollout.mean_episode_return(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Rollout {
    /// Steps T of one phase.
    pub steps: usize,
    /// Environments N.
    pub n: usize,
    /// `[T + 1][N][O]`, numbers or bytes; row T is what the next phase starts from.
    pub observations: Observations,
    /// `[T][N][A]`, as drawn (what the environments are given is squashed, where that is on, or they clip it).
    pub actions: Vec<f32>,
    /// `[T][N]`, normalised where that is on.
    pub rewards: Vec<f32>,
    /// `[T][N]`, the task's own.
    pub raw_rewards: Vec<f32>,
    /// `[T + 1][N]`, of the policy that acted.
    pub values: Vec<f32>,
    /// `[T][N]`, of the policy that acted.
    pub log_probs: Vec<f32>,
    /// `[T][N][K]`, what the policy that acted put out, and its log standard deviations: an update measures against them
    /// how far it has moved the policy. Filled by [`collect`](crate::collect).
    pub outputs: Vec<f32>,
    /// See `outputs`.
    pub log_std: Vec<f32>,
    /// `[N]`, multipliers of the noise that the environments acted with; empty where all acted alike.
    pub noise: Vec<f32>,
    /// The logarithm of the factor by which the policy's noise was changed before this phase.
    pub widened: f32,
    /// `[T][N]`, where the task ended.
    pub terminated: Vec<bool>,
    /// `[T][N]`, where a time limit cut the episode.
    pub truncated: Vec<bool>,
    /// `[T][N]`, value of the last observation of a truncated episode, 0 elsewhere.
    pub final_values: Vec<f32>,
    /// `[T][N]`, filled by [`Rollout::compute_advantages`].
    pub advantages: Vec<f32>,
    /// `[T][N]`, the value targets, filled with the advantages.
    pub returns: Vec<f32>,
    /// Episodes that ended in this phase.
    pub episodes: Vec<Episode>,
    /// Whether row T holds observations to go on from.
    pub(crate) started: bool,
    /// One observation, for those that ended an episode.
    pub(crate) final_observation: Observations,
}

impl Rollout {
    /// Room for `steps` steps of `n` environments, with observations of this shape (or so many numbers) and `action`
    /// numbers per action.
    pub fn new(steps: usize, n: usize, observation: impl Into<RowShape>, action: usize) -> Self {
        let observation = observation.into();
        assert!(steps > 0 && n > 0, "a rollout has at least one step of one environment");
        let len = steps * n;
        Self {
            steps,
            n,
            observations: Observations::new(observation, len + n),
            actions: vec![0.0; len * action],
            rewards: vec![0.0; len],
            raw_rewards: vec![0.0; len],
            values: vec![0.0; len + n],
            log_probs: vec![0.0; len],
            outputs: Vec::new(),
            log_std: Vec::new(),
            noise: Vec::new(),
            widened: 0.0,
            terminated: vec![false; len],
            truncated: vec![false; len],
            final_values: vec![0.0; len],
            advantages: vec![0.0; len],
            returns: vec![0.0; len],
            episodes: Vec::with_capacity(len),
            started: false,
            final_observation: Observations::new(observation, 1),
        }
    }

    /// Makes the next phase `steps` long; what it starts from stays. Allocates only where it grows beyond what it has
    /// been.
    pub fn set_steps(&mut self, steps: usize) {
        if steps == self.steps {
            return;
        }
        assert!(steps > 0, "a rollout has at least one step");
        let (n, observation) = (self.n, self.final_observation.len());
        let action = self.actions.len() / self.batch_size();
        let (old, len, row) = (self.batch_size() * observation, steps * n, n * observation);
        self.observations
            .resize(self.observations.len().max(len * observation + row));
        self.observations.copy_within(old..old + row, len * observation);
        self.observations.resize(len * observation + row);
        self.steps = steps;
        self.actions.resize(len * action, 0.0);
        self.values.resize(len + n, 0.0);
        for numbers in [
            &mut self.rewards,
            &mut self.raw_rewards,
            &mut self.log_probs,
            &mut self.final_values,
            &mut self.advantages,
            &mut self.returns,
        ] {
            numbers.resize(len, 0.0);
        }
        self.terminated.resize(len, false);
        self.truncated.resize(len, false);
    }

    /// Steps in the rollout, T * N: the rows of an update's batch.
    pub fn batch_size(&self) -> usize {
        self.steps * self.n
    }

    /// The observations that were acted on, `[T][N][O]`.
    pub fn batch_observations(&self) -> Rows<'_> {
        self.observations
            .part(0..self.batch_size() * self.final_observation.len())
    }

    /// Some of the observations that were acted on.
    pub fn rows(&self, rows: Range<usize>) -> Rows<'_> {
        let row = self.final_observation.len();
        self.observations.part(rows.start * row..rows.end * row)
    }

    /// The (normalised) observations that the next phase starts from, `[N][O]`: what a checkpoint keeps of a rollout.
    pub fn last_observations(&self) -> Rows<'_> {
        let row = self.batch_size() * self.final_observation.len();
        self.observations.part(row..self.observations.len())
    }

    /// Goes on from the [`Rollout::last_observations`] of a checkpoint, instead of resetting the environments.
    ///
    /// # Panics
    /// If they are not of the same kind and number.
    pub fn resume_from<'a>(&mut self, last_observations: impl Into<Rows<'a>>) {
        let row = self.batch_size() * self.final_observation.len();
        let end = self.observations.len();
        let mut last = self.observations.part_mut(row..end);
        last.copy_from(last_observations.into());
        self.started = true;
    }

    fn segment<'a>(&'a self, rewards: &'a [f32]) -> Segment<'a> {
        Segment {
            n: self.n,
            rewards,
            values: &self.values,
            final_values: &self.final_values,
            terminated: &self.terminated,
            truncated: &self.truncated,
        }
    }

    /// Fills `advantages` and `returns` by GAE. Cheap enough to be repeated whenever gamma or lambda changes.
    pub fn compute_advantages(&mut self, gamma: f32, lambda: f32) {
        let mut advantages = std::mem::take(&mut self.advantages);
        let mut returns = std::mem::take(&mut self.returns);
        advantages_and_returns(
            self.segment(&self.rewards),
            gamma,
            lambda,
            &mut advantages,
            &mut returns,
        );
        (self.advantages, self.returns) = (advantages, returns);
    }

    /// How the advantages that were computed with this gamma and lambda move with either: see [`advantage_slopes`].
    pub fn advantage_slopes(&self, gamma: f32, lambda: f32, by_gamma: &mut [f32], by_lambda: &mut [f32]) {
        let segment = self.segment(&self.rewards);
        advantage_slopes(segment, gamma, lambda, &self.advantages, by_gamma, by_lambda);
    }

    /// The TD error of a row, r + gamma V(s') - V(s).
    pub(crate) fn td_error(&self, row: usize, gamma: f32) -> f32 {
        self.segment(&self.rewards).td_error(row, gamma)
    }

    /// The paper's empirical return G: see [`discounted_return_mean`].
    pub fn discounted_return_mean(&self, gamma: f32, value_scale: f32) -> f64 {
        discounted_return_mean(self.segment(&self.raw_rewards), gamma, value_scale)
    }

    /// Mean raw reward per step: what was really earned, free of the critic's opinion.
    pub fn reward_rate(&self) -> f64 {
        self.raw_rewards.iter().copied().map(f64::from).sum::<f64>() / self.batch_size() as f64
    }

    /// Mean undiscounted raw return of the counted episodes that ended in this phase; `None` when there were none.
    pub fn mean_episode_return(&self) -> Option<f64> {
        let counted = self.episodes.iter().filter(|episode| episode.counted);
        let (sum, count) = counted.fold((0.0, 0u32), |(sum, count), episode| {
            (sum + episode.episode_return, count + 1)
        });
        (count > 0).then(|| sum / f64::from(count))
    }

    /// How much of the returns' variance the values explain: 1 is perfect, 0 no better than a constant, negative worse.
    /// `None` when the returns do not vary. The advantages must have been computed.
    pub fn explained_variance(&self) -> Option<f32> {
        let spread = variance(self.returns.iter().copied());
        let left = variance(
            self.returns
                .iter()
                .zip(&self.values)
                .map(|(target, value)| target - value),
        );
        (spread > 0.0).then(|| (1.0 - left / spread) as f32)
    }
}

fn variance(numbers: impl Iterator<Item = f32> + Clone) -> f64 {
    let count = numbers.clone().count() as f64;
    let mean = numbers.clone().map(f64::from).sum::<f64>() / count;
    numbers.map(|number| (f64::from(number) - mean).powi(2)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counted_episodes_enter_the_mean() {
        let mut rollout = Rollout::new(1, 3, 1, 1);
        for (env, episode_return, counted) in [(0, 10.0, true), (1, 99.0, false), (2, 20.0, true)] {
            rollout.episodes.push(Episode {
                env,
                episode_return,
                length: 1,
                counted,
            });
        }
        assert_eq!(rollout.mean_episode_return(), Some(15.0));
    }

    #[test]
    fn a_phase_of_another_length_starts_from_the_same_observations() {
        let mut rollout = Rollout::new(3, 2, 2, 1);
        rollout.resume_from(&[1.0, 2.0, 3.0, 4.0]);
        for steps in [7, 1, 4] {
            rollout.set_steps(steps);
            assert_eq!(rollout.last_observations().numbers(), [1.0, 2.0, 3.0, 4.0]);
            let fresh = Rollout::new(steps, 2, 2, 1);
            assert_eq!(rollout.observations.len(), fresh.observations.len());
            assert_eq!(
                (rollout.values.len(), rollout.actions.len()),
                (2 * steps + 2, 2 * steps)
            );
        }
    }

    #[test]
    fn perfect_values_explain_everything_and_constant_ones_nothing() {
        let mut rollout = Rollout::new(4, 1, 1, 1);
        rollout.returns.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        rollout.values.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 9.0]);
        assert_eq!(rollout.explained_variance(), Some(1.0));
        rollout.values.fill(7.0);
        assert_eq!(rollout.explained_variance(), Some(0.0));
        rollout.returns.fill(1.0);
        assert_eq!(rollout.explained_variance(), None);
    }
}
