//! Environments that act with noise of their own: what is drawn, what is learned from it, and what it says.

use epgt_envs::{Normalizer, VecEnv};
use epgt_pg::update::Workspace;
use epgt_pg::{ActorCritic, PolicySettings, Rollout, collect, noise_groups};
use epgt_rng::Pcg64;

const N: usize = 8;
const SPREAD: f64 = 2.0;

/// A rollout that was acted with groups of noise.
fn play(task: &str, steps: usize, log_std: f32) -> (ActorCritic, Rollout) {
    let mut envs = VecEnv::new(&epgt_envs::find(task).unwrap(), N, 1).unwrap();
    let (observation, actions) = (envs.observation_space().size(), envs.action_space().clone());
    let mut rng = Pcg64::from_seed(1);
    let settings = PolicySettings {
        hidden: vec![8],
        log_std_init: Some(log_std),
        ..Default::default()
    };
    let mut agent = ActorCritic::new(&settings, observation, &actions, &mut rng);
    // The first policy of all is nearly uniform; one that has opinions shows more.
    if agent.log_std.is_none() {
        agent.widen(0.02);
    }
    agent.set_noise(noise_groups(N, SPREAD));
    let mut rollout = Rollout::new(steps, N, observation, actions.size());
    let mut normalizer = Normalizer::new(observation, N, false, false, 0.99);
    collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng).unwrap();
    (agent, rollout)
}

/// The policy's outputs without anybody's noise.
fn plain_outputs(agent: &ActorCritic, rollout: &Rollout) -> Vec<f32> {
    let mut plain = agent.clone();
    plain.set_noise(Vec::new());
    plain.forward_policy(rollout.batch_observations(), rollout.batch_size());
    plain.policy_output().to_vec()
}

#[test]
fn environments_are_given_their_share_of_the_noise_around_the_same_mean() {
    let (mut agent, rollout) = play("Pendulum-v1", 4000, -1.0);
    let means = plain_outputs(&agent, &rollout);
    let mut squares = [0.0f64; N];
    for (drawn, means) in rollout.actions.chunks_exact(N).zip(means.chunks_exact(N)) {
        let given = agent.for_task(drawn);
        for (env, (given, mean)) in given.iter().zip(means).enumerate() {
            squares[env] += f64::from(given - mean).powi(2) / 4000.0;
        }
    }
    let deviation = f64::from(agent.log_std()[0].exp());
    for (env, noise) in noise_groups(N, SPREAD).into_iter().enumerate() {
        let wanted = deviation * f64::from(noise);
        assert!((squares[env].sqrt() / wanted - 1.0).abs() < 0.04, "environment {env}");
    }
}

#[test]
fn choices_are_drawn_with_the_temperature_of_their_environment() {
    let (agent, rollout) = play("CartPole-v1", 4000, 0.0);
    let logits = plain_outputs(&agent, &rollout);
    let (mut expected, mut seen) = ([0.0f64; N], [0.0f64; N]);
    let noise = noise_groups(N, SPREAD);
    for (row, (logits, action)) in logits.chunks_exact(2).zip(&rollout.actions).enumerate() {
        let difference = f64::from(logits[1] - logits[0]) / f64::from(noise[row % N]);
        let likely = 1.0 / (1.0 + (-difference.abs()).exp());
        expected[row % N] += likely / 4000.0;
        seen[row % N] += f64::from(u8::from((*action == 1.0) == (difference > 0.0))) / 4000.0;
    }
    for env in 0..N {
        assert!((expected[env] - seen[env]).abs() < 0.025, "environment {env}");
    }
    assert!(expected[0] > expected[N - 1] + 0.02, "groups differ: {expected:?}");
}

/// The logarithm of the density of what the environments were given, in double precision and by the textbook.
fn log_density(agent: &ActorCritic, rollout: &Rollout, outputs: &[f32], row: usize) -> f64 {
    let noise = f64::from(agent.noise()[row % N]);
    let action = f64::from(rollout.actions[row]);
    match agent.log_std().first() {
        Some(&log_std) => {
            let deviation = f64::from(log_std.exp()) * noise;
            let z = (action * noise - f64::from(outputs[row])) / deviation;
            -0.5 * z * z - deviation.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
        }
        None => {
            let logits = [outputs[2 * row], outputs[2 * row + 1]].map(|logit| f64::from(logit) / noise);
            let sum = logits[0].exp() + logits[1].exp();
            logits[action as usize] - sum.ln()
        }
    }
}

