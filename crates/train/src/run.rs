//! A run: a directory, a trainer, and the loop around them.
//!
//! ```text
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
//! Files are written whole or not at all, and logs are cut back to the checkpoint at resume, so that a run that was killed at
//! any moment and resumed ends with the same bytes as one that was not.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use epgt_envs::gymnasium::ended_cpu_seconds;
use serde::{Deserialize, Serialize};

use crate::artifact;
use crate::best::Best;
use crate::lock::lock;
use crate::logs::{LogLengths, Logs};
use crate::outcome::{Progress, RunEnd, RunError, RunResult};
use crate::trainer::{SavedTrainer, TrainError, Trainer};
use crate::{Config, Device, Evaluation, directory, policy_file, usage};

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

/// Seconds between two reports to the observer, and the least between two checkpoints that nobody asked for.
const REPORT_EVERY: f64 = 0.1;
const LEAST_CHECKPOINT: f64 = 1.0;

#[derive(Serialize, Deserialize)]
pub(crate) struct Checkpoint<'a> {
    config: Cow<'a, str>,
    pub(crate) trainer: SavedTrainer<'a>,
    logs: LogLengths,
    best: Best,
    wall_seconds: f64,
    cpu_seconds: f64,
}

/// A training run in its directory.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, RunEnd};
/// let directory = std::env::temp_dir().join(format!("epgt-doc-{}", std::process::id()));
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2000)])?;
/// let mut run = Run::create(config, &directory, true).unwrap();
/// let end = run.train(&Default::default(), &mut |_| {}).unwrap();
/// assert!(matches!(end, RunEnd::Finished(result) if result.steps == 2000));
/// assert!(directory.join("best.safetensors").exists());
/// # std::fs::remove_dir_all(directory).unwrap();
/// # Ok::<(), String>(())
/// ```
pub struct Run {
    directory: PathBuf,
    config: Config,
    config_text: String,
    trainer: Trainer,
    logs: Logs,
    best: Best,
    /// Wall-clock and CPU seconds before this process took over.
    before: (f64, f64),
    /// Steps that were done when this process took over.
    steps_before: u64,
    started: Instant,
    /// Of the training thread, or of the process where the run has it to itself; workers come on top.
    cpu_clock: fn() -> f64,
    cpu_started: f64,
    /// Held as long as the run is open, so that no second process trains in the same directory.
    _lock: File,
}

