//! The policy-gradient methods behind one face: what a trainer needs of any of them.
//!
//! A rollout is followed by an update phase of one or more update steps; before each, the hyper-agent may change what can be
//! scheduled. A new method is a file of its own and a variant here.

use std::borrow::Cow;

use epgt_nn::{Adam, Kfac, Optimiser, Remote, RmsProp};
use epgt_rng::Pcg64;
use epgt_settings::{Entry, Settings};
use serde::{Deserialize, Serialize};

use crate::{
    A2c, A2cSettings, Acktr, AcktrSettings, ActorCritic, NotFinite, Phase, Ppo, PpoSettings, Rollout, Rule, SavedRule,
    Schedulable, Schedule, UpdateStats,
};

epgt_settings::choice! {
    /// The policy-gradient method.
    pub enum Algorithm {
        /// Advantage actor-critic: one update per short rollout.
        A2c = "a2c",
        /// Proximal policy optimisation: several epochs of minibatches per long rollout.
        Ppo = "ppo",
        /// Actor-critic with Kronecker-factored trust region: one natural-gradient step per rollout.
        Acktr = "acktr",
    }
}

/// The settings of the chosen method.
///
/// ```
/// use epgt_pg::{Algorithm, MethodSettings};
/// let mut settings = MethodSettings::of(Algorithm::Ppo);
/// settings.assign("gamma", "0.9")?;
/// assert_eq!(settings.gamma(), 0.9);
/// assert_eq!(settings.updates_per_rollout(1), 320);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MethodSettings {
    /// Of A2C.
    A2c(A2cSettings),
    /// Of PPO.
    Ppo(PpoSettings),
    /// Of ACKTR.
    Acktr(AcktrSettings),
}

impl MethodSettings {
    /// The defaults of a method.
    pub fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::A2c => Self::A2c(A2cSettings::default()),
            Algorithm::Ppo => Self::Ppo(PpoSettings::default()),
            Algorithm::Acktr => Self::Acktr(AcktrSettings::default()),
        }
    }

    /// Which method it is.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::A2c(_) => Algorithm::A2c,
            Self::Ppo(_) => Algorithm::Ppo,
            Self::Acktr(_) => Algorithm::Acktr,
        }
    }

    /// Every setting with its current value.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Self::A2c(settings) => settings.entries(),
            Self::Ppo(settings) => settings.entries(),
            Self::Acktr(settings) => settings.entries(),
        }
    }

    /// Sets one setting from its text.
    pub fn assign(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self {
            Self::A2c(settings) => settings.assign(key, value),
            Self::Ppo(settings) => settings.assign(key, value),
            Self::Acktr(settings) => settings.assign(key, value),
        }
    }

    /// Refuses what the method cannot work with, in one sentence.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::A2c(settings) => settings.validate(),
            Self::Ppo(settings) => settings.validate(),
            Self::Acktr(settings) => settings.validate(),
        }
    }

    /// What can be scheduled.
    pub fn schedulable(&self) -> &dyn Schedulable {
        match self {
            Self::A2c(settings) => settings,
            Self::Ppo(settings) => settings,
            Self::Acktr(settings) => settings,
        }
    }

    /// The same with another value of what can be scheduled, by its index in [`Schedulable::hyperparameters`].
    ///
    /// ```
    /// use epgt_pg::{Algorithm, MethodSettings};
    /// let settings = MethodSettings::of(Algorithm::A2c);
    /// let gamma = settings.schedulable().index("gamma")?;
    /// assert_eq!(settings.with(gamma, 0.5).gamma(), 0.5);
    /// # Ok::<(), String>(())
    /// ```
    pub fn with(mut self, index: usize, value: f64) -> Self {
        match &mut self {
            Self::A2c(settings) => settings.set(index, value),
            Self::Ppo(settings) => settings.set(index, value),
            Self::Acktr(settings) => settings.set(index, value),
        }
        self
    }

    /// Steps T of every environment in a rollout.
    pub fn n_steps(&self) -> usize {
        match self {
            Self::A2c(settings) => settings.n_steps,
            Self::Ppo(settings) => settings.n_steps,
            Self::Acktr(settings) => settings.n_steps,
        }
    }

    /// The discount factor.
    pub fn gamma(&self) -> f64 {
        match self {
            Self::A2c(settings) => settings.gamma,
            Self::Ppo(settings) => settings.gamma,
            Self::Acktr(settings) => settings.gamma,
        }
    }

    /// Names of the hyperparameters that fall over training: what is chosen for them is multiplied by the share that is left.
    pub fn falling(&self) -> Vec<&'static str> {
        let falls = |schedule: Schedule, name: &'static str| (schedule == Schedule::Linear).then_some(name);
        let names = match self {
            Self::A2c(settings) => [falls(settings.learning_rate_schedule, "learning_rate"), None, None],
            Self::Acktr(settings) => [falls(settings.learning_rate_schedule, "learning_rate"), None, None],
            Self::Ppo(settings) => [
                falls(settings.learning_rate_schedule, "learning_rate"),
                falls(settings.clip_schedule, "clip_range"),
                falls(settings.clip_schedule, "clip_range_vf"),
            ],
        };
        names.into_iter().flatten().collect()
    }

    /// Rows of an update step; `None` for the whole rollout.
    pub fn minibatch(&self) -> Option<u64> {
        match self {
            Self::A2c(_) | Self::Acktr(_) => None,
            Self::Ppo(settings) => Some(settings.batch_size as u64),
        }
    }

    /// Policy update steps U that follow a rollout of `n` environments.
    pub fn updates_per_rollout(&self, n: usize) -> u64 {
        match self {
            Self::A2c(_) | Self::Acktr(_) => 1,
            Self::Ppo(settings) => {
                let minibatches = settings.n_steps.saturating_mul(n).div_ceil(settings.batch_size.max(1));
                settings.n_epochs.saturating_mul(minibatches) as u64
            }
        }
    }
}

