//! Steps the real Gymnasium beside our tasks of classic control.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium 1.4; without it there is nothing to compare
//! with, and the test says so.

mod common;

use common::gymnasium::Gymnasium;
use common::{Played, assert_same, play};
use epgt_rng::Pcg64;

const STEPS: usize = 1500;

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

fn random(id: &str, seed: u64) -> Played {
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    let space = epgt_envs::make(id).expect("a registered task").action_space().clone();
    play(id, seed, STEPS, |_, action| {
        space.sample(&mut rng, action);
        if let epgt_envs::Space::Box { .. } = space {
            // Bounds are clipped to inside the task.
            action.iter_mut().for_each(|x| *x *= 1.3);
        }
    })
}

fn with_skill(id: &str, seed: u64) -> Played {
    let mut rng = Pcg64::for_purpose(seed, "noise", 0);
    play(id, seed, STEPS, |observation, action| {
        action[0] = skilled(id, observation, rng.uniform(-1.0, 1.0) as f32);
    })
}

#[test]
fn classic_control_follows_the_real_gymnasium() {
    let Some(mut gymnasium) = Gymnasium::start() else {
        println!("skipped: EPGT_PYTHON names no Python with Gymnasium to compare with");
        return;
    };
    let mut terminations = 0;
    for id in [
        "Acrobot-v1",
        "CartPole-v1",
        "MountainCar-v0",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
    ] {
        for seed in [0, 17, 1 << 40] {
            for ours in [random(id, seed), with_skill(id, seed)] {
                let theirs = gymnasium.play(id, seed, &ours.actions);
                let neighbours = assert_same(id, &ours, &theirs);
                terminations += ours.ends.matches('1').count();
                println!(
                    "{id} seed {seed}: {} steps equal, {} ends, {neighbours} of {} numbers one unit off",
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
