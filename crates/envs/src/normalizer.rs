//! Running normalisation of observations and rewards, for networks that want numbers around 1.
//!
//! Observations are centred and scaled by running statistics over all environments. Rewards are only scaled, by the
//! deviation of the discounted return, so that their sign and the best policy stay. Both are clipped.

use serde::{Deserialize, Serialize};

/// Normalised numbers are clipped to this.
const CLIP: f64 = 10.0;
/// Added to a variance before its root is taken.
const EPSILON: f64 = 1e-8;

/// Mean and variance of one number, merged batch by batch (Chan, Golub and LeVeque, 1979).
///
/// The start (mean 0, variance 1, seen 1e-4 times) and the merge are those of Gymnasium's `RunningMeanStd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Moments {
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// sqrt(variance + epsilon), kept so that it is taken once per batch and not once per row.
    deviation: Vec<f64>,
    count: f64,
}

impl Moments {
    fn new(size: usize) -> Self {
        Moments {
            mean: vec![0.0; size],
            variance: vec![1.0; size],
            deviation: vec![(1.0 + EPSILON).sqrt(); size],
            count: 1e-4,
        }
    }

    /// Merges `batch` values of every number; `value(row, k)` is number k of a row.
    fn merge(&mut self, batch: usize, value: impl Fn(usize, usize) -> f64) {
        let total = self.count + batch as f64;
        let (old, new) = (self.count / total, batch as f64 / total);
        let share = 1.0 / batch as f64;
        for k in 0..self.mean.len() {
            let column = (0..batch).map(|row| value(row, k));
            let mean = column.clone().sum::<f64>() * share;
            let variance = column.map(|x| (x - mean) * (x - mean)).sum::<f64>() * share;
            let delta = mean - self.mean[k];
            self.mean[k] += new * delta;
            self.variance[k] = old * self.variance[k] + new * variance + old * new * delta * delta;
            self.deviation[k] = (self.variance[k] + EPSILON).sqrt();
        }
        self.count = total;
    }
}

/// Running statistics of observations and discounted returns, and what they do to a row.
///
/// With an option off, its values pass unchanged. The statistics are part of the policy: they are saved with it, and
/// frozen when it is evaluated.
///
/// ```
/// use epgt_envs::Normalizer;
/// let mut normalizer = Normalizer::new(1, 2, true, false, 0.99);
/// let mut rows = [1.0, 3.0];
/// normalizer.observe(&mut rows);
/// assert!((normalizer.observation_mean()[0] - 2.0).abs() < 1e-3);
/// assert!((rows[0] + 1.0).abs() < 1e-3 && (rows[1] - 1.0).abs() < 1e-3);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalizer {
    normalize_observations: bool,
    normalize_rewards: bool,
    sign_rewards: bool,
    /// Discount of the returns whose deviation scales the rewards. It may change at any time.
    pub gamma: f64,
    frozen: bool,
    observations: Moments,
    returns: Moments,
    /// The discounted return of each environment's running episode, so far.
    running: Vec<f64>,
}

impl Normalizer {
    /// Nothing seen yet: `observation_size` numbers a row, one row for each of `n_envs` environments.
    pub fn new(
        observation_size: usize,
        n_envs: usize,
        normalize_observations: bool,
        normalize_rewards: bool,
        gamma: f64,
    ) -> Self {
        Normalizer {
            normalize_observations,
            normalize_rewards,
            sign_rewards: false,
            gamma,
            frozen: false,
            observations: Moments::new(observation_size),
            returns: Moments::new(1),
            running: vec![0.0; n_envs],
        }
    }

    /// Replaces every reward by its sign, -1, 0 or 1, instead of scaling it: usual where scores differ by orders of
    /// magnitude from game to game (Mnih et al., 2015).
    ///
    /// ```
    /// let mut normalizer = epgt_envs::Normalizer::new(0, 3, false, false, 0.99).with_sign_rewards();
    /// let mut out = [9.0; 3];
    /// normalizer.rewards(&[-30.0, 0.0, 0.2], &[false; 3], &[false; 3], &mut out);
    /// assert_eq!(out, [-1.0, 0.0, 1.0]);
    /// ```
    pub fn with_sign_rewards(mut self) -> Self {
        self.sign_rewards = true;
        self
    }

    /// The frozen statistics of observations that were saved with a policy; rewards pass unchanged.
    ///
    /// ```
    /// let normalizer = epgt_envs::Normalizer::frozen(true, &[1.0], &[4.0]);
    /// let mut row = [5.0];
    /// normalizer.apply(&mut row);
    /// assert!((row[0] - 2.0).abs() < 1e-6);
    /// ```
    pub fn frozen(normalize_observations: bool, mean: &[f64], variance: &[f64]) -> Self {
        let mut normalizer = Self::new(mean.len(), 1, normalize_observations, false, 0.0);
        normalizer.observations.mean.copy_from_slice(mean);
        normalizer.observations.variance.copy_from_slice(variance);
        for (deviation, variance) in normalizer.observations.deviation.iter_mut().zip(variance) {
            *deviation = (variance + EPSILON).sqrt();
        }
        normalizer.freeze();
        normalizer
    }

