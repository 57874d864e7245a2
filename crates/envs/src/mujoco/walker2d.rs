//! `Walker2d`: walk forward on two legs, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too, and has less friction at one foot.

use super::env::{Definition, Moment};
use super::library::Array;
use super::planar::{UPRIGHT, judge, of_version_4, task};
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
    terms: Terms {
        healthy_z: [0.8, 2.0],
        healthy_angle: [-1.0, 1.0],
        ..UPRIGHT.terms
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
    judge: |moment| judge(moment, moment.health(healthy(moment))),
    ..UPRIGHT
};

pub(super) const V4: Definition = Definition {
    id: "Walker2d-v4",
    model: "walker2d.xml",
    options: of_version_4(&V5),
    judge: |moment| judge(moment, moment.health_v4(healthy(moment))),
    ..V5
};

/// Neither too low nor too high, and upright.
fn healthy(moment: &Moment<'_>) -> bool {
    let qpos = moment.get(Array::Qpos);
    inside(moment.terms().healthy_z, qpos[1]) && inside(moment.terms().healthy_angle, qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        summary: "Make a two-legged robot walk forward without falling.".into(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.".into(),
        ..task(&V5, &JOINTS, 1)
    };
    let v4 = TaskSpec {
        reward: "1 + forward speed - 0.001 |action|^2, until it falls.".into(),
        ..V4.version_of(&v5)
    };
    vec![v4, v5]
}
