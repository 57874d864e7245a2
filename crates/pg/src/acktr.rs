//! Actor-critic with Kronecker-factored trust region (ACKTR; Wu et al., 2017), top to bottom.
//!
//! A2C's loss, followed along the natural gradient of policy and value instead of RMSprop's direction. One update per
//! rollout:
//!
//! 1. advantages and value targets of the stored rollout by GAE, with the gamma and lambda of this update;
//! 2. one forward pass of both networks over all T * N observations, which serves both backward passes;
//! 3. the Fisher matrix is sampled: an action drawn from the policy at every observation, and a value drawn from a
//!    Gaussian around V; a backward pass of their log-likelihoods, from which K-FAC's factors are updated
//!    ([`Kfac::observe`]);
//! 4. the backward pass of the loss `-mean(A log pi) + vf_coef * mean((V - R)^2) - ent_coef * mean(H)`, the gradient
//!    clipped to `max_grad_norm` as a whole;
//! 5. one K-FAC step ([`Kfac::step`]): natural gradient, trust region, momentum.
//!
//! Details that matter. The value's Gaussian has variance `1 / vf_fisher_coef`; with 1, and `vf_coef` 0.5, its natural
//! gradient is the Gauss-Newton step of the squared error. The trust region is that of action and value together,
//! whether or not the networks share layers: an update in which the value is far off moves the policy less. The log
//! standard deviations of continuous actions have an exact Fisher of 2. A number that is not finite never reaches the
//! parameters.
//!
//! `kl_clip` and `vf_fisher_coef` have to be read with care. ACKTR's authors write `nu = min(learning_rate, sqrt(2
//! delta / g F^-1 g))`; the public code that EPGT's experiments ran on leaves out the 2, and so does `kl_clip`: it is
//! twice the divergence that a step is allowed. That code also samples the value's Fisher matrix with the gradient of
//! `(V - v)^2`, which is twice that of the log-likelihood: its value of unit variance is our `vf_fisher_coef = 4`. With
//! a trunk that policy and value share this matters: on Breakout a `kl_clip` of 0.004 with `vf_fisher_coef = 1` ended
//! with a value that explains nothing for good, and 0.003 with 4 did not.
//!
//! The divergence that is limited is the one K-FAC predicts, which takes layers for independent. The real one is
//! larger: on CartPole and Pendulum, where 1e-5 was allowed, the value's was 3 to 4 times that at the first step and
//! mostly 4 to 25 times later.

use std::borrow::Cow;

use epgt_nn::{Kfac, KfacError, Remote};
use epgt_rng::Pcg64;
use epgt_settings::number;

use crate::a2c::{self, Loss};
use crate::hyperparameter::{
    ENT_COEF, GAE_LAMBDA, GAMMA, Kind, LEARNING_RATE, MAX_GRAD_NORM, N_STEPS, NOISE, STEP, VF_COEF,
};
use crate::step_control::StepController;
use crate::update::{self, Workspace};
use crate::{
    ActorCritic, Hyperparameter, Method, MethodSettings, NetworkSize, NotFinite, PgError, Phase, Rollout, SavedMethod,
    Schedule, UpdateStats,
};

/// Fisher of each log standard deviation of a diagonal Gaussian: the variance of z^2 - 1 for a standard normal z.
const LOG_STD_FISHER: f32 = 2.0;

