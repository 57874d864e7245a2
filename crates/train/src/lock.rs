//! One process at a time trains in a run directory.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::directory::unusable;
use crate::outcome::RunError;

/// Takes the directory for this process; the system lets go of it however the process ends.
pub(crate) fn lock(directory: &Path) -> Result<File, RunError> {
    let file = File::open(directory).map_err(|error| unusable(directory, &error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RunError::Taken(directory.to_path_buf())),
        // A file system without locks must not keep anybody from training.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Whether somebody trains in this directory right now.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, is_training};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// assert!(!is_training(&directory));
/// let run = Run::create(Config::build(&[Assignment::new("task", "CartPole-v1")])?, &directory, false).unwrap();
/// assert!(is_training(&directory));
/// drop(run);
/// assert!(!is_training(&directory));
/// # Ok::<(), String>(())
/// ```
pub fn is_training(directory: &Path) -> bool {
    let probe = File::open(directory).map(|file| file.try_lock_shared());
    matches!(probe, Ok(Err(TryLockError::WouldBlock)))
}
