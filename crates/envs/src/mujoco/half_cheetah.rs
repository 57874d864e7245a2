//! `HalfCheetah`: run fast on two legs, in a plane. Versions 4 and 5 are the same with their default options.

use super::env::{Definition, MujocoEnv, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use crate::TaskSpec;

const JOINTS: [&str; 9] = [
    "the front tip (x)",
    "the front tip (z)",
    "the front tip (angle)",
    "back thigh",
    "back shin",
    "back foot",
    "front thigh",
    "front shin",
    "front foot",
];

pub(super) const V5: Definition = Definition {
    id: "HalfCheetah-v5",
    model: "half_cheetah.xml",
    sizes: [9, 9, 6, 8],
    frame_skip: 5,
    forces: false,
    bodies: &[],
    reset: Reset::Normal(0.1),
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(&state.get(Array::Qpos)[1..]);
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| (moment.speed() - control_cost(0.1, moment.action), false),
    view: View::side(0.8, [2.4, 1.35]),
};

pub(super) const V4: Definition = Definition {
    id: "HalfCheetah-v4",
    ..V5
};

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a flat two-legged cheetah run forward as fast as it can.",
        observation: Table::new()
            .each("position", &JOINTS[1..])
            .each("velocity", &JOINTS)
            .keep(),
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "forward speed - 0.1 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(4800.0),
        make: || Ok(Box::new(MujocoEnv::open("HalfCheetah-v5")?)),
    };
    let v4 = TaskSpec {
        id: V4.id,
        make: || Ok(Box::new(MujocoEnv::open("HalfCheetah-v4")?)),
        ..v5.clone()
    };
    vec![v4, v5]
}
