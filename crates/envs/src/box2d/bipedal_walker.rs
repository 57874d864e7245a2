//! `BipedalWalker-v3` and `BipedalWalkerHardcore-v3`: walk to the far end of uneven ground on two legs.

use super::engine::{Engine, Motor, Part, vec2};
use super::replayed::{Replayed, Simulation};
use super::terrain::{self, Terrain};
use super::{FPS, GRAVITY, SCALE, VIEW};
use crate::registry::Entry;
use crate::space::not_a_number;
use crate::{EnvError, OptionValue, Options, Scene, Space, Step, TaskOption, TaskSpec};
use epgt_rng::Pcg64;
use std::f32::consts::PI;
use std::sync::LazyLock;
use wrapped2d::b2::{BodyHandle, JointHandle, PolygonShape, Vec2};

const MOTOR_TORQUE: f32 = 80.0;
const HIP_SPEED: f32 = 4.0;
const KNEE_SPEED: f32 = 6.0;
const LIDAR_RANGE: f64 = 160.0 / SCALE;
const RAYS: usize = 10;
/// The largest push that an episode begins with.
const FIRST_PUSH: f64 = 5.0;
const HULL: [[f64; 2]; 5] = [[-30.0, 9.0], [6.0, 9.0], [34.0, 1.0], [34.0, -8.0], [-30.0, -8.0]];
/// The height of the hips in the hull.
const HIP: f64 = -8.0 / SCALE;
const LEG: [f64; 2] = [8.0 / SCALE, 34.0 / SCALE];
const GROUND_FRICTION: f32 = 2.5;

const OBSERVATION: &[Entry] = &[
    Entry::within("hull angle", PI),
    Entry::within("hull angular velocity", 5.0),
    Entry::within("horizontal velocity", 5.0),
    Entry::within("vertical velocity", 5.0),
    Entry::within("hip 1 angle", PI),
    Entry::within("hip 1 speed", 5.0),
    Entry::within("knee 1 angle", PI),
    Entry::within("knee 1 speed", 5.0),
    Entry::between("foot 1 on the ground", -0.0, 5.0),
    Entry::within("hip 2 angle", PI),
    Entry::within("hip 2 speed", 5.0),
    Entry::within("knee 2 angle", PI),
    Entry::within("knee 2 speed", 5.0),
    Entry::between("foot 2 on the ground", -0.0, 5.0),
    Entry::within("lidar 1, straight down", 1.0),
    Entry::within("lidar 2", 1.0),
    Entry::within("lidar 3", 1.0),
    Entry::within("lidar 4", 1.0),
    Entry::within("lidar 5", 1.0),
    Entry::within("lidar 6", 1.0),
    Entry::within("lidar 7", 1.0),
    Entry::within("lidar 8", 1.0),
    Entry::within("lidar 9", 1.0),
    Entry::within("lidar 10, almost straight ahead", 1.0),
];

const ACTION: &[Entry] = &[
    Entry::within("hip 1 torque", 1.0),
    Entry::within("knee 1 torque", 1.0),
    Entry::within("hip 2 torque", 1.0),
    Entry::within("knee 2 torque", 1.0),
];

const fn hardcore(default: bool) -> TaskOption {
    let meaning = "Whether there are stumps, stairs and pits";
    TaskOption::new("hardcore", OptionValue::Flag(default), meaning)
}

/// The entries of the registry.
pub(super) fn tasks() -> Vec<TaskSpec> {
    let plain = TaskSpec {
        summary: "Walk on two legs to the far end of slightly uneven ground.".into(),
        observation: OBSERVATION.into(),
        action: ACTION.into(),
        reward:
            "Moving forward, 300 in all to the far end, less a little for torque and for tilting; -100 for falling."
                .into(),
        max_episode_steps: 1600,
        reward_threshold: Some(300.0),
        ..TaskSpec::of("BipedalWalker-v3", [hardcore(false)], |options| {
            Ok(match options.flag("hardcore") {
                true => Box::new(environment::<true>()),
                false => Box::new(environment::<false>()),
            })
        })
    };
    let hard = TaskSpec {
        id: "BipedalWalkerHardcore-v3".into(),
        summary: "Walk on two legs to the far end of ground with stumps, stairs and pits.".into(),
        max_episode_steps: 2000,
        options: Options::of([hardcore(true)]),
        ..plain.clone()
    };
    vec![plain, hard]
}

fn environment<const HARDCORE: bool>() -> Replayed<BipedalWalker<HARDCORE>> {
    Replayed::new((), Space::from_table(OBSERVATION), Space::from_table(ACTION))
}

/// Where the rays of the lidar end, seen from the hull.
static LIDAR: LazyLock<[[f64; 2]; RAYS]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let angle = 1.5 * i as f64 / 10.0;
        [angle.sin() * LIDAR_RANGE, angle.cos() * LIDAR_RANGE]
    })
});

