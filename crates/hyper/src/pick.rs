//! Picking an option: the best of those allowed, or any.

use epgt_rng::Pcg64;

use crate::settings::{ActionValues, HyperSettings, Moves};
use crate::space::HyperSpace;

/// The allowed option of the highest value, ties broken uniformly at random.
pub fn argmax(q: &[f32], allowed: impl Fn(usize) -> bool, rng: &mut Pcg64) -> usize {
    let (mut best, mut ties) = (0, 0);
    for (option, &value) in q.iter().enumerate() {
        if !allowed(option) {
            continue;
        }
        if ties == 0 || value > q[best] {
            (best, ties) = (option, 1);
        } else if value == q[best] {
            ties += 1;
            if rng.below(ties) == 0 {
                best = option;
            }
        }
    }
    best
}

/// The joint hyper-action of the highest Q, or, where factored, of the highest Q on every axis; anywhere, or at most
/// one step from the current one.
pub fn best_action(space: &HyperSpace, current: usize, settings: &HyperSettings, q: &[f32], rng: &mut Pcg64) -> usize {
    let local = settings.moves == Moves::Local;
    match settings.action_values {
        ActionValues::Joint => argmax(q, |action| !local || space.adjacent(current, action), rng),
        ActionValues::Factored => {
            let mut rest = q;
            let indices = space.axes().iter().enumerate().map(|(axis, values)| {
                let here = space.index(current, axis);
                let group;
                (group, rest) = rest.split_at(values.values.len());
                argmax(group, |index| !local || index.abs_diff(here) <= 1, rng)
            });
            space.action(indices)
        }
    }
}

/// Any joint hyper-action, or any at most one step from the current one.
pub fn random_action(space: &HyperSpace, current: usize, moves: Moves, rng: &mut Pcg64) -> usize {
    let indices = space.axes().iter().enumerate().map(|(axis, values)| {
        let size = values.values.len();
        let (low, high) = match moves {
            Moves::Uniform => (0, size - 1),
            Moves::Local => {
                let here = space.index(current, axis);
                (here.saturating_sub(1), (here + 1).min(size - 1))
            }
        };
        low + rng.below((high - low + 1) as u64) as usize
    });
    space.action(indices)
}
