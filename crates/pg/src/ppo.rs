//! Proximal policy optimisation (PPO), top to bottom.
//!
//! A rollout gives several epochs of minibatches, one optimiser step each:
//!
//! 1. an epoch is a random order of the T * N steps; a minibatch is the next `batch_size` of them, or what is left;
//! 2. advantages and value targets by GAE, made again whenever gamma or lambda has changed;
//! 3. one forward pass of both networks over the minibatch, its advantages shifted and scaled to mean 0 and deviation
//!    1;
//! 4. loss = clipped surrogate + `vf_coef` * clipped value loss - `ent_coef` * mean(H) ([`losses`]);
//! 5. one backward pass, the gradient clipped to `max_grad_norm` as a whole, one Adam step, whose rate is set, or moved
//!    towards a divergence from phase to phase ([`StepControl`]).
//!
//! So every hyperparameter but the rollout's length and the number of epochs can change from one step to the next,
//! which is what [`Ppo::step`] is for. Details that matter: the value loss has no factor 1/2 (as in Stable-Baselines3;
//! where it has one, as in CleanRL, halve `vf_coef` to compare); Adam's epsilon is 1e-5; the statistics that value
//! targets are clipped against are those of the policy that acted; with `target_kl` the phase ends *before* the step
//! that would go too far. A gradient that is not finite never reaches the parameters.

use std::borrow::Cow;

use epgt_envs::Observations;
use epgt_nn::{Adam, Optimiser, Remote};
use epgt_rng::Pcg64;

use crate::hyperparameter::{
    CRITIC_LEARNING_RATE, ENT_COEF, GAE_LAMBDA, GAMMA, LEARNING_RATE, MAX_GRAD_NORM, N_STEPS, NOISE, STEP, Schedulable,
    VF_COEF,
};
use crate::hyperparameter::{Effect, Kind};
use crate::step_control::{StepController, Steps, validate_target};
use crate::update::{self, Workspace, finite};
use crate::{
    ActorCritic, Hyperparameter, Method, MethodSettings, NotFinite, PgError, Phase, Rollout, SavedMethod, Schedule,
    StepControl, UpdateStats, losses,
};

/// The rate that step control starts at: low, because a phase makes hundreds of steps before the divergence is known.
const START: f64 = 1e-4;
/// How far step control may let a phase move a weight, where its steps went in random directions: it says what the
/// highest rate of a phase with so many steps is.
const FARTHEST: f64 = 0.01;

epgt_settings::settings! {
    /// Settings of PPO, in Stable-Baselines3's words.
    #[derive(Copy)]
    pub struct PpoSettings {
        /// Steps that every environment takes before an update phase.
        @ "T"
        pub n_steps: usize = 2048;
        /// Steps in a minibatch; the last one of an epoch may be smaller.
        @ "b"
        pub batch_size: usize = 64;
        /// Passes over the rollout in an update phase.
        pub n_epochs: usize = 10;
        /// What says how long the policy's steps are. With `divergence` the rate is found, and learning_rate
        /// decides nothing.
        pub step_control: StepControl = StepControl::Rate;
        /// How far an update phase should move the policy, where `step_control` is not `rate`: the mean KL divergence
        /// over the rollout's rows.
        pub target_divergence: f64 = 0.015;
        /// Multiplier of the step: of the target divergence, or of the learning rate where `step_control` is `rate`.
        pub step: f64 = 1.0;
        /// Step size of Adam.
        @ "\\alpha"
        pub learning_rate: f64 = 3e-4;
        /// How the learning rate changes over training. With `divergence` it is the critic's that changes.
        pub learning_rate_schedule: Schedule = Schedule::Constant;
        /// Step size of the value network, where `step_control` is `divergence`.
        pub critic_learning_rate: f64 = 1e-3;
        /// How far the probability of an action may move before its gradient is cut off, as a share.
        @ "\\epsilon"
        pub clip_range: f64 = 0.2;
        /// How far a value may move before its gradient is cut off, in units of the (normalised) return; 0 turns it
        /// off. Without reward normalisation this depends on the scale of the rewards: use 0 there.
        pub clip_range_vf: f64 = 0.2;
        /// How both clip ranges change over training.
        pub clip_schedule: Schedule = Schedule::Constant;
        /// Discount factor.
        @ "\\gamma"
        pub gamma: f64 = 0.99;
        /// Bias-variance trade-off of generalised advantage estimation: 0 trusts the value network, 1 trusts the
        /// rewards seen.
        @ "\\lambda"
        pub gae_lambda: f64 = 0.95;
        /// Whether the advantages of each minibatch are shifted and scaled to mean 0 and deviation 1.
        pub normalize_advantage: bool = true;
        /// Weight of the entropy bonus.
        pub ent_coef: f64 = 0.0;
        /// Weight of the value loss.
        pub vf_coef: f64 = 0.5;
        /// The gradient of all weights together is scaled down to this norm.
        pub max_grad_norm: f64 = 0.5;
        /// Ends an update phase early when the estimated divergence from the policy that acted exceeds 1.5 times this;
        /// auto is never.
        pub target_kl: Option<f64> = None;
        /// Decay of Adam's running mean of gradients.
        pub adam_beta1: f64 = 0.9;
        /// Decay of Adam's running mean of squared gradients.
        pub adam_beta2: f64 = 0.999;
        /// Added to the root of that mean.
        pub adam_eps: f64 = 1e-5;
        /// Factor of the exploration noise over a hundredth of training: of the deviations of continuous actions, or of
        /// the temperature of choices. 1 leaves it to the policy gradient.
        pub noise: f64 = 1.0;
    }
}

