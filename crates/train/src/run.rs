//! A run: a directory, a trainer, and the loop around them.
//!
//! ```text
//! epgt.json             that this directory is the program's own, and who made the run: version, commit, date, host, command
//! config.toml           the complete resolved configuration
//! metrics.csv           one row per log interval, Stable-Baselines3's names
//! decisions.csv         every decision of the hyper-agent, why, and what came of it
//! events.out.tfevents.* the metrics for TensorBoard
//! best.safetensors      the policy of the best evaluation or training score (`best_by`), with its normalisation
//! last.safetensors      the latest policy
//! checkpoint.bin        everything that training needs to go on
//! result.json           the summary, once the run has finished
//! ```
//!
//! Files are written whole or not at all, and logs are cut back to the checkpoint at resume, so that a run that was
//! killed at any moment and resumed ends with the same bytes as one that was not.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use epgt_envs::ended_worker_cpu_seconds;
use serde::{Deserialize, Serialize};

use crate::best::{Best, Head};
use crate::cadence::{Cadence, Due, crosses};
use crate::directory::{self, ResumeWith, RunDirectory};
use crate::eval_budget::EvalBudget;
use crate::logs::LogLengths;
use crate::observer::Observer;
use crate::outcome::{HyperSeconds, RunEnd, RunError, RunResult};
use crate::run_loop::{Clock, Conditions, Phase, PhaseError, RunLoop};
use crate::trainer::{SavedTrainer, Trainer};
use crate::{Config, usage};

/// File names in a run directory.
pub const CONFIG: &str = "config.toml";
/// The best policy; `best_by` says by what.
pub const BEST_POLICY: &str = "best.safetensors";
/// The latest policy.
pub const LAST_POLICY: &str = "last.safetensors";
/// What training needs to go on.
pub const CHECKPOINT: &str = "checkpoint.bin";
/// The summary of a finished run.
pub const RESULT: &str = "result.json";

/// The least seconds between two checkpoints that nobody asked for.
pub(crate) const LEAST_CHECKPOINT: f64 = 1.0;

#[derive(Serialize, Deserialize)]
pub(crate) struct Checkpoint<'a> {
    head: Head<'a>,
    pub(crate) trainer: SavedTrainer<'a>,
    logs: LogLengths,
    best: Best,
    budget: EvalBudget,
    due: Option<Due>,
    spent: Spent,
}

/// What a run has taken.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Spent {
    wall_seconds: f64,
    cpu_seconds: f64,
    hyper: Option<HyperSeconds>,
}

/// A training run in its directory.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, RunEnd};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2048)])?;
/// let mut run = Run::create(config, &directory, false).unwrap();
/// let end = run.train(&Default::default(), &mut ()).unwrap();
/// assert!(matches!(end, RunEnd::Finished(result) if result.steps == 2048));
/// assert!(directory.join("best.safetensors").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    directory: RunDirectory,
    run: RunLoop,
    clock: Clock,
    /// What it had taken before this process took over.
    before: Spent,
    /// Of the training thread, or of the process where the run has it to itself; workers come on top.
    cpu_clock: fn() -> f64,
    cpu_started: f64,
}