#[test]
fn ratios_of_probabilities_are_those_of_the_policy_that_acted() {
    for task in ["Pendulum-v1", "CartPole-v1"] {
        let (mut agent, rollout) = play(task, 20, -0.5);
        let before = plain_outputs(&agent, &rollout);
        let acted: Vec<f64> = (0..rollout.batch_size())
            .map(|row| log_density(&agent, &rollout, &before, row))
            .collect();
        for weight in agent.params.values_mut() {
            *weight += 0.02;
        }
        let after = plain_outputs(&agent, &rollout);
        let mut work = Workspace::default();
        work.forward_all(&mut agent, rollout.batch_observations(), &rollout.actions);
        for (row, acted) in acted.into_iter().enumerate() {
            let wanted = log_density(&agent, &rollout, &after, row) - acted;
            let ours = f64::from(work.log_probs[row] - rollout.log_probs[row]);
            assert!((ours - wanted).abs() < 2e-4 * (1.0 + wanted.abs()), "{task}, row {row}");
        }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for task in ["Pendulum-v1", "CartPole-v1"] {
        let (mut agent, rollout) = play(task, 4, -0.5);
        let weights: Vec<f32> = (0..rollout.batch_size()).map(|row| (row as f32).sin()).collect();
        let mut work = Workspace::default();
        let loss = |agent: &mut ActorCritic, work: &mut Workspace| {
            work.forward_all(agent, rollout.batch_observations(), &rollout.actions);
            let terms = work.log_probs.iter().zip(&weights);
            terms
                .map(|(log_prob, weight)| f64::from(log_prob * weight))
                .sum::<f64>()
        };
        loss(&mut agent, &mut work);
        work.log_prob_gradient.copy_from_slice(&weights);
        work.entropy_gradient.fill(0.0);
        work.value_gradient.fill(0.0);
        work.backward(&mut agent, &rollout.actions).unwrap();
        let gradient = agent.params.gradients().to_vec();
        let critic = agent.critic();
        let step = 1e-2;
        for at in (0..gradient.len()).filter(|at| !critic.contains(at)) {
            let mut moved = |by: f32| {
                agent.params.values_mut()[at] += by;
                let there = loss(&mut agent, &mut work);
                agent.params.values_mut()[at] -= by;
                there
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
            let ours = f64::from(gradient[at]);
            assert!(
                (ours - slope).abs() < 0.02 * (1.0 + slope.abs()),
                "{task}, weight {at}: {ours} {slope}"
            );
        }
    }
}

#[test]
fn the_comparison_tells_in_which_direction_more_is_earned() {
    let (_, mut rollout) = play("Pendulum-v1", 50, 0.0);
    rollout.values.fill(0.0);
    let mut rng = Pcg64::from_seed(3);
    let mut compare = |more: f32| {
        for (row, reward) in rollout.rewards.iter_mut().enumerate() {
            let wide = if row % N >= 6 { more } else { 0.0 };
            *reward = wide + rng.standard_normal() as f32;
        }
        rollout.noise_comparison(0.99).unwrap()
    };
    // A difference of one deviation between two groups of a hundred steps is 1 / sqrt(2 / 100) standard errors.
    assert!((compare(1.0) - 50f64.sqrt()).abs() < 3.0);
    assert!((compare(-1.0) + 50f64.sqrt()).abs() < 3.0);
    let chance: Vec<f64> = (0..200).map(|_| compare(0.0)).collect();
    let square = chance.iter().map(|t| t * t).sum::<f64>() / 200.0;
    assert!(
        (square - 1.0).abs() < 0.35,
        "by chance it is one standard error: {square}"
    );
    rollout.noise.clear();
    assert_eq!(rollout.noise_comparison(0.99), None);
}

#[test]
fn a_wider_policy_draws_the_same_actions_more_evenly() {
    let (mut agent, rollout) = play("CartPole-v1", 5, 0.0);
    let before = plain_outputs(&agent, &rollout);
    agent.widen(2.0);
    let after = plain_outputs(&agent, &rollout);
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| (0.5 * before - after).abs() < 1e-6)
    );

    let (mut agent, rollout) = play("Pendulum-v1", 5, 0.0);
    let before = plain_outputs(&agent, &rollout);
    let log_std = agent.log_std()[0];
    agent.widen(2.0);
    assert_eq!(before, plain_outputs(&agent, &rollout));
    assert!((agent.log_std()[0] - log_std - 2f32.ln()).abs() < 1e-6);
    for _ in 0..100 {
        agent.widen(0.1);
    }
    assert_eq!(agent.log_std(), [-5.0], "it stays within bounds");
}
