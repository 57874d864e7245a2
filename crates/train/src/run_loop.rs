//! The loop of every run: train for a phase, then do what is due. Single runs, the runs of several seeds and the
//! members of a population advance in this way; directories, checkpoints and threads are the business of whoever owns
//! the loop.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::best::Best;
use crate::cadence::{Cadence, Due};
use crate::eval_budget::EvalBudget;
use crate::logs::{self, LogLengths, Logs};
use crate::observer::{MetricsRow, Observer};
use crate::outcome::{Progress, RunError};
use crate::policy_file::{self, EncodedPolicy};
use crate::trainer::{TrainError, Trainer};
use crate::{Config, Evaluation};

/// Seconds between two reports of progress.
const REPORT_EVERY: f64 = 0.1;

/// When this process began to train, and the seconds that were spent before.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub started: Instant,
    pub before: f64,
}

impl Clock {
    /// A clock that starts now.
    pub fn after(before: f64) -> Self {
        Self {
            started: Instant::now(),
            before,
        }
    }

    pub fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }
}

/// What all phases of a run have in common.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<'a> {
    pub cadence: &'a Cadence,
    pub clock: &'a Clock,
    /// Whether an evaluation that is going on should be left for later.
    pub stop: &'a AtomicBool,
}

/// How a phase ended.
pub(crate) enum Phase {
    /// Everything was done; the mean return of the evaluation, where one was due.
    Done(Option<f64>),
    /// An evaluation was stopped. It is still due.
    Stopped,
}

/// Why a phase failed.
pub(crate) enum PhaseError {
    /// Training or an environment failed.
    Training(TrainError),
    /// A log or a policy could not be written, or an observer stopped the run.
    Run(RunError),
}

impl<E: Into<RunError>> From<E> for PhaseError {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

/// A trainer, its logs, its evaluations and what of them is still due.
pub(crate) struct RunLoop {
    pub config: Config,
    pub trainer: Trainer,
    logs: Logs,
    pub best: Best,
    pub budget: EvalBudget,
    pub due: Option<Due>,
    /// The best policy with its score, where it was found since it was last taken from here.
    pub candidate: Option<(f64, EncodedPolicy)>,
    /// What the user should be told, once.
    pub notes: Vec<String>,
    has_told_of_cuts: bool,
    /// Steps that were done when this process took over. A member of a population that copies another may have fewer
    /// again.
    steps_before: u64,
    reported: Instant,
}

impl RunLoop {
    /// The loop of a run that begins, with new logs in its directory.
    pub fn create(config: Config, trainer: Trainer, directory: &Path) -> Result<Self, RunError> {
        let logs = Logs::create(directory, &config, &trainer)?;
        Ok(Self::new(config, trainer, logs))
    }

    /// The loop of a run that goes on: its logs are cut back to what they were at the checkpoint.
    pub fn resume(config: Config, trainer: Trainer, directory: &Path, lengths: &LogLengths) -> Result<Self, RunError> {
        let logs = Logs::resume(directory, lengths, &trainer)?;
        Ok(Self::new(config, trainer, logs))
    }

    fn new(config: Config, trainer: Trainer, logs: Logs) -> Self {
        Self {
            config,
            steps_before: trainer.counters.steps,
            trainer,
            logs,
            best: Best::default(),
            budget: EvalBudget::default(),
            due: None,
            candidate: None,
            notes: Vec::new(),
            has_told_of_cuts: false,
            reported: Instant::now(),
        }
    }

    /// Whether the budget is spent, and nothing is due any more.
    pub fn is_finished(&self) -> bool {
        self.trainer.is_finished() && self.due.is_none()
    }

