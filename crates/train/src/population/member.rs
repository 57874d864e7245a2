//! One member of a population: the loop of an ordinary run with the scheduler `fixed`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use super::workers::Order;
use crate::best::Best;
use crate::cadence::Due;
use crate::directory::unusable;
use crate::eval_budget::EvalBudget;
use crate::logs::LogLengths;
use crate::observer::Observer;
use crate::outcome::{Progress, RunError};
use crate::policy_file::EncodedPolicy;
use crate::run_loop::{Phase, PhaseError, RunLoop};
use crate::trainer::{SavedTrainer, TrainError, Trainer};
use crate::{Config, SetupError, usage};

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
            values: member.run.trainer.hyper.values().to_vec(),
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
        self.steps.store(member.steps(), Ordering::Relaxed);
        self.trained.store(member.trained, Ordering::Relaxed);
        let score = member.score().unwrap_or(f64::NAN);
        self.score.store(score.to_bits(), Ordering::Relaxed);
    }
}

/// Shows a member's evaluations in its gauge, and collects what is to be told of them.
struct GaugeObserver<'a> {
    gauge: &'a Gauge,
    notes: &'a mut Vec<String>,
}

impl Observer for GaugeObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        let (ended, episodes) = progress.evaluating.unwrap_or((0, 0));
        self.gauge.show_judged(ended, episodes);
        self.notes.extend_from_slice(&progress.notes);
    }
}

/// One member.
pub(super) struct Member {
    pub run: RunLoop,
    /// Environment steps that it has itself taken; the trainer counts those of the lineage of its weights.
    pub trained: u64,
    /// Why it stopped; it goes on when it copies another.
    pub diverged: Option<String>,
    /// Its last evaluation since the members met.
    pub evaluated: Option<f64>,
    pub cpu_seconds: f64,
    /// What the user should be told, once.
    pub notes: Vec<String>,
}

/// A member's part of a checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedMember<'a> {
    trainer: SavedTrainer<'a>,
    logs: LogLengths,
    record: Record,
}

/// What a checkpoint holds of a member besides its trainer.
#[derive(Serialize, Deserialize)]
struct Record {
    trained: u64,
    diverged: Option<String>,
    evaluated: Option<f64>,
    best: Best,
    budget: EvalBudget,
    due: Option<Due>,
    cpu_seconds: f64,
}

impl Member {
    /// What member `index` of a population with this configuration begins with.
    pub fn trainer(config: &Config, index: usize, values: &[f64]) -> Result<Trainer, SetupError> {
        let mut trainer = Trainer::new(&member_config(config, index))?;
        trainer.keep(values);
        Ok(trainer)
    }

    /// Member `index` of a population with this configuration, at its start.
    pub fn create(config: &Config, index: usize, directory: &Path, trainer: Trainer) -> Result<Self, RunError> {
        let directory = member_directory(directory, index);
        std::fs::create_dir_all(&directory).map_err(|error| unusable(&directory, &error))?;
        Ok(Self {
            run: RunLoop::create(member_config(config, index), trainer, &directory)?,
            trained: 0,
            diverged: None,
            evaluated: None,
            cpu_seconds: 0.0,
            notes: Vec::new(),
        })
    }

    /// Member `index` as a checkpoint holds it.
    pub fn resume(config: &Config, index: usize, directory: &Path, saved: SavedMember<'_>) -> Result<Self, RunError> {
        let (config, directory) = (member_config(config, index), member_directory(directory, index));
        let mut trainer = Trainer::for_checkpoint(&config)?;
        trainer.restore(saved.trainer)?;
        let mut run = RunLoop::resume(config, trainer, &directory, &saved.logs)?;
        let record = saved.record;
        run.best = record.best;
        run.budget = record.budget;
        run.due = record.due;
        Ok(Self {
            run,
            trained: record.trained,
            diverged: record.diverged,
            evaluated: record.evaluated,
            cpu_seconds: record.cpu_seconds,
            notes: Vec::new(),
        })
    }

    /// What a checkpoint must hold.
    pub fn save(&mut self) -> Result<SavedMember<'_>, RunError> {
        Ok(SavedMember {
            logs: self.run.sync()?,
            trainer: self.run.trainer.save(),
            record: Record {
                trained: self.trained,
                diverged: self.diverged.clone(),
                evaluated: self.evaluated,
                best: self.run.best,
                budget: self.run.budget,
                due: self.run.due,
                cpu_seconds: self.cpu_seconds,
            },
        })
    }

    /// Environment steps of the lineage of its weights.
    pub fn steps(&self) -> u64 {
        self.run.trainer.counters.steps
    }

    /// Mean return of its last hundred episodes; `None` before the first, or when it has diverged.
    pub fn score(&self) -> Option<f64> {
        match self.diverged {
            Some(_) => None,
            None => self.run.trainer.counters.mean_return(),
        }
    }

    /// Whether its budget is spent and all is logged, or it cannot go on.
    pub fn is_done(&self) -> bool {
        self.diverged.is_some() || self.run.is_finished()
    }

    /// Whether it has come as far as `target`, and all that was due on the way is done.
    pub fn has_reached(&self, target: u64) -> bool {
        self.is_done() || (self.steps() >= target && self.run.due.is_none())
    }

    /// Takes over another's state; the values in force have to be given afterwards.
    pub fn adopt(&mut self, other: &Self) -> Result<(), RunError> {
        self.run.trainer.adopt(&other.run.trainer)?;
        self.diverged = None;
        Ok(())
    }

    /// Trains until the target, or for one phase where it should stop. A member that diverges stays at its last good
    /// update.
    pub fn train(&mut self, order: &Order<'_>, gauge: &Gauge) -> Result<(), RunError> {
        let cpu = self.run.trainer.cpu_seconds(usage::thread_cpu_seconds);
        while !self.has_reached(order.target) {
            let before = self.steps();
            let mut observer = GaugeObserver {
                gauge,
                notes: &mut self.notes,
            };
            let phase = self.run.advance(&order.conditions, &mut observer);
            gauge.show_judged(0, 0);
            self.trained += self.steps() - before;
            match phase {
                Ok(Phase::Done(evaluated)) => self.evaluated = evaluated.or(self.evaluated),
                Ok(Phase::Stopped) => break,
                Err(PhaseError::Training(TrainError::Environment(error))) => return Err(RunError::Environment(error)),
                Err(PhaseError::Training(error)) => {
                    self.diverged = Some(error.to_string());
                    break;
                }
                Err(PhaseError::Run(error)) => return Err(error),
            }
            gauge.show(self);
            if order.conditions.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        self.cpu_seconds += self.run.trainer.cpu_seconds(usage::thread_cpu_seconds) - cpu;
        Ok(())
    }

    /// The present policy as its file's bytes.
    pub fn policy_bytes(&mut self) -> Result<EncodedPolicy, RunError> {
        self.run.policy_bytes().map_err(|error| match error {
            PhaseError::Run(error) => error,
            PhaseError::Training(cause) => RunError::Training {
                steps: self.steps(),
                cause,
                checkpoint: None,
            },
        })
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
