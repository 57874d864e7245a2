//! The experiment file: which methods are compared, on which tasks and seeds, and where each run goes.
//!
//! ```toml
//! description = "What this is to show"
//! seeds = 10                    # first_seed, first_seed + 1, ...
//! first_seed = 0
//! score = "return_last_100"     # or "best_evaluation"
//! reference = "fixed"           # with groups: the one whose best method counts as 1
//! threshold = 450               # also tell after how many steps the training return reached it
//!
//! [settings]                    # of all runs, as in a configuration file
//! steps = 20_000
//! hyper.update_phase = 10
//!
//! [[task]]
//! task = "MountainCarContinuous-v0"
//!
//! [[method]]
//! name = "fixed min"
//! group = "fixed"               # optional
//! scheduler = "fixed"
//! hyper.fixed_at = "min"
//! ```
//!
//! Later layers win: `[settings]`, then the task's own, then the method's. A layer that says what is tuned replaces what the
//! layers below it tune.

use std::fs;
use std::path::{Path, PathBuf};

use epgt_settings::{Value, choice};
use epgt_train::{Assignment, CONFIG, Config, RESULT, RunResult};
use toml::Table;

choice! {
    /// The number of a run that methods are compared by.
    pub enum Score {
        /// Mean raw return of the last hundred training episodes.
        ReturnLast100 = "return_last_100",
        /// Best mean raw return of an evaluation.
        BestEvaluation = "best_evaluation",
    }
}

/// A checked experiment.
pub struct Plan {
    /// The file's name without its ending.
    pub name: String,
    /// The file's text, so that a report can show what produced it.
    pub text: String,
    pub description: String,
    pub score: Score,
    pub tasks: Vec<String>,
    pub methods: Vec<Method>,
    /// The group whose best method the others are measured against.
    pub reference: Option<String>,
    /// The training return whose first reaching is told in steps.
    pub threshold: Option<f64>,
    pub first_seed: u64,
    pub seeds: u64,
    /// By task, then method: what its runs do, but for the seed.
    configs: Vec<Config>,
}

/// One of the compared methods.
pub struct Method {
    pub name: String,
    pub group: Option<String>,
}

/// One run of the experiment.
pub struct Cell {
    pub task: usize,
    pub method: usize,
    pub directory: PathBuf,
    pub config: Config,
}

/// How far a cell has come.
pub enum State {
    /// Nothing is there.
    New,
    /// It has begun and can go on.
    Begun,
    /// It is done.
    Finished(RunResult),
}

