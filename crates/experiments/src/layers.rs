//! The parts of an experiment file: its layers as assignments, of which later ones win, and its names as parts of paths.

use epgt_settings::Value;
use epgt_train::Assignment;
use toml::Table;

/// Takes a key out of a table, if it is there.
pub fn take<T: Value>(table: &mut Table, key: &str) -> Result<Option<T>, String> {
    let Some(value) = table.remove(key) else {
        return Ok(None);
    };
    let text = plain(&value);
    let parsed = T::parse(&text).map_err(|wants| format!("{key} = {text} cannot be used: {wants}"))?;
    Ok(Some(parsed))
}

/// Takes the tables of `[[key]]`; there has to be one.
pub fn tables(table: &mut Table, key: &str) -> Result<Vec<Table>, String> {
    let list = match table.remove(key) {
        Some(toml::Value::Array(list)) => list.into_iter().map(|item| item.try_into().ok()).collect(),
        None => Some(Vec::new()),
        Some(_) => None,
    };
    let list: Vec<Table> = list.ok_or_else(|| format!("{key} should be a list of sections, [[{key}]]"))?;
    match list.is_empty() {
        true => Err(format!("nothing to run: add a [[{key}]]")),
        false => Ok(list),
    }
}

/// The settings of a table as dotted assignments.
pub fn layer(table: &Table, reserved: &[&str]) -> Result<Vec<Assignment>, String> {
    if let Some(key) = reserved.iter().find(|key| table.contains_key(**key)) {
        let instead = match *key {
            "seed" => "seeds and first_seed at the top of the file",
            _ => "a [[task]]",
        };
        return Err(format!("{key} cannot be set here; use {instead}"));
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

fn plain(value: &toml::Value) -> String {
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
pub fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for name in names {
        let slug = slug(name);
        if slug.is_empty() {
            return Err(format!("{what} '{name}' needs a name with a letter or digit"));
        }
        if name.contains([',', '\'']) {
            return Err(format!("{what} '{name}' cannot have a comma or quote in its name"));
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == slug) {
            return Err(format!(
                "{what}s '{other}' and '{name}' cannot be told apart; rename one"
            ));
        }
        seen.push((slug, name));
    }
    Ok(())
}
