//! Tuned defaults: what a user gets who names only the task.
//!
//! Where every step earns the same reward, the reward rate says nothing about the policy: there the hyper-agent is
//! scored by episode returns. The scores that these settings reach, with their seeds, are in `docs/defaults.md`.

use std::borrow::Cow;

use epgt_envs::{TaskSpec, family};

use crate::settings::Defaults;

/// The method that a user gets who names only the task: PPO where a simulator is the work, since it makes more of every
/// step.
pub fn algorithm(task: &str) -> &'static str {
    match family(task) {
        "CartPole" | "Acrobot" | "MountainCar" | "MountainCarContinuous" | "Pendulum" => "a2c",
        _ => "ppo",
    }
}

type Pairs = &'static [(&'static str, &'static str)];

/// Where a value of a configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From what the task is like: its kind of observations and actions.
    Properties,
    /// From the task's name.
    Name,
    /// From the run's steps and the number of its environments.
    Run,
    /// From the preset.
    Preset,
    /// It was said.
    Said,
}

impl Origin {
    /// One sentence for who reads the configuration.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Properties => "From the task's properties.",
            Self::Name => "From the task's name.",
            Self::Run => "From the run's steps and the number of its environments.",
            Self::Preset => "From the preset.",
            Self::Said => "As said.",
        }
    }
}

/// `key = value` pairs for a task and method, laid upon the settings' own defaults; each with where it comes from, or
/// `None` where it is the same for every task that has no settings of its own.
pub fn of(
    task: &TaskSpec,
    method: &str,
    whose: Defaults,
) -> impl Iterator<Item = (Option<Origin>, &'static str, Cow<'static, str>)> + use<> {
    let is_known = epgt_envs::tasks().iter().any(|known| known.id == task.id);
    let (family, origin) = match is_known {
        _ if task.is_atari() => ("atari", Origin::Properties),
        true => (family(&task.id), Origin::Name),
        // Nothing is known of another task but what it shows and its kind of action.
        false if task.image.is_some() => ("images", Origin::Properties),
        false if task.action.iter().all(|entry| entry.low == entry.high) => ("discrete", Origin::Properties),
        false => ("continuous", Origin::Properties),
    };
    let of_method = match method {
        "a2c" if whose == Defaults::Universal => universal_a2c,
        "a2c" => a2c,
        "ppo" if whose == Defaults::Universal => universal_ppo,
        "ppo" => ppo,
        "acktr" if whose == Defaults::Universal => universal_acktr,
        "acktr" => acktr,
        // Of a method of somebody's own nothing is known.
        _ => |_: &str| -> Pairs { &[] },
    };
    let every = of_every_task(method);
    // The second of each is what a task has that is none of the named ones.
    let layers = [
        (of_task(family), of_task("")),
        (every, every),
        (of_method(family), of_method("")),
    ];
    let pairs = layers.into_iter().flat_map(move |(pairs, shared)| {
        let own = pairs != shared;
        pairs
            .iter()
            .map(move |&(key, value)| (own.then_some(origin), key, Cow::Borrowed(value)))
    });
    let exceptions = match is_one_setting(task, method, whose) {
        true => exceptions(family, method),
        false => &[],
    };
    pairs.chain(
        exceptions
            .iter()
            .map(|&(key, value)| (Some(Origin::Name), key, Cow::Borrowed(value))),
    )
}

/// Whether a task is trained by the setting that is one for every task.
pub fn is_one_setting(task: &TaskSpec, method: &str, whose: Defaults) -> bool {
    whose == Defaults::Universal && task.image.is_none() && rows(method, u64::MAX).is_some()
}

/// The discount factor that looks a fifth of an episode ahead. Episodes that nothing was seen to cut are taken to last
/// 1000 steps.
pub fn discount(episode_limit: Option<u32>) -> f64 {
    1.0 - 5.0 / f64::from(episode_limit.unwrap_or(1000).clamp(20, 10_000))
}

/// Rows of a rollout of all environments together, for a run of so many steps; `None` where the method has no setting
/// that is one for every task. They are halved, some times at most, until a run has enough updates of A2C and ACKTR or phases of PPO.
pub fn rows(method: &str, steps: u64) -> Option<u64> {
    let (most, least, enough) = match method {
        "a2c" | "acktr" => (256, 32, 4),
        "ppo" => (2048, 128, 32),
        _ => return None,
    };
    let halved = std::iter::successors(Some(most), |rows| (*rows > least).then_some(rows / 2));
    Some(halved.into_iter().find(|rows| steps / rows >= enough).unwrap_or(least))
}