    /// Advances by one phase: trains, unless something was left for later, then evaluates and logs what is due.
    pub fn advance(&mut self, on: &Conditions<'_>, observer: &mut dyn Observer) -> Result<Phase, PhaseError> {
        let due = match self.due {
            Some(due) => due,
            None => {
                let before = self.trainer.counters.steps;
                self.trainer.iterate().map_err(PhaseError::Training)?;
                for decision in self.trainer.hyper.take_decisions() {
                    self.logs.decision(&decision)?;
                    observer.decision(&decision)?;
                }
                on.cadence.due(before, &self.trainer, &self.config.run, &self.budget)
            }
        };
        self.due = Some(due);
        let mut evaluation = None;
        if due.episodes > 0 {
            evaluation = self.evaluate(due.episodes, on, observer)?;
            if evaluation.is_none() {
                return Ok(Phase::Stopped);
            }
        }
        if due.log {
            self.log(evaluation.as_ref(), on.clock, observer)?;
        }
        self.due = None;
        let is_long = self.trainer.rollout.batch_size() > 1000;
        if (is_long || self.trainer.counters.rollouts.is_multiple_of(16))
            && self.reported.elapsed().as_secs_f64() > REPORT_EVERY
        {
            observer.progress(&self.progress(on.clock));
            self.reported = Instant::now();
        }
        Ok(Phase::Done(evaluation.as_ref().map(Evaluation::mean_return)))
    }

    /// One evaluation. `None` where it was stopped.
    fn evaluate(
        &mut self,
        episodes: usize,
        on: &Conditions<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Evaluation>, PhaseError> {
        let mut watch = watched(self.progress(on.clock), episodes, on.stop, observer);
        let run = &self.config.run;
        let evaluation = self.trainer.evaluate(run, episodes, &mut watch);
        drop(watch);
        let evaluation = evaluation.map_err(|error| PhaseError::Training(TrainError::Environment(error)))?;
        let Some(evaluation) = evaluation else { return Ok(None) };
        self.budget.take(&evaluation);
        if let Some(sentence) = evaluation.cut_sentence(run.eval_max_steps)
            && !std::mem::replace(&mut self.has_told_of_cuts, true)
        {
            self.notes.push(format!("{sentence} (eval_max_steps)."));
        }
        let mean = evaluation.mean_return();
        if self.best.take_evaluation(run.best_by, mean) {
            self.candidate = Some((mean, self.policy_bytes()?));
        }
        Ok(Some(evaluation))
    }

    /// A row of metrics.
    fn log(
        &mut self,
        evaluation: Option<&Evaluation>,
        clock: &Clock,
        observer: &mut dyn Observer,
    ) -> Result<(), PhaseError> {
        let counters = &self.trainer.counters;
        if self.best.take_training(self.config.run.best_by, counters) {
            let score = counters.mean_return().unwrap_or(f64::NEG_INFINITY);
            self.candidate = Some((score, self.policy_bytes()?));
        }
        let values = logs::metrics(&self.trainer, clock.seconds(), evaluation, self.best.evaluation);
        let row = MetricsRow {
            steps: self.trainer.counters.steps,
            values: &values,
        };
        self.logs.metrics(&row)?;
        observer.metrics(&row)?;
        Ok(())
    }

    /// Brings the logs to the disk and says how long they are.
    pub fn sync(&mut self) -> Result<LogLengths, RunError> {
        Ok(self.logs.sync()?)
    }

    /// The present policy as its file's bytes. The trainer has fetched everything from another processor afterwards.
    pub fn policy_bytes(&mut self) -> Result<EncodedPolicy, PhaseError> {
        self.trainer.fetch().map_err(PhaseError::Training)?;
        let (config, trainer) = (&self.config, &self.trainer);
        let policy = policy_file::encode(
            &config.task()?,
            &config.policy,
            &trainer.policy,
            &trainer.normalizer,
            config.run.normalize_observations,
        );
        Ok(policy.map_err(RunError::PolicyEncoding)?)
    }

    /// How it goes, with what is to be told once.
    pub fn progress(&mut self, clock: &Clock) -> Progress {
        let notes = std::mem::take(&mut self.notes);
        let (trainer, counters) = (&self.trainer, &self.trainer.counters);
        let seconds = clock.started.elapsed().as_secs_f64().max(1e-9);
        let steps_per_second = counters.steps.saturating_sub(self.steps_before) as f64 / seconds;
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
}

/// Tells an observer now and then how many of an evaluation's episodes have ended, and stops it where `stop` is set.
pub(crate) fn watched<'a>(
    mut progress: Progress,
    episodes: usize,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
) -> impl FnMut(usize) -> bool + 'a {
    let mut told: Option<Instant> = None;
    move |ended| {
        if told.is_none_or(|told| told.elapsed().as_secs_f64() > REPORT_EVERY) {
            progress.evaluating = Some((ended, episodes));
            observer.progress(&progress);
            progress.notes.clear();
            told = Some(Instant::now());
        }
        !stop.load(Ordering::Relaxed)
    }
}