/// A method at work: its settings and the state of its optimiser.
#[derive(Clone)]
pub enum Method {
    /// Advantage actor-critic and what its last update did.
    A2c(Box<A2c>, UpdateStats),
    /// Proximal policy optimisation.
    Ppo(Box<Ppo>),
    /// Actor-critic with Kronecker-factored trust region and what its last update did.
    Acktr(Box<Acktr>, UpdateStats),
}

/// A method's part of a checkpoint; it borrows while saving.
#[derive(Serialize, Deserialize)]
pub enum SavedMethod<'a> {
    /// RMSprop's state, and that of the rule inside of the update.
    A2c(Cow<'a, RmsProp>, Option<SavedRule<'a>>),
    /// Adam's state, and the generator of the minibatches.
    Ppo(Cow<'a, Adam>, Pcg64),
    /// K-FAC's state, and the generator that the Fisher matrix is sampled with.
    Acktr(Cow<'a, Kfac>, Pcg64),
}

impl Method {
    /// A method for one agent; `seed` determines what is random in it. The settings must be valid.
    pub fn new(settings: &MethodSettings, agent: &ActorCritic, seed: u64) -> Self {
        match *settings {
            MethodSettings::A2c(settings) => Self::A2c(Box::new(A2c::new(settings, agent)), UpdateStats::default()),
            MethodSettings::Ppo(settings) => {
                let rng = Pcg64::for_purpose(seed, "minibatches", 0);
                Self::Ppo(Box::new(Ppo::new(settings, agent, rng)))
            }
            MethodSettings::Acktr(settings) => {
                let rng = Pcg64::for_purpose(seed, "fisher", 0);
                Self::Acktr(Box::new(Acktr::new(settings, agent, rng)), UpdateStats::default())
            }
        }
    }

    /// Lets a rule change the settings from inside of the update; it must have been made for this method.
    pub fn follow(&mut self, rule: Rule) {
        match self {
            Self::A2c(a2c, _) => a2c.rule = Some(rule),
            Self::Ppo(_) | Self::Acktr(..) => unreachable!("RuleSettings::check lets only A2C have a rule"),
        }
    }

    /// The rule inside of the update, if there is one.
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            Self::A2c(a2c, _) => a2c.rule.as_ref(),
            Self::Ppo(_) | Self::Acktr(..) => None,
        }
    }

    /// What can be scheduled, as it was at the last update or has been set since.
    pub fn get(&self, index: usize) -> f64 {
        match self {
            Self::A2c(a2c, _) => a2c.settings.get(index),
            Self::Ppo(ppo) => ppo.settings.get(index),
            Self::Acktr(acktr, _) => acktr.settings.get(index),
        }
    }

    /// Sets what can be scheduled, by its index in [`Schedulable::hyperparameters`].
    pub fn set(&mut self, index: usize, value: f64) {
        match self {
            Self::A2c(a2c, _) => a2c.settings.set(index, value),
            Self::Ppo(ppo) => ppo.settings.set(index, value),
            Self::Acktr(acktr, _) => acktr.settings.set(index, value),
        }
    }

    /// Steps T of the next rollout.
    pub fn n_steps(&self) -> usize {
        match self {
            Self::A2c(a2c, _) => a2c.settings.n_steps,
            Self::Ppo(ppo) => ppo.settings.n_steps,
            Self::Acktr(acktr, _) => acktr.settings.n_steps,
        }
    }

    /// Passes over the rollout in the next update phase.
    pub fn epochs(&self) -> usize {
        match self {
            Self::A2c(..) | Self::Acktr(..) => 1,
            Self::Ppo(ppo) => ppo.settings.n_epochs,
        }
    }

    /// The step size in force: what was set times its schedule.
    pub fn learning_rate(&self) -> f64 {
        match self {
            Self::A2c(a2c, _) => a2c.learning_rate(),
            Self::Ppo(ppo) => ppo.learning_rate(),
            Self::Acktr(acktr, _) => acktr.learning_rate(),
        }
    }

    /// What the last update phase did.
    pub fn stats(&self) -> UpdateStats {
        match self {
            Self::A2c(_, stats) | Self::Acktr(_, stats) => *stats,
            Self::Ppo(ppo) => ppo.stats(),
        }
    }

    /// Says how much of the training is left, for the schedules.
    pub fn set_remaining(&mut self, remaining: f64) {
        match self {
            Self::A2c(a2c, _) => a2c.remaining = remaining,
            Self::Ppo(ppo) => ppo.remaining = remaining,
            Self::Acktr(acktr, _) => acktr.remaining = remaining,
        }
    }

    /// Rows of the rollout that the current update phase has been through; 0 between two phases.
    pub fn rows_done(&self) -> u64 {
        match self {
            Self::A2c(..) | Self::Acktr(..) => 0,
            Self::Ppo(ppo) => ppo.rows_done(),
        }
    }

    /// One policy update step on the rollout; says whether the phase goes on.
    pub fn step(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<Phase, NotFinite> {
        match self {
            Self::A2c(a2c, stats) => {
                *stats = a2c.update(agent, rollout)?;
                Ok(Phase::Over)
            }
            Self::Ppo(ppo) => ppo.step(agent, rollout),
            Self::Acktr(acktr, stats) => {
                *stats = acktr.update(agent, rollout)?;
                Ok(Phase::Over)
            }
        }
    }

    /// What a checkpoint must hold; only between two update phases.
    pub fn save(&self) -> SavedMethod<'_> {
        match self {
            Self::A2c(a2c, _) => {
                let rule = a2c.rule.as_ref().map(Rule::save);
                SavedMethod::A2c(Cow::Borrowed(&a2c.optimiser), rule)
            }
            Self::Ppo(ppo) => SavedMethod::Ppo(Cow::Borrowed(&ppo.optimiser), ppo.rng.clone()),
            Self::Acktr(acktr, _) => SavedMethod::Acktr(Cow::Borrowed(&acktr.kfac), acktr.rng.clone()),
        }
    }

    /// Reads the optimiser's state from the processor that the networks are on.
    pub fn fetch(&mut self, remote: &mut dyn Remote) {
        match self {
            Self::A2c(a2c, _) => a2c.optimiser.fetch(remote.optimiser()),
            Self::Ppo(ppo) => ppo.optimiser.fetch(remote.optimiser()),
            Self::Acktr(acktr, _) => {
                if let Some(part) = remote.kfac() {
                    acktr.kfac.fetch(part);
                }
            }
        }
    }

    /// Writes the optimiser's state to the processor that the networks are on, or says what that processor lacks.
    pub fn send(&mut self, remote: &mut dyn Remote) -> Result<(), String> {
        match self {
            Self::A2c(a2c, _) => a2c.optimiser.send(remote.optimiser()),
            Self::Ppo(ppo) => ppo.optimiser.send(remote.optimiser()),
            Self::Acktr(acktr, _) => match remote.kfac() {
                Some(part) => acktr.kfac.send(part),
                None => {
                    return Err(format!(
                        "acktr needs K-FAC, which {} has not; use --device cpu",
                        remote.name()
                    ));
                }
            },
        }
        Ok(())
    }

    /// Takes over what the optimiser of another agent with the same networks has gathered. The generator stays its own, and so
    /// do the settings: they are given to the optimiser at every update, so nothing of the other's comes along with its state.
    ///
    /// # Panics
    /// If the other is another method.
    pub fn adopt(&mut self, other: &Self) {
        match (self, other) {
            (Self::A2c(a2c, _), Self::A2c(other, _)) => a2c.optimiser.clone_from(&other.optimiser),
            (Self::Ppo(ppo), Self::Ppo(other)) => ppo.optimiser.clone_from(&other.optimiser),
            (Self::Acktr(acktr, _), Self::Acktr(other, _)) => acktr.kfac.clone_from(&other.kfac),
            _ => panic!("a method adopts from its like"),
        }
    }

    /// Goes on from a checkpoint of the same method.
    pub fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), String> {
        match (self, saved) {
            (Self::A2c(a2c, _), SavedMethod::A2c(optimiser, saved)) => {
                a2c.optimiser = optimiser.into_owned();
                match (&mut a2c.rule, saved) {
                    (Some(rule), Some(saved)) => rule.restore(saved)?,
                    (None, None) => {}
                    _ => return Err("the checkpoint was made with another scheduler".to_string()),
                }
            }
            (Self::Ppo(ppo), SavedMethod::Ppo(optimiser, rng)) => {
                ppo.optimiser = optimiser.into_owned();
                ppo.rng = rng;
            }
            (Self::Acktr(acktr, _), SavedMethod::Acktr(kfac, rng)) => {
                acktr.kfac = kfac.into_owned();
                acktr.rng = rng;
            }
            _ => return Err("the checkpoint was made with another method".to_string()),
        }
        Ok(())
    }
}
