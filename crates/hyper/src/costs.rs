//! What the hyper-agent itself costs, part by part: a method that schedules training must know its own price.
//!
//! Only parts that take microseconds are timed, each between two looks at the clock; nothing of it reaches a decision,
//! a checkpoint or a log.

use std::time::{Duration, Instant};

/// Wall-clock time that a hyper-agent has spent on each of its parts since it was made.
///
/// ```
/// use epgt_hyper::{Encoder, HyperSettings, Moment};
/// use epgt_nn::Parameters;
/// let mut policy = Parameters::new();
/// policy.add("weight", 8, 4);
/// let mut encoder = Encoder::new(&HyperSettings::paper(), policy.shapes(), 0);
/// let (weights, gradients) = (policy.values(), policy.gradients());
/// encoder.key(&Moment { update: 0, progress: 0.0, weights, gradients }.into());
/// let costs = encoder.costs();
/// assert!(costs.encoding > std::time::Duration::ZERO && costs.training.is_zero());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Keeping gradients and making hyper-states of weights and gradients.
    pub projecting: Duration,
    /// Making keys of hyper-states.
    pub encoding: Duration,
    /// Reading values: searching the memory, or asking the value network.
    pub reading: Duration,
    /// Writing hyper-returns.
    pub writing: Duration,
    /// Training the encoder, and the value network of `dqn`, with what is remembered for it.
    pub training: Duration,
    /// Policy updates that this was spent on.
    pub updates: u64,
}

impl Costs {
    /// All parts together.
    pub fn total(&self) -> Duration {
        self.projecting + self.encoding + self.reading + self.writing + self.training
    }
}

/// A look at the clock.
pub(crate) struct Watch(Instant);

impl Watch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Adds the time since the last look to a part, and begins the next.
    pub fn lap(&mut self, part: &mut Duration) {
        let now = Instant::now();
        *part += now - self.0;
        self.0 = now;
    }
}
