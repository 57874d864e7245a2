//! Training: runs on threads of their own, while the thread that called tells Python how they go.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use epgt_experiments::fresh_directory;
use epgt_experiments::parallel::{Panicked, caught, in_turn, lock, threads};
use epgt_train::{
    Assignment, Config, MetricsRow, Observer, Progress, ResumeWith, RunEnd, RunError, Trainer, Training, begin_seeds,
    networks_of, refuse_taken, seed_runs_in,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Raised, no_run, tried};
use crate::foreign::Environment;
use crate::signals::TICK;

/// Trains a new run, or one for each of several seeds, and returns their directories. Each setting is how it was said,
/// its key, and its value as text. `watcher` is told how it goes (`_Watcher` in `python/epgt/_run.py`).
#[pyfunction]
#[pyo3(signature = (settings, watcher, *, directory, seeds, overwrite, threads, environment))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub fn train(
    py: Python<'_>,
    settings: Vec<(String, String, String)>,
    watcher: Py<PyAny>,
    directory: Option<PathBuf>,
    seeds: Option<u64>,
    overwrite: bool,
    threads: Option<usize>,
    environment: Option<Py<Environment>>,
) -> PyResult<Vec<PathBuf>> {
    let environment = environment.map(|environment| environment.get().clone());
    let registry = Environment::registry(environment.as_ref())?;
    let said: Vec<(String, Assignment)> = settings
        .into_iter()
        .map(|(how, key, value)| (how, Assignment::new(key, value)))
        .collect();
    let begin = || -> Result<Vec<(PathBuf, Training)>, RunError> {
        let mut assignments: Vec<Assignment> = said.iter().map(|(_, assignment)| assignment.clone()).collect();
        if let Some(init) = assignments
            .iter()
            .find(|said| said.key == "init" && !said.value.is_empty())
        {
            // The networks are the policy's, unless the user says more.
            let networks = networks_of(Path::new(&init.value), &registry)?;
            assignments.splice(0..0, networks);
        }
        let config = Config::build_in(&registry, &assignments)?;
        config.refuse_repeated(&said)?;
        let directory = directory.unwrap_or_else(|| fresh_directory(&config, seeds.unwrap_or(1)));
        let Some(seeds) = seeds else {
            refuse_taken(&directory, overwrite)?;
            return Ok(vec![(
                directory.clone(),
                Training::create(config, &directory, overwrite)?,
            )]);
        };
        // Whether it can be trained at all is known before anything is written.
        drop(Trainer::new(&config)?);
        let runs = begin_seeds(&config, seeds, &directory, overwrite)?;
        let begun = |run: epgt_train::SeedRun| {
            let training = Training::create(run.config, &run.directory, overwrite)?;
            Ok((run.directory, training))
        };
        runs.into_iter().map(begun).collect()
    };
    let runs = Environment::first(&environment, tried(py, begin))?;
    train_all(py, runs, watcher, threads, environment)
}

/// Goes on with a run, or with those of several seeds, and returns their directories.
#[pyfunction]
#[pyo3(signature = (directory, watcher, *, seeds, steps, values, threads, environment))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub fn resume(
    py: Python<'_>,
    directory: PathBuf,
    watcher: Py<PyAny>,
    seeds: bool,
    steps: Option<u64>,
    values: Vec<(String, f64)>,
    threads: Option<usize>,
    environment: Option<Py<Environment>>,
) -> PyResult<Vec<PathBuf>> {
    let environment = environment.map(|environment| environment.get().clone());
    let with = ResumeWith {
        steps,
        values,
        registry: Environment::registry(environment.as_ref())?,
        ..ResumeWith::default()
    };
    let open = || -> Result<Option<Vec<(PathBuf, Training)>>, RunError> {
        if !seeds {
            return Ok(Some(vec![(directory.clone(), Training::resume(&directory, with)?)]));
        }
        let runs = seed_runs_in(&directory, &with.registry)?;
        let opened = |run: epgt_train::SeedRun| Ok((run.directory.clone(), run.resume(with.clone())?));
        runs.map(|runs| runs.into_iter().map(opened).collect()).transpose()
    };
    let runs = Environment::first(&environment, tried(py, open))?.ok_or_else(|| no_run(&directory))?;
    train_all(py, runs, watcher, threads, environment)
}

/// What a run tells the thread that called.
enum Event {
    Progress(usize, Progress),
    /// A row of metrics; the run waits until this is dropped, so that it stops where it is told to.
    Metrics(
        usize,
        Vec<(String, Option<f64>)>,
        #[expect(dead_code, reason = "dropping it is the answer")] Sender<()>,
    ),
}

