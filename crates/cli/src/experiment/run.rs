//! `epgt experiment run`: makes the runs that are missing, several at a time, and compares all.

use std::path::Path;

use epgt_experiments::report::refuse_foreign;
use epgt_experiments::{Cell, End, Filter, State, make_runs, states};

use super::progress::Progress;
use super::{cells, open, report};
use crate::args::RunArgs;
use crate::output::told;
use crate::{Done, output, parallel, watch};

/// Makes the runs that are missing and prints the comparison.
pub fn run(args: &RunArgs, program: &Path) -> Result<Done, String> {
    if args.jobs == Some(0) {
        return Err("--jobs 0 leaves nobody to make the runs; use 1 or more".to_string());
    }
    let (plan, out) = open(&args.place)?;
    let filter = match &args.only {
        Some(text) => Filter::parse(text, &plan).map_err(told)?,
        None => Filter::default(),
    };
    refuse_foreign(&out).map_err(told)?;
    let all = plan.cells(&out);
    let meant: Vec<&Cell> = all.iter().filter(|cell| filter.takes(cell)).collect();
    if let Some(problem) = meant.iter().find_map(|cell| cell.refused.as_ref()) {
        return Err(told(problem));
    }
    let states = states(&meant).map_err(told)?;
    let open = states.iter().filter(|state| !matches!(state, State::Finished(_)));
    parallel::share_cores(parallel::threads(args.jobs, open.count()));
    let stop = parallel::stop_on_ctrl_c()?;
    if args.watch {
        // The page is there before the first run is.
        std::fs::create_dir_all(&out)
            .map_err(|error| format!("cannot make {}: {}", out.display(), output::reason(&error)))?;
        watch::beside(program, &out, None);
    }
    let mut progress = Progress::new(args.quiet, &plan);
    let ends = make_runs(&plan, &meant, &states, args.jobs, &stop, &mut progress);
    progress.close();
    let count = |kind: fn(&End) -> bool| ends.iter().filter(|end| kind(end)).count();
    if count(|end| matches!(end, End::Stopped)) > 0 {
        output::note(&format!(
            "Stopped and saved, {} of {} runs done. Go on with: {}",
            count(|end| matches!(end, End::Finished(_) | End::Found(_))),
            meant.len(),
            cells::command(args, &plan, &out)
        ));
        return Ok(Done::Interrupted);
    }
    let elsewhere = count(|end| matches!(end, End::Elsewhere));
    let made = report::write(&plan, &out, &[], &filter)?;
    output::print(&made)?;
    if elsewhere > 0 && !args.quiet {
        output::note(&format!(
            "{elsewhere} of {} runs were skipped, since another process is making them.",
            meant.len()
        ));
    }
    let failures: Vec<String> = meant
        .iter()
        .zip(&ends)
        .filter_map(|(cell, end)| end.failure(cell))
        .collect();
    match failures.len() {
        0 => Ok(Done::Completely),
        failed => {
            let (list, all) = (failures.join("\n  "), meant.len());
            Err(format!(
                "{failed} of {all} runs failed and are left out above:\n  {list}"
            ))
        }
    }
}
