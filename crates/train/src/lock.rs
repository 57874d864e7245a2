//! One process at a time trains in a run directory.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::artifact;
use crate::outcome::RunError;

/// Why a directory that another process trains in is refused.
const TAKEN: &str = "another process is training there; wait for it or stop it";

impl RunError {
    /// Whether it was another process that stood in the way, which will be gone some day.
    pub fn is_taken(&self) -> bool {
        self.0.ends_with(TAKEN)
    }
}

/// Takes the directory for this process; the system lets go of it however the process ends.
pub(crate) fn lock(directory: &Path) -> Result<File, RunError> {
    let cannot = |reason: &str| RunError(format!("cannot use {}: {reason}", directory.display()));
    let file = File::open(directory).map_err(|error| cannot(&artifact::reason(&error)))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(cannot(TAKEN)),
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
