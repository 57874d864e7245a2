//! Episodic control without its context: one running average per hyper-action.
//!
//! Not in the paper, and the most important control of all: what `epgt` gains over it is what the hyper-state is worth.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::error::HyperError;
use crate::mind::{Mind, Need, SavedMind};
use crate::moment::Seen;
use crate::scheduler::{About, Purpose, Scheduler};

/// The scheduler `bandit`.
#[derive(Clone, Copy, Debug)]
pub struct EpsilonBandit;

impl Scheduler for EpsilonBandit {
    fn about(&self) -> About {
        About {
            name: "bandit",
            help: "Episodic control without its context: one running average per hyper-action.",
            does: "takes the choice with the best average so far, whatever the moment; there is no memory",
            sees: "nothing of the moment: the scheduler `bandit` knows only what each choice earned so far",
            ..About::BLANK
        }
    }

    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Bandits(purpose.groups.iter().map(|&size| Bandit::new(size)).collect()))
    }
}

/// One bandit per group.
#[derive(Debug)]
struct Bandits(Vec<Bandit>);

impl Mind for Bandits {
    fn look(&mut self, _: &Seen<'_>, _: Need, q: &mut [f32]) -> Option<Vec<f32>> {
        let mut rest = q;
        for bandit in &self.0 {
            let (group, others) = rest.split_at_mut(bandit.len());
            bandit.read(group);
            rest = others;
        }
        None
    }

    fn learn(&mut self, decision: &Decision, options: &[usize], _: bool) {
        for (bandit, &option) in self.0.iter_mut().zip(options) {
            bandit.learn(option, decision.hyper_return);
        }
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::Bandit(Cow::Borrowed(&self.0))
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let SavedMind::Bandit(saved) = saved else {
            return Err(HyperError::OtherScheduler);
        };
        let alike = saved.len() == self.0.len();
        if !alike || !saved.iter().zip(&self.0).all(|(saved, own)| saved.is_like(own)) {
            return Err(HyperError::OtherActions);
        }
        self.0 = saved.into_owned();
        Ok(())
    }
}

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
