//! Why a trainer cannot be made or restored, as one sentence for the user.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use epgt_envs::EnvError;
use epgt_hyper::HyperError;
use epgt_pg::PgError;
use epgt_settings::UnknownName;

use crate::ConfigError;
use crate::device::DeviceError;
use crate::policy_file::PolicyError;

/// Why a trainer cannot be made, or cannot go on from a checkpoint.
///
/// ```
/// use epgt_train::{Assignment, Config, SetupError, Trainer};
/// let said = [("task", "CartPole-v1"), ("init", "no/such.safetensors")];
/// let config = Config::build(&said.map(|(key, value)| Assignment::new(key, value)))?;
/// let error = Trainer::new(&config).err().unwrap();
/// assert!(matches!(error, SetupError::Policy(_)));
/// assert_eq!(error.to_string(), "cannot read no/such.safetensors: no such file or directory");
/// # Ok::<(), epgt_train::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SetupError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// The registry does not hold what the configuration names.
    Name(UnknownName),
    /// The environments cannot be made, or cannot be brought to the checkpoint's state.
    Environment(EnvError),
    /// The networks cannot be on the processor that was asked for.
    Device(DeviceError),
    /// The networks, the method or its rule cannot be made, or are not the checkpoint's.
    Method(PgError),
    /// The hyper-agent cannot be made, or is not the checkpoint's.
    Hyper(HyperError),
    /// The policy to start from cannot be read.
    Policy(PolicyError),
    /// The policy to start from does not suit the run.
    Init {
        /// The policy's file, or the directory of its run.
        path: PathBuf,
        /// Why.
        problem: InitProblem,
    },
    /// The checkpoint was made with another number of environments.
    OtherEnvironments,
    /// The checkpoint has other metrics.
    OtherMetrics,
    /// The checkpoint is of another population.
    OtherPopulation,
    /// The checkpoint is of a population with another number of members.
    OtherMembers,
}

/// Why a run cannot start from a policy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InitProblem {
    /// It is a run that has kept no policy yet.
    NoPolicy,
    /// It was trained with this other value of `normalize_observations`.
    Normalization(bool),
    /// It has other networks.
    Networks(PgError),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::Environment(error) => error.fmt(f),
            Self::Device(error) => error.fmt(f),
            Self::Method(error) => error.fmt(f),
            Self::Hyper(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Init { path, problem } => {
                write!(f, "init = {} cannot be used: ", path.display())?;
                match problem {
                    InitProblem::NoPolicy => f.write_str("the run there has kept no policy yet"),
                    InitProblem::Normalization(said) => {
                        write!(f, "it was trained with normalize_observations = {said}; set the same")
                    }
                    InitProblem::Networks(error) => error.fmt(f),
                }
            }
            Self::OtherEnvironments => f.write_str("the checkpoint was made with another number of environments"),
            Self::OtherMetrics => f.write_str("the checkpoint has other metrics than this run"),
            Self::OtherPopulation => f.write_str("the checkpoint is of another population"),
            Self::OtherMembers => f.write_str("it holds another number of members"),
        }
    }
}

impl Error for SetupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Name(error) => Some(error),
            Self::Environment(error) => Some(error),
            Self::Device(error) => Some(error),
            Self::Hyper(error) => Some(error),
            Self::Policy(error) => Some(error),
            Self::Method(error)
            | Self::Init {
                problem: InitProblem::Networks(error),
                ..
            } => Some(error),
            _ => None,
        }
    }
}

impl From<ConfigError> for SetupError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<UnknownName> for SetupError {
    fn from(error: UnknownName) -> Self {
        Self::Name(error)
    }
}

impl From<EnvError> for SetupError {
    fn from(error: EnvError) -> Self {
        Self::Environment(error)
    }
}

impl From<DeviceError> for SetupError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<PgError> for SetupError {
    fn from(error: PgError) -> Self {
        Self::Method(error)
    }
}

impl From<HyperError> for SetupError {
    fn from(error: HyperError) -> Self {
        Self::Hyper(error)
    }
}

impl From<PolicyError> for SetupError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}
