//! Advantage actor-critic (A2C), top to bottom.
//!
//! One update per rollout, one optimiser step per update:
//!
//! 1. advantages and value targets of the stored rollout by GAE, with the gamma and lambda of this update;
//! 2. one forward pass of both networks over all T * N observations;
//! 3. loss = `-mean(A log pi) + vf_coef * mean((V - R)^2) - ent_coef * mean(H)`;
//! 4. one backward pass, the gradient clipped to `max_grad_norm` as a whole;
//! 5. one RMSprop step, whose rate is set, or moved towards a divergence ([`StepControl`]).
//!
//! A [`Rule`], where there is one, picks the settings of 1 to 5 from inside: [`Hoof`](crate::Hoof) tries many of them
//! after 4, [`MetaGradient`](crate::MetaGradient) learns from the rollout before 1.
//!
//! Details that matter, all as in Stable-Baselines3: the epsilon of RMSprop is added outside the root; advantages are
//! not normalised; losses are means over the batch; the value loss has no factor 1/2; actions are kept as drawn and
//! only clipped on the way into the environment; time limits are bootstrapped through. A gradient that is not finite
//! never reaches the parameters.

use std::borrow::Cow;

use epgt_nn::{Optimiser, Rates, Remote, RmsProp, clip_gradient_norm};

use crate::hyperparameter::{
    CRITIC_LEARNING_RATE, ENT_COEF, GAE_LAMBDA, GAMMA, Kind, LEARNING_RATE, MAX_GRAD_NORM, N_STEPS, NOISE, STEP,
    Schedulable, VF_COEF,
};
use crate::step_control::{StepController, Steps, validate_target};
use crate::update::{self, Workspace, finite};
use crate::{
    ActorCritic, Hyperparameter, Method, MethodSettings, NotFinite, PgError, Phase, Rollout, Rule, SavedMethod,
    Schedule, StepControl, UpdateStats, losses,
};

/// Rows that the value network learns from at a time where it learns alone.
const PART: usize = 64;
/// The rate that step control starts at. A step that goes too far is taken back at once, so it need not be low.
const START: f64 = 7e-4;

epgt_settings::settings! {
    /// Settings of A2C, in Stable-Baselines3's words.
    #[derive(Copy)]
    pub struct A2cSettings {
        /// Steps that every environment takes before an update.
        @ "T"
        pub n_steps: usize = 5;
        /// What says how long the policy's steps are. With `divergence` the rate is found, and learning_rate
        /// decides nothing.
        pub step_control: StepControl = StepControl::Rate;
        /// How far one update should move the policy, where `step_control` is not `rate`: the mean KL divergence over
        /// the rollout's rows.
        pub target_divergence: f64 = 0.003;
        /// Multiplier of the step: of the target divergence, or of the learning rate where `step_control` is `rate`.
        pub step: f64 = 1.0;
        /// Step size of RMSprop. The best value depends on the task and on the number of environments: with more of
        /// them the gradient is less noisy and bears a larger one.
        @ "\\alpha"
        pub learning_rate: f64 = 7e-4;
        /// How the learning rate changes over training. With `divergence` it is the critic's that changes.
        pub learning_rate_schedule: Schedule = Schedule::Constant;
        /// Step size of the value network, where `step_control` is `divergence`. The policy's never goes above it.
        pub critic_learning_rate: f64 = 3e-3;
        /// Passes of the value network alone over a rollout before the update, in parts of 64 rows, where the value has
        /// networks of its own. One step from 256 rows makes too little of them for a critic, whose errors are then the
        /// policy's.
        pub critic_epochs: usize = 0;
        /// Discount factor. The longer rewards are delayed, the closer to 1 it has to be; 0.99 looks about 100 steps
        /// ahead.
        @ "\\gamma"
        pub gamma: f64 = 0.99;
        /// Bias-variance trade-off of generalised advantage estimation: 0 trusts the value network, 1 trusts the
        /// rewards seen.
        @ "\\lambda"
        pub gae_lambda: f64 = 0.95;
        /// Weight of the entropy bonus. Trap: 0.01 together with normalised rewards lets the log-std of a continuous
        /// policy run away (deviations of 12 to 36 on MuJoCo tasks, and scores below 0); use 0 there.
        pub ent_coef: f64 = 0.01;
        /// Weight of the value loss. Separate networks or not, the gradient is clipped as a whole, so it decides how
        /// much of the clipped norm is left to the policy.
        pub vf_coef: f64 = 0.5;
        /// The gradient of all weights together is scaled down to this norm. RMSprop divides by the gradient's running
        /// size, so it tames outliers rather than limits the step.
        pub max_grad_norm: f64 = 0.5;
        /// Decay of RMSprop's running mean of squared gradients.
        pub rms_prop_decay: f64 = 0.99;
        /// Added to the root of that mean. Trap: where gradients are small it acts as a cap on the step size.
        pub rms_prop_eps: f64 = 1e-5;
        /// Whether the advantages of a rollout are shifted and scaled to mean 0 and deviation 1. Trap: with the 5 steps
        /// of a single environment this blows up noise.
        pub normalize_advantage: bool = false;
        /// Factor of the exploration noise over a hundredth of training: of the deviations of continuous actions, or of
        /// the temperature of choices. 1 leaves it to the policy gradient.
        pub noise: f64 = 1.0;
    }
}

