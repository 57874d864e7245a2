//! `CartPole-v1`: keep a pole upright on a cart that is pushed left or right (Barto, Sutton and Anderson, 1983).

use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::choice;
use crate::{Env, EnvError, OptionValue, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;
use std::f64::consts::PI;

const GRAVITY: f64 = 9.8;
const POLE_MASS: f64 = 0.1;
const TOTAL_MASS: f64 = POLE_MASS + 1.0;
/// Half the pole's length.
const LENGTH: f64 = 0.5;
const POLE_MOMENT: f64 = POLE_MASS * LENGTH;
const FORCE: f64 = 10.0;
/// Seconds per step.
const TIME: f64 = 0.02;
const MAX_ANGLE: f64 = 12.0 * 2.0 * PI / 360.0;
const MAX_POSITION: f64 = 2.4;

/// The bounds are twice those that end an episode, so that the last observation fits.
const OBSERVATION: &[Entry] = &[
    Entry::within("cart position", (2.0 * MAX_POSITION) as f32),
    Entry::within("cart velocity", f32::INFINITY),
    Entry::within("pole angle", (2.0 * MAX_ANGLE) as f32),
    Entry::within("pole angular velocity", f32::INFINITY),
];
const ACTION: &[Entry] = &[Entry::choice("push left", 0), Entry::choice("push right", 1)];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Keep a pole upright on a cart by pushing the cart left and right.".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward: "+1 for every step until the pole leans more than 12 degrees or the cart leaves +-2.4.".into(),
        max_episode_steps: 500,
        reward_threshold: Some(475.0),
        ..TaskSpec::of(
            "CartPole-v1",
            [TaskOption::new(
                "sutton_barto_reward",
                OptionValue::Flag(false),
                "Reward 0 for every step and -1 for falling, as in the original paper, instead of 1 for every step",
            )],
            |options| {
                Ok(Box::new(CartPole {
                    original_reward: options.flag("sutton_barto_reward"),
                    ..CartPole::new()
                }))
            },
        )
    }
}

/// The cart and its pole, moved on by Euler's method: positions by the old velocities, then velocities.
///
/// ```
/// use epgt_envs::{Env, classic::CartPole};
/// let mut cart = CartPole::new();
/// let mut observation = [0.0; 4];
/// cart.reset(Some(0), &mut observation)?;
/// let velocity = observation[1];
/// cart.step(&[1.0], &mut observation)?;
/// assert!(observation[1] > velocity);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct CartPole {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    /// Whether only falling is paid for, by -1.
    original_reward: bool,
    /// Position, velocity, angle, angular velocity.
    state: [f64; 4],
    /// The episode is over, and further steps earn nothing.
    fallen: bool,
}

impl CartPole {
    /// A cart at rest under an upright pole.
    pub fn new() -> Self {
        CartPole {
            observation_space: Space::from_table(OBSERVATION),
            action_space: Space::Discrete(ACTION.len()),
            rng: Pcg64::from_seed(0),
            original_reward: false,
            state: [0.0; 4],
            fallen: false,
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        observation.copy_from_slice(&self.state.map(|x| x as f32));
    }
}

impl Default for CartPole {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for CartPole {
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
        self.state = std::array::from_fn(|_| self.rng.uniform(-0.05, 0.05));
        self.fallen = false;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let force = if choice(action, 2)? == 1 { FORCE } else { -FORCE };
        let [x, x_dot, angle, angle_dot] = self.state;
        let (sin, cos) = (angle.sin(), angle.cos());
        let push = (force + POLE_MOMENT * (angle_dot * angle_dot) * sin) / TOTAL_MASS;
        let inertia = LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS);
        let angle_acceleration = (GRAVITY * sin - cos * push) / inertia;
        let acceleration = push - POLE_MOMENT * angle_acceleration * cos / TOTAL_MASS;
        self.state = [
            x + TIME * x_dot,
            x_dot + TIME * acceleration,
            angle + TIME * angle_dot,
            angle_dot + TIME * angle_acceleration,
        ];
        self.observe(observation);
        let terminated = self.state[0].abs() > MAX_POSITION || self.state[2].abs() > MAX_ANGLE;
        let reward = match (self.original_reward, terminated) {
            (true, true) => -1.0,
            (true, false) => 0.0,
            (false, true) if self.fallen => 0.0,
            (false, _) => 1.0,
        };
        self.fallen |= terminated;
        Ok(Step {
            reward,
            terminated,
            truncated: false,
        })
    }

    fn scene(&self) -> Option<Scene> {
        let [x, _, angle, _] = self.state.map(|number| number as f32);
        let (axle, wood) = ([x, 0.06], [202, 152, 101]);
        let edge = MAX_POSITION as f32;
        let mut scene = Scene::new([-edge, -0.8], [edge, 2.4]);
        scene.rectangle([x, 0.0], 0.0, [-0.2, -0.12], [0.2, 0.12], [0, 0, 0]);
        scene.rectangle(axle, -angle, [-0.04, -0.04], [0.04, 0.96], wood);
        scene.circle(axle, 0.04, [129, 132, 203]);
        scene.line([-edge, 0.0], [edge, 0.0], 0.008, [0, 0, 0]);
        Some(scene)
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.state, self.fallen))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.state, self.fallen) = decode_state(state)?;
        Ok(())
    }
}