crate::schedulable!(PpoSettings {
    step: STEP,
    learning_rate: Hyperparameter {
        settled: true,
        ..LEARNING_RATE
    },
    critic_learning_rate: CRITIC_LEARNING_RATE,
    batch_size: Hyperparameter {
        symbol: "b",
        meaning: "Steps in a minibatch.",
        kind: Kind::Whole,
        low: 1.0,
        grid: "128:256:512",
        from_paper: true,
        settled: true,
        ..Hyperparameter::BLANK
    },
    gae_lambda: GAE_LAMBDA,
    gamma: GAMMA,
    clip_range: Hyperparameter {
        symbol: "\\epsilon",
        meaning: "How far an action's probability may move; a schedule multiplies it.",
        low: 1e-6,
        grid: "0.1:0.2:0.3:0.5",
        from_paper: true,
        settled: true,
        ..Hyperparameter::BLANK
    },
    clip_range_vf: Hyperparameter {
        meaning: "How far a value may move, 0 for as far as it likes; a schedule multiplies it.",
        grid: "0.1:0.2:0.3",
        settled: true,
        ..Hyperparameter::BLANK
    },
    ent_coef: ENT_COEF,
    vf_coef: VF_COEF,
    max_grad_norm: Hyperparameter {
        settled: true,
        ..MAX_GRAD_NORM
    },
    adam_beta1: Hyperparameter {
        meaning: "Decay of Adam's running mean of gradients.",
        high: 0.999_999,
        grid: "0.8:0.9:0.95",
        ..Hyperparameter::BLANK
    },
    adam_beta2: Hyperparameter {
        meaning: "Decay of Adam's running mean of squared gradients.",
        high: 0.999_999,
        grid: "0.99:0.999",
        ..Hyperparameter::BLANK
    },
    n_epochs: Hyperparameter {
        meaning: "Passes over the rollout in an update phase.",
        kind: Kind::Whole,
        effect: Effect::Rollout,
        low: 1.0,
        high: 10_000.0,
        grid: "5:10:20",
        ..Hyperparameter::BLANK
    },
    n_steps: Hyperparameter {
        grid: "1024:2048:4096",
        ..N_STEPS
    },
    noise: NOISE,
});

