//! How long the policy's steps are: by a learning rate, or by how far they move the policy.
//!
//! The best learning rate depends on the task, the networks, the number of environments and the stage of training. How
//! far one update should move the policy hardly does. So with [`StepControl::Divergence`] the rate is not chosen but
//! found: after an update (A2C) or an update phase (PPO) the mean divergence KL(policy that acted || policy now) is
//! measured on the rollout's own rows, and the rate is moved towards the one that makes it the target.
//!
//! - The policy that acted is its outputs at the time, which the rollout keeps: the observations were normalised with
//!   the statistics of that moment, and are not normalised again.
//! - PPO's phase moves the rate by the root of target / divergence, because the divergence grows with the square of the
//!   rate, and by no more than a factor of 1.5.
//! - A2C's updates differ by orders of magnitude in how far they go. What is held at the target is the mean of what they
//!   keep, so an update moves the rate by exp(0.1 (1 - divergence / target)): where few rollouts have much to say and
//!   most have nothing, the rate must not grow until the many that are noise go as far as the few.
//! - A rate that starts too high would destroy the policy before any controller acts. A step of A2C goes no further
//!   than eight times its target: what is beyond is taken back at once. PPO starts at a rate of 1e-4, and a phase
//!   ends for the policy, but not for the critic, once a minibatch shows more than four times the target.
//! - A policy that hardly varies its actions can move far in its weights and hardly at all in its divergence; the rate
//!   would grow until nothing of what was learned is left. So it has a highest value: A2C's is the critic's rate, because
//!   a policy that moves faster than its critic climbs the critic's errors.
//! - The critic has a rate of its own. Tied to the policy's, it would stop learning wherever the policy should move
//!   little. Where both share layers, those move with the policy's rate: their steps move the policy.
//! - A linear schedule of the learning rate is that of the critic. The target does not fall.

use std::ops::Range;

use epgt_nn::Rates;
use epgt_settings::number;

use crate::{ActorCritic, PgError, Rollout, SavedMethod};

epgt_settings::choice! {
    /// What says how long the policy's steps are.
    pub enum StepControl {
        /// How far they move the policy: the rate is moved until the divergence of an update is `target_divergence`.
        Divergence = "divergence",
        /// The learning rate, for policy and critic alike.
        Rate = "rate",
        /// The learning rate, times 1.5 where the divergence is below half of `target_divergence` and divided by 1.5
        /// where it is above twice; for policy and critic alike. The rule of rsl_rl and rl_games.
        KlAdaptive = "kl-adaptive",
    }
}

impl StepControl {
    /// The hyperparameters that a falling schedule of the learning rate multiplies.
    pub(crate) fn falls(self) -> &'static [&'static str] {
        match self {
            Self::Rate => &["learning_rate"],
            Self::Divergence => &["critic_learning_rate"],
            Self::KlAdaptive => &[],
        }
    }

    /// The hyperparameters that decide nothing.
    pub(crate) fn idle(self) -> &'static [&'static str] {
        match self {
            Self::Rate => &["critic_learning_rate"],
            Self::Divergence => &["learning_rate"],
            Self::KlAdaptive => &["learning_rate", "critic_learning_rate"],
        }
    }

    /// How far an update should move the policy, in one sentence.
    pub(crate) fn sentence(self, update: &str, target: f64) -> Option<String> {
        let target = number(target);
        match self {
            Self::Rate => None,
            Self::Divergence => Some(format!(
                "{update} moves the policy by a divergence of {target}; the learning rate for that is found."
            )),
            Self::KlAdaptive => Some(format!(
                "The learning rate rises and falls by half where the divergence leaves {target} by a factor of two."
            )),
        }
    }
}

/// A2C keeps no more of a step than so many times the target.
const MOST_KEPT: f64 = 8.0;
/// A phase of PPO that goes further than so many times the target ends for the policy.
const TOO_FAR: f64 = 4.0;
/// Beyond so many times the target half of a rollout's rows is not enough to say how far a step went.
const AT_STAKE: f64 = 2.0;
/// The most by which one phase moves the rate.
const FASTEST: f64 = 1.5;
/// How strongly one update of A2C moves the rate: by so much of its logarithm where the policy did not move at all.
const GENTLE: f64 = 0.1;
/// How strongly one phase of PPO moves it: the divergence grows with the square of the rate.
const SQUARE_ROOT: f64 = 0.5;
/// The rate stays above this, so that it can always come back.
const LOWEST: f64 = 1e-9;
/// The bounds of `kl-adaptive`, as they are where the rule comes from.
const BOUNDS_OF_RULE: (f64, f64) = (1e-5, 1e-2);
/// Rows of which the outputs are computed together when a divergence is measured.
const CHUNK: usize = 256;

