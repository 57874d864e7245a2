//! What all kinds of runs do with their directory: take it, clear it, read its configuration, and refuse what does not fit.

use std::fs::{self, File};
use std::path::Path;

use crate::lock::lock;
use crate::outcome::RunError;
use crate::population::{MEMBERS, POPULATION};
use crate::run::{BEST_POLICY, CHECKPOINT, CONFIG, LAST_POLICY, RESULT, Run};
use crate::{Config, artifact, logs};

/// Makes the directory of a new run and takes it for this process. One that holds a run is refused without `force`.
pub(crate) fn take(directory: &Path, force: bool) -> Result<File, RunError> {
    if !force {
        Run::refuse_taken(directory)?;
    }
    fs::create_dir_all(directory).map_err(|error| unusable(directory, &error))?;
    let lock = lock(directory)?;
    if !force {
        // Another process may have made its run here before this one had the lock.
        Run::refuse_taken(directory)?;
    }
    Ok(lock)
}

/// Removes what a run of either kind has left in a directory, but for its configuration.
pub(crate) fn clear(directory: &Path) -> Result<(), RunError> {
    let own = [BEST_POLICY, LAST_POLICY, CHECKPOINT, RESULT, POPULATION];
    let files = own.iter().chain(&logs::FILES);
    let removals = files.map(|name| fs::remove_file(directory.join(name)));
    for removal in removals.chain([fs::remove_dir_all(directory.join(MEMBERS))]) {
        match removal {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unusable(directory, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// The configuration in a run directory, and its text.
pub(crate) fn read_config(directory: &Path) -> Result<(Config, String), RunError> {
    let path = directory.join(CONFIG);
    let text = fs::read_to_string(&path).map_err(|error| {
        RunError(format!(
            "{} is not a run directory: cannot read {CONFIG}: {}",
            directory.display(),
            artifact::reason(&error)
        ))
    })?;
    let config = Config::read_toml(&text)
        .and_then(|assignments| Config::build(&assignments))
        .map_err(|error| RunError(format!("{}: {error}", path.display())))?;
    Ok((config, text))
}

/// Whether there is a checkpoint to go on from; where not, the run has to begin anew.
pub(crate) fn has_checkpoint(directory: &Path) -> Result<bool, RunError> {
    match (directory.join(CHECKPOINT).exists(), directory.join(RESULT).exists()) {
        (false, true) => Err(RunError(format!(
            "{} holds a finished run whose {CHECKPOINT} is missing; there is nothing to go on from",
            directory.display()
        ))),
        (exists, _) => Ok(exists),
    }
}

/// Why a checkpoint cannot be read.
pub(crate) fn of_another_version(path: &Path) -> RunError {
    RunError(format!(
        "{} was written by another version of this program",
        path.display()
    ))
}

/// Why a checkpoint is not gone on from.
pub(crate) fn config_has_changed(directory: &Path) -> RunError {
    RunError(format!(
        "{} has changed since the checkpoint was written; restore it, or start a new run with it by --config",
        directory.join(CONFIG).display()
    ))
}

/// Why a directory cannot be used.
pub(crate) fn unusable(directory: &Path, error: &std::io::Error) -> RunError {
    RunError(format!(
        "cannot use {}: {}",
        directory.display(),
        artifact::reason(error)
    ))
}
