//! What a run's episodic memory holds, read from its checkpoint without setting up the task: for pictures of it.

use std::path::Path;

use crate::artifact;
use crate::directory::of_another_version;
use crate::outcome::RunError;
use crate::run::{CHECKPOINT, Checkpoint};

/// The tuples of an episodic memory; where values are factored, those of the first hyperparameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// Numbers in a key.
    pub key_dim: usize,
    /// The keys, one after another.
    pub keys: Vec<f32>,
    /// The stored value of each.
    pub values: Vec<f32>,
    /// The option that each is of.
    pub actions: Vec<usize>,
    /// The policy update at which each was lived.
    pub origins: Vec<u64>,
}

/// Reads the memory from a run's checkpoint; `None` for a scheduler that has none.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, remembered};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// let settings = [("task", "CartPole-v1"), ("steps", "4000"), ("scheduler", "epgt")];
/// let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value)))?;
/// Run::create(config, &directory, false).unwrap().train(&Default::default(), &mut ()).unwrap();
/// let memory = remembered(&directory).unwrap().unwrap();
/// assert_eq!(memory.keys.len(), memory.key_dim * memory.values.len());
/// # Ok::<(), String>(())
/// ```
pub fn remembered(directory: &Path) -> Result<Option<Remembered>, RunError> {
    let path = directory.join(CHECKPOINT);
    let payload = artifact::open(&path)?;
    let checkpoint: Checkpoint<'_> = postcard::from_bytes(&payload).map_err(|_| of_another_version(&path))?;
    let Some(memory) = checkpoint.trainer.hyper.memory() else {
        return Ok(None);
    };
    let mut remembered = Remembered::default();
    for (key, action, value, origin) in memory.tuples() {
        remembered.key_dim = key.len();
        remembered.keys.extend(key);
        remembered.values.push(value);
        remembered.actions.push(action);
        remembered.origins.push(origin);
    }
    Ok(Some(remembered))
}
