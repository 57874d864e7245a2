//! Training runs: the two-phase loop, evaluation, run directories, checkpoints.
//!
//! [`Config`] is what a run should do, [`Trainer`] is everything that learns, [`Run`] is a trainer in a directory with
//! logs, evaluation and checkpoints around it. A [`population`] is several trainers in one directory; [`Training`] is
//! either. An [`Observer`] is told what happens in a run.

mod append;
pub mod artifact;
mod best;
mod cadence;
mod config;
mod defaults;
mod device;
mod directory;
mod env_args;
mod error;
mod eval_budget;
mod evaluate;
mod film;
mod lock;
mod logs;
mod marker;
mod observer;
mod outcome;
pub mod policy_file;
pub mod population;
mod provenance;
pub mod record;
mod registry;
mod remembered;
mod run;
mod run_loop;
mod scheduler;
mod seeds;
mod settings;
pub mod table;
pub mod tensorboard;
mod trainer;
mod training;
pub mod usage;
pub mod version;

pub use best::{BestBy, best_policy, networks_of};
pub use config::{Config, ConfigError};
pub use device::DeviceError;
pub use directory::{DirectoryError, ResumeWith, claim, config_text, refuse_taken};
pub use epgt_pg::HyperReward;
pub use epgt_settings::{SettingError, UnknownName};
pub use error::{InitProblem, SetupError};
pub use evaluate::{EvalActions, EvalPlan, Evaluation, evaluate};
pub use film::{FilmPlan, Shot, can_be_filmed, film};
pub use lock::is_training;
pub use logs::{DECISIONS, EVENTS, METRICS};
pub use marker::{Holds, MARKER, Marker};
pub use observer::{MetricsRow, Observer, WrittenCheckpoint};
pub use outcome::{HyperSeconds, PopulationResult, Progress, RunEnd, RunError, RunResult};
pub use policy_file::{Policy, PolicyError};
pub use provenance::{Provenance, shell_word, started_by};
pub use record::{FAILURE, Record};
pub use registry::Registry;
pub use remembered::{Remembered, remembered};
pub use run::{BEST_POLICY, CHECKPOINT, CONFIG, LAST_POLICY, RESULT, Run};
pub use scheduler::{RuleKind, Scheduler};
pub use seeds::{SeedRun, begin_seeds, seed_runs, seed_runs_in};
pub use settings::{Assignment, Defaults, Device, Name, Preset, RewardSettings, RunSettings};
pub use trainer::{Counters, SavedTrainer, TrainError, Trainer};
pub use training::Training;