impl MethodSettings for PpoSettings {
    fn name(&self) -> &'static str {
        "ppo"
    }

    fn help(&self) -> &'static str {
        "Proximal policy optimisation: several epochs of minibatches per long rollout."
    }

    fn validate(&self) -> Result<(), PgError> {
        self.validate_hyperparameters()?;
        validate_target(self.target_divergence)?;
        let positive = [
            ("adam_eps", self.adam_eps, "1e-5"),
            ("target_kl", self.target_kl.unwrap_or(1.0), "0.01"),
        ];
        for (name, value, such_as) in positive {
            if !(value.is_finite() && value > 0.0) {
                let wants = format!("a small positive number is wanted, such as {such_as}");
                return Err(PgError::value(name, value, wants));
            }
        }
        Ok(())
    }

    fn n_steps(&self) -> usize {
        self.n_steps
    }

    fn gamma(&self) -> f64 {
        self.gamma
    }

    fn falling(&self) -> Vec<&'static str> {
        let mut names = self.learning_rate_schedule.falling(self.step_control.falls());
        names.extend(self.clip_schedule.falling(&["clip_range", "clip_range_vf"]));
        names
    }

    fn idle(&self) -> &'static [&'static str] {
        self.step_control.idle()
    }

    fn step_sentence(&self) -> Option<String> {
        self.step_control.sentence("An update phase", self.target_divergence)
    }

    fn epochs(&self) -> usize {
        self.n_epochs
    }

    fn minibatch(&self) -> Option<u64> {
        Some(self.batch_size as u64)
    }

    fn updates_per_rollout(&self, n: usize) -> u64 {
        let minibatches = self.n_steps.saturating_mul(n).div_ceil(self.batch_size.max(1));
        self.n_epochs.saturating_mul(minibatches) as u64
    }

    fn boxed(&self) -> Box<dyn MethodSettings> {
        Box::new(*self)
    }

    fn method(&self, agent: &ActorCritic, seed: u64) -> Box<dyn Method> {
        Box::new(Ppo::new(*self, agent, Pcg64::for_purpose(seed, "minibatches", 0)))
    }
}

/// PPO: its current settings, the optimiser's state and where it is in the update phase.
///
/// A checkpoint is made between two phases and keeps `optimiser`, `rng` and the rate that step control has found; the
/// scheduled settings are the hyper-agent's.
///
/// ```
/// use epgt_envs::{Normalizer, VecEnv};
/// use epgt_pg::{ActorCritic, Method, Phase, PolicySettings, Ppo, PpoSettings, Rollout, collect};
/// use epgt_rng::Pcg64;
/// let mut envs = VecEnv::new(&epgt_envs::find("CartPole-v1").unwrap(), 2, 0).unwrap();
/// let (observation, action) = (envs.observation_space().size(), envs.action_space().clone());
/// let mut rng = Pcg64::for_purpose(0, "policy", 0);
/// let mut agent = ActorCritic::new(&PolicySettings::default(), observation, &action, &mut rng);
/// let settings = PpoSettings { n_steps: 32, batch_size: 16, n_epochs: 3, ..Default::default() };
/// let mut ppo = Ppo::new(settings, &agent, Pcg64::for_purpose(0, "minibatches", 0));
/// let mut rollout = Rollout::new(32, 2, observation, action.size());
/// let mut normalizer = Normalizer::new(observation, 2, true, true, settings.gamma);
/// collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
/// let mut steps = 1;
/// while ppo.step(&mut agent, &mut rollout).unwrap() == Phase::GoesOn {
///     steps += 1;
/// }
/// assert_eq!(steps, 3 * 2 * 32 / 16);
/// ```
#[derive(Clone)]
pub struct Ppo {
    /// Current settings; the schedulable ones take effect at the next step or rollout.
    pub settings: PpoSettings,
    /// Share of the training that is left, which a linear schedule multiplies by.
    pub remaining: f64,
    /// Adam's running means.
    pub optimiser: Adam,
    /// The order of the minibatches.
    pub rng: Pcg64,
    /// Where the update phase is; none between two.
    phase: Option<Progress>,
    /// The epoch's order of the rollout's steps.
    order: Vec<u32>,
    minibatch: Minibatch,
    control: StepController,
    /// Optimiser steps of the last phase.
    updates: usize,
    work: Workspace,
    stats: UpdateStats,
}

/// A place in an update phase.
#[derive(Clone, Debug)]
struct Progress {
    /// Epochs of this phase, as set when it began, and those that are done.
    epochs: usize,
    epoch: usize,
    /// Steps of the current epoch that are done.
    position: usize,
    /// Optimiser steps that are done.
    steps: usize,
    /// The gamma and lambda that the rollout's advantages were made with.
    credited: Option<(f64, f64)>,
}

/// The rows of a minibatch, gathered so that the networks see them contiguously.
#[derive(Clone, Debug, Default)]
struct Minibatch {
    rows: Vec<u32>,
    /// None where the rollout's are kept elsewhere.
    observations: Observations,
    actions: Vec<f32>,
    log_probs: Vec<f32>,
    values: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    /// What the policy that acted put out, where the divergence is wanted.
    outputs: Vec<f32>,
}

