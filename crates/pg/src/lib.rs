//! Policy gradients: everything between a stepped environment and an updated policy.
//!
//! Data walks one way. [`collect`] fills a [`Rollout`] (the environment phase: the agent acts T steps in each of N
//! environments), [`gae`] turns its rewards and values into advantages, [`losses`] turn those and the outputs of an
//! [`ActorCritic`] into gradients through an [`ActionDistribution`], and a [`Method`] ([`A2c`], [`Ppo`] or [`Acktr`])
//! steps the parameters. What a hyper-agent may change between two updates is listed as [`Hyperparameter`]s and set by
//! index.
//!
//! ```
//! use epgt_envs::{Normalizer, VecEnv};
//! use epgt_pg::{A2c, A2cSettings, ActorCritic, PolicySettings, Rollout, collect};
//! use epgt_rng::Pcg64;
//!
//! let task = epgt_envs::find("CartPole-v1").unwrap();
//! let mut envs = VecEnv::new(&task, 4, 0).unwrap();
//! let (observation, action) = (envs.observation_space().size(), envs.action_space().clone());
//! let mut rng = Pcg64::for_purpose(0, "policy", 0);
//! let mut agent = ActorCritic::new(&PolicySettings::default(), observation, &action, &mut rng);
//! let mut a2c = A2c::new(A2cSettings::default(), &agent);
//! let mut rollout = Rollout::new(a2c.settings.n_steps, 4, observation, action.size());
//! let mut normalizer = Normalizer::new(observation, 4, true, true, a2c.settings.gamma);
//! for _ in 0..10 {
//!     collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
//!     let stats = a2c.update(&mut agent, &mut rollout).unwrap();
//!     assert!(stats.entropy > 0.0);
//! }
//! ```

mod a2c;
mod acktr;
mod action_map;
mod actor_critic;
mod collect;
mod distribution;
mod error;
pub mod gae;
mod hoof;
mod hyper_reward;
mod hyperparameter;
pub mod losses;
mod meta_gradient;
mod method;
mod multi_categorical;
mod noise;
mod policy_settings;
mod ppo;
mod remote;
mod rollout;
mod rule;
mod step_control;
mod trunk;
pub mod update;

pub use a2c::{A2c, A2cSettings};
pub use acktr::{Acktr, AcktrSettings};
pub use actor_critic::ActorCritic;
pub use collect::collect;
pub use distribution::ActionDistribution;
pub use error::PgError;
pub use hoof::{Hoof, HoofSettings, weighted_importance};
pub use hyper_reward::{Earned, HyperReward};
#[doc(hidden)]
pub use hyperparameter::Number;
pub use hyperparameter::{
    CRITIC_LEARNING_RATE, ENT_COEF, Effect, GAE_LAMBDA, GAMMA, Hyperparameter, Kind, LEARNING_RATE, MAX_GRAD_NORM,
    N_STEPS, NOISE, STEP, Schedulable, VF_COEF,
};
pub use meta_gradient::{MetaGradient, MetaGradientSettings, MetaState};
pub use method::{Method, MethodSettings, SavedMethod};
pub use noise::{NoiseControl, greedy_factor, noise_groups};
pub use policy_settings::{ActionUnit, HiddenActivation, NetworkSize, PolicySettings};
pub use ppo::{Ppo, PpoSettings};
pub use rollout::Rollout;
pub use rule::{AboutRule, HOOF, META_GRADIENT, Rule, RuleSettings, SavedRule, Tuned};
pub use step_control::StepControl;
pub use update::{NotFinite, Phase, Schedule, UpdateStats};
