//! The two phases together, on real tasks.

use epgt_envs::{Normalizer, StepRow, VecEnv};
use epgt_pg::{A2c, A2cSettings, ActorCritic, PolicySettings, Rollout, collect};
use epgt_rng::Pcg64;

struct Training {
    envs: VecEnv,
    normalizer: Normalizer,
    agent: ActorCritic,
    rollout: Rollout,
    a2c: A2c,
    rng: Pcg64,
}

impl Training {
    fn new(task: &str, n: usize, normalize: bool, settings: A2cSettings) -> Self {
        let envs = VecEnv::new(epgt_envs::find(task).unwrap(), n, 1).unwrap();
        let (observation, actions) = (envs.observation_space().size(), envs.action_space().clone());
        let mut rng = Pcg64::from_seed(1);
        let agent = ActorCritic::new(&PolicySettings::default(), observation, &actions, &mut rng);
        Self {
            normalizer: Normalizer::new(observation, n, normalize, normalize, settings.gamma),
            rollout: Rollout::new(settings.n_steps, n, observation, actions.size()),
            a2c: A2c::new(settings, &agent),
            envs,
            agent,
            rng,
        }
    }

    fn collect(&mut self) {
        let Self {
            rollout,
            envs,
            normalizer,
            agent,
            rng,
            ..
        } = self;
        collect(rollout, envs, normalizer, agent, rng).unwrap();
    }

    fn update(&mut self) {
        self.a2c.update(&mut self.agent, &mut self.rollout).unwrap();
    }

    /// Mean return of the last `count` episodes within `steps` steps.
    fn train(&mut self, steps: usize, count: usize) -> f64 {
        let mut returns = Vec::new();
        for _ in 0..steps / self.rollout.batch_size() {
            self.collect();
            returns.extend(self.rollout.episodes.iter().map(|episode| episode.episode_return));
            self.update();
        }
        let last = &returns[returns.len().saturating_sub(count)..];
        last.iter().sum::<f64>() / last.len() as f64
    }
}

#[test]
fn a2c_learns_to_balance_a_pole() {
    let settings = A2cSettings {
        learning_rate: 2e-3,
        n_steps: 8,
        ..Default::default()
    };
    let score = Training::new("CartPole-v1", 8, true, settings).train(60_000, 30);
    assert!(score > 200.0, "a random policy scores about 22, this one {score}");
}

#[test]
fn a_phase_starts_where_the_one_before_ended() {
    let mut training = Training::new("CartPole-v1", 3, true, A2cSettings::default());
    training.collect();
    let last = training.rollout.last_observations().to_vec();
    training.collect();
    assert_eq!(training.rollout.observations[..last.len()], last);
    assert_ne!(training.rollout.last_observations(), last);
}

#[test]
fn what_is_stored_is_what_the_policy_and_the_task_said() {
    let mut training = Training::new(
        "CartPole-v1",
        2,
        false,
        A2cSettings {
            n_steps: 40,
            ..Default::default()
        },
    );
    training.collect();
    training.collect();
    let Training { rollout, agent, .. } = &mut training;
    let mut log_probs = vec![0.0; rollout.batch_size()];
    let mut entropies = log_probs.clone();
    agent.forward(rollout.batch_observations(), rollout.batch_size());
    let outputs = agent.policy.output();
    agent
        .distribution
        .evaluate(outputs, &[], &rollout.actions, &mut log_probs, &mut entropies);
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close(&log_probs, &rollout.log_probs));
    assert!(close(agent.value.output(), &rollout.values[..rollout.batch_size()]));
    assert_eq!(rollout.rewards, rollout.raw_rewards);
    assert_eq!(rollout.reward_rate(), 1.0);
    let ends = rollout.terminated.iter().filter(|&&end| end).count();
    assert!(ends > 0 && ends == rollout.episodes.len());
    assert!(
        rollout.final_values.iter().all(|&value| value == 0.0),
        "no value follows a fall"
    );
}

