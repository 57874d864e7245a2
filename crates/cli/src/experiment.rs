//! `epgt experiment`: several methods on several tasks and seeds, and what can be said of them in the end.
//!
//! [`library`] finds the experiment file and [`plan`] checks it; [`mod@run`] makes the runs, each an ordinary run directory
//! ([`cell`]) below `OUT/TASK/METHOD/seed-S`, so a stopped experiment goes on where it was and any run can be looked at by
//! itself; [`report`] compares what is there, whoever made it.

mod cell;
mod cells;
mod files;
mod filter;
mod layers;
mod library;
mod list;
mod plan;
mod progress;
mod report;
mod rows;
mod run;
mod status;
mod table;

use std::path::PathBuf;

use crate::Done;
use crate::args::{ExperimentArgs, ExperimentCommand, PlaceArgs};
use plan::Plan;

/// Does what the user asks of an experiment.
pub fn run(args: &ExperimentArgs) -> Result<Done, String> {
    match &args.command {
        ExperimentCommand::List => list::list(),
        ExperimentCommand::Show(args) => list::show(args),
        ExperimentCommand::Run(args) => run::run(args),
        ExperimentCommand::Status(args) => status::run(args),
        ExperimentCommand::Report(args) => report::run(args),
        ExperimentCommand::Cells(args) => cells::run(args),
    }
}

/// The experiment that is meant, and where its runs are.
fn open(args: &PlaceArgs) -> Result<(Plan, PathBuf), String> {
    let plan = library::read(&args.name, args.scale.unwrap_or(1.0))?;
    let out = args.out.clone().unwrap_or_else(|| plan.usual_place());
    Ok((plan, out))
}
