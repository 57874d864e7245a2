//! What can be wrong with a hyper-agent, each as one sentence for the user.

use std::fmt;

use epgt_settings::number;

/// Settings that no hyper-agent can be made with, or a checkpoint that does not fit.
///
/// ```
/// use epgt_hyper::{Axis, Grid, HyperError};
/// let error = Axis::new("learning_rate", 7e-4, &Grid::Paper(1), true).unwrap_err();
/// assert!(matches!(error, HyperError::Axis { .. }));
/// assert_eq!(error.to_string(), "cannot schedule learning_rate: B = 1 leaves nothing to choose; use 3 or more");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HyperError {
    /// A setting has a value that it cannot have.
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        must: &'static str,
    },
    /// A grid cannot be read or laid out.
    Grid(GridError),
    /// A hyperparameter cannot have these values.
    Axis {
        /// Its name.
        name: String,
        /// Why.
        reason: GridError,
    },
    /// A hyperparameter has no value to choose.
    EmptyAxis(String),
    /// There are more joint hyper-actions than the limit.
    TooManyActions {
        /// How many; `None` where that is no number that fits.
        size: Option<usize>,
        /// The limit.
        limit: usize,
    },
    /// `lrrl` was given another hyperparameter than the learning rate.
    LearningRateAlone(String),
    /// The checkpoint schedules other hyperparameters.
    OtherHyperparameters,
    /// The checkpoint has values in force that cannot be.
    OtherValues,
    /// The checkpoint's memory or bandit has other actions.
    OtherActions,
    /// The checkpoint's encoder was made for other networks.
    OtherEncoder,
    /// The checkpoint's value network has another shape.
    OtherValueNetwork,
    /// The checkpoint was made by another scheduler.
    OtherScheduler,
}

impl fmt::Display for HyperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { name, value, must } => write!(f, "{name} = {value} must {must}"),
            Self::Grid(reason) => write!(f, "{reason}"),
            Self::Axis { name, reason } => write!(f, "cannot schedule {name}: {reason}"),
            Self::EmptyAxis(name) => write!(f, "cannot schedule {name}: it has no values"),
            Self::TooManyActions { size, limit } => write!(
                f,
                "{} joint hyper-actions exceed the limit of {limit}; tune fewer values or raise hyper.max_actions",
                size.map_or("too many".to_string(), |size| size.to_string())
            ),
            Self::LearningRateAlone(other) => write!(
                f,
                "the scheduler lrrl schedules learning_rate alone, not {other}; tune learning_rate only, or take ultho or bandit"
            ),
            Self::OtherHyperparameters => f.write_str("the checkpoint schedules other hyperparameters"),
            Self::OtherValues => {
                f.write_str("the checkpoint has values in force that are not among those that are scheduled")
            }
            Self::OtherActions => {
                f.write_str("what the checkpoint remembers of hyper-actions does not fit the settings")
            }
            Self::OtherEncoder => f.write_str("the checkpoint's encoder was made for networks of another shape"),
            Self::OtherValueNetwork => f.write_str("the checkpoint's value network has another shape"),
            Self::OtherScheduler => f.write_str("the checkpoint was made by another scheduler"),
        }
    }
}

impl std::error::Error for HyperError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Grid(reason) | Self::Axis { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

impl From<GridError> for HyperError {
    fn from(error: GridError) -> Self {
        Self::Grid(error)
    }
}

/// Why a grid of values cannot be read or laid out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GridError {
    /// A part of its text is not a number.
    NotANumber {
        /// The part.
        part: String,
        /// The whole text.
        text: String,
    },
    /// The number of values is not a whole number.
    NotACount(String),
    /// It asks for more values than are accepted.
    AsksForTooMany(String),
    /// It lists more values than are accepted.
    ListsTooMany(String),
    /// `LOW..HIGH:B` is wanted.
    WantsRange(String),
    /// `FACTOR:B` is wanted.
    WantsFactor(String),
    /// An end of the range is not a finite number.
    Endless(f64, f64),
    /// The range's ends are in the wrong order.
    Reversed(f64, f64),
    /// So many values cannot span the range.
    TooFew(usize, f64, f64),
    /// A rate needs an odd number of values.
    Even(usize),
    /// There is nothing to choose.
    NothingToChoose(usize),
    /// Values around the default leave nothing to choose.
    NothingAround {
        /// B.
        count: usize,
        /// The default.
        default: f64,
        /// The factor.
        factor: f64,
    },
    /// A logarithmic range starts at 0 or below.
    LogOfZero(f64),
    /// The default lies outside of the range.
    DefaultOutside {
        /// The default.
        default: f64,
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// A value is listed twice.
    Twice,
    /// Two values of a range are the same number.
    Alike,
    /// A value is not a finite number.
    Unusable(f64),
}

/// The most values of one hyperparameter: they are laid out before it is known how many combinations there are.
pub(crate) const MOST_VALUES: usize = 100_000;

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |low: f64, high: f64| format!("{}..{}", number(low), number(high));
        match self {
            Self::NotANumber { part, text } => write!(
                f,
                "'{part}' in '{text}' is not a number; write paper:B, around:FACTOR:B, log:LOW..HIGH:B, \
                 uniform:LOW..HIGH:B, or values such as 0:0.01:0.02"
            ),
            Self::NotACount(text) => write!(f, "the number of values in '{text}' must be a whole number"),
            Self::AsksForTooMany(text) => write!(f, "'{text}' asks for more than {MOST_VALUES} values; use fewer"),
            Self::ListsTooMany(text) => write!(f, "'{text}' lists more than {MOST_VALUES} values; use fewer"),
            Self::WantsRange(text) => write!(f, "'{text}' wants LOW..HIGH:B, such as 1e-4..5e-3:7"),
            Self::WantsFactor(text) => write!(f, "'{text}' wants FACTOR:B, such as 8:7"),
            Self::Endless(low, high) => write!(f, "the range {} must run between two numbers", range(*low, *high)),
            Self::Reversed(low, high) => write!(
                f,
                "the range {} is reversed; write {}",
                range(*low, *high),
                range(*high, *low)
            ),
            Self::TooFew(count, low, high) => write!(
                f,
                "{count} values cannot span {}; use at least 2 between two different numbers",
                range(*low, *high)
            ),
            Self::Even(count) => write!(
                f,
                "B = {count} is even; a rate needs an odd number of values so that its default lies in the middle"
            ),
            Self::NothingToChoose(count) => write!(f, "B = {count} leaves nothing to choose; use 3 or more"),
            Self::NothingAround { count, default, factor } => write!(
                f,
                "{count} values around {} by a factor of {} leave nothing to choose; use a factor above 1, 3 or more \
                 values and a default above 0",
                number(*default),
                number(*factor)
            ),
            Self::LogOfZero(low) => write!(f, "a logarithmic range must start above 0, not at {}", number(*low)),
            Self::DefaultOutside { default, low, high } => write!(
                f,
                "the default {} lies outside {}; widen the range or change the default",
                number(*default),
                range(*low, *high)
            ),
            Self::Twice => f.write_str("the same value is listed twice"),
            Self::Alike => f.write_str("some of its values are the same number; use fewer or spread them further"),
            Self::Unusable(value) => write!(f, "{value} is not a usable value"),
        }
    }
}

impl std::error::Error for GridError {}
