//! Whole ACKTR updates beside PyTorch in double precision, recorded by `record_acktr.py`.

mod recording;

use epgt_pg::{Acktr, AcktrSettings};
use epgt_rng::Pcg64;
use epgt_settings::Settings;
use recording::{numbers, recorded, recorded_agent, recorded_rollout};
use serde_json::Value;

#[track_caller]
fn assert_close(what: &str, ours: &[f32], theirs: &[f32]) {
    recording::assert_close(what, ours, theirs, 5e-6);
}

fn assign(settings: &mut AcktrSettings, values: &Value) {
    for (key, value) in values.as_object().unwrap() {
        settings.assign(key, &value.to_string()).unwrap();
    }
}

fn updates_agree(task: &str) {
    let data = &recorded("acktr")[task];
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
