//! MuJoCo's tasks, step for step as in Gymnasium 1.4 on MuJoCo 4.0.
//!
//! The simulator is loaded at run time, so that the program builds and runs its other tasks without it; where it is
//! looked for is told in [`installation`]. Each task is a small definition on a shared core: the model, how an episode
//! begins, what is observed, what is rewarded. The same library steps the same models with the same seeds, so
//! observations in double precision are Gymnasium's, and a task's `f32` row is that rounded once.

mod ant;
mod env;
mod half_cheetah;
mod hopper;
mod humanoid;
mod layout;
mod library;
mod locate;
mod model_file;
mod numpy;
mod pendulums;
mod picture;
mod planar;
mod pusher;
mod reacher;
mod swimmer;
mod tables;
mod terms;
mod walker2d;

pub use env::MujocoEnv;
pub use library::{Array, Data, Geom, Library, Model, Sizes};
pub use locate::{GYMNASIUM_VERSION, Installation, MUJOCO_VERSION, cache_directory, installation};

use crate::{EnvError, TaskSpec};
use env::Definition;

const DEFINITIONS: [&Definition; 21] = [
    &ant::V4,
    &ant::V5,
    &half_cheetah::V4,
    &half_cheetah::V5,
    &hopper::V4,
    &hopper::V5,
    &humanoid::STAND_V4,
    &humanoid::STAND_V5,
    &humanoid::WALK_V4,
    &humanoid::WALK_V5,
    &pendulums::DOUBLE_V4,
    &pendulums::DOUBLE_V5,
    &pendulums::SINGLE_V4,
    &pendulums::SINGLE_V5,
    &pusher::V5,
    &reacher::V4,
    &reacher::V5,
    &swimmer::V4,
    &swimmer::V5,
    &walker2d::V4,
    &walker2d::V5,
];

/// The definition of a task.
fn definition(id: &str) -> Result<&'static Definition, EnvError> {
    let found = DEFINITIONS.into_iter().find(|definition| definition.id == id);
    found.ok_or_else(|| {
        let ids: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.id).collect();
        EnvError::UnknownTask(epgt_settings::unknown("MuJoCo task", id, &ids))
    })
}

/// The entries of the registry.
pub(crate) fn tasks() -> Vec<TaskSpec> {
    [
        ant::tasks,
        half_cheetah::tasks,
        hopper::tasks,
        humanoid::tasks,
        pendulums::tasks,
        pusher::tasks,
        reacher::tasks,
        swimmer::tasks,
        walker2d::tasks,
    ]
    .into_iter()
    .flat_map(|family| family())
    .collect()
}
