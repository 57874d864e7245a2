//! LRRL (Donâncio et al., 2024, arXiv 2410.12598): an adversarial bandit whose arms are learning rates.
//!
//! An arm is drawn, kept for a number of updates (`hold`, the paper's kappa), and scored by how much better the returns
//! became; the arms' probabilities follow Exp3 (Auer et al., 2002) with weights that fade, since what was a good rate
//! may be one no more:
//!
//! 1. feedback: f_n = R_n - mean of the `lrrl_window` outcomes before it;
//! 2. weights, in logarithms: w(k) = `lrrl_decay` w(k), and w(k_n) += `lrrl_step` f_n / p_n(k_n) for the arm that was
//!    drawn;
//! 3. probabilities: p(k) = (1 - gamma) e^w(k) / sum e^w + gamma / K, with gamma = `lrrl_exploration`.
//!
//! The outline is the paper's: learning rates as arms, improvement of the returns as feedback, exponential weights that
//! fade. The details are not claimed to be: the weights are those of plain Exp3, with the division by p_n, which makes
//! the estimates unbiased, and the share gamma, without which a probability can vanish. Exp3 wants feedback within [-1,
//! 1] and returns come in any unit, so f_n is divided by the largest |f| so far.

use std::borrow::Cow;
use std::collections::VecDeque;

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::error::HyperError;
use crate::mind::{Mind, Need, SavedMind};
use crate::moment::Seen;
use crate::scheduler::{About, Choosing, Purpose, Scheduler};
use crate::settings::{ActionValues, HyperSettings};
use crate::space::HyperSpace;

/// The scheduler `lrrl`.
#[derive(Clone, Copy, Debug)]
pub struct LrrlBandit;

impl Scheduler for LrrlBandit {
    fn about(&self) -> About {
        About {
            name: "lrrl",
            help: "An adversarial bandit over learning rates (LRRL, 2024).",
            does: "draws a learning rate by probabilities that follow how much better the returns became",
            choosing: Choosing::Own,
            sees: "nothing of the moment: it knows only what followed its choices so far",
            q: "Q: its probability",
            chose: "drawn by these probabilities",
            learns: "Learned: how far the outcome lies above the mean of those before",
            ..About::BLANK
        }
    }

    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Lrrl::new(purpose.groups.iter().sum(), purpose.settings))
    }

    /// Its arms are joint.
    fn action_values(&self, _: ActionValues) -> ActionValues {
        ActionValues::Joint
    }

    fn check(&self, space: &HyperSpace) -> Result<(), HyperError> {
        match space.axes().iter().find(|axis| axis.name != "learning_rate") {
            Some(axis) => Err(HyperError::LearningRateAlone(axis.name.clone())),
            None => Ok(()),
        }
    }
}

impl Mind for Lrrl {
    fn look(&mut self, _: &Seen<'_>, _: Need, q: &mut [f32]) -> Option<Vec<f32>> {
        self.read(q);
        None
    }

    fn choose(&mut self, _: &HyperSpace, _: usize, q: &[f32], rng: &mut Pcg64) -> usize {
        draw(q, rng)
    }

    fn learn(&mut self, decision: &Decision, _: &[usize], last_of_phase: bool) {
        let probability = decision.q.get(decision.action).copied().unwrap_or(1.0);
        self.take(decision.action, probability, decision.outcome);
        if last_of_phase {
            self.close(decision.outcome);
        }
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::Lrrl(Cow::Borrowed(self))
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let SavedMind::Lrrl(saved) = saved else {
            return Err(HyperError::OtherScheduler);
        };
        if !saved.is_like(self) {
            return Err(HyperError::OtherActions);
        }
        *self = saved.into_owned();
        Ok(())
    }
}

/// Exponential weights over arms.
///
/// ```
/// use epgt_hyper::{HyperSettings, Lrrl};
/// let settings = HyperSettings::default();
/// let mut lrrl = Lrrl::new(2, &settings);
/// let mut p = [0.0; 2];
/// for (arm, outcome) in [(0, 1.0), (1, 5.0), (0, 1.0), (1, 5.0)] {
///     lrrl.read(&mut p);
///     lrrl.take(arm, p[arm], outcome);
///     lrrl.close(outcome);
/// }
/// lrrl.read(&mut p);
/// assert!(p[1] > p[0] && (p[0] + p[1] - 1.0).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lrrl {
    step: f64,
    decay: f64,
    exploration: f64,
    window: usize,
    /// Logarithms of the weights.
    weights: Vec<f64>,
    /// Outcomes of the last update phases, the oldest first.
    recent: VecDeque<f64>,
    /// The largest |f| so far.
    largest: f64,
}

impl Lrrl {
    /// Whether it has as many arms as another.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.weights.len() == other.weights.len()
    }

    /// All arms are alike.
    pub fn new(n_arms: usize, settings: &HyperSettings) -> Self {
        Self {
            step: f64::from(settings.lrrl_step),
            decay: f64::from(settings.lrrl_decay),
            exploration: f64::from(settings.lrrl_exploration),
            window: settings.lrrl_window,
            weights: vec![0.0; n_arms],
            recent: VecDeque::new(),
            largest: 0.0,
        }
    }

    /// Writes the probability of every arm.
    pub fn read(&self, probabilities: &mut [f32]) {
        let highest = self.weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let share = |weight: &f64| (weight - highest).exp();
        let sum: f64 = self.weights.iter().map(share).sum();
        let least = self.exploration / self.weights.len() as f64;
        for (p, weight) in probabilities.iter_mut().zip(&self.weights) {
            *p = ((1.0 - self.exploration) * share(weight) / sum + least) as f32;
        }
    }

    /// Takes the outcome of an arm that was drawn with `probability`. Several arms of one update phase may share an
    /// outcome; see [`close`](Self::close). An outcome that is not finite tells nothing.
    pub fn take(&mut self, arm: usize, probability: f32, outcome: f32) {
        if !outcome.is_finite() {
            return;
        }
        self.weights.iter_mut().for_each(|weight| *weight *= self.decay);
        let before = self.recent.iter().sum::<f64>() / self.recent.len() as f64;
        let feedback = f64::from(outcome) - before;
        // The first outcome has nothing to be compared with.
        if feedback.is_finite() && feedback != 0.0 {
            self.largest = self.largest.max(feedback.abs());
            self.weights[arm] += self.step * feedback / self.largest / f64::from(probability);
        }
    }

    /// Ends an update phase: its outcome is one that later ones are compared with.
    pub fn close(&mut self, outcome: f32) {
        if outcome.is_finite() {
            self.recent.push_back(f64::from(outcome));
        }
        while self.recent.len() > self.window {
            self.recent.pop_front();
        }
    }
}

/// Draws an arm with these probabilities.
fn draw(probabilities: &[f32], rng: &mut Pcg64) -> usize {
    let mut left = rng.next_f64();
    for (arm, &p) in probabilities.iter().enumerate() {
        left -= f64::from(p);
        if left < 0.0 {
            return arm;
        }
    }
    probabilities.len() - 1
}
