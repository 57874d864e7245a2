//! What a hyper-agent is told of a run before it begins.

use crate::settings::{Hold, HyperSettings};

/// What is known of a run beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Policy updates of the whole run, as far as they can be foreseen.
    pub total_updates: u64,
    /// Policy updates that follow a rollout.
    pub updates_per_rollout: u64,
    /// Whether at most one decision is made per rollout, because something is scheduled that can only change then.
    pub decides_once_per_rollout: bool,
}

impl Plan {
    /// A run of `total_updates` with one update per rollout.
    ///
    /// ```
    /// assert_eq!(epgt_hyper::Plan::of_updates(100).updates_per_rollout, 1);
    /// ```
    pub fn of_updates(total_updates: u64) -> Self {
        Self {
            total_updates,
            updates_per_rollout: 1,
            decides_once_per_rollout: false,
        }
    }

    /// Policy updates for which a hyper-action is kept.
    pub(crate) fn updates_per_decision(&self, settings: &HyperSettings) -> u64 {
        match settings.hold {
            Hold::Updates(updates) if self.decides_once_per_rollout => updates.max(self.updates_per_rollout),
            Hold::Updates(updates) => updates,
            Hold::Phase => settings.update_phase.max(self.updates_per_rollout),
        }
    }
}
