//! What evaluations may cost. They change nothing in training, so what limits them is counted in steps, which are the
//! same on every machine, and not in seconds, which would make the best policy a matter of speed.

use serde::{Deserialize, Serialize};

use crate::{Counters, Evaluation, RunSettings};

/// What the evaluations of a run have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EvalBudget {
    /// Steps of all of them.
    spent: u64,
    /// Mean length of the last one's episodes.
    length: f64,
}

impl EvalBudget {
    /// Episodes that an evaluation of this moment may have; 0 where it has to be left out. The last one of a run has at
    /// least one.
    ///
    /// An evaluation is expected to have episodes as long as those of training or of the evaluation before. One that is
    /// not the last is made only where the last can still be made in full.
    pub fn episodes(&self, run: &RunSettings, counters: &Counters, is_last: bool) -> usize {
        if run.eval_interval.is_some() {
            return run.eval_episodes;
        }
        let length = counters.mean_length().unwrap_or(0.0).max(self.length);
        if length == 0.0 {
            // No episode has ended yet, so nobody knows what one would cost.
            return usize::from(is_last);
        }
        let length = length.clamp(1.0, run.eval_max_steps.max(1) as f64);
        let (whole, spent) = (length * run.eval_episodes as f64, self.spent as f64);
        if is_last {
            let left = run.eval_share * counters.steps as f64 - spent;
            return (left / length).clamp(1.0, run.eval_episodes as f64) as usize;
        }
        let reserved = run.eval_share * run.steps as f64 - whole;
        let left = (run.eval_share * counters.steps as f64).min(reserved) - spent;
        if left >= whole { run.eval_episodes } else { 0 }
    }

    /// Takes an evaluation that was made.
    pub fn take(&mut self, evaluation: &Evaluation) {
        self.spent += evaluation.steps();
        self.length = evaluation.mean_length();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Episodes of the evaluations at tenths of a run whose evaluated episodes all have `length` steps.
    fn evaluations(steps: u64, length: u32) -> Vec<usize> {
        let run = RunSettings {
            steps,
            ..RunSettings::default()
        };
        let mut budget = EvalBudget {
            spent: 0,
            length: f64::from(length),
        };
        (1..=10)
            .map(|tenth| {
                let mut counters = Counters::default();
                counters.steps = steps / 10 * tenth;
                let episodes = budget.episodes(&run, &counters, tenth == 10);
                if episodes > 0 {
                    budget.take(&Evaluation {
                        returns: vec![0.0; episodes],
                        lengths: vec![length; episodes],
                        cut: 0,
                    });
                }
                episodes
            })
            .collect()
    }

    #[test]
    fn evaluations_that_cost_little_are_all_made() {
        assert_eq!(evaluations(500_000, 500), [10; 10]);
    }

    #[test]
    fn of_evaluations_that_would_cost_more_than_their_share_some_are_left_out_and_the_last_is_whole() {
        assert_eq!(evaluations(100_000, 1000), [0, 0, 0, 10, 0, 0, 0, 0, 0, 10]);
    }

    #[test]
    fn a_short_run_of_long_episodes_ends_with_as_many_as_its_share_allows_and_at_least_one() {
        assert_eq!(evaluations(8192, 500), [0, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
        assert_eq!(evaluations(4096, 3000), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_run_in_which_no_episode_has_ended_ends_with_one() {
        assert_eq!(evaluations(4096, 0), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn an_interval_that_the_user_has_set_is_kept_whatever_it_costs() {
        let run = RunSettings {
            eval_interval: Some(10),
            ..RunSettings::default()
        };
        assert_eq!(EvalBudget::default().episodes(&run, &Counters::default(), false), 10);
    }
}