crate::schedulable!(A2cSettings {
    step: STEP,
    learning_rate: LEARNING_RATE,
    critic_learning_rate: CRITIC_LEARNING_RATE,
    gamma: GAMMA,
    gae_lambda: GAE_LAMBDA,
    ent_coef: ENT_COEF,
    vf_coef: VF_COEF,
    max_grad_norm: MAX_GRAD_NORM,
    rms_prop_decay: Hyperparameter {
        meaning: "Decay of RMSprop's running mean of squared gradients.",
        high: 0.999_999,
        grid: "0.9:0.99:0.999",
        ..Hyperparameter::BLANK
    },
    n_steps: Hyperparameter {
        grid: "5:8:16",
        ..N_STEPS
    },
    noise: NOISE,
    critic_epochs: Hyperparameter {
        meaning: "Passes of the value network alone over a rollout, before the policy's step.",
        kind: Kind::Whole,
        high: 10_000.0,
        grid: "4:10:20",
        ..Hyperparameter::BLANK
    },
});

impl MethodSettings for A2cSettings {
    fn name(&self) -> &'static str {
        "a2c"
    }

    fn help(&self) -> &'static str {
        "Advantage actor-critic: one update per short rollout."
    }

    fn validate(&self) -> Result<(), PgError> {
        self.validate_hyperparameters()?;
        validate_target(self.target_divergence)?;
        if !(self.rms_prop_eps.is_finite() && self.rms_prop_eps > 0.0) {
            let wants = "a small positive number is wanted, such as 1e-5";
            return Err(PgError::value("rms_prop_eps", self.rms_prop_eps, wants));
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
        self.learning_rate_schedule.falling(self.step_control.falls())
    }

    fn idle(&self) -> &'static [&'static str] {
        self.step_control.idle()
    }

    fn step_sentence(&self) -> Option<String> {
        self.step_control.sentence("An update", self.target_divergence)
    }

    fn boxed(&self) -> Box<dyn MethodSettings> {
        Box::new(*self)
    }

    fn method(&self, agent: &ActorCritic, _seed: u64) -> Box<dyn Method> {
        Box::new(A2c::new(*self, agent))
    }

    fn a2c(&self) -> Option<&A2cSettings> {
        Some(self)
    }
}

/// A2C: its current settings and the optimiser's state. See the crate's documentation for an example.
///
/// A checkpoint keeps `optimiser`, `rule` and the rate that step control has found; the scheduled settings are the hyper-agent's, and everything else is
/// recomputed.
#[derive(Clone)]
pub struct A2c {
    /// Current settings; the schedulable ones take effect at the next update.
    pub settings: A2cSettings,
    /// Share of the training that is left, which a linear schedule multiplies by.
    pub remaining: f64,
    /// RMSprop's running means.
    pub optimiser: RmsProp,
    /// What changes the settings from inside of the update, if anything does.
    pub rule: Option<Rule>,
    control: StepController,
    work: Workspace,
    stats: UpdateStats,
}

impl A2c {
    /// A2C for one agent. The settings must be valid ([`MethodSettings::validate`]).
    pub fn new(settings: A2cSettings, agent: &ActorCritic) -> Self {
        let optimiser = RmsProp::new(
            agent.params.len(),
            settings.rms_prop_decay as f32,
            settings.rms_prop_eps as f32,
        );
        let start = match settings.step_control {
            StepControl::Divergence => START.min(settings.critic_learning_rate),
            StepControl::Rate | StepControl::KlAdaptive => settings.learning_rate,
        };
        Self {
            settings,
            remaining: 1.0,
            optimiser,
            rule: None,
            control: StepController::new(start),
            work: Workspace::default(),
            stats: UpdateStats::default(),
        }
    }