#[test]
fn a_time_limit_is_bootstrapped_with_the_value_of_the_cut_observation() {
    let settings = A2cSettings {
        n_steps: 450,
        ..Default::default()
    };
    let mut training = Training::new("Pendulum-v1", 2, true, settings);
    training.collect();

    let mut envs = VecEnv::new(epgt_envs::find("Pendulum-v1").unwrap(), 2, 1).unwrap();
    let mut observations = vec![0.0; 6];
    envs.reset(&mut observations).unwrap();
    let mut normalizer = Normalizer::new(3, 2, true, true, 0.99);
    normalizer.observe(&mut observations);
    let rollout = &training.rollout;
    let mut cuts = 0;
    for (t, actions) in rollout.actions.chunks_exact(2).enumerate() {
        let (mut rewards, mut terminated, mut truncated) = ([0.0; 2], [false; 2], [false; 2]);
        let out = StepRow {
            observations: &mut observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        envs.step(actions, out).unwrap();
        normalizer.observe(&mut observations);
        for (i, cut) in truncated.into_iter().enumerate() {
            let mut expected = [0.0];
            if cut {
                cuts += 1;
                let mut last = envs.final_observation(i).to_vec();
                normalizer.apply(&mut last);
                training.agent.values_of(&last, 1, &mut expected);
                assert_ne!(expected[0], 0.0);
            }
            assert_eq!(rollout.final_values[t * 2 + i], expected[0], "step {t}");
        }
    }
    assert_eq!(cuts, 4);
}

#[test]
fn training_goes_on_from_a_checkpoint_as_if_nothing_had_happened() {
    let mut whole = Training::new("MountainCarContinuous-v0", 2, true, A2cSettings::default());
    whole.train(100, 1);
    let mut resumed = Training::new("MountainCarContinuous-v0", 2, true, A2cSettings::default());
    resumed.envs.restore(&whole.envs.save()).unwrap();
    resumed.normalizer = whole.normalizer.clone();
    resumed.agent.restore(whole.agent.params.clone()).unwrap();
    resumed.a2c.optimiser = whole.a2c.optimiser.clone();
    resumed.rollout.resume_from(whole.rollout.last_observations());
    resumed.rng = whole.rng.clone();
    whole.train(100, 1);
    resumed.train(100, 1);
    assert_eq!(whole.agent.params.values(), resumed.agent.params.values());
}

#[test]
fn a_reward_that_is_not_finite_stops_the_update_before_the_parameters_move() {
    let mut training = Training::new("CartPole-v1", 2, true, A2cSettings::default());
    training.collect();
    training.rollout.rewards[3] = f32::NAN;
    let before = training.agent.params.values().to_vec();
    let error = training
        .a2c
        .update(&mut training.agent, &mut training.rollout)
        .unwrap_err();
    assert_eq!(error.place, "loss/policy");
    assert!(
        error
            .to_string()
            .starts_with("loss/policy is not finite: training has diverged; lower learning_rate")
    );
    assert_eq!(training.agent.params.values(), before);
}

#[test]
fn a_gradient_that_is_not_finite_is_named_and_stops_the_update() {
    let mut training = Training::new("CartPole-v1", 2, true, A2cSettings::default());
    training.collect();
    training.a2c.set(A2c::index("vf_coef").unwrap(), 1e38);
    training.rollout.rewards.fill(1e3);
    let before = training.agent.params.values().to_vec();
    let error = training
        .a2c
        .update(&mut training.agent, &mut training.rollout)
        .unwrap_err();
    assert!(error.place.starts_with("gradient of value."), "{error}");
    assert_eq!(training.agent.params.values(), before);
}

#[test]
fn every_scheduled_hyperparameter_changes_the_next_update() {
    let mut training = Training::new("CartPole-v1", 2, true, A2cSettings::default());
    training.train(100, 1);
    training.collect();
    let updated = |a2c: &A2c| {
        let (mut agent, mut rollout) = (training.agent.clone(), training.rollout.clone());
        a2c.clone().update(&mut agent, &mut rollout).unwrap();
        agent.params.values().to_vec()
    };
    let usual = updated(&training.a2c);
    for (name, value) in [
        ("learning_rate", 1e-2),
        ("gamma", 0.5),
        ("gae_lambda", 0.1),
        ("ent_coef", 1.0),
        ("vf_coef", 0.1),
        ("max_grad_norm", 1e-3),
        ("rms_prop_decay", 0.5),
    ] {
        let mut a2c = training.a2c.clone();
        a2c.set(A2c::index(name).unwrap(), value);
        assert_ne!(updated(&a2c), usual, "{name}");
    }
    let mut still = training.a2c.clone();
    still.set(A2c::index("learning_rate").unwrap(), 0.0);
    assert_eq!(updated(&still), training.agent.params.values());
}

#[test]
fn every_hyperparameter_is_read_back_as_it_was_set() {
    let mut a2c = Training::new("CartPole-v1", 1, true, A2cSettings::default()).a2c;
    for (index, hyperparameter) in A2c::hyperparameters().iter().enumerate() {
        assert_eq!(A2c::index(hyperparameter.name), Ok(index));
        assert_eq!(hyperparameter.validate(a2c.get(index)), Ok(()));
        a2c.set(index, 0.125);
        assert_eq!(a2c.get(index), 0.125);
    }
    let settings = a2c.settings;
    let named = [
        settings.learning_rate,
        settings.gamma,
        settings.gae_lambda,
        settings.ent_coef,
        settings.vf_coef,
        settings.max_grad_norm,
        settings.rms_prop_decay,
    ];
    assert_eq!(named, [0.125; 7]);
}
