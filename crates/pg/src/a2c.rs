//! Advantage actor-critic (A2C), top to bottom.
//!
//! One update per rollout, one optimiser step per update:
//!
//! 1. advantages and value targets of the stored rollout by GAE, with the gamma and lambda of this update;
//! 2. one forward pass of both networks over all T * N observations;
//! 3. loss = `-mean(A log pi) + vf_coef * mean((V - R)^2) - ent_coef * mean(H)`;
//! 4. one backward pass, the gradient clipped to `max_grad_norm` as a whole;
//! 5. one RMSprop step.
//!
//! Details that matter, all as in Stable-Baselines3: the epsilon of RMSprop is added outside the root; advantages are not
//! normalised; losses are means over the batch; the value loss has no factor 1/2; actions are kept as drawn and only clipped on
//! the way into the environment; time limits are bootstrapped through. A gradient that is not finite never reaches the
//! parameters.

use crate::{ActorCritic, Hyperparameter, Kind, Rollout, index_of, losses};
use epgt_nn::{RmsProp, clip_gradient_norm};
use serde::Serialize;
use std::fmt;

epgt_settings::settings! {
    /// Settings of A2C, in Stable-Baselines3's words.
    #[derive(Copy)]
    pub struct A2cSettings {
        /// Steps that every environment takes before an update.
        @ "T"
        pub n_steps: usize = 5;
        /// Step size of RMSprop. The best value depends on the task and on the number of environments: with more of them the
        /// gradient is less noisy and bears a larger one.
        @ "\\alpha"
        pub learning_rate: f64 = 7e-4;
        /// Discount factor. The longer rewards are delayed, the closer to 1 it has to be; 0.99 looks about 100 steps
        /// ahead.
        @ "\\gamma"
        pub gamma: f64 = 0.99;
        /// Bias-variance trade-off of generalised advantage estimation: 0 trusts the value network, 1 trusts the rewards seen.
        @ "\\lambda"
        pub gae_lambda: f64 = 0.95;
        /// Weight of the entropy bonus. Trap: 0.01 together with normalised rewards lets the log-std of a continuous policy run
        /// away (deviations of 12 to 36 on MuJoCo tasks, and scores below 0); use 0 there.
        pub ent_coef: f64 = 0.01;
        /// Weight of the value loss. The networks are separate, but the gradient is clipped as a whole, so it still decides how much
        /// of the clipped norm is left to the policy.
        pub vf_coef: f64 = 0.5;
        /// The gradient of all weights together is scaled down to this norm. RMSprop divides by the gradient's running size, so it
        /// tames outliers rather than limits the step.
        pub max_grad_norm: f64 = 0.5;
        /// Decay of RMSprop's running mean of squared gradients.
        pub rms_prop_decay: f64 = 0.99;
        /// Added to the root of that mean. Trap: where gradients are small it acts as a cap on the step size.
        pub rms_prop_eps: f64 = 1e-5;
        /// Whether the advantages of a rollout are shifted and scaled to mean 0 and deviation 1. Trap: with the 5 steps of a single
        /// environment this blows up noise.
        pub normalize_advantage: bool = false;
    }
}

/// In the order of [`A2cSettings::scheduled`].
static HYPERPARAMETERS: [Hyperparameter; 7] = [
    Hyperparameter {
        name: "learning_rate",
        symbol: "\\alpha",
        meaning: "Step size of the optimiser.",
        kind: Kind::LearningRateLike,
        low: 0.0,
        high: f64::INFINITY,
    },
    Hyperparameter {
        name: "gamma",
        symbol: "\\gamma",
        meaning: "Discount factor; the statistics of reward normalisation keep the one they began with.",
        kind: Kind::Other,
        low: 0.0,
        high: 1.0,
    },
    Hyperparameter {
        name: "gae_lambda",
        symbol: "\\lambda",
        meaning: "Bias-variance trade-off of the advantages.",
        kind: Kind::Other,
        low: 0.0,
        high: 1.0,
    },
    Hyperparameter {
        name: "ent_coef",
        symbol: "",
        meaning: "Weight of the entropy bonus.",
        kind: Kind::Other,
        low: 0.0,
        high: f64::INFINITY,
    },
    Hyperparameter {
        name: "vf_coef",
        symbol: "",
        meaning: "Weight of the value loss.",
        kind: Kind::Other,
        low: 0.0,
        high: f64::INFINITY,
    },
    Hyperparameter {
        name: "max_grad_norm",
        symbol: "",
        meaning: "Norm that the gradient is clipped to.",
        kind: Kind::Other,
        low: 1e-6,
        high: f64::INFINITY,
    },
    Hyperparameter {
        name: "rms_prop_decay",
        symbol: "",
        meaning: "Decay of RMSprop's running mean of squared gradients.",
        kind: Kind::Other,
        low: 0.0,
        high: 0.999_999,
    },
];

