//! `epgt experiment report`: compares the runs that are there, whoever made them, and writes the result files.

use std::path::{Path, PathBuf};

use epgt_experiments::{Filter, Plan, State, report};

use super::open;
use crate::args::ReportArgs;
use crate::{Done, output};

/// Prints the comparison and writes it down.
pub fn run(args: &ReportArgs) -> Result<Done, String> {
    let (plan, out) = open(&args.place)?;
    if let Some(missing) = args.merge.iter().find(|directory| !directory.is_dir()) {
        return Err(format!("--merge {}: there is no such directory", missing.display()));
    }
    let found = report::merged(&plan, &out, &args.merge).map_err(output::told)?;
    if found.iter().all(|(_, state)| matches!(state, State::New)) {
        return Err(format!(
            "there are no runs of {} in {}; make them with: epgt experiment run {}",
            plan.title(),
            out.display(),
            args.place.name.display()
        ));
    }
    output::print(&write(&plan, &out, &args.merge, &Filter::default())?)?;
    Ok(Done::Completely)
}

/// Writes the files of a report and returns what is printed of it.
pub fn write(plan: &Plan, out: &Path, others: &[PathBuf], filter: &Filter) -> Result<String, String> {
    report::write(plan, out, others, filter, output::columns(), &mut |sentence| {
        output::note(&format!("left out: {sentence}"));
    })
    .map_err(output::told)
}
