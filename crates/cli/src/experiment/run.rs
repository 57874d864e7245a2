//! `epgt experiment run`: makes the runs that are missing, several at a time.
//!
//! A run is made by whoever has the lock of its directory, so any number of processes can work on one experiment: each takes
//! what is free and skips what another one is at.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use epgt_report::text::shortened;
use epgt_train::{ResumeWith, RunEnd, RunResult, Training};

use super::cell::{Cell, State};
use super::filter::Filter;
use super::plan::Plan;
use super::progress::Progress;
use super::rows::Row;
use super::{cells, files, open, report};
use crate::args::RunArgs;
use crate::parallel::lock;
use crate::{Done, output, parallel};

/// Looks at a run that cannot be opened, before it is left to whoever has it: another process may just be letting go of it.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Makes the runs that are missing and prints the comparison.
pub fn run(args: &RunArgs) -> Result<Done, String> {
    if args.jobs == Some(0) {
        return Err("--jobs 0 leaves nobody to make the runs; use 1 or more".to_string());
    }
    let (plan, out) = open(&args.place)?;
    let filter = match &args.only {
        Some(text) => Filter::parse(text, &plan)?,
        None => Filter::default(),
    };
    files::refuse_foreign(&out)?;
    let all = plan.cells(&out);
    let meant: Vec<&Cell> = all.iter().filter(|cell| filter.takes(cell)).collect();
    if let Some(sentence) = meant.iter().find_map(|cell| cell.refused.clone()) {
        return Err(sentence);
    }
    // All directories are looked at before any run starts, so that a refusal costs nothing.
    let states = meant
        .iter()
        .map(|cell| match cell.state()? {
            State::Damaged(sentence) => Err(format!(
                "{}; choose another --out, or remove {}",
                shortened(&sentence, 400),
                cell.directory.display()
            )),
            state => Ok(state),
        })
        .collect::<Result<Vec<State>, _>>()?;

    let ends = make_runs(args, &plan, &meant, &states)?;
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

/// How a cell ended.
enum End {
    Finished(RunResult),
    /// Another process finished it in the meantime.
    Found(RunResult),
    Failed(String),
    /// Another process is at it.
    Elsewhere,
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

/// Makes the runs that are not finished, several at a time; returns how each cell ended, in their order.
fn make_runs(args: &RunArgs, plan: &Plan, cells: &[&Cell], states: &[State]) -> Result<Vec<End>, String> {
    let mut progress = Progress::new(args.quiet, plan);
    let mut ends = Vec::new();
    for (cell, state) in cells.iter().zip(states) {
        let (end, score) = match state {
            State::Finished(result) => (End::Finished(result.clone()), score(plan, cell, result)),
            _ => (End::Stopped, None),
        };
        progress.add(cell, matches!(end, End::Finished(_)), score);
        ends.push(Mutex::new(end));
    }
    let mut open: Vec<usize> = (0..cells.len())
        .filter(|&i| !matches!(states[i], State::Finished(_)))
        .collect();
    // Methods take turns, so that the time left can be told and what is there after a stop is balanced.
    open.sort_by_key(|&i| (cells[i].task, cells[i].config.run.seed, cells[i].method));

    let jobs = parallel::threads(args.jobs, open.len());
    parallel::share_cores(jobs);
    progress.announce(jobs);
    let progress = Mutex::new(progress);
    let stop = parallel::stop_on_ctrl_c()?;
    parallel::in_turn(jobs, open.len(), &stop, |turn| {
        let i = open[turn];
        let end = ended(cells[i], || {
            make_run(cells[i], &stop, &mut |share, mean_return| {
                lock(&progress).update(i, share, mean_return)
            })
        });
        match &end {
            End::Stopped => {}
            End::Finished(result) => {
                let told = format!("in {:.1} s", result.wall_seconds);
                lock(&progress).finish(i, true, score(plan, cells[i], result), &told);
            }
            End::Found(result) => {
                lock(&progress).finish(i, true, score(plan, cells[i], result), "by another process");
            }
            End::Failed(sentence) => lock(&progress).finish(i, false, None, sentence),
            End::Elsewhere => lock(&progress).finish(i, false, None, "skipped, another process is making it"),
        }
        *lock(&ends[i]) = end;
    });
    lock(&progress).close();
    Ok(ends
        .into_iter()
        .map(|end| end.into_inner().unwrap_or(End::Stopped))
        .collect())
}

fn score(plan: &Plan, cell: &Cell, result: &RunResult) -> Option<f64> {
    Row::of(plan, cell, result).ok().and_then(|row| row.score(plan.score))
}

/// How a cell ends by some work; a failure, or a panic of the work, is kept in its directory, and the experiment goes on.
fn ended(cell: &Cell, work: impl FnOnce() -> End) -> End {
    let end = parallel::caught(work).unwrap_or_else(End::Failed);
    if let End::Failed(sentence) = &end {
        cell.note_failure(sentence);
    }
    end
}

/// Makes one run from its start or its last checkpoint, unless another process has it.
fn make_run(cell: &Cell, stop: &AtomicBool, observe: &mut dyn FnMut(f64, Option<f64>)) -> End {
    let mut run = match take(cell) {
        Ok(run) => run,
        Err(end) => return *end,
    };
    cell.forget_failure();
    let end = run.train(stop, &mut |progress: &epgt_train::Progress| {
        let share = progress.steps as f64 / progress.total_steps.max(1) as f64;
        observe(share, progress.mean_return)
    });
    match end {
        Ok(RunEnd::Finished(result)) => End::Finished(result),
        Ok(RunEnd::Interrupted { .. }) => End::Stopped,
        Err(error) => End::Failed(error.to_string()),
    }
}

/// Takes a cell's run for this process, or says why there is nothing to be made of it.
fn take(cell: &Cell) -> Result<Training, Box<End>> {
    for _ in 0..LOOKS {
        let begun = cell.has_begun();
        let run = match begun {
            true => Training::resume(&cell.directory, ResumeWith::default()),
            false => Training::create(cell.config.clone(), &cell.directory, false),
        };
        // Looked at after the lock was taken or refused: whoever had it before may have finished.
        if let Ok(State::Finished(result)) = cell.state() {
            return Err(Box::new(End::Found(result)));
        }
        match run {
            Ok(run) => return Ok(run),
            // Another process is at it, or was between the look and the lock.
            Err(error) if error.is_taken() || begun != cell.has_begun() => std::thread::sleep(BETWEEN_LOOKS),
            Err(error) => return Err(Box::new(End::Failed(error.to_string()))),
        }
    }
    Err(Box::new(End::Elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_panics_is_noted_and_the_others_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let text = "seeds = 3\n[settings]\nsteps = 1000\neval_interval = 0\n[[task]]\ntask = \"CartPole-v1\"\n\
                    [[method]]\nname = \"a\"\n";
        let plan = Plan::parse("test".to_string(), text.to_string(), 1.0).unwrap();
        let cells = plan.cells(directory.path());
        let stop = AtomicBool::new(false);
        let ends: Vec<Mutex<Option<End>>> = cells.iter().map(|_| Mutex::new(None)).collect();
        parallel::in_turn(1, cells.len(), &stop, |turn| {
            let end = ended(&cells[turn], || {
                assert!(turn != 1, "index out of bounds: the len is {}", 0);
                make_run(&cells[turn], &stop, &mut |_, _| {})
            });
            *lock(&ends[turn]) = Some(end);
        });
        let finished = |turn: usize| matches!(*lock(&ends[turn]), Some(End::Finished(_)));
        assert!(finished(0) && finished(2));
        let State::Failed(sentence) = cells[1].state().unwrap() else {
            panic!("the failure is not noted");
        };
        assert_eq!(
            sentence,
            "it ended by a fault of the program (index out of bounds: the len is 0); please report it"
        );
    }
}
