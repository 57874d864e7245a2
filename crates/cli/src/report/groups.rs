//! Runs by task and method. A method is named as its directory in an experiment; elsewhere by its algorithm, its scheduler, and
//! those settings in which it differs from others of the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::runs::{Measure, Run, natural};
use crate::output::file_name;

/// The runs of one method on one task.
#[derive(Clone, Debug)]
pub struct Group {
    /// The method's place among all methods, which gives it its colour.
    pub index: usize,
    pub name: String,
    pub runs: Vec<Run>,
}

impl Group {
    /// The scores of the finished runs.
    pub fn scores(&self, measure: Measure) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.score(measure)).collect()
    }
}

/// The runs of one task.
#[derive(Clone, Debug)]
pub struct Task {
    pub name: String,
    pub groups: Vec<Group>,
}

/// Everything that was found, in order.
#[derive(Clone, Debug)]
pub struct Collection {
    pub methods: Vec<String>,
    pub tasks: Vec<Task>,
}

/// Sorts the runs; `directories` are those that they were found below.
pub fn collect(runs: Vec<Run>, directories: &[PathBuf]) -> Collection {
    let names = names(&runs, directories);
    let mut methods: Vec<String> = names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    methods.sort_by_cached_key(|name| natural(name));
    let mut tasks: Vec<Task> = Vec::new();
    for (run, name) in runs.into_iter().zip(names) {
        let place = match tasks.iter().position(|task| task.name == run.task) {
            Some(place) => place,
            None => {
                let name = run.task.clone();
                tasks.push(Task {
                    name,
                    groups: Vec::new(),
                });
                tasks.len() - 1
            }
        };
        let index = methods.iter().position(|method| *method == name).unwrap_or(0);
        let groups = &mut tasks[place].groups;
        match groups.iter_mut().find(|group| group.index == index) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
                index,
                name,
                runs: vec![run],
            }),
        }
    }
    for task in &mut tasks {
        task.groups.sort_by_key(|group| group.index);
    }
    tasks.sort_by_cached_key(|task| natural(&task.name));
    Collection { methods, tasks }
}

/// The method of each run.
fn names(runs: &[Run], directories: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = runs
        .iter()
        .map(|run| experiment_name(run).unwrap_or_default())
        .collect();
    name_by_settings(runs, &mut names);
    // The same name below two of the directories is two methods.
    let mut origins: BTreeMap<(String, String), BTreeSet<usize>> = BTreeMap::new();
    for (run, name) in runs.iter().zip(&names) {
        origins
            .entry((run.task.clone(), name.clone()))
            .or_default()
            .insert(run.origin);
    }
    let clashes: BTreeSet<String> = origins
        .into_iter()
        .filter(|(_, origins)| origins.len() > 1)
        .map(|((_, name), _)| name)
        .collect();
    for (run, name) in runs.iter().zip(&mut names).filter(|(_, name)| clashes.contains(*name)) {
        // Runs named one by one with equal settings are seeds of one method.
        if run.directory != directories[run.origin] {
            *name = format!("{}: {name}", last_part(&directories[run.origin]));
        }
    }
    names
}

/// METHOD of `TASK/METHOD/seed-S`.
fn experiment_name(run: &Run) -> Option<String> {
    let is_seed = last_part(&run.directory).starts_with("seed-");
    let method = run.directory.parent()?;
    let task = method.parent()?;
    (is_seed && last_part(task) == file_name(&run.task)).then(|| last_part(method))
}

fn last_part(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Fills in the names that are still empty.
fn name_by_settings(runs: &[Run], names: &mut [String]) {
    let unnamed: Vec<usize> = (0..runs.len()).filter(|&at| names[at].is_empty()).collect();
    for &at in &unnamed {
        let own = &runs[at];
        let alike = unnamed
            .iter()
            .map(|&other| &runs[other])
            .filter(|other| (&other.task, &other.algo, &other.scheduler) == (&own.task, &own.algo, &own.scheduler));
        let mut differing: BTreeSet<&String> = BTreeSet::new();
        for other in alike {
            let keys = own.settings.keys().chain(other.settings.keys());
            differing.extend(keys.filter(|key| own.settings.get(*key) != other.settings.get(*key)));
        }
        let mut name = format!("{} {}", own.algo, own.scheduler);
        for key in differing.into_iter().take(3) {
            let bare = key.rsplit('.').next().unwrap_or(key);
            let value = own.settings.get(key).map_or("-", String::as_str);
            name.push_str(&format!(" {bare}={value}"));
        }
        names[at] = name;
    }
}
