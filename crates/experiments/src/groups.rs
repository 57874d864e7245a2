//! Runs by task and method: the one place that says which runs belong together, for reports, comparisons and
//! experiments.
//!
//! Runs are of one method where everything that decides their results is the same but for the seed
//! ([`settings`](epgt_train::record::settings)). Two things keep runs apart besides: an experiment's directories
//! `TASK/METHOD/seed-S` name the method, and directories of runs that the user names one by one are what is to be
//! compared. A seed counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use epgt_settings::{one_line, shortened};
use epgt_train::record::natural;

use crate::layers::file_name;
use crate::measure::Measure;
use crate::runs::Run;

/// Settings that a name says wherever methods of one task differ in them.
const LEADING: [&str; 4] = ["algo", "scheduler", "preset", "steps"];

/// Other settings of which a name says all where methods differ in no more.
const SAID: usize = 3;

/// Characters of a value in a name.
const LONGEST_VALUE: usize = 40;

/// The runs of one method on one task, one per seed.
#[derive(Clone, Debug)]
pub struct Group {
    /// The method's place among all methods, which gives it its colour.
    pub index: usize,
    /// The method's name, made of what sets it apart from the others.
    pub name: String,
    /// Its runs, in the order of their seeds.
    pub runs: Vec<Run>,
}

impl Group {
    /// The scores of the finished runs.
    pub fn scores(&self, measure: Measure) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.score(measure)).collect()
    }

    /// Episodes of the finished runs.
    pub fn episodes(&self) -> impl Iterator<Item = u64> {
        let results = self.runs.iter().filter_map(|run| run.record.result.as_ref());
        results.map(|result| result.episodes)
    }
}

/// The runs of one task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id, with those of its options that differ from others of the same id.
    pub name: String,
    /// The methods that have runs on it.
    pub groups: Vec<Group>,
}

impl Task {
    /// What a measure is on this task.
    pub fn measure(&self, measure: Measure) -> String {
        measure.title_for(self.groups.iter().flat_map(Group::episodes))
    }
}

/// Everything that was found, in order.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The names of all methods.
    pub methods: Vec<String>,
    /// The runs by task and method.
    pub tasks: Vec<Task>,
    /// A sentence for each run that is left out because its seed is there already.
    pub twice: Vec<String>,
}

/// What runs of one method on one task share; the first of them stands for it.
struct Method {
    /// The task with its options.
    task: (String, BTreeMap<String, String>),
    /// As an experiment's directory names it.
    named: Option<String>,
    /// The directory of runs that it was found below; not for runs that are named one by one.
    origin: Option<usize>,
    runs: Vec<Run>,
}

impl Method {
    fn of(run: Run, directories: &[PathBuf]) -> Self {
        let options = run.record.settings.iter().filter(|(key, _)| key.starts_with("env."));
        let options = options.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self {
            task: (run.record.task.clone(), options),
            named: experiment_name(&run),
            origin: (run.record.directory != directories[run.origin]).then_some(run.origin),
            runs: vec![run],
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.task, &self.named, self.origin) == (&other.task, &other.named, other.origin)
            && configuration(self) == configuration(other)
    }

    fn value(&self, key: &str) -> &str {
        let run = &self.runs[0];
        match key {
            "algo" => &run.record.algo,
            "scheduler" => &run.record.scheduler,
            key => run.record.settings.get(key).map_or("-", String::as_str),
        }
    }
}

/// Sorts the runs; `directories` are those that they were found below.
pub fn collect(runs: Vec<Run>, directories: &[PathBuf]) -> Collection {
    let mut methods: Vec<Method> = Vec::new();
    for run in runs {
        let mut found = Method::of(run, directories);
        match methods.iter_mut().find(|method| method.is_of(&found)) {
            Some(method) => method.runs.append(&mut found.runs),
            None => methods.push(found),
        }
    }
    let twice: Vec<String> = methods
        .iter_mut()
        .flat_map(|method| keep_one_per_seed(&mut method.runs))
        .collect();
    let names = names(&methods, directories);
    let mut known: Vec<String> = names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    known.sort_by_cached_key(|name| natural(name));
    let task_names = task_names(&methods);
    let mut tasks: Vec<Task> = Vec::new();
    for ((method, name), task_name) in methods.into_iter().zip(names).zip(task_names) {
        let place = match tasks.iter().position(|task| task.name == task_name) {
            Some(place) => place,
            None => {
                tasks.push(Task {
                    name: task_name,
                    groups: Vec::new(),
                });
                tasks.len() - 1
            }
        };
        let index = known.iter().position(|known| *known == name).unwrap_or(0);
        tasks[place].groups.push(Group {
            index,
            name,
            runs: method.runs,
        });
    }
    for task in &mut tasks {
        task.groups.sort_by_key(|group| group.index);
    }
    tasks.sort_by_cached_key(|task| natural(&task.name));
    Collection {
        methods: known,
        tasks,
        twice,
    }
}

