//! `MountainCar-v0`: an underpowered car has to swing itself out of a valley (Moore, 1990).

use super::hill;
use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::choice;
use crate::{Env, EnvError, OptionValue, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;

const FORCE: f64 = 0.001;
const GRAVITY: f64 = 0.0025;
const MAX_SPEED: f64 = 0.07;
const LEFT: f64 = -1.2;
const RIGHT: f64 = 0.6;
const GOAL: f64 = 0.5;

const OBSERVATION: &[Entry] = &[
    Entry::between("position", LEFT as f32, RIGHT as f32),
    Entry::within("velocity", MAX_SPEED as f32),
];
const ACTION: &[Entry] = &[
    Entry::choice("push left", 0),
    Entry::choice("do not push", 1),
    Entry::choice("push right", 2),
];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Drive an underpowered car up a hill by swinging back and forth (discrete pushes).".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward: "-1 for every step until the flag at position 0.5 is reached.".into(),
        max_episode_steps: 200,
        reward_threshold: Some(-110.0),
        ..TaskSpec::of(
            "MountainCar-v0",
            [TaskOption::new(
                "goal_velocity",
                OptionValue::Number(0.0),
                "The least velocity that the car must have at the flag",
            )],
            |options| {
                Ok(Box::new(MountainCar {
                    goal_velocity: options.number("goal_velocity"),
                    ..MountainCar::new()
                }))
            },
        )
    }
}

/// The car: v' = v + 0.001 (a - 1) - 0.0025 cos(3x), x' = x + v', both clipped; the left wall stops it.
///
/// ```
/// use epgt_envs::{Env, classic::MountainCar};
/// let mut car = MountainCar::new();
/// let mut observation = [0.0; 2];
/// car.reset(Some(0), &mut observation)?;
/// assert!((-0.6..=-0.4).contains(&observation[0]));
/// assert_eq!(car.step(&[2.0], &mut observation)?.reward, -1.0);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct MountainCar {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    goal_velocity: f64,
    position: f64,
    velocity: f64,
}

impl MountainCar {
    /// A car at the bottom of the valley.
    pub fn new() -> Self {
        MountainCar {
            observation_space: Space::from_table(OBSERVATION),
            action_space: Space::Discrete(ACTION.len()),
            rng: Pcg64::from_seed(0),
            goal_velocity: 0.0,
            position: -0.5,
            velocity: 0.0,
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        observation.copy_from_slice(&[self.position as f32, self.velocity as f32]);
    }
}

impl Default for MountainCar {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for MountainCar {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        self.position = self.rng.uniform(-0.6, -0.4);
        self.velocity = 0.0;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let direction = choice(action, 3)? as f64 - 1.0;
        let acceleration = direction * FORCE + (3.0 * self.position).cos() * -GRAVITY;
        self.velocity = (self.velocity + acceleration).clamp(-MAX_SPEED, MAX_SPEED);
        self.position = (self.position + self.velocity).clamp(LEFT, RIGHT);
        if self.position == LEFT && self.velocity < 0.0 {
            self.velocity = 0.0;
        }
        self.observe(observation);
        let terminated = self.position >= GOAL && self.velocity >= self.goal_velocity;
        Ok(Step {
            reward: -1.0,
            terminated,
            truncated: false,
        })
    }

    fn scene(&self) -> Option<Scene> {
        Some(hill::scene(self.position as f32, GOAL as f32))
    }

    fn steps_per_second(&self) -> f64 {
        30.0
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.position, self.velocity))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.position, self.velocity) = decode_state(state)?;
        Ok(())
    }
}
