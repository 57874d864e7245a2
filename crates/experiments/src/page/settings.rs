//! What the methods were set to, what they cost, and who made them.

use std::collections::{BTreeMap, BTreeSet};

use epgt_hyper::{Axis, Grid};
use epgt_report::numbers::{counted, short};
use epgt_report::statistics::mean;
use epgt_report::text_table::TextTable;
use epgt_settings::{one_line, shortened};
use epgt_train::population::PopulationKind;
use epgt_train::{Marker, Scheduler};

use crate::groups::{Collection, Group, Task};
use crate::runs::Run;

/// Settings that are said in a sentence where all runs share them.
const TOLD: [&str; 5] = ["algo", "scheduler", "preset", "steps", "n_envs"];

/// Characters of a value that is shown among others.
const LONGEST_VALUE: usize = 80;

/// The first run of every method of a task, which stands for the others.
fn firsts(task: &Task) -> Vec<(&Group, &Run)> {
    task.groups
        .iter()
        .filter_map(|group| Some((group, group.runs.first()?)))
        .collect()
}

/// Every setting of a run, with its method and scheduler.
fn all_of(run: &Run) -> BTreeMap<String, String> {
    let mut all = run.record.settings.clone();
    all.insert("algo".to_string(), run.record.algo.clone());
    all.insert("scheduler".to_string(), run.record.scheduler.clone());
    all
}

/// The settings that all runs of all tasks share.
fn shared_settings(collection: &Collection) -> BTreeMap<String, String> {
    let mut runs = collection.tasks.iter().flat_map(firsts).map(|(_, run)| all_of(run));
    let mut shared = runs.next().unwrap_or_default();
    for other in runs {
        shared.retain(|key, value| other.get(key) == Some(value));
    }
    shared
}

