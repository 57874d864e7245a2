//! ULTHO (Yuan et al., 2025, arXiv 2503.06101): a bandit with clustered arms, one cluster per hyperparameter and one
//! arm per value of it.
//!
//! Each decision picks a cluster, then an arm in it; all other hyperparameters keep their value. Both picks are by
//! upper confidence bounds: the highest of Q(x) + c sqrt(ln t / N(x)), where Q is the mean of the last W returns that
//! followed x, N how often x was picked, and t how often any was (in an arm's case: any of its cluster). What was never
//! picked comes first.
//!
//! Two things are the plainest reading rather than the authors' program. There the counts start at 1, so that after one
//! good return the rest may wait long; here an option that was not tried has no bound, as the equation says. And there
//! returns are targets of a value function whose rewards were normalised, so that one c fits many tasks; here they come
//! in any unit, so c is multiplied by the range of the returns that are remembered.

use std::borrow::Cow;
use std::collections::VecDeque;

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::error::HyperError;
use crate::mind::{Mind, Need, SavedMind};
use crate::moment::Seen;
use crate::pick::argmax;
use crate::scheduler::{About, Choosing, Purpose, Scheduler};
use crate::settings::{ActionValues, HyperSettings};
use crate::space::HyperSpace;

/// The scheduler `ultho`.
#[derive(Clone, Copy, Debug)]
pub struct UlthoBandit;

impl Scheduler for UlthoBandit {
    fn about(&self) -> About {
        About {
            name: "ultho",
            help: "A bandit by upper confidence bounds: first over hyperparameters, then over the values of one (ULTHO, 2025).",
            does: "moves one hyperparameter at a time: the one, and its value, of the highest upper confidence bound of recent returns",
            choosing: Choosing::Own,
            sees: "nothing of the moment: it knows only what followed its choices so far",
            q: "Q: upper confidence bound, - where not tried yet",
            chose: "the highest bound among hyperparameters, then among its values; the others stay",
            learns: "Learned: that outcome as it is",
            ..About::BLANK
        }
    }

    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind> {
        // The last group is that of the hyperparameters themselves.
        let sizes = &purpose.groups[..purpose.groups.len() - 1];
        Box::new(Ultho::new(sizes, purpose.settings))
    }

    /// Its arms are the values of each hyperparameter.
    fn action_values(&self, _: ActionValues) -> ActionValues {
        ActionValues::Factored
    }

    /// Those of every hyperparameter's values, and at last that of the hyperparameters themselves.
    fn groups(&self, _: ActionValues, space: &HyperSpace) -> Vec<usize> {
        let sizes = space.axes().iter().map(|axis| axis.values.len());
        sizes.chain([space.axes().len()]).collect()
    }
}

impl Mind for Ultho {
    fn look(&mut self, _: &Seen<'_>, _: Need, q: &mut [f32]) -> Option<Vec<f32>> {
        self.read(q);
        None
    }

    fn choose(&mut self, space: &HyperSpace, current: usize, q: &[f32], rng: &mut Pcg64) -> usize {
        if space.axes().is_empty() {
            return current;
        }
        let (cluster, arm) = self.pick(q, rng);
        let axes = 0..space.axes().len();
        space.action(axes.map(|axis| match axis == cluster {
            true => arm,
            false => space.index(current, axis),
        }))
    }

    fn learn(&mut self, decision: &Decision, options: &[usize], _: bool) {
        if let Some(cluster) = self.settle() {
            self.take(cluster, options[cluster], decision.outcome);
        }
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::Ultho(Cow::Borrowed(self))
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let SavedMind::Ultho(saved) = saved else {
            return Err(HyperError::OtherScheduler);
        };
        if !saved.is_like(self) {
            return Err(HyperError::OtherActions);
        }
        *self = saved.into_owned();
        Ok(())
    }
}

/// What is known of a cluster or of an arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    picks: f64,
    /// The last returns, the oldest first.
    returns: VecDeque<f64>,
}

