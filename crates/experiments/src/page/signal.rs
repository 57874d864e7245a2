//! How much the returns of a task's runs say of what was scheduled.

use epgt_hyper::Choice;
use epgt_report::signal::Evidence;

use crate::groups::{Group, Task};

/// A sentence for every method and hyperparameter: F over all its runs, and what one run of them can know. Methods that
/// choose nothing have none.
pub fn sentences(task: &Task) -> Vec<String> {
    let of_group = |group: &Group| -> Vec<String> {
        let scheduled = group.runs.first().map(|run| run.record.scheduled()).unwrap_or_default();
        let told = scheduled.iter().filter_map(|name| sentence(group, name));
        told.collect()
    };
    task.groups.iter().flat_map(of_group).collect()
}

fn sentence(group: &Group, name: &str) -> Option<String> {
    let (mut evidence, mut steps, mut random) = (Vec::new(), 0.0, true);
    for run in &group.runs {
        let mut tried = run.record.tried(name);
        tried.retain(|decision| decision.is_choice());
        let of_run = Evidence::of(tried.iter().map(|decision| (decision.value, decision.improvement)));
        if let Some(of_run) = of_run {
            evidence.push(of_run);
            steps += run.steps();
            random &= tried.iter().all(|decision| decision.choice == Choice::Random);
        }
    }
    let all = Evidence::pooled(&evidence)?;
    let caveat = match random {
        true => "",
        false => " Choices were not drawn at random: this is what was seen, not what was caused.",
    };
    Some(format!(
        "{}, {name}: F = {:.2} (chance alone reaches {:.2}). {}{caveat}",
        group.name,
        all.f,
        all.chance(),
        all.sentence(name, steps)
    ))
}
