//! `Swimmer`: three links swim through a thick fluid, seen from above. Versions 4 and 5 are the same with their default
//! options.

use super::env::{Definition, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
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
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 4,
        noise: 0.1,
        control: 1e-4,
        ..Terms::NONE
    },
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ],
    forces: |_| false,
    bodies: &[],
    reset: Reset::Uniform,
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(state.positions(2));
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| {
        let terms = moment.terms();
        (
            terms.forward * moment.speed() - control_cost(terms.control, moment.action),
            false,
        )
    },
    view: View::top([-1.0, 0.0], [4.0, 2.25], true),
};

pub(super) const V4: Definition = Definition {
    id: "Swimmer-v4",
    // Its model and frame skip cannot be chosen.
    options: V5.options.split_at(2).1,
    ..V5
};

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make three links swim forward through a thick fluid.",
        observation: Table::new()
            .each("position", &JOINTS[2..])
            .each("velocity", &JOINTS)
            .keep(),
        image: None,
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "forward speed - 0.0001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(360.0),
        options: V5.declare(),
        build: |options| V5.make(options),
    };
    let v4 = TaskSpec {
        id: V4.id,
        options: V4.declare(),
        build: |options| V4.make(options),
        ..v5.clone()
    };
    vec![v4, v5]
}
