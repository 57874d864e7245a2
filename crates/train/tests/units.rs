//! What the units of a task decide: nothing, where actions are drawn in units of their range, steps are as long as they move the
//! policy, and rewards have one scale.

use std::sync::Arc;

use epgt_envs::classic::Pendulum;
use epgt_envs::{Env, EnvError, Space, Step, TaskSpec};
use epgt_train::{Assignment, Config, Registry, Trainer};

/// A pendulum whose torque is told in another unit, so that its bounds are 2 * `unit` instead of 2, and whose rewards are in another
/// currency.
struct InUnits {
    pendulum: Pendulum,
    actions: Space,
    unit: f32,
    currency: f64,
}

impl InUnits {
    fn new(unit: f32, currency: f64) -> Self {
        Self {
            pendulum: Pendulum::new(),
            actions: Space::Box {
                low: vec![-2.0 * unit],
                high: vec![2.0 * unit],
            },
            unit,
            currency,
        }
    }
}

impl Env for InUnits {
    fn observation_space(&self) -> &Space {
        self.pendulum.observation_space()
    }
    fn action_space(&self) -> &Space {
        &self.actions
    }
    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        self.pendulum.reset(seed, observation)
    }
    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let step = self.pendulum.step(&[action[0] / self.unit], observation)?;
        Ok(Step {
            reward: step.reward * self.currency,
            ..step
        })
    }
    fn save(&self) -> Vec<u8> {
        self.pendulum.save()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        self.pendulum.restore(state)
    }
}

/// What has learnt a pendulum in these units, which no name makes known.
fn trained(unit: f32, currency: f64, said: &[(&str, &str)]) -> Trainer {
    let make = move || InUnits::new(unit, currency);
    let task = TaskSpec::new("Units-v0", make).with_max_episode_steps(200);
    let registry = Arc::new(Registry::new().with_task(task));
    let said = [&[("task", "Units-v0")], said].concat();
    let said: Vec<_> = said.iter().map(|(key, value)| Assignment::new(*key, value)).collect();
    let config = Config::build_in(&registry, &said).unwrap();
    let mut trainer = Trainer::new(&config).unwrap();
    while !trainer.is_finished() {
        trainer.iterate().unwrap();
    }
    trainer
}

#[test]
fn in_units_of_the_range_the_task_s_unit_of_actions_decides_nothing() {
    for algo in ["a2c", "ppo", "acktr"] {
        let weights = |unit: f32, action_unit: &str| {
            let said = [("algo", algo), ("steps", "4096"), ("policy.action_unit", action_unit)];
            trained(unit, 1.0, &said).policy.params.values().to_vec()
        };
        // Powers of two, which round nothing.
        let usual = weights(1.0, "range");
        assert_eq!(weights(256.0, "range"), usual, "{algo}");
        assert_eq!(weights(1.0 / 256.0, "range"), usual, "{algo}");
        assert_ne!(weights(256.0, "task"), weights(1.0, "task"), "{algo}");
    }
}

#[test]
fn a_task_that_nobody_has_seen_is_learnt_in_odd_units_and_from_any_learning_rate() {
    let runs = [
        ("a2c", "7e-5", (0.005, 1000.0)),
        ("a2c", "7e-3", (125.0, 0.001)),
        ("ppo", "3e-5", (125.0, 1000.0)),
        ("ppo", "3e-3", (0.005, 0.001)),
        ("acktr", "0.25", (125.0, 0.001)),
    ];
    for (algo, rate, (unit, currency)) in runs {
        let said = [
            ("algo", algo),
            ("learning_rate", rate),
            ("scheduler", "fixed"),
            ("steps", "300000"),
        ];
        let score = trained(unit, currency, &said).counters.mean_return().unwrap() / currency;
        // Random play has -1228; in the usual units the three methods end near -155.
        assert!(
            score > -400.0,
            "{algo} from {rate} in units of {unit} and {currency}: {score}"
        );
    }
}
