//! What a hyper-agent tells of itself.

use crate::credit::Verdict;

/// What the agent would like logged and shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Insight {
    /// Probability of a random choice at the last decision.
    pub epsilon: f32,
    /// Decisions made.
    pub decisions: u64,
    /// Tuples in the episodic memory (or transitions in the replay).
    pub memory: usize,
    /// Squared reconstruction error of the VAE's last batch.
    pub reconstruction_loss: Option<f32>,
    /// How far recent keys have moved since they were made.
    pub key_drift: Option<f32>,
    /// Squared error of the last batch of `dqn`.
    pub dqn_loss: Option<f32>,
    /// Whether the choice shows in the improvement; about 1 when it does not.
    pub f_statistic: Option<f64>,
    /// Correlation of value and improvement, by hyperparameter.
    pub correlations: Vec<Option<f64>>,
    /// The verdict on the last update phase.
    pub verdict: Option<Verdict>,
}
