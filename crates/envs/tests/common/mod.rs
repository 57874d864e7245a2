//! Plays our tasks, and compares what happened with what Gymnasium said.

// Each test uses a part of it.
#![allow(dead_code)]

pub mod gymnasium;

use epgt_envs::{Env, Space, TaskSpec, TimeLimit};
use serde_json::Value;

/// All that an environment returned, over as many episodes as it took.
#[derive(Default)]
pub struct Played {
    pub actions: Vec<f32>,
    pub observations: Vec<f32>,
    pub rewards: Vec<f64>,
    /// 1 (terminated) + 2 (truncated), as a digit.
    pub ends: String,
}

/// Plays a number of steps; `policy` fills in the action for an observation.
pub fn play(id: &str, seed: u64, steps: usize, policy: impl FnMut(&[f32], &mut [f32])) -> Played {
    play_task(&epgt_envs::find(id).expect("a registered task"), seed, steps, policy)
}

/// The same with a task's options.
pub fn play_task(task: &TaskSpec, seed: u64, steps: usize, mut policy: impl FnMut(&[f32], &mut [f32])) -> Played {
    let mut env = TimeLimit::new(task.make().expect("an environment"), task.max_episode_steps);
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut played = Played::default();
    env.reset(Some(seed), &mut observation).expect("a reset");
    played.observations.extend(&observation);
    for _ in 0..steps {
        policy(&observation, &mut action);
        let step = env.step(&action, &mut observation).expect("a step");
        played.actions.extend(&action);
        played.observations.extend(&observation);
        played.rewards.push(step.reward);
        let end = u32::from(step.terminated) + 2 * u32::from(step.truncated);
        played.ends.extend(char::from_digit(end, 10));
        if end > 0 {
            env.reset(None, &mut observation).expect("a reset");
            played.observations.extend(&observation);
        }
    }
    played
}

/// Both are the same task and went the same way: equal ends, observations equal or neighbouring `f32`, rewards equal or
/// neighbouring `f64`. Returns how many numbers were only neighbours.
pub fn assert_same(id: &str, ours: &Played, gymnasium: &Value) -> usize {
    assert_same_with(&epgt_envs::find(id).expect("a registered task"), ours, gymnasium)
}

/// The same with a task's options.
pub fn assert_same_with(task: &TaskSpec, ours: &Played, gymnasium: &Value) -> usize {
    let name = &task.label();
    assert_eq!(ours.ends, text(&gymnasium["ends"]), "{name}: the ends of episodes");
    let observations = floats(text(&gymnasium["observations"]));
    assert_eq!(
        ours.observations.len(),
        observations.len(),
        "{name}: the number of observations"
    );
    assert_same_spaces(task, &gymnasium["task"]);
    let mut neighbours = 0;
    for (i, (&our, &their)) in ours.observations.iter().zip(&observations).enumerate() {
        if our != their {
            neighbours += 1;
            let near = our.next_up() == their || our.next_down() == their;
            assert!(near, "{name}: observed number {i} is {our}, in Gymnasium {their}");
        }
    }
    let rewards = doubles(text(&gymnasium["rewards"]));
    assert_eq!(ours.rewards.len(), rewards.len(), "{name}: the number of rewards");
    for (i, (&our, &their)) in ours.rewards.iter().zip(&rewards).enumerate() {
        if our != their {
            neighbours += 1;
            let near = our.next_up() == their || our.next_down() == their;
            assert!(near, "{name}: reward {i} is {our}, in Gymnasium {their}");
        }
    }
    neighbours
}

/// Gymnasium's task has the same spaces, limit and threshold.
pub fn assert_same_task(id: &str, gymnasium: &Value) {
    assert_same_spaces(&epgt_envs::find(id).expect("a registered task"), gymnasium);
}

/// The same with a task's options.
pub fn assert_same_spaces(task: &TaskSpec, gymnasium: &Value) {
    let id = &task.label();
    let env = task.make().expect("an environment");
    assert_eq!(
        bounds(env.observation_space()),
        floats(text(&gymnasium["observation"])),
        "{id}"
    );
    match env.action_space() {
        Space::Discrete(n) => assert_eq!(gymnasium["action"], *n, "{id}"),
        space => assert_eq!(bounds(space), floats(text(&gymnasium["action"])), "{id}"),
    }
    assert_eq!(gymnasium["max_episode_steps"], task.max_episode_steps, "{id}");
    assert_eq!(gymnasium["reward_threshold"].as_f64(), task.reward_threshold, "{id}");
}

fn bounds(space: &Space) -> Vec<f32> {
    match space {
        Space::Discrete(_) | Space::MultiDiscrete(_) | Space::Image { .. } => Vec::new(),
        Space::Box { low, high } => [&low[..], high].concat(),
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Numbers from the hexadecimal digits of their bits.
pub fn floats(digits: &str) -> Vec<f32> {
    words(digits, 8).map(|bits| f32::from_bits(bits as u32)).collect()
}

pub fn doubles(digits: &str) -> Vec<f64> {
    words(digits, 16).map(f64::from_bits).collect()
}

fn words(digits: &str, width: usize) -> impl Iterator<Item = u64> {
    (0..digits.len() / width)
        .map(move |i| u64::from_str_radix(&digits[i * width..][..width], 16).expect("hexadecimal digits"))
}
