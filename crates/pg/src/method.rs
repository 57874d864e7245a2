//! A policy-gradient method as a trainer sees it.
//!
//! A rollout is followed by an update phase of one or more update steps; before each, the hyper-agent may change what
//! can be scheduled. A method is a file of its own: settings that implement [`MethodSettings`], and the method at work,
//! which implements [`Method`].

use std::borrow::Cow;
use std::fmt::Debug;

use epgt_nn::{Adam, Kfac, Remote, RmsProp};
use epgt_rng::Pcg64;
use epgt_settings::Settings;
use serde::{Deserialize, Serialize};

use crate::{
    A2cSettings, ActorCritic, NetworkSize, NotFinite, PgError, Phase, Rollout, Rule, SavedRule, Schedulable,
    UpdateStats,
};

/// The settings of a method: what a configuration holds and prints, what can be scheduled, and how the method is made
/// of them.
///
/// ```
/// use epgt_pg::{MethodSettings, PpoSettings, Schedulable};
/// use epgt_settings::Settings;
/// let mut settings: Box<dyn MethodSettings> = Box::new(PpoSettings::default());
/// settings.assign("gamma", "0.9")?;
/// assert_eq!((settings.name(), settings.gamma()), ("ppo", 0.9));
/// assert_eq!(settings.updates_per_rollout(1), 320);
/// # Ok::<(), epgt_settings::SettingError>(())
/// ```
pub trait MethodSettings: Settings + Schedulable + Debug + Send + Sync {
    /// The method's name.
    fn name(&self) -> &'static str;

    /// What it is, in one sentence.
    fn help(&self) -> &'static str;

    /// Refuses what the method cannot work with.
    fn validate(&self) -> Result<(), PgError> {
        self.validate_hyperparameters()
    }

    /// Steps T of every environment in a rollout.
    fn n_steps(&self) -> usize;

    /// The discount factor.
    fn gamma(&self) -> f64;

    /// Names of the hyperparameters that fall over training: what is chosen for them is multiplied by the share that is
    /// left.
    fn falling(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Names of the hyperparameters that decide nothing with these settings.
    fn idle(&self) -> &'static [&'static str] {
        &[]
    }

    /// How far an update should move the policy, in one sentence; `None` where that is not what is set.
    fn step_sentence(&self) -> Option<String> {
        None
    }

    /// Passes over the rollout in an update phase.
    fn epochs(&self) -> usize {
        1
    }

    /// Rows of an update step; `None` for the whole rollout.
    fn minibatch(&self) -> Option<u64> {
        None
    }

    /// Policy update steps U that follow a rollout of `n` environments.
    fn updates_per_rollout(&self, _n: usize) -> u64 {
        1
    }

    /// Numbers that the method keeps for networks of this size, besides the weights, their gradient and a running mean.
    fn footprint(&self, _size: &NetworkSize) -> f64 {
        0.0
    }

    /// The same settings, boxed.
    fn boxed(&self) -> Box<dyn MethodSettings>;

    /// The method for one agent; `seed` determines what is random in it. The settings must be valid.
    fn method(&self, agent: &ActorCritic, seed: u64) -> Box<dyn Method>;

    /// The settings of A2C, where it is A2C: update rules work inside of it.
    fn a2c(&self) -> Option<&A2cSettings> {
        None
    }
}

impl Clone for Box<dyn MethodSettings> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl PartialEq for Box<dyn MethodSettings> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.entries() == other.entries()
    }
}

/// A method at work: its settings and the state of its optimiser.
///
/// What an implementation needs is public: [`Workspace`](crate::update::Workspace) runs the networks forward and pushes
/// gradients back, [`losses`](crate::losses) are pure functions, [`clip`](crate::update::clip) and
/// [`ActorCritic::descend`] make the step, and [`schedulable!`](crate::schedulable) lists what a hyper-agent may
/// change.
pub trait Method: Send {
    /// Its settings, of which those that can be scheduled are as they were at the last update or have been set since.
    fn settings(&self) -> &dyn MethodSettings;

    /// The same, to set what can be scheduled from the next update or rollout on.
    fn settings_mut(&mut self) -> &mut dyn MethodSettings;

    /// The step size in force: what was set times its schedule.
    fn learning_rate(&self) -> f64;

    /// Says how much of the training is left, for the schedules.
    fn set_remaining(&mut self, remaining: f64);

    /// One policy update step on the rollout; says whether the phase goes on.
    fn step(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<Phase, NotFinite>;

    /// What the last update phase did.
    fn stats(&self) -> UpdateStats;

    /// Rows of the rollout that the current update phase has been through; 0 between two phases.
    fn rows_done(&self) -> u64 {
        0
    }

    /// Lets a rule change the settings from inside of the update; it must have been made for this method.
    fn follow(&mut self, rule: Rule) -> Result<(), PgError> {
        Err(PgError::RuleNeedsA2c {
            rule: rule.name(),
            method: self.settings().name().to_string(),
        })
    }

    /// The rule inside of the update, if there is one.
    fn rule(&self) -> Option<&Rule> {
        None
    }

    /// What a checkpoint must hold; only between two update phases.
    fn save(&self) -> SavedMethod<'_>;

    /// Goes on from a checkpoint of the same method.
    fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), PgError>;

    /// Takes over what the optimiser of another agent with the same networks has gathered, and nothing else: generators
    /// stay its own, and so do the settings, which are given to the optimiser at every update.
    fn adopt(&mut self, other: SavedMethod<'_>) -> Result<(), PgError>;

    /// Reads the optimiser's state from the processor that the networks are on.
    fn fetch(&mut self, _remote: &mut dyn Remote) {}

    /// Writes the optimiser's state to the processor that the networks are on, or says what that processor lacks.
    fn send(&mut self, _remote: &mut dyn Remote) -> Result<(), PgError> {
        Ok(())
    }
}

/// A method's part of a checkpoint; it borrows while saving. The order of the variants is part of the format.
#[derive(Serialize, Deserialize)]
pub enum SavedMethod<'a> {
    /// RMSprop's state, and that of the rule inside of the update.
    A2c(Cow<'a, RmsProp>, Option<SavedRule<'a>>),
    /// Adam's state, and the generator of the minibatches.
    Ppo(Cow<'a, Adam>, Pcg64),
    /// K-FAC's state, and the generator that the Fisher matrix is sampled with.
    Acktr(Cow<'a, Kfac>, Pcg64),
    /// That of a method that this crate does not know: its own bytes.
    Other(Cow<'a, [u8]>),
    /// That of a method whose steps are controlled, with the rate that was found.
    Controlled(Box<SavedMethod<'a>>, f64),
}

impl SavedMethod<'_> {
    /// The bytes of a method that this crate does not know.
    pub fn other(bytes: Vec<u8>) -> SavedMethod<'static> {
        SavedMethod::Other(Cow::Owned(bytes))
    }

    /// The bytes that [`other`](Self::other) was given; an error where it is another method's.
    pub fn into_other(self) -> Result<Vec<u8>, PgError> {
        match self {
            Self::Other(bytes) => Ok(bytes.into_owned()),
            _ => Err(PgError::OtherMethod),
        }
    }
}
