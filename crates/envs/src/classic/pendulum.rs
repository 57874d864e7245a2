//! `Pendulum-v1`: swing a pendulum up with a weak motor and hold it there.

use super::{square, square_f32};
use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::number;
use crate::{Env, EnvError, OptionValue, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;
use std::f32::consts::FRAC_PI_2;
use std::f64::consts::PI;

const MAX_SPEED: f64 = 8.0;
const MAX_TORQUE: f32 = 2.0;
/// Seconds per step.
const TIME: f64 = 0.05;

const OBSERVATION: &[Entry] = &[
    Entry::within("cosine of the angle", 1.0),
    Entry::within("sine of the angle", 1.0),
    Entry::within("angular velocity", MAX_SPEED as f32),
];
const ACTION: &[Entry] = &[Entry::within("torque", MAX_TORQUE)];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Swing a pendulum up with a weak motor and hold it upright.".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward: "-(angle^2 + 0.1 velocity^2 + 0.001 torque^2), the angle measured from upright.".into(),
        max_episode_steps: 200,
        ..TaskSpec::of(
            "Pendulum-v1",
            [TaskOption::new(
                "g",
                OptionValue::Number(10.0),
                "Acceleration of gravity",
            )],
            |options| {
                Ok(Box::new(Pendulum {
                    gravity: options.number("g"),
                    ..Pendulum::new()
                }))
            },
        )
    }
}

/// The pendulum: w' = w + (3/2 g sin(angle) + 3 u) dt, angle' = angle + w' dt; it never ends by itself.
///
/// ```
/// use epgt_envs::{Env, classic::Pendulum};
/// let mut pendulum = Pendulum::new();
/// let mut observation = [0.0; 3];
/// pendulum.reset(Some(0), &mut observation)?;
/// assert!(pendulum.step(&[2.0], &mut observation)?.reward < 0.0);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Pendulum {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    gravity: f64,
    angle: f64,
    velocity: f64,
    /// The torque of the last step, which only the picture shows.
    torque: Option<f32>,
}

impl Pendulum {
    /// A pendulum at rest, upright.
    pub fn new() -> Self {
        Pendulum {
            observation_space: Space::from_table(OBSERVATION),
            action_space: Space::from_table(ACTION),
            rng: Pcg64::from_seed(0),
            gravity: 10.0,
            angle: 0.0,
            velocity: 0.0,
            torque: None,
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        let row = [self.angle.cos(), self.angle.sin(), self.velocity];
        observation.copy_from_slice(&row.map(|x| x as f32));
    }
}

impl Default for Pendulum {
    fn default() -> Self {
        Self::new()
    }
}

/// The same angle between -pi and pi: a remainder with the sign of its divisor, as Python's.
fn from_upright(angle: f64) -> f64 {
    let turn = 2.0 * PI;
    let rest = (angle + PI) % turn;
    (if rest < 0.0 { rest + turn } else { rest }) - PI
}

/// The torque as three quarters of a circle around the pivot with an arrow's head: larger for more, in its direction.
fn draw_torque(scene: &mut Scene, torque: f32) {
    const PIECES: usize = 24;
    let radius = torque.abs() / MAX_TORQUE * 0.42;
    let (width, color) = (radius * 0.08, [0, 0, 0]);
    let angle = |i: usize| (i as f32 / PIECES as f32 * 3.0 - 1.0) * FRAC_PI_2 * torque.signum();
    let at = |angle: f32, radius: f32| [radius * angle.sin(), -radius * angle.cos()];
    for i in 0..PIECES {
        scene.line(at(angle(i), radius), at(angle(i + 1), radius), width, color);
    }
    let (end, ahead) = (angle(PIECES), 0.45 * torque.signum());
    let head = [at(end, 0.75 * radius), at(end, 1.25 * radius), at(end + ahead, radius)];
    scene.polygon(&head, color);
}

impl Env for Pendulum {
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
        self.angle = self.rng.uniform(-PI, PI);
        self.velocity = self.rng.uniform(-1.0, 1.0);
        self.torque = None;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let torque = number(action)?.clamp(-MAX_TORQUE, MAX_TORQUE);
        self.torque = Some(torque);
        let effort = f64::from(0.001 * square_f32(torque));
        let cost = square(from_upright(self.angle)) + 0.1 * square(self.velocity) + effort;
        let acceleration = 3.0 * self.gravity / 2.0 * self.angle.sin() + f64::from(3.0 * torque);
        self.velocity = (self.velocity + acceleration * TIME).clamp(-MAX_SPEED, MAX_SPEED);
        self.angle += self.velocity * TIME;
        self.observe(observation);
        Ok(Step {
            reward: -cost,
            terminated: false,
            truncated: false,
        })
    }

    fn scene(&self) -> Option<Scene> {
        let (angle, red) = (self.angle as f32 + FRAC_PI_2, [204, 77, 77]);
        let mut scene = Scene::new([-2.2, -2.2], [2.2, 2.2]);
        scene.line([0.0, 0.0], [angle.cos(), angle.sin()], 0.2, red);
        if let Some(torque) = self.torque {
            draw_torque(&mut scene, torque);
        }
        scene.circle([0.0, 0.0], 0.05, [0, 0, 0]);
        Some(scene)
    }

    fn steps_per_second(&self) -> f64 {
        30.0
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.angle, self.velocity))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.angle, self.velocity) = decode_state(state)?;
        self.torque = None;
        Ok(())
    }
}
