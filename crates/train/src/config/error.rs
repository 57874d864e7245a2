//! What can be wrong with a configuration, each as one sentence for the user.

use std::error::Error;
use std::fmt;

use epgt_envs::EnvError;
use epgt_hyper::{GridError, HyperError};
use epgt_pg::PgError;
use epgt_settings::{SettingError, number, quoted};

use super::MOST_GIGABYTES;
use crate::population::MOST_MEMBERS;

/// Why no run can be made of what was said.
///
/// ```
/// use epgt_train::{Assignment, Config, ConfigError};
/// let said = [Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 10)];
/// let error = Config::build(&said).unwrap_err();
/// assert!(matches!(error, ConfigError::LessThanARollout { steps: 10, .. }));
/// assert_eq!(
///     error.to_string(),
///     "steps = 10 is less than one rollout of 8 environments times 8 steps; raise it to 64 or more"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// What should assign a setting is not of the form `KEY=VALUE`.
    NotAnAssignment(String),
    /// A configuration file is not TOML.
    Toml {
        /// The line, counted from 1.
        line: usize,
        /// What TOML's parser says.
        message: String,
    },
    /// No setting has this key.
    UnknownSetting {
        /// The key.
        key: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// A setting of another method than the run's.
    OfAnotherMethod {
        /// The setting's section, which is the other method's name.
        section: String,
        /// The setting's name in its section.
        name: String,
        /// The run's method.
        method: String,
    },
    /// A setting was said twice.
    Repeated {
        /// Its full key.
        key: String,
        /// How it was said first.
        first: String,
        /// How it was said again.
        second: String,
    },
    /// A setting cannot have the value that it was given.
    Setting {
        /// The setting's section; the run's own settings have none.
        section: &'static str,
        /// Why.
        error: SettingError,
    },
    /// A number is larger than is accepted.
    TooLarge {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: u64,
        /// The largest one that is accepted.
        most: u64,
    },
    /// A setting of evaluations is 0, which is not how they are switched off.
    NoEvaluation(&'static str),
    /// The task is not known, or cannot be made with its options.
    Task(EnvError),
    /// The settings of the networks or of the method cannot be used.
    Method {
        /// Their section.
        section: &'static str,
        /// Why.
        error: PgError,
    },
    /// The hyper-agent's settings cannot be used.
    Hyper(HyperError),
    /// What is tuned is no hyper-space, or not one for this scheduler.
    HyperSpace(HyperError),
    /// A hyperparameter would be tuned that decides nothing, because of what says how long steps are.
    Idle(String),
    /// A hyperparameter cannot be tuned, or not by this scheduler.
    Tuned(PgError),
    /// A grid has a value that its hyperparameter cannot have.
    Grid {
        /// The hyperparameter.
        name: String,
        /// The grid as it was said.
        grid: String,
        /// Why.
        error: Box<PgError>,
    },
    /// Values that would be scheduled cannot be used.
    Scheduled {
        /// The hyperparameters and their values.
        values: Vec<(String, f64)>,
        /// Why.
        error: Box<ConfigError>,
    },
    /// The run would take more memory than is accepted.
    TooMuchMemory {
        /// How much it would take.
        gigabytes: f64,
    },
    /// The run is shorter than its first rollout.
    LessThanARollout {
        /// Environment steps of the run.
        steps: u64,
        /// Its environments.
        n_envs: usize,
        /// Steps of each in a rollout.
        n_steps: usize,
    },
    /// A population has nothing to choose from.
    NothingToChoose {
        /// The scheduler.
        scheduler: &'static str,
    },
    /// A population has more members than are trained side by side.
    TooManyMembers {
        /// The scheduler.
        scheduler: &'static str,
        /// How many it would take.
        members: usize,
    },
    /// A population cannot be made with one of its settings.
    Population {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAssignment(text) => write!(f, "'{}' should be KEY=VALUE", quoted(text)),
            Self::Toml { line, message } => write!(f, "line {line} is not valid TOML: {message}"),
            Self::UnknownSetting {
                key,
                nearest: Some(nearest),
            } => write!(f, "unknown setting '{}'; did you mean '{nearest}'?", quoted(key)),
            Self::UnknownSetting { key, nearest: None } => write!(
                f,
                "unknown setting '{}'; `epgt train --print-config` lists all of them",
                quoted(key)
            ),
            Self::OfAnotherMethod { section, name, method } => write!(
                f,
                "'{}' is a setting of {section}, but the method is {method}: use --algo {section}, or {method}.{}",
                quoted(&format!("{section}.{name}")),
                quoted(name)
            ),
            Self::Repeated { key, first, second } => write!(
                f,
                "{} is said twice, by {} and by {}; leave one of them out",
                quoted(key),
                quoted(first),
                quoted(second)
            ),
            Self::Setting { section: "", error } => write!(f, "{error}"),
            Self::Setting { section, error } => write!(f, "{section}.{error}"),
            Self::TooLarge { name, value, most } => {
                write!(
                    f,
                    "{name} = {value} is more than the {most} that are accepted; lower it"
                )
            }
            Self::NoEvaluation(name) => write!(f, "{name} = 0 cannot be used; to never evaluate set eval_interval = 0"),
            Self::Task(error) => write!(f, "{error}"),
            Self::Method { section, error } => write!(f, "{section}.{error}"),
            Self::Hyper(error) => write!(f, "hyper.{error}"),
            Self::HyperSpace(error) => write!(f, "{error}"),
            Self::Idle(name) => {
                let other = if name == "learning_rate" { "rate" } else { "divergence" };
                write!(
                    f,
                    "{name} decides nothing with this step_control; tune step instead, or set step_control={other}"
                )
            }
            Self::Tuned(error) => write!(f, "{error}"),
            Self::Grid { name, grid, error } => write!(f, "cannot schedule {name} by {}: {error}", quoted(grid)),
            Self::Scheduled { values, error } => {
                let values = values
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", number(*value)));
                let values: Vec<String> = values.collect();
                write!(f, "cannot schedule {}: {error}", values.join(" with "))
            }
            Self::TooMuchMemory { gigabytes } => write!(
                f,
                "these settings need about {} GB, more than the {MOST_GIGABYTES} GB that are accepted; lower n_envs, n_steps, \
                 policy.hidden or the sizes in the hyper and population sections",
                number(gigabytes.round())
            ),
            Self::LessThanARollout { steps, n_envs, n_steps } => write!(
                f,
                "steps = {steps} is less than one rollout of {n_envs} environments times {n_steps} steps; raise it to {} or more",
                (*n_envs as u64).saturating_mul(*n_steps as u64)
            ),
            Self::NothingToChoose { scheduler } => write!(
                f,
                "the scheduler {scheduler} has nothing to choose from; name hyperparameters and their values, such as \
                 --tune learning_rate=paper:3"
            ),
            Self::TooManyMembers { scheduler, members } => write!(
                f,
                "the scheduler {scheduler} would take {members} members, more than the {MOST_MEMBERS} that are trained side by \
                 side; tune fewer values, or lower population.size or population.runs"
            ),
            Self::Population { name, value, problem } => write!(f, "population.{name} = {value} {problem}"),
        }
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Setting { error, .. } => Some(error),
            Self::Task(error) => Some(error),
            Self::Method { error, .. } | Self::Tuned(error) => Some(error),
            Self::Grid { error, .. } => Some(&**error),
            Self::Hyper(error) | Self::HyperSpace(error) => Some(error),
            Self::Scheduled { error, .. } => Some(&**error),
            _ => None,
        }
    }
}

impl ConfigError {
    /// A setting of a population that it cannot be made with.
    pub(crate) fn population(name: &'static str, value: impl fmt::Display, problem: impl Into<String>) -> Self {
        Self::Population {
            name,
            value: value.to_string(),
            problem: problem.into(),
        }
    }
}

/// Of one of the run's own settings.
impl From<SettingError> for ConfigError {
    fn from(error: SettingError) -> Self {
        Self::Setting { section: "", error }
    }
}

impl From<EnvError> for ConfigError {
    fn from(error: EnvError) -> Self {
        Self::Task(error)
    }
}

/// Of what is tuned.
impl From<HyperError> for ConfigError {
    fn from(error: HyperError) -> Self {
        Self::HyperSpace(error)
    }
}

impl From<GridError> for ConfigError {
    fn from(error: GridError) -> Self {
        Self::HyperSpace(error.into())
    }
}

/// Of what is tuned.
impl From<PgError> for ConfigError {
    fn from(error: PgError) -> Self {
        Self::Tuned(error)
    }
}
