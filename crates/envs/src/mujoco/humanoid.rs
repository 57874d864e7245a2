//! `Humanoid` walks without falling; `HumanoidStandup` lies on its back and gets up. Both observe the whole body.
//!
//! Version 4 observes the world as one of the bodies, and the forces of joints that have no motor: numbers that are
//! always zero. Version 5 leaves them out, and charges the walker for external forces. The model in a lying position is
//! another file, but has the same joints and bodies.

use std::sync::Arc;

use super::env::{Definition, Moment, Reset, State};
use super::library::Array;
use super::numpy::sum;
use super::picture::View;
use super::tables::{INERTIA, TURN_AND_SHIFT, Table};
use super::terms::{Terms, inside};
use crate::TaskSpec;
use crate::registry::Entry;

/// The joints in the order of the state.
const JOINTS: [&str; 17] = [
    "abdomen (z)",
    "abdomen (y)",
    "abdomen (x)",
    "right hip (x)",
    "right hip (z)",
    "right hip (y)",
    "right knee",
    "left hip (x)",
    "left hip (z)",
    "left hip (y)",
    "left knee",
    "right shoulder (1)",
    "right shoulder (2)",
    "right elbow",
    "left shoulder (1)",
    "left shoulder (2)",
    "left elbow",
];
const BODIES: [&str; 14] = [
    "world",
    "torso",
    "lower waist",
    "pelvis",
    "right thigh",
    "right shin",
    "right foot",
    "left thigh",
    "left shin",
    "left foot",
    "right upper arm",
    "right lower arm",
    "left upper arm",
    "left lower arm",
];

pub(super) const WALK_V4: Definition = Definition {
    id: "Humanoid-v4",
    model: "humanoid.xml",
    sizes: [24, 23, 17, 14],
    extensible: true,
    sites: 0,
    terms: Terms {
        frame_skip: 5,
        noise: 1e-2,
        forward: 1.25,
        control: 0.1,
        contact: 5e-7,
        healthy: 5.0,
        healthy_z: [1.0, 2.0],
        ..Terms::NONE
    },
    options: &[
        "forward_reward_weight",
        "ctrl_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ],
    forces: |_| true,
    bodies: &[],
    reset: Reset::Uniform,
    measure: |state| {
        // The centre of mass along x.
        let masses = state.data.model().masses();
        let places = state.get(Array::Xipos).chunks_exact(3);
        let moment = masses
            .iter()
            .zip(places)
            .fold(0.0, |sum, (mass, place)| sum + mass * place[0]);
        moment / sum(masses, |mass| mass)
    },
    observe: |state, row| observe(state, row, 0, 0),
    judge: |moment| {
        let (bonus, over) = moment.health_v4(healthy(moment));
        (moment.terms().forward * moment.speed() + bonus - effort(moment), over)
    },
    view: View {
        target: [0.0, 0.0, 0.9],
        follow: [true, true, false],
        distance: 3.0,
        turn: 30.0,
        ..View::BESIDE
    },
};

pub(super) const WALK_V5: Definition = Definition {
    id: "Humanoid-v5",
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "contact_cost_weight",
        "contact_cost_range",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
        "include_cinert_in_observation",
        "include_cvel_in_observation",
        "include_qfrc_actuator_in_observation",
        "include_cfrc_ext_in_observation",
    ],
    observe: |state, row| observe(state, row, 1, 6),
    judge: |moment| {
        let (bonus, over) = moment.health(healthy(moment));
        let cost = effort(moment) + contact_cost(moment);
        (moment.terms().forward * moment.speed() + bonus - cost, over)
    },
    ..WALK_V4
};

pub(super) const STAND_V4: Definition = Definition {
    id: "HumanoidStandup-v4",
    model: "humanoidstandup.xml",
    options: &[],
    measure: |state| state.get(Array::Qpos)[2],
    judge: |moment| {
        let height = moment.after / moment.state.data.model().timestep();
        (height - effort(moment) - contact_cost(moment) + 1.0, false)
    },
    view: View {
        target: [0.4, 0.0, 0.6],
        ..WALK_V4.view
    },
    ..WALK_V4
};