/// Sends what a run tells to the thread that called.
struct Teller {
    run: usize,
    seed: u64,
    events: Sender<Event>,
}

impl Observer for Teller {
    fn progress(&mut self, progress: &Progress) {
        // Nobody listens any longer once an exception has stopped the runs.
        let _ = self.events.send(Event::Progress(self.run, progress.clone()));
    }

    fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
        let (answer, answered) = channel();
        let seed = [("seed".to_string(), Some(self.seed as f64))];
        let row = row.values.iter().cloned().chain(seed).collect();
        if self.events.send(Event::Metrics(self.run, row, answer)).is_ok() {
            let _ = answered.recv();
        }
        Ok(())
    }
}

/// How a run ended; `None` where it was not begun.
type End = Option<Result<Result<RunEnd, RunError>, Panicked>>;

/// Trains the runs side by side until all have ended, or an exception or the watcher stops them; then they save
/// themselves.
fn train_all(
    py: Python<'_>,
    runs: Vec<(PathBuf, Training)>,
    watcher: Py<PyAny>,
    asked: Option<usize>,
    environment: Option<Environment>,
) -> PyResult<Vec<PathBuf>> {
    let (directories, mut trainings): (Vec<PathBuf>, Vec<Training>) = runs.into_iter().unzip();
    let jobs = trainings.len();
    watcher.call_method1(py, "begin", (&directories,))?;
    let side_by_side = threads(asked, jobs);
    epgt_envs::gymnasium::use_threads(threads(asked, usize::MAX) / side_by_side);
    // The interpreter lets one thread at a time step its environments.
    if let ([run], None) = (trainings.as_mut_slice(), &environment) {
        run.use_threads(threads(asked, usize::MAX));
    }
    let trainings: Vec<_> = trainings.into_iter().map(|run| Mutex::new(Some(run))).collect();
    let ends: Vec<Mutex<End>> = (0..jobs).map(|_| Mutex::new(None)).collect();
    let raised = py.detach(|| {
        let stop = AtomicBool::new(false);
        let (events, told) = channel();
        std::thread::scope(|scope| {
            let (stop, trainings, ends) = (&stop, &trainings, &ends);
            scope.spawn(move || {
                let events = Mutex::new(events);
                in_turn(side_by_side, jobs, stop, |run| {
                    let events = lock(&events).clone();
                    let training = lock(&trainings[run]).take();
                    *lock(&ends[run]) = training.map(|mut training| {
                        let seed = training.config().run.seed;
                        caught(|| training.train(stop, &mut Teller { run, seed, events }))
                    });
                });
            });
            let mut raised = None;
            loop {
                let event = match told.recv_timeout(TICK) {
                    Ok(event) => Some(event),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return raised,
                };
                let answer = Python::attach(|py| {
                    py.check_signals()?;
                    event.as_ref().map_or(Ok(true), |event| tell(py, &watcher, event))
                });
                match answer {
                    Ok(true) => {}
                    Ok(false) => stop.store(true, Ordering::Relaxed),
                    Err(error) => {
                        raised.get_or_insert(error);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                // A run that waits goes on, and stops where it was told to.
                drop(event);
            }
        })
    });
    // Whoever pressed Ctrl-C wants to know nothing else; what an environment raised is the cause of what follows.
    if let Some(error) = raised.or_else(|| environment.and_then(|environment| environment.take_raised())) {
        return Err(error);
    }
    for end in &ends {
        match lock(end).take() {
            None | Some(Ok(Ok(_))) => {}
            Some(Ok(Err(error))) => return Err(error.raised()),
            Some(Err(panicked)) => return Err(panicked.raised()),
        }
    }
    Ok(directories)
}

/// Tells the watcher; false is its wish to stop.
fn tell(py: Python<'_>, watcher: &Py<PyAny>, event: &Event) -> PyResult<bool> {
    match event {
        Event::Progress(run, progress) => {
            let told = PyDict::new(py);
            told.set_item("steps", progress.steps)?;
            told.set_item("total_steps", progress.total_steps)?;
            told.set_item("steps_per_second", progress.steps_per_second)?;
            told.set_item("seconds_left", progress.seconds_left)?;
            told.set_item("mean_return", progress.mean_return)?;
            told.set_item("best_evaluation", progress.best_evaluation)?;
            told.set_item("notes", &progress.notes)?;
            watcher.call_method1(py, "progress", (run, told))?;
            Ok(true)
        }
        Event::Metrics(run, row, _) => {
            let told = PyDict::new(py);
            for (name, value) in row {
                told.set_item(name, value.unwrap_or(f64::NAN))?;
            }
            watcher.call_method1(py, "metrics", (run, told))?.extract(py)
        }
    }
}
