//! `epgt compare`: the scores of runs in one table per task, one row per method, each against the first.

use epgt_experiments::comparison::{Comparison, Summary, table};
use epgt_experiments::groups::{self, Group};
use epgt_experiments::runs;

use crate::Done;
use crate::args::CompareArgs;
use crate::output::{self, note, print};

/// The command.
pub fn run(args: &CompareArgs) -> Result<Done, String> {
    let (found, broken) = runs::find(&args.runs).map_err(output::told)?;
    let collection = groups::collect(found, &args.runs);
    for sentence in broken.iter().chain(&collection.twice) {
        note(&format!("left out: {sentence}"));
    }
    let all = || collection.tasks.iter().flat_map(|task| &task.groups);
    let unfinished = all()
        .flat_map(|group| &group.runs)
        .filter(|run| run.record.result.is_none())
        .count();
    if unfinished > 0 {
        let run = if unfinished == 1 { "run has" } else { "runs have" };
        note(&format!("left out: {unfinished} {run} not finished"));
    }
    let mut text = String::new();
    for task in &collection.tasks {
        // What was named first is what the others are held against.
        let mut groups: Vec<&Group> = task.groups.iter().collect();
        groups.sort_by_key(|group| group.runs.iter().map(|run| run.origin).min());
        let summaries: Vec<Summary<'_>> = groups
            .iter()
            .map(|group| Summary::of(&group.name, group.index, group.scores(args.score)))
            .filter(|summary| !summary.scores.is_empty())
            .collect();
        if summaries.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        let heading = format!("{}, {}", task.name, task.measure(args.score));
        text.push_str(&format!("{gap}{}\n\n", output::filled(&heading)));
        text.push_str(&output::table(&table(&summaries, 0, Comparison::EachOverReference)));
    }
    if text.is_empty() {
        let what = args.score.title();
        let names: Vec<String> = args.runs.iter().map(|path| path.display().to_string()).collect();
        return Err(format!(
            "there is no finished run with a score ({what}) below {}",
            names.join(", ")
        ));
    }
    print(&text)?;
    Ok(Done::Completely)
}
