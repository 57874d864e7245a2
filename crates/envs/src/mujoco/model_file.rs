//! Which model a task runs on: Gymnasium's, or one that the user names, if it can be used for the task.

use std::path::{Path, PathBuf};

use super::env::Definition;
use super::library::Model;
use crate::EnvError;

/// The file of a model: a path that begins with `.`, `/` or `~`, otherwise one of Gymnasium's models, as there.
pub(super) fn model_path(file: &str, models: &Path) -> PathBuf {
    match file.strip_prefix("~/").zip(std::env::var_os("HOME")) {
        Some((rest, home)) => Path::new(&home).join(rest),
        None if file.starts_with(['.', '/']) => PathBuf::from(file),
        None => models.join(file),
    }
}

/// Refuses a model that lacks what the task observes and rewards.
pub(super) fn check_model(definition: &Definition, file: &str, model: &Model) -> Result<(), EnvError> {
    let sizes = model.sizes();
    let found = [sizes.nq, sizes.nv, sizes.nu, sizes.nbody];
    let own = file == definition.model;
    let fits = match own || !definition.extensible {
        true => found == definition.sizes,
        // The functions of a task read the first few positions and velocities; all else goes by the model's sizes.
        false => found[0] >= 3 && found[1] >= 6.min(definition.sizes[1]) && found[2] >= 1 && found[3] >= 2,
    };
    match fits && sizes.nsite >= definition.sites {
        true => Ok(()),
        false if own => Err(EnvError::Simulator(format!(
            "the model {file} is not the one that {} was made with; get it with `epgt setup mujoco`",
            definition.id
        ))),
        false => Err(EnvError::InvalidOption(format!(
            "xml_file = {file} cannot be used for {}: its model has {}, where the task's own has {}",
            definition.id,
            described(found, sizes.nsite),
            described(definition.sizes, definition.sites),
        ))),
    }
}

fn described([nq, nv, nu, nbody]: [usize; 4], nsite: usize) -> String {
    format!("{nq} positions, {nv} velocities, {nu} controls, {nbody} bodies and {nsite} sites")
}

pub(super) fn no_body(file: &str, name: &str, id: &str) -> EnvError {
    EnvError::InvalidOption(format!(
        "the model {file} cannot be used for {id}: it has no body '{name}'"
    ))
}