/// Upper confidence bounds over hyperparameters and their values.
///
/// ```
/// use epgt_hyper::{HyperSettings, Ultho};
/// let mut ultho = Ultho::new(&[2], &HyperSettings::default());
/// ultho.take(0, 0, 1.0);
/// ultho.take(0, 1, 0.0);
/// let mut q = vec![0.0; ultho.len()];
/// ultho.read(&mut q);
/// // Both arms were picked once of two times: ln 2 / 1.
/// let bonus = 2f32.ln().sqrt();
/// assert_eq!(q[..2], [1.0 + bonus, bonus]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ultho {
    exploration: f64,
    window: usize,
    clusters: Vec<Record>,
    /// By cluster.
    arms: Vec<Vec<Record>>,
    /// The clusters of the decisions that wait for their outcome.
    waiting: VecDeque<usize>,
}

impl Ultho {
    /// Whether it has as many clusters and arms as another, and waits for clusters that there are.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let sizes = |ultho: &Self| ultho.arms.iter().map(Vec::len).collect::<Vec<_>>();
        let known = |cluster: &usize| *cluster < self.clusters.len();
        self.clusters.len() == other.clusters.len() && sizes(self) == sizes(other) && self.waiting.iter().all(known)
    }

    /// Nothing was tried; `sizes` holds the number of values of every hyperparameter.
    pub fn new(sizes: &[usize], settings: &HyperSettings) -> Self {
        Self {
            exploration: f64::from(settings.ultho_exploration),
            window: settings.ultho_window,
            clusters: vec![Record::default(); sizes.len()],
            arms: sizes.iter().map(|&size| vec![Record::default(); size]).collect(),
            waiting: VecDeque::new(),
        }
    }

    /// Bounds in all: those of every hyperparameter's values one after another, then those of the hyperparameters.
    #[expect(clippy::len_without_is_empty, reason = "a number of bounds, not a collection")]
    pub fn len(&self) -> usize {
        self.clusters.len() + self.arms.iter().map(Vec::len).sum::<usize>()
    }

    /// Writes the upper confidence bound of every value, then of every hyperparameter; infinity for what was not tried.
    pub fn read(&self, bounds: &mut [f32]) {
        let mut rest = bounds;
        for group in self.arms.iter().chain([&self.clusters]) {
            let bounds;
            (bounds, rest) = rest.split_at_mut(group.len());
            self.bounds(group, bounds);
        }
    }

    fn bounds(&self, group: &[Record], bounds: &mut [f32]) {
        let all = || group.iter().flat_map(|record| &record.returns);
        let lowest = all().copied().fold(f64::INFINITY, f64::min);
        let highest = all().copied().fold(f64::NEG_INFINITY, f64::max);
        let times = group.iter().map(|record| record.picks).sum::<f64>();
        for (bound, record) in bounds.iter_mut().zip(group) {
            *bound = if record.picks > 0.0 {
                let mean = record.returns.iter().sum::<f64>() / record.returns.len() as f64;
                let bonus = (highest - lowest) * self.exploration * (times.ln() / record.picks).sqrt();
                (mean + bonus) as f32
            } else {
                f32::INFINITY
            };
        }
    }

    /// The cluster and the arm of the highest bounds among those that [`read`](Self::read) wrote, ties broken at
    /// random. The cluster is remembered until [`settle`](Self::settle).
    pub fn pick(&mut self, bounds: &[f32], rng: &mut Pcg64) -> (usize, usize) {
        let (arms, clusters) = bounds.split_at(bounds.len() - self.clusters.len());
        let cluster = argmax(clusters, |_| true, rng);
        let first: usize = self.arms[..cluster].iter().map(Vec::len).sum();
        let arm = argmax(&arms[first..][..self.arms[cluster].len()], |_| true, rng);
        self.waiting.push_back(cluster);
        (cluster, arm)
    }

    /// The cluster of the oldest decision whose outcome was not known.
    pub fn settle(&mut self) -> Option<usize> {
        self.waiting.pop_front()
    }

    /// Takes the return that followed a pick. One that is not finite tells nothing.
    pub fn take(&mut self, cluster: usize, arm: usize, outcome: f32) {
        if !outcome.is_finite() {
            return;
        }
        for record in [&mut self.clusters[cluster], &mut self.arms[cluster][arm]] {
            record.picks += 1.0;
            record.returns.push_back(f64::from(outcome));
            while record.returns.len() > self.window {
                record.returns.pop_front();
            }
        }
    }
}
