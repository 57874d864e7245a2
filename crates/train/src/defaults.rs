//! Tuned defaults: what a user gets who names only the task.
//!
//! Where every step earns the same reward, the reward rate says nothing about the policy: there the hyper-agent is scored by
//! episode returns. The scores that these settings reach are in `docs/results.md`.

use crate::settings::Algorithm;

/// `key = value` pairs for a task and method, laid upon the settings' own defaults.
pub fn of(task: &str, algorithm: Algorithm) -> &'static [(&'static str, &'static str)] {
    match (task, algorithm) {
        ("CartPole-v1", Algorithm::A2c) => &[
            ("steps", "500_000"),
            ("n_envs", "8"),
            ("a2c.ent_coef", "0.0"),
            ("hyper.outcome", "episode"),
        ],
        ("Acrobot-v1", Algorithm::A2c) => &[
            ("steps", "500_000"),
            ("n_envs", "16"),
            ("a2c.ent_coef", "0.0"),
            ("hyper.outcome", "episode"),
        ],
        ("MountainCar-v0", Algorithm::A2c) => &[("steps", "1_000_000"), ("n_envs", "16"), ("hyper.outcome", "episode")],
        ("MountainCarContinuous-v0", Algorithm::A2c) => &[("steps", "100_000"), ("n_envs", "4")],
        ("Pendulum-v1", Algorithm::A2c) => &[
            ("steps", "1_000_000"),
            ("n_envs", "8"),
            ("a2c.n_steps", "8"),
            ("a2c.gamma", "0.9"),
            ("a2c.gae_lambda", "0.9"),
            ("a2c.ent_coef", "0.0"),
        ],
        // The simulators' tasks: plausible settings, not tuned yet.
        _ => match task.split_once("-v") {
            Some(("BipedalWalker" | "BipedalWalkerHardcore", _)) => &[
                ("steps", "2_000_000"),
                ("n_envs", "16"),
                ("a2c.n_steps", "8"),
                ("a2c.gae_lambda", "0.9"),
                ("a2c.ent_coef", "0.0"),
                ("policy.hidden", "[64, 64]"),
            ],
            Some(("LunarLander" | "LunarLanderContinuous", _)) => &[
                ("steps", "1_000_000"),
                ("n_envs", "16"),
                ("a2c.ent_coef", "0.0"),
                ("policy.hidden", "[64, 64]"),
            ],
            // MuJoCo. An entropy bonus with normalised rewards lets the deviation of continuous actions run away there.
            _ => &[
                ("steps", "1_000_000"),
                ("n_envs", "16"),
                ("a2c.ent_coef", "0.0"),
                ("policy.hidden", "[64, 64]"),
            ],
        },
    }
}
