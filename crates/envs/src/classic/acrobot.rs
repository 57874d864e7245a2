//! `Acrobot-v1`: two hanging links, a motor only between them, and a height to be reached (Sutton, 1996).

use super::square;
use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::choice;
use crate::{Env, EnvError, Scene, Space, Step, TaskSpec};
use epgt_rng::Pcg64;
use std::f64::consts::{FRAC_PI_2, PI};

const GRAVITY: f64 = 9.8;
/// Links of length 1, mass 1 and moment of inertia 1, each with its centre of mass in the middle.
const CENTRE: f64 = 0.5;
const MAX_SPEED: [f64; 2] = [4.0 * PI, 9.0 * PI];
/// Seconds per step.
const TIME: f64 = 0.2;

const OBSERVATION: &[Entry] = &[
    Entry::within("cosine of the first angle", 1.0),
    Entry::within("sine of the first angle", 1.0),
    Entry::within("cosine of the second angle", 1.0),
    Entry::within("sine of the second angle", 1.0),
    Entry::within("first angular velocity", MAX_SPEED[0] as f32),
    Entry::within("second angular velocity", MAX_SPEED[1] as f32),
];
const ACTION: &[Entry] = &[
    Entry::choice("torque -1", 0),
    Entry::choice("no torque", 1),
    Entry::choice("torque +1", 2),
];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Swing the tip of two hanging links above a height with a motor between them.".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward: "-1 for every step until the tip is one link above the axis, which earns 0.".into(),
        max_episode_steps: 500,
        reward_threshold: Some(-100.0),
        ..TaskSpec::of("Acrobot-v1", [], |_| Ok(Box::new(Acrobot::new())))
    }
}

/// The two links, moved on by one Runge-Kutta step of fourth order; dynamics of Sutton and Barto's book.
///
/// ```
/// use epgt_envs::{Env, classic::Acrobot};
/// let mut links = Acrobot::new();
/// let mut observation = [0.0; 6];
/// links.reset(Some(0), &mut observation)?;
/// assert_eq!(links.step(&[2.0], &mut observation)?.reward, -1.0);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Acrobot {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    /// First angle (0 hangs down), second angle (relative to the first link), and their velocities.
    state: [f64; 4],
}

impl Acrobot {
    /// Two links that hang at rest.
    pub fn new() -> Self {
        Acrobot {
            observation_space: Space::from_table(OBSERVATION),
            action_space: Space::Discrete(ACTION.len()),
            rng: Pcg64::from_seed(0),
            state: [0.0; 4],
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        let [first, second, first_dot, second_dot] = self.state;
        let row = [
            first.cos(),
            first.sin(),
            second.cos(),
            second.sin(),
            first_dot,
            second_dot,
        ];
        observation.copy_from_slice(&row.map(|x| x as f32));
    }
}

impl Default for Acrobot {
    fn default() -> Self {
        Self::new()
    }
}

/// Time derivative of the state.
fn derivative([first, second, first_dot, second_dot]: [f64; 4], torque: f64) -> [f64; 4] {
    let (sin, cos) = (second.sin(), second.cos());
    let d1 = 0.25 + (1.25 + cos) + 1.0 + 1.0;
    let d2 = 0.25 + CENTRE * cos + 1.0;
    let phi2 = CENTRE * GRAVITY * (first + second - FRAC_PI_2).cos();
    let phi1 = -CENTRE * square(second_dot) * sin - second_dot * first_dot * sin
        + 1.5 * GRAVITY * (first - FRAC_PI_2).cos()
        + phi2;
    let second_acceleration =
        (torque + d2 / d1 * phi1 - CENTRE * square(first_dot) * sin - phi2) / (1.25 - square(d2) / d1);
    let first_acceleration = -(d2 * second_acceleration + phi1) / d1;
    [first_dot, second_dot, first_acceleration, second_acceleration]
}

/// One Runge-Kutta step.
fn advance(state: [f64; 4], torque: f64) -> [f64; 4] {
    let moved = |time: f64, slope: [f64; 4]| -> [f64; 4] { std::array::from_fn(|i| state[i] + time * slope[i]) };
    let k1 = derivative(state, torque);
    let k2 = derivative(moved(TIME / 2.0, k1), torque);
    let k3 = derivative(moved(TIME / 2.0, k2), torque);
    let k4 = derivative(moved(TIME, k3), torque);
    moved(
        TIME / 6.0,
        std::array::from_fn(|i| k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]),
    )
}

/// The same angle between -pi and pi, turn by turn.
fn wrapped(mut angle: f64) -> f64 {
    while angle > PI {
        angle -= 2.0 * PI;
    }
    while angle < -PI {
        angle += 2.0 * PI;
    }
    angle
}

impl Env for Acrobot {
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
        // Gymnasium rounds the start to single precision.
        self.state = std::array::from_fn(|_| f64::from(self.rng.uniform(-0.1, 0.1) as f32));
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let torque = choice(action, 3)? as f64 - 1.0;
        let [first, second, first_dot, second_dot] = advance(self.state, torque);
        self.state = [
            wrapped(first),
            wrapped(second),
            first_dot.clamp(-MAX_SPEED[0], MAX_SPEED[0]),
            second_dot.clamp(-MAX_SPEED[1], MAX_SPEED[1]),
        ];
        self.observe(observation);
        let [first, second, ..] = self.state;
        let terminated = -first.cos() - (second + first).cos() > 1.0;
        let reward = if terminated { 0.0 } else { -1.0 };
        Ok(Step {
            reward,
            terminated,
            truncated: false,
        })
    }

    fn scene(&self) -> Option<Scene> {
        let [first, second, ..] = self.state.map(|number| number as f32);
        let mut scene = Scene::new([-2.2, -2.2], [2.2, 2.2]);
        scene.line([-2.2, 1.0], [2.2, 1.0], 0.01, [0, 0, 0]);
        let elbow = [first.sin(), -first.cos()];
        for (joint, angle) in [([0.0, 0.0], first), (elbow, first + second)] {
            scene.rectangle(joint, angle - PI as f32 / 2.0, [0.0, -0.1], [1.0, 0.1], [0, 204, 204]);
            scene.circle(joint, 0.1, [204, 204, 0]);
        }
        Some(scene)
    }

    fn steps_per_second(&self) -> f64 {
        15.0
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.state))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.state) = decode_state(state)?;
        Ok(())
    }
}
