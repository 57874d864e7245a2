//! What all kinds of runs do with their directory: take it, clear it, open it to go on, and refuse what does not fit.
//!
//! A directory is the program's own where its [`Marker`] lies. Anything else that is not empty is somebody's, and is
//! refused whatever the user says.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use epgt_settings::SettingError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::best::{self, Head};
use crate::lock::lock;
use crate::marker::{Holds, MARKER, Marker};
use crate::observer::{Observer, WrittenCheckpoint};
use crate::outcome::{Progress, RunError, RunResult};
use crate::policy_file::EncodedPolicy;
use crate::population::{MEMBERS, POPULATION};
use crate::run::{BEST_POLICY, CHECKPOINT, CONFIG, LAST_POLICY, RESULT};
use crate::run_loop::watched;
use crate::{Assignment, Config, ConfigError, Device, Registry, SetupError, artifact, logs};

/// Why a directory cannot be used for a run.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// use epgt_train::{DirectoryError, Run, RunError};
/// let error = Run::resume(place.path()).err();
/// assert!(matches!(error, Some(RunError::Directory(DirectoryError::NotARun(_)))));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectoryError {
    /// It holds a run, and is not to be replaced.
    HoldsRun(PathBuf),
    /// It holds the runs of several seeds, where one run was to be made.
    HoldsSeeds(PathBuf),
    /// It holds one run, where those of several seeds were to be made.
    HoldsSingleRun(PathBuf),
    /// It holds the runs of several seeds, and they are not to be replaced.
    HoldsEarlierSeeds(PathBuf),
    /// It holds somebody else's files.
    Foreign {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        file: String,
    },
    /// It has no marker, so another version of the program has made it.
    NoMarker(PathBuf),
    /// It holds no run.
    NotARun(PathBuf),
    /// The system does not let it, or something in it, be used.
    Unusable {
        /// The directory or file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldsRun(path) => write!(
                f,
                "{} already holds a run; resume it with --resume, choose another --out, or replace it with --force",
                path.display()
            ),
            Self::HoldsSeeds(path) => write!(
                f,
                "{} holds the runs of several seeds; resume them with --resume, or choose another --out",
                path.display()
            ),
            Self::HoldsSingleRun(path) => write!(f, "{} holds a single run; choose another --out", path.display()),
            Self::HoldsEarlierSeeds(path) => write!(
                f,
                "{} already holds the runs of several seeds; resume them with --resume, choose another --out, or replace \
                 them with --force",
                path.display()
            ),
            Self::Foreign { path, file } => write!(
                f,
                "{} holds files that this program did not make ({file}); choose another --out, an empty directory or a new \
                 one",
                path.display()
            ),
            Self::NoMarker(path) => write!(
                f,
                "{} has no {MARKER}, so it was made by an earlier version of this program or by another; use that one to go on",
                path.display()
            ),
            Self::NotARun(path) => write!(f, "{} is not a run directory: it has no {CONFIG}", path.display()),
            Self::Unusable { path, reason } => write!(f, "cannot use {}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for DirectoryError {}

/// Refuses a directory that a new run cannot have: one that is somebody else's, and without `force` one that holds a
/// run.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// use epgt_train::refuse_taken;
/// assert!(refuse_taken(&place.path().join("new"), false).is_ok());
/// std::fs::write(place.path().join("thesis.tex"), "years of work")?;
/// let refusal = refuse_taken(place.path(), true).unwrap_err().to_string();
/// assert!(refusal.contains("holds files that this program did not make"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn refuse_taken(directory: &Path, force: bool) -> Result<(), RunError> {
    match Marker::read(directory)? {
        Some(Marker {
            holds: Holds::Seeds, ..
        }) => Err(DirectoryError::HoldsSeeds(directory.to_path_buf()).into()),
        Some(_) if force => Ok(()),
        Some(_) => Err(DirectoryError::HoldsRun(directory.to_path_buf()).into()),
        None => refuse_foreign(directory),
    }
}

/// Refuses a directory without a marker that is not empty.
pub(crate) fn refuse_foreign(directory: &Path) -> Result<(), RunError> {
    match somebodys_file(directory)? {
        None => Ok(()),
        Some(file) => Err(DirectoryError::Foreign {
            path: directory.to_path_buf(),
            file,
        }
        .into()),
    }
}