impl Plan {
    /// Reads and checks an experiment file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::parse(name, text).map_err(|error| format!("{shown}: {error}"))
    }

    fn parse(name: String, text: String) -> Result<Self, String> {
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(""));
            let line = before.matches('\n').count() + 1;
            format!("line {line} is not valid TOML: {}", error.message())
        })?;
        let description = take(&mut table, "description")?.unwrap_or_default();
        let seeds = take(&mut table, "seeds")?.unwrap_or(1);
        let first_seed: u64 = take(&mut table, "first_seed")?.unwrap_or(0);
        let score = take(&mut table, "score")?.unwrap_or(Score::ReturnLast100);
        let reference: Option<String> = take(&mut table, "reference")?;
        let threshold = take(&mut table, "threshold")?;
        let common = match table.remove("settings") {
            Some(toml::Value::Table(settings)) => layer(&settings, &["task", "seed"])?,
            None => Vec::new(),
            Some(_) => return Err("settings should be a section, [settings]".to_string()),
        };
        Config::lay(&common).map_err(|error| format!("[settings]: {error}"))?;
        let mut tasks = Vec::new();
        for mut entry in tables(&mut table, "task")? {
            let task: String = take(&mut entry, "task")?.ok_or("a [[task]] needs its id, task = \"CartPole-v1\"")?;
            let own = layer(&entry, &["seed"]).map_err(|error| format!("task '{task}': {error}"))?;
            tasks.push((task, own));
        }
        let mut methods = Vec::new();
        for mut entry in tables(&mut table, "method")? {
            let name: String = take(&mut entry, "name")?.ok_or("a [[method]] needs a name, name = \"fixed\"")?;
            let group = take(&mut entry, "group")?;
            let own = layer(&entry, &["task", "seed"]).map_err(|error| format!("method '{name}': {error}"))?;
            methods.push((Method { name, group }, own));
        }
        if let Some(key) = table.keys().next() {
            let known = [
                "description",
                "seeds",
                "first_seed",
                "score",
                "reference",
                "threshold",
                "settings",
                "task",
                "method",
            ];
            return Err(epgt_settings::unknown("key", key, &known));
        }
        if seeds == 0 {
            return Err("seeds = 0 leaves nothing to run; use 1 or more".to_string());
        }
        if first_seed.checked_add(seeds).is_none() {
            return Err(format!("first_seed = {first_seed} leaves no room for {seeds} seeds"));
        }
        distinct("task", tasks.iter().map(|(task, _)| task.as_str()))?;
        distinct("method", methods.iter().map(|(method, _)| method.name.as_str()))?;
        let groups: Vec<&str> = methods
            .iter()
            .filter_map(|(method, _)| method.group.as_deref())
            .collect();
        if let Some(reference) = reference.as_deref().filter(|reference| !groups.contains(reference)) {
            return Err(epgt_settings::unknown("group", reference, &groups));
        }

        let mut configs = Vec::new();
        for (task, of_task) in &tasks {
            for (method, of_method) in &methods {
                let mut assignments = common.clone();
                overlay(&mut assignments, &[Assignment::new("task", task)]);
                overlay(&mut assignments, of_task);
                overlay(&mut assignments, of_method);
                let config = Config::build(&assignments)
                    .map_err(|error| format!("method '{}' on {task}: {error}", method.name))?;
                if score == Score::BestEvaluation && config.run.eval_interval == Some(0) {
                    return Err(format!(
                        "score = \"best_evaluation\" needs evaluations, but method '{}' has eval_interval = 0",
                        method.name
                    ));
                }
                configs.push(config);
            }
        }
        Ok(Self {
            name,
            text,
            description,
            score,
            tasks: tasks.into_iter().map(|(task, _)| task).collect(),
            methods: methods.into_iter().map(|(method, _)| method).collect(),
            reference,
            threshold,
            first_seed,
            seeds,
            configs,
        })
    }

    /// All runs below a directory: by task, then method, then seed.
    pub fn cells(&self, out: &Path) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (i, base) in self.configs.iter().enumerate() {
            let (task, method) = (i / self.methods.len(), i % self.methods.len());
            let parent = out.join(&self.tasks[task]).join(slug(&self.methods[method].name));
            for seed in self.first_seed..self.first_seed + self.seeds {
                let mut config = base.clone();
                config.run.seed = seed;
                cells.push(Cell {
                    task,
                    method,
                    directory: parent.join(format!("seed-{seed}")),
                    config,
                });
            }
        }
        cells
    }
}

impl Cell {
    /// Looks what is in the cell's directory; a run with other settings is refused, never mixed in.
    pub fn state(&self) -> Result<State, String> {
        let Ok(there) = fs::read_to_string(self.directory.join(CONFIG)) else {
            return Ok(State::New);
        };
        if let Some(difference) = difference(&there, &self.config.to_toml()) {
            return Err(format!(
                "{} holds a run with other settings ({difference}); choose another --out, or remove that directory",
                self.directory.display()
            ));
        }
        let result = fs::read_to_string(self.directory.join(RESULT)).ok();
        Ok(match result.and_then(|text| serde_json::from_str(&text).ok()) {
            Some(result) => State::Finished(result),
            None => State::Begun,
        })
    }
}

/// The first setting that two configuration files disagree about; comments do not count.
fn difference(there: &str, here: &str) -> Option<String> {
    let mut left = there.lines().filter(|line| is_setting(line));
    let mut right = here.lines().filter(|line| is_setting(line));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let show = |line: Option<&str>| line.unwrap_or("nothing more").to_string();
                return Some(format!("{} there, {} here", show(a), show(b)));
            }
        }
    }
}

