//! ACKTR on real tasks: it learns, and its trust region means what it says.

use epgt_envs::{Normalizer, VecEnv};
use epgt_pg::{Acktr, AcktrSettings, ActorCritic, PolicySettings, Rollout, collect};
use epgt_rng::Pcg64;

struct Training {
    envs: VecEnv,
    normalizer: Normalizer,
    agent: ActorCritic,
    rollout: Rollout,
    acktr: Acktr,
    rng: Pcg64,
}

impl Training {
    fn new(task: &str, n: usize, shared: bool, settings: AcktrSettings) -> Self {
        let envs = VecEnv::new(&epgt_envs::find(task).unwrap(), n, 1).unwrap();
        let (observation, actions) = (envs.observation_space().size(), envs.action_space().clone());
        let mut rng = Pcg64::from_seed(1);
        let policy = PolicySettings {
            shared,
            ..Default::default()
        };
        let agent = ActorCritic::new(&policy, observation, &actions, &mut rng);
        Self {
            normalizer: Normalizer::new(observation, n, true, true, settings.gamma),
            rollout: Rollout::new(settings.n_steps, n, observation, actions.size()),
            acktr: Acktr::new(settings, &agent, Pcg64::from_seed(2)),
            envs,
            agent,
            rng,
        }
    }

    fn iterate(&mut self) {
        let (rollout, agent) = (&mut self.rollout, &mut self.agent);
        collect(rollout, &mut self.envs, &mut self.normalizer, agent, &mut self.rng).unwrap();
        self.acktr.update(agent, rollout).unwrap();
    }
}

#[test]
fn acktr_learns_to_balance_a_pole_for_nearly_as_long_as_it_may() {
    let settings = AcktrSettings {
        momentum: 0.0,
        ..Default::default()
    };
    for shared in [false, true] {
        let mut training = Training::new("CartPole-v1", 8, shared, settings);
        let mut returns = Vec::new();
        for _ in 0..60_000 / training.rollout.batch_size() {
            training.iterate();
            returns.extend(training.rollout.episodes.iter().map(|episode| episode.episode_return));
        }
        let score = returns[returns.len() - 30..].iter().sum::<f64>() / 30.0;
        assert!(
            score > 450.0,
            "shared layers {shared}: 60,000 steps reach {score} of 500"
        );
    }
}

/// The divergence of the first update after the Fisher matrix has been observed for a while, over what the trust region
/// allows.
fn divergence_of_a_step(task: &str, vf_coef: f64) -> f32 {
    let settings = AcktrSettings {
        learning_rate: 0.0,
        momentum: 0.0,
        inverse_interval: 1,
        vf_coef,
        ..Default::default()
    };
    let mut training = Training::new(task, 16, false, settings);
    for _ in 0..20 {
        training.iterate();
    }
    training.acktr.settings.learning_rate = 1e6;
    let mut before = training.agent.clone();
    training.iterate();

    let Training {
        agent: after, rollout, ..
    } = &mut training;
    let batch = rollout.batch_size();
    before.forward(rollout.batch_observations(), batch);
    after.forward(rollout.batch_observations(), batch);
    let mut policy = vec![0.0; batch];
    before.distribution.kl(
        (before.policy.output(), before.log_std()),
        (after.policy.output(), after.log_std()),
        &mut policy,
    );
    // Values stand for Gaussians of unit variance.
    let values = before.value.output().iter().zip(after.value.output());
    let value: f32 = values.map(|(a, b)| 0.5 * (a - b).powi(2)).sum();
    (policy.iter().sum::<f32>() + value) / batch as f32 / (settings.kl_clip / 2.0) as f32
}

#[test]
fn an_update_moves_the_policy_as_far_as_the_trust_region_says() {
    // The first policy depends on its last layer only, where K-FAC is nearly exact.
    for task in ["CartPole-v1", "Pendulum-v1"] {
        let ratio = divergence_of_a_step(task, 0.0);
        assert!((0.7..1.3).contains(&ratio), "{task}: {ratio} times what is allowed");
    }
}

#[test]
fn layers_that_pull_together_move_the_value_further_by_about_their_number() {
    // K-FAC takes the layers for independent; three that all push the value the same way move it up to three times as
    // far.
    for task in ["CartPole-v1", "Pendulum-v1"] {
        let ratio = divergence_of_a_step(task, 0.5);
        assert!((1.0..6.0).contains(&ratio), "{task}: {ratio} times what is allowed");
    }
}
