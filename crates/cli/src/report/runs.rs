//! Finds runs below directories and reads what they wrote, as far as it is there.
//!
//! Settings are read as plain TOML and columns by name, so that runs of other versions of the program can be shown too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use epgt_report::curve::Curve;
use epgt_train::table::{CsvTable, read_csv};
use epgt_train::{CHECKPOINT, CONFIG, RESULT, RunResult};

use crate::output::reason;

/// Why a run of an experiment stopped.
const FAILURE: &str = "failure.txt";

/// Points to which a schedule is condensed.
const SCHEDULE_POINTS: usize = 80;

/// Directories below each other that are searched at most: a link that leads back to itself must end somewhere.
const DEPTH: usize = 8;

/// One run as far as it has come.
#[derive(Clone, Debug)]
pub struct Run {
    pub directory: PathBuf,
    /// Which of the named directories it was found below.
    pub origin: usize,
    pub task: String,
    pub algo: String,
    pub scheduler: String,
    pub seed: String,
    /// `section.key` and its value, without the seed.
    pub settings: BTreeMap<String, String>,
    pub config_text: String,
    /// There once it has finished.
    pub result: Option<RunResult>,
    /// Why it stopped, where an experiment has written it down.
    pub failure: Option<String>,
    metrics: CsvTable,
}

/// The numbers of a run that methods are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Measure {
    /// Mean return of the last hundred training episodes
    Final,
    /// Mean return of the best policy, played once training was over
    Checkpoint,
    /// The best evaluation during training
    Evaluation,
    /// Area under the learning curve, as a mean return over training
    Area,
    /// The final score between random play (0) and a human (1), for games that have both
    Human,
}

impl Measure {
    pub const ALL: [Self; 5] = [Self::Final, Self::Human, Self::Checkpoint, Self::Evaluation, Self::Area];

    pub fn name(self) -> &'static str {
        match self {
            Self::Final => "return of the last 100 training episodes",
            Self::Checkpoint => "return of the best checkpoint, played once training was over",
            Self::Evaluation => "best evaluation during training",
            Self::Area => "area under the learning curve (mean return over training)",
            Self::Human => "human-normalised score of the last 100 training episodes (0: random play, 1: a human)",
        }
    }

    pub fn slug(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Checkpoint => "checkpoint",
            Self::Evaluation => "evaluation",
            Self::Area => "area",
            Self::Human => "human-normalised",
        }
    }
}

impl Run {
    /// A column of `metrics.csv` over environment steps; empty where there is none.
    pub fn curve(&self, column: &str) -> Curve {
        Curve {
            steps: self.metrics.numbers("time/total_timesteps").unwrap_or_default(),
            values: self.metrics.numbers(column).unwrap_or_default(),
        }
    }

    /// The score of a finished run; an unfinished one has none.
    pub fn score(&self, measure: Measure) -> Option<f64> {
        let result = self.result.as_ref()?;
        match measure {
            Measure::Final => result.return_last_100,
            Measure::Checkpoint => result.best_checkpoint,
            Measure::Evaluation => result.best_evaluation,
            Measure::Area => self.curve("rollout/ep_rew_mean").area(),
            Measure::Human => result.human_normalised,
        }
    }

    /// How far it has come, in environment steps.
    pub fn steps(&self) -> f64 {
        self.curve("time/total_timesteps").end()
    }

    /// The names of what was scheduled; none where values were kept.
    pub fn scheduled(&self) -> Vec<String> {
        if self.scheduler == "fixed" {
            return Vec::new();
        }
        let columns = self.metrics.header.iter();
        columns
            .filter_map(|name| name.strip_prefix("hyper/correlation_").map(String::from))
            .collect()
    }

