//! Which of a run's policies is kept as the best, and what it is worth in the end.
//!
//! The paper's score is that of the best checkpoint: the policy of the moment with the best training score, played for a
//! hundred episodes once training is over. Picking it by its training score leaves the final episodes untouched, so that the
//! score is not the luckiest of many evaluations.

use std::path::Path;

use epgt_rng::Pcg64;
use epgt_settings::choice;
use serde::{Deserialize, Serialize};

use crate::outcome::RunError;
use crate::run::BEST_POLICY;
use crate::settings::RunSettings;
use crate::trainer::Counters;
use crate::{evaluate, policy_file};

choice! {
    /// What decides which policy is kept as the best.
    pub enum BestBy {
        /// The mean return of an evaluation.
        Evaluation = "evaluation",
        /// The mean return of the last hundred training episodes, looked at with every row of metrics (the paper's).
        Training = "training",
    }
}

/// Training episodes that make a score: the first ones alone may be the luck of one.
const LEAST_EPISODES: u64 = 10;

/// The best scores so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Best {
    /// Of an evaluation.
    pub evaluation: Option<f64>,
    /// Of the last hundred training episodes.
    training: Option<f64>,
}

impl Best {
    /// Takes the mean return of an evaluation; says whether the policy is to be kept.
    pub fn take_evaluation(&mut self, by: BestBy, mean: f64) -> bool {
        let is_best = self.evaluation.is_none_or(|best| mean > best);
        if is_best {
            self.evaluation = Some(mean);
        }
        is_best && by == BestBy::Evaluation
    }

    /// Takes the training score of this moment; says whether the policy is to be kept.
    pub fn take_training(&mut self, by: BestBy, counters: &Counters) -> bool {
        let Some(mean) = counters.mean_return().filter(|_| counters.episodes >= LEAST_EPISODES) else {
            return false;
        };
        let is_best = self.training.is_none_or(|best| mean > best);
        if is_best {
            self.training = Some(mean);
        }
        is_best && by == BestBy::Training
    }

    /// The mean return of the best policy of a finished run over `final_episodes` episodes; `None` where none are asked for or
    /// no policy was kept.
    pub fn checkpoint(&self, run: &RunSettings, directory: &Path) -> Result<Option<f64>, RunError> {
        let kept = match run.best_by {
            BestBy::Evaluation => self.evaluation,
            BestBy::Training => self.training,
        };
        if run.final_episodes == 0 || kept.is_none() {
            return Ok(None);
        }
        let mut policy = policy_file::read(&directory.join(BEST_POLICY))?;
        let seed = Pcg64::for_purpose(run.seed, "final evaluation", 0).next_u64() >> 1;
        let task = policy.task.clone();
        evaluate(
            &mut policy.networks,
            &policy.normalizer,
            &task,
            run.final_episodes,
            seed,
            run.eval_actions,
        )
        .map(|evaluation| Some(evaluation.mean_return()))
        .map_err(|error| RunError(format!("the best policy could not be played: {error}")))
    }
}
