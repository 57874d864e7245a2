//! `Walker2d`: walk forward on two legs, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too, and has less friction at one foot.

use super::env::{Definition, Moment, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use super::terms::{Terms, inside};
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
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 4,
        noise: 5e-3,
        control: 1e-3,
        healthy: 1.0,
        healthy_z: [0.8, 2.0],
        healthy_angle: [-1.0, 1.0],
        ..Terms::NONE
    },
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "healthy_angle_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ],
    forces: |_| false,
    bodies: &[],
    reset: Reset::Uniform,
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(state.positions(1));
        row.extend(state.get(Array::Qvel).iter().map(|x| x.clamp(-10.0, 10.0)));
    },
    judge: |moment| judge(moment, moment.health(healthy(moment))),
    view: View::side(0.9, [2.0, 1.125]),
};

pub(super) const V4: Definition = Definition {
    id: "Walker2d-v4",
    model: "walker2d.xml",
    // Its model and frame skip cannot be chosen.
    options: V5.options.split_at(2).1,
    judge: |moment| judge(moment, moment.health_v4(healthy(moment))),
    ..V5
};

fn judge(moment: &Moment<'_>, (bonus, over): (f64, bool)) -> (f64, bool) {
    let terms = moment.terms();
    let cost = control_cost(terms.control, moment.action);
    (terms.forward * moment.speed() + bonus - cost, over)
}

/// Neither too low nor too high, and upright.
fn healthy(moment: &Moment<'_>) -> bool {
    let qpos = moment.get(Array::Qpos);
    inside(moment.terms().healthy_z, qpos[1]) && inside(moment.terms().healthy_angle, qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a two-legged robot walk forward without falling.",
        observation: Table::new()
            .each("position", &JOINTS[1..])
            .each("velocity", &JOINTS)
            .keep(),
        image: None,
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: None,
        options: V5.declare(),
        build: |options| V5.make(options),
    };
    let v4 = TaskSpec {
        id: V4.id,
        reward: "1 + forward speed - 0.001 |action|^2, until it falls.",
        options: V4.declare(),
        build: |options| V4.make(options),
        ..v5.clone()
    };
    vec![v4, v5]
}
