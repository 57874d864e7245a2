//! `MountainCarContinuous-v0`: the car in the valley with a force to choose freely, and to pay for.
//!
//! Gymnasium keeps this car's state in single precision, except for the position that a reset draws: the first step
//! of an episode is taken in double precision. Both are done here in the same way.

use super::hill;
use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::number;
use crate::{Env, EnvError, OptionValue, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;

const POWER: f64 = 0.0015;
const GRAVITY: f64 = 0.0025;
const MAX_SPEED: f32 = 0.07;
const LEFT: f32 = -1.2;
const RIGHT: f32 = 0.6;
const GOAL: f32 = 0.45;

const OBSERVATION: &[Entry] = &[
    Entry::between("position", LEFT, RIGHT),
    Entry::within("velocity", MAX_SPEED),
];
const ACTION: &[Entry] = &[Entry::within("force", 1.0)];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Drive an underpowered car up a hill by swinging back and forth, with little force.".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward: "-0.1 force^2 for every step, and +100 when the flag at position 0.45 is reached.".into(),
        max_episode_steps: 999,
        reward_threshold: Some(90.0),
        ..TaskSpec::of(
            "MountainCarContinuous-v0",
            [TaskOption::new(
                "goal_velocity",
                OptionValue::Number(0.0),
                "The least velocity that the car must have at the flag",
            )],
            |options| {
                Ok(Box::new(MountainCarContinuous {
                    goal_velocity: options.number("goal_velocity") as f32,
                    ..MountainCarContinuous::new()
                }))
            },
        )
    }
}

/// The car: v' = v + 0.0015 a - 0.0025 cos(3x), x' = x + v', both clipped; the left wall stops it.
///
/// ```
/// use epgt_envs::{Env, classic::MountainCarContinuous};
/// let mut car = MountainCarContinuous::new();
/// let mut observation = [0.0; 2];
/// car.reset(Some(0), &mut observation)?;
/// let step = car.step(&[0.5], &mut observation)?;
/// assert_eq!(step.reward, -0.025);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct MountainCarContinuous {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    goal_velocity: f32,
    position: f32,
    velocity: f32,
    /// The position in full precision, until the first step.
    start: Option<f64>,
}

impl MountainCarContinuous {
    /// A car at the bottom of the valley.
    pub fn new() -> Self {
        MountainCarContinuous {
            observation_space: Space::from_table(OBSERVATION),
            action_space: Space::from_table(ACTION),
            rng: Pcg64::from_seed(0),
            goal_velocity: 0.0,
            position: -0.5,
            velocity: 0.0,
            start: None,
        }
    }

    fn roll(&mut self, force: f32) {
        let angle = self.start.map_or(f64::from(3.0 * self.position), |start| 3.0 * start);
        let pull = GRAVITY * angle.cos();
        // A force beyond the bounds is replaced by a double-precision bound, and the sum is rounded only once.
        let acceleration = if force.abs() > 1.0 {
            POWER.copysign(f64::from(force)) - pull
        } else {
            f64::from(force * POWER as f32 - pull as f32)
        };
        match self.start.take() {
            // From rest near the bottom no bound can be reached in one step.
            Some(start) => {
                self.velocity = acceleration as f32;
                self.position = (start + acceleration) as f32;
            }
            None => {
                self.velocity = (self.velocity + acceleration as f32).clamp(-MAX_SPEED, MAX_SPEED);
                self.position = (self.position + self.velocity).clamp(LEFT, RIGHT);
                if self.position == LEFT && self.velocity < 0.0 {
                    self.velocity = 0.0;
                }
            }
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        observation.copy_from_slice(&[self.position, self.velocity]);
    }
}

impl Default for MountainCarContinuous {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for MountainCarContinuous {
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
        let start = self.rng.uniform(-0.6, -0.4);
        self.start = Some(start);
        self.position = start as f32;
        self.velocity = 0.0;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let force = number(action)?;
        self.roll(force);
        self.observe(observation);
        let terminated = self.position >= GOAL && self.velocity >= self.goal_velocity;
        let effort = f64::from(force) * f64::from(force) * 0.1;
        let prize = if terminated { 100.0 } else { 0.0 };
        Ok(Step {
            reward: prize - effort,
            terminated,
            truncated: false,
        })
    }

    fn scene(&self) -> Option<Scene> {
        Some(hill::scene(self.position, GOAL))
    }

    fn steps_per_second(&self) -> f64 {
        30.0
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.position, self.velocity, self.start))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.position, self.velocity, self.start) = decode_state(state)?;
        Ok(())
    }
}