    /// The step size of the next update: the setting times its schedule, or what step control has found.
    pub fn learning_rate(&self) -> f64 {
        self.control.policy_rate(&self.steps())
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
            // A policy that moves faster than its critic climbs the critic's errors.
            highest: settings.critic_learning_rate,
        }
    }

    /// One policy update from the rollout that `agent` has just collected.
    ///
    /// Afterwards `agent.params` holds the clipped gradient of this update, and the rollout its advantages and returns.
    pub fn update(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<UpdateStats, NotFinite> {
        let share = self.settings.learning_rate_schedule.share(self.remaining) * self.settings.step;
        self.teach_critic(agent, rollout)?;
        let (settings, work) = (&mut self.settings, &mut self.work);
        if let Some(Rule::MetaGradient(meta)) = &mut self.rule {
            meta.learn(settings, work, agent, rollout);
        }
        let mut stats = match &mut self.rule {
            Some(Rule::Hoof(hoof)) => hoof.choose(settings, share, &mut self.optimiser, work, agent, rollout)?,
            _ => clipped_gradient(settings, work, agent, rollout)?,
        };
        let learning_rate = settings.learning_rate * share;
        self.optimiser.decay = settings.rms_prop_decay as f32;
        if let Some(Rule::MetaGradient(meta)) = &mut self.rule {
            let rates = (learning_rate, share);
            meta.remember(settings, rates, stats.grad_norm, &self.optimiser, work, agent, rollout);
        }
        let steps = self.steps();
        let rates = self.control.rates(&steps, agent);
        agent.descend(&mut self.optimiser, rates.clone());
        if steps.control != StepControl::Rate {
            self.control_step(&steps, rates, &mut stats, agent, rollout);
        }
        Ok(stats)
    }

    /// Lets the value network alone learn from the rollout, in parts, more than once. The policy is only near the one that
    /// acted for one step; the returns stay what they are. The advantages are those of the values at the time of acting.
    fn teach_critic(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<(), NotFinite> {
        let (settings, steps) = (&self.settings, self.steps());
        if settings.critic_epochs == 0 || !agent.critic_is_apart() {
            return Ok(());
        }
        let rate = self.control.critic_rate(&steps) as f32;
        rollout.compute_advantages(settings.gamma as f32, settings.gae_lambda as f32);
        let (values, gradient) = (&mut self.work.log_probs, &mut self.work.value_gradient);
        let (count, critic) = (rollout.batch_size(), agent.critic());
        for first in (0..settings.critic_epochs).flat_map(|_| (0..count).step_by(PART)) {
            let rows = first..count.min(first + PART);
            values.resize(rows.len(), 0.0);
            gradient.resize(rows.len(), 0.0);
            agent.values_of(rollout.rows(rows.clone()), rows.len(), values);
            let loss = losses::squared_error(values, &rollout.returns[rows], settings.vf_coef as f32, gradient);
            finite("loss/value", loss)?;
            agent.backward_value(gradient);
            clip_gradient_norm(
                &mut agent.params.gradients_mut()[critic.clone()],
                settings.max_grad_norm as f32,
            );
            let (weights, gradients) = agent.params.split_mut();
            self.optimiser.step_part(critic.clone(), weights, gradients, rate);
        }
        Ok(())
    }

    /// Measures how far the step moved the policy, takes back what was too much of it, and moves the rate.
    fn control_step(
        &mut self,
        steps: &Steps,
        taken: Rates,
        stats: &mut UpdateStats,
        agent: &mut ActorCritic,
        rollout: &Rollout,
    ) {
        let measured = match steps.control {
            StepControl::Divergence => self.control.quick_divergence(steps, agent, rollout),
            StepControl::Rate | StepControl::KlAdaptive => self.control.divergence(agent, rollout),
        };
        let Some(divergence) = measured else {
            return;
        };
        if let Some(kept) = self.control.after_step(steps, divergence) {
            // With a decay of 1 RMSprop's means stay as they are, and the same step is made again, backwards.
            self.optimiser.decay = 1.0;
            let back = Rates {
                all: -(1.0 - kept as f32) * taken.all,
                apart: taken.apart.map(|(critic, _)| (critic, 0.0)),
            };
            agent.descend(&mut self.optimiser, back);
            self.optimiser.decay = self.settings.rms_prop_decay as f32;
        }
        stats.target_divergence = Some(steps.target() as f32);
        stats.divergence = Some(divergence as f32);
    }
}

impl Method for A2c {
    fn settings(&self) -> &dyn MethodSettings {
        &self.settings
    }

    fn settings_mut(&mut self) -> &mut dyn MethodSettings {
        &mut self.settings
    }

    fn learning_rate(&self) -> f64 {
        A2c::learning_rate(self)
    }

    fn set_remaining(&mut self, remaining: f64) {
        self.remaining = remaining;
    }

    fn step(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<Phase, NotFinite> {
        self.stats = self.update(agent, rollout)?;
        Ok(Phase::Over)
    }

    fn stats(&self) -> UpdateStats {
        self.stats
    }

    fn follow(&mut self, rule: Rule) -> Result<(), PgError> {
        self.rule = Some(rule);
        Ok(())
    }

    fn rule(&self) -> Option<&Rule> {
        self.rule.as_ref()
    }

    fn save(&self) -> SavedMethod<'_> {
        let saved = SavedMethod::A2c(Cow::Borrowed(&self.optimiser), self.rule.as_ref().map(Rule::save));
        self.control.save(self.settings.step_control, saved)
    }

    fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::A2c(optimiser, saved) = self.control.restore(saved) else {
            return Err(PgError::OtherMethod);
        };
        self.optimiser = optimiser.into_owned();
        match (&mut self.rule, saved) {
            (Some(rule), Some(saved)) => rule.restore(saved),
            (None, None) => Ok(()),
            _ => Err(PgError::OtherScheduler),
        }
    }

    fn adopt(&mut self, other: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::A2c(optimiser, _) = self.control.restore(other) else {
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

/// Steps 1 to 4: leaves the clipped gradient of the loss in `agent.params`.
pub(crate) fn clipped_gradient(
    settings: &A2cSettings,
    work: &mut Workspace,
    agent: &mut ActorCritic,
    rollout: &mut Rollout,
) -> Result<UpdateStats, NotFinite> {
    let loss = Loss::from(*settings);
    evaluate(&loss, work, agent, rollout);
    let mut stats = gradient(&loss, work, agent, rollout)?;
    stats.grad_norm = update::clip(agent, settings.max_grad_norm)?;
    Ok(stats)
}

/// What the loss of A2C depends on; ACKTR has the same.
#[derive(Clone, Copy)]
pub(crate) struct Loss {
    pub gamma: f64,
    pub gae_lambda: f64,
    pub ent_coef: f64,
    pub vf_coef: f64,
    pub normalize_advantage: bool,
}

impl From<A2cSettings> for Loss {
    fn from(settings: A2cSettings) -> Self {
        Self {
            gamma: settings.gamma,
            gae_lambda: settings.gae_lambda,
            ent_coef: settings.ent_coef,
            vf_coef: settings.vf_coef,
            normalize_advantage: settings.normalize_advantage,
        }
    }
}

/// Steps 1 and 2: advantages, and the networks' outputs.
pub(crate) fn evaluate(loss: &Loss, work: &mut Workspace, agent: &mut ActorCritic, rollout: &mut Rollout) {
    rollout.compute_advantages(loss.gamma as f32, loss.gae_lambda as f32);
    if loss.normalize_advantage {
        update::normalize(&mut rollout.advantages);
    }
    work.forward_all(agent, rollout.batch_observations(), &rollout.actions);
}

/// Steps 3 and 4 but for the clipping: leaves the gradient of the loss in `agent.params`.
pub(crate) fn gradient(
    loss: &Loss,
    work: &mut Workspace,
    agent: &mut ActorCritic,
    rollout: &Rollout,
) -> Result<UpdateStats, NotFinite> {
    let (ent_coef, vf_coef) = (loss.ent_coef as f32, loss.vf_coef as f32);
    let policy_loss = losses::policy_gradient(&work.log_probs, &rollout.advantages, &mut work.log_prob_gradient);
    let entropy = losses::entropy_bonus(&work.entropies, ent_coef, &mut work.entropy_gradient);
    let values = agent.value_output();
    let value_loss = losses::squared_error(values, &rollout.returns, vf_coef, &mut work.value_gradient);
    let stats = UpdateStats {
        policy_loss: finite("loss/policy", policy_loss)?,
        value_loss: finite("loss/value", value_loss)?,
        entropy: finite("loss/entropy", entropy)?,
        ..Default::default()
    };
    work.backward(agent, &rollout.actions)?;
    Ok(stats)
}
