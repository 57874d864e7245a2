//! `Hopper`: hop forward on one leg, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too; version 5 does not.

use super::env::{Definition, Moment, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use super::terms::{Terms, inside};
use crate::TaskSpec;

const JOINTS: [&str; 6] = [
    "the torso (x)",
    "the torso (z)",
    "the torso (angle)",
    "thigh",
    "leg",
    "foot",
];

pub(super) const V5: Definition = Definition {
    id: "Hopper-v5",
    model: "hopper.xml",
    sizes: [6, 6, 3, 5],
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 4,
        noise: 5e-3,
        control: 1e-3,
        healthy: 1.0,
        healthy_z: [0.7, f64::INFINITY],
        healthy_angle: [-0.2, 0.2],
        ..Terms::NONE
    },
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_state_range",
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
    id: "Hopper-v4",
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

/// High enough, upright, and nothing runs away.
fn healthy(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    let terms = moment.terms();
    let calm = qpos[2..].iter().chain(qvel).all(|&x| inside(terms.healthy_state, x));
    calm && inside(terms.healthy_z, qpos[1]) && inside(terms.healthy_angle, qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a one-legged robot hop forward without falling.",
        observation: Table::new()
            .each("position", &JOINTS[1..])
            .each("velocity", &JOINTS)
            .keep(),
        image: None,
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(3800.0),
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
