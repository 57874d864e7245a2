//! A run's directory, read back: whoever looks at a run that was made before (a report, a comparison, an experiment, an
//! explanation) reads it here, as far as it has come.
//!
//! Settings are read as plain TOML and columns by name, so that runs of other versions of the program can be shown too.

mod decisions;
mod live;
mod population;
mod tail;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::artifact::{ArtifactError, reason};
use crate::logs::{DECISIONS, METRICS};
use crate::outcome::RunResult;
use crate::run::{CHECKPOINT, CONFIG, RESULT};
use crate::table::{CsvTable, read_csv};
use crate::{Assignment, Config, Registry, Scheduler};

pub use decisions::{Tried, read_decisions};
pub use live::{Live, State};
pub use population::{MemberEvent, read_members};
use tail::Stamp;
pub use tail::{Part, Tail};

/// The file in a run's directory that says why it stopped, where an experiment has written it down.
pub const FAILURE: &str = "failure.txt";

/// The column of `metrics.csv` that all others are over: environment steps.
pub const STEPS: &str = "time/total_timesteps";

/// Directories below each other that are searched at most: a link that leads back to itself must end somewhere.
const DEPTH: usize = 8;

/// One run as far as it has come.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, record::Record};
/// # let place = tempfile::tempdir()?;
/// # let directory = place.path().join("run");
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2048)])?;
/// Run::create(config, &directory, false)?.train(&Default::default(), &mut ())?;
/// let record = Record::read(&directory)?;
/// assert_eq!((record.task.as_str(), record.seed.as_str()), ("CartPole-v1", "0"));
/// assert_eq!(record.result.as_ref().map(|result| result.steps), Some(2048));
/// assert_eq!(record.column("rollout/ep_rew_mean").len(), record.steps().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it is.
    pub directory: PathBuf,
    /// Its task's id.
    pub task: String,
    /// Its policy-gradient method.
    pub algo: String,
    /// Its scheduler.
    pub scheduler: String,
    /// Its seed.
    pub seed: String,
    /// `section.key` and its value of everything that decides its results, but for the seed ([`settings`]).
    pub settings: BTreeMap<String, String>,
    /// All its settings, as it has written them.
    pub config_text: String,
    /// There once it has finished.
    pub result: Option<RunResult>,
    /// When that was written.
    pub finished: Option<SystemTime>,
    /// Why it stopped, where an experiment has written it down: what it says may be of any length, and anybody's words.
    pub failure: Option<String>,
    metrics: CsvTable,
}

/// Why a run's directory cannot be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordError {
    /// The run has not even begun, and its failure says why.
    Failed {
        /// Where it was to be.
        directory: PathBuf,
        /// What its [`FAILURE`] says.
        failure: String,
    },
    /// A file cannot be read, or does not say what it should.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A directory that was to be searched cannot be.
    Unsearchable {
        /// The directory.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A table cannot be read.
    Table(ArtifactError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { directory, failure } => write!(f, "{}: {failure}", directory.display()),
            Self::Unreadable { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Unsearchable { path, problem } => write!(f, "cannot read {}: {problem}", path.display()),
            Self::Table(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Table(error) => Some(error),
            _ => None,
        }
    }
}

/// A text that should be a configuration and is not even TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotToml;

impl fmt::Display for NotToml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not valid TOML")
    }
}

impl std::error::Error for NotToml {}

impl From<ArtifactError> for RecordError {
    fn from(error: ArtifactError) -> Self {
        Self::Table(error)
    }
}

impl Record {
    /// Reads the run in a directory.
    pub fn read(directory: &Path) -> Result<Self, RecordError> {
        let mut record = Self::read_head(directory)?;
        record.metrics = read_metrics(directory)?;
        let steps = record.metrics.numbers(STEPS)?;
        if !steps.iter().all(|step| step.is_finite()) || !steps.is_sorted() {
            return Err(RecordError::Unreadable {
                path: directory.join(METRICS),
                problem: "its steps do not ascend".to_string(),
            });
        }
        Ok(record)
    }