/// What a method's settings say of its steps, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steps {
    pub control: StepControl,
    /// The learning rate in force where that is what is set.
    pub rate: f64,
    /// The divergence that is aimed at with a multiplier of 1.
    pub divergence: f64,
    /// The multiplier of the divergence.
    pub step: f64,
    /// The critic's learning rate where the divergence is what is set.
    pub critic_rate: f64,
    /// The highest rate that is gone to for a divergence.
    pub highest: f64,
}

impl Steps {
    /// The divergence that is aimed at.
    pub fn target(&self) -> f64 {
        self.divergence * self.step
    }
}

/// Finds the rate that moves the policy as far as it should.
#[derive(Clone, Debug)]
pub(crate) struct StepController {
    /// The rate that was found, for a multiplier of 1.
    pub rate: f64,
    /// Whether the phase is over for the policy.
    stopped: bool,
    rows: Vec<u32>,
    divergences: Vec<f32>,
}

impl StepController {
    /// A controller that starts at this rate.
    pub fn new(start: f64) -> Self {
        Self {
            rate: start,
            stopped: false,
            rows: Vec::new(),
            divergences: Vec::new(),
        }
    }

    /// The rates of the next step.
    pub fn rates(&self, steps: &Steps, agent: &ActorCritic) -> Rates {
        match steps.control {
            StepControl::Rate => (steps.rate as f32).into(),
            StepControl::KlAdaptive => (self.rate as f32).into(),
            StepControl::Divergence => Rates {
                all: if self.stopped {
                    0.0
                } else {
                    self.policy_rate(steps) as f32
                },
                apart: Some((agent.critic(), steps.critic_rate as f32)),
            },
        }
    }

    /// The policy's rate in force.
    pub fn policy_rate(&self, steps: &Steps) -> f64 {
        match steps.control {
            StepControl::Rate => steps.rate,
            StepControl::KlAdaptive => self.rate,
            // The divergence grows with the square of the rate: so a multiplier takes effect with the next step.
            StepControl::Divergence => self.rate * steps.step.sqrt(),
        }
    }

    /// The critic's rate in force.
    pub fn critic_rate(&self, steps: &Steps) -> f64 {
        match steps.control {
            StepControl::Rate | StepControl::KlAdaptive => self.policy_rate(steps),
            StepControl::Divergence => steps.critic_rate,
        }
    }

    /// After a step of A2C that moved the policy so far: moves the rate. Returns the share of the step that is to be
    /// kept, where it went too far.
    pub fn after_step(&mut self, steps: &Steps, divergence: f64) -> Option<f64> {
        match steps.control {
            StepControl::Rate => return None,
            StepControl::KlAdaptive => {
                self.follow_rule(steps, divergence);
                return None;
            }
            StepControl::Divergence => {}
        }
        // A divergence that is not a number is too large.
        let kept = (divergence / steps.target()).min(MOST_KEPT);
        self.turn(steps, (GENTLE * (1.0 - kept)).exp());
        let too_far = divergence.is_nan() || divergence > MOST_KEPT * steps.target();
        too_far.then(|| {
            let share = (MOST_KEPT * steps.target() / divergence).sqrt();
            if share.is_finite() { share } else { 0.0 }
        })
    }

    /// Before a step of PPO on a minibatch that shows this divergence.
    pub fn before_minibatch(&mut self, steps: &Steps, divergence: f64) {
        match steps.control {
            StepControl::Rate => {}
            StepControl::KlAdaptive => self.follow_rule(steps, divergence),
            StepControl::Divergence => self.stopped |= divergence.is_nan() || divergence > TOO_FAR * steps.target(),
        }
    }

    /// After a phase of PPO that moved the policy so far: moves the rate.
    pub fn after_phase(&mut self, steps: &Steps, divergence: f64) {
        self.stopped = false;
        if steps.control == StepControl::Divergence {
            // A divergence that is not a number is too large; one of 0 says that the rate is too low.
            let factor = (steps.target() / divergence.max(f64::MIN_POSITIVE)).powf(SQUARE_ROOT);
            let factor = if divergence.is_nan() { 0.0 } else { factor };
            self.turn(steps, factor.clamp(1.0 / FASTEST, FASTEST));
        }
    }