/// A file in a directory without a marker. What a killed process may have left of a marker is nobody's.
fn somebodys_file(directory: &Path) -> Result<Option<String>, RunError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(directory, &error)),
    };
    for entry in entries {
        let name = entry.map_err(|error| unusable(directory, &error))?.file_name();
        if name.to_str() != Some(&artifact::temporary_name(MARKER)) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Makes the directory of a new run and takes it for this process.
pub(crate) fn take(directory: &Path, force: bool) -> Result<File, RunError> {
    refuse_taken(directory, force)?;
    fs::create_dir_all(directory).map_err(|error| unusable(directory, &error))?;
    let lock = lock(directory)?;
    // Another process may have begun here before this one had the lock.
    refuse_taken(directory, force)?;
    Ok(lock)
}

/// Makes a directory that this process has taken the place of a run with this configuration: what an earlier run has
/// left goes, then the marker is written, then the configuration. Stopped anywhere in between, it is a run that starts
/// over.
pub(crate) fn begin(directory: &Path, config_text: &str, history: Option<Marker>) -> Result<(), RunError> {
    let mut marker = Marker::new(Holds::Run, config_text, Vec::new());
    if let Some(mut earlier) = history {
        earlier.history.append(&mut marker.history);
        marker.history = earlier.history;
        // A changed configuration must not be lost between clearing and writing.
        marker.write(directory)?;
    }
    clear(directory)?;
    marker.write(directory)?;
    Ok(artifact::write_atomically(
        directory.join(CONFIG),
        config_text.as_bytes(),
    )?)
}

/// Removes what a run of either kind has left in a directory, but for its marker; other files stay, wherever they are.
fn clear(directory: &Path) -> Result<(), RunError> {
    // The checkpoint first: without it nobody goes on with the rest.
    let own = [CHECKPOINT, RESULT, CONFIG, BEST_POLICY, LAST_POLICY, POPULATION];
    for name in own.iter().chain(&logs::FILES) {
        remove(&directory.join(name))?;
        remove(&directory.join(artifact::temporary_name(name)))?;
    }
    let members = directory.join(MEMBERS);
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_directory(&members) {
        return Ok(());
    }
    let entries = fs::read_dir(&members).map_err(|error| unusable(directory, &error))?;
    for member in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let numbered = member
            .file_name()
            .is_some_and(|name| name.to_string_lossy().parse::<usize>().is_ok());
        if numbered && is_directory(&member) {
            for name in logs::FILES {
                remove(&member.join(name))?;
            }
            // A directory that somebody has put something into stays with it.
            let _ = fs::remove_dir(&member);
        }
    }
    let _ = fs::remove_dir(&members);
    Ok(())
}

/// Removes a run, and its directory where nothing else is in it. What holds no run is left alone.
pub(crate) fn discard(directory: &Path) -> Result<(), RunError> {
    let Some(Marker { holds: Holds::Run, .. }) = Marker::read(directory)? else {
        return Ok(());
    };
    let _lock = lock(directory)?;
    clear(directory)?;
    remove(&directory.join(MARKER))?;
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(path, &error)),
        _ => Ok(()),
    }
}

/// What a run is resumed with instead of what its configuration says.
///
/// ```
/// let longer = epgt_train::ResumeWith { steps: Some(2_000_000), ..Default::default() };
/// assert_eq!(longer.device, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResumeWith {
    /// The processor of the networks; a checkpoint is the same on all.
    pub device: Option<Device>,
    /// The steps of the whole run.
    pub steps: Option<u64>,
    /// Other values of hyperparameters of the method, which hold from here on: for whoever schedules from outside, such
    /// as a population that meets elsewhere.
    pub values: Vec<(String, f64)>,
    /// What its configuration can name.
    pub registry: Arc<Registry>,
}

/// The directory of a run of either kind, taken by this process.
pub(crate) struct RunDirectory {
    path: PathBuf,
    config_text: String,
    /// The best policy's file.
    best: Option<EncodedPolicy>,
    /// Held as long as the run is open, so that no second process trains in the same directory.
    _lock: File,
}

