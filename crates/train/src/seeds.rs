//! Runs that differ in nothing but their seed, together in one directory: `seed-0`, `seed-1`, ...

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::{DirectoryError, discard, refuse_foreign, unusable};
use crate::lock::lock;
use crate::marker::{Holds, Marker};
use crate::outcome::RunError;
use crate::{Assignment, Config, Registry, ResumeWith, Training};

/// One of several runs that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedRun {
    /// Where it is.
    pub directory: PathBuf,
    /// Its configuration, the others' but for the seed.
    pub config: Config,
}

impl SeedRun {
    /// Goes on with it, or starts it where it was not reached.
    pub fn resume(&self, with: ResumeWith) -> Result<Training, RunError> {
        match Marker::read(&self.directory)? {
            Some(_) => Training::resume(&self.directory, with),
            None => {
                let mut said = Config::read_toml(&self.config.to_toml())?;
                said.extend(with.steps.map(|steps| Assignment::new("steps", steps)));
                let mut config = Config::build_in(&self.config.registry, &said)?;
                config.run.device = with.device.unwrap_or(config.run.device);
                Training::create(config, &self.directory, false)
            }
        }
    }
}

/// Makes a directory for the runs of `count` seeds, from the configuration's own on. With `force` it replaces runs that
/// were made so, and nothing else.
///
/// ```
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("three");
/// use epgt_train::{Assignment, Config, begin_seeds, seed_runs};
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("seed", 5)])?;
/// let runs = begin_seeds(&config, 3, &directory, false).unwrap();
/// assert_eq!(runs[2].directory, directory.join("seed-7"));
/// assert_eq!(seed_runs(&directory).unwrap(), Some(runs));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn begin_seeds(config: &Config, count: u64, directory: &Path, force: bool) -> Result<Vec<SeedRun>, RunError> {
    let earlier = Marker::read(directory)?;
    match &earlier {
        None => refuse_foreign(directory)?,
        Some(marker) if marker.holds == Holds::Run => {
            return Err(DirectoryError::HoldsSingleRun(directory.to_path_buf()).into());
        }
        Some(_) if !force => {
            return Err(DirectoryError::HoldsEarlierSeeds(directory.to_path_buf()).into());
        }
        Some(_) => {}
    }
    fs::create_dir_all(directory).map_err(|error| unusable(directory, &error))?;
    let _lock = lock(directory)?;
    for run in earlier.iter().flat_map(|marker| &marker.seeds) {
        discard(&seed_directory(directory, *run))?;
    }
    let first = config.run.seed;
    let seeds: Vec<u64> = (0..count).map(|offset| first.wrapping_add(offset)).collect();
    let marker = Marker::new(Holds::Seeds, &config.to_toml(), seeds);
    marker.write(directory)?;
    runs(directory, config, &marker)
}

/// The runs of a directory that holds several seeds; `None` for any other. Their configuration names the program's own.
pub fn seed_runs(directory: &Path) -> Result<Option<Vec<SeedRun>>, RunError> {
    seed_runs_in(directory, &Registry::builtin())
}

/// [`seed_runs`] whose configuration can name more.
pub fn seed_runs_in(directory: &Path, registry: &Arc<Registry>) -> Result<Option<Vec<SeedRun>>, RunError> {
    let marker = match Marker::read(directory)? {
        Some(marker) if marker.holds == Holds::Seeds => marker,
        _ => return Ok(None),
    };
    let config = Config::read_stored(&marker.config).and_then(|said| Config::build_in(registry, &said));
    let config = config.map_err(|error| RunError::ConfigFile {
        path: directory.to_path_buf(),
        error: Box::new(error),
    })?;
    runs(directory, &config, &marker).map(Some)
}

fn runs(directory: &Path, config: &Config, marker: &Marker) -> Result<Vec<SeedRun>, RunError> {
    let said = Config::read_toml(&config.to_toml())?;
    let run = |&seed: &u64| {
        let own: Vec<Assignment> = said.iter().cloned().chain([Assignment::new("seed", seed)]).collect();
        Ok(SeedRun {
            directory: seed_directory(directory, seed),
            config: Config::build_in(&config.registry, &own)?,
        })
    };
    marker.seeds.iter().map(run).collect()
}

fn seed_directory(directory: &Path, seed: u64) -> PathBuf {
    directory.join(format!("seed-{seed}"))
}
