//! `Reacher`: bring the tip of a two-jointed arm to a target on a table.
//!
//! Version 4 is paid for where the tip was before the step and observes a height that is always zero; version 5 is paid
//! for where it came to.

use super::env::{Definition, Reset, State};
use super::library::Array;
use super::numpy::{control_cost, norm};
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
use crate::TaskSpec;

pub(super) const V5: Definition = Definition {
    id: "Reacher-v5",
    model: "reacher.xml",
    sizes: [4, 4, 2, 5],
    extensible: false,
    sites: 0,
    terms: Terms {
        frame_skip: 2,
        control: 1.0,
        ..Terms::NONE
    },
    options: &["xml_file", "frame_skip", "reward_dist_weight", "reward_control_weight"],
    forces: |_| false,
    bodies: &["fingertip", "target"],
    reset: Reset::Own(|qpos, qvel, rng| {
        qpos.iter_mut().for_each(|x| *x += rng.uniform(-0.1, 0.1));
        let goal = loop {
            let goal = [rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)];
            if norm(&goal) < 0.2 {
                break goal;
            }
        };
        qpos[2..].copy_from_slice(&goal);
        qvel.iter_mut().for_each(|x| *x = rng.uniform(-0.005, 0.005));
        qvel[2..].fill(0.0);
    }),
    measure: |state| norm(&gap(state)),
    observe: |state, row| observe(state, row, 2),
    judge: |moment| {
        let terms = moment.terms();
        (
            -moment.after * terms.distance - control_cost(terms.control, moment.action),
            false,
        )
    },
    view: View {
        target: [0.0, 0.0, 0.0],
        follow: [false; 3],
        distance: 0.88,
        turn: 0.0,
        height: 62.0,
        tile: 0.1,
    },
};

pub(super) const V4: Definition = Definition {
    id: "Reacher-v4",
    options: &[],
    observe: |state, row| observe(state, row, 3),
    judge: |moment| (-moment.before - control_cost(1.0, moment.action), false),
    ..V5
};

/// From the target to the fingertip.
fn gap(state: &State<'_>) -> [f64; 3] {
    let (tip, target) = (state.body(0), state.body(1));
    std::array::from_fn(|i| tip[i] - target[i])
}

/// The last part is the gap in two or three dimensions.
fn observe(state: &State<'_>, row: &mut Vec<f64>, dimensions: usize) {
    let (qpos, qvel) = (state.get(Array::Qpos), state.get(Array::Qvel));
    row.extend(qpos[..2].iter().map(|angle| angle.cos()));
    row.extend(qpos[..2].iter().map(|angle| angle.sin()));
    row.extend(&qpos[2..]);
    row.extend(&qvel[..2]);
    row.extend(&gap(state)[..dimensions]);
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let joints = ["the first joint", "the second joint"];
    let table = || {
        Table::new()
            .each("cosine of the angle", &joints)
            .each("sine of the angle", &joints)
            .named(&["target x", "target y"])
            .each("angular velocity", &joints)
            .named(&["fingertip - target, x", "fingertip - target, y"])
    };
    let v5 = TaskSpec {
        summary: "Bring the tip of a two-jointed arm to a target.".into(),
        observation: table().entries(),
        action: Table::new().within("torque", &joints, 1.0).entries(),
        reward: "-(distance of the tip to the target) - |action|^2.".into(),
        max_episode_steps: 50,
        reward_threshold: Some(-3.75),
        ..V5.task()
    };
    let v4 = TaskSpec {
        observation: table().named(&["fingertip - target, z"]).entries(),
        reward: "-(distance of the tip to the target before the step) - |action|^2.".into(),
        ..V4.version_of(&v5)
    };
    vec![v4, v5]
}
