//! What a run tells the world: its progress, its result, or why it stopped.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use epgt_envs::EnvError;
use epgt_hyper::Costs;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactError;
use crate::directory::DirectoryError;
use crate::policy_file::{PolicyError, PolicyProblem};
use crate::run::CHECKPOINT;
use crate::{ConfigError, SetupError, TrainError};

/// The summary of a run, also what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The task's id.
    pub task: String,
    /// The policy-gradient method.
    pub algo: String,
    /// Who scheduled the hyperparameters.
    pub scheduler: String,
    /// The seed.
    pub seed: u64,
    /// Environment steps taken.
    pub steps: u64,
    /// Environment steps that were asked for; what is left of them is less than a rollout.
    #[serde(default)]
    pub steps_asked: u64,
    /// Episodes that ended and count.
    pub episodes: u64,
    /// Mean raw return of the last hundred training episodes; null when none has ended.
    pub return_last_100: Option<f64>,
    /// Best mean raw return of an evaluation; null when there was none.
    pub best_evaluation: Option<f64>,
    /// Mean raw return of the best policy over `final_episodes` episodes after the end; null when none were asked for.
    #[serde(default)]
    pub best_checkpoint: Option<f64>,
    /// `return_last_100` as a share of the way from random play (0) to a human's score (1); absent where the task has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_normalised: Option<f64>,
    /// Environment steps per second of wall-clock time, everything included.
    pub steps_per_second: f64,
    /// Wall-clock seconds, over all resumes.
    pub wall_seconds: f64,
    /// CPU seconds of the training, over all resumes; those of Python workers are counted where the system tells
    /// (Linux).
    pub cpu_seconds: f64,
    /// Peak resident memory of the process in megabytes.
    pub peak_memory_mb: f64,
    /// The digest of the last policy, which its file carries too.
    pub policy_sha256: String,
    /// The digest of the best policy; null when none was kept.
    #[serde(default)]
    pub best_policy_sha256: Option<String>,
    /// Wall-clock seconds of the hyper-agent, over all resumes; null for schedulers without a context, which are not
    /// timed.
    #[serde(default)]
    pub hyper_seconds: Option<Box<HyperSeconds>>,
    /// What is to be said of a population besides; absent for a single run. Its scores above are those of its best
    /// member, and `steps` are those of one member.
    #[serde(flatten)]
    pub population: Option<Box<PopulationResult>>,
}

/// What a population came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationResult {
    /// Members.
    pub members: usize,
    /// Environment steps of all members together: what the result has cost.
    pub steps_all_members: u64,
    /// The member with the best mean return over its last hundred training episodes.
    pub best_member: usize,
    /// The values that were in force for it at the end.
    pub best_values: BTreeMap<String, f64>,
    /// Members that had diverged at the end.
    pub diverged_members: usize,
}

/// What of a run's wall-clock time each part of the hyper-agent took ([`Costs`]), in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HyperSeconds {
    /// Keeping gradients and making hyper-states.
    pub projecting: f64,
    /// Making keys of hyper-states.
    pub encoding: f64,
    /// Reading values.
    pub reading: f64,
    /// Writing hyper-returns.
    pub writing: f64,
    /// Training the encoder and, for `dqn`, the value network.
    pub training: f64,
    /// Policy updates in that time.
    pub updates: u64,
}

impl HyperSeconds {
    /// All parts together.
    pub fn total(&self) -> f64 {
        self.projecting + self.encoding + self.reading + self.writing + self.training
    }
}

impl HyperSeconds {
    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            projecting: self.projecting + other.projecting,
            encoding: self.encoding + other.encoding,
            reading: self.reading + other.reading,
            writing: self.writing + other.writing,
            training: self.training + other.training,
            updates: self.updates + other.updates,
        }
    }
}

impl From<&Costs> for HyperSeconds {
    fn from(costs: &Costs) -> Self {
        Self {
            projecting: costs.projecting.as_secs_f64(),
            encoding: costs.encoding.as_secs_f64(),
            reading: costs.reading.as_secs_f64(),
            writing: costs.writing.as_secs_f64(),
            training: costs.training.as_secs_f64(),
            updates: costs.updates,
        }
    }
}

/// How a run ended.
#[expect(clippy::large_enum_variant, reason = "there is one of them in a run")]
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// The budget is spent.
    Finished(RunResult),
    /// It was asked to stop, and has saved itself.
    Interrupted {
        /// Environment steps taken so far.
        steps: u64,
    },
}

