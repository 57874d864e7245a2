//! A scheduler: what it is called, what it says of itself, and how its mind is made.

use std::fmt::Debug;
use std::sync::Arc;

use epgt_nn::TensorShape;

use crate::error::HyperError;
use crate::mind::Mind;
use crate::plan::Plan;
use crate::settings::{ActionValues, HyperSettings};
use crate::space::HyperSpace;

/// How a scheduler's decisions come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choosing {
    /// It keeps what it was given.
    Kept,
    /// Somebody else decides at every update and tells the agent ([`HyperAgent::adopt`](crate::HyperAgent::adopt)).
    Adopted,
    /// It draws at random.
    Random,
    /// It takes the option of the highest value, and a random one now and then (epsilon-greedy).
    Greedy,
    /// It chooses by a rule of its own ([`Mind::choose`]).
    Own,
}

/// What a scheduler says of itself: for help, for the live display and for explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub help: &'static str,
    /// What it does, as the end of a sentence that begins with its name.
    pub does: &'static str,
    /// How its decisions come about.
    pub choosing: Choosing,
    /// What it sees of a moment, where it does not look at the networks; empty where it does.
    pub sees: &'static str,
    /// What its values are.
    pub q: &'static str,
    /// Why it chose what it chose, where it has a rule of its own.
    pub chose: &'static str,
    /// What it learns from, where that is not the hyper-return; empty where it is.
    pub learns: &'static str,
    /// Whether it recalls moments from an episodic memory.
    pub recalls: bool,
    /// Whether it makes keys of weights and gradients.
    pub encodes: bool,
}

impl About {
    /// What a scheduler's own words are laid upon.
    pub const BLANK: Self = Self {
        name: "",
        help: "",
        does: "",
        choosing: Choosing::Greedy,
        sees: "",
        q: "Q",
        chose: "",
        learns: "",
        recalls: false,
        encodes: false,
    };
}

/// What a mind is made for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose<'a> {
    /// The hyper-agent's settings, which have been checked.
    pub settings: &'a HyperSettings,
    /// Numbers of options that are valued apart ([`Scheduler::groups`]).
    pub groups: &'a [usize],
    /// The tensors that are trained.
    pub shapes: &'a [TensorShape],
    /// What is known of the run beforehand.
    pub plan: Plan,
    /// What determines everything random.
    pub seed: u64,
}

/// A way to schedule hyperparameters. Only [`about`](Self::about) and [`mind`](Self::mind) must be written; `Epgt`,
/// `Fixed`, `Random`, `EpsilonBandit`, `DeepQ`, `LrrlBandit` and `UlthoBandit` are those of this crate.
///
/// ```
/// use epgt_hyper::*;
///
/// /// Takes the options of the only hyperparameter in turn.
/// #[derive(Debug)]
/// struct InTurn;
///
/// #[derive(Debug, Default)]
/// struct Turns(usize);
///
/// impl Scheduler for InTurn {
///     fn about(&self) -> About {
///         About { name: "in-turn", help: "One value after another.", choosing: Choosing::Own, ..About::BLANK }
///     }
///     fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
///         Box::new(Turns::default())
///     }
/// }
///
/// impl Mind for Turns {
///     fn choose(&mut self, space: &HyperSpace, _: usize, _: &[f32], _: &mut epgt_rng::Pcg64) -> usize {
///         self.0 += 1;
///         (self.0 - 1) % space.len()
///     }
///     fn save(&self) -> SavedMind<'_> {
///         SavedMind::other(&self.0.to_le_bytes())
///     }
///     fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
///         let bytes = saved.into_other()?.try_into().map_err(|_| HyperError::OtherScheduler)?;
///         self.0 = usize::from_le_bytes(bytes);
///         Ok(())
///     }
/// }
///
/// let rate = Axis::new("learning_rate", 1.0, &Grid::List(vec![0.5, 1.0, 2.0]), true)?;
/// let space = HyperSpace::new(vec![rate], 10)?;
/// let settings = HyperSettings { hold: Hold::Updates(1), ..Default::default() };
/// let mut agent = HyperAgent::new(&InTurn, settings, space, &[], Plan::of_updates(3), 0)?;
/// let chosen = [0, 1, 2].map(|update| {
///     let moment = Moment { update, progress: 0.0, weights: &[], gradients: &[] };
///     let value = agent.choose(&moment)[0];
///     agent.reward(1.0);
///     value
/// });
/// assert_eq!(chosen, [0.5, 1.0, 2.0]);
/// # Ok::<(), HyperError>(())
/// ```
pub trait Scheduler: Debug + Send + Sync {
    /// What it says of itself.
    fn about(&self) -> About;

    /// A fresh mind.
    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind>;

    /// What has a value of its own: as asked, unless the scheduler knows one way only.
    fn action_values(&self, asked: ActionValues) -> ActionValues {
        asked
    }

    /// Numbers of options that are valued apart: one group of |A|, or one per hyperparameter.
    fn groups(&self, asked: ActionValues, space: &HyperSpace) -> Vec<usize> {
        match self.action_values(asked) {
            ActionValues::Joint => vec![space.len()],
            ActionValues::Factored => space.axes().iter().map(|axis| axis.values.len()).collect(),
        }
    }

    /// Refuses a hyper-space that the scheduler is not made for.
    fn check(&self, _space: &HyperSpace) -> Result<(), HyperError> {
        Ok(())
    }

    /// The values in force before the first decision.
    fn start(&self, space: &HyperSpace, _settings: &HyperSettings) -> Vec<f64> {
        space.axes().iter().map(|axis| axis.default).collect()
    }
}

/// The schedulers of this crate that are chosen by name, in the order of help.
///
/// ```
/// assert_eq!(epgt_hyper::schedulers()[0].about().name, "epgt");
/// ```
pub fn schedulers() -> [Arc<dyn Scheduler>; 7] {
    [
        Arc::new(crate::Epgt),
        Arc::new(crate::Fixed),
        Arc::new(crate::Random),
        Arc::new(crate::EpsilonBandit),
        Arc::new(crate::DeepQ),
        Arc::new(crate::LrrlBandit),
        Arc::new(crate::UlthoBandit),
    ]
}