impl Run {
    /// Starts a run in a new directory. An existing run is only replaced with `force`, and then only its own files.
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        if config.run.scheduler.is_population() {
            let name = config.run.scheduler.name();
            return Err(RunError(format!(
                "the scheduler {name} takes a population; start it with Training::create"
            )));
        }
        let lock = directory::take(directory, force)?;
        Self::begin(config, directory, lock)
    }

    /// Starts a run in a directory that this process has the lock of; what a run left there goes.
    fn begin(config: Config, directory: &Path, lock: File) -> Result<Self, RunError> {
        directory::clear(directory)?;
        let config_text = config.to_toml();
        let trainer = Trainer::new(&config)?;
        let logs = Logs::create(directory, &trainer)?;
        artifact::write_atomically(directory.join(CONFIG), config_text.as_bytes())?;
        Ok(Self::new(directory, config, config_text, trainer, logs, lock))
    }

    /// Refuses a directory that already holds a run.
    pub fn refuse_taken(directory: &Path) -> Result<(), RunError> {
        match directory.join(CONFIG).exists() {
            false => Ok(()),
            true => Err(RunError(format!(
                "{} already holds a run; resume it with --resume, choose another --out, or replace it with --force",
                directory.display()
            ))),
        }
    }

    /// Goes on from the last checkpoint of a run, or from its start if it was stopped before the first.
    pub fn resume(directory: &Path) -> Result<Self, RunError> {
        Self::resume_on(directory, None)
    }

    /// [`resume`](Self::resume) with the networks on this processor instead of the configured one; a checkpoint is the same on all.
    pub fn resume_on(directory: &Path, device: Option<Device>) -> Result<Self, RunError> {
        let (mut config, config_text) = directory::read_config(directory)?;
        config.run.device = device.unwrap_or(config.run.device);
        let lock = lock(directory)?;
        if !directory::has_checkpoint(directory)? {
            return Self::begin(config, directory, lock);
        }
        let path = directory.join(CHECKPOINT);
        let payload = artifact::open(&path)?;
        let checkpoint: Checkpoint<'_> =
            postcard::from_bytes(&payload).map_err(|_| directory::of_another_version(&path))?;
        if checkpoint.config != config_text {
            return Err(directory::config_has_changed(directory));
        }
        let mut trainer = Trainer::new(&config)?;
        trainer
            .restore(checkpoint.trainer)
            .map_err(|error| RunError(format!("{}: {error}", path.display())))?;
        let logs = Logs::resume(directory, &checkpoint.logs, &trainer)?;
        let mut run = Self::new(directory, config, config_text, trainer, logs, lock);
        run.best = checkpoint.best;
        run.before = (checkpoint.wall_seconds, checkpoint.cpu_seconds);
        Ok(run)
    }

    fn new(directory: &Path, config: Config, config_text: String, trainer: Trainer, logs: Logs, lock: File) -> Self {
        Self {
            directory: directory.to_path_buf(),
            config,
            config_text,
            steps_before: trainer.counters.steps,
            trainer,
            logs,
            best: Best::default(),
            before: (0.0, 0.0),
            started: Instant::now(),
            cpu_clock: usage::thread_cpu_seconds,
            // A worker's start belongs to its run.
            cpu_started: usage::thread_cpu_seconds() + ended_cpu_seconds(),
            _lock: lock,
        }
    }

    /// Lets up to `threads` threads step the environments of this run, the only one of the process; results do not depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        self.trainer.use_threads(threads);
        self.cpu_clock = usage::process_cpu_seconds;
    }

    /// What the processor of the networks calls itself, where it is not this one.
    pub fn device(&self) -> Option<String> {
        self.trainer.device()
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Trains until the budget is spent or `stop` is set, telling `observe` how it goes.
    ///
    /// When stopped it finishes the phase and saves; after an error the last good checkpoint stays as it was.
    pub fn train(&mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Progress<'_>)) -> Result<RunEnd, RunError> {
        self.started = Instant::now();
        self.cpu_started = (self.cpu_clock)();
        let run = &self.config.run;
        let share = |interval: Option<u64>, parts: u64| interval.unwrap_or((run.steps / parts).max(1));
        let log_every = share(run.log_interval, 100);
        let evaluate_every = share(run.eval_interval, 10);
        let checkpoint_every = share(run.checkpoint_interval, 10);
        let least_checkpoint = if run.checkpoint_interval.is_some() {
            0.0
        } else {
            LEAST_CHECKPOINT
        };
        let crosses = |every: u64, before: u64, now: u64| every > 0 && now / every > before / every;

        let (mut reported, mut checkpointed) = (self.started, self.started);
        while !self.trainer.is_finished() {
            let before = self.trainer.counters.steps;
            self.trainer.iterate().map_err(|error| self.stopped_by(&error))?;
            for decision in self.trainer.hyper.take_decisions() {
                self.logs.decision(&decision);
            }
            let now = self.trainer.counters.steps;
            let finished = self.trainer.is_finished();
            let evaluation = match crosses(evaluate_every, before, now) || (finished && evaluate_every > 0) {
                true => Some(self.evaluate()?),
                false => None,
            };
            if crosses(log_every, before, now) || evaluation.is_some() || finished {
                if self.best.take_training(self.config.run.best_by, &self.trainer.counters) {
                    self.keep_as_best()?;
                }
                let best = self.best.evaluation;
                self.logs
                    .metrics(&self.trainer, self.wall_seconds(), evaluation.as_ref(), best)?;
            }
            let is_long = self.trainer.rollout.batch_size() > 1000;
            if (is_long || self.trainer.counters.rollouts.is_multiple_of(16))
                && reported.elapsed().as_secs_f64() > REPORT_EVERY
            {
                observe(&self.progress());
                reported = Instant::now();
            }
            if finished || stop.load(Ordering::Relaxed) {
                break;
            }
            if crosses(checkpoint_every, before, now) && checkpointed.elapsed().as_secs_f64() >= least_checkpoint {
                self.save()?;
                checkpointed = Instant::now();
            }
        }
        let policy_sha256 = self.save()?;
        observe(&self.progress());
        if !self.trainer.is_finished() {
            return Ok(RunEnd::Interrupted {
                steps: self.trainer.counters.steps,
            });
        }
        let best_checkpoint = self.best.checkpoint(&self.config.run, &self.directory)?;
        let result = self.result(policy_sha256, best_checkpoint);
        let text = serde_json::to_string_pretty(&result).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(RESULT), text.as_bytes())?;
        Ok(RunEnd::Finished(result))
    }

    /// One evaluation; the best policy so far is kept.
    fn evaluate(&mut self) -> Result<Evaluation, RunError> {
        let run = &self.config.run;
        let evaluation = self
            .trainer
            .evaluate(run)
            .map_err(|error| self.stopped_by(&TrainError::Environment(error)))?;
        if self.best.take_evaluation(run.best_by, evaluation.mean_return()) {
            self.keep_as_best()?;
        }
        Ok(evaluation)
    }

    fn keep_as_best(&mut self) -> Result<(), RunError> {
        let policy = self.policy_bytes()?;
        Ok(artifact::write_atomically(self.directory.join(BEST_POLICY), &policy)?)
    }

    /// Writes the latest policy and the checkpoint; returns the policy's hash.
    fn save(&mut self) -> Result<String, RunError> {
        let policy = self.policy_bytes()?;
        artifact::write_atomically(self.directory.join(LAST_POLICY), &policy)?;
        let checkpoint = Checkpoint {
            config: Cow::Borrowed(&self.config_text),
            logs: self.logs.sync()?,
            trainer: self.trainer.save(),
            best: self.best,
            wall_seconds: self.wall_seconds(),
            cpu_seconds: self.cpu_seconds(),
        };
        let payload = postcard::to_stdvec(&checkpoint).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(CHECKPOINT), &artifact::seal(payload))?;
        Ok(artifact::sha256_hex(&policy))
    }

    /// The policy as a file; everything of the trainer is here afterwards.
    fn policy_bytes(&mut self) -> Result<Vec<u8>, RunError> {
        self.trainer.fetch().map_err(|error| self.stopped_by(&error))?;
        let (run, trainer) = (&self.config.run, &self.trainer);
        let settings = &self.config.policy;
        let normalizes = run.normalize_observations;
        Ok(policy_file::encode(
            &self.config.task()?,
            settings,
            &trainer.policy,
            &trainer.normalizer,
            normalizes,
        )?)
    }

    fn wall_seconds(&self) -> f64 {
        self.before.0 + self.started.elapsed().as_secs_f64()
    }

    fn cpu_seconds(&self) -> f64 {
        self.before.1 + self.trainer.cpu_seconds(self.cpu_clock) - self.cpu_started
    }

    fn progress(&self) -> Progress<'_> {
        let (trainer, counters) = (&self.trainer, &self.trainer.counters);
        let steps_per_second =
            (counters.steps - self.steps_before) as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        // Where rollouts differ in length, the end is known when it has come.
        let total_steps = match trainer.is_finished() {
            true => counters.steps,
            false => self.config.total_steps(),
        };
        let insight = trainer.hyper.insight();
        let names = trainer.hyper.space().axes().iter().map(|axis| axis.name.as_str());
        Progress {
            steps: counters.steps,
            total_steps,
            steps_per_second,
            seconds_left: total_steps.saturating_sub(counters.steps) as f64 / steps_per_second.max(1e-9),
            mean_return: counters.mean_return(),
            human_normalised: trainer.human_normalised(counters.mean_return()),
            best_evaluation: self.best.evaluation,
            hyperparameters: names.zip(trainer.hyper.values().iter().copied()).collect(),
            epsilon: insight.epsilon,
            memory: insight.memory,
            members: Vec::new(),
        }
    }

    fn result(&self, policy_sha256: String, best_checkpoint: Option<f64>) -> RunResult {
        let (run, counters) = (&self.config.run, &self.trainer.counters);
        let wall_seconds = self.wall_seconds();
        RunResult {
            task: run.task.clone(),
            algo: run.algo.name().to_string(),
            scheduler: run.scheduler.name().to_string(),
            seed: run.seed,
            steps: counters.steps,
            episodes: counters.episodes,
            return_last_100: counters.mean_return(),
            best_evaluation: self.best.evaluation,
            best_checkpoint,
            human_normalised: self.trainer.human_normalised(counters.mean_return()),
            steps_per_second: counters.steps as f64 / wall_seconds.max(1e-9),
            wall_seconds,
            cpu_seconds: self.cpu_seconds(),
            peak_memory_mb: usage::peak_memory_mb(),
            policy_sha256,
            hyper_seconds: self.trainer.hyper.costs().map(|costs| Box::new(costs.into())),
            population: None,
        }
    }

    fn stopped_by(&self, error: &TrainError) -> RunError {
        let checkpoint = match self.directory.join(CHECKPOINT).exists() {
            true => format!("the last good checkpoint is in {}", self.directory.display()),
            false => "it happened before the first checkpoint".to_string(),
        };
        // A traceback goes below all that is said in a sentence.
        let told = error.to_string();
        let (sentence, details) = told.split_at(told.find('\n').unwrap_or(told.len()));
        RunError(format!(
            "stopped after {} steps: {sentence}; {checkpoint}{details}",
            self.trainer.counters.steps
        ))
    }
}