impl Run {
    /// Starts a run in a new directory, or an empty one. A run that is there is only replaced with `force`, and then
    /// only its own files; a directory with other files is always refused.
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        if config.scheduler.population().is_some() {
            let scheduler = config.run.scheduler.name().to_string();
            return Err(RunError::TakesPopulation { scheduler });
        }
        directory::refuse_taken(directory, force)?;
        // What cannot be trained leaves no directory behind.
        let trainer = Trainer::new(&config)?;
        let directory = RunDirectory::create(directory, &config, force)?;
        let run = RunLoop::create(config, trainer, directory.path())?;
        Ok(Self::new(directory, run))
    }

    /// Goes on from the last checkpoint of a run, or from its start if it was stopped before the first.
    pub fn resume(directory: &Path) -> Result<Self, RunError> {
        Self::resume_with(directory, ResumeWith::default())
    }

    /// [`resume`](Self::resume) on another processor, to another number of steps, or with other hyperparameters.
    pub fn resume_with(directory: &Path, with: ResumeWith) -> Result<Self, RunError> {
        let opened = directory::open(directory, with)?;
        let Some(checkpoint) = opened.checkpoint::<Checkpoint<'_>>()? else {
            let trainer = Trainer::new(&opened.config)?;
            let (config, directory) = opened.begin_anew()?;
            let run = RunLoop::create(config, trainer, directory.path())?;
            return Ok(Self::new(directory, run));
        };
        opened.check_fits(&checkpoint.head.config)?;
        let mut trainer = Trainer::for_checkpoint(&opened.before)?;
        let restored = trainer.restore(checkpoint.trainer);
        restored.map_err(|error| opened.misfit(error))?;
        trainer.set(&opened.values);
        opened.check_steps(trainer.counters.steps)?;
        let mut run = RunLoop::resume(opened.config.clone(), trainer, directory, &checkpoint.logs)?;
        run.best = checkpoint.best;
        run.budget = checkpoint.budget;
        run.due = checkpoint.due;
        let (directory, note) = opened.go_on(checkpoint.head, run.is_finished())?;
        run.notes.extend(note);
        Ok(Self {
            before: checkpoint.spent,
            ..Self::new(directory, run)
        })
    }

    fn new(directory: RunDirectory, run: RunLoop) -> Self {
        Self {
            directory,
            run,
            clock: Clock::after(0.0),
            before: Spent::default(),
            cpu_clock: usage::thread_cpu_seconds,
            // A worker's start belongs to its run.
            cpu_started: usage::thread_cpu_seconds() + ended_worker_cpu_seconds(),
        }
    }

    /// Lets up to `threads` threads step the environments of this run, the only one of the process; results do not
    /// depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        self.run.trainer.use_threads(threads);
        self.cpu_clock = usage::process_cpu_seconds;
    }

    /// The name of the other processor that the networks are on, if they are on one.
    pub fn device(&self) -> Option<String> {
        self.run.trainer.device()
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.run.config
    }

    /// Environment steps that are done.
    pub fn steps_done(&self) -> u64 {
        self.run.trainer.counters.steps
    }

    /// Trains until the budget is spent or `stop` is set, telling `observer` how it goes.
    ///
    /// When stopped it finishes the phase, or leaves the evaluation that it is at for later, and saves; after an error
    /// the last good checkpoint stays as it was. A run that had finished before has its result again.
    pub fn train(&mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<RunEnd, RunError> {
        self.clock = Clock::after(self.before.wall_seconds);
        let is_finished = self.run.is_finished();
        if let Some(result) = is_finished.then(|| self.directory.earlier_result()).flatten() {
            if !self.run.notes.is_empty() {
                observer.progress(&self.run.progress(&self.clock));
            }
            return Ok(RunEnd::Finished(result));
        }
        self.cpu_started = (self.cpu_clock)();
        let cadence = Cadence::new(&self.run.config.run, 0);
        let least_checkpoint = match self.run.config.run.checkpoint_interval {
            Some(_) => 0.0,
            None => LEAST_CHECKPOINT,
        };
        let mut checkpointed = Instant::now();
        while !self.run.is_finished() {
            let before = self.steps_done();
            let on = Conditions {
                cadence: &cadence,
                clock: &self.clock,
                stop,
            };
            let phase = self.run.advance(&on, observer);
            let phase = phase.map_err(|error| self.stopped_by(error))?;
            if let Some((_, policy)) = self.run.candidate.take() {
                self.directory.keep_best(policy)?;
            }
            if matches!(phase, Phase::Stopped) || self.run.is_finished() || stop.load(Ordering::Relaxed) {
                break;
            }
            if crosses(cadence.checkpoint, before, self.steps_done())
                && checkpointed.elapsed().as_secs_f64() >= least_checkpoint
            {
                self.save(observer)?;
                checkpointed = Instant::now();
            }
        }
        let policy_sha256 = self.save(observer)?;
        let progress = self.run.progress(&self.clock);
        observer.progress(&progress);
        let interrupted = RunEnd::Interrupted {
            steps: self.steps_done(),
        };
        if !self.run.is_finished() {
            return Ok(interrupted);
        }
        let config = &self.run.config;
        let plays_best = self.run.best.has_final_score(&config.run);
        let result = |best_checkpoint| self.result(policy_sha256, best_checkpoint);
        let finished = self
            .directory
            .finish(config, plays_best, progress, stop, observer, result)?;
        Ok(finished.map_or(interrupted, RunEnd::Finished))
    }

    /// Writes the latest policy and the checkpoint; returns the policy's digest.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<String, RunError> {
        let policy = self.run.policy_bytes().map_err(|error| self.stopped_by(error))?;
        let logs = self.run.sync()?;
        let checkpoint = Checkpoint {
            head: self.directory.head(),
            logs,
            trainer: self.run.trainer.save(),
            best: self.run.best,
            budget: self.run.budget,
            due: self.run.due,
            spent: self.spent(),
        };
        self.directory.save(self.steps_done(), &policy, &checkpoint, observer)?;
        Ok(policy.digest)
    }

    /// What the run has taken until now, over all resumes.
    fn spent(&self) -> Spent {
        let trainer = &self.run.trainer;
        let cpu = trainer.cpu_seconds(self.cpu_clock) - self.cpu_started;
        let hyper = trainer.hyper.costs().map(HyperSeconds::from);
        Spent {
            wall_seconds: self.clock.seconds(),
            cpu_seconds: self.before.cpu_seconds + cpu,
            hyper: hyper.map(|now| self.before.hyper.unwrap_or_default().plus(&now)),
        }
    }

    fn result(&self, policy_sha256: String, best_checkpoint: Option<f64>) -> RunResult {
        let (run, trainer) = (&self.run.config.run, &self.run.trainer);
        let (counters, spent) = (&trainer.counters, self.spent());
        RunResult {
            task: run.task.clone(),
            algo: run.algo.name().to_string(),
            scheduler: run.scheduler.name().to_string(),
            seed: run.seed,
            steps: counters.steps,
            steps_asked: run.steps,
            episodes: counters.episodes,
            return_last_100: counters.mean_return(),
            best_evaluation: self.run.best.evaluation,
            best_checkpoint,
            human_normalised: trainer.human_normalised(counters.mean_return()),
            steps_per_second: counters.steps as f64 / spent.wall_seconds.max(1e-9),
            wall_seconds: spent.wall_seconds,
            cpu_seconds: spent.cpu_seconds,
            peak_memory_mb: usage::peak_memory_mb(),
            policy_sha256,
            best_policy_sha256: self.directory.best_digest(),
            hyper_seconds: spent.hyper.map(Box::new),
            population: None,
        }
    }

    fn stopped_by(&self, error: PhaseError) -> RunError {
        let directory = self.directory.path();
        match error {
            PhaseError::Run(error) => error,
            PhaseError::Training(cause) => RunError::Training {
                steps: self.steps_done(),
                cause,
                checkpoint: directory.join(CHECKPOINT).exists().then(|| directory.to_path_buf()),
            },
        }
    }
}
