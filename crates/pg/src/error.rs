//! What can be wrong with the settings of networks, methods and rules, or with a checkpoint of them: each as one
//! sentence for the user.

use std::fmt;

/// Settings that no policy gradient can work with, or a checkpoint that does not fit.
///
/// ```
/// use epgt_pg::{A2cSettings, MethodSettings, PgError};
/// let settings = A2cSettings { gamma: 1.1, ..Default::default() };
/// let error = settings.validate().unwrap_err();
/// assert!(matches!(error, PgError::Value { .. }));
/// assert_eq!(error.to_string(), "gamma = 1.1 cannot be used: a number from 0 to 1 is wanted");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PgError {
    /// A setting has a value that it cannot have.
    Value {
        /// Its name.
        name: String,
        /// Its value, as it is shown.
        value: String,
        /// What is wanted instead.
        wants: String,
    },
    /// A setting lies outside of its bounds.
    Bounds {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
        /// What it must be.
        must: String,
    },
    /// A setting cannot be used as it is.
    Unusable {
        /// Its name, or the setting and its value.
        what: String,
        /// Why, or what is wanted instead.
        why: String,
    },
    /// A network has more layers than are accepted.
    TooManyLayers {
        /// The setting that lists them.
        name: &'static str,
        /// How many it lists.
        layers: usize,
        /// How many are accepted.
        most: usize,
    },
    /// The lists that describe convolutions have different lengths.
    UnevenConvolutions,
    /// No hyperparameter has this name; the sentence names the nearest.
    UnknownHyperparameter(String),
    /// A rule works inside of A2C's update only.
    RuleNeedsA2c {
        /// The rule.
        rule: &'static str,
        /// The method that was asked for.
        method: String,
    },
    /// A rule works with learning rates only.
    RuleNeedsRate(&'static str),
    /// A rule was given no hyperparameter.
    RuleHasNothing(&'static str),
    /// A rule cannot change a hyperparameter.
    RuleCannotChange {
        /// The rule.
        rule: &'static str,
        /// The hyperparameter.
        name: &'static str,
        /// What it can change.
        may: String,
    },
    /// The meta-gradient needs advantages as they are.
    NormalizedAdvantages,
    /// The processor that the networks are on has no K-FAC.
    NoKfac(String),
    /// The checkpoint was made with another method.
    OtherMethod,
    /// The checkpoint was made with another scheduler.
    OtherScheduler,
    /// The checkpoint schedules other hyperparameters.
    OtherHyperparameters,
    /// The checkpoint or policy has networks of another shape; the sentence says where.
    OtherNetworks(String),
}

impl PgError {
    pub(crate) fn value(name: &str, value: impl fmt::Display, wants: impl fmt::Display) -> Self {
        Self::Value {
            name: name.to_string(),
            value: value.to_string(),
            wants: wants.to_string(),
        }
    }

    pub(crate) fn bounds(name: impl fmt::Display, value: f64, must: impl fmt::Display) -> Self {
        Self::Bounds {
            name: name.to_string(),
            value,
            must: must.to_string(),
        }
    }

    pub(crate) fn unusable(what: &str, why: impl fmt::Display) -> Self {
        Self::Unusable {
            what: what.to_string(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, value, wants } => write!(f, "{name} = {value} cannot be used: {wants}"),
            Self::Bounds { name, value, must } => write!(f, "{name} = {value} must {must}"),
            Self::Unusable { what, why } => write!(f, "{what} cannot be used{why}"),
            Self::TooManyLayers { name, layers, most } => {
                write!(
                    f,
                    "{name} lists {layers} layers, more than the {most} that are accepted; use fewer"
                )
            }
            Self::UnevenConvolutions => {
                f.write_str("conv_channels, conv_kernels and conv_strides need one number for each convolution")
            }
            Self::UnknownHyperparameter(sentence) | Self::OtherNetworks(sentence) => f.write_str(sentence),
            Self::RuleNeedsA2c { rule, method } => write!(
                f,
                "the scheduler {rule} works inside the update of a2c, not of {method}: use --algo a2c, or another scheduler"
            ),
            Self::RuleNeedsRate(rule) => write!(
                f,
                "the scheduler {rule} works with learning rates: set step_control=rate, or take another scheduler"
            ),
            Self::RuleHasNothing(rule) => write!(
                f,
                "the scheduler {rule} has nothing to change: say what with --tune, such as learning_rate=paper:7"
            ),
            Self::RuleCannotChange { rule, name, may } => write!(
                f,
                "the scheduler {rule} cannot change {name}: leave it out of --tune, which may name {may}"
            ),
            Self::NormalizedAdvantages => f.write_str(
                "the scheduler meta-gradient needs advantages as they are: set a2c.normalize_advantage = false",
            ),
            Self::NoKfac(processor) => {
                write!(f, "acktr needs K-FAC, which {processor} has not; use --device cpu")
            }
            Self::OtherMethod => f.write_str("the checkpoint was made with another method"),
            Self::OtherScheduler => f.write_str("the checkpoint was made with another scheduler"),
            Self::OtherHyperparameters => f.write_str("the checkpoint schedules other hyperparameters"),
        }
    }
}

impl std::error::Error for PgError {}
