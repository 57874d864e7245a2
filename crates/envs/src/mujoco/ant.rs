//! `Ant`: a four-legged body runs along x without falling over.
//!
//! Version 5 observes the external forces on the body's parts and charges for them, and pays no bonus at the step that
//! ends the episode.

use super::env::{Definition, Moment, MujocoEnv, Reset};
use super::library::Array;
use super::numpy::{control_cost, sum};
use super::picture::View;
use super::tables::{TURN_AND_SHIFT, Table};
use crate::TaskSpec;

/// The joints in the order of the state: two per leg.
const JOINTS: [&str; 8] = [
    "front left hip",
    "front left ankle",
    "front right hip",
    "front right ankle",
    "back left hip",
    "back left ankle",
    "back right hip",
    "back right ankle",
];
/// The same in the order of the controls.
const MOTORS: [&str; 8] = [
    "back right hip",
    "back right ankle",
    "front left hip",
    "front left ankle",
    "front right hip",
    "front right ankle",
    "back left hip",
    "back left ankle",
];
const BODIES: [&str; 13] = [
    "torso",
    "front left leg",
    "front left thigh",
    "front left foot",
    "front right leg",
    "front right thigh",
    "front right foot",
    "back left leg",
    "back left thigh",
    "back left foot",
    "back right leg",
    "back right thigh",
    "back right foot",
];

pub(super) const V4: Definition = Definition {
    id: "Ant-v4",
    model: "ant.xml",
    sizes: [15, 14, 8, 14],
    frame_skip: 5,
    forces: false,
    bodies: &["torso"],
    reset: Reset::Normal(0.1),
    measure: |state| state.body(0)[0],
    observe: |state, row| {
        row.extend(&state.get(Array::Qpos)[2..]);
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| {
        (
            moment.speed() + 1.0 - control_cost(0.5, moment.action),
            !healthy(moment),
        )
    },
    view: View::side(0.6, [2.4, 1.35]),
};

pub(super) const V5: Definition = Definition {
    id: "Ant-v5",
    forces: true,
    observe: |state, row| {
        (V4.observe)(state, row);
        row.extend(state.get(Array::CfrcExt)[6..].iter().map(|x| x.clamp(-1.0, 1.0)));
    },
    judge: |moment| {
        let bonus = if healthy(moment) { 1.0 } else { 0.0 };
        let squared = |x: f64| x.clamp(-1.0, 1.0) * x.clamp(-1.0, 1.0);
        let contact = 5e-4 * sum(moment.get(Array::CfrcExt), squared);
        let cost = control_cost(0.5, moment.action) + contact;
        (moment.speed() + bonus - cost, !healthy(moment))
    },
    ..V4
};

/// The torso is neither on the ground nor in the air, and nothing is infinite.
fn healthy(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    qpos.iter().chain(qvel).all(|x| x.is_finite()) && (0.2..=1.0).contains(&qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let table = || {
        Table::new()
            .named(&["height of the torso"])
            .grid("orientation", &["w", "x", "y", "z"], &["the torso"])
            .each("angle", &JOINTS)
            .named(&["velocity along x", "velocity along y", "velocity along z"])
            .named(&[
                "angular velocity around x",
                "angular velocity around y",
                "angular velocity around z",
            ])
            .each("angular velocity", &JOINTS)
    };
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a four-legged body run forward without falling over.",
        observation: table().grid("external force", &TURN_AND_SHIFT, &BODIES).keep(),
        action: Table::new().within("torque", &MOTORS, 1.0).keep(),
        reward: "1 while it stands + forward speed - 0.5 |action|^2 - 0.0005 |clipped external forces|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(6000.0),
        make: || Ok(Box::new(MujocoEnv::open("Ant-v5")?)),
    };
    let v4 = TaskSpec {
        id: V4.id,
        observation: table().keep(),
        reward: "1 + forward speed - 0.5 |action|^2, until it falls.",
        make: || Ok(Box::new(MujocoEnv::open("Ant-v4")?)),
        ..v5.clone()
    };
    vec![v4, v5]
}
