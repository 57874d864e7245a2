//! What is known of a decision: for the log, for `epgt explain`, and for its own credit.

use serde::{Deserialize, Serialize};

use crate::memory::Neighbour;

/// How a hyper-action came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// Set once and kept.
    Fixed,
    /// Drawn at random.
    Random,
    /// The best by the agent's values.
    Greedy,
    /// By the scheduler's own rule: `lrrl` draws by its probabilities, `ultho` takes the highest confidence bound.
    Own,
    /// Left by the rule inside of the method's update.
    Rule,
}

impl Choice {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Random => "random",
            Self::Greedy => "greedy",
            Self::Own => "own",
            Self::Rule => "rule",
        }
    }
}

/// One decision of the hyper-agent, from the look at the training context to what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Its number, from 0.
    pub decision: u64,
    /// The policy update it was made for.
    pub update: u64,
    /// The probability of a random choice at that time.
    pub epsilon: f32,
    /// Whether it was random or greedy.
    pub choice: Choice,
    /// The joint hyper-action.
    pub action: usize,
    /// The hyperparameter values, in the order of the hyper-space's axes.
    pub values: Vec<f64>,
    /// Norm of the weights and of the last gradient: the coarsest view of the hyper-state. 0 where none was looked at.
    pub norms: (f32, f32),
    /// Values of the joint hyper-actions, or, where factored, of every hyperparameter's values one after another; for
    /// `lrrl` its probabilities, for `ultho` its confidence bounds, at last those of the hyperparameters. Empty where
    /// the agent did not look.
    pub q: Vec<f32>,
    /// Q of what was chosen (the mean over hyperparameters where factored), if the agent looked.
    pub q_chosen: Option<f32>,
    /// The remembered moments behind it (of the first hyperparameter where factored), nearest first.
    pub neighbours: Vec<Neighbour>,
    /// Tuples in the memory at that time.
    pub memory: usize,
    /// The memory key, where one was made.
    pub key: Option<Vec<f32>>,
    /// Whether it is written into the memory.
    pub written: bool,
    /// The outcome that scored it; NaN until then.
    pub outcome: f32,
    /// The hyper-return made of it; NaN until then.
    pub hyper_return: f32,
    /// The change of the outcome since the update phase before; NaN until then.
    pub improvement: f32,
}