    /// Reads the run in a directory without its metrics: no column has a value, whatever was logged.
    pub fn read_head(directory: &Path) -> Result<Self, RecordError> {
        let unreadable = |name: &str, problem: &str| RecordError::Unreadable {
            path: directory.join(name),
            problem: problem.to_string(),
        };
        let failure = read_failure(directory);
        let config_text = fs::read_to_string(directory.join(CONFIG)).map_err(|error| match &failure {
            Some(failure) => RecordError::Failed {
                directory: directory.to_path_buf(),
                failure: failure.clone(),
            },
            None => unreadable(CONFIG, &reason(&error)),
        })?;
        let mut settings = settings(&config_text).map_err(|problem| unreadable(CONFIG, &problem.to_string()))?;
        let mut take = |key: &str| {
            settings
                .remove(key)
                .ok_or_else(|| unreadable(CONFIG, &format!("it does not say the {key}")))
        };
        let (task, algo, scheduler, seed) = (take("task")?, take("algo")?, take("scheduler")?, take("seed")?);
        let result = read_result(directory)?;
        let written = fs::metadata(directory.join(RESULT)).and_then(|metadata| metadata.modified());
        Ok(Self {
            directory: directory.to_path_buf(),
            task,
            algo,
            scheduler,
            seed,
            settings,
            config_text,
            finished: written.ok().filter(|_| result.is_some()),
            result,
            failure,
            metrics: CsvTable::default(),
        })
    }

    /// A column of `metrics.csv`, with NaN where it says nothing; empty where there is none.
    pub fn column(&self, name: &str) -> Vec<f64> {
        self.metrics.numbers(name).unwrap_or_default()
    }

    /// The environment steps that the rows of `metrics.csv` were written at.
    pub fn steps(&self) -> Vec<f64> {
        self.column(STEPS)
    }

    /// Who scheduled; `None` where that is none of the program's own.
    pub fn known_scheduler(&self) -> Option<Scheduler> {
        Registry::builtin().scheduler(&self.scheduler).ok()
    }

    /// The names of what was scheduled; none where values were kept.
    pub fn scheduled(&self) -> Vec<String> {
        if self.known_scheduler().is_some_and(|scheduler| scheduler.is_fixed()) {
            return Vec::new();
        }
        let columns = self.metrics.header.iter();
        columns
            .filter_map(|name| name.strip_prefix("hyper/correlation_").map(String::from))
            .collect()
    }

    /// The update and the value of every decision on a hyperparameter, from `decisions.csv`; empty where there is none.
    /// Only these columns are looked at, since the table can be large.
    pub fn choices(&self, name: &str) -> Vec<(f64, f64)> {
        self.chosen(name).unwrap_or_default()
    }

    /// Every decision on a hyperparameter with what came of it, from `decisions.csv`, in order; empty where there is
    /// none.
    pub fn tried(&self, name: &str) -> Vec<Tried> {
        let columns = ["update", "choice", name, "outcome", "improvement"];
        self.decisions(&columns, Tried::read).unwrap_or_default()
    }

    fn chosen(&self, name: &str) -> Option<Vec<(f64, f64)>> {
        let number = |field: &str| field.parse::<f64>().ok();
        let choices = self.decisions(&["update", name], |fields| {
            Some((number(fields[0])?, number(fields[1])?))
        })?;
        Some(choices.into_iter().filter(|choice| choice.1.is_finite()).collect())
    }

    /// What `read` makes of these columns of `decisions.csv`; rows of which it makes nothing are left out.
    fn decisions<T>(&self, columns: &[&str], read: impl Fn(&[&str]) -> Option<T>) -> Option<Vec<T>> {
        let text = fs::read_to_string(self.directory.join(DECISIONS)).ok()?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next()?.split(',').collect();
        let place = |name: &&str| header.iter().position(|column| column == name);
        let places: Vec<usize> = columns.iter().map(place).collect::<Option<_>>()?;
        let of_row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            let wanted: Option<Vec<&str>> = places.iter().map(|&place| fields.get(place).copied()).collect();
            read(&wanted?)
        };
        Some(lines.filter_map(of_row).collect())
    }
}

/// The metrics of a run, from its `metrics.csv`.
pub fn read_metrics(directory: &Path) -> Result<CsvTable, ArtifactError> {
    read_csv(directory.join(METRICS))
}

/// The result of a run; `None` where it has not finished.
pub fn read_result(directory: &Path) -> Result<Option<RunResult>, RecordError> {
    let path = directory.join(RESULT);
    let problem = match fs::read_to_string(&path) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(result) => return Ok(Some(result)),
            Err(_) => "it is not the result of a run".to_string(),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => reason(&error),
    };
    Err(RecordError::Unreadable { path, problem })
}

