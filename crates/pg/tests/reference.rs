//! Agreement with PyTorch in double precision, recorded by `record_torch.py`.

mod recording;

use epgt_pg::gae::{Segment, advantages_and_returns};
use epgt_pg::{A2c, A2cSettings, ActionDistribution, ActorCritic, Method, Phase, Ppo, PpoSettings};
use epgt_rng::Pcg64;
use epgt_settings::Settings;
use recording::{assert_close, flags, number, numbers, recorded, recorded_agent, recorded_rollout};
use serde_json::Value;

fn distributions_agree(family: &str, distribution: impl Fn(usize) -> ActionDistribution) {
    let data = &recorded("distributions")[family];
    let get = |key: &str| numbers(&data[key]);
    let distribution = distribution(data["n"].as_u64().unwrap() as usize);
    let (outputs, log_std) = (get("outputs"), get("log_std"));
    let batch = get("log_prob").len();
    let (mut log_probs, mut entropies, mut kl) = (vec![0.0; batch], vec![0.0; batch], vec![0.0; batch]);
    distribution.evaluate(&outputs, &log_std, &get("actions"), &mut log_probs, &mut entropies);
    distribution.kl((&outputs, &log_std), (&get("other"), &get("other_log_std")), &mut kl);
    assert_close("log_prob", &log_probs, &get("log_prob"), 1e-5);
    assert_close("entropy", &entropies, &get("entropy"), 1e-5);
    assert_close("kl", &kl, &get("kl"), 1e-5);
}

#[test]
fn categorical_log_probabilities_entropies_and_divergences_are_pytorchs() {
    distributions_agree("categorical", |n| ActionDistribution::Categorical { n });
}

#[test]
fn gaussian_log_probabilities_entropies_and_divergences_are_pytorchs() {
    distributions_agree("gaussian", |dim| ActionDistribution::DiagonalGaussian { dim });
}

#[test]
fn advantages_are_the_sum_that_defines_them() {
    let data = recorded("gae");
    let (rewards, values) = (numbers(&data["rewards"]), numbers(&data["values"]));
    let segment = Segment {
        n: data["n"].as_u64().unwrap() as usize,
        rewards: &rewards,
        values: &values,
        final_values: &numbers(&data["final_values"]),
        terminated: &flags(&data["terminated"]),
        truncated: &flags(&data["truncated"]),
    };
    let (mut advantages, mut returns) = (vec![0.0; rewards.len()], vec![0.0; rewards.len()]);
    let (gamma, lambda) = (number(&data["gamma"]), number(&data["gae_lambda"]));
    advantages_and_returns(segment, gamma, lambda, &mut advantages, &mut returns);
    assert_close("advantages", &advantages, &numbers(&data["advantages"]), 1e-5);
    assert_close("returns", &returns, &numbers(&data["returns"]), 1e-5);
}

fn parameters_agree(agent: &ActorCritic, recorded: &Value) {
    for tensor in agent.params.tensors() {
        assert_close(tensor.name, tensor.data, &numbers(&recorded[tensor.name]), 1e-5);
    }
}

fn gradients_agree(agent: &ActorCritic, recorded: &Value) {
    for tensor in agent.params.gradient_tensors() {
        assert_close(tensor.name, tensor.data, &numbers(&recorded[tensor.name]), 1e-5);
    }
}

fn updates_agree(task: &str) {
    let data = &recorded("a2c")[task];
    let mut agent = recorded_agent(data);
    let setting = |key: &str| data["settings"][key].as_f64().unwrap();
    let mut a2c = A2c::new(
        A2cSettings {
            learning_rate: setting("learning_rate"),
            gamma: setting("gamma"),
            gae_lambda: setting("gae_lambda"),
            ent_coef: setting("ent_coef"),
            vf_coef: setting("vf_coef"),
            rms_prop_decay: setting("rms_prop_decay"),
            rms_prop_eps: setting("rms_prop_eps"),
            normalize_advantage: data["settings"]["normalize_advantage"].as_bool().unwrap(),
            ..Default::default()
        },
        &agent,
    );
    for update in data["updates"].as_array().unwrap() {
        let mut rollout = recorded_rollout(data, &update["rollout"], &agent);
        a2c.settings.max_grad_norm = update["max_grad_norm"].as_f64().unwrap();
        let stats = a2c.update(&mut agent, &mut rollout).unwrap();

        for (key, ours) in [
            ("policy_loss", stats.policy_loss),
            ("value_loss", stats.value_loss),
            ("entropy", stats.entropy),
            ("grad_norm", stats.grad_norm),
        ] {
            assert_close(key, &[ours], &[number(&update[key])], 1e-5);
        }
        gradients_agree(&agent, &update["gradients"]);
        parameters_agree(&agent, &update["parameters"]);
    }
}

#[test]
fn an_update_of_a_discrete_policy_is_pytorchs() {
    updates_agree("discrete");
}

#[test]
fn an_update_of_a_continuous_policy_is_pytorchs() {
    updates_agree("continuous");
}

/// Two whole update phases, minibatch by minibatch.
fn phases_agree(task: &str) {
    let data = &recorded("ppo")[task];
    let mut agent = recorded_agent(data);
    let mut settings = PpoSettings::default();
    let assign = |settings: &mut PpoSettings, values: &Value| {
        for (key, value) in values.as_object().unwrap() {
            settings.assign(key, &value.to_string()).unwrap();
        }
    };
    assign(&mut settings, &data["settings"]);
    let order = Pcg64::from_seed(data["order_seed"].as_u64().unwrap());
    let mut ppo = Ppo::new(settings, &agent, order);
    for phase in data["phases"].as_array().unwrap() {
        let mut rollout = recorded_rollout(data, &phase["rollout"], &agent);
        let steps = phase["steps"].as_array().unwrap();
        let mut policy_loss = 0.0;
        for (i, step) in steps.iter().enumerate() {
            assign(&mut ppo.settings, &step["set"]);
            let end = ppo.step(&mut agent, &mut rollout).unwrap();
            assert_eq!(end == Phase::Over, i + 1 == steps.len());
            policy_loss += number(&step["policy_loss"]) / steps.len() as f32;
            if i == 0 {
                gradients_agree(&agent, &step["gradients"]);
                assert_close(
                    "value loss",
                    &[ppo.stats().value_loss],
                    &[number(&step["value_loss"])],
                    1e-5,
                );
            }
        }
        assert_close("policy loss", &[ppo.stats().policy_loss], &[policy_loss], 1e-5);
        parameters_agree(&agent, &phase["parameters"]);
    }
}

#[test]
fn phases_of_a_discrete_policy_are_pytorchs() {
    phases_agree("discrete");
}

#[test]
fn phases_of_a_continuous_policy_without_value_clipping_are_pytorchs() {
    phases_agree("continuous");
}

#[test]
fn phases_whose_hyperparameters_change_at_every_step_are_pytorchs() {
    phases_agree("scheduled");
}
