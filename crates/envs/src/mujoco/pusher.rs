//! `Pusher-v5`: push a cylinder to a goal with a seven-jointed arm.
//!
//! There is no version 4: Gymnasium runs it with MuJoCo 2 only.

use super::env::{Definition, Reset, State};
use super::library::Array;
use super::numpy::{control_cost, norm};
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
use crate::TaskSpec;

const JOINTS: [&str; 7] = [
    "shoulder (pan)",
    "shoulder (lift)",
    "upper arm (roll)",
    "elbow (flex)",
    "forearm (roll)",
    "wrist (flex)",
    "wrist (roll)",
];

pub(super) const V5: Definition = Definition {
    id: "Pusher-v5",
    model: "pusher_v5.xml",
    sizes: [11, 11, 7, 13],
    extensible: false,
    sites: 0,
    terms: Terms {
        frame_skip: 5,
        control: 0.1,
        near: 0.5,
        ..Terms::NONE
    },
    options: &[
        "xml_file",
        "frame_skip",
        "reward_near_weight",
        "reward_dist_weight",
        "reward_control_weight",
    ],
    forces: |_| false,
    bodies: &["tips_arm", "object", "goal"],
    reset: Reset::Own(|qpos, qvel, rng| {
        let object = loop {
            let object = [rng.uniform(-0.3, 0.0), rng.uniform(-0.2, 0.2)];
            if norm(&object) > 0.17 {
                break object;
            }
        };
        qpos[7..9].copy_from_slice(&object);
        qpos[9..].fill(0.0);
        qvel.iter_mut().for_each(|x| *x = rng.uniform(-0.005, 0.005));
        qvel[7..].fill(0.0);
    }),
    measure: |_| 0.0,
    observe: |state, row| {
        row.extend(&state.get(Array::Qpos)[..7]);
        row.extend(&state.get(Array::Qvel)[..7]);
        (0..3).for_each(|place| row.extend(state.body(place)));
    },
    judge: |moment| {
        let terms = moment.terms();
        let near = -gap(&moment.state, 1, 0) * terms.near;
        let distance = -gap(&moment.state, 1, 2) * terms.distance;
        (distance - control_cost(terms.control, moment.action) + near, false)
    },
    view: View {
        target: [0.2, -0.2, -0.2],
        follow: [false; 3],
        distance: 2.0,
        turn: 125.0,
        height: 32.0,
        tile: 0.25,
    },
};

/// The distance between two bodies.
fn gap(state: &State<'_>, one: usize, other: usize) -> f64 {
    let (one, other) = (state.body(one), state.body(other));
    norm(&[one[0] - other[0], one[1] - other[1], one[2] - other[2]])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    vec![TaskSpec {
        summary: "Push a cylinder to a goal with a seven-jointed arm.".into(),
        observation: Table::new()
            .each("angle", &JOINTS)
            .each("angular velocity", &JOINTS)
            .grid(
                "position",
                &["x", "y", "z"],
                &["the fingertip", "the cylinder", "the goal"],
            )
            .entries(),
        action: Table::new().within("torque", &JOINTS, 2.0).entries(),
        reward: "-(cylinder to goal) - 0.5 (cylinder to fingertip) - 0.1 |action|^2.".into(),
        max_episode_steps: 100,
        reward_threshold: Some(0.0),
        ..V5.task()
    }]
}