impl Minibatch {
    fn gather(&mut self, rollout: &Rollout, rows: &[u32], with_observations: bool) {
        let observation = rollout.batch_observations().len() / rollout.batch_size();
        let action = rollout.actions.len() / rollout.batch_size();
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        if with_observations {
            self.observations
                .gather(rollout.batch_observations(), observation, rows);
        }
        gather_rows(&rollout.actions, action, rows, &mut self.actions);
        let numbers = [
            (&rollout.log_probs, &mut self.log_probs),
            (&rollout.values, &mut self.values),
            (&rollout.advantages, &mut self.advantages),
            (&rollout.returns, &mut self.returns),
        ];
        for (from, to) in numbers {
            to.clear();
            to.extend(rows.iter().map(|&row| from[row as usize]));
        }
    }
}

fn gather_rows(from: &[f32], width: usize, rows: &[u32], to: &mut Vec<f32>) {
    to.clear();
    for &row in rows {
        to.extend_from_slice(&from[row as usize * width..][..width]);
    }
}

impl Ppo {
    /// PPO for one agent. The settings must be valid ([`MethodSettings::validate`]).
    pub fn new(settings: PpoSettings, agent: &ActorCritic, rng: Pcg64) -> Self {
        let (beta1, beta2) = (settings.adam_beta1 as f32, settings.adam_beta2 as f32);
        let start = match settings.step_control {
            StepControl::Divergence => START,
            StepControl::Rate | StepControl::KlAdaptive => settings.learning_rate,
        };
        Self {
            settings,
            remaining: 1.0,
            optimiser: Adam::new(agent.params.len(), beta1, beta2, settings.adam_eps as f32),
            rng,
            phase: None,
            order: Vec::new(),
            minibatch: Minibatch::default(),
            control: StepController::new(start),
            updates: 0,
            work: Workspace::default(),
            stats: UpdateStats::default(),
        }
    }

    fn steps(&self) -> Steps {
        let settings = &self.settings;
        let share = settings.learning_rate_schedule.share(self.remaining);
        Steps {
            control: settings.step_control,
            rate: settings.learning_rate * settings.step * share,
            divergence: settings.target_divergence,
            step: settings.step,
            critic_rate: settings.critic_learning_rate * share,
            highest: FARTHEST / (self.updates.max(1) as f64).sqrt(),
        }
    }

    /// Measures how far the phase moved the policy, and moves the rate.
    fn end_phase(&mut self, agent: &mut ActorCritic, rollout: &Rollout, updates: usize) {
        self.updates = updates;
        let steps = self.steps();
        if steps.control == StepControl::Rate {
            return;
        }
        let Some(divergence) = self.control.divergence(agent, rollout) else {
            return;
        };
        self.control.after_phase(&steps, divergence);
        self.stats.target_divergence = Some(steps.target() as f32);
        self.stats.divergence = Some(divergence as f32);
    }

    /// One optimiser step on the gathered minibatch; false if the policy has moved too far for it.
    fn descend(&mut self, agent: &mut ActorCritic, rollout: &Rollout, steps_before: usize) -> Result<bool, NotFinite> {
        let steps = self.steps();
        let (settings, batch, work) = (&self.settings, &mut self.minibatch, &mut self.work);
        if settings.normalize_advantage {
            update::normalize(&mut batch.advantages);
        }
        work.forward(agent, batch.observations.all(), &batch.rows, &batch.actions);

        let clip_share = settings.clip_schedule.share(self.remaining);
        let clip_range = (settings.clip_range * clip_share) as f32;
        let clip_range_vf = (settings.clip_range_vf * clip_share) as f32;
        let (ent_coef, vf_coef) = (settings.ent_coef as f32, settings.vf_coef as f32);
        let surrogate = losses::clipped_surrogate(
            &work.log_probs,
            &batch.log_probs,
            &batch.advantages,
            clip_range,
            &mut work.log_prob_gradient,
        );
        let entropy = losses::entropy_bonus(&work.entropies, ent_coef, &mut work.entropy_gradient);
        let (values, gradient) = (agent.value_output(), &mut work.value_gradient);
        let value_loss = match clip_range_vf > 0.0 {
            true => {
                losses::clipped_squared_error(values, &batch.values, &batch.returns, clip_range_vf, vf_coef, gradient)
            }
            false => losses::squared_error(values, &batch.returns, vf_coef, gradient),
        };
        let mut stats = UpdateStats {
            policy_loss: finite("loss/policy", surrogate.loss)?,
            value_loss: finite("loss/value", value_loss)?,
            entropy: finite("loss/entropy", entropy)?,
            approx_kl: Some(surrogate.approx_kl),
            clip_fraction: Some(surrogate.clip_fraction),
            ..Default::default()
        };
        if settings
            .target_kl
            .is_some_and(|target| f64::from(surrogate.approx_kl) > 1.5 * target)
        {
            return Ok(false);
        }
        let divergence = match steps.control {
            StepControl::KlAdaptive => {
                let outputs = agent.distribution.outputs();
                gather_rows(&rollout.outputs, outputs, &batch.rows, &mut batch.outputs);
                self.control.divergence_of(agent, &batch.outputs, &rollout.log_std)
            }
            _ => f64::from(surrogate.approx_kl),
        };
        self.control.before_minibatch(&steps, divergence);
        work.backward(agent, &batch.actions)?;
        stats.grad_norm = update::clip(agent, settings.max_grad_norm)?;

        self.optimiser.beta1 = self.settings.adam_beta1 as f32;
        self.optimiser.beta2 = self.settings.adam_beta2 as f32;
        agent.descend(&mut self.optimiser, self.control.rates(&steps, agent));
        self.stats.take_in(&stats, steps_before);
        Ok(true)
    }

