//! Update rules: schedulers that live inside a policy update, because they need its gradient.
//!
//! A hyper-agent picks hyperparameters before an update and sees the networks from outside. The paper's two sequential
//! rivals do not: [`Hoof`] tries many step sizes along the update's own direction, and [`MetaGradient`] differentiates
//! the next rollout's objective through the last update. A [`Rule`] is given to [`A2c`](crate::A2c), whose update calls
//! it between its gradient and its optimiser step; the values it leaves in the settings are those that were in force.

use std::borrow::Cow;

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::meta_gradient::MetaState;
use crate::{
    A2cSettings, Effect, Hoof, HoofSettings, MetaGradient, MetaGradientSettings, MethodSettings, PgError, Schedulable,
    StepControl,
};

/// A hyperparameter that a rule may change, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Its index in [`Schedulable::hyperparameters`].
    pub index: usize,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// Which rule, and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleSettings {
    /// Hyperparameter optimisation on the fly.
    Hoof(HoofSettings),
    /// Tuning by meta-gradients.
    MetaGradient(MetaGradientSettings),
}

impl RuleSettings {
    /// The settings of the A2C that this rule is to change, or one sentence why it cannot change these hyperparameters
    /// of this method.
    ///
    /// ```
    /// use epgt_pg::{HoofSettings, PpoSettings, RuleSettings};
    /// let hoof = RuleSettings::Hoof(HoofSettings::default());
    /// assert_eq!(
    ///     hoof.check(&PpoSettings::default(), &[]).unwrap_err().to_string(),
    ///     "the scheduler hoof works inside the update of a2c, not of ppo: use --algo a2c, or another scheduler"
    /// );
    /// ```
    pub fn check<'a>(&self, method: &'a dyn MethodSettings, tuned: &[Tuned]) -> Result<&'a A2cSettings, PgError> {
        let rule = self.name();
        let Some(settings) = method.a2c() else {
            return Err(PgError::RuleNeedsA2c {
                rule,
                method: method.name().to_string(),
            });
        };
        match self {
            Self::Hoof(hoof) => hoof.validate(),
            Self::MetaGradient(meta) => meta.validate(),
        }?;
        if settings.step_control != StepControl::Rate {
            return Err(PgError::RuleNeedsRate(rule));
        }
        if tuned.is_empty() {
            return Err(PgError::RuleHasNothing(rule));
        }
        for tuned in tuned {
            let hyperparameter = settings.hyperparameters()[tuned.index];
            let known = match self {
                Self::Hoof(_) => hyperparameter.effect == Effect::Update,
                Self::MetaGradient(_) => MetaGradient::KNOWS.contains(&hyperparameter.name),
            };
            if !known {
                return Err(PgError::RuleCannotChange {
                    rule,
                    name: hyperparameter.name,
                    may: match self {
                        Self::Hoof(_) => "what takes effect at every update".to_string(),
                        Self::MetaGradient(_) => MetaGradient::KNOWS.join(", "),
                    },
                });
            }
        }
        if matches!(self, Self::MetaGradient(_)) && settings.normalize_advantage {
            return Err(PgError::NormalizedAdvantages);
        }
        Ok(settings)
    }

    /// The rule's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hoof(_) => HOOF.name,
            Self::MetaGradient(_) => META_GRADIENT.name,
        }
    }
}

/// What a rule says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AboutRule {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub help: &'static str,
    /// What it does, as the end of a sentence that begins with its name.
    pub does: &'static str,
}

/// Hyperparameter optimisation on the fly.
pub const HOOF: AboutRule = AboutRule {
    name: "hoof",
    help: "Not the hyper-agent but the update itself: it tries many candidates and takes the best by its own estimate.",
    does: "tries many candidates at every update and takes the one that would have earned most in the rollout at hand",
};

/// Tuning by meta-gradients.
pub const META_GRADIENT: AboutRule = AboutRule {
    name: "meta-gradient",
    help: "Not the hyper-agent but the update itself: it follows the gradient of the next rollout's objective.",
    does: "follows the gradient of the next rollout's objective through the last update",
};

/// A rule at work.
#[derive(Clone)]
pub enum Rule {
    /// Hyperparameter optimisation on the fly.
    Hoof(Box<Hoof>),
    /// Tuning by meta-gradients.
    MetaGradient(Box<MetaGradient>),
}

/// A rule's part of a checkpoint; it borrows while saving. The values in force are not in it: whoever sets the method's
/// hyperparameters keeps them.
#[derive(Serialize, Deserialize)]
pub enum SavedRule<'a> {
    /// The generator of candidates, and the upper bound of rates.
    Hoof(Pcg64, f64),
    /// Where the hyperparameters stand and how the last update moved with them.
    MetaGradient(Cow<'a, MetaState>),
}

impl Rule {
    /// A rule for these hyperparameters of a method; `seed` determines what is random in it.
    pub fn new(
        settings: &RuleSettings,
        method: &dyn MethodSettings,
        tuned: &[Tuned],
        seed: u64,
    ) -> Result<Self, PgError> {
        let a2c = settings.check(method, tuned)?;
        Ok(match settings {
            RuleSettings::Hoof(hoof) => {
                let rng = Pcg64::for_purpose(seed, "hoof", 0);
                Self::Hoof(Box::new(Hoof::new(hoof.clone(), a2c, tuned, rng)))
            }
            RuleSettings::MetaGradient(meta) => Self::MetaGradient(Box::new(MetaGradient::new(*meta, a2c, tuned))),
        })
    }

    /// The rule's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hoof(_) => HOOF.name,
            Self::MetaGradient(_) => META_GRADIENT.name,
        }
    }

    /// What it would like logged, by name; always the same names in the same order.
    pub fn metrics(&self) -> Vec<(String, Option<f64>)> {
        match self {
            Self::Hoof(hoof) => hoof.metrics(),
            Self::MetaGradient(meta) => meta.metrics(),
        }
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedRule<'_> {
        match self {
            Self::Hoof(hoof) => SavedRule::Hoof(hoof.rng.clone(), hoof.upper_bound),
            Self::MetaGradient(meta) => SavedRule::MetaGradient(Cow::Borrowed(&meta.state)),
        }
    }

    /// Goes on from a checkpoint of the same rule.
    pub fn restore(&mut self, saved: SavedRule<'_>) -> Result<(), PgError> {
        match (self, saved) {
            (Self::Hoof(hoof), SavedRule::Hoof(rng, upper_bound)) => {
                (hoof.rng, hoof.upper_bound) = (rng, upper_bound);
            }
            (Self::MetaGradient(meta), SavedRule::MetaGradient(state)) => meta.restore(state.into_owned())?,
            _ => return Err(PgError::OtherScheduler),
        }
        Ok(())
    }
}
