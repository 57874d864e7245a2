//! Tuned defaults: what a user gets who names only the task.

use crate::config::Algorithm;

/// `key = value` pairs for a task and method, laid upon the settings' own defaults.
pub fn of(task: &str, algorithm: Algorithm) -> &'static [(&'static str, &'static str)] {
    match (task, algorithm) {
        ("CartPole-v1", Algorithm::A2c) => &[
            ("steps", "500000"),
            ("n_envs", "8"),
            ("a2c.ent_coef", "0.0"),
            ("normalize_rewards", "false"),
        ],
        ("MountainCarContinuous-v0", Algorithm::A2c) => &[("steps", "100000"), ("n_envs", "4")],
        _ => &[],
    }
}
