//! Losses as pure functions: each returns its value and writes its gradient.
//!
//! They speak of what a network's outputs say (log-probabilities, entropies, values), so they hold for any network and
//! any action distribution; [`ActionDistribution::backward`](crate::ActionDistribution::backward) does the rest of the
//! chain rule. All are means over the batch, as in Stable-Baselines3.

/// Policy-gradient loss of A2C, `-mean(A log pi(a|s))`; the advantages are constants.
///
/// ```
/// let mut gradient = [0.0; 2];
/// let loss = epgt_pg::losses::policy_gradient(&[-1.0, -2.0], &[3.0, -1.0], &mut gradient);
/// assert_eq!(loss, 0.5);
/// assert_eq!(gradient, [-1.5, 0.5]);
/// ```
pub fn policy_gradient(log_probs: &[f32], advantages: &[f32], gradient: &mut [f32]) -> f32 {
    assert_eq!(log_probs.len(), advantages.len(), "one advantage per step");
    assert_eq!(log_probs.len(), gradient.len(), "one gradient per step");
    let share = 1.0 / log_probs.len() as f32;
    let mut sum = 0.0;
    for ((log_prob, advantage), gradient) in log_probs.iter().zip(advantages).zip(gradient) {
        sum += log_prob * advantage;
        *gradient = -share * advantage;
    }
    -share * sum
}

/// What PPO's policy loss found, as means over the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surrogate {
    /// `-mean(min(r A, clip(r) A))`.
    pub loss: f32,
    /// `mean(r - 1 - log r)`: an estimate of KL(old, new) that is never negative.
    pub approx_kl: f32,
    /// Share of the steps whose ratio was outside of the clip range.
    pub clip_fraction: f32,
}

/// PPO's clipped surrogate, `-mean(min(r A, clip(r, 1 - c, 1 + c) A))` with the probability ratio `r = pi(a|s) /
/// pi_old(a|s)`. The gradient is with respect to the new log-probabilities: 0 where clipping makes the objective flat.
///
/// ```
/// let mut gradient = [0.0; 2];
/// let log_probs = [0.0, 0.4f32.ln()]; // ratios of 2 and 0.8
/// let old = [0.5f32.ln(), 0.5f32.ln()];
/// let found = epgt_pg::losses::clipped_surrogate(&log_probs, &old, &[1.0, 1.0], 0.25, &mut gradient);
/// assert!((found.loss + (1.25 + 0.8) / 2.0).abs() < 1e-6);
/// assert_eq!(gradient[0], 0.0);
/// assert!((gradient[1] + 0.4).abs() < 1e-6);
/// assert_eq!(found.clip_fraction, 0.5);
/// ```
pub fn clipped_surrogate(
    log_probs: &[f32],
    old_log_probs: &[f32],
    advantages: &[f32],
    clip_range: f32,
    gradient: &mut [f32],
) -> Surrogate {
    assert_eq!(log_probs.len(), old_log_probs.len(), "one old log-probability per step");
    assert_eq!(log_probs.len(), advantages.len(), "one advantage per step");
    assert_eq!(log_probs.len(), gradient.len(), "one gradient per step");
    let share = 1.0 / log_probs.len() as f32;
    let mut sums = Surrogate::default();
    let steps = log_probs.iter().zip(old_log_probs).zip(advantages).zip(gradient);
    for (((new, old), advantage), gradient) in steps {
        let log_ratio = new - old;
        let ratio = log_ratio.exp();
        let free = ratio * advantage;
        let clipped = ratio.clamp(1.0 - clip_range, 1.0 + clip_range) * advantage;
        sums.loss -= free.min(clipped);
        sums.approx_kl += (ratio - 1.0) - log_ratio;
        sums.clip_fraction += f32::from((ratio - 1.0).abs() > clip_range);
        *gradient = if free <= clipped { -share * free } else { 0.0 };
    }
    Surrogate {
        loss: share * sums.loss,
        approx_kl: share * sums.approx_kl,
        clip_fraction: share * sums.clip_fraction,
    }
}

/// Value loss, `mean((V - R)^2)`. The loss is returned bare; the gradient is multiplied by `coefficient` (`vf_coef`).
///
/// ```
/// let mut gradient = [0.0; 2];
/// let loss = epgt_pg::losses::squared_error(&[1.0, 2.0], &[0.0, 4.0], 0.5, &mut gradient);
/// assert_eq!(loss, 2.5);
/// assert_eq!(gradient, [0.5, -1.0]);
/// ```
pub fn squared_error(values: &[f32], returns: &[f32], coefficient: f32, gradient: &mut [f32]) -> f32 {
    assert_eq!(values.len(), returns.len(), "one return per value");
    assert_eq!(values.len(), gradient.len(), "one gradient per value");
    let share = 1.0 / values.len() as f32;
    let mut sum = 0.0;
    for ((value, target), gradient) in values.iter().zip(returns).zip(gradient) {
        let error = value - target;
        sum += error * error;
        *gradient = coefficient * 2.0 * share * error;
    }
    share * sum
}

/// PPO's clipped value loss, `mean(max((V - R)^2, (V_c - R)^2))` with `V_c = V_old + clip(V - V_old, -c, c)`: an update
/// gains nothing by moving a value further than `c` from where it was. Loss and gradient as in [`squared_error`].
///
/// ```
/// let mut gradient = [0.0; 2];
/// // The first value has moved too far towards its return and is held back; the second moves freely.
/// let (values, old, returns) = ([1.0, 2.0], [0.0, 2.0], [3.0, 3.0]);
/// let loss = epgt_pg::losses::clipped_squared_error(&values, &old, &returns, 0.5, 1.0, &mut gradient);
/// assert_eq!(loss, (2.5 * 2.5 + 1.0) / 2.0);
/// assert_eq!(gradient, [0.0, -1.0]);
/// ```
pub fn clipped_squared_error(
    values: &[f32],
    old_values: &[f32],
    returns: &[f32],
    clip_range: f32,
    coefficient: f32,
    gradient: &mut [f32],
) -> f32 {
    assert_eq!(values.len(), old_values.len(), "one old value per value");
    assert_eq!(values.len(), returns.len(), "one return per value");
    assert_eq!(values.len(), gradient.len(), "one gradient per value");
    let share = 1.0 / values.len() as f32;
    let mut sum = 0.0;
    let steps = values.iter().zip(old_values).zip(returns).zip(gradient);
    for (((value, old), target), gradient) in steps {
        let error = value - target;
        let held = old + (value - old).clamp(-clip_range, clip_range) - target;
        sum += (error * error).max(held * held);
        let free = error * error >= held * held || (value - old).abs() <= clip_range;
        *gradient = if free { coefficient * 2.0 * share * error } else { 0.0 };
    }
    share * sum
}

/// Entropy bonus, `-coefficient * mean(H)` in the loss. Returns the mean entropy; the gradient is of the loss (so
/// negative).
///
/// ```
/// let mut gradient = [0.0; 2];
/// let entropy = epgt_pg::losses::entropy_bonus(&[1.0, 2.0], 0.5, &mut gradient);
/// assert_eq!(entropy, 1.5);
/// assert_eq!(gradient, [-0.25, -0.25]);
/// ```
pub fn entropy_bonus(entropies: &[f32], coefficient: f32, gradient: &mut [f32]) -> f32 {
    assert_eq!(entropies.len(), gradient.len(), "one gradient per entropy");
    let share = 1.0 / entropies.len() as f32;
    gradient.fill(-coefficient * share);
    share * entropies.iter().sum::<f32>()
}
