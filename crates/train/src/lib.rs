//! Training runs: the two-phase loop, evaluation, run directories, checkpoints.
//!
//! [`Config`] is what a run should do, [`Trainer`] is everything that learns, [`Run`] is a trainer in a directory with logs,
//! evaluation and checkpoints around it.

mod append;
pub mod artifact;
mod config;
mod defaults;
mod evaluate;
mod logs;
pub mod policy_file;
mod run;
pub mod table;
pub mod tensorboard;
mod trainer;
pub mod usage;

pub use config::{Algorithm, Assignment, Config, Preset, RunSettings};
pub use evaluate::{Evaluation, evaluate};
pub use policy_file::Policy;
pub use run::{BEST_POLICY, CHECKPOINT, CONFIG, LAST_POLICY, Progress, RESULT, Run, RunEnd, RunError, RunResult};
pub use trainer::{Counters, SavedTrainer, TrainError, Trainer};