    /// A method's part of a checkpoint, with the rate that was found.
    pub fn save<'a>(&self, control: StepControl, method: SavedMethod<'a>) -> SavedMethod<'a> {
        match control {
            StepControl::Rate => method,
            StepControl::Divergence | StepControl::KlAdaptive => SavedMethod::Controlled(Box::new(method), self.rate),
        }
    }

    /// Takes the rate that was found, and returns the method's own part.
    pub fn restore<'a>(&mut self, saved: SavedMethod<'a>) -> SavedMethod<'a> {
        match saved {
            SavedMethod::Controlled(method, rate) => {
                self.rate = rate;
                *method
            }
            method => method,
        }
    }

    fn turn(&mut self, steps: &Steps, factor: f64) {
        self.rate = (self.rate * factor).min(steps.highest).max(LOWEST);
    }

    fn follow_rule(&mut self, steps: &Steps, divergence: f64) {
        if divergence.is_nan() || divergence > 2.0 * steps.target() {
            self.rate = (self.rate / 1.5).max(BOUNDS_OF_RULE.0);
        } else if divergence > 0.0 && divergence < 0.5 * steps.target() {
            self.rate = (self.rate * 1.5).min(BOUNDS_OF_RULE.1);
        }
    }

    /// The mean over the rollout's rows of KL(policy that acted || policy now); `None` where the rollout does not say
    /// what the policy that acted put out.
    pub fn divergence(&mut self, agent: &mut ActorCritic, rollout: &Rollout) -> Option<f64> {
        let count = rollout.batch_size();
        Some(self.sum(agent, rollout, 0..count)? / count as f64)
    }

    /// The same at less cost, for who measures after every step: the later half of the rows is enough where it shows
    /// that the step went nowhere near too far.
    pub fn quick_divergence(&mut self, steps: &Steps, agent: &mut ActorCritic, rollout: &Rollout) -> Option<f64> {
        let count = rollout.batch_size();
        let half = count / 2;
        let later = self.sum(agent, rollout, half..count)?;
        let mean = later / (count - half) as f64;
        match mean <= AT_STAKE * steps.target() {
            true => Some(mean),
            false => Some((later + self.sum(agent, rollout, 0..half)?) / count as f64),
        }
    }

    /// The sum of the divergence over rows.
    fn sum(&mut self, agent: &mut ActorCritic, rollout: &Rollout, all: Range<usize>) -> Option<f64> {
        let (count, outputs) = (rollout.batch_size(), agent.distribution.outputs());
        if rollout.outputs.len() != count * outputs {
            return None;
        }
        self.rows.extend(self.rows.len() as u32..count as u32);
        self.divergences.resize(CHUNK.min(count), 0.0);
        let mut sum = 0.0;
        for first in all.clone().step_by(CHUNK) {
            let rows = first..all.end.min(first + CHUNK);
            let observations = rollout.rows(rows.clone());
            match agent.is_remote() {
                true => agent.forward_cached(observations, &self.rows[rows.clone()]),
                false => {
                    agent.forward_policy(observations, rows.len());
                    agent.temper(rows.clone());
                }
            }
            let acted = &rollout.outputs[rows.start * outputs..rows.end * outputs];
            let divergences = &mut self.divergences[..rows.len()];
            let now = (agent.policy_output(), agent.log_std());
            agent.distribution.kl((acted, &rollout.log_std), now, divergences);
            sum += divergences.iter().copied().map(f64::from).sum::<f64>();
        }
        Some(sum)
    }

    /// The same over the rows of a minibatch that the policy has just been evaluated on, given what the policy that
    /// acted put out there.
    pub fn divergence_of(&mut self, agent: &ActorCritic, acted: &[f32], log_std: &[f32]) -> f64 {
        let rows = acted.len() / agent.distribution.outputs();
        self.divergences.resize(rows, 0.0);
        let now = (agent.policy_output(), agent.log_std());
        agent.distribution.kl((acted, log_std), now, &mut self.divergences);
        self.divergences.iter().copied().map(f64::from).sum::<f64>() / rows as f64
    }
}

