//! `epgt compare`: the scores of several directories of runs in one table per task, one row each.

use crate::Done;
use crate::args::CompareArgs;
use crate::output::{note, print};
use crate::report::runs::{self, Run};
use crate::report::tables::{Comparison, Summary, table};

/// The command.
pub fn run(args: &CompareArgs) -> Result<Done, String> {
    let (found, broken) = runs::find(&args.runs)?;
    broken
        .iter()
        .for_each(|sentence| note(&format!("left out: {sentence}")));
    let unfinished = found.iter().filter(|run| run.result.is_none()).count();
    if unfinished > 0 {
        let run = if unfinished == 1 { "run has" } else { "runs have" };
        note(&format!("left out: {unfinished} {run} not finished"));
    }
    let mut tasks: Vec<&str> = found.iter().map(|run| run.task.as_str()).collect();
    tasks.sort_by_cached_key(|task| runs::natural(task));
    tasks.dedup();
    let names: Vec<String> = args.runs.iter().map(|path| path.display().to_string()).collect();
    let mut text = String::new();
    for task in tasks {
        let summaries = summaries(args, &found, task, &names);
        if summaries.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{task}, {}\n\n", args.score.name()));
        text.push_str(&table(&summaries, 0, Comparison::EachOverReference).plain());
    }
    if text.is_empty() {
        let what = args.score.name();
        return Err(format!(
            "there is no finished run with a score ({what}) below {}",
            names.join(", ")
        ));
    }
    print(&text)?;
    Ok(Done::Completely)
}

/// One per directory with finished runs of the task.
fn summaries<'a>(args: &CompareArgs, found: &[Run], task: &str, names: &'a [String]) -> Vec<Summary<'a>> {
    let scores = |origin: usize| -> Vec<f64> {
        let own = found.iter().filter(|run| run.origin == origin && run.task == task);
        own.filter_map(|run| run.score(args.score)).collect()
    };
    let rows = names
        .iter()
        .enumerate()
        .map(|(at, name)| Summary::of(name, at, scores(at)));
    rows.filter(|summary| !summary.scores.is_empty()).collect()
}
