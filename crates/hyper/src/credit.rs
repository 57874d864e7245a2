//! From outcomes, one number each, to the hyper-return of the decisions before them.
//!
//! The return that scores an update phase is the one collected *after* it, with the updated policy (paper, Algorithm
//! 1). The paper takes it as it is. A prototype showed that it then mostly tells the time, since returns grow while
//! training goes on, so the improvement on the previous phase and the distance from the recent trend are offered as
//! well.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::settings::{HyperSettings, Transform, Window};

/// Accumulates the outcomes of an update phase and turns them into a hyper-return.
///
/// ```
/// use epgt_hyper::{Credit, HyperSettings};
/// let mut credit = Credit::default();
/// let settings = HyperSettings::default(); // improvement of the mean
/// credit.add(1.0, 1.0);
/// credit.close(&settings);
/// credit.add(2.0, 1.0);
/// credit.add(4.0, 1.0);
/// assert_eq!(credit.close(&settings).hyper_return, 2.0); // mean of 2 and 4, minus 1
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Credit {
    sums: Sums,
    last: Option<Readings>,
    previous: Option<f32>,
    /// Outcomes of the recent phases, for the trend.
    recent: VecDeque<f32>,
}

/// Sums over the outcomes of a phase. The layout is that of a checkpoint, which once held three readings of every
/// outcome; now they are one ([`Credit::read_as`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    count: f64,
    first: f64,
    second: f64,
    weight: f64,
    weighted: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Readings {
    first: f32,
    second: f32,
    weighted: Option<f32>,
}

/// Which number of an outcome a checkpoint's sums are of. Checkpoints of version 0.1 hold three for every outcome, and
/// whoever restores one says which of them was rewarded; in later ones they are all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The discounted return.
    First,
    /// The reward rate.
    Second,
    /// The mean return of episodes, or the discounted return where none ended.
    Weighted,
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
    /// Takes the outcome of one phase of acting. Where outcomes are averaged, `weight` says how much this one counts;
    /// those of weight 0 count alike where a phase has no others.
    pub fn add(&mut self, outcome: f32, weight: f32) {
        let (number, weight) = (f64::from(outcome), f64::from(weight));
        self.sums.count += 1.0;
        self.sums.first += number;
        self.sums.second += number;
        self.sums.weight += weight;
        self.sums.weighted += weight * number;
        self.last = Some(Readings {
            first: outcome,
            second: outcome,
            weighted: Some(outcome),
        });
    }

    /// Makes one reading of what a checkpoint held.
    pub(crate) fn read_as(&mut self, reading: Reading) {
        let sums = &mut self.sums;
        (sums.first, sums.weight, sums.weighted) = match reading {
            Reading::First => (sums.first, sums.count, sums.first),
            Reading::Second => (sums.second, sums.count, sums.second),
            Reading::Weighted => (sums.first, sums.weight, sums.weighted),
        };
        sums.second = sums.first;
        if let Some(last) = &mut self.last {
            let number = match reading {
                Reading::First => last.first,
                Reading::Second => last.second,
                Reading::Weighted => last.weighted.unwrap_or(last.first),
            };
            *last = Readings {
                first: number,
                second: number,
                weighted: Some(number),
            };
        }
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
        match settings.window {
            Window::Last => last.first,
            Window::Mean if sums.weight > 0.0 => (sums.weighted / sums.weight) as f32,
            Window::Mean => (sums.first / sums.count) as f32,
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

    #[test]
    fn the_papers_hyper_return_is_the_last_outcome() {
        let settings = HyperSettings::paper();
        let mut credit = Credit::default();
        for value in [1.0, 2.0, 7.0] {
            credit.add(value, 1.0);
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
            credit.add(3.0 * phase as f32, 1.0);
            let verdict = credit.close(&settings);
            if phase >= 2 {
                assert!(verdict.hyper_return.abs() < 1e-3, "{verdict:?}");
                assert_eq!(verdict.improvement, 3.0);
            }
        }
        credit.add(3.0 * 50.0 + 8.0, 1.0);
        assert!((credit.close(&settings).hyper_return - 8.0).abs() < 1e-3);
    }

    #[test]
    fn outcomes_of_no_weight_count_only_where_a_phase_has_no_others() {
        let settings = HyperSettings {
            transform: Transform::Raw,
            ..HyperSettings::default()
        };
        let mut credit = Credit::default();
        credit.add(5.0, 0.0);
        credit.add(7.0, 0.0);
        assert_eq!(credit.close(&settings).hyper_return, 6.0);
        credit.add(5.0, 0.0);
        credit.add(-200.0, 1.0);
        assert_eq!(credit.close(&settings).hyper_return, -200.0);
    }

    #[test]
    fn the_three_readings_of_an_old_checkpoint_become_the_one_that_was_rewarded() {
        let settings = HyperSettings {
            transform: Transform::Raw,
            ..HyperSettings::default()
        };
        let old = Credit {
            sums: Sums {
                count: 4.0,
                first: 8.0,
                second: 2.0,
                weight: 1.0,
                weighted: 100.0,
            },
            last: Some(Readings {
                first: 3.0,
                second: 0.25,
                weighted: None,
            }),
            ..Credit::default()
        };
        for (reading, mean, last) in [
            (Reading::First, 2.0, 3.0),
            (Reading::Second, 0.5, 0.25),
            (Reading::Weighted, 100.0, 3.0),
        ] {
            let mut credit = old.clone();
            credit.read_as(reading);
            let again = &mut credit.clone();
            again.read_as(reading);
            assert_eq!(*again, credit);
            assert_eq!(credit.clone().close(&settings).outcome, mean);
            let paper = HyperSettings::paper();
            assert_eq!(credit.close(&paper).outcome, last);
        }
    }
}
