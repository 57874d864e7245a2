//! `Hopper`: hop forward on one leg, in a plane, without falling.
//!
//! Version 4 pays the bonus for standing at the step that ends the episode too; version 5 does not.

use super::env::{Definition, Moment, MujocoEnv, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
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
    id: "Hopper-v4",
    judge: |moment| {
        (
            moment.speed() + 1.0 - control_cost(1e-3, moment.action),
            !healthy(moment),
        )
    },
    ..V5
};

/// High enough, upright, and nothing runs away.
fn healthy(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    let calm = qpos[2..].iter().chain(qvel).all(|&x| -100.0 < x && x < 100.0);
    calm && 0.7 < qpos[1] && qpos[1] < f64::INFINITY && -0.2 < qpos[2] && qpos[2] < 0.2
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        id: V5.id,
        summary: "Make a one-legged robot hop forward without falling.",
        observation: Table::new()
            .each("position", &JOINTS[1..])
            .each("velocity", &JOINTS)
            .keep(),
        action: Table::new().within("torque", &JOINTS[3..], 1.0).keep(),
        reward: "1 while it stands + forward speed - 0.001 |action|^2.",
        max_episode_steps: 1000,
        reward_threshold: Some(3800.0),
        make: || Ok(Box::new(MujocoEnv::open("Hopper-v5")?)),
    };
    let v4 = TaskSpec {
        id: V4.id,
        reward: "1 + forward speed - 0.001 |action|^2, until it falls.",
        make: || Ok(Box::new(MujocoEnv::open("Hopper-v4")?)),
        ..v5.clone()
    };
    vec![v4, v5]
}
