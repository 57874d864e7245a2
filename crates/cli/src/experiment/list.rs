//! `epgt experiment list` and `show`: what there is to be run, and what it takes.

use std::fmt::Write;
use std::path::Path;

use epgt_experiments::{Plan, State, library};
use epgt_report::text_table::TextTable;

use super::open;
use crate::args::PlaceArgs;
use crate::hyperparameters::tuned;
use crate::{Done, output};

/// Characters of a description in the list; `show` prints all of it.
const WIDTH: usize = 72;

/// Prints one line per experiment.
pub fn list() -> Result<Done, String> {
    let header = ["name", "tasks", "methods", "seeds", "steps", "runs", "what it shows"];
    let mut table = TextTable::new(&header);
    let mut unusable = String::new();
    for name in library::names() {
        match library::read(Path::new(&name), 1.0) {
            Ok(plan) => {
                table.row(&[
                    &name,
                    &plan.tasks.len().to_string(),
                    &plan.methods.len().to_string(),
                    &plan.seeds.to_string(),
                    &budget(&plan),
                    &plan.runs().to_string(),
                    &first_words(first_sentence(&plan.description), WIDTH),
                ]);
            }
            Err(sentence) => {
                let _ = writeln!(unusable, "{name} cannot be run: {sentence}");
            }
        }
    }
    output::print(&format!("{}{}", output::table(&table), output::filled(&unusable)))?;
    Ok(Done::Completely)
}

/// Prints all there is to know about one.
pub fn show(args: &PlaceArgs) -> Result<Done, String> {
    let (plan, out) = open(args)?;
    let mut text = format!("{}\n\n{}\n\n", plan.title(), output::filled(plan.description.trim()));
    let sentence = format!(
        "{} runs: {} tasks x {} methods x {} seeds ({} to {}), compared by the {} of {}.\n\n",
        plan.runs(),
        plan.tasks.len(),
        plan.methods.len(),
        plan.seeds,
        plan.first_seed,
        plan.first_seed + plan.seeds - 1,
        plan.statistic.name(),
        plan.score.name()
    );
    text.push_str(&output::filled(&sentence));
    let header = [
        "task",
        "method",
        "algo",
        "scheduler",
        "preset",
        "steps",
        "environments",
        "tuned",
    ];
    let mut table = TextTable::new(&header);
    for (task, id) in plan.tasks.iter().enumerate() {
        for (method, of) in plan.methods.iter().enumerate() {
            let config = plan.config(task, method);
            let run = &config.run;
            table.row(&[
                id,
                &of.name,
                run.algo.name(),
                run.scheduler.name(),
                run.preset.name(),
                &run.steps.to_string(),
                &run.n_envs.to_string(),
                &tuned(config),
            ]);
        }
    }
    text.push_str(&output::table(&table));
    let cost = cost(&plan, &out).unwrap_or_else(|error| format!("What it costs is not known: {error}."));
    let _ = writeln!(text, "\n{}", output::filled(&cost));
    let _ = writeln!(text, "\nThe file:\n\n{}", plan.text.trim_end());
    output::print(&text)?;
    Ok(Done::Completely)
}

/// What the runs cost, as far as finished ones tell: each open run counts like its method's on the same task.
fn cost(plan: &Plan, out: &Path) -> Result<String, String> {
    let methods = plan.methods.len();
    let mut spent = vec![(0u32, 0.0); plan.tasks.len() * methods];
    let cells = plan.cells(out);
    let mut open = Vec::new();
    for cell in &cells {
        let row = cell.task * methods + cell.method;
        match cell.state().map_err(output::told)? {
            State::Finished(result) => {
                spent[row].0 += 1;
                spent[row].1 += result.cpu_seconds;
            }
            _ => open.push(row),
        }
    }
    let done = cells.len() - open.len();
    let all: f64 = spent.iter().map(|(_, seconds)| seconds).sum();
    let left: f64 = open.iter().map(|&row| spent[row].1 / f64::from(spent[row].0)).sum();
    let place = out.display();
    Ok(match (done, left.is_nan()) {
        (0, _) => format!("What it costs is not known: no run is done in {place}."),
        (_, true) => format!(
            "{done} runs are done in {place} and took {} of CPU time; what the others take is not known yet.",
            duration(all)
        ),
        (_, false) => format!(
            "{done} runs are done in {place} and took {} of CPU time; the other {} take about {}.",
            duration(all),
            open.len(),
            duration(left)
        ),
    })
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 3600.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 60.0 => format!("{:.1} minutes", s / 60.0),
        s => format!("{s:.1} seconds"),
    }
}

/// Steps of a run: one number, or the least and the most of them.
fn budget(plan: &Plan) -> String {
    let each = (0..plan.tasks.len()).flat_map(|task| (0..plan.methods.len()).map(move |method| (task, method)));
    let steps: Vec<u64> = each.map(|(task, method)| plan.config(task, method).run.steps).collect();
    let short = |steps: u64| match steps {
        s if s >= 1_000_000 && s.is_multiple_of(100_000) => format!("{}M", s as f64 / 1e6),
        s if s >= 1000 && s.is_multiple_of(1000) => format!("{}k", s / 1000),
        s => s.to_string(),
    };
    match (steps.iter().min(), steps.iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{}-{}", short(*least), short(*most)),
        (Some(steps), _) => short(*steps),
        _ => String::new(),
    }
}

/// Up to the first full stop or colon that ends a clause.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = [". ", ".\n", ": "].iter().filter_map(|mark| text.find(mark)).min();
    end.map_or(text, |end| &text[..end]).trim_end_matches('.')
}

/// The first words of a text that fit a width.
fn first_words(text: &str, width: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        let gap = usize::from(!words.is_empty());
        if words.chars().count() + gap + word.chars().count() > width {
            return format!("{} ...", words.trim_end_matches([',', ';', ':']));
        }
        if gap > 0 {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_ends_at_its_stop_and_not_within_a_number() {
        assert_eq!(first_sentence("PPO at 0.5 of it: more. Then"), "PPO at 0.5 of it");
        assert_eq!(first_sentence("\nOne sentence.\nTwo."), "One sentence");
        assert_eq!(first_sentence("All of it."), "All of it");
    }

    #[test]
    fn a_long_description_is_cut_between_words() {
        assert_eq!(first_words("one two, three", 14), "one two, three");
        assert_eq!(first_words("one two, three", 13), "one two ...");
    }
}