    /// Takes rows of observations into the statistics, unless frozen, and normalises them in place:
    /// clip((x - mean) / sqrt(variance + 1e-8), +-10).
    pub fn observe(&mut self, rows: &mut [f32]) {
        if !self.normalize_observations {
            return;
        }
        let size = self.observations.mean.len();
        assert_eq!(rows.len() % size, 0, "whole rows of observations");
        if !self.frozen && !rows.is_empty() {
            self.observations
                .merge(rows.len() / size, |row, k| rows[row * size + k].into());
        }
        for row in rows.chunks_exact_mut(size) {
            self.apply(row);
        }
    }

    /// Normalises one row and leaves the statistics alone, for last observations and for evaluation.
    ///
    /// ```
    /// let normalizer = epgt_envs::Normalizer::new(2, 1, true, true, 0.99);
    /// let mut row = [0.5, 100.0];
    /// normalizer.apply(&mut row);
    /// assert_eq!(row, [0.5, 10.0]);
    /// ```
    pub fn apply(&self, row: &mut [f32]) {
        if !self.normalize_observations {
            return;
        }
        let Moments { mean, deviation, .. } = &self.observations;
        assert_eq!(row.len(), mean.len(), "one row of observations");
        for ((x, mean), deviation) in row.iter_mut().zip(mean).zip(deviation) {
            *x = ((f64::from(*x) - mean) / deviation).clamp(-CLIP, CLIP) as f32;
        }
    }

    /// Writes the normalised rewards of one step of all environments: clip(r / sqrt(variance + 1e-8), +-10), with the
    /// variance of the running returns R = gamma R + r, this step's included. R starts from 0 in every episode. With
    /// [`with_sign_rewards`](Self::with_sign_rewards), their signs instead.
    ///
    /// ```
    /// let mut normalizer = epgt_envs::Normalizer::new(2, 1, true, false, 0.99);
    /// let mut out = [0.0];
    /// normalizer.rewards(&[-7.0], &[false], &[false], &mut out);
    /// assert_eq!(out, [-7.0]);
    /// ```
    pub fn rewards(&mut self, raw: &[f32], terminated: &[bool], truncated: &[bool], out: &mut [f32]) {
        if self.sign_rewards {
            assert_eq!(raw.len(), out.len(), "one sign per reward");
            for (out, &reward) in out.iter_mut().zip(raw) {
                *out = if reward == 0.0 { 0.0 } else { reward.signum() };
            }
            return;
        }
        if !self.normalize_rewards {
            out.copy_from_slice(raw);
            return;
        }
        if !self.frozen {
            assert_eq!(raw.len(), self.running.len(), "one reward per environment");
            for (running, &reward) in self.running.iter_mut().zip(raw) {
                *running = *running * self.gamma + f64::from(reward);
            }
            let running = &self.running;
            self.returns.merge(running.len(), |row, _| running[row]);
            for (i, running) in self.running.iter_mut().enumerate() {
                if terminated[i] || truncated[i] {
                    *running = 0.0;
                }
            }
        }
        assert_eq!(raw.len(), out.len(), "one normalised reward per reward");
        for (out, &reward) in out.iter_mut().zip(raw) {
            *out = (f64::from(reward) / self.returns.deviation[0]).clamp(-CLIP, CLIP) as f32;
        }
    }

    /// Takes over the statistics of another; the running episodes stay those of its own environments.
    ///
    /// ```
    /// use epgt_envs::Normalizer;
    /// let (mut own, mut other) = (Normalizer::new(1, 1, true, true, 0.99), Normalizer::new(1, 1, true, true, 0.99));
    /// other.observe(&mut [5.0]);
    /// own.adopt(&other);
    /// assert_eq!(own.observation_mean(), other.observation_mean());
    /// ```
    pub fn adopt(&mut self, other: &Self) {
        self.observations.clone_from(&other.observations);
        self.returns.clone_from(&other.returns);
    }

    /// Starts from the statistics that were saved with a policy, as if they had been made of `count` rows: what is seen
    /// from now on moves them the more, the smaller it is.
    ///
    /// ```
    /// use epgt_envs::Normalizer;
    /// let saved = Normalizer::frozen(true, &[4.0], &[1.0]);
    /// let mut own = Normalizer::new(1, 1, true, true, 0.99);
    /// own.start_from(&saved, 2.0, 3.0);
    /// own.observe(&mut [8.0]);
    /// assert_eq!((own.observation_mean()[0], own.return_variance()), (5.0, 2.0));
    /// ```
    pub fn start_from(&mut self, saved: &Self, return_variance: f64, count: f64) {
        self.observations.clone_from(&saved.observations);
        self.observations.count = count;
        self.returns.variance[0] = return_variance;
        self.returns.deviation[0] = (return_variance + EPSILON).sqrt();
        self.returns.count = count;
    }

    /// Whether observations are normalised.
    pub fn normalizes_observations(&self) -> bool {
        self.normalize_observations
    }

    /// Stops the statistics where they are, for evaluation.
    ///
    /// ```
    /// let mut normalizer = epgt_envs::Normalizer::new(1, 1, true, true, 0.99);
    /// normalizer.freeze();
    /// let before = normalizer.clone();
    /// normalizer.observe(&mut [5.0]);
    /// assert_eq!(normalizer, before);
    /// ```
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Whether the statistics are stopped.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The running mean of each number of the observation.
    pub fn observation_mean(&self) -> &[f64] {
        &self.observations.mean
    }

    /// The running variance of each number of the observation.
    pub fn observation_variance(&self) -> &[f64] {
        &self.observations.variance
    }

    /// The running variance of the discounted return.
    pub fn return_variance(&self) -> f64 {
        self.returns.variance[0]
    }
}
