//! Squashing: a draw of the Gaussian goes through a tanh into the task's bounds on its way into the environment.
//!
//! Everything that learns keeps speaking of the draw `u`, not of the action `a = squash(u)`. The density of `a` is that
//! of `u` divided by the map's slope, so `log p(a) = log p(u) - log |da/du|`, and that slope depends on `u` alone.
//! Hence the correction cancels in every ratio of probabilities and in the Kullback-Leibler divergence, and its
//! gradient with respect to the weights is zero in the policy gradient. The one thing that differs is the entropy: the
//! one learned with is that of the Gaussian, before squashing, which has a closed form.

use epgt_envs::Space;
use epgt_nn::kernel;

/// The map from draws to actions within the bounds of a box: `middle + half * tanh(u)`.
#[derive(Clone, Debug)]
pub(crate) struct Squash {
    low: Vec<f32>,
    high: Vec<f32>,
    /// Squashed rows, of the largest batch seen.
    actions: Vec<f32>,
}

impl Squash {
    /// Panics unless `space` is a box with finite bounds.
    pub fn new(space: &Space) -> Self {
        let Space::Box { low, high } = space else {
            panic!("only continuous actions can be squashed");
        };
        let finite = |(low, high): (&f32, &f32)| low.is_finite() && high.is_finite() && low <= high;
        assert!(
            low.iter().zip(high).all(finite),
            "only actions between finite bounds can be squashed"
        );
        Self {
            low: low.clone(),
            high: high.clone(),
            actions: Vec::new(),
        }
    }

    /// Squashes rows where they lie.
    pub fn in_place(&self, rows: &mut [f32]) {
        squash(&self.low, &self.high, rows);
    }

    /// The squashed copy of drawn rows.
    pub fn copy(&mut self, drawn: &[f32]) -> &[f32] {
        self.actions.clear();
        self.actions.extend_from_slice(drawn);
        squash(&self.low, &self.high, &mut self.actions);
        &self.actions
    }
}

fn squash(low: &[f32], high: &[f32], rows: &mut [f32]) {
    kernel::tanh(rows);
    for row in rows.chunks_exact_mut(low.len()) {
        for ((x, &low), &high) in row.iter_mut().zip(low).zip(high) {
            let (middle, half) = (0.5 * high + 0.5 * low, 0.5 * high - 0.5 * low);
            // Rounding must not lead out of the bounds. NaN stays NaN, for the environment to refuse.
            *x = half.mul_add(*x, middle).clamp(low, high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lopsided() -> Squash {
        Squash::new(&Space::Box {
            low: vec![-2.0, 0.1],
            high: vec![2.0, 0.7],
        })
    }

    #[test]
    fn squashed_actions_are_tanh_scaled_to_the_bounds() {
        let drawn = [0.5, -0.3, 0.0, 0.0, -3.0, 2.0];
        let mut squash = lopsided();
        let squashed = squash.copy(&drawn);
        for (row, drawn) in squashed.chunks_exact(2).zip(drawn.chunks_exact(2)) {
            assert!((row[0] - 2.0 * drawn[0].tanh()).abs() < 1e-6);
            assert!((row[1] - (0.4 + 0.3 * drawn[1].tanh())).abs() < 1e-6);
        }
    }

    #[test]
    fn no_draw_leaves_the_bounds_and_nan_stays_visible() {
        let mut rows = [
            1e30,
            1e30,
            -1e30,
            -1e30,
            f32::INFINITY,
            f32::NEG_INFINITY,
            20.0,
            f32::NAN,
        ];
        lopsided().in_place(&mut rows);
        for (x, bound) in rows.iter().zip([2.0f32, 0.7, -2.0, 0.1, 2.0, 0.1, 2.0]) {
            assert!(
                (x - bound).abs() < 1e-6 && x.abs() <= bound.abs().max(0.7),
                "{x} for {bound}"
            );
        }
        assert!(rows[7].is_nan());
    }
}