/// Why a run stopped, where an experiment has written it down.
pub fn read_failure(directory: &Path) -> Option<String> {
    let bytes = fs::read(directory.join(FAILURE)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Environment steps that the metrics of a run tell of, while it may be being made: a row that is not whole yet does
/// not count.
pub fn steps_logged(directory: &Path) -> f64 {
    let text = fs::read_to_string(directory.join(METRICS)).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let last = complete.lines().skip(1).last().unwrap_or("0");
    let steps = last.split(',').next().and_then(|steps| steps.parse().ok());
    steps.unwrap_or(0.0)
}

/// The directories of runs below a directory, or itself where it is one; numbers in names count as numbers.
pub fn find(directory: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut found = Vec::new();
    search(directory, DEPTH, &mut found).map_err(|problem| RecordError::Unsearchable {
        path: directory.to_path_buf(),
        problem,
    })?;
    Ok(found)
}

/// Adds a directory with a run's files, or those below it.
fn search(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|error| reason(&error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_run = [CONFIG, RESULT, CHECKPOINT, METRICS, FAILURE]
        .iter()
        .any(|name| directory.join(name).is_file());
    if is_run {
        found.push(directory.to_path_buf());
        return Ok(());
    }
    paths.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    for path in paths.iter().filter(|path| path.is_dir() && depth > 0) {
        // What cannot be looked into below a directory that can is left out.
        let _ = search(path, depth - 1, found);
    }
    Ok(())
}

/// A key by which `seed-2` comes before `seed-10`.
///
/// ```
/// use epgt_train::record::natural;
/// assert!(natural("seed-2") < natural("seed-10"));
/// ```
pub fn natural(name: &str) -> Vec<(u64, char)> {
    let mut key: Vec<(u64, char)> = Vec::new();
    for character in name.chars() {
        match (character.to_digit(10), key.last_mut()) {
            (Some(digit), Some((number, '0'))) => *number = number.saturating_mul(10).saturating_add(digit.into()),
            (Some(digit), _) => key.push((digit.into(), '0')),
            (None, _) => key.push((0, character)),
        }
    }
    key
}

/// What the text of a `config.toml` says of a run's results, as `section.key` and value; with the task, the algorithm,
/// the scheduler and the seed.
///
/// Left out is what results do not depend on: when a checkpoint is written, and which processor the networks are on (a
/// matter of the machine, and of the last digits). How often metrics are written decides which policy is the best where
/// training's own score does, and nothing else. What a file does not know came after it, with a default that changes
/// nothing.
pub fn settings(config_text: &str) -> Result<BTreeMap<String, String>, NotToml> {
    let table: toml::Table = config_text.parse().map_err(|_| NotToml)?;
    let mut settings = BTreeMap::new();
    flatten("", &table, &mut settings);
    let algo = settings.get("algo").map(|algo| Assignment::new("algo", algo));
    if let Ok(defaults) = Config::lay(algo.as_slice()) {
        for (section, entries) in defaults.sections() {
            let dot = if section.is_empty() { "" } else { "." };
            for entry in entries
                .iter()
                .filter(|entry| !matches!(entry.key, "task" | "algo" | "scheduler" | "seed"))
            {
                let default = || entry.value.trim_matches('"').to_string();
                settings
                    .entry(format!("{section}{dot}{}", entry.key))
                    .or_insert_with(default);
            }
        }
    }
    settings.remove("checkpoint_interval");
    settings.remove("device");
    if settings.get("best_by").is_none_or(|best_by| best_by != "training") {
        settings.remove("log_interval");
    }
    Ok(settings)
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        match value {
            toml::Value::Table(inner) => flatten(&format!("{name}."), inner, settings),
            toml::Value::String(text) => drop(settings.insert(name, text.clone())),
            other => drop(settings.insert(name, other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(more: &[(&str, &str)]) -> String {
        let mut said = vec![Assignment::new("task", "CartPole-v1")];
        said.extend(more.iter().map(|(key, value)| Assignment::new(*key, value)));
        Config::build(&said).unwrap().to_toml()
    }

    #[test]
    fn settings_that_decide_nothing_set_no_runs_apart() {
        let plain = settings(&text(&[])).unwrap();
        for same in [("checkpoint_interval", "77"), ("device", "cpu"), ("log_interval", "77")] {
            assert_eq!(settings(&text(&[same])).unwrap(), plain, "{same:?}");
        }
        for other in [
            ("steps", "77000"),
            ("hyper.hold", "7"),
            ("tf32", "true"),
            ("eval_episodes", "7"),
        ] {
            assert_ne!(settings(&text(&[other])).unwrap(), plain, "{other:?}");
        }
        let by_training = |interval: &str| settings(&text(&[("best_by", "training"), ("log_interval", interval)]));
        assert_ne!(by_training("77"), by_training("78"));
    }

    #[test]
    fn a_setting_that_came_later_is_its_default() {
        let now = text(&[("algo", "ppo")]);
        let older: Vec<&str> = now.lines().filter(|line| !line.starts_with("final_episodes")).collect();
        assert_eq!(older.len() + 1, now.lines().count());
        assert_eq!(settings(&older.join("\n")), settings(&now));
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["seed-10", "seed-2", "seed-1", "a"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["a", "seed-1", "seed-2", "seed-10"]);
    }
}
