//! `Walker2d`: walk forward on two legs, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too, and has less friction at one foot.

use super::env::{Definition, Moment, MujocoEnv, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use crate::TaskSpec;

const JOINTS: [&str; 9] = [
    "the torso (x)",
    "the torso (z)",
    "the torso (angle)",
    "right thigh",
    "right leg",
    "right foot",
    "left thigh",
    "left leg",
    "left foot",
];

pub(super) const V5: Definition = Definition {
    id: "Walker2d-v5",
    model: "walker2d_v5.xml",
    sizes: [9, 9, 6, 8],
    frame_skip: 4,
    forces: false,
    bodies: &[],
    reset: Reset::Uniform(5e-3),
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(&state.get(Array::Qpos)[1..]);
        row.extend(state.get(Array::Qvel).iter().map(|x| x.clamp(-10.0, 10.0)));
    },
    judge: |moment| {
        let bonus = if healthy(moment) { 1.0 } else { 0.0 };
        (
            moment.speed() + bonus - control_cost(1e-3, moment.action),
            !healthy(moment),
        )
    },
    view: View::side(0.9, [2.0, 1.125]),
};

pub(super) const V4: Definition = Definition {
    id: "Walker2d-v4",
    model: "walker2d.xml",
    judge: |moment| {
        (
            moment.speed() + 1.0 - control_cost(1e-3, moment.action),
            !healthy(moment),
        )
    },
    ..V5
};

/// Neither too low nor too high, and upright.
fn healthy(moment: &Moment<'_>) -> bool {
    let qpos = moment.get(Array::Qpos);
    0.8 < qpos[1] && qpos[1] < 2.0 && -1.0 < qpos[2] && qpos[2] < 1.0
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a two-legged robot walk forward without falling.",
        observation: Table::new()
            .each("position", &JOINTS[1..])
            .each("velocity", &JOINTS)
            .keep(),
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: None,
        make: || Ok(Box::new(MujocoEnv::open("Walker2d-v5")?)),
    };
    let v4 = TaskSpec {
        id: V4.id,
        reward: "1 + forward speed - 0.001 |action|^2, until it falls.",
        make: || Ok(Box::new(MujocoEnv::open("Walker2d-v4")?)),
        ..v5.clone()
    };
    vec![v4, v5]
}
