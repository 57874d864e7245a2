//! `Hopper`: hop forward on one leg, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too; version 5 does not.

use super::env::{Definition, Moment};
use super::library::Array;
use super::planar::{UPRIGHT, judge, of_version_4, task};
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
    terms: Terms {
        healthy_z: [0.7, f64::INFINITY],
        healthy_angle: [-0.2, 0.2],
        ..UPRIGHT.terms
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
    judge: |moment| judge(moment, moment.health(healthy(moment))),
    ..UPRIGHT
};

pub(super) const V4: Definition = Definition {
    id: "Hopper-v4",
    options: of_version_4(&V5),
    judge: |moment| judge(moment, moment.health_v4(healthy(moment))),
    ..V5
};

/// High enough, upright, and nothing runs away.
fn healthy(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    let terms = moment.terms();
    let calm = qpos[2..].iter().chain(qvel).all(|&x| inside(terms.healthy_state, x));
    calm && inside(terms.healthy_z, qpos[1]) && inside(terms.healthy_angle, qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        summary: "Make a one-legged robot hop forward without falling.".into(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.".into(),
        reward_threshold: Some(3800.0),
        ..task(&V5, &JOINTS, 1)
    };
    let v4 = TaskSpec {
        reward: "1 + forward speed - 0.001 |action|^2, until it falls.".into(),
        ..V4.version_of(&v5)
    };
    vec![v4, v5]
}
