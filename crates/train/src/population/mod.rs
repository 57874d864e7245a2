//! Populations: several runs side by side in place of one that is scheduled. `pbt` and `pb2` let bad members copy good
//! ones and go on with other values; `grid` and `random-search` only compare.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`settings`](PopulationSettings) | the settings `population.*` |
//! | [`range`](Range) | what a hyperparameter may be set to |
//! | [`exchange`](Exchange) | who copies whom and with which values, apart from anything that trains |
//! | `pb2`, [`gp`](GaussianProcess) | the values that a Gaussian process proposes |
//! | [`search`](grid) | the members of the searches |
//! | `member`, `workers` | one member: the loop of a run; all of them at work |
//! | `logs` | the tables of the whole |
//! | [`run`](PopulationRun) | all members in a directory, with checkpoints around them |
//!
//! Members meet at fixed numbers of environment steps and train alone between, so results do not depend on the number
//! of threads.

mod exchange;
mod gp;
mod logs;
mod member;
mod pb2;
mod range;
mod run;
mod search;
mod settings;
mod workers;

pub use exchange::{Exchange, ExchangeState, Move};
pub use gp::{GaussianProcess, Kernel, most_likely};
pub use range::Range;
pub use run::PopulationRun;
pub use search::{grid, random_search};
pub(crate) use settings::MOST_MEMBERS;
pub use settings::{PopulationKind, PopulationSettings};

/// The table of all exchanges in a run directory.
pub const POPULATION: &str = "population.csv";
/// The folder of the members' own logs.
pub const MEMBERS: &str = "members";
