//! `Swimmer`: three links swim through a thick fluid, seen from above. Versions 4 and 5 are the same with their default
//! options.

use super::env::{Definition, MujocoEnv, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use crate::TaskSpec;

const JOINTS: [&str; 5] = [
    "the front tip (x)",
    "the front tip (y)",
    "the front tip (angle)",
    "the first joint",
    "the second joint",
];

pub(super) const V5: Definition = Definition {
    id: "Swimmer-v5",
    model: "swimmer.xml",
    sizes: [5, 5, 2, 4],
    frame_skip: 4,
    forces: false,
    bodies: &[],
    reset: Reset::Uniform(0.1),
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(&state.get(Array::Qpos)[2..]);
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| (moment.speed() - control_cost(1e-4, moment.action), false),
    view: View::top([-1.0, 0.0], [4.0, 2.25], true),
};

pub(super) const V4: Definition = Definition { id: "Swimmer-v4", ..V5 };

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make three links swim forward through a thick fluid.",
        observation: Table::new()
            .each("position", &JOINTS[2..])
            .each("velocity", &JOINTS)
            .keep(),
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "forward speed - 0.0001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(360.0),
        make: || Ok(Box::new(MujocoEnv::open("Swimmer-v5")?)),
    };
    let v4 = TaskSpec {
        id: V4.id,
        make: || Ok(Box::new(MujocoEnv::open("Swimmer-v4")?)),
        ..v5.clone()
    };
    vec![v4, v5]
}