    /// A fresh random order of the rollout's steps.
    fn shuffle(&mut self, rows: usize) {
        self.order.clear();
        self.order.extend(0..rows as u32);
        self.rng.shuffle(&mut self.order);
    }
}

impl Method for Ppo {
    fn settings(&self) -> &dyn MethodSettings {
        &self.settings
    }

    fn settings_mut(&mut self) -> &mut dyn MethodSettings {
        &mut self.settings
    }

    fn learning_rate(&self) -> f64 {
        self.control.policy_rate(&self.steps())
    }

    fn set_remaining(&mut self, remaining: f64) {
        self.remaining = remaining;
    }

    /// The next minibatch of the rollout that `agent` has collected. The first step after a phase was over begins a new
    /// one. Afterwards `agent.params` holds the clipped gradient of this step.
    fn step(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<Phase, NotFinite> {
        let mut phase = match self.phase.take() {
            Some(phase) => phase,
            None => {
                self.stats = UpdateStats::default();
                self.shuffle(rollout.batch_size());
                Progress {
                    epochs: self.settings.n_epochs,
                    epoch: 0,
                    position: 0,
                    steps: 0,
                    credited: None,
                }
            }
        };
        let settings = &self.settings;
        let discount = (settings.gamma, settings.gae_lambda);
        if phase.credited != Some(discount) {
            rollout.compute_advantages(discount.0 as f32, discount.1 as f32);
            phase.credited = Some(discount);
        }
        let rows = &self.order[phase.position..];
        let rows = &rows[..settings.batch_size.min(rows.len())];
        self.minibatch.gather(rollout, rows, !agent.is_remote());
        phase.position += rows.len();

        if !self.descend(agent, rollout, phase.steps)? {
            self.end_phase(agent, rollout, phase.steps);
            return Ok(Phase::Over);
        }
        phase.steps += 1;
        if phase.position == self.order.len() {
            phase.epoch += 1;
            phase.position = 0;
            if phase.epoch == phase.epochs {
                self.end_phase(agent, rollout, phase.steps);
                return Ok(Phase::Over);
            }
            self.shuffle(rollout.batch_size());
        }
        self.phase = Some(phase);
        Ok(Phase::GoesOn)
    }

    fn stats(&self) -> UpdateStats {
        self.stats
    }

    fn rows_done(&self) -> u64 {
        let done = |phase: &Progress| phase.epoch * self.order.len() + phase.position;
        self.phase.as_ref().map_or(0, done) as u64
    }

    fn save(&self) -> SavedMethod<'_> {
        let saved = SavedMethod::Ppo(Cow::Borrowed(&self.optimiser), self.rng.clone());
        self.control.save(self.settings.step_control, saved)
    }

    fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::Ppo(optimiser, rng) = self.control.restore(saved) else {
            return Err(PgError::OtherMethod);
        };
        self.optimiser = optimiser.into_owned();
        self.rng = rng;
        Ok(())
    }

    fn adopt(&mut self, other: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::Ppo(optimiser, _) = self.control.restore(other) else {
            return Err(PgError::OtherMethod);
        };
        self.optimiser.clone_from(&optimiser);
        Ok(())
    }

    fn fetch(&mut self, remote: &mut dyn Remote) {
        self.optimiser.fetch(remote.optimiser());
    }

    fn send(&mut self, remote: &mut dyn Remote) -> Result<(), PgError> {
        self.optimiser.send(remote.optimiser());
        Ok(())
    }
}
