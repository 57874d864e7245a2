//! When something besides training is due: rows of metrics, evaluations, checkpoints, exchanges.

use serde::{Deserialize, Serialize};

use crate::eval_budget::EvalBudget;
use crate::{RunSettings, Trainer};

/// How often something is done, in environment steps; 0 is never.
#[derive(Clone, Copy)]
pub(crate) struct Cadence {
    pub log: u64,
    pub evaluate: u64,
    pub checkpoint: u64,
    pub exchange: u64,
}

impl Cadence {
    /// What a run's settings say; the members of a population exchange every so many steps besides.
    pub fn new(run: &RunSettings, exchange: u64) -> Self {
        let share = |interval: Option<u64>, parts: u64| interval.unwrap_or((run.steps / parts).max(1));
        Self {
            log: share(run.log_interval, 100),
            evaluate: share(run.eval_interval, 10),
            checkpoint: share(run.checkpoint_interval, 10),
            exchange,
        }
    }

    /// The next time after `position` at which something is due.
    pub fn next(&self, position: u64) -> u64 {
        let times = [self.log, self.evaluate, self.checkpoint, self.exchange];
        let times = times.iter().filter(|every| **every > 0);
        times
            .map(|every| (position / every).saturating_add(1).saturating_mul(*every))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// What is to be done after an iteration that began at `before` steps.
    pub fn due(&self, before: u64, trainer: &Trainer, run: &RunSettings, budget: &EvalBudget) -> Due {
        let (now, finished) = (trainer.counters.steps, trainer.is_finished());
        let judged = crosses(self.evaluate, before, now) || (finished && self.evaluate > 0);
        let episodes = match judged {
            true => budget.episodes(run, &trainer.counters, finished),
            false => 0,
        };
        Due {
            episodes,
            log: crosses(self.log, before, now) || episodes > 0 || finished,
        }
    }
}

/// Whether a multiple of `every` lies between two numbers of steps, the later one included.
pub(crate) fn crosses(every: u64, before: u64, now: u64) -> bool {
    every > 0 && now / every > before / every
}

/// What is still to be done at the step that training has reached: a run may be stopped while it evaluates, and does
/// the rest when it is resumed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Due {
    /// Episodes of an evaluation; 0 is none.
    pub episodes: usize,
    /// Whether there is to be a row of metrics.
    pub log: bool,
}
