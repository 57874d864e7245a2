//! What the units of a task decide: nothing, where actions are drawn in units of their range.

use std::sync::Arc;

use epgt_envs::classic::Pendulum;
use epgt_envs::{Env, EnvError, Space, Step, TaskSpec};
use epgt_train::{Assignment, Config, Registry, Trainer};

/// A pendulum whose torque is told in another unit: its bounds are 2 * `unit` instead of 2.
struct InUnits {
    pendulum: Pendulum,
    actions: Space,
    unit: f32,
}

impl InUnits {
    fn new(unit: f32) -> Self {
        Self {
            pendulum: Pendulum::new(),
            actions: Space::Box {
                low: vec![-2.0 * unit],
                high: vec![2.0 * unit],
            },
            unit,
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
        self.pendulum.step(&[action[0] / self.unit], observation)
    }
    fn save(&self) -> Vec<u8> {
        self.pendulum.save()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        self.pendulum.restore(state)
    }
}

/// The weights after some updates.
fn trained(algo: &str, unit: f32, action_unit: &str) -> Vec<f32> {
    let task = TaskSpec::new("Units-v0", move || InUnits::new(unit)).with_max_episode_steps(200);
    let said = [
        ("task", "Units-v0"),
        ("algo", algo),
        ("steps", "4096"),
        ("policy.action_unit", action_unit),
    ];
    let registry = Arc::new(Registry::new().with_task(task));
    let config = Config::build_in(&registry, &said.map(|(key, value)| Assignment::new(key, value))).unwrap();
    let mut trainer = Trainer::new(&config).unwrap();
    while !trainer.is_finished() {
        trainer.iterate().unwrap();
    }
    trainer.policy.params.values().to_vec()
}

#[test]
fn in_units_of_the_range_the_task_s_unit_of_actions_decides_nothing() {
    for algo in ["a2c", "ppo", "acktr"] {
        // Powers of two, which round nothing.
        let usual = trained(algo, 1.0, "range");
        assert_eq!(trained(algo, 256.0, "range"), usual, "{algo}");
        assert_eq!(trained(algo, 1.0 / 256.0, "range"), usual, "{algo}");
        assert_ne!(trained(algo, 256.0, "task"), trained(algo, 1.0, "task"), "{algo}");
    }
}
