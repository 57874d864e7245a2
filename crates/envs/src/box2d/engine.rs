//! The Box2D world of one episode, as the tasks use it: a few makers, one step, and who touches the ground.

use super::FPS;
use crate::{Color, Scene};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use wrapped2d::b2::{
    self, Body, BodyDef, BodyHandle, BodyType, EdgeShape, FixtureDef, JointHandle, RevoluteJoint, RevoluteJointDef,
    Shape, UnknownJoint, UnknownShape, Vec2,
};
use wrapped2d::dynamics::world::callbacks::{ContactAccess, ContactListener};
use wrapped2d::user_data::NoUserData;

/// Bits of the filter: moving bodies collide with the ground and not with each other.
const GROUND: u16 = 0x0001;
const MOVING: u16 = 0x0020;

/// Points of the world in double precision become the engine's in single precision, as in Gymnasium.
pub(super) fn vec2(x: f64, y: f64) -> Vec2 {
    Vec2 {
        x: x as f32,
        y: y as f32,
    }
}

/// What a moving body is made of.
pub(super) struct Part {
    pub(super) position: [f64; 2],
    pub(super) angle: f64,
    pub(super) density: f32,
    pub(super) friction: f32,
}

/// A motor between two bodies.
pub(super) struct Motor {
    pub(super) bodies: [BodyHandle; 2],
    pub(super) anchors: [[f64; 2]; 2],
    /// The least and the largest angle.
    pub(super) limits: [f64; 2],
    pub(super) speed: f64,
    pub(super) torque: f32,
}

/// A world of its own.
pub(super) struct Engine {
    world: b2::World<NoUserData>,
    touches: Arc<AtomicU8>,
}

// SAFETY: an engine owns its world and everything that the world points to: nothing in this file hands out a pointer,
// a borrow that outlives a call, or a second owner (the listener shares an atomic only). So whoever holds the engine is
// the only one who can reach that memory, and another thread can be given all of it. Box2D has no thread-local state.
// Its process-wide tables are filled once, before the first engine exists (`fill_tables`), and only read afterwards;
// its process-wide counters of iterations are statistics on which nothing depends.
unsafe impl Send for Engine {}

impl Engine {
    /// An empty world with this gravity.
    pub(super) fn new(gravity: f64) -> Self {
        static FILL_TABLES: Once = Once::new();
        FILL_TABLES.call_once(fill_tables);
        Engine {
            world: b2::World::new(&vec2(0.0, gravity)),
            touches: Arc::new(AtomicU8::new(0)),
        }
    }

    /// A body that never moves.
    pub(super) fn fixed(&mut self) -> BodyHandle {
        self.world.create_body(&BodyDef::new())
    }

    /// Gives a fixed body a line.
    pub(super) fn edge(&mut self, body: BodyHandle, from: [f64; 2], to: [f64; 2], friction: f32) {
        let shape = EdgeShape::new_with(&vec2(from[0], from[1]), &vec2(to[0], to[1]));
        self.ground(body, &shape, friction);
    }

    /// Gives a fixed body a convex shape.
    pub(super) fn polygon(&mut self, body: BodyHandle, points: &[[f64; 2]; 4], friction: f32) {
        let shape = b2::PolygonShape::new_with(&points.map(|[x, y]| vec2(x, y)));
        self.ground(body, &shape, friction);
    }

    fn ground(&mut self, body: BodyHandle, shape: &dyn Shape, friction: f32) {
        let mut fixture = FixtureDef {
            friction,
            ..FixtureDef::new()
        };
        self.world.body_mut(body).create_fixture(shape, &mut fixture);
    }

    /// A body that moves.
    pub(super) fn moving(&mut self, shape: &b2::PolygonShape, part: Part) -> BodyHandle {
        let handle = self.world.create_body(&BodyDef {
            body_type: BodyType::Dynamic,
            position: vec2(part.position[0], part.position[1]),
            angle: part.angle as f32,
            ..BodyDef::new()
        });
        let mut fixture = FixtureDef {
            density: part.density,
            friction: part.friction,
            filter: b2::Filter {
                category_bits: MOVING,
                mask_bits: GROUND,
                group_index: 0,
            },
            ..FixtureDef::new()
        };
        self.world.body_mut(handle).create_fixture(shape, &mut fixture);
        handle
    }

    /// A motor; its angle is 0 as the bodies stand now.
    pub(super) fn motor(&mut self, motor: Motor) -> JointHandle {
        let [a, b] = motor.bodies;
        let [anchor_a, anchor_b] = motor.anchors;
        let reference_angle = self.world.body(b).angle() - self.world.body(a).angle();
        self.world.create_joint(&RevoluteJointDef {
            local_anchor_a: vec2(anchor_a[0], anchor_a[1]),
            local_anchor_b: vec2(anchor_b[0], anchor_b[1]),
            reference_angle,
            enable_limit: true,
            lower_angle: motor.limits[0] as f32,
            upper_angle: motor.limits[1] as f32,
            enable_motor: true,
            motor_speed: motor.speed as f32,
            max_motor_torque: motor.torque,
            ..RevoluteJointDef::new(a, b)
        })
    }

