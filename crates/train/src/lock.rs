//! One process at a time trains in a run directory.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::directory::unusable;
use crate::outcome::RunError;

/// Whoever asks whether somebody trains holds the lock for a moment, so one refusal is not believed.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// Takes the directory for this process; the system lets go of it however the process ends.
pub(crate) fn lock(directory: &Path) -> Result<File, RunError> {
    let file = File::open(directory).map_err(|error| unusable(directory, &error))?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => sleep(BETWEEN_TRIES),
            // A file system without locks must not keep anybody from training.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(RunError::Taken(directory.to_path_buf()))
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_training(directory: &Path) -> bool {
    let probe = File::open(directory).map(|file| file.try_lock_shared());
    matches!(probe, Ok(Err(TryLockError::WouldBlock)))
}
