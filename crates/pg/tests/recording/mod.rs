//! What the recordings of PyTorch hold, as this crate's types. Each test file uses a part of it.
#![allow(dead_code)]

use epgt_envs::{Observations, Space};
use epgt_pg::{ActorCritic, PolicySettings, Rollout};
use epgt_rng::Pcg64;
use serde_json::Value;

/// A recording by its name.
pub fn recorded(name: &str) -> Value {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn number(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

pub fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub fn flags(value: &Value) -> Vec<bool> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|flag| flag.as_bool().unwrap())
        .collect()
}

#[track_caller]
pub fn assert_close(what: &str, ours: &[f32], theirs: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * (1.0 + b.abs()),
            "{what}[{i}] is {a}, PyTorch has {b}"
        );
    }
}

/// The agent that a recording starts from.
pub fn recorded_agent(data: &Value) -> ActorCritic {
    let size = |key: &str| data[key].as_u64().unwrap() as usize;
    let actions = match data["discrete"].as_bool().unwrap() {
        true => Space::Discrete(size("action")),
        false => Space::Box {
            low: vec![-1.0; size("action")],
            high: vec![1.0; size("action")],
        },
    };
    let policy = PolicySettings {
        hidden: serde_json::from_value(data["hidden"].clone()).unwrap(),
        shared: data["shared"] == true,
        ..Default::default()
    };
    let mut agent = ActorCritic::new(&policy, size("observation"), &actions, &mut Pcg64::from_seed(0));
    for shape in agent.params.shapes().to_vec() {
        let start = numbers(&data["start"][&shape.name]);
        agent.params.values_mut()[shape.offset..][..start.len()].copy_from_slice(&start);
    }
    agent
}

/// The rollout of a recording, before an update has filled in its advantages.
pub fn recorded_rollout(data: &Value, recorded: &Value, agent: &ActorCritic) -> Rollout {
    let size = |key: &str| data[key].as_u64().unwrap() as usize;
    let action = agent.distribution.action_size();
    let mut rollout = Rollout::new(size("steps"), size("n"), size("observation"), action);
    rollout.observations = Observations::Numbers(numbers(&recorded["observations"]));
    rollout.actions = numbers(&recorded["actions"]);
    rollout.rewards = numbers(&recorded["rewards"]);
    rollout.values = numbers(&recorded["values"]);
    rollout.final_values = numbers(&recorded["final_values"]);
    rollout.terminated = flags(&recorded["terminated"]);
    rollout.truncated = flags(&recorded["truncated"]);
    if !recorded["log_probs"].is_null() {
        rollout.log_probs = numbers(&recorded["log_probs"]);
    }
    rollout
}
