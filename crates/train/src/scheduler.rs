//! Who schedules a run's hyperparameters: the mind of a hyper-agent, a rule inside of the update, or a population of
//! runs.

use std::fmt;
use std::sync::Arc;

use epgt_hyper::{About, Adopted, Choosing, Fixed};
use epgt_pg::{AboutRule, HOOF, META_GRADIENT};

use crate::population::PopulationKind;

/// A scheduler of any kind.
///
/// ```
/// use epgt_train::Registry;
/// let pbt = Registry::builtin().scheduler("pbt")?;
/// assert!(pbt.population().is_some() && !pbt.is_rule());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub enum Scheduler {
    /// A hyper-agent's.
    HyperAgent(Arc<dyn epgt_hyper::Scheduler>),
    /// A rule inside of the method's update: the hyper-agent then only keeps and logs the values, and the grids give no
    /// more than bounds.
    Rule(RuleKind),
    /// Several runs side by side, its members, instead of one that is scheduled.
    Population(PopulationKind),
}

/// The rules inside of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Hyperparameter optimisation on the fly.
    Hoof,
    /// Tuning by meta-gradients.
    MetaGradient,
}

impl RuleKind {
    fn about(self) -> AboutRule {
        match self {
            Self::Hoof => HOOF,
            Self::MetaGradient => META_GRADIENT,
        }
    }
}

impl Scheduler {
    /// The program's own, in the order of help.
    pub(crate) fn builtin() -> Vec<Self> {
        let minds = epgt_hyper::schedulers().into_iter().map(Self::HyperAgent);
        let rules = [RuleKind::Hoof, RuleKind::MetaGradient].map(Self::Rule);
        let populations = PopulationKind::ALL.map(Self::Population);
        minds.chain(rules).chain(populations).collect()
    }

    /// What it says of itself.
    pub fn about(&self) -> About {
        match self {
            Self::HyperAgent(scheduler) => scheduler.about(),
            Self::Rule(rule) => About {
                name: rule.about().name,
                help: rule.about().help,
                does: rule.about().does,
                choosing: Choosing::Adopted,
                sees: "nothing from outside: the rule is part of the update and works on its gradient",
                ..About::BLANK
            },
            Self::Population(kind) => kind.about(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// Whether the method's update changes the hyperparameters from inside.
    pub fn is_rule(&self) -> bool {
        matches!(self, Self::Rule(_))
    }

    /// Whether it keeps the values it was given.
    pub fn is_fixed(&self) -> bool {
        self.population().is_none() && self.about().choosing == Choosing::Kept
    }

    /// Whether it takes the best choice by its values, with a random one now and then.
    pub fn explores(&self) -> bool {
        self.about().choosing == Choosing::Greedy
    }

    /// The kind of population, where it is one.
    pub fn population(&self) -> Option<PopulationKind> {
        match self {
            Self::Population(kind) => Some(*kind),
            _ => None,
        }
    }

    /// The scheduler of the run's own hyper-agent. A rule tells it the values; the members of a population keep what
    /// they were given until it gives them something else.
    pub fn of_agent(&self) -> &dyn epgt_hyper::Scheduler {
        match self {
            Self::HyperAgent(scheduler) => &**scheduler,
            Self::Rule(_) => &Adopted,
            Self::Population(_) => &Fixed,
        }
    }
}

impl PartialEq for Scheduler {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scheduler({})", self.name())
    }
}