pub(super) const STAND_V5: Definition = Definition {
    id: "HumanoidStandup-v5",
    options: &[
        "xml_file",
        "frame_skip",
        "uph_cost_weight",
        "ctrl_cost_weight",
        "impact_cost_weight",
        "impact_cost_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
        "include_cinert_in_observation",
        "include_cvel_in_observation",
        "include_qfrc_actuator_in_observation",
        "include_cfrc_ext_in_observation",
    ],
    observe: WALK_V5.observe,
    ..STAND_V4
};

/// Bodies from `body` on, and actuator forces from `freedom` on.
fn observe(state: &State<'_>, row: &mut Vec<f64>, body: usize, freedom: usize) {
    row.extend(state.positions(2));
    row.extend(state.get(Array::Qvel));
    let parts = [
        (state.terms.inertia, Array::Cinert, 10 * body),
        (state.terms.velocity, Array::Cvel, 6 * body),
        (state.terms.actuators, Array::QfrcActuator, freedom),
        (state.terms.external, Array::CfrcExt, 6 * body),
    ];
    for (included, array, first) in parts {
        if included {
            row.extend(&state.get(array)[first..]);
        }
    }
}

/// What the controls cost.
fn effort(moment: &Moment<'_>) -> f64 {
    moment.terms().control * sum(moment.get(Array::Ctrl), |x| x * x)
}

/// What external forces cost.
fn contact_cost(moment: &Moment<'_>) -> f64 {
    let [low, high] = moment.terms().contact_cost;
    (moment.terms().contact * sum(moment.get(Array::CfrcExt), |x| x * x)).clamp(low, high)
}

fn healthy(moment: &Moment<'_>) -> bool {
    inside(moment.terms().healthy_z, moment.get(Array::Qpos)[2])
}

fn observation(body: usize, freedom: usize) -> Arc<[Entry]> {
    let shifts = ["the torso along x", "the torso along y", "the torso along z"];
    let turns = ["the torso around x", "the torso around y", "the torso around z"];
    let freedoms: Vec<&str> = shifts.iter().chain(&turns).chain(&JOINTS).copied().collect();
    Table::new()
        .named(&["height of the torso"])
        .grid("orientation", &["w", "x", "y", "z"], &["the torso"])
        .each("angle", &JOINTS)
        .each("velocity", &freedoms)
        .grid("inertia", &INERTIA, &BODIES[body..])
        .grid("velocity", &TURN_AND_SHIFT, &BODIES[body..])
        .each("actuator force", &freedoms[freedom..])
        .grid("external force", &TURN_AND_SHIFT, &BODIES[body..])
        .entries()
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let mut motors = JOINTS;
    motors.swap(0, 1);
    let (four, five) = (observation(0, 0), observation(1, 6));
    let walk = TaskSpec {
        summary: "Make a human-like body walk forward without falling.".into(),
        observation: five,
        action: Table::new().within("torque", &motors, 0.4).entries(),
        reward: "5 while it stands + 1.25 forward speed - 0.1 |action|^2 - 5e-7 |external forces|^2 (at most 10)."
            .into(),
        max_episode_steps: 1000,
        ..WALK_V5.task()
    };
    let stand = TaskSpec {
        summary: "Make a human-like body that lies on its back stand up.".into(),
        reward: "1 + height / 0.003 - 0.1 |action|^2 - 5e-7 |external forces|^2 (at most 10).".into(),
        ..STAND_V5.version_of(&walk)
    };
    vec![
        TaskSpec {
            observation: four.clone(),
            reward: "5 + 1.25 forward speed - 0.1 |action|^2, until it falls.".into(),
            ..WALK_V4.version_of(&walk)
        },
        TaskSpec {
            observation: four,
            ..STAND_V4.version_of(&stand)
        },
        walk,
        stand,
    ]
}
