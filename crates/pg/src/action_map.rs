//! From the draws of the Gaussian to the task's actions: as they are, in units of the task's range, or bent into the
//! task's bounds by a tanh.
//!
//! Everything that learns keeps speaking of the draw `u`, not of the action `a = map(u)`. The density of `a` is that of
//! `u` divided by the map's slope, so `log p(a) = log p(u) - log |da/du|`, and that slope depends on `u` alone. Hence
//! the correction cancels in every ratio of probabilities and in the Kullback-Leibler divergence, and its gradient with
//! respect to the weights is zero in the policy gradient. The one thing that differs is the entropy: the one learned
//! with is that of the Gaussian, before the map, which has a closed form.

use epgt_envs::Space;
use epgt_nn::kernel;

/// The map from draws to the actions of a box: `middle + half * u`, or `middle + half * tanh(u)`. A number without
/// finite bounds is left as it is.
#[derive(Clone, Debug)]
pub(crate) struct ActionMap {
    low: Vec<f32>,
    high: Vec<f32>,
    /// Whether draws go through a tanh.
    squash: bool,
}

impl ActionMap {
    /// A map in units of the range.
    ///
    /// # Panics
    /// Unless `space` is a box.
    pub fn to_range(space: &Space) -> Self {
        let Space::Box { low, high } = space else {
            panic!("only continuous actions have a range");
        };
        let bounded = |(low, high): (&f32, &f32)| low.is_finite() && high.is_finite();
        let sides = |side: &[f32], otherwise: f32| {
            let all = side.iter().zip(low.iter().zip(high));
            all.map(|(&side, bounds)| if bounded(bounds) { side } else { otherwise })
                .collect()
        };
        Self {
            low: sides(low, -1.0),
            high: sides(high, 1.0),
            squash: false,
        }
    }

    /// A map that bends every draw into the bounds.
    ///
    /// # Panics
    /// Unless `space` is a box with finite bounds.
    pub fn squash(space: &Space) -> Self {
        let Space::Box { low, high } = space else {
            panic!("only continuous actions can be squashed");
        };
        let finite = |(low, high): (&f32, &f32)| low.is_finite() && high.is_finite() && low <= high;
        assert!(
            low.iter().zip(high).all(finite),
            "only actions between finite bounds can be squashed"
        );
        Self {
            squash: true,
            ..Self::to_range(space)
        }
    }

    /// Maps rows where they lie.
    pub fn in_place(&self, rows: &mut [f32]) {
        if self.squash {
            kernel::tanh(rows);
        }
        for row in rows.chunks_exact_mut(self.low.len()) {
            for ((x, &low), &high) in row.iter_mut().zip(&self.low).zip(&self.high) {
                let (middle, half) = (0.5 * high + 0.5 * low, 0.5 * high - 0.5 * low);
                *x = half.mul_add(*x, middle);
                if self.squash {
                    // Rounding must not lead out of the bounds. NaN stays NaN, for the environment to refuse.
                    *x = x.clamp(low, high);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lopsided() -> ActionMap {
        ActionMap::squash(&Space::Box {
            low: vec![-2.0, 0.1],
            high: vec![2.0, 0.7],
        })
    }

    #[test]
    fn squashed_actions_are_tanh_scaled_to_the_bounds() {
        let drawn = [0.5, -0.3, 0.0, 0.0, -3.0, 2.0];
        let mut squashed = drawn;
        lopsided().in_place(&mut squashed);
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

    #[test]
    fn in_units_of_the_range_the_bounds_are_one_and_what_has_none_stays_in_its_own_unit() {
        let space = Space::Box {
            low: vec![0.0, -0.01, -1.0],
            high: vec![500.0, 0.01, f32::INFINITY],
        };
        let mut rows = [-1.0, 0.5, 3.0, 3.0, -2.0, -3.0];
        ActionMap::to_range(&space).in_place(&mut rows);
        assert_eq!(rows[..3], [0.0, 0.005, 3.0]);
        assert_eq!(rows[3..], [1000.0, -0.02, -3.0], "the environment clips");
    }
}
