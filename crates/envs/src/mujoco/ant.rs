//! `Ant`: a four-legged body runs along x without falling over.
//!
//! Version 5 observes the external forces on the body's parts and charges for them, and pays no bonus at the step that
//! ends the episode.

use super::env::{Definition, Moment, Reset, State};
use super::library::Array;
use super::numpy::{control_cost, sum};
use super::picture::View;
use super::tables::{TURN_AND_SHIFT, Table};
use super::terms::Terms;
use crate::TaskSpec;

/// The joints in the order of the state: two per leg.
const JOINTS: [&str; 8] = [
    "front left hip",
    "front left ankle",
    "front right hip",
    "front right ankle",
    "back left hip",
    "back left ankle",
    "back right hip",
    "back right ankle",
];
/// The same in the order of the controls.
const MOTORS: [&str; 8] = [
    "back right hip",
    "back right ankle",
    "front left hip",
    "front left ankle",
    "front right hip",
    "front right ankle",
    "back left hip",
    "back left ankle",
];
const BODIES: [&str; 13] = [
    "torso",
    "front left leg",
    "front left thigh",
    "front left foot",
    "front right leg",
    "front right thigh",
    "front right foot",
    "back left leg",
    "back left thigh",
    "back left foot",
    "back right leg",
    "back right thigh",
    "back right foot",
];

pub(super) const V4: Definition = Definition {
    id: "Ant-v4",
    model: "ant.xml",
    sizes: [15, 14, 8, 14],
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 5,
        noise: 0.1,
        control: 0.5,
        contact: 5e-4,
        healthy: 1.0,
        healthy_z: [0.2, 1.0],
        ..Terms::NONE
    },
    options: &[
        "xml_file",
        "ctrl_cost_weight",
        "use_contact_forces",
        "contact_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "contact_force_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ],
    forces: |terms| terms.use_forces,
    bodies: &["torso"],
    reset: Reset::Normal,
    measure: |state| state.body(0)[0],
    observe: |state, row| {
        let forces = if state.terms.use_forces { Some(0) } else { None };
        observe(state, row, forces);
    },
    judge: |moment| {
        let (bonus, over) = moment.health_v4(healthy(moment));
        let mut cost = control_cost(moment.terms().control, moment.action);
        if moment.terms().use_forces {
            cost += contact_cost(moment);
        }
        (moment.speed() + bonus - cost, over)
    },
    view: View {
        target: [0.0, 0.0, 0.45],
        follow: [true, true, false],
        distance: 3.6,
        turn: 30.0,
        height: 26.0,
        ..View::BESIDE
    },
};

pub(super) const V5: Definition = Definition {
    id: "Ant-v5",
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "contact_cost_weight",
        "healthy_reward",
        "main_body",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "contact_force_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
        "include_cfrc_ext_in_observation",
    ],
    forces: |_| true,
    // The body is the one that an option names.
    bodies: &[],
    observe: |state, row| {
        let forces = if state.terms.external { Some(6) } else { None };
        observe(state, row, forces);
    },
    judge: |moment| {
        let (bonus, over) = moment.health(healthy(moment));
        let cost = control_cost(moment.terms().control, moment.action) + contact_cost(moment);
        (moment.speed() * moment.terms().forward + bonus - cost, over)
    },
    ..V4
};

/// The last part are the clipped external forces from a number on.
fn observe(state: &State<'_>, row: &mut Vec<f64>, forces: Option<usize>) {
    row.extend(state.positions(2));
    row.extend(state.get(Array::Qvel));
    if let Some(first) = forces {
        let [low, high] = state.terms.force;
        row.extend(state.get(Array::CfrcExt)[first..].iter().map(|x| x.clamp(low, high)));
    }
}

fn contact_cost(moment: &Moment<'_>) -> f64 {
    let [low, high] = moment.terms().force;
    let squared = |x: f64| x.clamp(low, high) * x.clamp(low, high);
    moment.terms().contact * sum(moment.get(Array::CfrcExt), squared)
}

/// The torso is neither on the ground nor in the air, and nothing is infinite.
fn healthy(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    let [low, high] = moment.terms().healthy_z;
    qpos.iter().chain(qvel).all(|x| x.is_finite()) && (low..=high).contains(&qpos[2])
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let table = || {
        Table::new()
            .named(&["height of the torso"])
            .grid("orientation", &["w", "x", "y", "z"], &["the torso"])
            .each("angle", &JOINTS)
            .named(&["velocity along x", "velocity along y", "velocity along z"])
            .named(&[
                "angular velocity around x",
                "angular velocity around y",
                "angular velocity around z",
            ])
            .each("angular velocity", &JOINTS)
    };
    let v5 = TaskSpec {
        summary: "Make a four-legged body run forward without falling over.".into(),
        observation: table().grid("external force", &TURN_AND_SHIFT, &BODIES).entries(),
        action: Table::new().within("torque", &MOTORS, 1.0).entries(),
        reward: "1 while it stands + forward speed - 0.5 |action|^2 - 0.0005 |clipped external forces|^2.".into(),
        max_episode_steps: 1000,
        reward_threshold: Some(6000.0),
        ..V5.task()
    };
    let v4 = TaskSpec {
        observation: table().entries(),
        reward: "1 + forward speed - 0.5 |action|^2, until it falls.".into(),
        ..V4.version_of(&v5)
    };
    vec![v4, v5]
}
