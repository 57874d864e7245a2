//! Every gradient against finite differences.

use epgt_pg::{ActionDistribution, losses};
use proptest::prelude::*;

/// Central difference of `f` along each coordinate of `x`.
fn differences(x: &[f32], mut f: impl FnMut(&[f32]) -> f64) -> Vec<f32> {
    let step = 1e-2;
    (0..x.len())
        .map(|i| {
            let mut moved = x.to_vec();
            let mut at = |offset: f32| {
                moved[i] = x[i] + offset;
                f(&moved)
            };
            // Fourth order, so that the step can be wide enough for single precision.
            let near = at(step) - at(-step);
            let far = at(2.0 * step) - at(-2.0 * step);
            ((8.0 * near - far) / (12.0 * f64::from(step))) as f32
        })
        .collect()
}

fn close(ours: &[f32], numeric: &[f32]) -> bool {
    ours.iter()
        .zip(numeric)
        .all(|(a, b)| (a - b).abs() < 2e-3 * (1.0 + b.abs()))
}

/// `sum_i w_i logp_i + v_i H_i`, in double precision from the rows' results.
fn objective(
    distribution: &ActionDistribution,
    outputs: &[f32],
    log_std: &[f32],
    actions: &[f32],
    weights: &[f32],
) -> f64 {
    let (log_prob_weights, entropy_weights) = weights.split_at(weights.len() / 2);
    let mut log_probs = vec![0.0; log_prob_weights.len()];
    let mut entropies = log_probs.clone();
    distribution.evaluate(outputs, log_std, actions, &mut log_probs, &mut entropies);
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    dot(&log_probs, log_prob_weights) + dot(&entropies, entropy_weights)
}

fn gradient_agrees(
    distribution: &ActionDistribution,
    outputs: &[f32],
    log_std: &[f32],
    actions: &[f32],
    weights: &[f32],
) -> bool {
    let (log_prob_weights, entropy_weights) = weights.split_at(weights.len() / 2);
    let (mut by_outputs, mut by_log_std) = (vec![0.0; outputs.len()], vec![0.0; log_std.len()]);
    distribution.backward(
        (outputs, log_std),
        actions,
        log_prob_weights,
        entropy_weights,
        &mut by_outputs,
        &mut by_log_std,
    );
    let outputs_numeric = differences(outputs, |x| objective(distribution, x, log_std, actions, weights));
    let log_std_numeric = differences(log_std, |x| objective(distribution, outputs, x, actions, weights));
    close(&by_outputs, &outputs_numeric) && close(&by_log_std, &log_std_numeric)
}

fn row(len: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.5f32..1.5, len)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn categorical_gradients_are_slopes(
        outputs in row(12),
        actions in prop::collection::vec(0usize..4, 3),
        weights in row(6),
    ) {
        let actions: Vec<f32> = actions.iter().map(|&action| action as f32).collect();
        let categorical = ActionDistribution::Categorical { n: 4 };
        prop_assert!(gradient_agrees(&categorical, &outputs, &[], &actions, &weights));
    }

    #[test]
    fn gradients_of_several_choices_are_slopes(
        outputs in row(14),
        first in prop::collection::vec(0usize..3, 2),
        second in prop::collection::vec(0usize..4, 2),
        weights in row(4),
    ) {
        let pairs = first.iter().zip(&second);
        let actions: Vec<f32> = pairs.flat_map(|(&first, &second)| [first as f32, second as f32]).collect();
        let choices = ActionDistribution::for_space(&epgt_envs::Space::MultiDiscrete(vec![3, 4]));
        prop_assert!(gradient_agrees(&choices, &outputs, &[], &actions, &weights));
    }

    #[test]
    fn gaussian_gradients_are_slopes(
        outputs in row(6),
        log_std in prop::collection::vec(-0.5f32..0.5, 2),
        actions in row(6),
        weights in row(6),
    ) {
        let gaussian = ActionDistribution::DiagonalGaussian { dim: 2 };
        prop_assert!(gradient_agrees(&gaussian, &outputs, &log_std, &actions, &weights));
    }

    #[test]
    fn loss_gradients_are_slopes(inputs in row(5), targets in row(5), coefficient in 0.0f32..2.0) {
        let mut gradient = [0.0; 5];
        let mut unused = [0.0; 5];
        losses::policy_gradient(&inputs, &targets, &mut gradient);
        let slope = differences(&inputs, |x| f64::from(losses::policy_gradient(x, &targets, &mut unused)));
        prop_assert!(close(&gradient, &slope));

        losses::squared_error(&inputs, &targets, coefficient, &mut gradient);
        let slope = differences(&inputs, |x| {
            f64::from(coefficient) * f64::from(losses::squared_error(x, &targets, coefficient, &mut unused))
        });
        prop_assert!(close(&gradient, &slope));

        losses::entropy_bonus(&inputs, coefficient, &mut gradient);
        let slope = differences(&inputs, |x| {
            -f64::from(coefficient) * f64::from(losses::entropy_bonus(x, coefficient, &mut unused))
        });
        prop_assert!(close(&gradient, &slope));
    }

    #[test]
    fn gradients_of_clipped_losses_are_slopes_away_from_their_kinks(
        new in prop::collection::vec(-0.5f32..0.5, 5),
        old in prop::collection::vec(-0.5f32..0.5, 5),
        targets in row(5),
        clip in 0.1f32..0.4,
        coefficient in 0.0f32..2.0,
    ) {
        let mut gradient = [0.0; 5];
        let mut unused = [0.0; 5];
        // The widest difference moves x by 0.02, and a ratio near its bound, which is at most 1.4, by 1.4 times that.
        let kink = 0.03;
        let near = |x: f32, y: f32| (x - y).abs() < kink;
        for ((new, old), target) in new.iter().zip(&old).zip(&targets) {
            let ratio = (new - old).exp();
            prop_assume!(!near(ratio, 1.0 + clip) && !near(ratio, 1.0 - clip) && !near((new - old).abs(), clip));
            let held = old + (new - old).clamp(-clip, clip);
            let is_free = (new - old).abs() < clip;
            prop_assume!(is_free || !near((new - target).abs(), (held - target).abs()));
        }
        losses::clipped_surrogate(&new, &old, &targets, clip, &mut gradient);
        let slope = differences(&new, |x| {
            f64::from(losses::clipped_surrogate(x, &old, &targets, clip, &mut unused).loss)
        });
        prop_assert!(close(&gradient, &slope));

        losses::clipped_squared_error(&new, &old, &targets, clip, coefficient, &mut gradient);
        let slope = differences(&new, |x| {
            let loss = losses::clipped_squared_error(x, &old, &targets, clip, coefficient, &mut unused);
            f64::from(coefficient) * f64::from(loss)
        });
        prop_assert!(close(&gradient, &slope));
    }

    #[test]
    fn the_estimated_divergence_is_never_negative(new in row(6), old in row(6), advantages in row(6)) {
        let mut gradient = [0.0; 6];
        let found = losses::clipped_surrogate(&new, &old, &advantages, 0.2, &mut gradient);
        prop_assert!(found.approx_kl >= 0.0);
        prop_assert!((0.0..=1.0).contains(&found.clip_fraction));
    }
}