impl A2cSettings {
    /// Refuses what A2C cannot work with, in one sentence.
    ///
    /// ```
    /// use epgt_pg::A2cSettings;
    /// let settings = A2cSettings { gamma: 1.1, ..Default::default() };
    /// assert_eq!(
    ///     settings.validate().unwrap_err(),
    ///     "gamma = 1.1 cannot be used: a number from 0 to 1 is wanted"
    /// );
    /// ```
    pub fn validate(&self) -> Result<(), String> {
        for (index, hyperparameter) in HYPERPARAMETERS.iter().enumerate() {
            hyperparameter.validate(self.get(index))?;
        }
        if self.n_steps == 0 {
            return Err("n_steps = 0 cannot be used: at least one step per update is wanted".to_string());
        }
        if !(self.rms_prop_eps.is_finite() && self.rms_prop_eps > 0.0) {
            return Err(format!(
                "rms_prop_eps = {} cannot be used: a small positive number is wanted, such as 1e-5",
                self.rms_prop_eps
            ));
        }
        Ok(())
    }

    /// The value behind an index of [`A2c::hyperparameters`].
    pub fn get(mut self, index: usize) -> f64 {
        *self.scheduled(index)
    }

    /// The field behind an index of [`A2c::hyperparameters`].
    fn scheduled(&mut self, index: usize) -> &mut f64 {
        match index {
            0 => &mut self.learning_rate,
            1 => &mut self.gamma,
            2 => &mut self.gae_lambda,
            3 => &mut self.ent_coef,
            4 => &mut self.vf_coef,
            5 => &mut self.max_grad_norm,
            6 => &mut self.rms_prop_decay,
            _ => panic!(
                "A2C has {} hyperparameters, there is none of index {index}",
                HYPERPARAMETERS.len()
            ),
        }
    }
}

/// What one update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UpdateStats {
    /// `-mean(A log pi)`.
    pub policy_loss: f32,
    /// `mean((V - R)^2)`, before `vf_coef`.
    pub value_loss: f32,
    /// Mean entropy of the policy.
    pub entropy: f32,
    /// Norm of the gradient before clipping.
    pub grad_norm: f32,
}

/// Training ran into a number that is not finite; the parameters are those of the last good update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// Where it was first seen: `loss/policy`, `gradient of policy.1.weight`, ...
    pub place: String,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not finite: training has diverged; lower learning_rate, or normalise observations and rewards",
            self.place
        )
    }
}

impl std::error::Error for NotFinite {}

fn finite(place: &str, number: f32) -> Result<f32, NotFinite> {
    if number.is_finite() {
        Ok(number)
    } else {
        Err(NotFinite {
            place: place.to_string(),
        })
    }
}

/// A2C: its current settings and the optimiser's state. See the crate's documentation for an example.
///
/// A checkpoint keeps `optimiser` and the values of [`A2c::hyperparameters`]; everything else is recomputed.
#[derive(Clone)]
pub struct A2c {
    /// Current settings; the schedulable ones take effect at the next update.
    pub settings: A2cSettings,
    /// RMSprop's running means.
    pub optimiser: RmsProp,
    log_probs: Vec<f32>,
    entropies: Vec<f32>,
    log_prob_gradient: Vec<f32>,
    entropy_gradient: Vec<f32>,
    value_gradient: Vec<f32>,
    policy_gradient: Vec<f32>,
    log_std_gradient: Vec<f32>,
}

impl A2c {
    /// A2C for one agent. The settings must be valid ([`A2cSettings::validate`]).
    pub fn new(settings: A2cSettings, agent: &ActorCritic) -> Self {
        let optimiser = RmsProp::new(
            agent.params.len(),
            settings.rms_prop_decay as f32,
            settings.rms_prop_eps as f32,
        );
        Self {
            settings,
            optimiser,
            log_probs: Vec::new(),
            entropies: Vec::new(),
            log_prob_gradient: Vec::new(),
            entropy_gradient: Vec::new(),
            value_gradient: Vec::new(),
            policy_gradient: Vec::new(),
            log_std_gradient: vec![0.0; agent.distribution.log_std_size()],
        }
    }

