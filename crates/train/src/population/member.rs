//! One member of a population: an ordinary trainer with the scheduler `fixed`, its logs, and its evaluations.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use super::workers::Order;
use crate::best::Best;
use crate::cadence::Due;
use crate::directory::unusable;
use crate::eval_budget::EvalBudget;
use crate::logs::{LogLengths, Logs};
use crate::outcome::RunError;
use crate::policy_file::{self, EncodedPolicy};
use crate::trainer::{SavedTrainer, TrainError, Trainer};
use crate::{Config, usage};

/// When a population began, and the seconds it had spent before.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub started: Instant,
    pub before: f64,
}

impl Clock {
    pub fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }
}

/// What a display may look at while a member trains.
pub(super) struct Gauge {
    steps: AtomicU64,
    trained: AtomicU64,
    /// The bits of the score; those of a number that is not one while there is none.
    score: AtomicU64,
    /// Episodes of the evaluation that it is at, and how many of them have ended.
    judged: (AtomicUsize, AtomicUsize),
    /// The values in force.
    pub values: Vec<f64>,
}

impl Gauge {
    /// A gauge that shows how a member stands.
    pub fn of(member: &Member) -> Self {
        let gauge = Self {
            steps: AtomicU64::new(0),
            trained: AtomicU64::new(0),
            score: AtomicU64::new(0),
            judged: Default::default(),
            values: member.trainer.hyper.values().to_vec(),
        };
        gauge.show(member);
        gauge
    }

    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub fn trained(&self) -> u64 {
        self.trained.load(Ordering::Relaxed)
    }

    pub fn score(&self) -> Option<f64> {
        let score = f64::from_bits(self.score.load(Ordering::Relaxed));
        (!score.is_nan()).then_some(score)
    }

    /// Episodes that have ended and all episodes of the evaluation that it is at; none while it trains.
    pub fn judged(&self) -> (usize, usize) {
        let (episodes, ended) = &self.judged;
        (ended.load(Ordering::Relaxed), episodes.load(Ordering::Relaxed))
    }

    fn show_judged(&self, ended: usize, episodes: usize) {
        self.judged.0.store(episodes, Ordering::Relaxed);
        self.judged.1.store(ended, Ordering::Relaxed);
    }

    fn show(&self, member: &Member) {
        self.steps.store(member.trainer.counters.steps, Ordering::Relaxed);
        self.trained.store(member.record.trained, Ordering::Relaxed);
        let score = member.score().unwrap_or(f64::NAN);
        self.score.store(score.to_bits(), Ordering::Relaxed);
    }
}

/// One member.
pub(super) struct Member {
    pub trainer: Trainer,
    config: Config,
    logs: Logs,
    pub record: Record,
    /// The policy that is its best so far, if it was found since the members last met, with its score.
    pub candidate: Option<(f64, EncodedPolicy)>,
    /// One sentence on evaluated episodes that did not end, once there were some.
    pub cut: Option<String>,
}

/// What a checkpoint holds of a member besides its trainer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Environment steps that it has itself taken; the trainer counts those of the lineage of its weights.
    pub trained: u64,
    /// Why it stopped; it goes on when it copies another.
    pub diverged: Option<String>,
    /// Its last evaluation since the members met.
    pub evaluated: Option<f64>,
    /// Its best scores.
    pub best: Best,
    budget: EvalBudget,
    due: Option<Due>,
    pub cpu_seconds: f64,
}

/// A member's part of a checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedMember<'a> {
    trainer: SavedTrainer<'a>,
    logs: LogLengths,
    record: Record,
}

impl Member {
    /// What member `index` of a population with this configuration begins with.
    pub fn trainer(config: &Config, index: usize, values: &[f64]) -> Result<Trainer, String> {
        let mut trainer = Trainer::new(&member_config(config, index))?;
        trainer.keep(values);
        Ok(trainer)
    }

    /// Member `index` of a population with this configuration, at its start.
    pub fn create(config: &Config, index: usize, directory: &Path, trainer: Trainer) -> Result<Self, RunError> {
        let (config, directory) = (member_config(config, index), member_directory(directory, index));
        std::fs::create_dir_all(&directory).map_err(|error| unusable(&directory, &error))?;
        let logs = Logs::create(&directory, &trainer)?;
        Ok(Self::new(config, trainer, logs))
    }

    /// Member `index` as a checkpoint holds it.
    pub fn resume(config: &Config, index: usize, directory: &Path, saved: SavedMember<'_>) -> Result<Self, RunError> {
        let (config, directory) = (member_config(config, index), member_directory(directory, index));
        let mut trainer = Trainer::for_checkpoint(&config)?;
        trainer.restore(saved.trainer)?;
        let logs = Logs::resume(&directory, &saved.logs, &trainer)?;
        let mut member = Self::new(config, trainer, logs);
        member.record = saved.record;
        Ok(member)
    }

    fn new(config: Config, trainer: Trainer, logs: Logs) -> Self {
        Self {
            trainer,
            config,
            logs,
            record: Record::default(),
            candidate: None,
            cut: None,
        }
    }

