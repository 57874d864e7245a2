//! Episodic control without its context: one running average per hyper-action.
//!
//! Not in the paper, and the most important control of all: what `epgt` gains over it is what the hyper-state is worth.

use serde::{Deserialize, Serialize};

/// Running averages of the hyper-return by hyper-action.
///
/// ```
/// let mut bandit = epgt_hyper::Bandit::new(3);
/// bandit.learn(1, 4.0);
/// bandit.learn(1, 6.0);
/// bandit.learn(2, 2.0);
/// let mut q = [0.0; 3];
/// bandit.read(&mut q);
/// assert_eq!(q, [4.0, 5.0, 2.0]); // an untried action gets the average over all returns
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandit {
    counts: Vec<f64>,
    sums: Vec<f64>,
}

impl Bandit {
    /// Whether it has as many actions as another, in all its parts.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.counts.len() == other.counts.len() && self.sums.len() == other.sums.len()
    }

    /// No return seen.
    pub fn new(n_actions: usize) -> Self {
        Self {
            counts: vec![0.0; n_actions],
            sums: vec![0.0; n_actions],
        }
    }

    /// Number of actions.
    #[expect(clippy::len_without_is_empty, reason = "there is always an action")]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Takes the hyper-return of an action.
    pub fn learn(&mut self, action: usize, hyper_return: f32) {
        self.counts[action] += 1.0;
        self.sums[action] += f64::from(hyper_return);
    }

    /// Writes the average of every action.
    pub fn read(&self, q: &mut [f32]) {
        let count: f64 = self.counts.iter().sum();
        let overall = self.sums.iter().sum::<f64>() / count.max(1.0);
        for ((q, n), sum) in q.iter_mut().zip(&self.counts).zip(&self.sums) {
            *q = if *n > 0.0 { sum / n } else { overall } as f32;
        }
    }
}