epgt_settings::settings! {
    /// Settings of ACKTR, in Stable-Baselines' words.
    #[derive(Copy)]
    pub struct AcktrSettings {
        /// Steps that every environment takes before an update.
        @ "T"
        pub n_steps: usize = 20;
        /// Largest step along the natural gradient. The trust region makes most steps smaller: while it does, this has
        /// no effect.
        @ "\\eta"
        pub learning_rate: f64 = 0.25;
        /// How the learning rate changes over training.
        pub learning_rate_schedule: Schedule = Schedule::Constant;
        /// Size of the trust region: twice the KL divergence by which one update may move the distribution of actions
        /// and values.
        @ "\\delta"
        pub kl_clip: f64 = 0.002;
        /// Multiplier of the step: of the trust region's size.
        pub step: f64 = 1.0;
        /// Added to the Fisher matrix before it is inverted. More makes the direction that of the plain gradient.
        pub damping: f64 = 0.01;
        /// How much of the last step is kept.
        pub momentum: f64 = 0.9;
        /// How slowly the Fisher matrix follows: the share that a batch keeps when the next one comes.
        pub stats_decay: f64 = 0.99;
        /// Updates from one eigen-decomposition of the Fisher matrix to the next.
        pub inverse_interval: usize = 10;
        /// Discount factor.
        @ "\\gamma"
        pub gamma: f64 = 0.99;
        /// Bias-variance trade-off of generalised advantage estimation: 0 trusts the value network, 1 trusts the
        /// rewards seen.
        @ "\\lambda"
        pub gae_lambda: f64 = 0.95;
        /// Weight of the entropy bonus.
        pub ent_coef: f64 = 0.0;
        /// Weight of the value loss.
        pub vf_coef: f64 = 0.5;
        /// Weight of the value in the Fisher matrix: the inverse variance of the Gaussian that a value stands for.
        pub vf_fisher_coef: f64 = 1.0;
        /// The gradient of all weights together is scaled down to this norm before it meets the Fisher matrix; 0 turns
        /// it off. Where the trust region limits the step, this has no effect.
        pub max_grad_norm: f64 = 0.5;
        /// Whether the advantages of a rollout are shifted and scaled to mean 0 and deviation 1.
        pub normalize_advantage: bool = false;
        /// Factor of the exploration noise over a hundredth of training: of the deviations of continuous actions, or of
        /// the temperature of choices. 1 leaves it to the policy gradient.
        pub noise: f64 = 1.0;
    }
}

crate::schedulable!(AcktrSettings {
    step: Hyperparameter {
        meaning: "Multiplier of the step: of the trust region's size.",
        ..STEP
    },
    learning_rate: Hyperparameter {
        symbol: "\\eta",
        meaning: "Largest step along the natural gradient; a schedule multiplies it.",
        ..LEARNING_RATE
    },
    kl_clip: Hyperparameter {
        symbol: "\\delta",
        meaning: "Size of the trust region, twice the KL divergence allowed.",
        low: 1e-12,
        grid: "0.001:0.002:0.003",
        from_paper: true,
        ..Hyperparameter::BLANK
    },
    damping: Hyperparameter {
        meaning: "Added to the Fisher matrix before it is inverted.",
        low: 1e-8,
        grid: "0.003:0.01:0.03",
        ..Hyperparameter::BLANK
    },
    momentum: Hyperparameter {
        meaning: "How much of the last step is kept.",
        high: 0.999_999,
        grid: "0:0.5:0.9",
        ..Hyperparameter::BLANK
    },
    stats_decay: Hyperparameter {
        meaning: "How slowly the Fisher matrix follows.",
        high: 0.999_999,
        grid: "0.9:0.99:0.999",
        ..Hyperparameter::BLANK
    },
    inverse_interval: Hyperparameter {
        meaning: "Updates from one eigen-decomposition to the next.",
        kind: Kind::Whole,
        low: 1.0,
        high: 1_000_000.0,
        grid: "1:10:50",
        ..Hyperparameter::BLANK
    },
    gamma: GAMMA,
    gae_lambda: GAE_LAMBDA,
    ent_coef: ENT_COEF,
    vf_coef: VF_COEF,
    vf_fisher_coef: Hyperparameter {
        meaning: "Weight of the value in the Fisher matrix.",
        grid: "0.5:1:2",
        ..Hyperparameter::BLANK
    },
    max_grad_norm: Hyperparameter {
        meaning: "Norm that the gradient is clipped to, 0 for none.",
        low: 0.0,
        ..MAX_GRAD_NORM
    },
    n_steps: Hyperparameter {
        grid: "10:20:40",
        ..N_STEPS
    },
    noise: NOISE,
});

