//! Networks of every shape that the settings allow: against PyTorch in double precision (recorded by
//! `record_networks.py`), and against finite differences; and what becomes of squashed actions.

use epgt_envs::{Normalizer, Space, StepRow, VecEnv};
use epgt_pg::{A2cSettings, ActorCritic, HiddenActivation, MethodSettings, Phase, PolicySettings, Rollout, collect};
use epgt_rng::Pcg64;
use epgt_settings::Settings;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f32> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap() as f32).collect()
}

#[track_caller]
fn assert_close(what: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (a - b).abs() <= 1e-5 * (1.0 + b.abs()),
            "{what}[{i}] is {a}, PyTorch has {b}"
        );
    }
}

#[test]
fn outputs_and_gradients_are_pytorchs_whatever_is_shared() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("data/networks.json")).unwrap();
    for case in cases {
        let size = |key: &str| case[key].as_u64().unwrap() as usize;
        let mut settings = PolicySettings::default();
        for key in ["activation", "hidden", "value_hidden", "shared"] {
            if !case[key].is_null() {
                settings.assign(key, &case[key].to_string()).unwrap();
            }
        }
        settings.validate().unwrap();
        let actions = Space::Discrete(size("action"));
        let mut agent = ActorCritic::new(&settings, size("observation"), &actions, &mut Pcg64::from_seed(0));
        let shapes = agent.params.shapes().to_vec();
        assert_eq!(shapes.len(), case["parameters"].as_object().unwrap().len());
        for shape in &shapes {
            let start = numbers(&case["parameters"][&shape.name]);
            assert_eq!(start.len(), shape.rows * shape.cols, "{}", shape.name);
            agent.params.values_mut()[shape.offset..][..start.len()].copy_from_slice(&start);
        }

        agent.forward(&numbers(&case["observations"]), size("batch"));
        assert_close("outputs", agent.policy.output(), &numbers(&case["outputs"]));
        assert_close("values", agent.value.output(), &numbers(&case["values"]));
        agent.params.gradients_mut().fill(f32::NAN);
        agent.backward(
            &numbers(&case["output_gradient"]),
            &[],
            &numbers(&case["value_gradient"]),
        );
        for tensor in agent.params.gradient_tensors() {
            assert_close(tensor.name, tensor.data, &numbers(&case["gradients"][tensor.name]));
        }

        let (mut greedy, mut values) = (vec![9.0; size("batch")], vec![9.0; size("batch")]);
        agent.act_greedy(&numbers(&case["observations"]), size("batch"), &mut greedy);
        agent.values_of(&numbers(&case["observations"]), size("batch"), &mut values);
        let best = numbers(&case["outputs"]);
        let best = best.chunks_exact(2).map(|logits| f32::from(logits[1] > logits[0]));
        assert_eq!(greedy, best.collect::<Vec<f32>>());
        assert_close("values", &values, &numbers(&case["values"]));
    }
}

/// A settings' agent with weights away from zero, and normal numbers.
fn agent(settings: &PolicySettings) -> (ActorCritic, impl FnMut(usize) -> Vec<f32>) {
    let cube = Space::Box {
        low: vec![-1.0; 2],
        high: vec![1.0; 2],
    };
    let mut rng = Pcg64::from_seed(3);
    let mut agent = ActorCritic::new(settings, 4, &cube, &mut rng);
    for x in agent.params.values_mut() {
        *x += 0.3 * rng.standard_normal() as f32;
    }
    let normals = move |len: usize| (0..len).map(|_| rng.standard_normal() as f32).collect();
    (agent, normals)
}

/// The slope by central differences with two widths. Where they disagree there is a rectifier's kink in between, and a
/// difference says nothing.
fn slope(mut loss: impl FnMut(f32) -> f64) -> Option<f64> {
    let mut at = |h: f32| (loss(h) - loss(-h)) / (2.0 * f64::from(h));
    let (wide, narrow) = (at(8e-3), at(4e-3));
    ((wide - narrow).abs() < 3e-3).then_some((4.0 * narrow - wide) / 3.0)
}