/// What holds for every method.
fn of_task(family: &str) -> Pairs {
    match family {
        "CartPole" | "Acrobot" => &[("steps", "500_000"), ("hyper.outcome", "episode")],
        "MountainCar" => &[("steps", "1_000_000"), ("hyper.outcome", "episode")],
        "MountainCarContinuous" => &[("steps", "100_000")],
        "Pendulum" => &[("steps", "1_000_000")],
        // Raw rewards are -1, 0 and 1.
        "PixelCatch" => &[("steps", "30_000"), ("normalize_rewards", "false")],
        // Scores of games lie far apart, their signs do not; 40 million frames, as is usual.
        "atari" => &[
            ("steps", "10_000_000"),
            ("sign_rewards", "true"),
            ("normalize_rewards", "false"),
            ("normalize_observations", "false"),
        ],
        "BipedalWalker" | "BipedalWalkerHardcore" => &[("steps", "2_000_000"), ("policy.hidden", "[64, 64]")],
        _ => &[("steps", "1_000_000"), ("policy.hidden", "[64, 64]")],
    }
}

/// What holds for every task.
fn of_every_task(method: &str) -> Pairs {
    match method {
        // All updates of a phase share one return: one hyper-action per phase, and each hyperparameter judged on its
        // own.
        "ppo" => &[("hyper.hold", "phase"), ("hyper.action_values", "factored")],
        _ => &[],
    }
}

fn a2c(family: &str) -> Pairs {
    match family {
        "CartPole" => &[("n_envs", "8"), ("a2c.ent_coef", "0.0")],
        "Acrobot" => &[("n_envs", "16"), ("a2c.ent_coef", "0.0")],
        "MountainCar" => &[("n_envs", "16")],
        "MountainCarContinuous" => &[("n_envs", "4")],
        "Pendulum" => &[
            ("n_envs", "8"),
            ("a2c.n_steps", "8"),
            ("a2c.gamma", "0.9"),
            ("a2c.gae_lambda", "0.9"),
            ("a2c.ent_coef", "0.0"),
        ],
        "PixelCatch" => &[
            ("n_envs", "16"),
            ("a2c.n_steps", "8"),
            ("a2c.learning_rate", "1e-3"),
            ("a2c.target_divergence", "0.01"),
        ],
        "atari" => &[
            ("n_envs", "16"),
            ("a2c.learning_rate_schedule", "linear"),
            ("a2c.target_divergence", "0.01"),
        ],
        "images" => &[
            ("n_envs", "16"),
            ("a2c.ent_coef", "0.0"),
            ("a2c.target_divergence", "0.01"),
        ],
        "BipedalWalker" | "BipedalWalkerHardcore" => &[
            ("n_envs", "16"),
            ("a2c.n_steps", "8"),
            ("a2c.gae_lambda", "0.9"),
            ("a2c.ent_coef", "0.0"),
        ],
        "LunarLander" | "LunarLanderContinuous" => &[("n_envs", "16"), ("a2c.gamma", "0.999"), ("a2c.ent_coef", "0.0")],
        // An entropy bonus with normalised rewards lets the deviation of continuous actions run away on MuJoCo tasks.
        _ => &[("n_envs", "16"), ("a2c.ent_coef", "0.0")],
    }
}

/// A2C on whatever observes numbers: one setting, in the same units as PPO's. A hyper-action is held for about 2000 steps.
fn universal_a2c(family: &str) -> Pairs {
    match family {
        "PixelCatch" | "atari" | "images" => a2c(family),
        _ => &[
            ("n_envs", "8"),
            ("a2c.target_divergence", "0.01"),
            ("a2c.critic_epochs", "4"),
            ("a2c.critic_learning_rate", "1e-3"),
            ("a2c.ent_coef", "0.0"),
            ("hyper.hold", "8"),
            ("policy.hidden", "[64, 64]"),
            ("policy.action_unit", "range"),
            ("policy.log_std_init", "auto"),
        ],
    }
}

/// PPO on whatever observes numbers: one setting. Its actions are drawn in units of their range, with a noise whose
/// length does not grow with their number.
fn universal_ppo(family: &str) -> Pairs {
    match family {
        "PixelCatch" | "atari" | "images" => ppo(family),
        _ => &[
            ("n_envs", "8"),
            ("ppo.batch_size", "64"),
            ("ppo.learning_rate_schedule", "linear"),
            ("policy.hidden", "[64, 64]"),
            ("policy.action_unit", "range"),
            ("policy.log_std_init", "auto"),
        ],
    }
}

/// ACKTR on whatever observes numbers: one setting, with the trust region as the unit of its steps. Advantages have one
/// scale, or steps would be nearly 0 where no goal is in sight.
fn universal_acktr(family: &str) -> Pairs {
    match family {
        "PixelCatch" | "atari" | "images" => acktr(family),
        _ => &[
            ("n_envs", "8"),
            ("acktr.momentum", "0.0"),
            ("acktr.normalize_advantage", "true"),
            ("hyper.hold", "8"),
            ("policy.hidden", "[64, 64]"),
            ("policy.action_unit", "range"),
            ("policy.log_std_init", "auto"),
        ],
    }
}

/// What a task has instead of the one setting, each with its measured reason in `docs/defaults.md`.
fn exceptions(family: &str, method: &str) -> Pairs {
    match (family, method) {
        // A swimmer that looks less far ahead stays with a stroke that is half as fast, and values that far are found only
        // where they may move freely and look far themselves.
        ("Swimmer", "ppo") => &[
            ("ppo.gamma", "0.9999"),
            ("ppo.gae_lambda", "0.98"),
            ("ppo.clip_range_vf", "0.0"),
        ],
        ("Swimmer", "a2c") => &[("a2c.gamma", "0.9999"), ("a2c.gae_lambda", "0.99")],
        ("Swimmer", "acktr") => &[("acktr.gamma", "0.9999"), ("acktr.gae_lambda", "0.99")],
        _ => &[],
    }
}