impl MethodSettings for AcktrSettings {
    fn name(&self) -> &'static str {
        "acktr"
    }

    fn help(&self) -> &'static str {
        "Actor-critic with Kronecker-factored trust region: one natural-gradient step per rollout."
    }

    fn n_steps(&self) -> usize {
        self.n_steps
    }

    fn gamma(&self) -> f64 {
        self.gamma
    }

    fn falling(&self) -> Vec<&'static str> {
        self.learning_rate_schedule.falling(&["learning_rate"])
    }

    fn step_sentence(&self) -> Option<String> {
        let target = number(self.kl_clip / 2.0);
        Some(format!(
            "An update may move policy and value by a divergence of {target}, as K-FAC predicts it."
        ))
    }

    /// A running mean, the eigenvectors, and what a decomposition works with in double precision.
    fn footprint(&self, size: &NetworkSize) -> f64 {
        6.0 * size.factors
    }

    fn boxed(&self) -> Box<dyn MethodSettings> {
        Box::new(*self)
    }

    fn method(&self, agent: &ActorCritic, seed: u64) -> Box<dyn Method> {
        Box::new(Acktr::new(*self, agent, Pcg64::for_purpose(seed, "fisher", 0)))
    }
}

/// ACKTR: its current settings and the state of K-FAC.
///
/// A checkpoint keeps `kfac` and `rng`; the scheduled settings are the hyper-agent's, and everything else is
/// recomputed.
///
/// ```
/// use epgt_envs::{Normalizer, VecEnv};
/// use epgt_pg::{Acktr, AcktrSettings, ActorCritic, PolicySettings, Rollout, collect};
/// use epgt_rng::Pcg64;
/// let mut envs = VecEnv::new(&epgt_envs::find("Pendulum-v1").unwrap(), 4, 0).unwrap();
/// let (observation, action) = (envs.observation_space().size(), envs.action_space().clone());
/// let mut rng = Pcg64::for_purpose(0, "policy", 0);
/// let mut agent = ActorCritic::new(&PolicySettings::default(), observation, &action, &mut rng);
/// let mut acktr = Acktr::new(AcktrSettings::default(), &agent, Pcg64::for_purpose(0, "fisher", 0));
/// let mut rollout = Rollout::new(acktr.settings.n_steps, 4, observation, action.size());
/// let mut normalizer = Normalizer::new(observation, 4, true, true, acktr.settings.gamma);
/// collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
/// let stats = acktr.update(&mut agent, &mut rollout).unwrap();
/// assert!(stats.trust_scale.unwrap() <= 1.0);
/// ```
#[derive(Clone)]
pub struct Acktr {
    /// Current settings; the schedulable ones take effect at the next update.
    pub settings: AcktrSettings,
    /// Share of the training that is left, which a linear schedule multiplies by.
    pub remaining: f64,
    /// The Fisher matrix and the momentum.
    pub kfac: Kfac,
    /// Draws what the Fisher matrix is sampled from.
    pub rng: Pcg64,
    /// Measures how far a step moved the policy; the trust region is what limits it.
    measure: StepController,
    work: Workspace,
    sampled_actions: Vec<f32>,
    stats: UpdateStats,
}

impl Acktr {
    /// ACKTR for one agent. The settings must be valid ([`MethodSettings::validate`]).
    pub fn new(settings: AcktrSettings, agent: &ActorCritic, rng: Pcg64) -> Self {
        let mut kfac = Kfac::new();
        agent.add_to(&mut kfac);
        if let Some(log_std) = agent.log_std {
            kfac.add_known(log_std, agent.log_std().len(), LOG_STD_FISHER);
        }
        Self {
            settings,
            remaining: 1.0,
            kfac,
            rng,
            measure: StepController::new(0.0),
            work: Workspace::default(),
            sampled_actions: Vec::new(),
            stats: UpdateStats::default(),
        }
    }

    /// The largest step of the next update: the setting times its schedule.
    pub fn learning_rate(&self) -> f64 {
        self.settings.learning_rate * self.settings.learning_rate_schedule.share(self.remaining)
    }