/// One walk.
pub struct BipedalWalker<const HARDCORE: bool> {
    engine: Engine,
    terrain: Terrain,
    hull: BodyHandle,
    /// Upper and lower leg, and again.
    legs: [BodyHandle; 4],
    /// All of these, which the lidar looks through.
    movers: [BodyHandle; 5],
    /// Hip and knee, and again.
    motors: [JointHandle; 4],
    lidar: [f32; RAYS],
    /// How much torque the last action took.
    torque: [f32; 4],
    /// What the position was worth after the last step.
    worth: Option<f64>,
}

impl<const HARDCORE: bool> BipedalWalker<HARDCORE> {
    fn build(rng: &mut Pcg64) -> Self {
        let mut engine = Engine::new(GRAVITY);
        let terrain = Terrain::draw(HARDCORE, rng);
        for block in &terrain.blocks {
            let body = engine.fixed();
            engine.polygon(body, block, GROUND_FRICTION);
        }
        for ends in terrain.points.windows(2) {
            let body = engine.fixed();
            engine.edge(body, ends[0], ends[1], GROUND_FRICTION);
        }
        let x = terrain::STEP * terrain::START as f64 / 2.0;
        let y = terrain::HEIGHT + 2.0 * LEG[1];
        let part = |y, angle, density, friction| Part {
            position: [x, y],
            angle,
            density,
            friction,
        };
        let shape = PolygonShape::new_with(&HULL.map(|[x, y]| vec2(x / SCALE, y / SCALE)));
        let hull = engine.moving(&shape, part(y, 0.0, 5.0, 0.1));
        let push = rng.uniform(-FIRST_PUSH, FIRST_PUSH);
        engine.push(hull, |hull| hull.apply_force_to_center(&vec2(push, 0.0), true));

        let upper_shape = PolygonShape::new_box((LEG[0] / 2.0) as f32, (LEG[1] / 2.0) as f32);
        let lower_shape = PolygonShape::new_box((0.8 * LEG[0] / 2.0) as f32, (LEG[1] / 2.0) as f32);
        let ([legs_1, legs_2], [motors_1, motors_2]): ([[_; 2]; 2], [[_; 2]; 2]) = {
            let mut leg = |side: f64| {
                let upper = engine.moving(&upper_shape, part(y - LEG[1] / 2.0 - HIP, side * 0.05, 1.0, 0.2));
                let hip = engine.motor(Motor {
                    bodies: [hull, upper],
                    anchors: [[0.0, HIP], [0.0, LEG[1] / 2.0]],
                    limits: [-0.8, 1.1],
                    speed: side,
                    torque: MOTOR_TORQUE,
                });
                let lower = engine.moving(&lower_shape, part(y - LEG[1] * 3.0 / 2.0 - HIP, side * 0.05, 1.0, 0.2));
                let knee = engine.motor(Motor {
                    bodies: [upper, lower],
                    anchors: [[0.0, -LEG[1] / 2.0], [0.0, LEG[1] / 2.0]],
                    limits: [-1.6, -0.1],
                    speed: 1.0,
                    torque: MOTOR_TORQUE,
                });
                ([upper, lower], [hip, knee])
            };
            let (first, second) = (leg(-1.0), leg(1.0));
            ([first.0, second.0], [first.1, second.1])
        };
        let legs = [legs_1[0], legs_1[1], legs_2[0], legs_2[1]];
        engine.watch(hull, [legs[1], legs[3]]);
        BipedalWalker {
            engine,
            terrain,
            hull,
            legs,
            movers: [hull, legs[0], legs[1], legs[2], legs[3]],
            motors: [motors_1[0], motors_1[1], motors_2[0], motors_2[1]],
            lidar: [1.0; RAYS],
            torque: [0.0; 4],
            worth: None,
        }
    }

    fn set_motors(&mut self, action: [f32; 4]) {
        for (i, speed) in [HIP_SPEED, KNEE_SPEED, HIP_SPEED, KNEE_SPEED].into_iter().enumerate() {
            let direction = if action[i] == 0.0 { 0.0 } else { action[i].signum() };
            self.torque[i] = action[i].abs().min(1.0);
            self.engine
                .set_motor(self.motors[i], speed * direction, MOTOR_TORQUE * self.torque[i]);
        }
    }

    fn position(&self) -> Vec2 {
        self.engine.read(self.hull, |hull| *hull.position())
    }
}

impl<const HARDCORE: bool> Simulation for BipedalWalker<HARDCORE> {
    type Conditions = ();

    fn begin(_: &(), rng: &mut Pcg64, observation: &mut [f32]) -> Self {
        let mut walker = Self::build(rng);
        walker.set_motors([0.0; 4]);
        walker.simulate();
        walker.judge(observation);
        walker
    }

    fn drive(&mut self, action: &[f32], _: &mut Pcg64) -> Result<(), EnvError> {
        if let Some(entry) = action.iter().position(|x| x.is_nan()) {
            return Err(not_a_number(entry));
        }
        self.set_motors(std::array::from_fn(|i| action[i]));
        Ok(())
    }