fn is_setting(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Takes a key out of a table, if it is there.
fn take<T: Value>(table: &mut Table, key: &str) -> Result<Option<T>, String> {
    let Some(value) = table.remove(key) else {
        return Ok(None);
    };
    let text = plain(&value);
    let parsed = T::parse(&text).map_err(|wants| format!("{key} = {text} cannot be used: {wants}"))?;
    Ok(Some(parsed))
}

/// Takes the tables of `[[key]]`; there has to be one.
fn tables(table: &mut Table, key: &str) -> Result<Vec<Table>, String> {
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
fn layer(table: &Table, reserved: &[&str]) -> Result<Vec<Assignment>, String> {
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
fn overlay(assignments: &mut Vec<Assignment>, layer: &[Assignment]) {
    let tunes = |assignment: &Assignment| assignment.key.starts_with("tune.");
    if layer.iter().any(tunes) {
        assignments.retain(|assignment| !tunes(assignment));
    }
    assignments.extend_from_slice(layer);
}

/// A name as part of a path: small letters, digits and single dashes.
fn slug(name: &str) -> String {
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
fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for name in names {
        let slug = slug(name);
        if slug.is_empty() {
            return Err(format!("{what} '{name}' needs a name with a letter or digit"));
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

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "seeds = 2\n[settings]\nsteps = 2000\ntune.gamma = \"0.9:0.99\"\n[[task]]\ntask = \"CartPole-v1\"\n";

    fn plan(methods: &str) -> Result<Plan, String> {
        Plan::parse("test".to_string(), format!("{HEAD}{methods}"))
    }

    #[test]
    fn later_layers_win_and_replace_what_is_tuned() {
        let plan = plan(
            "[[method]]\nname = \"a\"\nsteps = 4000\n[[method]]\nname = \"b\"\ntune.learning_rate = \"paper:3\"\n\
             [method.hyper]\nhold = 7\n",
        )
        .unwrap();
        let cells = plan.cells(Path::new("out"));
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[1].directory, Path::new("out/CartPole-v1/a/seed-1"));
        assert_eq!((cells[1].config.run.steps, cells[1].config.run.seed), (4000, 1));
        assert_eq!(cells[0].config.tune[0].0, "gamma");
        assert_eq!((cells[2].config.run.steps, cells[2].config.tune.len()), (2000, 1));
        assert_eq!(cells[2].config.tune[0].0, "learning_rate");
        assert_eq!(cells[2].config.hyper.hold, epgt_hyper::Hold::Updates(7));
    }

    #[test]
    fn what_cannot_be_run_is_refused_in_one_sentence() {
        let refused = |methods: &str| plan(methods).err().unwrap();
        assert_eq!(refused(""), "nothing to run: add a [[method]]");
        assert_eq!(
            refused("[[method]]\nname = \"a\"\nhyper.holdd = 3\n"),
            "method 'a' on CartPole-v1: unknown setting 'hyper.holdd'; did you mean 'hyper.hold'?"
        );
        assert!(refused("[[methods]]\nname = \"a\"\n").contains("nothing to run"));
        assert!(refused("[[method]]\nname = \"a\"\n[metod]\n").contains("did you mean 'method'?"));
        assert!(refused("[[method]]\nname = \"a\"\nseed = 3\n").contains("use seeds and first_seed"));
        assert!(refused("[[method]]\nname = \"a b\"\n[[method]]\nname = \"A-b\"\n").contains("cannot be told apart"));
        assert!(refused("[[method]]\nname = \n").contains("line 8 is not valid TOML"));
    }

    #[test]
    fn a_changed_value_is_a_difference_and_a_changed_comment_is_not() {
        assert_eq!(difference("# old\na = 1\n", "# new\n# words\na = 1\n"), None);
        assert_eq!(difference("a = 1\n", "a = 2\n").unwrap(), "a = 1 there, a = 2 here");
        assert_eq!(difference("a = 1\n", "").unwrap(), "a = 1 there, nothing more here");
    }
}