/// What all runs share, in a sentence: the rest is in [`all_shared`].
pub fn shared(collection: &Collection) -> Option<String> {
    let shared = shared_settings(collection);
    let told = TOLD.iter().filter_map(|key| {
        let value = shortened(&one_line(shared.get(*key)?), LONGEST_VALUE);
        Some(match *key {
            "steps" => format!("{value} steps"),
            "n_envs" if value == "1" => "1 environment".to_string(),
            "n_envs" => format!("{value} environments"),
            key => format!("{key} {value}"),
        })
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("All runs: {}.", told.join(", ")))
}

/// Everything that all runs share, a line each.
pub fn all_shared(collection: &Collection) -> String {
    let lines = shared_settings(collection);
    lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// What is one click away of a method: a few words, and its whole settings on each task.
pub fn method(collection: &Collection, index: usize) -> (String, String) {
    let own = |task: &'_ Task| task.groups.iter().position(|group| group.index == index);
    let groups: Vec<(&Task, &Group)> = collection
        .tasks
        .iter()
        .filter_map(|task| own(task).map(|at| (task, &task.groups[at])))
        .collect();
    let runs: usize = groups.iter().map(|(_, group)| group.runs.len()).sum();
    let mut whole = String::new();
    for (task, group) in &groups {
        if let Some(run) = group.runs.first() {
            let lines = run.record.config_text.lines();
            let settings = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            whole.push_str(&format!("# {}, seed {}\n", task.name, one_line(&run.record.seed)));
            whole.extend(settings.map(|line| format!("{line}\n")));
        }
    }
    (counted(runs, "run", "runs"), whole)
}

/// The settings in which the methods of a task differ, a row per value; `None` where there are none.
pub fn differences(task: &Task) -> Option<TextTable> {
    let all: Vec<(&Group, BTreeMap<String, String>)> = firsts(task)
        .into_iter()
        .map(|(group, run)| (group, all_of(run)))
        .collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(|(_, settings)| settings.keys()).collect();
    let mut table = TextTable::new(&["setting", "value", "methods"]);
    let mut any = false;
    for key in keys {
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for (group, settings) in &all {
            let value = settings.get(key).map_or("-", String::as_str);
            match by_value.iter_mut().find(|(other, _)| *other == value) {
                Some((_, methods)) => methods.push(&group.name),
                None => by_value.push((value, vec![&group.name])),
            }
        }
        if by_value.len() < 2 {
            continue;
        }
        any = true;
        for (value, methods) in by_value {
            table.row(&[key, &shortened(&one_line(value), LONGEST_VALUE), &methods.join(", ")]);
        }
    }
    any.then_some(table)
}

/// More values of a hyperparameter are not told one by one.
const MOST_VALUES: usize = 100;

fn size(grid: &Grid) -> usize {
    match grid {
        Grid::Paper(count) => *count,
        Grid::Around { count, .. } | Grid::Log { count, .. } | Grid::Uniform { count, .. } => *count,
        Grid::List(values) => values.len(),
    }
}

/// A sentence for everything that methods of a task schedule, with the methods that schedule the same.
pub fn scheduled(task: &Task) -> Vec<String> {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (group, run) in firsts(task) {
        let Some(choices) = choices(run) else { continue };
        match told.iter_mut().find(|(other, _)| *other == choices) {
            Some((_, methods)) => methods.push(&group.name),
            None => told.push((choices, vec![&group.name])),
        }
    }
    let sentence = |(choices, methods): (String, Vec<&str>)| {
        let verb = if methods.len() == 1 { "schedules" } else { "schedule" };
        format!("{} {verb} {choices}.", methods.join(", "))
    };
    told.into_iter().map(sentence).collect()
}

/// What a run schedules and the values of each, where a scheduler chooses among them; a rule such as `paper:7` does not
/// say how many there are.
fn choices(run: &Run) -> Option<String> {
    // These take no value, any value, or those that a copy was multiplied to.
    let chooses_none = |scheduler: Scheduler| {
        let exchanges = scheduler.population().is_some_and(PopulationKind::exchanges);
        scheduler.is_fixed() || scheduler.is_rule() || exchanges
    };
    if run.record.known_scheduler().is_some_and(chooses_none) {
        return None;
    }
    let tuned = run.record.settings.iter().filter_map(|(key, grid)| {
        let name = key.strip_prefix("tune.")?;
        let default = run
            .record
            .settings
            .get(&format!("{}.{name}", run.record.algo))?
            .parse()
            .ok()?;
        let grid_of = Grid::parse(grid).ok().filter(|grid| size(grid) <= MOST_VALUES)?;
        let axis = Axis::new(name, default, &grid_of, false).ok()?;
        let values: Vec<String> = axis.values.iter().map(|&value| short(value)).collect();
        Some(format!("{name} ({grid}) among {}", values.join(", ")))
    });
    let told: Vec<String> = tuned.collect();
    (!told.is_empty()).then(|| shortened(&told.join("; "), 1000))
}

/// What the finished runs of every method took, on average; it depends on what else the machine was doing. Nothing
/// where none has finished.
pub fn costs(tasks: &[Task]) -> Option<TextTable> {
    let mut any = false;
    let mut table = TextTable::new(&[
        "task",
        "method",
        "runs",
        "steps",
        "CPU seconds",
        "steps per CPU second",
        "peak MB of the process",
    ]);
    for task in tasks {
        for group in &task.groups {
            let results: Vec<_> = group.runs.iter().filter_map(|run| run.record.result.as_ref()).collect();
            let average = |of: &dyn Fn(&epgt_train::RunResult) -> f64| {
                mean(&results.iter().map(|result| of(result)).collect::<Vec<_>>())
            };
            if results.is_empty() {
                continue;
            }
            any = true;
            let (steps, seconds) = (average(&|r| r.steps as f64), average(&|r| r.cpu_seconds));
            table.row(&[
                &task.name,
                &group.name,
                &results.len().to_string(),
                &format!("{steps:.0}"),
                &format!("{seconds:.2}"),
                &match steps / seconds {
                    speed if speed.is_finite() => format!("{speed:.0}"),
                    _ => "-".to_string(),
                },
                &format!("{:.1}", average(&|r| r.peak_memory_mb)),
            ]);
        }
    }
    any.then_some(table)
}

/// One sentence on who made the runs, from what each of them keeps.
pub fn makers(tasks: &[Task]) -> String {
    let (mut made, mut dates, mut silent) = (BTreeSet::new(), BTreeSet::new(), 0);
    for marker in markers(tasks) {
        match marker {
            Some(marker) => {
                for process in marker.history {
                    made.insert(format!("{} on {}", process.program(), process.machine()));
                    dates.insert(process.date);
                }
            }
            None => silent += 1,
        }
    }
    let mut text = String::new();
    if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
        let made: Vec<String> = made.into_iter().collect();
        text = format!("The runs were made by {}, from {first} to {last}.", made.join(", "));
    }
    if silent > 0 {
        let runs = counted(silent, "run of an earlier version does", "runs of earlier versions do");
        text.push_str(&format!(" {runs} not say who made them."));
    }
    text
}

/// The commands that make the runs again, in the order in which they were given, since one may need what another has
/// made; at the end the one that wrote the report.
pub fn commands(tasks: &[Task], own: &str) -> Vec<String> {
    let mut begun: Vec<(String, String)> = Vec::new();
    let mut silent = 0;
    for marker in markers(tasks) {
        // Those after the first went on with what that one had begun.
        match marker.and_then(|marker| marker.history.into_iter().next()) {
            Some(first) => begun.push((first.date, first.command)),
            None => silent += 1,
        }
    }
    begun.sort_by(|one, other| one.0.cmp(&other.0));
    let mut commands: Vec<String> = Vec::new();
    for (_, command) in begun {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    if silent > 0 {
        let runs = counted(silent, "run of an earlier version does", "runs of earlier versions do");
        commands.push(format!("# {runs} not say by which command"));
    }
    if !commands.iter().any(|command| command == own) {
        commands.push(own.to_string());
    }
    commands
}

/// What each run's directory says of who made it.
fn markers(tasks: &[Task]) -> impl Iterator<Item = Option<Marker>> {
    let runs = tasks.iter().flat_map(|task| &task.groups).flat_map(|group| &group.runs);
    runs.map(|run| Marker::read(&run.record.directory).ok().flatten())
}