    fn simulate(&mut self) {
        self.engine.step();
        let hull = self.position();
        for (free, [right, down]) in self.lidar.iter_mut().zip(*LIDAR) {
            let end = vec2(f64::from(hull.x) + right, f64::from(hull.y) - down);
            *free = self.engine.ray(&hull, &end, &self.movers);
        }
    }

    /// Velocities are scaled to about -1..1. Rewards are single-precision numbers, as they are in Gymnasium.
    fn judge(&mut self, observation: &mut [f32]) -> Step {
        let (angle, spin, velocity) = self.engine.read(self.hull, |hull| {
            (
                hull.angle(),
                f64::from(hull.angular_velocity()),
                *hull.linear_velocity(),
            )
        });
        observation[0] = angle;
        observation[1] = (2.0 * spin / FPS) as f32;
        observation[2] = (0.3 * f64::from(velocity.x) * VIEW[0] / FPS) as f32;
        observation[3] = (0.3 * f64::from(velocity.y) * VIEW[1] / FPS) as f32;
        for side in 0..2 {
            let leg = &mut observation[4 + 5 * side..][..5];
            let (hip, hip_speed) = self.engine.angle_and_speed(self.motors[2 * side]);
            let (knee, knee_speed) = self.engine.angle_and_speed(self.motors[2 * side + 1]);
            leg[0] = hip;
            leg[1] = hip_speed / HIP_SPEED;
            leg[2] = (f64::from(knee) + 1.0) as f32;
            leg[3] = knee_speed / KNEE_SPEED;
            leg[4] = f32::from(self.engine.stands(side));
        }
        observation[14..].copy_from_slice(&self.lidar);

        let x = f64::from(self.position().x);
        let worth = 130.0 * x / SCALE - 5.0 * f64::from(angle).abs();
        let before = self.worth.replace(worth).unwrap_or(worth);
        let mut reward = (worth - before) as f32;
        for torque in self.torque {
            reward -= (0.00035 * f64::from(MOTOR_TORQUE)) as f32 * torque;
        }
        let fallen = self.engine.crashed() || x < 0.0;
        let arrived = x > (terrain::LENGTH as f64 - terrain::GRASS as f64) * terrain::STEP;
        Step {
            reward: if fallen { -100.0 } else { f64::from(reward) },
            terminated: fallen || arrived,
            truncated: false,
        }
    }

    fn scene(&self) -> Scene {
        let hull = self.position();
        let scroll = hull.x - (VIEW[0] / 5.0) as f32;
        let (width, height) = (VIEW[0] as f32, VIEW[1] as f32);
        let line = 1.0 / SCALE as f32;
        let mut scene = Scene::new([scroll, 0.0], [scroll + width, height]);
        scene.background = [215, 215, 255];
        let point = |[x, y]: [f64; 2]| [x as f32, y as f32];
        let seen = |points: &[[f32; 2]]| {
            points.iter().any(|p| p[0] >= scroll) && points.iter().any(|p| p[0] <= scroll + width)
        };
        for cloud in &self.terrain.clouds {
            // Clouds are far away: they move at half the speed.
            let corners = cloud.map(|corner| [corner[0] as f32 + scroll / 2.0, corner[1] as f32]);
            if seen(&corners) {
                scene.polygon(&corners, [255, 255, 255]);
            }
        }
        for (i, ends) in self.terrain.points.windows(2).enumerate() {
            let [from, to] = [point(ends[0]), point(ends[1])];
            if seen(&[from, to]) {
                scene.polygon(&[from, to, [to[0], 0.0], [from[0], 0.0]], [102, 153, 76]);
                scene.line(from, to, line, [76, if i % 2 == 0 { 255 } else { 204 }, 76]);
            }
        }
        for block in &self.terrain.blocks {
            let corners = block.map(point);
            if seen(&corners) {
                scene.polygon(&corners, [255, 255, 255]);
                for (i, &from) in corners.iter().enumerate() {
                    scene.line(from, corners[(i + 1) % 4], line, [153, 153, 153]);
                }
            }
        }
        for ([right, down], free) in LIDAR.iter().zip(self.lidar) {
            let end = [hull.x + *right as f32 * free, hull.y - *down as f32 * free];
            scene.line([hull.x, hull.y], end, line, [255, 0, 0]);
        }
        for (i, &leg) in self.legs.iter().enumerate() {
            let (fill, outline) = if i < 2 {
                ([178, 101, 152], [127, 76, 101])
            } else {
                ([128, 51, 102], [77, 26, 51])
            };
            self.engine.draw(&mut scene, leg, fill, outline);
        }
        self.engine.draw(&mut scene, self.hull, [127, 51, 229], [76, 76, 127]);
        let (x, y) = ((terrain::STEP * 3.0) as f32, terrain::HEIGHT as f32);
        super::flag(&mut scene, [x, y], [0, 0, 0], [230, 51, 0]);
        scene
    }
}
