//! What sets the schedulers apart: how they value hyper-actions, and how they learn from hyper-returns.
//!
//! Values are kept in *groups*: one group with all joint hyper-actions, or, where values are factored, one group per
//! hyperparameter. A hyper-action is one *option* in every group.

use std::borrow::Cow;
use std::fmt::Debug;

use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::bandit::Bandit;
use crate::decision::Decision;
use crate::dqn::DqnState;
use crate::encoder::{Encoder, SavedEncoder};
use crate::error::HyperError;
use crate::insight::Insight;
use crate::lrrl::Lrrl;
use crate::memory::{EpisodicMemory, Neighbour};
use crate::moment::Seen;
use crate::settings::{EncoderKind, Hold, HyperSettings};
use crate::space::HyperSpace;
use crate::ultho::Ultho;

/// What a decision needs of a mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The values of all options.
    pub values: bool,
    /// A key, because the decision will be written into the memory.
    pub key: bool,
}

/// What an update was, for what a mind does at every update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// Whether it began with a decision.
    pub decided: bool,
    /// How many updates lie before the next decision.
    pub until_decision: u64,
}

/// The valuing part of a scheduler. [`Scheduler`](crate::Scheduler) has an example.
pub trait Mind: Debug + Send {
    /// Writes the value of every option into `q`, group after group, and returns the key of the moment, as far as they
    /// are needed. Minds without a context have no keys.
    fn look(&mut self, _seen: &Seen<'_>, _need: Need, _q: &mut [f32]) -> Option<Vec<f32>> {
        None
    }

    /// The next hyper-action by its own rule ([`Choosing::Own`](crate::Choosing::Own)), from what it has written into
    /// `q`; `current` is the one in force.
    fn choose(&mut self, _space: &HyperSpace, current: usize, _q: &[f32], _rng: &mut Pcg64) -> usize {
        current
    }

    /// What goes on at every update, such as training an encoder.
    fn update(&mut self, _seen: &Seen<'_>, _update: Update) {}

    /// Learns from a decision that has got its hyper-return. `options` is what it chose in every group.
    fn learn(&mut self, _decision: &Decision, _options: &[usize], _last_of_phase: bool) {}

    /// The remembered moments behind the last look, for an option of the first group.
    fn neighbours(&self, _option: usize) -> Vec<Neighbour> {
        Vec::new()
    }

    /// Adds what it would like logged and shown.
    fn tell(&self, _insight: &mut Insight) {}

    /// One sentence where its own training is not finite any more.
    fn not_finite(&self) -> Option<&'static str> {
        None
    }

    /// The encoder that makes its keys, where it has one.
    fn encoder(&self) -> Option<&Encoder> {
        None
    }

    /// The same, to change it.
    fn encoder_mut(&mut self) -> Option<&mut Encoder> {
        None
    }

    /// What a checkpoint must hold.
    fn save(&self) -> SavedMind<'_> {
        SavedMind::Mindless
    }

    /// Continues from a checkpoint of the same scheduler with the same settings.
    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        match saved {
            SavedMind::Mindless => Ok(()),
            _ => Err(HyperError::OtherScheduler),
        }
    }
}

/// A mind's part of a checkpoint; it borrows while saving. The order of the variants is part of the format.
#[derive(Debug, Serialize, Deserialize)]
pub enum SavedMind<'a> {
    /// Of one that keeps nothing.
    Mindless,
    /// Of `bandit`.
    Bandit(Cow<'a, [Bandit]>),
    /// Of `epgt`.
    Episodic(Box<SavedEncoder<'a>>, Cow<'a, [EpisodicMemory]>),
    /// Of `dqn`.
    Dqn(Box<SavedEncoder<'a>>, Box<Cow<'a, DqnState>>),
    /// Of `lrrl`.
    Lrrl(Cow<'a, Lrrl>),
    /// Of `ultho`.
    Ultho(Cow<'a, Ultho>),
    /// Of a mind that this crate does not know: its own bytes.
    Other(Cow<'a, [u8]>),
}

impl SavedMind<'_> {
    /// The bytes of a mind that this crate does not know.
    pub fn other(bytes: &[u8]) -> SavedMind<'static> {
        SavedMind::Other(Cow::Owned(bytes.to_vec()))
    }

    /// The bytes that [`other`](Self::other) was given; an error where it is another scheduler's.
    pub fn into_other(self) -> Result<Vec<u8>, HyperError> {
        match self {
            Self::Other(bytes) => Ok(bytes.into_owned()),
            _ => Err(HyperError::OtherScheduler),
        }
    }

    /// The episodic memory, of the first group of options; `None` for a scheduler without one.
    pub fn memory(&self) -> Option<&EpisodicMemory> {
        match self {
            Self::Episodic(_, memories) => memories.first(),
            _ => None,
        }
    }
}

/// What an encoder does at every update: it is trained when that is due, and keeps the gradients that the next decision
/// will look at.
pub(crate) fn keep_up(encoder: &mut Encoder, settings: &HyperSettings, seen: &Seen<'_>, update: Update) {
    encoder.costs_mut().updates += 1;
    if encoder.training_is_due(seen.moment.update) {
        if !update.decided {
            encoder.remember(seen, false);
        }
        encoder.train();
    }
    if keeps_gradients(encoder, settings, update.until_decision) {
        encoder.age(seen);
    }
}

/// Whether an encoder keeps the gradients of an update that lies so many before the next decision. With a long hold only
/// those just before it will be looked at.
pub(crate) fn keeps_gradients(encoder: &Encoder, settings: &HyperSettings, until_decision: u64) -> bool {
    settings.encoder == EncoderKind::Vae
        || settings.hold == Hold::Phase
        || until_decision <= encoder.memory_of_gradients()
}