impl RunDirectory {
    /// The directory of a new run.
    pub fn create(path: &Path, config: &Config, force: bool) -> Result<Self, RunError> {
        let lock = take(path, force)?;
        let config_text = config.to_toml();
        begin(path, &config_text, None)?;
        Ok(Self {
            path: path.to_path_buf(),
            config_text,
            best: None,
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The result of a run that has finished.
    pub fn earlier_result(&self) -> Option<RunResult> {
        earlier_result(&self.path)
    }

    /// Writes a policy as the best.
    pub fn keep_best(&mut self, policy: EncodedPolicy) -> Result<(), RunError> {
        artifact::write_atomically(self.path.join(BEST_POLICY), &policy.bytes)?;
        self.best = Some(policy);
        Ok(())
    }

    /// The digest of the best policy, if one was kept.
    pub fn best_digest(&self) -> Option<String> {
        self.best.as_ref().map(|policy| policy.digest.clone())
    }

    /// What every checkpoint begins with.
    pub fn head(&self) -> Head<'_> {
        Head {
            config: Cow::Borrowed(&self.config_text),
            best: Cow::Borrowed(&self.best),
        }
    }

    /// Writes the latest policy and a checkpoint that was made after `steps` steps.
    pub fn save(
        &self,
        steps: u64,
        policy: &EncodedPolicy,
        checkpoint: &impl Serialize,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        artifact::write_atomically(self.path.join(LAST_POLICY), &policy.bytes)?;
        let payload = postcard::to_stdvec(checkpoint).map_err(|error| RunError::Unwritable(error.to_string()))?;
        artifact::write_atomically(self.path.join(CHECKPOINT), &artifact::seal(payload))?;
        observer.checkpoint(&WrittenCheckpoint {
            directory: &self.path,
            steps,
            policy_sha256: &policy.digest,
        })
    }

    /// Ends a run whose last checkpoint and progress are told: plays the best policy where `plays_best`, and writes the
    /// summary, which `result` makes of the policy's score. `None` where `stop` was set before that was done.
    pub fn finish(
        &self,
        config: &Config,
        plays_best: bool,
        mut progress: Progress,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
        result: impl FnOnce(Option<f64>) -> RunResult,
    ) -> Result<Option<RunResult>, RunError> {
        let mut final_score = None;
        if plays_best {
            progress.notes.clear();
            let mut watch = watched(progress, config.run.final_episodes, stop, observer);
            match best::play_best(config, &self.path, &mut watch)? {
                None => return Ok(None),
                Some(evaluation) => final_score = Some(evaluation.mean_return()),
            }
        }
        let result = result(final_score);
        let text = serde_json::to_string_pretty(&result).map_err(|error| RunError::Unwritable(error.to_string()))?;
        artifact::write_atomically(self.path.join(RESULT), text.as_bytes())?;
        Ok(Some(result))
    }
}

/// The result of a run that has finished.
pub(crate) fn earlier_result(directory: &Path) -> Option<RunResult> {
    let text = fs::read(directory.join(RESULT)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A run's directory that this process has taken to go on there.
pub(crate) struct Opened {
    pub config: Config,
    /// The configuration that its checkpoint was made with, but for the steps: without the other values.
    pub before: Config,
    /// The other values of hyperparameters that hold from here on.
    pub values: Vec<(String, f64)>,
    directory: PathBuf,
    config_text: String,
    lock: File,
    marker: Marker,
}

/// Takes a run's directory to go on there.
pub(crate) fn open(directory: &Path, with: ResumeWith) -> Result<Opened, RunError> {
    let (mut config, mut config_text) = read_config(directory, &with.registry)?;
    let lock = lock(directory)?;
    let Some(marker) = Marker::read(directory)? else {
        return Err(DirectoryError::NoMarker(directory.to_path_buf()).into());
    };
    if let Some(steps) = with.steps {
        let mut said = Config::read_stored(&config_text)?;
        said.push(Assignment::new("steps", steps));
        config = Config::build_in(&with.registry, &said)?;
        config_text = config.to_toml();
    }
    config.run.device = with.device.unwrap_or(config.run.device);
    let before = config.clone();
    if !with.values.is_empty() {
        refuse_values(&config, &with.values)?;
        let mut said = Config::read_stored(&config_text)?;
        said.extend(in_section(&config, &with.values));
        config = Config::build_in(&with.registry, &said)?;
        config_text = config.to_toml();
        config.run.device = before.run.device;
    }
    Ok(Opened {
        config,
        before,
        values: with.values,
        directory: directory.to_path_buf(),
        config_text,
        lock,
        marker,
    })
}

/// Refuses values that cannot be set from outside: of what is no hyperparameter of the method, of one that decides
/// nothing, or of one that a scheduler sets.
fn refuse_values(config: &Config, values: &[(String, f64)]) -> Result<(), ConfigError> {
    let refused = |name: &str, value: f64, wants: &str| SettingError::value(name, value.to_string(), wants).into();
    for (name, value) in values {
        config.method.index(name)?;
        if config.scheduler.population().is_some() {
            return Err(refused(
                name,
                *value,
                "the members of a population set their own values",
            ));
        }
        let is_kept = config.run.scheduler.name() == "fixed";
        if !is_kept && config.tune.iter().any(|(tuned, _)| tuned == name) {
            return Err(refused(
                name,
                *value,
                "the run schedules it itself; leave it out of what is tuned",
            ));
        }
        if config.method.idle().contains(&name.as_str()) {
            return Err(refused(name, *value, "it decides nothing with the run's step_control"));
        }
    }
    Ok(())
}

fn in_section(config: &Config, values: &[(String, f64)]) -> Vec<Assignment> {
    let section = config.run.algo.name();
    let assigned = |(name, value): &(String, f64)| Assignment::new(format!("{section}.{name}"), value);
    values.iter().map(assigned).collect()
}

impl Opened {
    /// The run's checkpoint; `None` where the run was stopped before the first and begins anew.
    pub fn checkpoint<C: DeserializeOwned>(&self) -> Result<Option<C>, RunError> {
        if !has_checkpoint(&self.directory)? {
            return Ok(None);
        }
        let path = self.directory.join(CHECKPOINT);
        let payload = artifact::open(&path)?;
        let checkpoint = postcard::from_bytes(&payload).map_err(|_| RunError::OtherVersion(path))?;
        Ok(Some(checkpoint))
    }

    /// Why the checkpoint does not belong to this run.
    pub fn misfit(&self, problem: SetupError) -> RunError {
        RunError::Misfit {
            path: self.directory.join(CHECKPOINT),
            problem: Box::new(problem),
        }
    }

    /// Refuses a checkpoint of another configuration; only the run's steps may differ, as they do where it is made
    /// longer, and the values that were said.
    pub fn check_fits(&self, config_of_checkpoint: &str) -> Result<(), RunError> {
        let completed = || {
            let mut said = Config::read_stored(config_of_checkpoint)?;
            said.extend(in_section(&self.config, &self.values));
            Config::build_in(&self.config.registry, &said).map(|config| config.to_toml())
        };
        // A checkpoint of an older program says less than a configuration that was written anew to be longer.
        let same = |text: &str| without_steps(text) == without_steps(&self.config_text);
        match same(config_of_checkpoint) || completed().is_ok_and(|text| same(&text)) {
            true => Ok(()),
            false => Err(RunError::ConfigChanged(self.directory.join(CONFIG))),
        }
    }

    /// Refuses to go on to fewer steps than are done.
    pub fn check_steps(&self, done: u64) -> Result<(), RunError> {
        let steps = self.config.run.steps;
        match steps < done {
            false => Ok(()),
            true => {
                let wants = format!("{done} steps are done already; say more than that to go on");
                Err(ConfigError::from(SettingError::value("steps", steps.to_string(), wants)).into())
            }
        }
    }

    /// Begins the run again in its directory.
    pub fn begin_anew(self) -> Result<(Config, RunDirectory), RunError> {
        begin(&self.directory, &self.config_text, Some(self.marker))?;
        let directory = RunDirectory {
            path: self.directory,
            config_text: self.config_text,
            best: None,
            _lock: self.lock,
        };
        Ok((self.config, directory))
    }

    /// Goes on from a checkpoint: restores the best policy's file, and notes that this process goes on, with the
    /// configuration that holds from now on. A sentence is returned where the file had been lost or damaged.
    pub fn go_on(mut self, head: Head<'_>, is_finished: bool) -> Result<(RunDirectory, Option<String>), RunError> {
        let best = head.best.into_owned();
        let restored = best::restore(&self.directory, best.as_ref())?;
        let path = self.directory.join(CONFIG);
        if fs::read_to_string(&path).ok().as_deref() != Some(&self.config_text) {
            artifact::write_atomically(&path, self.config_text.as_bytes())?;
        }
        if !is_finished {
            // The result of a run that has been made longer is no longer its result.
            remove(&self.directory.join(RESULT))?;
            self.marker.history.push(crate::Provenance::now());
            self.marker.write(&self.directory)?;
        }
        let directory = RunDirectory {
            path: self.directory,
            config_text: self.config_text,
            best,
            _lock: self.lock,
        };
        Ok((directory, restored))
    }
}

/// A configuration without its steps, which stand among the run's own settings, above all sections.
fn without_steps(config_text: &str) -> Vec<&str> {
    let mut own = true;
    let mut kept = Vec::new();
    for line in config_text.lines() {
        own &= !line.starts_with('[');
        if !(own && line.starts_with("steps = ")) {
            kept.push(line);
        }
    }
    kept
}

/// The text of a run's configuration; a run that was stopped before it was written has it in its marker. `None` where
/// there is no run.
///
/// ```
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// use epgt_train::{Assignment, Config, claim, config_text};
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1")])?;
/// assert_eq!(config_text(&directory).unwrap(), None);
/// claim(&directory, &config).unwrap();
/// let text = config_text(&directory).unwrap().unwrap();
/// assert_eq!(Config::build(&Config::read_stored(&text)?)?, config);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn config_text(directory: &Path) -> Result<Option<String>, RunError> {
    let path = directory.join(CONFIG);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let marker = Marker::read(directory)?.filter(|marker| marker.holds == Holds::Run);
            Ok(marker.map(|marker| marker.config))
        }
        Err(error) => Err(artifact::ArtifactError::unreadable(&path, &error).into()),
    }
}

/// Makes a directory the place of a run that is yet to begin; it does when it is resumed.
pub fn claim(directory: &Path, config: &Config) -> Result<(), RunError> {
    let _lock = take(directory, false)?;
    Marker::new(Holds::Run, &config.to_toml(), Vec::new()).write(directory)
}

/// The configuration in a run directory, and its text.
pub(crate) fn read_config(directory: &Path, registry: &Arc<Registry>) -> Result<(Config, String), RunError> {
    let text = config_text(directory)?.ok_or_else(|| DirectoryError::NotARun(directory.to_path_buf()))?;
    let config = Config::read_stored(&text)
        .and_then(|assignments| Config::build_in(registry, &assignments))
        .map_err(|error| RunError::ConfigFile {
            path: directory.join(CONFIG),
            error: Box::new(error),
        })?;
    // A marker's text has no comments; the file that is written from it has.
    match directory.join(CONFIG).exists() {
        true => Ok((config, text)),
        false => Ok((config.clone(), config.to_toml())),
    }
}

/// Whether there is a checkpoint to go on from; where not, the run has to begin anew.
fn has_checkpoint(directory: &Path) -> Result<bool, RunError> {
    match (directory.join(CHECKPOINT).exists(), directory.join(RESULT).exists()) {
        (false, true) => Err(RunError::NoCheckpoint(directory.to_path_buf())),
        (exists, _) => Ok(exists),
    }
}

/// Why a directory cannot be used.
pub(crate) fn unusable(directory: &Path, error: &std::io::Error) -> RunError {
    let path = directory.to_path_buf();
    let reason = artifact::reason(error);
    DirectoryError::Unusable { path, reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_from_before_steps_could_be_measured_goes_on_with_rates() {
        let place = tempfile::tempdir().unwrap();
        let said = [("task", "CartPole-v1"), ("tune.gamma", "0.9:0.99")];
        let config = Config::build(&said.map(|(key, value)| Assignment::new(key, value))).unwrap();
        assert!(config.method.idle().contains(&"learning_rate"));
        claim(place.path(), &config).unwrap();
        let older: String = config
            .to_toml()
            .lines()
            .filter(|line| !line.contains("step_control"))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(place.path().join(CONFIG), older).unwrap();
        let (config, _) = read_config(place.path(), &Registry::builtin()).unwrap();
        assert!(!config.method.idle().contains(&"learning_rate"));
    }

    #[test]
    fn only_the_runs_own_steps_may_differ() {
        let text = "# Steps.\nsteps = 5\nseed = 1\n[ppo]\nsteps = 7\n";
        assert_eq!(
            without_steps(text),
            without_steps(&text.replace("steps = 5", "steps = 6"))
        );
        assert_ne!(
            without_steps(text),
            without_steps(&text.replace("steps = 7", "steps = 6"))
        );
        assert_ne!(
            without_steps(text),
            without_steps(&text.replace("seed = 1", "seed = 2"))
        );
    }
}
