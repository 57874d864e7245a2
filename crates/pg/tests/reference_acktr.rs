//! Whole ACKTR updates beside PyTorch in double precision, recorded by `record_acktr.py`.

use epgt_envs::{Observations, Space};
use epgt_pg::{Acktr, AcktrSettings, ActorCritic, PolicySettings, Rollout};
use epgt_rng::Pcg64;
use epgt_settings::Settings;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f32> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| number.as_f64().unwrap() as f32).collect()
}

fn flags(value: &Value) -> Vec<bool> {
    let flags = value.as_array().unwrap().iter();
    flags.map(|flag| flag.as_bool().unwrap()).collect()
}

#[track_caller]
fn assert_close(what: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (a - b).abs() <= 5e-6 * (1.0 + b.abs()),
            "{what}[{i}] is {a}, PyTorch has {b}"
        );
    }
}

/// The agent that a recording starts from.
fn recorded_agent(data: &Value) -> ActorCritic {
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
        shared: data["shared"].as_bool().unwrap(),
        ..Default::default()
    };
    let mut agent = ActorCritic::new(&policy, size("observation"), &actions, &mut Pcg64::from_seed(0));
    for shape in agent.params.shapes().to_vec() {
        let start = numbers(&data["start"][&shape.name]);
        agent.params.values_mut()[shape.offset..][..start.len()].copy_from_slice(&start);
    }
    agent
}

fn recorded_rollout(data: &Value, recorded: &Value, agent: &ActorCritic) -> Rollout {
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
    rollout
}

fn assign(settings: &mut AcktrSettings, values: &Value) {
    for (key, value) in values.as_object().unwrap() {
        settings.assign(key, &value.to_string()).unwrap();
    }
}

fn updates_agree(task: &str) {
    let path = format!("{}/tests/data/acktr.json", env!("CARGO_MANIFEST_DIR"));
    let data: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let data = &data[task];
    let mut agent = recorded_agent(data);
    let mut settings = AcktrSettings::default();
    assign(&mut settings, &data["settings"]);
    let draws = Pcg64::from_seed(data["fisher_seed"].as_u64().unwrap());
    let mut acktr = Acktr::new(settings, &agent, draws);
    let updates = data["updates"].as_array().unwrap();
    // The recording holds what it is for.
    let renewed: Vec<bool> = updates.iter().map(|update| update["renewed"] == true).collect();
    assert_eq!(renewed, [true, false, true, false, true], "not every update renews");
    let limited: Vec<bool> = updates
        .iter()
        .map(|update| update["trust_scale"].as_f64().unwrap() < 1.0)
        .collect();
    assert_eq!(limited, [true, true, false, true, true], "not every step is limited");
    for (i, update) in updates.iter().enumerate() {
        assign(&mut acktr.settings, &update["set"]);
        let mut rollout = recorded_rollout(data, &update["rollout"], &agent);
        let stats = acktr.update(&mut agent, &mut rollout).unwrap();
        for (key, ours) in [
            ("policy_loss", stats.policy_loss),
            ("value_loss", stats.value_loss),
            ("entropy", stats.entropy),
            ("grad_norm", stats.grad_norm),
            ("trust_scale", stats.trust_scale.unwrap()),
        ] {
            assert_close(
                &format!("update {i}: {key}"),
                &[ours],
                &[update[key].as_f64().unwrap() as f32],
            );
        }
        for tensor in agent.params.gradient_tensors() {
            let theirs = numbers(&update["gradients"][tensor.name]);
            assert_close(
                &format!("update {i}: gradient of {}", tensor.name),
                tensor.data,
                &theirs,
            );
        }
        for tensor in agent.params.tensors() {
            let theirs = numbers(&update["parameters"][tensor.name]);
            assert_close(&format!("update {i}: {}", tensor.name), tensor.data, &theirs);
        }
    }
}

#[test]
fn updates_of_a_discrete_policy_are_pytorchs() {
    updates_agree("discrete");
}

#[test]
fn updates_of_a_continuous_policy_are_pytorchs() {
    updates_agree("continuous");
}

#[test]
fn updates_of_a_policy_that_shares_its_layers_with_the_value_are_pytorchs() {
    updates_agree("shared");
}
