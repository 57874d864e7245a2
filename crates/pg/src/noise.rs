//! How widely actions are drawn: groups of environments that act with less and with more noise, what their comparison
//! says, and moving the policy's own noise for good.
//!
//! A row's noise m divides the policy's outputs before they are a distribution, and multiplies a continuous draw on its
//! way to the environment. For logits that is a temperature. A Gaussian of mean mu / m and deviation sigma, times m,
//! has mean mu and deviation m sigma; the density of the draw is that of the action up to a constant, which cancels in
//! ratios and divergences and has no gradient. So losses and divergences are exactly those of the policy that acted.
//!
//! The groups act at the same time, with the same policy, and are judged by the same critic. What one of them earns
//! beyond what the critic expected, less what another does, says in which direction of noise more is to be had: this is
//! a signal that a step's length does not have.

use crate::{ActorCritic, Rollout};

epgt_settings::choice! {
    /// What decides how widely actions are drawn, besides what is scheduled.
    pub enum NoiseControl {
        /// The policy gradient: deviations are weights, and logits are learned.
        Learned = "learned",
        /// The same, and after every rollout a move towards the noise of the group that earned more.
        Greedy = "greedy",
    }
}

/// How far a comparison of one standard error moves the logarithm of the noise over a hundredth of training.
const GREED: f64 = 0.05;
/// A comparison counts for no more than so many standard errors.
const SUREST: f64 = 3.0;
/// Between these the logarithm of a deviation can be moved, in the unit of the actions.
const LOG_STD_BOUNDS: (f32, f32) = (-5.0, 2.0);

/// The multipliers of the noise in `n` environments: a quarter of them `spread` times less, a quarter `spread` times
/// more.
///
/// ```
/// use epgt_pg::noise_groups;
/// assert_eq!(noise_groups(4, 2.0), [0.5, 1.0, 1.0, 2.0]);
/// assert!(noise_groups(3, 2.0).is_empty() && noise_groups(8, 1.0).is_empty());
/// ```
pub fn noise_groups(n: usize, spread: f64) -> Vec<f32> {
    let group = n / 4;
    if group == 0 || spread == 1.0 {
        return Vec::new();
    }
    let of = |env: usize| match env {
        narrow if narrow < group => 1.0 / spread,
        wide if wide >= n - group => spread,
        _ => 1.0,
    };
    (0..n).map(|env| of(env) as f32).collect()
}

/// The factor by which a rollout that is this share of training moves the noise, where the group with more noise earned
/// so many standard errors more than the one with less.
pub fn greedy_factor(comparison: f64, share: f64) -> f64 {
    (GREED * comparison.clamp(-SUREST, SUREST) * 100.0 * share).exp()
}

impl ActorCritic {
    /// Lets every environment act with its own multiplier of the noise; none is 1 for all.
    ///
    /// ```
    /// # use epgt_pg::{ActorCritic, PolicySettings, noise_groups};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let torque = epgt_envs::Space::Box { low: vec![-2.0], high: vec![2.0] };
    /// let mut agent = ActorCritic::new(&PolicySettings::default(), 3, &torque, &mut rng);
    /// agent.set_noise(noise_groups(4, 2.0));
    /// assert_eq!(agent.for_task(&[0.1; 4]), [0.05, 0.1, 0.1, 0.2]);
    /// ```
    pub fn set_noise(&mut self, multipliers: Vec<f32>) {
        self.noise = multipliers;
    }

    /// The multipliers of the environments' noise; empty where all act alike.
    pub fn noise(&self) -> &[f32] {
        &self.noise
    }

    /// Makes the outputs of the last forward pass, whose rows are these of a rollout, those of the noise that they were
    /// acted with.
    pub(crate) fn temper(&mut self, rows: impl Iterator<Item = usize>) {
        if self.noise.is_empty() {
            return;
        }
        let noise = std::mem::take(&mut self.noise);
        let outputs = self.distribution.outputs();
        for (row, output) in rows.zip(self.policy_output_mut().chunks_exact_mut(outputs)) {
            scale(output, 1.0 / noise[row % noise.len()]);
        }
        self.noise = noise;
    }

    /// Multiplies the policy's noise for good: deviations of continuous actions, and the temperature of choices, whose
    /// last layer is divided by it.
    ///
    /// ```
    /// # use epgt_pg::{ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let torque = epgt_envs::Space::Box { low: vec![-2.0], high: vec![2.0] };
    /// let mut agent = ActorCritic::new(&PolicySettings::default(), 3, &torque, &mut rng);
    /// agent.widen(0.5);
    /// assert!((agent.log_std()[0] - 0.5f32.ln()).abs() < 1e-6);
    /// ```
    pub fn widen(&mut self, factor: f64) {
        if factor == 1.0 {
            return;
        }
        self.fetch();
        match self.log_std {
            Some(id) => {
                let (low, high) = LOG_STD_BOUNDS;
                for log_std in self.params.value_mut(id) {
                    // What the gradient has brought beyond the bounds stays there.
                    let moved = *log_std + factor.ln() as f32;
                    *log_std = moved.clamp(low.min(*log_std), high.max(*log_std));
                }
            }
            None => {
                let layers = self.policy.layers();
                let last = &layers[layers.len() - 1];
                for id in [last.weight(), last.bias()] {
                    scale(self.params.value_mut(id), 1.0 / factor as f32);
                }
            }
        }
        self.send();
    }
}

impl Rollout {
    /// By how many standard errors the environments with more noise earned more, beyond what the critic expected, than
    /// those with less; `None` where all acted alike.
    ///
    /// What is compared is the mean TD error of their steps, r + gamma V(s') - V(s): what was earned and is expected
    /// after it, less what was expected before it. A good critic leaves errors that do not depend on each other, which
    /// is what the standard error takes them for.
    pub fn noise_comparison(&self, gamma: f32) -> Option<f64> {
        let (narrow, wide) = (self.group(|noise| noise < 1.0), self.group(|noise| noise > 1.0));
        if self.noise.is_empty() || narrow.is_empty() || wide.is_empty() {
            return None;
        }
        let (less, less_variance) = self.td_errors(narrow, gamma);
        let (more, more_variance) = self.td_errors(wide, gamma);
        let standard_error = (less_variance + more_variance).sqrt();
        match standard_error > 0.0 {
            true => Some((more - less) / standard_error),
            false => Some(0.0),
        }
    }

    /// The environments whose multiplier of the noise is such.
    fn group(&self, is_member: impl Fn(f32) -> bool) -> Vec<usize> {
        let all = self.noise.iter().enumerate();
        all.filter(|(_, noise)| is_member(**noise))
            .map(|(env, _)| env)
            .collect()
    }

    /// Mean TD error of these environments' steps, and the variance of that mean.
    fn td_errors(&self, envs: Vec<usize>, gamma: f32) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for t in 0..self.steps {
            for &env in &envs {
                let error = f64::from(self.td_error(t * self.n + env, gamma));
                sum += error;
                squares += error * error;
            }
        }
        let count = (self.steps * envs.len()) as f64;
        let mean = sum / count;
        (mean, (squares / count - mean * mean).max(0.0) / count)
    }
}

/// Multiplies every number.
pub(crate) fn scale(numbers: &mut [f32], factor: f32) {
    numbers.iter_mut().for_each(|number| *number *= factor);
}
