//! The two phases together, on real tasks.

use epgt_envs::{Normalizer, StepRow, VecEnv};
use epgt_pg::{
    A2cSettings, AcktrSettings, ActorCritic, Effect, Method, MethodSettings, NotFinite, Phase, PolicySettings,
    PpoSettings, Rollout, StepControl, collect,
};
use epgt_rng::Pcg64;

struct Training {
    envs: VecEnv,
    normalizer: Normalizer,
    agent: ActorCritic,
    rollout: Rollout,
    settings: Box<dyn MethodSettings>,
    method: Box<dyn Method>,
    rng: Pcg64,
}

impl Training {
    fn new(task: &str, n: usize, normalize: bool, settings: Box<dyn MethodSettings>) -> Self {
        let envs = VecEnv::new(&epgt_envs::find(task).unwrap(), n, 1).unwrap();
        let (observation, actions) = (envs.observation_space().size(), envs.action_space().clone());
        let mut rng = Pcg64::from_seed(1);
        let agent = ActorCritic::new(&PolicySettings::default(), observation, &actions, &mut rng);
        Self {
            normalizer: Normalizer::new(observation, n, normalize, normalize, settings.gamma()),
            rollout: Rollout::new(settings.n_steps(), n, observation, actions.size()),
            method: settings.method(&agent, 1),
            settings,
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
        while self.step().unwrap() == Phase::GoesOn {}
    }

    fn step(&mut self) -> Result<Phase, NotFinite> {
        self.method.step(&mut self.agent, &mut self.rollout)
    }

    fn set(&mut self, name: &str, value: f64) {
        let index = self.settings.index(name).unwrap();
        self.method.settings_mut().set(index, value);
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
    let score = Training::new("CartPole-v1", 8, true, Box::new(settings)).train(60_000, 30);
    assert!(score > 200.0, "a random policy scores about 22, this one {score}");
}

#[test]
fn ppo_learns_to_balance_a_pole() {
    let settings = PpoSettings {
        n_steps: 128,
        learning_rate: 1e-3,
        ..Default::default()
    };
    let score = Training::new("CartPole-v1", 4, true, Box::new(settings)).train(40_000, 30);
    assert!(score > 200.0, "a random policy scores about 22, this one {score}");
}

#[test]
fn a_phase_starts_where_the_one_before_ended() {
    let mut training = Training::new("CartPole-v1", 3, true, Box::new(A2cSettings::default()));
    training.collect();
    let last = training.rollout.last_observations().numbers().to_vec();
    training.collect();
    assert_eq!(training.rollout.batch_observations().numbers()[..last.len()], last);
    assert_ne!(training.rollout.last_observations().numbers(), last);
}

#[test]
fn what_is_stored_is_what_the_policy_and_the_task_said() {
    let mut training = Training::new(
        "CartPole-v1",
        2,
        false,
        Box::new(A2cSettings {
            n_steps: 40,
            ..Default::default()
        }),
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
    let mut training = Training::new("Pendulum-v1", 2, true, Box::new(settings));
    training.collect();

    let mut envs = VecEnv::new(&epgt_envs::find("Pendulum-v1").unwrap(), 2, 1).unwrap();
    let mut observations = vec![0.0; 6];
    envs.reset(&mut observations).unwrap();
    let mut normalizer = Normalizer::new(3, 2, true, true, 0.99);
    normalizer.observe(&mut observations);
    let rollout = &training.rollout;
    let mut cuts = 0;
    for (t, actions) in rollout.actions.chunks_exact(2).enumerate() {
        let (mut rewards, mut terminated, mut truncated) = ([0.0; 2], [false; 2], [false; 2]);
        let out = StepRow {
            observations: (&mut observations).into(),
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
                let mut last = envs.final_observation(i).numbers().to_vec();
                normalizer.apply(&mut last);
                training.agent.values_of(&last, 1, &mut expected);
                assert_ne!(expected[0], 0.0);
            }
            assert_eq!(rollout.final_values[t * 2 + i], expected[0], "step {t}");
        }
    }
    assert_eq!(cuts, 4);
}

/// Every method, with rollouts short enough for a test.
/// Every method, and those whose steps can be controlled with that as well.
fn methods() -> Vec<Box<dyn MethodSettings>> {
    let ppo = PpoSettings {
        n_steps: 10,
        batch_size: 7,
        n_epochs: 2,
        ..Default::default()
    };
    let acktr = AcktrSettings {
        inverse_interval: 2,
        ..Default::default()
    };
    let step_control = StepControl::Divergence;
    let (controlled_a2c, controlled_ppo) = (
        A2cSettings {
            step_control,
            ..Default::default()
        },
        PpoSettings { step_control, ..ppo },
    );
    vec![
        Box::new(A2cSettings::default()),
        Box::new(ppo),
        Box::new(acktr),
        Box::new(controlled_a2c),
        Box::new(controlled_ppo),
    ]
}

#[test]
fn training_goes_on_from_a_checkpoint_as_if_nothing_had_happened() {
    for settings in methods() {
        let mut whole = Training::new("MountainCarContinuous-v0", 2, true, settings.clone());
        whole.train(200, 1);
        let mut resumed = Training::new("MountainCarContinuous-v0", 2, true, settings.clone());
        resumed.envs.restore(&whole.envs.save()).unwrap();
        resumed.normalizer = whole.normalizer.clone();
        resumed.agent.restore(whole.agent.params.clone()).unwrap();
        resumed.method.restore(whole.method.save()).unwrap();
        resumed.rollout.resume_from(whole.rollout.last_observations());
        resumed.rng = whole.rng.clone();
        whole.train(200, 1);
        resumed.train(200, 1);
        assert_eq!(whole.agent.params.values(), resumed.agent.params.values());
    }
}

#[test]
fn a_checkpoint_of_another_method_is_refused() {
    let trained = methods()
        .into_iter()
        .map(|settings| Training::new("CartPole-v1", 1, true, settings));
    let [a2c, mut ppo, mut acktr] = trained.take(3).collect::<Vec<_>>().try_into().ok().unwrap();
    assert!(ppo.method.restore(a2c.method.save()).is_err());
    assert!(acktr.method.restore(ppo.method.save()).is_err());
}

#[test]
fn a_reward_that_is_not_finite_stops_the_update_before_the_parameters_move() {
    for settings in methods() {
        for reward in [f32::NAN, f32::INFINITY, f32::MAX] {
            let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
            training.collect();
            training.rollout.rewards.fill(reward);
            let before = training.agent.params.values().to_vec();
            let error = training.step().unwrap_err();
            assert!(error.place.starts_with("loss/"), "{}", error.place);
            assert!(error.to_string().ends_with(
                "is not finite: training has diverged; lower learning_rate, or normalise observations and rewards"
            ));
            assert_eq!(training.agent.params.values(), before);
        }
    }
}

#[test]
fn a_constant_reward_is_no_reason_to_stop() {
    for settings in methods() {
        let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
        for _ in 0..20 {
            training.collect();
            training.rollout.rewards.fill(1.0);
            training.rollout.values.fill(0.0);
            training.update();
        }
        assert_eq!(training.agent.params.first_not_finite_value(), None);
    }
}

#[test]
fn a_gradient_that_is_not_finite_is_named_and_stops_the_update() {
    for settings in methods() {
        let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
        training.collect();
        training.set("vf_coef", 1e38);
        training.rollout.rewards.fill(1e3);
        let before = training.agent.params.values().to_vec();
        let error = training.step().unwrap_err();
        assert!(error.place.starts_with("gradient of value."), "{error}");
        assert_eq!(training.agent.params.values(), before);
    }
}

#[test]
fn every_scheduled_hyperparameter_changes_the_next_updates() {
    for settings in methods() {
        let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
        training.train(200, 1);
        training.collect();
        // Two steps apart, so that what was set before the second shows against the first.
        let updated = |name: &str, value: f64| {
            let (mut agent, mut rollout) = (training.agent.clone(), training.rollout.clone());
            let mut method = settings.method(&agent, 1);
            method.restore(training.method.save()).unwrap();
            method.step(&mut agent, &mut rollout).unwrap();
            if let Ok(index) = settings.index(name) {
                method.settings_mut().set(index, value);
            }
            while method.step(&mut agent, &mut rollout).unwrap() == Phase::GoesOn {}
            agent.params.values().to_vec()
        };
        let usual = updated("nothing", 0.0);
        for hyperparameter in settings.hyperparameters() {
            let value = match hyperparameter.name {
                "learning_rate" => 1e-2,
                "max_grad_norm" => 1e-3,
                "clip_range" | "clip_range_vf" => 1e-3,
                "batch_size" => 3.0,
                "inverse_interval" | "critic_epochs" => 9.0,
                "vf_coef" => 0.1,
                "ent_coef" => 1.0,
                _ => 0.5,
            };
            if settings.idle().contains(&hyperparameter.name) {
                assert_eq!(updated(hyperparameter.name, value), usual, "{}", hyperparameter.name);
            } else if hyperparameter.name == "step" && settings.idle().contains(&"learning_rate") {
                // A target is what the rate is moved towards afterwards.
            } else if hyperparameter.effect == Effect::Update {
                assert_ne!(updated(hyperparameter.name, value), usual, "{}", hyperparameter.name);
            }
        }
    }
}

#[test]
fn epochs_are_those_set_when_the_phase_began_and_rollouts_those_set_before_them() {
    let mut training = Training::new("CartPole-v1", 2, true, methods()[1].clone());
    training.set("n_epochs", 3.0);
    training.set("n_steps", 7.0);
    training.rollout.set_steps(training.method.settings().n_steps());
    training.collect();
    let mut steps = 1;
    while training.step().unwrap() == Phase::GoesOn {
        training.set("n_epochs", 9.0);
        steps += 1;
    }
    assert_eq!(steps, 3 * 2, "14 rows are two minibatches of 7");
}

#[test]
fn a_linear_schedule_multiplies_what_was_set() {
    // Where steps are controlled, the rate is not what is set.
    for mut settings in methods() {
        if settings.idle().contains(&"learning_rate") {
            continue;
        }
        settings.assign("learning_rate_schedule", "linear").unwrap();
        let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
        training.set("learning_rate", 0.5);
        training.method.set_remaining(0.25);
        assert_eq!(training.method.learning_rate(), 0.125);
        training.collect();
        training.method.set_remaining(0.0);
        let before = training.agent.params.values().to_vec();
        training.update();
        assert_eq!(training.agent.params.values(), before);
    }
}

#[test]
fn a_phase_ends_before_the_policy_moves_further_than_asked() {
    let settings = PpoSettings {
        n_steps: 64,
        batch_size: 16,
        n_epochs: 50,
        learning_rate: 1e-2,
        target_kl: Some(0.01),
        ..Default::default()
    };
    let mut training = Training::new("CartPole-v1", 2, true, Box::new(settings));
    training.collect();
    let mut steps = 1;
    while training.step().unwrap() == Phase::GoesOn {
        steps += 1;
    }
    assert!(steps < 50 * 8, "{steps}");
    assert!(training.method.stats().approx_kl.unwrap() < 0.015);
}

#[test]
fn every_hyperparameter_is_read_back_as_it_was_set() {
    for settings in methods() {
        let list = settings.hyperparameters();
        for (index, hyperparameter) in list.iter().enumerate() {
            assert_eq!(settings.index(hyperparameter.name), Ok(index));
            assert_eq!(hyperparameter.validate(settings.get(index)), Ok(()));
            let mut copy = settings.clone();
            copy.assign(hyperparameter.name, "4").unwrap();
            let others = (0..list.len()).filter(|&other| other != index);
            assert_eq!(copy.get(index), 4.0);
            for other in others {
                assert_eq!(copy.get(other), settings.get(other));
            }
        }
    }
}

/// The mean divergence that is kept of a step, at most eight targets, and the mean rate over the last updates of a training run.
fn controlled(settings: &dyn MethodSettings, target: f64, task: &str) -> (f64, f64) {
    let mut training = Training::new(task, 4, true, settings.boxed());
    let (mut divergence, mut rate, count) = (0.0, 0.0, 200);
    for update in 0..2 * count {
        training.collect();
        training.update();
        if update >= count {
            let moved = f64::from(training.method.stats().divergence.unwrap());
            divergence += moved.min(8.0 * target) / f64::from(count);
            rate += training.method.learning_rate() / f64::from(count);
        }
    }
    (divergence, rate)
}

#[test]
fn the_policy_moves_as_far_as_it_should_whatever_the_target() {
    let a2c = A2cSettings {
        step_control: StepControl::Divergence,
        // Its bound is not what is asked about.
        critic_learning_rate: 1e-1,
        ..Default::default()
    };
    let ppo = PpoSettings {
        step_control: StepControl::Divergence,
        n_steps: 32,
        batch_size: 32,
        n_epochs: 4,
        ..Default::default()
    };
    for task in ["CartPole-v1", "Pendulum-v1"] {
        for share in [0.1, 1.0] {
            // A2C holds this mean, PPO that of the logarithm.
            let (a2c_target, ppo_target) = (0.003 * share, 0.005 * share);
            let a2c = A2cSettings {
                target_divergence: a2c_target,
                ..a2c
            };
            let ppo = PpoSettings {
                target_divergence: ppo_target,
                ..ppo
            };
            let methods: [(&dyn MethodSettings, f64, f64); 2] = [(&a2c, a2c_target, 1.3), (&ppo, ppo_target, 2.0)];
            for (settings, target, within) in methods {
                let (divergence, rate) = controlled(settings, target, task);
                assert!(
                    (1.0 / within..within).contains(&(divergence / target)),
                    "{} {task}: {divergence} instead of {target}, rate {rate}",
                    settings.name()
                );
            }
        }
    }
}

#[test]
fn by_divergence_a_learning_rate_decides_nothing() {
    for mut settings in methods()
        .into_iter()
        .filter(|settings| settings.idle().contains(&"learning_rate"))
    {
        let mut digest = |learning_rate| {
            settings.set(settings.index("learning_rate").unwrap(), learning_rate);
            let mut training = Training::new("CartPole-v1", 2, true, settings.clone());
            for _ in 0..3 {
                training.collect();
                training.update();
            }
            training.agent.params.values().to_vec()
        };
        let usual = digest(3e-4);
        for rate in [1e-6, 3e-5, 1e-3, 1.0] {
            assert_eq!(digest(rate), usual, "{rate}");
        }
    }
}

#[test]
fn a_policy_of_a2c_never_moves_faster_than_its_critic() {
    let a2c = A2cSettings {
        step_control: StepControl::Divergence,
        critic_learning_rate: 2e-4,
        target_divergence: 1.0,
        ..Default::default()
    };
    let (divergence, rate) = controlled(&a2c, a2c.target_divergence, "CartPole-v1");
    assert!((rate - 2e-4).abs() < 1e-9, "{rate}");
    assert!(divergence < 0.1, "nowhere near what is aimed at: {divergence}");
}

#[test]
fn passes_of_the_critic_alone_bring_it_nearer_to_the_returns_and_leave_the_policy_its_step() {
    let error = |training: &mut Training| {
        let rollout = &training.rollout;
        let mut values = vec![0.0; rollout.batch_size()];
        let rows = rollout.rows(0..rollout.batch_size());
        training.agent.values_of(rows, values.len(), &mut values);
        let squares = values
            .iter()
            .zip(&rollout.returns)
            .map(|(value, r)| (value - r).powi(2));
        squares.sum::<f32>() / values.len() as f32
    };
    let after = |step_control: StepControl, critic_epochs: usize| {
        let settings = A2cSettings {
            step_control,
            n_steps: 32,
            learning_rate: 1e-3,
            critic_epochs,
            critic_learning_rate: 1e-3,
            // Clipped together, the critic's gradient decides how much is left of the policy's.
            max_grad_norm: 1e9,
            ..Default::default()
        };
        let mut training = Training::new("Pendulum-v1", 8, true, Box::new(settings));
        training.collect();
        training.update();
        let critic = training.agent.critic();
        let mut weights = training.agent.params.values().to_vec();
        let critic = weights.splice(critic, []).collect::<Vec<f32>>();
        (error(&mut training), weights, critic)
    };
    for control in [StepControl::Divergence, StepControl::Rate, StepControl::KlAdaptive] {
        let [none, one, many] = [0, 1, 10].map(|passes| after(control, passes));
        assert!(many.0 < one.0 && one.0 < none.0, "{} {} {}", many.0, one.0, none.0);
        assert!(many.2 != none.2);
        assert_eq!(
            (&one.1, &many.1),
            (&none.1, &none.1),
            "the policy's weights are the same, bit for bit"
        );
    }
}
