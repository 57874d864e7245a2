//! `Humanoid` walks without falling; `HumanoidStandup` lies on its back and gets up. Both observe the whole body.
//!
//! Version 4 observes the world as one of the bodies, and the forces of joints that have no motor: numbers that are
//! always zero. Version 5 leaves them out, and charges the walker for external forces. The model in a lying position is
//! another file, but has the same joints and bodies.

use super::env::{Definition, Moment, MujocoEnv, Reset, State};
use super::library::Array;
use super::numpy::sum;
use super::picture::View;
use super::tables::{INERTIA, TURN_AND_SHIFT, Table};
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
    frame_skip: 5,
    forces: true,
    bodies: &[],
    reset: Reset::Uniform(1e-2),
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
    judge: |moment| (1.25 * moment.speed() + 5.0 - effort(moment), !healthy(moment)),
    view: View::side(1.0, [2.4, 1.35]),
};

pub(super) const WALK_V5: Definition = Definition {
    id: "Humanoid-v5",
    observe: |state, row| observe(state, row, 1, 6),
    judge: |moment| {
        let bonus = if healthy(moment) { 5.0 } else { 0.0 };
        let contact = (5e-7 * sum(moment.get(Array::CfrcExt), |x| x * x)).min(10.0);
        (
            1.25 * moment.speed() + bonus - (effort(moment) + contact),
            !healthy(moment),
        )
    },
    ..WALK_V4
};

pub(super) const STAND_V4: Definition = Definition {
    id: "HumanoidStandup-v4",
    model: "humanoidstandup.xml",
    measure: |state| state.get(Array::Qpos)[2],
    judge: |moment| {
        let height = moment.after / moment.state.data.model().timestep();
        let impact = (0.5e-6 * sum(moment.get(Array::CfrcExt), |x| x * x)).min(10.0);
        (height - effort(moment) - impact + 1.0, false)
    },
    ..WALK_V4
};

pub(super) const STAND_V5: Definition = Definition {
    id: "HumanoidStandup-v5",
    observe: WALK_V5.observe,
    ..STAND_V4
};

/// Bodies from `body` on, and actuator forces from `freedom` on.
fn observe(state: &State<'_>, row: &mut Vec<f64>, body: usize, freedom: usize) {
    row.extend(&state.get(Array::Qpos)[2..]);
    row.extend(state.get(Array::Qvel));
    row.extend(&state.get(Array::Cinert)[10 * body..]);
    row.extend(&state.get(Array::Cvel)[6 * body..]);
    row.extend(&state.get(Array::QfrcActuator)[freedom..]);
    row.extend(&state.get(Array::CfrcExt)[6 * body..]);
}

/// What the controls cost.
fn effort(moment: &Moment<'_>) -> f64 {
    0.1 * sum(moment.get(Array::Ctrl), |x| x * x)
}

fn healthy(moment: &Moment<'_>) -> bool {
    let height = moment.get(Array::Qpos)[2];
    1.0 < height && height < 2.0
}

fn observation(body: usize, freedom: usize) -> &'static [Entry] {
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
        .keep()
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let mut motors = JOINTS;
    motors.swap(0, 1);
    let (four, five) = (observation(0, 0), observation(1, 6));
    let walk = TaskSpec {
        id: WALK_V5.id,
        summary: "Make a human-like body walk forward without falling.",
        observation: five,
        action: Table::new().within("torque", &motors, 0.4).keep(),
        reward: "5 while it stands + 1.25 forward speed - 0.1 |action|^2 - 5e-7 |external forces|^2 (at most 10).",
        max_episode_steps: 1000,
        reward_threshold: None,
        make: || Ok(Box::new(MujocoEnv::open("Humanoid-v5")?)),
    };
    let stand = TaskSpec {
        id: STAND_V5.id,
        summary: "Make a human-like body that lies on its back stand up.",
        reward: "1 + height / 0.003 - 0.1 |action|^2 - 5e-7 |external forces|^2 (at most 10).",
        make: || Ok(Box::new(MujocoEnv::open("HumanoidStandup-v5")?)),
        ..walk.clone()
    };
    vec![
        TaskSpec {
            id: WALK_V4.id,
            observation: four,
            reward: "5 + 1.25 forward speed - 0.1 |action|^2, until it falls.",
            make: || Ok(Box::new(MujocoEnv::open("Humanoid-v4")?)),
            ..walk.clone()
        },
        TaskSpec {
            id: STAND_V4.id,
            observation: four,
            make: || Ok(Box::new(MujocoEnv::open("HumanoidStandup-v4")?)),
            ..stand.clone()
        },
        walk,
        stand,
    ]
}