    /// A hyperparameter over training, each point the mean (geometric if `log`) of the choices in its share of the run.
    pub fn schedule(&self, name: &str, log: bool) -> Curve {
        let chosen = self.chosen(name).unwrap_or_default();
        if chosen.is_empty() {
            return self.curve(&format!("hyper/{name}"));
        }
        let updates = self.curve("train/n_updates");
        let clock = Curve {
            steps: [0.0].into_iter().chain(updates.values).collect(),
            values: [0.0].into_iter().chain(updates.steps).collect(),
        };
        let each = chosen.len().div_ceil(SCHEDULE_POINTS).max(1);
        let mut curve = Curve::default();
        for part in chosen.chunks(each) {
            let value = |choice: &(f64, f64)| if log { choice.1.ln() } else { choice.1 };
            let mean = part.iter().map(value).sum::<f64>() / part.len() as f64;
            let step = clock.at(&[part[part.len() / 2].0])[0];
            if step.is_finite() {
                curve.steps.push(step);
                curve.values.push(if log { mean.exp() } else { mean });
            }
        }
        curve
    }

    /// (update, value) of every decision; only these columns are looked at, since the table can be large.
    fn chosen(&self, name: &str) -> Option<Vec<(f64, f64)>> {
        let text = fs::read_to_string(self.directory.join("decisions.csv")).ok()?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next()?.split(',').collect();
        let place = |name: &str| header.iter().position(|column| *column == name);
        let (update, value) = (place("update")?, place(name)?);
        let number = |line: &str, column: usize| line.split(',').nth(column)?.parse::<f64>().ok();
        let choices = lines.filter_map(|line| Some((number(line, update)?, number(line, value)?)));
        Some(choices.filter(|choice| choice.1.is_finite()).collect())
    }
}

/// The runs below directories, in order, and a sentence for each that could not be read.
pub fn find(directories: &[PathBuf]) -> Result<(Vec<Run>, Vec<String>), String> {
    let (mut runs, mut broken) = (Vec::new(), Vec::new());
    for (origin, directory) in directories.iter().enumerate() {
        let mut found = Vec::new();
        search(directory, DEPTH, &mut found)
            .map_err(|error| format!("cannot read {}: {error}", directory.display()))?;
        for path in found {
            match read(&path, origin) {
                Ok(run) => runs.push(run),
                Err(sentence) => broken.push(sentence),
            }
        }
    }
    Ok((runs, broken))
}

/// Adds a directory with a run's files, or those below it; numbers in names count as numbers.
fn search(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|error| reason(&error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_run = [CONFIG, RESULT, CHECKPOINT, "metrics.csv", FAILURE]
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

fn read(directory: &Path, origin: usize) -> Result<Run, String> {
    let named = |name: &str, problem: &str| format!("{}: {problem}", directory.join(name).display());
    let failure = fs::read_to_string(directory.join(FAILURE))
        .ok()
        .map(|text| text.trim().to_string());
    let config_text = fs::read_to_string(directory.join(CONFIG)).map_err(|error| match &failure {
        Some(sentence) => format!("{}: {sentence}", directory.display()),
        None => named(CONFIG, &reason(&error)),
    })?;
    let table: toml::Table = config_text.parse().map_err(|_| named(CONFIG, "it is not valid TOML"))?;
    let mut settings = BTreeMap::new();
    flatten("", &table, &mut settings);
    let mut take = |key: &str| {
        settings
            .remove(key)
            .ok_or_else(|| named(CONFIG, &format!("it does not say the {key}")))
    };
    let (task, algo, scheduler, seed) = (take("task")?, take("algo")?, take("scheduler")?, take("seed")?);
    let metrics = read_csv(directory.join("metrics.csv")).map_err(|error| error.to_string())?;
    let result = match fs::read_to_string(directory.join(RESULT)) {
        Ok(text) => Some(serde_json::from_str(&text).map_err(|_| named(RESULT, "it is not the result of a run"))?),
        Err(_) => None,
    };
    metrics
        .numbers("time/total_timesteps")
        .map_err(|error| error.to_string())?;
    Ok(Run {
        directory: directory.to_path_buf(),
        origin,
        task,
        algo,
        scheduler,
        seed,
        settings,
        config_text,
        result,
        failure,
        metrics,
    })
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

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["seed-10", "seed-2", "seed-1", "a"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["a", "seed-1", "seed-2", "seed-10"]);
    }
}