fn ppo(family: &str) -> Pairs {
    match family {
        "MountainCar" => &[
            ("n_envs", "16"),
            ("ppo.n_steps", "256"),
            ("ppo.batch_size", "256"),
            ("ppo.learning_rate", "1e-3"),
            ("ppo.learning_rate_schedule", "linear"),
            ("ppo.gae_lambda", "0.98"),
            ("ppo.ent_coef", "0.01"),
        ],
        "CartPole" | "Acrobot" | "MountainCarContinuous" | "Pendulum" | "discrete" => &[
            ("n_envs", "8"),
            ("ppo.n_steps", "128"),
            ("ppo.batch_size", "256"),
            ("ppo.learning_rate", "1e-3"),
            ("ppo.learning_rate_schedule", "linear"),
        ],
        "PixelCatch" => &[
            ("n_envs", "16"),
            ("ppo.n_steps", "64"),
            ("ppo.batch_size", "128"),
            ("ppo.n_epochs", "4"),
            ("ppo.learning_rate", "1e-3"),
            ("ppo.ent_coef", "0.01"),
        ],
        // As usual; the references halve the squared error of the value and weigh it by 0.5.
        "atari" => &[
            ("n_envs", "8"),
            ("ppo.n_steps", "128"),
            ("ppo.batch_size", "256"),
            ("ppo.n_epochs", "4"),
            ("ppo.learning_rate", "2.5e-4"),
            ("ppo.learning_rate_schedule", "linear"),
            ("ppo.clip_range", "0.1"),
            ("ppo.clip_range_vf", "0.1"),
            ("ppo.clip_schedule", "linear"),
            ("ppo.ent_coef", "0.01"),
            ("ppo.vf_coef", "0.25"),
        ],
        // As usual for Atari.
        "images" => &[
            ("n_envs", "8"),
            ("ppo.n_steps", "128"),
            ("ppo.batch_size", "256"),
            ("ppo.n_epochs", "4"),
            ("ppo.learning_rate", "2.5e-4"),
            ("ppo.learning_rate_schedule", "linear"),
            ("ppo.ent_coef", "0.01"),
        ],
        // As for the simulators that are built in, from eight environments, since a worker steps them at once.
        "continuous" => &[
            ("n_envs", "8"),
            ("ppo.n_steps", "256"),
            ("ppo.learning_rate_schedule", "linear"),
        ],
        // The paper's setting for its Table 2.
        "BipedalWalker" | "BipedalWalkerHardcore" => &[
            ("n_envs", "4"),
            ("ppo.n_steps", "1600"),
            ("ppo.batch_size", "128"),
            ("ppo.learning_rate_schedule", "linear"),
        ],
        // The same, looking further ahead: what a landing is worth comes at its end.
        "LunarLander" | "LunarLanderContinuous" => &[
            ("n_envs", "4"),
            ("ppo.n_steps", "1600"),
            ("ppo.batch_size", "128"),
            ("ppo.gamma", "0.999"),
            ("ppo.learning_rate_schedule", "linear"),
        ],
        // The paper's setting for its Fig. 4; the code it builds on halves the squared error and weighs it by 0.5.
        _ => &[
            ("n_envs", "1"),
            ("ppo.learning_rate_schedule", "linear"),
            ("ppo.vf_coef", "0.25"),
        ],
    }
}

/// Momentum made learning slower or less steady on CartPole, MountainCar, Pendulum and HalfCheetah.
fn acktr(family: &str) -> Pairs {
    match family {
        "CartPole" => &[("n_envs", "8"), ("acktr.momentum", "0.0")],
        // Without a goal in sight all advantages are nearly 0, and so would be the steps.
        "Acrobot" => &[("n_envs", "16"), ("acktr.normalize_advantage", "true")],
        "MountainCar" => &[
            ("n_envs", "16"),
            ("acktr.momentum", "0.0"),
            ("acktr.normalize_advantage", "true"),
            ("acktr.ent_coef", "0.01"),
        ],
        "MountainCarContinuous" => &[("n_envs", "4"), ("acktr.n_steps", "10")],
        "Pendulum" => &[("n_envs", "8"), ("acktr.momentum", "0.0"), ("acktr.gamma", "0.9")],
        // The paper's setting for its Fig. 3; the entropy's weight is that of ACKTR's authors, the value's in the
        // Fisher matrix that of the code it ran on.
        "atari" => &[
            ("n_envs", "40"),
            ("acktr.learning_rate_schedule", "linear"),
            ("acktr.kl_clip", "0.001"),
            ("acktr.vf_fisher_coef", "4.0"),
            ("acktr.ent_coef", "0.01"),
        ],
        _ => &[("n_envs", "16"), ("acktr.momentum", "0.0")],
    }
}