    /// What can be scheduled; the index into this list is what [`A2c::set`] and [`A2c::get`] take.
    pub fn hyperparameters() -> &'static [Hyperparameter] {
        &HYPERPARAMETERS
    }

    /// The index of a hyperparameter, or one sentence that names the nearest.
    pub fn index(name: &str) -> Result<usize, String> {
        index_of(&HYPERPARAMETERS, name)
    }

    /// Sets a hyperparameter from the next update on. Panics if there is none of that index.
    ///
    /// ```
    /// # use epgt_pg::{A2c, A2cSettings, ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// # let space = epgt_envs::Space::Discrete(2);
    /// # let agent = ActorCritic::new(&PolicySettings::default(), 4, &space, &mut rng);
    /// let mut a2c = A2c::new(A2cSettings::default(), &agent);
    /// let lambda = A2c::index("gae_lambda")?;
    /// a2c.set(lambda, 0.8);
    /// assert_eq!(a2c.get(lambda), 0.8);
    /// # Ok::<(), String>(())
    /// ```
    pub fn set(&mut self, index: usize, value: f64) {
        *self.settings.scheduled(index) = value;
    }

    /// The current value of a hyperparameter. Panics if there is none of that index.
    pub fn get(&self, index: usize) -> f64 {
        self.settings.get(index)
    }

    /// One policy update from the rollout that `agent` has just collected.
    ///
    /// Afterwards `agent.params` holds the clipped gradient of this update, and the rollout its advantages and returns.
    pub fn update(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<UpdateStats, NotFinite> {
        let batch = rollout.batch_size();
        self.make_room(batch, agent.distribution.outputs());

        rollout.compute_advantages(self.settings.gamma as f32, self.settings.gae_lambda as f32);
        if self.settings.normalize_advantage {
            normalize(&mut rollout.advantages);
        }

        agent.forward(rollout.batch_observations(), batch);
        let policy = (agent.policy.output(), agent.log_std());
        agent.distribution.evaluate(
            policy.0,
            policy.1,
            &rollout.actions,
            &mut self.log_probs,
            &mut self.entropies,
        );

        let (ent_coef, vf_coef) = (self.settings.ent_coef as f32, self.settings.vf_coef as f32);
        let policy_loss = losses::policy_gradient(&self.log_probs, &rollout.advantages, &mut self.log_prob_gradient);
        let entropy = losses::entropy_bonus(&self.entropies, ent_coef, &mut self.entropy_gradient);
        let value_loss = losses::squared_error(
            agent.value.output(),
            &rollout.returns,
            vf_coef,
            &mut self.value_gradient,
        );
        let mut stats = UpdateStats {
            policy_loss: finite("loss/policy", policy_loss)?,
            value_loss: finite("loss/value", value_loss)?,
            entropy: finite("loss/entropy", entropy)?,
            grad_norm: 0.0,
        };

        agent.distribution.backward(
            policy,
            &rollout.actions,
            &self.log_prob_gradient,
            &self.entropy_gradient,
            &mut self.policy_gradient,
            &mut self.log_std_gradient,
        );
        agent.backward(&self.policy_gradient, &self.log_std_gradient, &self.value_gradient);

        if let Some(tensor) = agent.params.first_not_finite_gradient() {
            let place = format!("gradient of {tensor}");
            return Err(NotFinite { place });
        }
        let max_norm = self.settings.max_grad_norm as f32;
        let norm = clip_gradient_norm(agent.params.gradients_mut(), max_norm);
        stats.grad_norm = finite("gradient norm", norm)?;

        self.optimiser.decay = self.settings.rms_prop_decay as f32;
        let (values, gradients) = agent.params.split_mut();
        self.optimiser
            .step(values, gradients, self.settings.learning_rate as f32);
        Ok(stats)
    }

    /// Buffers of the batch's size; allocates only when the rollout grows.
    fn make_room(&mut self, batch: usize, outputs: usize) {
        for buffer in [
            &mut self.log_probs,
            &mut self.entropies,
            &mut self.log_prob_gradient,
            &mut self.entropy_gradient,
            &mut self.value_gradient,
        ] {
            buffer.resize(batch, 0.0);
        }
        self.policy_gradient.resize(batch * outputs, 0.0);
    }
}

/// Shifts and scales to mean 0 and (unbiased) deviation 1, where there are at least two numbers.
fn normalize(advantages: &mut [f32]) {
    let count = advantages.len() as f32;
    if count < 2.0 {
        return;
    }
    let mean = advantages.iter().sum::<f32>() / count;
    let variance = advantages
        .iter()
        .map(|advantage| (advantage - mean).powi(2))
        .sum::<f32>()
        / (count - 1.0);
    let scale = 1.0 / (variance.sqrt() + 1e-8);
    for advantage in advantages {
        *advantage = (*advantage - mean) * scale;
    }
}
