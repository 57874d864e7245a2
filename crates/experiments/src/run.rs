//! Makes the runs that are missing, several at a time.
//!
//! A run is made by whoever has the lock of its directory, so any number of processes can work on one experiment: each
//! takes what is free and skips what another one is at.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use epgt_train::{ResumeWith, RunEnd, RunResult, Training};

use crate::cell::{Cell, State};
use crate::error::ExperimentError;
use crate::parallel::{self, lock};
use crate::plan::Plan;
use crate::rows::Row;

/// Looks at a run that cannot be opened, before it is left to whoever has it: another process may just be letting go of
/// it.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Whoever watches how the runs of an experiment are made. All of it is optional; `()` looks at nothing.
pub trait Observer: Send {
    /// Told once for each run, in their order, before any is made: whether it was done before, and its score then.
    fn planned(&mut self, _cell: &Cell, _done: bool, _score: Option<f64>) {}
    /// So many runs are about to be made at a time.
    fn begins(&mut self, _jobs: usize) {}
    /// Run `i` has come to this share of its steps, and to this return of its last hundred episodes.
    fn advanced(&mut self, _i: usize, _share: f64, _mean_return: Option<f64>) {}
    /// Run `i` has ended; one that was stopped is not told.
    fn ended(&mut self, _i: usize, _end: &End, _score: Option<f64>) {}
}

impl Observer for () {}

/// How far each of some cells has come; a cell that cannot be read is an error. All directories are looked at before
/// any run starts, so that a refusal costs nothing.
pub fn states(cells: &[&Cell]) -> Result<Vec<State>, ExperimentError> {
    cells
        .iter()
        .map(|cell| match cell.state()? {
            State::Damaged(problem) => Err(ExperimentError::Damaged {
                directory: cell.directory.clone(),
                problem,
            }),
            state => Ok(state),
        })
        .collect()
}

/// How a cell ended.
#[derive(Clone, Debug)]
pub enum End {
    /// This process made it, or it was done before.
    Finished(RunResult),
    /// Another process finished it in the meantime.
    Found(RunResult),
    /// It has stopped with this sentence.
    Failed(String),
    /// Another process is at it.
    Elsewhere,
    /// The user asked for it; it may not even have begun.
    Stopped,
}

impl End {
    /// What there is to say of a cell that failed.
    pub fn failure(&self, cell: &Cell) -> Option<String> {
        match self {
            Self::Failed(sentence) => Some(format!("{}: {sentence}", cell.directory.display())),
            _ => None,
        }
    }
}

/// Makes the runs that are not finished, `jobs` at a time or as many as the machine has cores, until `stop` is set;
/// returns how each cell ended, in their order. `states` are those of the cells ([`states`]).
///
/// ```
/// use epgt_experiments::{End, Plan, make_runs, states};
/// # let place = tempfile::tempdir().unwrap();
/// # let out = place.path();
/// let text = "[settings]\nsteps = 1024\n[[task]]\ntask = \"CartPole-v1\"\n[[method]]\nname = \"fixed\"\nscheduler = \"fixed\"\n";
/// let plan = Plan::parse("small".to_string(), text.to_string(), 1.0)?;
/// let cells = plan.cells(out);
/// let cells: Vec<_> = cells.iter().collect();
/// let ends = make_runs(&plan, &cells, &states(&cells)?, Some(1), &Default::default(), &mut ());
/// assert!(matches!(&ends[0], End::Finished(result) if result.steps == 1024));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn make_runs(
    plan: &Plan,
    cells: &[&Cell],
    states: &[State],
    jobs: Option<usize>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Vec<End> {
    let mut ends = Vec::new();
    for (cell, state) in cells.iter().zip(states) {
        let (end, score) = match state {
            State::Finished(result) => (End::Finished(result.clone()), score(plan, cell, result)),
            _ => (End::Stopped, None),
        };
        observer.planned(cell, matches!(end, End::Finished(_)), score);
        ends.push(Mutex::new(end));
    }
    let mut open: Vec<usize> = (0..cells.len())
        .filter(|&i| !matches!(states[i], State::Finished(_)))
        .collect();
    // Methods take turns, so that the time left can be told and what is there after a stop is balanced.
    open.sort_by_key(|&i| (cells[i].task, cells[i].config.run.seed, cells[i].method));

    let jobs = parallel::threads(jobs, open.len());
    observer.begins(jobs);
    let observer = Mutex::new(observer);
    parallel::in_turn(jobs, open.len(), stop, |turn| {
        let i = open[turn];
        let end = ended(cells[i], || {
            make_run(cells[i], stop, &mut |share, mean_return| {
                lock(&observer).advanced(i, share, mean_return)
            })
        });
        let score = match &end {
            End::Finished(result) | End::Found(result) => score(plan, cells[i], result),
            End::Failed(_) | End::Elsewhere | End::Stopped => None,
        };
        if !matches!(end, End::Stopped) {
            lock(&observer).ended(i, &end, score);
        }
        *lock(&ends[i]) = end;
    });
    ends.into_iter()
        .map(|end| end.into_inner().unwrap_or(End::Stopped))
        .collect()
}

fn score(plan: &Plan, cell: &Cell, result: &RunResult) -> Option<f64> {
    Row::of(plan, cell, result).ok().and_then(|row| row.score(plan.score))
}

/// How a cell ends by some work; a failure, or a panic of the work, is kept in its directory, and the experiment goes
/// on.
fn ended(cell: &Cell, work: impl FnOnce() -> End) -> End {
    let end = parallel::caught(work).unwrap_or_else(|panicked| End::Failed(panicked.to_string()));
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