    /// From now on notes when the hull or a foot touches the ground.
    pub(super) fn watch(&mut self, hull: BodyHandle, feet: [BodyHandle; 2]) {
        self.world.set_contact_listener(Box::new(Watch {
            hull,
            feet,
            touches: self.touches.clone(),
        }));
    }

    /// Whether the hull has touched the ground.
    pub(super) fn crashed(&self) -> bool {
        self.touches.load(Relaxed) & CRASHED != 0
    }

    /// Whether a foot stands on the ground.
    pub(super) fn stands(&self, foot: usize) -> bool {
        self.touches.load(Relaxed) & FOOT[foot] != 0
    }

    /// Moves everything on by one step.
    pub(super) fn step(&mut self) {
        self.world.step((1.0 / FPS) as f32, 6 * 30, 2 * 30);
    }

    /// How far a ray gets before it meets the ground, as a part of its length.
    pub(super) fn ray(&self, from: &Vec2, to: &Vec2, movers: &[BodyHandle]) -> f32 {
        let mut free = 1.0;
        let mut meet = |body: BodyHandle, _: b2::FixtureHandle, _: &Vec2, _: &Vec2, fraction: f32| {
            if movers.contains(&body) {
                return -1.0;
            }
            free = fraction;
            fraction
        };
        self.world.ray_cast(&mut meet, from, to);
        free
    }

    /// Reads a body.
    pub(super) fn read<T>(&self, body: BodyHandle, read: impl FnOnce(&Body) -> T) -> T {
        read(&self.world.body(body))
    }

    /// Pushes a body.
    pub(super) fn push(&mut self, body: BodyHandle, push: impl FnOnce(&mut Body)) {
        push(&mut self.world.body_mut(body));
    }

    /// A motor's angle and speed.
    pub(super) fn angle_and_speed(&self, motor: JointHandle) -> (f32, f32) {
        match &**self.world.joint(motor) {
            UnknownJoint::Revolute(joint) => (joint.joint_angle(), joint.joint_speed()),
            _ => unreachable!("every motor is a revolute joint"),
        }
    }

    /// Sets what a motor aims at, and how strong it is.
    pub(super) fn set_motor(&mut self, motor: JointHandle, speed: f32, torque: f32) {
        let set = |joint: &mut RevoluteJoint| {
            joint.set_motor_speed(speed);
            joint.set_max_motor_torque(torque);
        };
        match &mut **self.world.joint_mut(motor) {
            UnknownJoint::Revolute(joint) => set(joint),
            _ => unreachable!("every motor is a revolute joint"),
        }
    }

    /// Draws a moving body with its outline.
    pub(super) fn draw(&self, scene: &mut Scene, body: BodyHandle, fill: Color, outline: Color) {
        let body = self.world.body(body);
        let mut points = Vec::new();
        for (_, fixture) in body.fixtures() {
            if let UnknownShape::Polygon(shape) = &*fixture.borrow().shape() {
                let corners = (0..shape.vertex_count()).map(|i| body.world_point(shape.vertex(i)));
                points.extend(corners.map(|corner| [corner.x, corner.y]));
            }
        }
        scene.polygon(&points, fill);
        for (i, &from) in points.iter().enumerate() {
            scene.line(from, points[(i + 1) % points.len()], 1.0 / super::SCALE as f32, outline);
        }
    }
}

/// Makes Box2D fill its process-wide tables, which it does without a lock: those of its allocator when a world is
/// made, those of collisions when two shapes first meet.
fn fill_tables() {
    let mut world = b2::World::<NoUserData>::new(&vec2(0.0, 0.0));
    let shape = b2::PolygonShape::new_box(1.0, 1.0);
    for body_type in [BodyType::Static, BodyType::Dynamic] {
        let body = world.create_body(&BodyDef {
            body_type,
            ..BodyDef::new()
        });
        world.body_mut(body).create_fast_fixture(&shape, 1.0);
    }
    world.step(0.01, 1, 1);
}

/// The bits of what touches the ground.
const CRASHED: u8 = 1;
const FOOT: [u8; 2] = [2, 4];

/// Hears from the engine when bodies begin and cease to touch.
struct Watch {
    hull: BodyHandle,
    feet: [BodyHandle; 2],
    touches: Arc<AtomicU8>,
}

impl ContactListener<NoUserData> for Watch {
    fn begin_contact(&mut self, contact: ContactAccess<'_, NoUserData>) {
        for body in [contact.body_a.handle(), contact.body_b.handle()] {
            if body == self.hull {
                self.touches.fetch_or(CRASHED, Relaxed);
            }
            for (foot, bit) in self.feet.iter().zip(FOOT) {
                if body == *foot {
                    self.touches.fetch_or(bit, Relaxed);
                }
            }
        }
    }

    /// A foot that leaves one piece of ground counts as lifted, even where it still touches the next one, as in
    /// Gymnasium.
    fn end_contact(&mut self, contact: ContactAccess<'_, NoUserData>) {
        for body in [contact.body_a.handle(), contact.body_b.handle()] {
            for (foot, bit) in self.feet.iter().zip(FOOT) {
                if body == *foot {
                    self.touches.fetch_and(!bit, Relaxed);
                }
            }
        }
    }
}
