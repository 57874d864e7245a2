//! `LunarLander-v3` and `LunarLanderContinuous-v3`: land between two flags with one main and two side engines.

use super::engine::{Engine, Motor, Part, vec2};
use super::replayed::{Replayed, Simulation};
use super::terrain::sign;
use super::wind::Wind;
use super::{FPS, GRAVITY, SCALE, VIEW};
use crate::registry::Entry;
use crate::space::{choice, not_a_number};
use crate::{EnvError, Limit, OptionValue, Options, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;
use std::f32::consts::TAU;
use wrapped2d::b2::{BodyHandle, PolygonShape};

const MAIN_POWER: f64 = 13.0;
const SIDE_POWER: f64 = 0.6;
/// The largest push that an episode begins with, along each axis.
const FIRST_PUSH: f64 = 1000.0;
const LANDER: [[f64; 2]; 6] = [
    [-14.0, 17.0],
    [-17.0, 0.0],
    [-17.0, -10.0],
    [17.0, -10.0],
    [17.0, 0.0],
    [14.0, 17.0],
];
const LEG_AWAY: f64 = 20.0;
const LEG_DOWN: f64 = 18.0;
/// Half the width and half the height.
const LEG: [f64; 2] = [2.0, 8.0];
const LEG_TORQUE: f32 = 40.0;
/// Where the engines push the lander, in pixels from its middle.
const MAIN_ENGINE_DOWN: f64 = 4.0;
const SIDE_ENGINE_UP: f64 = 14.0;
const SIDE_ENGINE_AWAY: f64 = 12.0;
/// The side engines sit at another height for the horizontal part of that place, as in Gymnasium.
const SIDE_ENGINE_UP_SIDEWAYS: f64 = 17.0;
/// The number of points of the moon's surface.
const CHUNKS: usize = 11;
const PAD_HEIGHT: f64 = VIEW[1] / 4.0;

const OBSERVATION: &[Entry] = &[
    Entry::within("horizontal position", 2.5),
    Entry::within("vertical position", 2.5),
    Entry::within("horizontal velocity", 10.0),
    Entry::within("vertical velocity", 10.0),
    Entry::within("angle", TAU),
    Entry::within("angular velocity", 10.0),
    Entry::between("leg 1 on the ground", -0.0, 1.0),
    Entry::between("leg 2 on the ground", -0.0, 1.0),
];
const CHOICES: &[Entry] = &[
    Entry::choice("do nothing", 0),
    Entry::choice("fire the left engine", 1),
    Entry::choice("fire the main engine", 2),
    Entry::choice("fire the right engine", 3),
];
const THROTTLES: &[Entry] = &[
    Entry::within("main engine, off below 0", 1.0),
    Entry::within("side engines, off within +-0.5", 1.0),
];

const fn options(continuous: bool) -> [TaskOption; 5] {
    [
        TaskOption::new(
            "continuous",
            OptionValue::Flag(continuous),
            "Whether the engines have throttles",
        ),
        TaskOption {
            limit: Limit::Between(-12.0, 0.0),
            ..TaskOption::new("gravity", OptionValue::Number(GRAVITY), "Gravity, between -12 and 0")
        },
        TaskOption::new("enable_wind", OptionValue::Flag(false), "Whether there is wind"),
        TaskOption::new(
            "wind_power",
            OptionValue::Number(15.0),
            "The largest force of the wind, usually 0 to 20",
        ),
        TaskOption::new(
            "turbulence_power",
            OptionValue::Number(1.5),
            "The largest torque of the wind, usually 0 to 2",
        ),
    ]
}

/// The entries of the registry.
pub(super) fn tasks() -> Vec<TaskSpec> {
    let choices = TaskSpec {
        summary: "Land gently between two flags on the moon, with engines that are on or off.".into(),
        observation: OBSERVATION.into(),
        action: CHOICES.into(),
        reward:
            "Coming closer, slower and more upright to the pad, +10 per leg on the ground, less a little for fuel; \
                 100 for coming to rest, -100 for crashing or leaving."
                .into(),
        max_episode_steps: 1000,
        reward_threshold: Some(200.0),
        describe: Some(describe),
        ..TaskSpec::of("LunarLander-v3", options(false), |options| {
            let (conditions, observation) = (Conditions::new(options), Space::from_table(OBSERVATION));
            Ok(match options.flag("continuous") {
                true => {
                    let actions = Space::from_table(THROTTLES);
                    Box::new(Replayed::<LunarLander<true>>::new(conditions, observation, actions))
                }
                false => {
                    let actions = Space::Discrete(CHOICES.len());
                    Box::new(Replayed::<LunarLander<false>>::new(conditions, observation, actions))
                }
            })
        })
    };
    let throttles = TaskSpec {
        id: "LunarLanderContinuous-v3".into(),
        summary: "Land gently between two flags on the moon, with engines that have throttles.".into(),
        action: THROTTLES.into(),
        options: Options::of(options(true)),
        ..choices.clone()
    };
    let older_name = TaskSpec {
        id: "LunarLanderContinuous-v2".into(),
        summary: "Another name of LunarLanderContinuous-v3, used by older papers.".into(),
        ..throttles.clone()
    };
    vec![choices, throttles, older_name]
}

/// Gives the task the table of actions that its options ask for.
fn describe(task: &mut TaskSpec) -> Result<(), EnvError> {
    let table = if task.options.flag("continuous") {
        THROTTLES
    } else {
        CHOICES
    };
    task.action = table.into();
    Ok(())
}

/// What can be chosen about the moon.
#[derive(Clone, Debug)]
pub struct Conditions {
    gravity: f64,
    /// The largest force and torque of the wind, if there is any.
    wind: Option<[f64; 2]>,
}

impl Conditions {
    fn new(options: &Options) -> Self {
        let powers = ["wind_power", "turbulence_power"].map(|name| options.number(name));
        Conditions {
            gravity: options.number("gravity"),
            wind: options.flag("enable_wind").then_some(powers),
        }
    }
}

impl Default for Conditions {
    fn default() -> Self {
        Conditions {
            gravity: GRAVITY,
            wind: None,
        }
    }
}

/// One landing.
pub struct LunarLander<const CONTINUOUS: bool> {
    engine: Engine,
    wind: Option<Wind>,
    surface: [[f64; 2]; CHUNKS],
    lander: BodyHandle,
    legs: [BodyHandle; 2],
    /// How much the last action asked of the main and of the side engines.
    power: [f64; 2],
    /// What the state was worth after the last step.
    worth: Option<f64>,
}

/// The moon's surface: random heights, flat around the pad, smoothed.
fn draw_surface(rng: &mut Pcg64) -> [[f64; 2]; CHUNKS] {
    let mut heights: [f64; CHUNKS + 1] = std::array::from_fn(|_| rng.uniform(0.0, VIEW[1] / 2.0));
    heights[CHUNKS / 2 - 2..=CHUNKS / 2 + 2].fill(PAD_HEIGHT);
    std::array::from_fn(|i| {
        // The point before the first one is the last one.
        let before = heights[(i + CHUNKS) % (CHUNKS + 1)];
        let height = 0.33 * (before + heights[i] + heights[i + 1]);
        [VIEW[0] / (CHUNKS - 1) as f64 * i as f64, height]
    })
}

impl<const CONTINUOUS: bool> LunarLander<CONTINUOUS> {
    fn build(conditions: &Conditions, rng: &mut Pcg64) -> Self {
        let mut engine = Engine::new(conditions.gravity);
        let surface = draw_surface(rng);
        let moon = engine.fixed();
        engine.edge(moon, [0.0, 0.0], [VIEW[0], 0.0], 0.2);
        for ends in surface.windows(2) {
            engine.edge(moon, ends[0], ends[1], 0.1);
        }
        let [x, y] = [VIEW[0] / 2.0, VIEW[1]];
        let shape = PolygonShape::new_with(&LANDER.map(|[x, y]| vec2(x / SCALE, y / SCALE)));
        let lander = engine.moving(
            &shape,
            Part {
                position: [x, y],
                angle: 0.0,
                density: 5.0,
                friction: 0.1,
            },
        );
        let push: [f64; 2] = std::array::from_fn(|_| rng.uniform(-FIRST_PUSH, FIRST_PUSH));
        engine.push(lander, |body| body.apply_force_to_center(&vec2(push[0], push[1]), true));
        let wind = conditions.wind.map(|powers| Wind::draw(powers, rng));
        let shape = PolygonShape::new_box((LEG[0] / SCALE) as f32, (LEG[1] / SCALE) as f32);
        let legs = [-1.0, 1.0].map(|side: f64| {
            let leg = engine.moving(
                &shape,
                Part {
                    position: [x - side * LEG_AWAY / SCALE, y],
                    angle: side * 0.05,
                    density: 1.0,
                    friction: 0.2,
                },
            );
            engine.motor(Motor {
                bodies: [lander, leg],
                anchors: [[0.0, 0.0], [side * LEG_AWAY / SCALE, LEG_DOWN / SCALE]],
                limits: if side < 0.0 {
                    [0.9 - 0.5, 0.9]
                } else {
                    [-0.9, -0.9 + 0.5]
                },
                speed: 0.3 * side,
                torque: LEG_TORQUE,
            });
            leg
        });
        engine.watch(lander, legs);
        LunarLander {
            engine,
            wind,
            surface,
            lander,
            legs,
            power: [0.0; 2],
            worth: None,
        }
    }

    /// Lets the wind push a lander that is in the air.
    fn blow(&mut self) {
        let landed = self.engine.stands(0) || self.engine.stands(1);
        if let (Some(wind), false) = (&mut self.wind, landed) {
            let [force, torque] = wind.blow();
            self.engine.push(self.lander, |lander| {
                lander.apply_force_to_center(&vec2(force, 0.0), true);
                lander.apply_torque(torque as f32, true);
            });
        }
    }

    /// Fires the engines: the main one with a power of 0 to 1, and the side ones with a power of 0 to 1 to a side.
    /// Where exactly they push is random.
    fn fire(&mut self, main: f64, side: f64, direction: f64, rng: &mut Pcg64) {
        self.blow();
        let (angle, at) = self
            .engine
            .read(self.lander, |lander| (f64::from(lander.angle()), *lander.position()));
        let (x, y) = (f64::from(at.x), f64::from(at.y));
        let up = [angle.sin(), angle.cos()];
        let across = [-up[1], up[0]];
        let noise: [f64; 2] = std::array::from_fn(|_| rng.uniform(-1.0, 1.0) / SCALE);
        self.power = [main, side];
        if main > 0.0 {
            let down = MAIN_ENGINE_DOWN / SCALE + 2.0 * noise[0];
            let push_x = up[0] * down + across[0] * noise[1];
            let push_y = -up[1] * down - across[1] * noise[1];
            let impulse = vec2(-push_x * MAIN_POWER * main, -push_y * MAIN_POWER * main);
            let point = vec2(x + push_x, y + push_y);
            self.engine.push(self.lander, |lander| {
                lander.apply_linear_impulse(&impulse, &point, true)
            });
        }
        if side > 0.0 {
            let away = 3.0 * noise[1] + direction * SIDE_ENGINE_AWAY / SCALE;
            let push_x = up[0] * noise[0] + across[0] * away;
            let push_y = -up[1] * noise[0] - across[1] * away;
            let impulse = vec2(-push_x * SIDE_POWER * side, -push_y * SIDE_POWER * side);
            let point = vec2(
                x + push_x - up[0] * SIDE_ENGINE_UP_SIDEWAYS / SCALE,
                y + push_y + up[1] * SIDE_ENGINE_UP / SCALE,
            );
            self.engine.push(self.lander, |lander| {
                lander.apply_linear_impulse(&impulse, &point, true)
            });
        }
    }
}

impl<const CONTINUOUS: bool> Simulation for LunarLander<CONTINUOUS> {
    type Conditions = Conditions;

    fn begin(conditions: &Conditions, rng: &mut Pcg64, observation: &mut [f32]) -> Self {
        let mut lander = Self::build(conditions, rng);
        lander.fire(0.0, 0.0, 0.0, rng);
        lander.simulate();
        lander.judge(observation);
        lander
    }

    fn drive(&mut self, action: &[f32], rng: &mut Pcg64) -> Result<(), EnvError> {
        if CONTINUOUS {
            if let Some(entry) = action.iter().position(|x| x.is_nan()) {
                return Err(not_a_number(entry));
            }
            let [main, side] = [0, 1].map(|i| f64::from(action[i].clamp(-1.0, 1.0)));
            let main = if main > 0.0 { (main + 1.0) * 0.5 } else { 0.0 };
            let power = if side.abs() > 0.5 { side.abs() } else { 0.0 };
            self.fire(main, power, sign(side), rng);
        } else {
            match choice(action, CHOICES.len())? {
                1 => self.fire(0.0, 1.0, -1.0, rng),
                2 => self.fire(1.0, 0.0, 0.0, rng),
                3 => self.fire(0.0, 1.0, 1.0, rng),
                _ => self.fire(0.0, 0.0, 0.0, rng),
            }
        }
        Ok(())
    }

    fn simulate(&mut self) {
        self.engine.step();
    }

    fn judge(&mut self, observation: &mut [f32]) -> Step {
        let (at, velocity, angle, spin, awake) = self.engine.read(self.lander, |lander| {
            (
                *lander.position(),
                *lander.linear_velocity(),
                f64::from(lander.angle()),
                f64::from(lander.angular_velocity()),
                lander.is_awake(),
            )
        });
        let half = [VIEW[0] / 2.0, VIEW[1] / 2.0];
        let legs = [0, 1].map(|leg| f64::from(self.engine.stands(leg)));
        let state = [
            (f64::from(at.x) - half[0]) / half[0],
            (f64::from(at.y) - (PAD_HEIGHT + LEG_DOWN / SCALE)) / half[1],
            f64::from(velocity.x) * half[0] / FPS,
            f64::from(velocity.y) * half[1] / FPS,
            angle,
            20.0 * spin / FPS,
            legs[0],
            legs[1],
        ];
        observation.copy_from_slice(&state.map(|x| x as f32));

        let distance = (state[0] * state[0] + state[1] * state[1]).sqrt();
        let speed = (state[2] * state[2] + state[3] * state[3]).sqrt();
        let worth = -100.0 * distance - 100.0 * speed - 100.0 * angle.abs() + 10.0 * legs[0] + 10.0 * legs[1];
        let before = self.worth.replace(worth).unwrap_or(worth);
        let mut reward = worth - before - self.power[0] * 0.30 - self.power[1] * 0.03;
        let lost = self.engine.crashed() || state[0].abs() >= 1.0;
        if lost {
            reward = -100.0;
        }
        if !awake {
            reward = 100.0;
        }
        Step {
            reward,
            terminated: lost || !awake,
            truncated: false,
        }
    }

    fn scene(&self) -> Scene {
        let mut scene = Scene::new([0.0, 0.0], VIEW.map(|x| x as f32));
        let top = VIEW[1] as f32;
        for ends in self.surface.windows(2) {
            let [from, to] = [ends[0], ends[1]].map(|[x, y]| [x as f32, y as f32]);
            scene.polygon(&[from, to, [to[0], top], [from[0], top]], [0, 0, 0]);
        }
        for body in [self.lander, self.legs[0], self.legs[1]] {
            self.engine.draw(&mut scene, body, [128, 102, 230], [77, 77, 128]);
        }
        for chunk in [CHUNKS / 2 - 1, CHUNKS / 2 + 1] {
            let foot = [self.surface[chunk][0] as f32, PAD_HEIGHT as f32];
            super::flag(&mut scene, foot, [255, 255, 255], [204, 204, 0]);
        }
        scene
    }
}