    /// One policy update from the rollout that `agent` has just collected.
    ///
    /// Afterwards `agent.params` holds the clipped gradient of this update, and the rollout its advantages and returns.
    pub fn update(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<UpdateStats, NotFinite> {
        let loss = Loss::from(self.settings);
        a2c::evaluate(&loss, &mut self.work, agent, rollout);
        self.observe(agent)?;
        let mut stats = a2c::gradient(&loss, &mut self.work, agent, rollout)?;
        let max_norm = match self.settings.max_grad_norm {
            0.0 => f64::INFINITY,
            max_norm => max_norm,
        };
        stats.grad_norm = update::clip(agent, max_norm)?;

        let step_size = self.learning_rate() as f32;
        self.kfac.step_size = step_size;
        let target = self.settings.kl_clip * self.settings.step / 2.0;
        self.kfac.kl_clip = target as f32;
        self.kfac.damping = self.settings.damping as f32;
        self.kfac.momentum = self.settings.momentum as f32;
        self.kfac.inverse_interval = self.settings.inverse_interval as u32;
        let step = agent.descend_naturally(&mut self.kfac);
        let step = step.map_err(|error| not_finite(error, agent))?;
        stats.trust_scale = Some(if step_size > 0.0 { step.scale / step_size } else { 1.0 });
        stats.target_divergence = Some(target as f32);
        stats.divergence = self
            .measure
            .divergence(agent, rollout)
            .map(|divergence| divergence as f32);
        Ok(stats)
    }

    /// Samples the Fisher matrix at the observations of the last forward pass. Each row's likelihood counts for itself:
    /// K-FAC takes the mean over rows.
    fn observe(&mut self, agent: &mut ActorCritic) -> Result<(), NotFinite> {
        let Self {
            work,
            rng,
            sampled_actions: actions,
            ..
        } = self;
        actions.resize(work.log_probs.len() * agent.distribution.action_size(), 0.0);
        // The log-probabilities of what is drawn are not needed: room for the gradient serves.
        let (outputs, log_std) = (agent.policy_output(), agent.log_std());
        agent
            .distribution
            .sample(outputs, log_std, rng, actions, &mut work.log_prob_gradient);
        work.log_prob_gradient.fill(1.0);
        work.entropy_gradient.fill(0.0);
        // A value v drawn from N(V, 1 / c) has the log-likelihood -c (v - V)^2 / 2, whose gradient c (v - V) is sqrt(c)
        // times a standard normal number.
        let scale = self.settings.vf_fisher_coef.sqrt();
        work.value_gradient.fill_with(|| (scale * rng.standard_normal()) as f32);
        self.kfac.decay = self.settings.stats_decay as f32;
        work.backward_observed(agent, actions, &mut self.kfac)
    }
}

impl Method for Acktr {
    fn settings(&self) -> &dyn MethodSettings {
        &self.settings
    }

    fn settings_mut(&mut self) -> &mut dyn MethodSettings {
        &mut self.settings
    }

    fn learning_rate(&self) -> f64 {
        Acktr::learning_rate(self)
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

    fn save(&self) -> SavedMethod<'_> {
        SavedMethod::Acktr(Cow::Borrowed(&self.kfac), self.rng.clone())
    }

    fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::Acktr(kfac, rng) = saved else {
            return Err(PgError::OtherMethod);
        };
        self.kfac = kfac.into_owned();
        self.rng = rng;
        Ok(())
    }

    fn adopt(&mut self, other: SavedMethod<'_>) -> Result<(), PgError> {
        let SavedMethod::Acktr(kfac, _) = other else {
            return Err(PgError::OtherMethod);
        };
        self.kfac.clone_from(&kfac);
        Ok(())
    }

    fn fetch(&mut self, remote: &mut dyn Remote) {
        if let Some(part) = remote.kfac() {
            self.kfac.fetch(part);
        }
    }

    fn send(&mut self, remote: &mut dyn Remote) -> Result<(), PgError> {
        match remote.kfac() {
            Some(part) => self.kfac.send(part),
            None => return Err(PgError::NoKfac(remote.name())),
        }
        Ok(())
    }
}

fn not_finite(error: KfacError, agent: &ActorCritic) -> NotFinite {
    let place = match error {
        KfacError::Factors(tensor) => format!("Fisher matrix of {}", agent.params.shape(tensor).name),
        KfacError::Direction => "natural gradient".to_string(),
    };
    NotFinite { place }
}

impl From<AcktrSettings> for Loss {
    fn from(settings: AcktrSettings) -> Self {
        Self {
            gamma: settings.gamma,
            gae_lambda: settings.gae_lambda,
            ent_coef: settings.ent_coef,
            vf_coef: settings.vf_coef,
            normalize_advantage: settings.normalize_advantage,
        }
    }
}
