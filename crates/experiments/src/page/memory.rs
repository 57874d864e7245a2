//! The episodic memory on a map: its keys by t-SNE, coloured by value and by time (the paper's Fig. 5).

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use epgt_report::chart::{Figure, Panel, Scatter};
use epgt_report::tsne::tsne;
use epgt_train::{Remembered, remembered};

use super::figures::Picture;
use crate::groups::{Group, Task};
use crate::parallel::{in_turn, lock, threads};

/// Points of a map, and tasks and methods that get one.
const POINTS: usize = 1000;
const MAPS: usize = 12;

/// Fewer keys make no picture.
const LEAST: usize = 30;

/// The maps of the first run of each method with a memory, in the order of `tasks`, and a sentence for each checkpoint
/// that could not be read.
pub fn maps(tasks: &[Task]) -> (Vec<Vec<Picture>>, Vec<String>) {
    let mut jobs: Vec<(usize, &Task, &Group, Remembered)> = Vec::new();
    let mut problems = Vec::new();
    let groups = tasks
        .iter()
        .enumerate()
        .flat_map(|(at, task)| task.groups.iter().map(move |group| (at, task, group)));
    for (at, task, group) in groups.filter(|(_, _, group)| has_keys(group)) {
        if jobs.len() == MAPS {
            problems.push(format!("Only the first {MAPS} memories are shown."));
            break;
        }
        match remembered(&group.runs[0].record.directory) {
            Ok(Some(memory)) if memory.values.len() >= LEAST => jobs.push((at, task, group, memory)),
            Ok(_) => {}
            Err(error) => problems.push(format!(
                "The memory of {} on {} is not shown: {error}.",
                group.name, task.name
            )),
        }
    }
    let drawn: Mutex<Vec<Option<Picture>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    in_turn(threads(None, jobs.len()), jobs.len(), &AtomicBool::new(false), |turn| {
        let (_, task, group, memory) = &jobs[turn];
        let picture = map(task, group, memory);
        lock(&drawn)[turn] = Some(picture);
    });
    let mut figures: Vec<Vec<Picture>> = tasks.iter().map(|_| Vec::new()).collect();
    let drawn = drawn.into_inner().unwrap_or_default();
    for ((at, ..), picture) in jobs.iter().zip(drawn) {
        figures[*at].extend(picture);
    }
    (figures, problems)
}

/// Whether there is a memory with keys worth a map: the clock's are a line by construction.
fn has_keys(group: &Group) -> bool {
    let run = &group.runs[0].record;
    run.known_scheduler().is_some_and(|scheduler| scheduler.about().recalls)
        && run
            .settings
            .get("hyper.encoder")
            .is_none_or(|encoder| encoder != "clock")
}

/// One map in two colourings.
fn map(task: &Task, group: &Group, memory: &Remembered) -> Picture {
    let every = memory.values.len().div_ceil(POINTS).max(1);
    let kept: Vec<usize> = (0..memory.values.len()).step_by(every).collect();
    let key = |&slot: &usize| {
        memory.keys[slot * memory.key_dim..][..memory.key_dim]
            .iter()
            .map(|&x| f64::from(x))
    };
    let keys: Vec<f64> = kept.iter().flat_map(key).collect();
    let places = tsne(&keys, memory.key_dim);
    let values: Vec<f64> = kept.iter().map(|&slot| f64::from(memory.values[slot])).collect();
    let times: Vec<f64> = kept.iter().map(|&slot| memory.origins[slot] as f64).collect();
    let panel = |title: &str, label: &str, values: Vec<f64>| {
        Panel::Map(Scatter {
            title: title.to_string(),
            label: label.to_string(),
            points: places.clone(),
            values,
        })
    };
    let panels = vec![
        panel("keys by value", "stored value", values),
        panel("the same keys by time", "policy update", times),
    ];
    let title = format!("What {} remembers on {}", group.name, task.name);
    Picture::new(
        format!("keys-{}-{}", task.name, group.name),
        Figure {
            note: "keys of one run's memory, on a map that keeps neighbours together (t-SNE)".to_string(),
            ..Figure::of(title, panels)
        },
    )
}
