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
//! Files are written whole or not at all, and logs are cut back to the checkpoint at resume, so that a run that was killed at
//! any moment and resumed ends with the same bytes as one that was not.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use epgt_envs::ended_worker_cpu_seconds;
use serde::{Deserialize, Serialize};

use crate::artifact;
use crate::best::{self, Best, Head};
use crate::cadence::{Cadence, Due, crosses};
use crate::directory::{self, Opened, ResumeWith};
use crate::eval_budget::EvalBudget;
use crate::logs::{LogLengths, Logs};
use crate::outcome::{HyperSeconds, Progress, RunEnd, RunError, RunResult};
use crate::policy_file::{self, EncodedPolicy};
use crate::trainer::{SavedTrainer, TrainError, Trainer};
use crate::{Config, Evaluation, usage};

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
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2000)])?;
/// let mut run = Run::create(config, &directory, false).unwrap();
/// let end = run.train(&Default::default(), &mut |_| {}).unwrap();
/// assert!(matches!(end, RunEnd::Finished(result) if result.steps == 2000));
/// assert!(directory.join("best.safetensors").exists());
/// # Ok::<(), String>(())
/// ```
pub struct Run {
    directory: PathBuf,
    config: Config,
    config_text: String,
    trainer: Trainer,
    logs: Logs,
    best: Best,
    /// The best policy's file.
    kept: Option<EncodedPolicy>,
    budget: EvalBudget,
    due: Option<Due>,
    /// What it had taken before this process took over.
    before: Spent,
    /// Steps that were done when this process took over.
    steps_before: u64,
    started: Instant,
    /// Of the training thread, or of the process where the run has it to itself; workers come on top.
    cpu_clock: fn() -> f64,
    cpu_started: f64,
    /// What the user should be told, once.
    notes: Vec<String>,
    has_told_of_cuts: bool,
    /// Held as long as the run is open, so that no second process trains in the same directory.
    _lock: File,
}