#[test]
fn gradients_of_shared_layers_are_the_slopes_of_both_losses_together() {
    for activation in [
        HiddenActivation::Tanh,
        HiddenActivation::Relu,
        HiddenActivation::Elu,
        HiddenActivation::LeakyRelu,
    ] {
        let settings = PolicySettings {
            hidden: vec![7, 5],
            shared: true,
            activation,
            ..Default::default()
        };
        let (mut agent, mut normals) = agent(&settings);
        let batch = 3;
        let (observations, by_outputs) = (normals(batch * 4), normals(batch * 2));
        let (by_log_std, by_values) = (normals(2), normals(batch));
        agent.forward(&observations, batch);
        agent.backward(&by_outputs, &by_log_std, &by_values);
        let gradient = agent.params.gradients().to_vec();
        let mut checked = 0;
        for (i, &expected) in gradient.iter().enumerate() {
            let x = agent.params.values()[i];
            let measured = slope(|h| {
                agent.params.values_mut()[i] = x + h;
                agent.forward(&observations, batch);
                let dot =
                    |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
                dot(agent.policy.output(), &by_outputs)
                    + dot(agent.log_std(), &by_log_std)
                    + dot(agent.value.output(), &by_values)
            });
            agent.params.values_mut()[i] = x;
            if let Some(measured) = measured {
                let error = (measured - f64::from(expected)).abs();
                assert!(
                    error < 2e-3 * (1.0 + measured.abs()),
                    "{activation:?} {i}: {expected} is not {measured}"
                );
                checked += 1;
            }
        }
        assert!(
            checked * 10 >= gradient.len() * 8,
            "only {checked} slopes could be measured"
        );
    }
}

#[test]
fn shared_layers_are_named_trunk_and_come_first() {
    let settings = PolicySettings {
        hidden: vec![7, 5],
        shared: true,
        ..Default::default()
    };
    let (agent, _) = agent(&settings);
    let shapes: Vec<_> = agent.params.tensors().map(|t| (t.name, t.rows, t.cols)).collect();
    assert_eq!(
        shapes,
        [
            ("trunk.0.weight", 7, 4),
            ("trunk.0.bias", 1, 7),
            ("trunk.1.weight", 5, 7),
            ("trunk.1.bias", 1, 5),
            ("policy.0.weight", 2, 5),
            ("policy.0.bias", 1, 2),
            ("value.0.weight", 1, 5),
            ("value.0.bias", 1, 1),
            ("policy.log_std", 1, 2),
        ]
    );
    let weights: Vec<_> = agent
        .layers()
        .map(|layer| agent.params.value(layer.weight()).len())
        .collect();
    assert_eq!(weights, [28, 35, 10, 5]);
    let rows: usize = shapes.iter().map(|shape| shape.1).sum();
    let size = settings.size(4, 2);
    assert_eq!(
        (size.weights, size.rows),
        ((agent.params.len() - 2) as f64, (rows - 1) as f64)
    );
}

#[test]
fn a_separate_policy_refuses_shared_parameters_by_name() {
    let settings = |shared| PolicySettings {
        shared,
        ..Default::default()
    };
    let (mut separate, _) = agent(&settings(false));
    let (shared, _) = agent(&settings(true));
    let error = separate.restore(shared.params).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("trunk.0.weight of 32x4 where policy.0.weight of 32x4"),
        "{error}"
    );
}

#[test]
fn weights_start_orthogonal_or_uniform_as_asked() {
    let weights = |ortho_init| {
        let settings = PolicySettings {
            hidden: vec![16, 16],
            ortho_init,
            ..Default::default()
        };
        let space = Space::Discrete(2);
        let agent = ActorCritic::new(&settings, 4, &space, &mut Pcg64::from_seed(1));
        let layer = agent.layers().nth(1).unwrap();
        agent.params.value(layer.weight()).to_vec()
    };
    let product = |w: &[f32], i: usize, j: usize| -> f32 { (0..16).map(|k| w[i * 16 + k] * w[j * 16 + k]).sum() };
    let orthogonal = weights(true);
    assert!((product(&orthogonal, 3, 3) - 2.0).abs() < 1e-4 && product(&orthogonal, 3, 8).abs() < 1e-4);
    let uniform = weights(false);
    assert!(uniform.iter().all(|w| w.abs() <= 0.25) && uniform.iter().any(|w| w.abs() > 0.2));
}

