//! Losses as pure functions: each returns its value and writes its gradient.
//!
//! They speak of what a network's outputs say (log-probabilities, entropies, values), so they hold for any network and any
//! action distribution; [`ActionDistribution::backward`](crate::ActionDistribution::backward) does the rest of the chain rule.
//! All are means over the batch, as in Stable-Baselines3.

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

/// Entropy bonus, `-coefficient * mean(H)` in the loss. Returns the mean entropy; the gradient is of the loss (so negative).
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
