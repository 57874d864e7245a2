//! From what a rollout earned to the hyper-return of the decisions before it.
//!
//! The return that scores an update phase is the one collected *after* it, with the updated policy (method.md section 1).
//! The paper takes it as it is. A prototype showed that it then mostly tells the time, since returns grow while training
//! goes on (method.md section 8), so the improvement on the previous phase and the distance from the recent trend are
//! offered as well.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::settings::{HyperSettings, OutcomeKind, Transform, Window};

/// What one environment phase brought, in raw, un-normalised reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Mean over the rollout's steps of the discounted return, bootstrapped with the value at the cut.
    pub discounted: f32,
    /// Mean reward per environment step.
    pub reward_rate: f32,
    /// Mean undiscounted return of the episodes that ended, if any did.
    pub episode: Option<f32>,
}

/// Accumulates the outcomes of an update phase and turns them into a hyper-return.
///
/// ```
/// use epgt_hyper::{Credit, HyperSettings, Outcome};
/// let mut credit = Credit::default();
/// let settings = HyperSettings::default(); // improvement of the reward rate
/// let outcome = |reward_rate| Outcome { discounted: 0.0, reward_rate, episode: None };
/// credit.add(&outcome(1.0));
/// credit.close(&settings);
/// credit.add(&outcome(2.0));
/// credit.add(&outcome(4.0));
/// assert_eq!(credit.close(&settings).hyper_return, 2.0); // mean of 2 and 4, minus 1
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Credit {
    sums: Sums,
    last: Option<Outcome>,
    previous: Option<f32>,
    /// Outcomes of the recent phases, for the trend.
    recent: VecDeque<f32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    phases: f64,
    discounted: f64,
    reward_rate: f64,
    episodes: f64,
    episode: f64,
}

/// The verdict on an update phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome that was chosen by `outcome` and `window`.
    pub outcome: f32,
    /// What the memory is told.
    pub hyper_return: f32,
    /// Change of the outcome since the previous update phase; 0 for the first.
    pub improvement: f32,
}

impl Credit {
    /// Takes the outcome of one environment phase.
    pub fn add(&mut self, outcome: &Outcome) {
        self.sums.phases += 1.0;
        self.sums.discounted += f64::from(outcome.discounted);
        self.sums.reward_rate += f64::from(outcome.reward_rate);
        if let Some(episode) = outcome.episode {
            self.sums.episodes += 1.0;
            self.sums.episode += f64::from(episode);
        }
        self.last = Some(*outcome);
    }

    /// Ends the update phase: the hyper-return that all its decisions share (n = 1 in the paper's notation).
    pub fn close(&mut self, settings: &HyperSettings) -> Verdict {
        let outcome = self.outcome(settings);
        let improvement = self.previous.map_or(0.0, |previous| outcome - previous);
        let hyper_return = match settings.transform {
            Transform::Raw => outcome,
            Transform::Improvement => improvement,
            Transform::Detrended => outcome - self.expected(outcome),
        };
        self.recent.push_back(outcome);
        while self.recent.len() > settings.trend_window {
            self.recent.pop_front();
        }
        self.previous = Some(outcome);
        self.sums = Sums::default();
        Verdict {
            outcome,
            hyper_return,
            improvement,
        }
    }

    fn outcome(&self, settings: &HyperSettings) -> f32 {
        let Some(last) = self.last else { return 0.0 };
        let sums = &self.sums;
        match (settings.window, settings.outcome) {
            (Window::Last, OutcomeKind::Discounted) => last.discounted,
            (Window::Last, OutcomeKind::RewardRate) => last.reward_rate,
            (Window::Last, OutcomeKind::Episode) => last.episode.unwrap_or(last.discounted),
            (Window::Mean, OutcomeKind::Discounted) => (sums.discounted / sums.phases) as f32,
            (Window::Mean, OutcomeKind::RewardRate) => (sums.reward_rate / sums.phases) as f32,
            (Window::Mean, OutcomeKind::Episode) if sums.episodes > 0.0 => (sums.episode / sums.episodes) as f32,
            (Window::Mean, OutcomeKind::Episode) => (sums.discounted / sums.phases) as f32,
        }
    }

    /// The next value of the least-squares line through the recent outcomes.
    fn expected(&self, fallback: f32) -> f32 {
        let n = self.recent.len() as f64;
        let mean_y = self.recent.iter().map(|&y| f64::from(y)).sum::<f64>() / n;
        match self.recent.len() {
            0 => fallback,
            1 => self.recent[0],
            _ => {
                let mean_x = (n - 1.0) / 2.0;
                let (mut covariance, mut variance) = (0.0, 0.0);
                for (x, &y) in self.recent.iter().enumerate() {
                    let dx = x as f64 - mean_x;
                    covariance += dx * (f64::from(y) - mean_y);
                    variance += dx * dx;
                }
                (mean_y + covariance / variance * (n - mean_x)) as f32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earned(value: f32) -> Outcome {
        Outcome {
            discounted: value,
            reward_rate: value,
            episode: None,
        }
    }

    #[test]
    fn the_papers_hyper_return_is_the_discounted_return_of_the_last_rollout() {
        let settings = HyperSettings::paper();
        let mut credit = Credit::default();
        for value in [1.0, 2.0, 7.0] {
            credit.add(&earned(value));
        }
        assert_eq!(credit.close(&settings).hyper_return, 7.0);
    }

    #[test]
    fn a_return_that_grows_steadily_is_no_surprise_once_detrended() {
        let settings = HyperSettings {
            transform: Transform::Detrended,
            ..HyperSettings::default()
        };
        let mut credit = Credit::default();
        for phase in 0..50 {
            credit.add(&earned(3.0 * phase as f32));
            let verdict = credit.close(&settings);
            if phase >= 2 {
                assert!(verdict.hyper_return.abs() < 1e-3, "{verdict:?}");
                assert_eq!(verdict.improvement, 3.0);
            }
        }
        credit.add(&earned(3.0 * 50.0 + 8.0));
        assert!((credit.close(&settings).hyper_return - 8.0).abs() < 1e-3);
    }

    #[test]
    fn episode_returns_fall_back_to_the_discounted_return_where_none_ended() {
        let settings = HyperSettings {
            outcome: OutcomeKind::Episode,
            transform: Transform::Raw,
            ..HyperSettings::default()
        };
        let mut credit = Credit::default();
        credit.add(&earned(5.0));
        assert_eq!(credit.close(&settings).hyper_return, 5.0);
        credit.add(&earned(5.0));
        credit.add(&Outcome {
            episode: Some(-200.0),
            ..earned(5.0)
        });
        assert_eq!(credit.close(&settings).hyper_return, -200.0);
    }
}