impl Run {
    /// Starts a run in a new directory, or an empty one. A run that is there is only replaced with `force`, and then only its own
    /// files; a directory with other files is always refused.
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        if config.scheduler.population().is_some() {
            let name = config.run.scheduler.name();
            return Err(RunError(format!(
                "the scheduler {name} takes a population; start it with Training::create"
            )));
        }
        directory::refuse_taken(directory, force)?;
        // What cannot be trained leaves no directory behind.
        let trainer = Trainer::new(&config)?;
        let lock = directory::take(directory, force)?;
        let config_text = config.to_toml();
        directory::begin(directory, &config_text, None)?;
        let logs = Logs::create(directory, &trainer)?;
        Ok(Self::new(directory, config, config_text, trainer, logs, lock))
    }

    /// Goes on from the last checkpoint of a run, or from its start if it was stopped before the first.
    pub fn resume(directory: &Path) -> Result<Self, RunError> {
        Self::resume_with(directory, ResumeWith::default())
    }

    /// [`resume`](Self::resume) on another processor, or to another number of steps.
    pub fn resume_with(directory: &Path, with: ResumeWith) -> Result<Self, RunError> {
        let mut opened = directory::open(directory, with)?;
        let Some(payload) = opened.checkpoint.take() else {
            let Opened {
                config,
                config_text,
                lock,
                marker,
                ..
            } = opened;
            let trainer = Trainer::new(&config)?;
            directory::begin(directory, &config_text, Some(marker))?;
            let logs = Logs::create(directory, &trainer)?;
            return Ok(Self::new(directory, config, config_text, trainer, logs, lock));
        };
        let path = directory.join(CHECKPOINT);
        let checkpoint: Checkpoint<'_> =
            postcard::from_bytes(&payload).map_err(|_| directory::of_another_version(&path))?;
        opened.check_fits(directory, &checkpoint.head.config)?;
        let mut trainer = Trainer::for_checkpoint(&opened.config)?;
        trainer
            .restore(checkpoint.trainer)
            .map_err(|error| RunError(format!("{}: {error}", path.display())))?;
        opened.check_steps(trainer.counters.steps)?;
        let logs = Logs::resume(directory, &checkpoint.logs, &trainer)?;
        let kept = checkpoint.head.best.into_owned();
        let restored = best::restore(directory, kept.as_ref())?;
        opened.note(directory, trainer.is_finished() && checkpoint.due.is_none())?;
        let Opened {
            config,
            config_text,
            lock,
            ..
        } = opened;
        let mut run = Self::new(directory, config, config_text, trainer, logs, lock);
        run.best = checkpoint.best;
        run.kept = kept;
        run.budget = checkpoint.budget;
        run.due = checkpoint.due;
        run.before = checkpoint.spent;
        run.notes.extend(restored);
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
            kept: None,
            budget: EvalBudget::default(),
            due: None,
            before: Spent::default(),
            started: Instant::now(),
            cpu_clock: usage::thread_cpu_seconds,
            // A worker's start belongs to its run.
            cpu_started: usage::thread_cpu_seconds() + ended_worker_cpu_seconds(),
            notes: Vec::new(),
            has_told_of_cuts: false,
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

    /// Environment steps that are done.
    pub fn steps_done(&self) -> u64 {
        self.trainer.counters.steps
    }

    /// Whether nothing is left to do.
    fn is_finished(&self) -> bool {
        self.trainer.is_finished() && self.due.is_none()
    }

    /// Trains until the budget is spent or `stop` is set, telling `observe` how it goes.
    ///
    /// When stopped it finishes the phase, or leaves the evaluation that it is at for later, and saves; after an error the last good
    /// checkpoint stays as it was. A run that had finished before has its result again.
    pub fn train(&mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Progress)) -> Result<RunEnd, RunError> {
        if let Some(result) = self.is_finished().then(|| earlier_result(&self.directory)).flatten() {
            if !self.notes.is_empty() {
                observe(&self.progress());
            }
            return Ok(RunEnd::Finished(result));
        }
        self.started = Instant::now();
        self.cpu_started = (self.cpu_clock)();
        let cadence = Cadence::new(&self.config.run, 0);
        let least_checkpoint = match self.config.run.checkpoint_interval {
            Some(_) => 0.0,
            None => LEAST_CHECKPOINT,
        };

        let (mut reported, mut checkpointed) = (self.started, self.started);
        while !self.is_finished() {
            let before = self.trainer.counters.steps;
            if self.due.is_none() {
                self.trainer.iterate().map_err(|error| self.stopped_by(&error))?;
                for decision in self.trainer.hyper.take_decisions() {
                    self.logs.decision(&decision);
                }
                self.due = Some(cadence.due(before, &self.trainer, &self.config.run, &self.budget));
            }
            let (now, finished) = (self.trainer.counters.steps, self.trainer.is_finished());
            if let Some(due) = self.due
                && !self.log_what_is_due(due, stop, observe)?
            {
                break;
            }
            self.due = None;
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
            if crosses(cadence.checkpoint, before, now) && checkpointed.elapsed().as_secs_f64() >= least_checkpoint {
                self.save()?;
                checkpointed = Instant::now();
            }
        }
        let policy_sha256 = self.save()?;
        observe(&self.progress());
        let interrupted = RunEnd::Interrupted {
            steps: self.trainer.counters.steps,
        };
        if !self.is_finished() {
            return Ok(interrupted);
        }
        let mut final_score = None;
        if self.best.has_final_score(&self.config.run) {
            let mut watch = watched(self.progress(), self.config.run.final_episodes, stop, observe);
            match best::play_best(&self.config, &self.directory, &mut watch)? {
                None => return Ok(interrupted),
                Some(evaluation) => final_score = Some(evaluation.mean_return()),
            }
        }
        let result = self.result(policy_sha256, final_score);
        let text = serde_json::to_string_pretty(&result).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(RESULT), text.as_bytes())?;
        Ok(RunEnd::Finished(result))
    }

    /// Evaluates and logs; says whether that could be done before `stop` was set.
    fn log_what_is_due(
        &mut self,
        due: Due,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<bool, RunError> {
        let mut evaluation = None;
        if due.episodes > 0 {
            evaluation = self.evaluate(due.episodes, stop, observe)?;
            if evaluation.is_none() {
                return Ok(false);
            }
        }
        if due.log {
            if self.best.take_training(self.config.run.best_by, &self.trainer.counters) {
                self.keep_as_best()?;
            }
            let best = self.best.evaluation;
            self.logs
                .metrics(&self.trainer, self.wall_seconds(), evaluation.as_ref(), best)?;
        }
        Ok(true)
    }

    /// One evaluation; the best policy so far is kept. `None` where it was stopped.
    fn evaluate(
        &mut self,
        episodes: usize,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Option<Evaluation>, RunError> {
        let mut watch = watched(self.progress(), episodes, stop, observe);
        let run = &self.config.run;
        let evaluation = self.trainer.evaluate(run, episodes, &mut watch);
        drop(watch);
        let evaluation = evaluation.map_err(|error| self.stopped_by(&TrainError::Environment(error)))?;
        let Some(evaluation) = evaluation else { return Ok(None) };
        self.budget.take(&evaluation);
        if let Some(sentence) = evaluation.cut_sentence(self.config.run.eval_max_steps)
            && !std::mem::replace(&mut self.has_told_of_cuts, true)
        {
            self.notes.push(format!("{sentence} (eval_max_steps)."));
        }
        if self
            .best
            .take_evaluation(self.config.run.best_by, evaluation.mean_return())
        {
            self.keep_as_best()?;
        }
        Ok(Some(evaluation))
    }

    fn keep_as_best(&mut self) -> Result<(), RunError> {
        let policy = self.policy_bytes()?;
        artifact::write_atomically(self.directory.join(BEST_POLICY), &policy.bytes)?;
        self.kept = Some(policy);
        Ok(())
    }

    /// Writes the latest policy and the checkpoint; returns the policy's digest.
    fn save(&mut self) -> Result<String, RunError> {
        let policy = self.policy_bytes()?;
        artifact::write_atomically(self.directory.join(LAST_POLICY), &policy.bytes)?;
        let checkpoint = Checkpoint {
            head: Head {
                config: Cow::Borrowed(&self.config_text),
                best: Cow::Borrowed(&self.kept),
            },
            logs: self.logs.sync()?,
            trainer: self.trainer.save(),
            best: self.best,
            budget: self.budget,
            due: self.due,
            spent: self.spent(),
        };
        let payload = postcard::to_stdvec(&checkpoint).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(CHECKPOINT), &artifact::seal(payload))?;
        Ok(policy.digest)
    }

    /// The policy as a file; everything of the trainer is here afterwards.
    fn policy_bytes(&mut self) -> Result<EncodedPolicy, RunError> {
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
        self.before.wall_seconds + self.started.elapsed().as_secs_f64()
    }

    /// What the run has taken until now, over all resumes.
    fn spent(&self) -> Spent {
        let cpu = self.trainer.cpu_seconds(self.cpu_clock) - self.cpu_started;
        let hyper = self.trainer.hyper.costs().map(HyperSeconds::from);
        Spent {
            wall_seconds: self.wall_seconds(),
            cpu_seconds: self.before.cpu_seconds + cpu,
            hyper: hyper.map(|now| self.before.hyper.unwrap_or_default().plus(&now)),
        }
    }

    /// How it goes, with what is to be told once.
    fn progress(&mut self) -> Progress {
        let notes = std::mem::take(&mut self.notes);
        let (trainer, counters) = (&self.trainer, &self.trainer.counters);
        let steps_per_second =
            (counters.steps - self.steps_before) as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        // Where rollouts differ in length, the end is known when it has come.
        let total_steps = match trainer.is_finished() {
            true => counters.steps,
            false => self.config.total_steps(),
        };
        let insight = trainer.hyper.insight();
        let names = trainer.hyper.space().axes().iter().map(|axis| axis.name.clone());
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
            evaluating: None,
            notes,
        }
    }

    fn result(&self, policy_sha256: String, best_checkpoint: Option<f64>) -> RunResult {
        let (run, counters) = (&self.config.run, &self.trainer.counters);
        let spent = self.spent();
        RunResult {
            task: run.task.clone(),
            algo: run.algo.name().to_string(),
            scheduler: run.scheduler.name().to_string(),
            seed: run.seed,
            steps: counters.steps,
            steps_asked: run.steps,
            episodes: counters.episodes,
            return_last_100: counters.mean_return(),
            best_evaluation: self.best.evaluation,
            best_checkpoint,
            human_normalised: self.trainer.human_normalised(counters.mean_return()),
            steps_per_second: counters.steps as f64 / spent.wall_seconds.max(1e-9),
            wall_seconds: spent.wall_seconds,
            cpu_seconds: spent.cpu_seconds,
            peak_memory_mb: usage::peak_memory_mb(),
            policy_sha256,
            best_policy_sha256: self.kept.as_ref().map(|policy| policy.digest.clone()),
            hyper_seconds: spent.hyper.map(Box::new),
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

/// Tells `observe` now and then how many of an evaluation's episodes have ended, and stops it where `stop` is set.
pub(crate) fn watched<'a>(
    mut progress: Progress,
    episodes: usize,
    stop: &'a AtomicBool,
    observe: &'a mut dyn FnMut(&Progress),
) -> impl FnMut(usize) -> bool + 'a {
    let mut told: Option<Instant> = None;
    move |ended| {
        if told.is_none_or(|told| told.elapsed().as_secs_f64() > REPORT_EVERY) {
            progress.evaluating = Some((ended, episodes));
            observe(&progress);
            progress.notes.clear();
            told = Some(Instant::now());
        }
        !stop.load(Ordering::Relaxed)
    }
}

/// The result of a run that has finished.
pub(crate) fn earlier_result(directory: &Path) -> Option<RunResult> {
    crate::record::read_result(directory).ok().flatten()
}
