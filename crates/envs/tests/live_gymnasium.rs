//! Steps the real Gymnasium beside our tasks of classic control.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium 1.4; without it there is nothing to compare
//! with, and the test is ignored.

mod common;

use common::gymnasium::Gymnasium;
use common::{Played, assert_same_with, play_task};
use epgt_envs::{TaskSpec, find};
use epgt_rng::Pcg64;
use epgt_testing::needs;

const STEPS: usize = 1500;
/// The tasks, as they are and with each of their options.
const TASKS: [(&str, &[(&str, &str)]); 10] = [
    ("Acrobot-v1", &[]),
    ("CartPole-v1", &[]),
    ("CartPole-v1", &[("sutton_barto_reward", "true")]),
    ("MountainCar-v0", &[]),
    ("MountainCar-v0", &[("goal_velocity", "0.03")]),
    ("MountainCarContinuous-v0", &[]),
    ("MountainCarContinuous-v0", &[("goal_velocity", "0.03")]),
    ("Pendulum-v1", &[]),
    ("Pendulum-v1", &[("g", "9.81")]),
    ("Pendulum-v1", &[("g", "1.62")]),
];

/// Actions that reach goals, walls and limits: pumps energy in with a little noise, or balances.
fn skilled(id: &str, observation: &[f32], noise: f32) -> f32 {
    match id {
        "MountainCar-v0" if noise.abs() > 0.9 => 1.0,
        "MountainCar-v0" => {
            if observation[1] < 0.0 {
                0.0
            } else {
                2.0
            }
        }
        "MountainCarContinuous-v0" => observation[1].signum() * (1.0 - noise.abs()) + noise,
        "CartPole-v1" => f32::from(observation[2] + 0.5 * observation[3] + 0.02 * noise > 0.0),
        "Pendulum-v1" => observation[2].signum() * 2.0 + noise,
        "Acrobot-v1" => {
            if observation[5] < 0.0 {
                0.0
            } else {
                2.0
            }
        }
        _ => panic!("{id} has no skilled policy yet: add one here"),
    }
}

fn random(task: &TaskSpec, seed: u64) -> Played {
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    let space = task.make().expect("an environment").action_space().clone();
    play_task(task, seed, STEPS, |_, action| {
        space.sample(&mut rng, action);
        if let epgt_envs::Space::Box { .. } = space {
            // Bounds are clipped to inside the task.
            action.iter_mut().for_each(|x| *x *= 1.3);
        }
    })
}

fn with_skill(task: &TaskSpec, seed: u64) -> Played {
    let mut rng = Pcg64::for_purpose(seed, "noise", 0);
    play_task(task, seed, STEPS, |observation, action| {
        action[0] = skilled(&task.id, observation, rng.uniform(-1.0, 1.0) as f32);
    })
}

#[needs(python)]
#[test]
fn classic_control_follows_the_real_gymnasium() {
    let mut gymnasium = Gymnasium::start();
    let mut terminations = 0;
    for (id, options) in TASKS {
        let task = find(id).expect("a task").with(options.iter().copied());
        let task = task.expect("options of the task");
        for seed in [0, 17, 1 << 40] {
            for ours in [random(&task, seed), with_skill(&task, seed)] {
                let theirs = gymnasium.play_task(&task, seed, &ours.actions);
                let neighbours = assert_same_with(&task, &ours, &theirs);
                terminations += ours.ends.matches('1').count();
                println!(
                    "{} seed {seed}: {} steps equal, {} ends, {neighbours} of {} numbers one unit off",
                    task.label(),
                    ours.rewards.len(),
                    ours.ends.matches(['1', '2', '3']).count(),
                    ours.observations.len(),
                );
            }
        }
    }
    assert!(terminations > 100, "the comparison reaches the ends of tasks");
    gymnasium.stop();
}