/// A task with `n` environments and an agent for it.
fn setup(task: &str, n: usize, policy: &PolicySettings, n_steps: usize) -> (VecEnv, Normalizer, ActorCritic, Rollout) {
    let envs = VecEnv::new(&epgt_envs::find(task).unwrap(), n, 1).unwrap();
    let (size, actions) = (envs.observation_space().size(), envs.action_space().clone());
    let agent = ActorCritic::new(policy, size, &actions, &mut Pcg64::from_seed(1));
    let rollout = Rollout::new(n_steps, n, size, actions.size());
    (envs, Normalizer::new(size, n, true, true, 0.99), agent, rollout)
}

#[test]
fn a_policy_that_shares_layers_with_its_value_learns_too() {
    let policy = PolicySettings {
        shared: true,
        activation: HiddenActivation::Elu,
        ..Default::default()
    };
    let settings = Box::new(A2cSettings {
        learning_rate: 2e-3,
        n_steps: 8,
        ..Default::default()
    });
    let (mut envs, mut normalizer, mut agent, mut rollout) = setup("CartPole-v1", 8, &policy, 8);
    let mut method = settings.method(&agent, 1);
    let mut rng = Pcg64::from_seed(2);
    let mut returns = Vec::new();
    for _ in 0..60_000 / rollout.batch_size() {
        collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
        returns.extend(rollout.episodes.iter().map(|episode| episode.episode_return));
        while method.step(&mut agent, &mut rollout).unwrap() == Phase::GoesOn {}
    }
    let last = &returns[returns.len() - 30..];
    let score = last.iter().sum::<f64>() / 30.0;
    assert!(score > 200.0, "a random policy scores about 22, this one {score}");
}

#[test]
fn squashed_actions_reach_the_task_and_draws_are_learned_from() {
    let play = |squash| {
        let policy = PolicySettings {
            squash,
            log_std_init: Some(1.0),
            ..Default::default()
        };
        let (mut envs, _, mut agent, mut rollout) = setup("Pendulum-v1", 2, &policy, 100);
        let mut normalizer = Normalizer::new(3, 2, false, false, 0.99);
        let mut rng = Pcg64::from_seed(2);
        collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
        (agent, rollout)
    };
    let (mut agent, rollout) = play(true);

    // Stepping by hand: torques of +-2 through a tanh earn what the rollout says.
    let mut envs = VecEnv::new(&epgt_envs::find("Pendulum-v1").unwrap(), 2, 1).unwrap();
    let mut observations = vec![0.0; 6];
    envs.reset(&mut observations).unwrap();
    for (drawn, earned) in rollout.actions.chunks_exact(2).zip(rollout.raw_rewards.chunks_exact(2)) {
        let given = agent.for_task(drawn);
        for (ours, drawn) in given.iter().zip(drawn) {
            assert!((ours - 2.0 * drawn.tanh()).abs() < 2e-6 && ours.abs() <= 2.0);
        }
        let (mut rewards, mut terminated, mut truncated) = ([0.0; 2], [false; 2], [false; 2]);
        let out = StepRow {
            observations: (&mut observations).into(),
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        envs.step(given, out).unwrap();
        assert_eq!(rewards, earned);
    }
    let beyond = rollout.actions.iter().filter(|drawn| drawn.abs() > 2.0).count();
    assert!(
        beyond > 50,
        "draws are kept as they are, but only {beyond} lie beyond the bounds"
    );

    // Their log-probabilities are the Gaussian's, and squashing changes neither the first draws nor these.
    let mut log_probs = vec![0.0; rollout.batch_size()];
    let mut entropies = log_probs.clone();
    agent.forward(rollout.batch_observations(), rollout.batch_size());
    let policy = (agent.policy.output(), agent.log_std());
    agent
        .distribution
        .evaluate(policy.0, policy.1, &rollout.actions, &mut log_probs, &mut entropies);
    assert_close("log_probs", &log_probs, &rollout.log_probs);
    let (_, plain) = play(false);
    assert_eq!(plain.actions[..2], rollout.actions[..2]);
    assert_eq!(plain.log_probs[..2], rollout.log_probs[..2]);
    assert_ne!(plain.raw_rewards, rollout.raw_rewards);
}