    /// What a checkpoint must hold.
    pub fn save(&mut self) -> Result<SavedMember<'_>, RunError> {
        Ok(SavedMember {
            logs: self.logs.sync()?,
            trainer: self.trainer.save(),
            record: self.record.clone(),
        })
    }

    /// Mean return of its last hundred episodes; `None` before the first, or when it has diverged.
    pub fn score(&self) -> Option<f64> {
        match self.record.diverged {
            Some(_) => None,
            None => self.trainer.counters.mean_return(),
        }
    }

    /// Whether its budget is spent and all is logged, or it cannot go on.
    pub fn is_done(&self) -> bool {
        self.record.diverged.is_some() || (self.trainer.is_finished() && self.record.due.is_none())
    }

    /// Whether it has come as far as `target`, and all that was due on the way is done.
    pub fn has_reached(&self, target: u64) -> bool {
        self.is_done() || (self.trainer.counters.steps >= target && self.record.due.is_none())
    }

    /// Takes over another's state; the values in force have to be given afterwards.
    pub fn adopt(&mut self, other: &Self) {
        self.trainer.adopt(&other.trainer);
        self.record.diverged = None;
    }

    /// Trains until the target, or for one phase where it should stop. A member that diverges stays at its last good update.
    pub fn train(&mut self, order: &Order<'_>, gauge: &Gauge) -> Result<(), RunError> {
        let cpu = self.trainer.cpu_seconds(usage::thread_cpu_seconds);
        while !self.has_reached(order.target) {
            if self.record.due.is_none() {
                let before = self.trainer.counters.steps;
                match self.trainer.iterate() {
                    Ok(()) => {}
                    Err(TrainError::Environment(error)) => return Err(RunError(error.to_string())),
                    Err(error) => {
                        self.record.diverged = Some(error.to_string());
                        break;
                    }
                }
                for decision in self.trainer.hyper.take_decisions() {
                    self.logs.decision(&decision);
                }
                self.record.trained += self.trainer.counters.steps - before;
                let (run, budget) = (&self.config.run, &self.record.budget);
                self.record.due = Some(order.cadence.due(before, &self.trainer, run, budget));
            }
            if let Some(due) = self.record.due
                && !self.log_what_is_due(due, order, gauge)?
            {
                break;
            }
            self.record.due = None;
            gauge.show(self);
            if order.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        self.record.cpu_seconds += self.trainer.cpu_seconds(usage::thread_cpu_seconds) - cpu;
        Ok(())
    }

    /// Evaluates and logs; says whether that could be done before it should stop.
    fn log_what_is_due(&mut self, due: Due, order: &Order<'_>, gauge: &Gauge) -> Result<bool, RunError> {
        let mut evaluation = None;
        if due.episodes > 0 {
            evaluation = self.evaluate(due.episodes, order, gauge)?;
            if evaluation.is_none() {
                return Ok(false);
            }
        }
        if due.log {
            let counters = &self.trainer.counters;
            if self.record.best.take_training(self.config.run.best_by, counters) {
                let score = counters.mean_return().unwrap_or(f64::NEG_INFINITY);
                self.candidate = Some((score, self.policy_bytes()?));
            }
            let (elapsed, best) = (order.clock.seconds(), self.record.best.evaluation);
            self.logs.metrics(&self.trainer, elapsed, evaluation.as_ref(), best)?;
        }
        Ok(true)
    }

    fn evaluate(
        &mut self,
        episodes: usize,
        order: &Order<'_>,
        gauge: &Gauge,
    ) -> Result<Option<crate::Evaluation>, RunError> {
        let run = &self.config.run;
        let evaluation = self.trainer.evaluate(run, episodes, &mut |ended| {
            gauge.show_judged(ended, episodes);
            !order.stop.load(Ordering::Relaxed)
        });
        gauge.show_judged(0, 0);
        let Some(evaluation) = evaluation.map_err(|error| RunError(error.to_string()))? else {
            return Ok(None);
        };
        self.record.budget.take(&evaluation);
        self.cut = self.cut.take().or(evaluation.cut_sentence(run.eval_max_steps));
        let mean = evaluation.mean_return();
        self.record.evaluated = Some(mean);
        if self.record.best.take_evaluation(run.best_by, mean) {
            self.candidate = Some((mean, self.policy_bytes()?));
        }
        Ok(Some(evaluation))
    }

    /// The present policy as its file's bytes.
    pub fn policy_bytes(&self) -> Result<EncodedPolicy, RunError> {
        let (config, trainer) = (&self.config, &self.trainer);
        let normalizes = config.run.normalize_observations;
        let task = config.task()?;
        Ok(policy_file::encode(
            &task,
            &config.policy,
            &trainer.policy,
            &trainer.normalizer,
            normalizes,
        )?)
    }
}

/// A member's own run: constant values, and a seed of its own.
fn member_config(config: &Config, index: usize) -> Config {
    let mut own = config.clone();
    own.keep_values();
    own.run.seed = Pcg64::for_purpose(config.run.seed, "member", index as u64).next_u64() >> 1;
    own
}

fn member_directory(directory: &Path, index: usize) -> PathBuf {
    directory.join(super::MEMBERS).join(index.to_string())
}