/// Refuses a target that no step could have.
pub(crate) fn validate_target(target: f64) -> Result<(), PgError> {
    match target.is_finite() && target > 0.0 {
        true => Ok(()),
        false => Err(PgError::value(
            "target_divergence",
            target,
            "a small positive number is wanted, such as 0.01",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: Steps = Steps {
        control: StepControl::Divergence,
        rate: 0.5,
        divergence: 0.01,
        step: 1.0,
        critic_rate: 0.1,
        highest: 2e-3,
    };

    #[test]
    fn a_step_of_a2c_goes_no_further_than_eight_targets_and_moves_the_rate_by_what_is_kept() {
        let rate_after = |divergence| {
            let mut controller = StepController::new(1e-3);
            let share = controller.after_step(&STEPS, divergence);
            (share, controller.rate)
        };
        assert_eq!(rate_after(0.01), (None, 1e-3));
        assert_eq!(rate_after(0.0), (None, 1e-3 * 0.1f64.exp()));
        assert_eq!(rate_after(0.02), (None, 1e-3 * (-0.1f64).exp()));
        assert_eq!(rate_after(0.08).0, None);
        let (share, rate) = rate_after(0.18);
        assert!(
            (share.unwrap() - 2.0 / 3.0).abs() < 1e-12,
            "the divergence goes with the square"
        );
        assert!((rate - 1e-3 * (-0.7f64).exp()).abs() < 1e-12);
        for broken in [f64::NAN, f64::INFINITY] {
            assert_eq!(rate_after(broken), (Some(0.0), rate), "as far as any");
        }
    }

    #[test]
    fn the_mean_of_what_is_kept_is_the_target_however_unlike_the_updates_are() {
        // Most updates say little and every tenth goes a thousand times as far: the divergence is the square of the rate
        // times this.
        let (mut controller, mut kept) = (StepController::new(1e-4), 0.0);
        let steps = Steps { highest: 1.0, ..STEPS };
        let (warm_up, updates) = (1_000, 10_000);
        for update in 0..warm_up + updates {
            let spread = if update % 10 == 0 { 1e5 } else { 1e2 };
            let divergence = spread * controller.rate.powi(2);
            let share = controller.after_step(&steps, divergence).unwrap_or(1.0);
            if update >= warm_up {
                kept += divergence * share.powi(2);
            }
        }
        assert!((kept / f64::from(updates) / steps.target() - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_phase_moves_the_rate_by_the_square_root_and_by_no_more_than_half_again() {
        let rate_after = |divergence| {
            let mut controller = StepController::new(1e-3);
            controller.after_phase(&STEPS, divergence);
            controller.rate
        };
        assert!((rate_after(0.0144) - 1e-3 / 1.2).abs() < 1e-12);
        assert!((rate_after(1e-9) - 1.5e-3).abs() < 1e-12);
        assert!((rate_after(0.0) - 1.5e-3).abs() < 1e-12);
        assert!((rate_after(10.0) - 1e-3 / 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_multiplier_of_the_divergence_is_in_force_at_once() {
        let mut controller = StepController::new(1e-3);
        let fourfold = Steps { step: 4.0, ..STEPS };
        assert_eq!(controller.policy_rate(&fourfold), 2e-3);
        controller.after_phase(&fourfold, 0.04);
        assert_eq!(controller.rate, 1e-3, "the target was met");
    }

    #[test]
    fn the_rate_has_a_highest_value() {
        let mut controller = StepController::new(1e-3);
        for _ in 0..20 {
            controller.after_phase(&STEPS, 1e-9);
        }
        assert_eq!(controller.rate, STEPS.highest);
    }

    #[test]
    fn the_rule_of_others_moves_by_half_outside_of_a_band_and_stays_within_bounds() {
        let steps = Steps {
            control: StepControl::KlAdaptive,
            ..STEPS
        };
        let rate_after = |start, divergence| {
            let mut controller = StepController::new(start);
            controller.before_minibatch(&steps, divergence);
            controller.rate
        };
        assert!((rate_after(3e-4, 0.021) - 2e-4).abs() < 1e-12);
        assert!((rate_after(3e-4, 0.004) - 4.5e-4).abs() < 1e-12);
        assert_eq!([rate_after(3e-4, 0.0), rate_after(3e-4, 0.01)], [3e-4; 2]);
        assert_eq!((rate_after(9e-3, 0.001), rate_after(1.1e-5, 0.1)), (1e-2, 1e-5));
    }
}
