//! What the tests of the bridge to Gymnasium share.

#![allow(dead_code, reason = "each test file uses some of it")]

use epgt_envs::{EnvError, Observations, RowShape, StepRow, TaskSpec, VecEnv, find};

pub fn task(id: &str, options: &[(&str, &str)]) -> Result<TaskSpec, EnvError> {
    find(id).unwrap().with(options.iter().copied())
}

pub fn own(name: &str, options: &[(&str, &str)]) -> TaskSpec {
    task(&format!("gym:tests.bridge_envs:{name}"), options).unwrap()
}

/// Rows of one step.
pub struct Rows {
    pub observations: Observations,
    pub rewards: Vec<f32>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
}

impl Rows {
    pub fn of(envs: &VecEnv) -> Self {
        let n = envs.n();
        Self {
            observations: Observations::new(RowShape::from(envs.observation_space()), n),
            rewards: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
        }
    }

    pub fn numbers(&self) -> &[f32] {
        self.observations.all().numbers()
    }

    pub fn step(&mut self, envs: &mut VecEnv, actions: &[f32]) -> Result<(), EnvError> {
        let out = StepRow {
            observations: self.observations.all_mut(),
            rewards: &mut self.rewards,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
        };
        envs.step(actions, out)
    }

    /// As the bits of all numbers; last observations of ended episodes behind them.
    pub fn show(&self, envs: &VecEnv, with_rest: bool) -> String {
        let mut numbers = self.numbers().to_vec();
        if with_rest {
            numbers.extend(&self.rewards);
            let ends = self.terminated.iter().chain(&self.truncated);
            numbers.extend(ends.map(|&end| f32::from(end)));
            for i in 0..envs.n() {
                if self.terminated[i] || self.truncated[i] {
                    numbers.extend(envs.final_observation(i).numbers());
                }
            }
        }
        let words: Vec<String> = numbers.iter().map(|x| format!("{:08x}", x.to_bits())).collect();
        words.join(" ")
    }
}
