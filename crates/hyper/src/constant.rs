//! The schedulers that value nothing: `fixed` keeps what it was given, `random` draws, and [`Adopted`] is told.

use crate::mind::Mind;
use crate::scheduler::{About, Choosing, Purpose, Scheduler};
use crate::settings::{FixedAt, HyperSettings};
use crate::space::HyperSpace;

/// A mind that values nothing.
#[derive(Debug)]
struct Mindless;

impl Mind for Mindless {}

/// The scheduler `fixed`.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl Scheduler for Fixed {
    fn about(&self) -> About {
        About {
            name: "fixed",
            help: "Constant values; see `fixed_at`.",
            does: "keeps the values it was given; there is no memory and nothing is decided",
            choosing: Choosing::Kept,
            sees: "nothing: the scheduler `fixed` does not look",
            ..About::BLANK
        }
    }

    fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Mindless)
    }

    fn start(&self, space: &HyperSpace, settings: &HyperSettings) -> Vec<f64> {
        let axes = space.axes().iter();
        match settings.fixed_at {
            FixedAt::Default => axes.map(|axis| axis.default).collect(),
            FixedAt::Min => axes.map(|axis| axis.values[0]).collect(),
            FixedAt::Max => axes.map(|axis| axis.values[axis.values.len() - 1]).collect(),
        }
    }
}

/// The scheduler `random` (the paper's RND).
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Scheduler for Random {
    fn about(&self) -> About {
        About {
            name: "random",
            help: "A random hyper-action at every decision (the paper's RND).",
            does: "draws every choice at random; there is no memory and nothing is learned",
            choosing: Choosing::Random,
            sees: "nothing: the scheduler `random` does not look",
            ..About::BLANK
        }
    }

    fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Mindless)
    }
}

/// Somebody else decides, at every update: the agent keeps the values that
/// [`HyperAgent::adopt`](crate::HyperAgent::adopt) gives it, and logs them with what came of them.
#[derive(Clone, Copy, Debug)]
pub struct Adopted;

impl Scheduler for Adopted {
    fn about(&self) -> About {
        About {
            name: "adopted",
            help: "Values that somebody else decides at every update.",
            does: "keeps the values that it is told",
            choosing: Choosing::Adopted,
            sees: "nothing: somebody else decides",
            ..About::BLANK
        }
    }

    fn mind(&self, _: &Purpose<'_>) -> Box<dyn Mind> {
        Box::new(Mindless)
    }
}