/// Why a run could not start or go on. The text is one sentence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// The settings cannot be used.
    Config(ConfigError),
    /// The settings in a run's directory cannot be used.
    ConfigFile {
        /// Where they are.
        path: PathBuf,
        /// Why.
        error: Box<ConfigError>,
    },
    /// A run's configuration file has changed since its checkpoint was written.
    ConfigChanged(PathBuf),
    /// The scheduler takes a population, which is not a single run.
    TakesPopulation {
        /// The scheduler.
        scheduler: String,
    },
    /// What trains cannot be made.
    Setup(SetupError),
    /// The directory cannot be used, or is refused.
    Directory(DirectoryError),
    /// Another process is training in this directory.
    Taken(PathBuf),
    /// A finished run has no checkpoint to go on from.
    NoCheckpoint(PathBuf),
    /// A checkpoint was written by another version of the program.
    OtherVersion(PathBuf),
    /// A checkpoint does not belong to its run.
    Misfit {
        /// The checkpoint.
        path: PathBuf,
        /// What does not fit.
        problem: Box<SetupError>,
    },
    /// A policy's file cannot be used.
    Policy(PolicyError),
    /// A policy cannot be made into a file.
    PolicyEncoding(PolicyProblem),
    /// What is to be written cannot be made into bytes; the reason.
    Unwritable(String),
    /// A file could not be read or written.
    Artifact(ArtifactError),
    /// An environment failed.
    Environment(EnvError),
    /// The best policy could not be played for the final score.
    BestPolicy(EnvError),
    /// Training failed.
    Training {
        /// Environment steps taken before.
        steps: u64,
        /// The failure.
        cause: TrainError,
        /// The directory of the last good checkpoint, if there is one.
        checkpoint: Option<PathBuf>,
    },
    /// A member of a population failed.
    Member {
        /// Its number.
        index: usize,
        /// The failure.
        cause: Box<RunError>,
        /// The population's directory.
        directory: PathBuf,
    },
    /// All members of a population have diverged; why the last one has.
    AllDiverged(String),
    /// An observer has stopped the run.
    Observer(String),
}

impl RunError {
    /// Whether another process is training in the directory; it will end some day.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Taken(_))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::ConfigFile { path, error } => write!(f, "{}: {error}", path.display()),
            Self::ConfigChanged(path) => write!(
                f,
                "{} has changed since the checkpoint was written; restore it, or start a new run with it by --config",
                path.display()
            ),
            Self::TakesPopulation { scheduler } => write!(
                f,
                "the scheduler {scheduler} takes a population; start it with Training::create"
            ),
            Self::Setup(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::NoCheckpoint(directory) => write!(
                f,
                "{} holds a finished run whose {CHECKPOINT} is missing; there is nothing to go on from",
                directory.display()
            ),
            Self::OtherVersion(path) => write!(f, "{} was written by another version of this program", path.display()),
            Self::Misfit { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Policy(error) => error.fmt(f),
            Self::PolicyEncoding(problem) => problem.fmt(f),
            Self::Unwritable(sentence) | Self::Observer(sentence) => f.write_str(sentence),
            Self::Taken(directory) => write!(
                f,
                "cannot use {}: another process is training there; wait for it or stop it",
                directory.display()
            ),
            Self::Artifact(error) => write!(f, "{error}"),
            Self::Environment(error) => write!(f, "{error}"),
            Self::BestPolicy(error) => write!(f, "the best policy could not be played: {error}"),
            Self::Training {
                steps,
                cause,
                checkpoint,
            } => {
                // A traceback goes below all that is said in a sentence.
                let told = cause.to_string();
                let (sentence, details) = told.split_at(told.find('\n').unwrap_or(told.len()));
                write!(f, "stopped after {steps} steps: {sentence}; ")?;
                match checkpoint {
                    Some(directory) => write!(f, "the last good checkpoint is in {}{details}", directory.display()),
                    None => write!(f, "it happened before the first checkpoint{details}"),
                }
            }
            Self::Member {
                index,
                cause,
                directory,
            } => write!(
                f,
                "member {index} stopped: {cause}; the last good checkpoint, if any, is in {}",
                directory.display()
            ),
            Self::AllDiverged(reason) => write!(f, "all members have diverged, the last because {reason}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::ConfigFile { error, .. } => Some(&**error),
            Self::Setup(error) => Some(error),
            Self::Directory(error) => Some(error),
            Self::Misfit { problem, .. } => Some(&**problem),
            Self::Policy(error) => Some(error),
            Self::PolicyEncoding(problem) => Some(problem),
            Self::Artifact(error) => Some(error),
            Self::Environment(error) | Self::BestPolicy(error) => Some(error),
            Self::Training { cause, .. } => Some(cause),
            Self::Member { cause, .. } => Some(&**cause),
            _ => None,
        }
    }
}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<SetupError> for RunError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Config(error) => Self::Config(error),
            error => Self::Setup(error),
        }
    }
}

impl From<DirectoryError> for RunError {
    fn from(error: DirectoryError) -> Self {
        Self::Directory(error)
    }
}

impl From<PolicyError> for RunError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl From<ArtifactError> for RunError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

/// What an observer is told, a few times a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Environment steps taken.
    pub steps: u64,
    /// Environment steps of the whole run.
    pub total_steps: u64,
    /// Steps per second since the start or resume.
    pub steps_per_second: f64,
    /// Seconds until the end at that speed.
    pub seconds_left: f64,
    /// Mean return of the last hundred episodes.
    pub mean_return: Option<f64>,
    /// The same between random play (0) and a human (1), where the task has such scores.
    pub human_normalised: Option<f64>,
    /// The best evaluation so far.
    pub best_evaluation: Option<f64>,
    /// The scheduled hyperparameters and their current values.
    pub hyperparameters: Vec<(String, f64)>,
    /// Probability of a random hyper-action.
    pub epsilon: f32,
    /// Tuples in the episodic memory.
    pub memory: usize,
    /// The scores of a population's members; empty for a single run. The steps are then those of each member on
    /// average.
    pub members: Vec<Option<f64>>,
    /// Episodes that have ended and all episodes of the evaluation that is going on.
    pub evaluating: Option<(usize, usize)>,
    /// What the user should be told once.
    pub notes: Vec<String>,
}
