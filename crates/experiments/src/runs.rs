//! Finds runs below directories and reads what they wrote, as far as it is there.
//!
//! Settings are read as plain TOML and columns by name, so that runs of other versions of the program can be shown too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use epgt_report::curve::Curve;
use epgt_report::text::{one_line, shortened};
use epgt_train::artifact::reason;
use epgt_train::table::{CsvTable, read_csv};
use epgt_train::{Assignment, CHECKPOINT, CONFIG, Config, RESULT, RunResult};

use crate::measure::Measure;

/// Why a run of an experiment stopped.
const FAILURE: &str = "failure.txt";

/// Characters of a sentence about a file: what it quotes may be of any length.
const LONGEST_SENTENCE: usize = 400;

/// Points to which a schedule is condensed.
const SCHEDULE_POINTS: usize = 80;

/// Directories below each other that are searched at most: a link that leads back to itself must end somewhere.
const DEPTH: usize = 8;

/// One run as far as it has come.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it is.
    pub directory: PathBuf,
    /// Which of the named directories it was found below.
    pub origin: usize,
    /// Its task's id.
    pub task: String,
    /// Its policy-gradient method.
    pub algo: String,
    /// Its scheduler.
    pub scheduler: String,
    /// Its seed.
    pub seed: String,
    /// `section.key` and its value of everything that decides its results, but for the seed.
    pub settings: BTreeMap<String, String>,
    /// All its settings, as it has written them.
    pub config_text: String,
    /// There once it has finished.
    pub result: Option<RunResult>,
    /// When that was written.
    pub finished: Option<SystemTime>,
    /// Why it stopped, where an experiment has written it down.
    pub failure: Option<String>,
    metrics: CsvTable,
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
        measure.of(result, || self.curve("rollout/ep_rew_mean").area())
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

/// The runs below directories, in order, and a sentence for each that could not be read. One that is reached in two ways counts
/// once.
pub fn find(directories: &[PathBuf]) -> Result<(Vec<Run>, Vec<String>), String> {
    let (mut runs, mut broken) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for (origin, directory) in directories.iter().enumerate() {
        let mut found = Vec::new();
        search(directory, DEPTH, &mut found)
            .map_err(|error| format!("cannot read {}: {error}", directory.display()))?;
        for path in found {
            if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                continue;
            }
            match read(&path, origin) {
                Ok(run) => runs.push(run),
                Err(sentence) => broken.push(shortened(&one_line(&sentence), LONGEST_SENTENCE)),
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
    let failure = fs::read(directory.join(FAILURE))
        .ok()
        .map(|bytes| shortened(&one_line(&String::from_utf8_lossy(&bytes)), LONGEST_SENTENCE));
    let config_text = fs::read_to_string(directory.join(CONFIG)).map_err(|error| match &failure {
        Some(sentence) => format!("{}: {sentence}", directory.display()),
        None => named(CONFIG, &reason(&error)),
    })?;
    let mut settings = settings(&config_text).map_err(|problem| named(CONFIG, &problem))?;
    let mut take = |key: &str| {
        settings
            .remove(key)
            .ok_or_else(|| named(CONFIG, &format!("it does not say the {key}")))
    };
    let (task, algo, scheduler, seed) = (take("task")?, take("algo")?, take("scheduler")?, take("seed")?);
    let metrics = read_csv(directory.join("metrics.csv")).map_err(|error| error.to_string())?;
    let path = directory.join(RESULT);
    let (result, finished) = match fs::read_to_string(&path) {
        Ok(text) => {
            let result = serde_json::from_str(&text).map_err(|_| named(RESULT, "it is not the result of a run"))?;
            let written = fs::metadata(&path).and_then(|metadata| metadata.modified());
            (Some(result), written.ok())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
        Err(error) => return Err(named(RESULT, &reason(&error))),
    };
    let steps = metrics
        .numbers("time/total_timesteps")
        .map_err(|error| error.to_string())?;
    if !steps.iter().all(|step| step.is_finite()) || !steps.is_sorted() {
        return Err(named("metrics.csv", "its steps do not ascend"));
    }
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
        finished,
        failure,
        metrics,
    })
}

/// What the text of a `config.toml` says of a run's results, as `section.key` and value; with the task, the algorithm, the scheduler
/// and the seed.
///
/// Left out is what results do not depend on: when a checkpoint is written, and which processor the networks are on (a matter of
/// the machine, and of the last digits). How often metrics are written decides which policy is the best where training's own
/// score does, and nothing else. What a file does not know came after it, with a default that changes nothing.
pub fn settings(config_text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table = config_text.parse().map_err(|_| "it is not valid TOML".to_string())?;
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
