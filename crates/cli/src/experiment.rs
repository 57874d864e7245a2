//! `epgt experiment`: several methods on several tasks and seeds, and what can be said of them in the end.
//!
//! [`plan`] reads the experiment file, this file makes the runs, [`table`] compares them. Every run is an ordinary run directory
//! below `OUT/TASK/METHOD/seed-S`, so a stopped experiment goes on where it was, and any run can be looked at by itself.

mod files;
mod plan;
mod progress;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use epgt_train::{Run, RunEnd, RunError, RunResult};

use crate::args::ExperimentArgs;
use crate::parallel::lock;
use crate::{Done, output, parallel};
use plan::{Cell, Plan, State};
use progress::Progress;

/// Where experiments are looked for by name.
const FOLDER: &str = "experiments";

/// Makes the runs that are missing and prints the comparison.
pub fn run(args: &ExperimentArgs) -> Result<Done, String> {
    if args.jobs == Some(0) {
        return Err("--jobs 0 leaves nobody to make the runs; use 1 or more".to_string());
    }
    let path = find(&args.experiment)?;
    let plan = Plan::read(&path)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(&plan.name));
    let cells = plan.cells(&out);
    // All directories are looked at before any run starts, so that a refusal costs nothing.
    let states = cells.iter().map(Cell::state).collect::<Result<Vec<State>, String>>()?;

    let ends = make_runs(args, &plan, &cells, states)?;
    let finished = ends.iter().filter(|end| matches!(end, End::Finished(_))).count();
    if ends.iter().any(|end| matches!(end, End::Stopped)) {
        output::note(&format!(
            "Stopped and saved, {finished} of {} runs done. Go on with: epgt experiment {} --out {}",
            cells.len(),
            path.display(),
            out.display()
        ));
        return Ok(Done::Interrupted);
    }
    let rows = table::rows(&plan, &cells, &ends)?;
    let failures: Vec<String> = cells
        .iter()
        .zip(&ends)
        .filter_map(|(cell, end)| end.failure(cell))
        .collect();
    output::print(&table::report(&plan, &rows, table::Style::Plain))?;
    files::write(&plan, &rows, &failures, &out)?;
    output::print(&format!(
        "\nWritten to {0}/results.md and {0}/results.csv\n",
        out.display()
    ))?;
    match failures.len() {
        0 => Ok(Done::Completely),
        failed => {
            let (list, all) = (failures.join("\n  "), cells.len());
            Err(format!(
                "{failed} of {all} runs failed and are left out above:\n  {list}"
            ))
        }
    }
}

/// How a cell ended.
enum End {
    Finished(RunResult),
    Failed(String),
    /// The user asked for it; it may not even have begun.
    Stopped,
}

impl End {
    fn failure(&self, cell: &Cell) -> Option<String> {
        match self {
            Self::Failed(sentence) => Some(format!("{}: {sentence}", cell.directory.display())),
            _ => None,
        }
    }
}

/// The experiment's file: a path, or a name in the folder of experiments.
fn find(given: &Path) -> Result<PathBuf, String> {
    if given.is_file() {
        return Ok(given.to_path_buf());
    }
    let name = given.to_string_lossy();
    let name = name.strip_suffix(".toml").unwrap_or(&name);
    let path = Path::new(FOLDER).join(format!("{name}.toml"));
    if path.is_file() {
        return Ok(path);
    }
    let files = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut known: Vec<String> = files
        .filter_map(|file| {
            file.file_name()
                .to_string_lossy()
                .strip_suffix(".toml")
                .map(String::from)
        })
        .collect();
    known.sort();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match known.is_empty() {
        true => Err(format!(
            "there is no experiment file {}, and no {FOLDER}/ here",
            given.display()
        )),
        false => Err(epgt_settings::unknown("experiment", name, &known)),
    }
}

/// Makes the runs that are not finished, several at a time; returns how each cell ended, in their order.
fn make_runs(args: &ExperimentArgs, plan: &Plan, cells: &[Cell], states: Vec<State>) -> Result<Vec<End>, String> {
    let mut ends = Vec::new();
    let mut begun = Vec::new();
    for state in states {
        begun.push(matches!(state, State::Begun));
        ends.push(Mutex::new(match state {
            State::Finished(result) => End::Finished(result),
            State::New | State::Begun => End::Stopped,
        }));
    }
    let mut open: Vec<usize> = (0..cells.len())
        .filter(|&i| matches!(*lock(&ends[i]), End::Stopped))
        .collect();
    // Methods take turns, so that the time left can be told and what is there after a stop is balanced.
    open.sort_by_key(|&i| (cells[i].task, cells[i].config.run.seed, cells[i].method));

    let jobs = parallel::threads(args.jobs, open.len());
    let progress = Mutex::new(Progress::new(args.quiet, cells.len(), open.len()));
    lock(&progress).announce(&plan.name, jobs);
    let stop = parallel::stop_on_ctrl_c()?;
    parallel::in_turn(jobs, open.len(), &stop, |turn| {
        let i = open[turn];
        let end = make_run(&cells[i], begun[i], &stop, &mut |share| {
            lock(&progress).update(turn, share)
        });
        if !matches!(end, End::Stopped) {
            lock(&progress).finish(turn, &describe(plan, &cells[i], &end));
        }
        *lock(&ends[i]) = end;
    });
    lock(&progress).close();
    Ok(ends
        .into_iter()
        .map(|end| end.into_inner().unwrap_or(End::Stopped))
        .collect())
}

/// Makes one run from its start or its last checkpoint.
fn make_run(cell: &Cell, begun: bool, stop: &AtomicBool, observe: &mut dyn FnMut(f64)) -> End {
    let run = match begun {
        true => Run::resume(&cell.directory),
        false => Run::create(cell.config.clone(), &cell.directory, false),
    };
    let share = |steps: u64, all: u64| steps as f64 / all.max(1) as f64;
    let end = run.and_then(|mut run| {
        run.train(stop, &mut |progress| {
            observe(share(progress.steps, progress.total_steps))
        })
    });
    match end {
        Ok(RunEnd::Finished(result)) => End::Finished(result),
        Ok(RunEnd::Interrupted { .. }) => End::Stopped,
        Err(RunError(sentence)) => End::Failed(sentence),
    }
}

/// One line about a run that has ended.
fn describe(plan: &Plan, cell: &Cell, end: &End) -> String {
    let (task, method) = (&plan.tasks[cell.task], &plan.methods[cell.method].name);
    let came_of_it = match end {
        End::Finished(result) => match table::score(plan.score, result) {
            Some(score) => format!("{score:.2} in {:.1} s", result.wall_seconds),
            None => "no episode has ended".to_string(),
        },
        End::Failed(sentence) => sentence.clone(),
        End::Stopped => "stopped".to_string(),
    };
    format!("{task}, {method}, seed {}: {came_of_it}", cell.config.run.seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_that_comes_with_the_program_can_be_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let plan = Plan::read(&file.unwrap().path()).unwrap();
            assert!(!plan.description.is_empty() && !plan.cells(Path::new("out")).is_empty());
            count += 1;
        }
        assert!(count >= 3, "{count} experiments");
    }
}
