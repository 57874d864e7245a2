//! The parts of an experiment file: its layers as assignments, of which later ones win, and its names as parts of
//! paths.

use std::path::{Path, PathBuf};

use epgt_settings::Value;
use epgt_train::{Assignment, Config};
use toml::Table;

use crate::error::PlanError;

/// Takes a key out of a table, if it is there.
pub fn take<T: Value>(table: &mut Table, key: &str) -> Result<Option<T>, PlanError> {
    let Some(value) = table.remove(key) else {
        return Ok(None);
    };
    let text = plain(&value);
    match T::parse(&text) {
        Ok(parsed) => Ok(Some(parsed)),
        Err(wants) => Err(PlanError::Value {
            key: key.to_string(),
            text,
            wants: wants.to_string(),
        }),
    }
}

/// Takes the tables of `[[key]]`; there has to be one.
pub fn tables(table: &mut Table, key: &'static str) -> Result<Vec<Table>, PlanError> {
    let list = match table.remove(key) {
        Some(toml::Value::Array(list)) => list.into_iter().map(|item| item.try_into().ok()).collect(),
        None => Some(Vec::new()),
        Some(_) => None,
    };
    let list: Vec<Table> = list.ok_or(PlanError::NoSections(key))?;
    match list.is_empty() {
        true => Err(PlanError::NothingToRun(key)),
        false => Ok(list),
    }
}

/// The settings of a table as dotted assignments.
pub fn layer(table: &Table, reserved: &[&'static str]) -> Result<Vec<Assignment>, PlanError> {
    if let Some(key) = reserved.iter().find(|key| table.contains_key(**key)) {
        return Err(PlanError::Reserved(key));
    }
    let mut assignments = Vec::new();
    flatten("", table, &mut assignments);
    Ok(assignments)
}

fn flatten(prefix: &str, table: &Table, assignments: &mut Vec<Assignment>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => flatten(&format!("{prefix}{key}."), inner, assignments),
            value => assignments.push(Assignment::new(format!("{prefix}{key}"), plain(value))),
        }
    }
}

/// A value as it is assigned.
pub fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Puts a layer on top; what it tunes replaces what was tuned.
pub fn overlay(assignments: &mut Vec<Assignment>, layer: &[Assignment]) {
    let tunes = |assignment: &Assignment| assignment.key.starts_with("tune.");
    if layer.iter().any(tunes) {
        assignments.retain(|assignment| !tunes(assignment));
    }
    assignments.extend_from_slice(layer);
}

/// A task's id as one part of a path: `ALE/Pong-v5` would be two, and `gym:Pong-v5` none on some systems.
///
/// ```
/// assert_eq!(epgt_experiments::file_name("ALE/Pong-v5"), "ALE-Pong-v5");
/// ```
pub fn file_name(task: &str) -> String {
    task.replace([':', '/'], "-")
}

/// Where a run is kept whose directory nobody named: `runs/TASK-ALGO-SCHEDULER-sSEED`, or for several seeds
/// `runs/TASK-ALGO-SCHEDULER-N-seeds`, with a number behind it where that is taken.
///
/// ```
/// use epgt_train::{Assignment, Config};
/// let said = [("task", "CartPole-v1"), ("algo", "ppo"), ("scheduler", "random"), ("seed", "3")];
/// let config = Config::build(&said.map(|(key, value)| Assignment::new(key, value)))?;
/// let directory = epgt_experiments::fresh_directory(&config, 1);
/// assert_eq!(directory, std::path::Path::new("runs/CartPole-v1-ppo-random-s3"));
/// # Ok::<(), epgt_train::ConfigError>(())
/// ```
pub fn fresh_directory(config: &Config, seeds: u64) -> PathBuf {
    let run = &config.run;
    let seeds = match (seeds, run.seed) {
        (1, seed) => format!("s{seed}"),
        (count, 0) => format!("{count}-seeds"),
        (count, seed) => format!("{count}-seeds-from-{seed}"),
    };
    let name = format!(
        "{}-{}-{}-{seeds}",
        file_name(&run.task),
        run.algo.name(),
        run.scheduler.name(),
    );
    let numbered = |number: u32| match number {
        1 => Path::new("runs").join(&name),
        _ => Path::new("runs").join(format!("{name}-{number}")),
    };
    (1..)
        .map(numbered)
        .find(|path| !path.exists())
        .unwrap_or_else(|| Path::new("runs").join(&name))
}

/// A name as part of a path: small letters, digits and single dashes.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.to_lowercase().chars() {
        if letter.is_alphanumeric() || letter == '.' && !slug.is_empty() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_string()
}

/// Refuses names that would share a directory.
pub fn distinct<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), PlanError> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for name in names {
        let slug = slug(name);
        if slug.is_empty() {
            let name = name.to_string();
            return Err(PlanError::NoLetter { what, name });
        }
        if name.contains([',', '\'']) {
            let name = name.to_string();
            return Err(PlanError::CommaOrQuote { what, name });
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == slug) {
            let names = [other, &name].map(|name| name.to_string());
            return Err(PlanError::Alike { what, names });
        }
        seen.push((slug, name));
    }
    Ok(())
}
