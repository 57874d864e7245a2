//! Experiments: which runs they have, and making one of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

use epgt_experiments::report::refuse_foreign;
use epgt_experiments::{Cell, End, ExperimentError, Filter, Plan, PlanError, State, library, make_runs, states};
use pyo3::prelude::*;

use crate::error::{Class, OrRaised, Raised, guarded, tried};
use crate::signals::TICK;

impl Raised for PlanError {
    fn raised(self) -> PyErr {
        Class::Config.says(self)
    }
}

impl Raised for ExperimentError {
    fn raised(self) -> PyErr {
        Class::Run.says(self)
    }
}

/// The name of an experiment and the text of its file, by its name or its path.
#[pyfunction]
pub fn experiment_text(py: Python<'_>, name: PathBuf) -> PyResult<(String, String)> {
    let plan = tried(py, || library::read(&name, 1.0))?;
    Ok((plan.name, plan.text))
}

/// The runs of an experiment below a directory, of which `only` may pick some: the number and the directory of each, and
/// whether it is done. What cannot be run is refused.
#[pyfunction]
pub fn experiment_cells(
    py: Python<'_>,
    experiment: (String, String),
    scale: f64,
    out: PathBuf,
    only: Option<String>,
) -> PyResult<Vec<(usize, PathBuf, bool)>> {
    let plan = plan(py, experiment, scale)?;
    let filter = only.map_or(Ok(Filter::default()), |text| Filter::parse(&text, &plan));
    let filter = filter.or_raised()?;
    tried(py, || refuse_foreign(&out))?;
    let cells = plan.cells(&out);
    let meant: Vec<(usize, &Cell)> = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| filter.takes(cell))
        .collect();
    if let Some(problem) = meant.iter().find_map(|(_, cell)| cell.refused.clone()) {
        return Err(problem.raised());
    }
    let looked_at: Vec<&Cell> = meant.iter().map(|(_, cell)| *cell).collect();
    let states = tried(py, || states(&looked_at))?;
    let found = meant.iter().zip(&states);
    Ok(found
        .map(|((i, cell), state)| (*i, cell.directory.clone(), matches!(state, State::Finished(_))))
        .collect())
}

/// Makes a run of an experiment, from its start or its last checkpoint, on one core. Returns how it ended: `finished`,
/// `elsewhere` where another process has it, or `failed` with a sentence. Ctrl-C has it saved, and is raised.
#[pyfunction]
pub fn make_cell(
    py: Python<'_>,
    experiment: (String, String),
    scale: f64,
    out: PathBuf,
    cell: usize,
) -> PyResult<(&'static str, Option<String>)> {
    let plan = plan(py, experiment, scale)?;
    let cells = plan.cells(&out);
    let cell = cells
        .get(cell)
        .ok_or_else(|| Class::Input.says(format!("the experiment has {} runs, and {cell} is none", cells.len())))?;
    epgt_envs::gymnasium::use_threads(1);
    let states = tried(py, || states(&[cell]))?;
    let stop = AtomicBool::new(false);
    let (end, raised) = guarded(py, || {
        let (done, ended) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let ends = make_runs(&plan, &[cell], &states, Some(1), &stop, &mut ());
                let _ = done.send(ends.into_iter().next());
            });
            let mut raised = None;
            loop {
                match ended.recv_timeout(TICK) {
                    Ok(end) => return (end, raised),
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    raised.get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
        })
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    Ok(match end {
        Some(End::Finished(_) | End::Found(_)) => ("finished", None),
        Some(End::Elsewhere) => ("elsewhere", None),
        Some(End::Failed(sentence)) => ("failed", Some(sentence)),
        Some(End::Stopped) | None => ("failed", Some("it was stopped".to_string())),
    })
}

fn plan(py: Python<'_>, (name, text): (String, String), scale: f64) -> PyResult<Plan> {
    tried(py, || Plan::parse(name, text, scale))
}
