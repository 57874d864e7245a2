//! `HalfCheetah`: run fast on two legs, in a plane. Versions 4 and 5 are the same with their default options.

use super::env::{Definition, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
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
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 5,
        noise: 0.1,
        control: 0.1,
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
    reset: Reset::Normal,
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(state.positions(1));
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| {
        let terms = moment.terms();
        (
            terms.forward * moment.speed() - control_cost(terms.control, moment.action),
            false,
        )
    },
    view: View::side(0.8, [2.4, 1.35]),
};

pub(super) const V4: Definition = Definition {
    id: "HalfCheetah-v4",
    // Its model and frame skip cannot be chosen.
    options: V5.options.split_at(2).1,
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
        image: None,
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "forward speed - 0.1 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(4800.0),
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