/// Keeps the run of each seed that finished last, or has come furthest where none has finished; a sentence for each
/// other.
fn keep_one_per_seed(runs: &mut Vec<Run>) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut kept: Vec<Run> = Vec::new();
    for run in runs.drain(..) {
        let Some(same) = kept.iter_mut().find(|other| other.record.seed == run.record.seed) else {
            kept.push(run);
            continue;
        };
        let rank = |run: &Run| (run.record.result.is_some(), run.record.finished, run.steps() as u64);
        let other = match rank(&run) > rank(same) {
            true => std::mem::replace(same, run),
            false => run,
        };
        let hash = |run: &Run| run.record.result.as_ref().map(|result| result.policy_sha256.clone());
        let why = match (hash(same), hash(&other)) {
            (Some(a), Some(b)) if a == b => "which ended with the same policy",
            (Some(_), Some(_)) => "which finished last, with another policy",
            (Some(_), None) => "which has finished",
            _ => "which has come further",
        };
        sentences.push(format!(
            "{} repeats seed {} of {}, {why}; a seed counts once",
            other.record.directory.display(),
            one_line(&other.record.seed),
            same.record.directory.display()
        ));
    }
    kept.sort_by_cached_key(|run| natural(&run.record.seed));
    *runs = kept;
    sentences
}

/// The task of each method: its id, with those of its options that differ from others of the same id.
fn task_names(methods: &[Method]) -> Vec<String> {
    let name = |method: &Method| {
        let (id, options) = &method.task;
        let others = || methods.iter().map(|other| &other.task).filter(|task| task.0 == *id);
        let keys: BTreeSet<&String> = others().flat_map(|task| task.1.keys()).collect();
        let differs = |key: &&&String| others().any(|task| task.1.get(**key) != options.get(**key));
        let value = |key: &&String| options.get(*key).map_or("default", String::as_str);
        let told: Vec<String> = keys
            .iter()
            .filter(differs)
            .map(|key| format!("{} = {}", bare(key), shortened(value(key), LONGEST_VALUE)))
            .collect();
        match told.is_empty() {
            true => shortened(&one_line(id), 2 * LONGEST_VALUE),
            false => format!("{} ({})", shortened(&one_line(id), 2 * LONGEST_VALUE), told.join(", ")),
        }
    };
    let mut names: Vec<String> = methods.iter().map(name).collect();
    number_equals(&mut names, |a, b| methods[a].task == methods[b].task);
    names
}

/// The name of each method: no two on a task have the same, and the same on two tasks is the same method.
fn names(methods: &[Method], directories: &[PathBuf]) -> Vec<String> {
    let same_task = |a: usize, b: usize| methods[a].task == methods[b].task;
    let mut parts: Vec<Vec<String>> = methods
        .iter()
        .map(|method| method.named.iter().cloned().collect())
        .collect();
    // What sets methods of one task apart is said everywhere, so that a method has one name on all tasks.
    let loose: Vec<usize> = (0..methods.len()).filter(|&at| methods[at].named.is_none()).collect();
    for key in LEADING {
        let differs = |a: usize| {
            loose
                .iter()
                .any(|&b| same_task(a, b) && methods[a].value(key) != methods[b].value(key))
        };
        if loose.iter().any(|&at| differs(at)) {
            for &at in &loose {
                parts[at].push(said(key, methods[at].value(key)));
            }
        }
    }
    // Those that still have the same name differ in other settings, or in the directory that they are from.
    let base: Vec<String> = parts.iter().map(|parts| parts.join(" ")).collect();
    for at in 0..methods.len() {
        let alike: Vec<usize> = (0..methods.len())
            .filter(|&other| same_task(at, other) && base[other] == base[at])
            .collect();
        parts[at].extend(differences(methods, at, &alike));
        let equal = |other: &&usize| **other != at && configuration(&methods[**other]) == configuration(&methods[at]);
        if alike.iter().any(|other| equal(&other))
            && let Some(origin) = methods[at].origin
        {
            parts[at].insert(0, directory_name(origin, directories));
        }
    }
    let fallback = |(parts, method): (Vec<String>, &Method)| match parts.is_empty() {
        true => format!(
            "{} {}",
            one_line(method.value("algo")),
            one_line(method.value("scheduler"))
        ),
        false => parts.join(" "),
    };
    let mut names: Vec<String> = parts.into_iter().zip(methods).map(fallback).collect();
    number_equals(&mut names, |a, b| !same_task(a, b));
    names
}

fn configuration(method: &Method) -> (&str, &str, &BTreeMap<String, String>) {
    (
        method.value("algo"),
        method.value("scheduler"),
        &method.runs[0].record.settings,
    )
}

