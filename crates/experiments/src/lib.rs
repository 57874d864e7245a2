//! Experiments: several methods on several tasks and seeds, and what can be said of them in the end.
//!
//! An experiment is a TOML file. [`library`] finds it and [`Plan`] checks it; [`make_runs`] makes the runs, each an
//! ordinary run directory (a [`Cell`]) below `OUT/TASK/METHOD/seed-S`, so a stopped experiment goes on where it was and
//! any run can be looked at by itself; [`report`] compares what is there, whoever made it.
//!
//! Runs that no experiment has made are compared too: [`runs`] finds them below directories, [`groups`] says which
//! belong together, [`comparison`] what their scores come to by a [`Measure`], and [`page`] draws all of it on one
//! page. [`signal`] measures how much returns say of what was drawn at random, and [`sensitivity`] how much is
//! lost by not tuning.
//!
//! ```
//! use epgt_experiments::{Filter, library};
//! let plan = library::read("cartpole".as_ref(), 0.01)?;
//! let cells = plan.cells("runs".as_ref());
//! assert_eq!(cells.len() as u64, plan.runs());
//! let filter = Filter::parse("seed=0", &plan)?;
//! assert!(cells.iter().filter(|cell| filter.takes(cell)).count() < cells.len());
//! # Ok::<(), epgt_experiments::PlanError>(())
//! ```

mod cell;
pub mod comparison;
mod error;
mod files;
mod filter;
pub mod groups;
mod layers;
pub mod library;
mod measure;
pub mod page;
pub mod parallel;
mod plan;
pub mod report;
mod rows;
mod run;
pub mod runs;
pub mod sensitivity;
pub mod signal;
mod table;
mod verdict;

pub use cell::{Cell, State};
pub use error::{ExperimentError, PlanError};
pub use filter::Filter;
pub use layers::{file_name, fresh_directory};
pub use measure::Measure;
pub use plan::{Method, Plan, Statistic};
pub use run::{End, Observer, make_runs, states};
