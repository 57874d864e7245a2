//! What the methods were set to, what they cost, and what made the report.

use std::collections::BTreeSet;

use epgt_hyper::{Axis, Grid};
use epgt_report::numbers::short;
use epgt_report::statistics::mean;
use epgt_report::text_table::TextTable;
use epgt_settings::shortened;
use epgt_train::population::PopulationKind;
use epgt_train::usage::cpu_model;
use epgt_train::{Marker, Scheduler, version};

use crate::groups::Task;
use crate::runs::Run;

/// The settings in which the methods of a task differ; `None` where there are none.
pub fn differences(task: &Task) -> Option<TextTable> {
    let first: Vec<&Run> = task.groups.iter().filter_map(|group| group.runs.first()).collect();
    let keys: BTreeSet<&String> = first.iter().flat_map(|run| run.record.settings.keys()).collect();
    let value = |run: &Run, key: &str| run.record.settings.get(key).cloned().unwrap_or_else(|| "-".to_string());
    let differs = |key: &&String| first.iter().any(|run| value(run, key) != value(first[0], key));
    let keys: Vec<&String> = keys.into_iter().filter(differs).collect();
    if first.len() < 2 {
        return None;
    }
    let mut header = vec!["method".to_string(), "algo".to_string(), "scheduler".to_string()];
    header.extend(keys.iter().map(|key| key.to_string()));
    let mut table = TextTable::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (group, run) in task.groups.iter().zip(&first) {
        let mut row = vec![
            group.name.clone(),
            run.record.algo.clone(),
            run.record.scheduler.clone(),
        ];
        row.extend(keys.iter().map(|key| value(run, key)));
        table.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    Some(table)
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

/// What a run schedules and the values of each, where a scheduler chooses among them; a rule such as `paper:7` does not
/// say how many there are.
pub fn scheduled(run: &Run) -> Option<String> {
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

/// The program and the machine that wrote the report, and those that made the runs. Nothing of it changes when the
/// report is written again.
pub fn colophon(tasks: &[Task]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let core = if cores == 1 { "core" } else { "cores" };
    format!(
        "Written by epgt {} on {} ({cores} {core}, {} {}). {}",
        version::description(),
        cpu_model(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        makers(tasks)
    )
}

/// One sentence on who made the runs, from what each of them keeps.
fn makers(tasks: &[Task]) -> String {
    let runs = tasks.iter().flat_map(|task| &task.groups).flat_map(|group| &group.runs);
    let (mut made, mut dates, mut silent) = (BTreeSet::new(), BTreeSet::new(), 0);
    for run in runs {
        match Marker::read(&run.record.directory) {
            Ok(Some(marker)) => {
                for process in marker.history {
                    let commit = process.commit.map_or(String::new(), |commit| format!(" ({commit})"));
                    made.insert(format!("epgt {}{commit} on {}", process.version, process.host));
                    dates.insert(process.date);
                }
            }
            _ => silent += 1,
        }
    }
    let mut text = String::new();
    if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
        let made: Vec<String> = made.into_iter().collect();
        text = format!("The runs were made by {}, from {first} to {last}.", made.join(", "));
    }
    if silent > 0 {
        text.push_str(&format!(" {silent} runs of earlier versions do not say who made them."));
    }
    text
}
