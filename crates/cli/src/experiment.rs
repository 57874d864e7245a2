//! `epgt experiment`: several methods on several tasks and seeds, and what can be said of them in the end.
//!
//! Everything about experiments that is not for a terminal is in the crate `epgt-experiments`.

mod cells;
mod list;
mod progress;
mod report;
mod run;
mod sensitivity;
mod signal;
mod status;

use std::path::{Path, PathBuf};

use epgt_experiments::{Plan, library};

use crate::Done;
use crate::args::{ExperimentArgs, ExperimentCommand, PlaceArgs};
use crate::output::told;

/// Does what the user asks of an experiment; `program` is the file by which the program is started.
pub fn run(args: &ExperimentArgs, program: &Path) -> Result<Done, String> {
    match &args.command {
        ExperimentCommand::List => list::list(),
        ExperimentCommand::Show(args) => list::show(args),
        ExperimentCommand::Run(args) => run::run(args, program),
        ExperimentCommand::Status(args) => status::run(args),
        ExperimentCommand::Report(args) => report::run(args),
        ExperimentCommand::Signal(args) => signal::run(args),
        ExperimentCommand::Sensitivity(args) => sensitivity::run(args),
        ExperimentCommand::Cells(args) => cells::run(args),
    }
}

/// The experiment that is meant, and where its runs are.
fn open(args: &PlaceArgs) -> Result<(Plan, PathBuf), String> {
    let plan = library::read(&args.name, args.scale.unwrap_or(1.0)).map_err(told)?;
    let out = args.out.clone().unwrap_or_else(|| plan.usual_place());
    Ok((plan, out))
}