/// What sets a method apart from those that are alike: all settings that differ where they are few, else as few as tell
/// them apart, and how many more there are.
fn differences(methods: &[Method], at: usize, alike: &[usize]) -> Vec<String> {
    let own = &methods[at];
    let keys: BTreeSet<&str> = alike
        .iter()
        .flat_map(|&other| methods[other].runs[0].record.settings.keys().map(String::as_str))
        .chain(LEADING)
        .collect();
    let differ = |key: &&str| alike.iter().any(|&other| methods[other].value(key) != own.value(key));
    let differing: Vec<&str> = keys.into_iter().filter(differ).collect();
    let chosen = match differing.len() <= SAID {
        true => differing.clone(),
        false => telling_apart(methods, alike, &differing),
    };
    let more = match differing.len() - chosen.len() {
        0 => None,
        more => Some(format!("(+{more})")),
    };
    let ambiguous = |key: &str| differing.iter().filter(|other| bare(other) == bare(key)).count() > 1;
    let told = |key: &&str| match ambiguous(key) {
        true => format!("{key}={}", value(own.value(key))),
        false => said(key, own.value(key)),
    };
    chosen.iter().map(told).chain(more).collect()
}

/// Some of the settings, such that methods that differ in any of them look different: first the one that tells the most
/// pairs apart, and so on.
fn telling_apart<'a>(methods: &[Method], alike: &[usize], differing: &[&'a str]) -> Vec<&'a str> {
    let shown = |method: usize, key: &str| value(methods[method].value(key));
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (index, &one) in alike.iter().enumerate() {
        open.extend(alike[..index].iter().map(|&other| (one, other)));
    }
    let mut chosen = Vec::new();
    loop {
        let told = |key: &str| open.iter().filter(|(a, b)| shown(*a, key) != shown(*b, key)).count();
        // The first of those that tell most.
        let Some(&best) = differing
            .iter()
            .rev()
            .max_by_key(|key| told(key))
            .filter(|key| told(key) > 0)
        else {
            break;
        };
        open.retain(|(a, b)| shown(*a, best) == shown(*b, best));
        chosen.push(best);
    }
    chosen
}

/// A setting in a name: the algorithm and the scheduler speak for themselves, and the policy that a run begins with has
/// the name of its run.
fn said(key: &str, text: &str) -> String {
    match (key, text) {
        ("algo" | "scheduler", text) => value(text),
        (key, "") => format!("no {}", bare(key)),
        ("init", path) => format!("init={}", value(&run_of(Path::new(path)))),
        (key, text) => format!("{}={}", bare(key), value(text)),
    }
}

/// The last part of the path of a run, or of the run that a policy file lies in.
fn run_of(path: &Path) -> String {
    let folder = path.extension().and(path.parent()).and_then(Path::file_name);
    let name = folder.or(path.file_name());
    name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn value(text: &str) -> String {
    shortened(&one_line(text), LONGEST_VALUE)
}

fn bare(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Numbers names that are equal although they should not be, as values that differ beyond their beginning make them.
fn number_equals(names: &mut [String], may_be_equal: impl Fn(usize, usize) -> bool) {
    for at in 0..names.len() {
        let plain = names[at].clone();
        let mut number = 1;
        while (0..at).any(|other| names[other] == names[at] && !may_be_equal(other, at)) {
            number += 1;
            names[at] = format!("{plain} ({number})");
        }
    }
}

/// A directory's last part, or all of it where another one of the same name was given.
fn directory_name(origin: usize, directories: &[PathBuf]) -> String {
    let own = last_part(&directories[origin]);
    match directories.iter().filter(|other| last_part(other) == own).count() {
        1 => own,
        _ => directories[origin].display().to_string(),
    }
}

/// METHOD of `TASK/METHOD/seed-S`.
fn experiment_name(run: &Run) -> Option<String> {
    let whole = run.record.directory.canonicalize().ok()?;
    let is_seed = last_part(&whole).starts_with("seed-");
    let method = whole.parent()?;
    (is_seed && last_part(method.parent()?) == file_name(&run.record.task)).then(|| last_part(method))
}

fn last_part(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_equal_and_should_not_be_are_numbered() {
        let mut names = ["a", "b", "a", "a (2)", "a"].map(String::from);
        number_equals(&mut names, |a, b| (a, b) == (0, 4));
        assert_eq!(names, ["a", "b", "a (2)", "a (2) (2)", "a"]);
    }

    #[test]
    fn a_setting_is_said_in_few_words() {
        for (key, value, words) in [
            ("scheduler", "epgt", "epgt"),
            ("a2c.gamma", "0.9", "gamma=0.9"),
            ("init", "", "no init"),
            (
                "init",
                "/home/me/runs/CartPole-v1-a2c-epgt-s0",
                "init=CartPole-v1-a2c-epgt-s0",
            ),
            ("init", "runs/first/best.safetensors", "init=first"),
            ("init", "best.safetensors", "init=best.safetensors"),
            ("init", "/", "init=/"),
        ] {
            assert_eq!(said(key, value), words);
        }
    }

    #[test]
    fn a_directory_is_named_by_its_last_part_unless_another_has_the_same() {
        let directories = ["x/runs", "y/runs", "z/other"].map(PathBuf::from);
        assert_eq!(directory_name(2, &directories), "other");
        assert_eq!(directory_name(1, &directories), "y/runs");
    }
}
