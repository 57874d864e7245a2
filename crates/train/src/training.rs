//! A run of either kind: one trainer that is scheduled, or a population.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::directory::read_config;
use crate::observer::Observer;
use crate::outcome::{RunEnd, RunError};
use crate::population::PopulationRun;
use crate::{Config, ResumeWith, Run};

/// What a configuration's scheduler asks for, with one face.
///
/// ```
/// use epgt_train::{Assignment, Config, RunEnd, Training};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// let settings = [("task", "CartPole-v1"), ("scheduler", "grid"), ("tune.gamma", "0.98:0.99"), ("steps", "1000")];
/// let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value)))?;
/// let mut training = Training::create(config, &directory, false).unwrap();
/// let Ok(RunEnd::Finished(result)) = training.train(&Default::default(), &mut ()) else { panic!() };
/// assert_eq!(result.population.unwrap().members, 2);
/// # Ok::<(), String>(())
/// ```
pub enum Training {
    /// One trainer.
    Single(Box<Run>),
    /// Several side by side.
    Population(Box<PopulationRun>),
}

impl Training {
    /// Starts in a new directory; see [`Run::create`].
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        match config.scheduler.population().is_some() {
            true => PopulationRun::create(config, directory, force).map(Self::population),
            false => Run::create(config, directory, force).map(Self::single),
        }
    }

    /// Goes on from the last checkpoint; see [`Run::resume_with`]. Populations train on this processor.
    pub fn resume(directory: &Path, with: ResumeWith) -> Result<Self, RunError> {
        match read_config(directory, &with.registry)?
            .0
            .scheduler
            .population()
            .is_some()
        {
            true => PopulationRun::resume(directory, with).map(Self::population),
            false => Run::resume_with(directory, with).map(Self::single),
        }
    }

    /// Environment steps that are done; of a population, those of the member that has done most.
    pub fn steps_done(&self) -> u64 {
        match self {
            Self::Single(run) => run.steps_done(),
            Self::Population(run) => run.steps_done(),
        }
    }

    /// The name of the other processor that the networks are on, if they are on one.
    pub fn device(&self) -> Option<String> {
        match self {
            Self::Single(run) => run.device(),
            Self::Population(_) => None,
        }
    }

    /// Lets it use several threads, as the only run of the process; results do not depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        match self {
            Self::Single(run) => run.use_threads(threads),
            Self::Population(run) => run.use_threads(threads),
        }
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        match self {
            Self::Single(run) => run.config(),
            Self::Population(run) => run.config(),
        }
    }

    /// Trains until the budget is spent or `stop` is set; see [`Run::train`].
    pub fn train(&mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<RunEnd, RunError> {
        match self {
            Self::Single(run) => run.train(stop, observer),
            Self::Population(run) => run.train(stop, observer),
        }
    }

    fn single(run: Run) -> Self {
        Self::Single(Box::new(run))
    }

    fn population(run: PopulationRun) -> Self {
        Self::Population(Box::new(run))
    }
}
