//! What the runs of an experiment say: one table per task, and the claim it bears.
//!
//! Two numbers stand beside the score. The area under the learning curve is the mean over training of the return of the last
//! hundred episodes, which is far less noisy than its end. F tells whether the hyper-action explains anything of the
//! improvement that followed (about 1: nothing), without which no difference can be credited to the scheduling.

use std::fmt::Write;

use epgt_report::statistics::{
    Interval, RESAMPLES, bootstrap_interval, interquartile_mean, mean, median, standard_deviation,
};
use epgt_report::text_table::TextTable;
use epgt_train::RunResult;
use epgt_train::table::read_csv;

use super::End;
use super::plan::{Cell, Plan, Score};

/// A bootstrap interval of fewer scores is too narrow to rest a claim on.
const LEAST_SEEDS: usize = 5;

/// One finished run.
pub struct Row {
    pub task: usize,
    pub method: usize,
    pub result: RunResult,
    pub auc: Option<f64>,
    pub f_statistic: Option<f64>,
    /// Steps after which the training return first was at the threshold.
    pub reached: Option<f64>,
}

/// For whom a report is laid out.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    Plain,
    Markdown,
}

/// The number of a run that methods are compared by.
pub fn score(score: Score, result: &RunResult) -> Option<f64> {
    match score {
        Score::ReturnLast100 => result.return_last_100,
        Score::BestEvaluation => result.best_evaluation,
    }
}

/// The finished runs with what their metrics say.
pub fn rows(plan: &Plan, cells: &[Cell], ends: &[End]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (cell, end) in cells.iter().zip(ends) {
        let End::Finished(result) = end else { continue };
        let metrics = read_csv(cell.directory.join("metrics.csv")).map_err(|error| error.to_string())?;
        let column = |name: &str| metrics.numbers(name).map_err(|error| error.to_string());
        let (steps, returns) = (column("time/total_timesteps")?, column("rollout/ep_rew_mean")?);
        rows.push(Row {
            task: cell.task,
            method: cell.method,
            result: result.clone(),
            auc: area(&steps, &returns),
            reached: plan
                .threshold
                .and_then(|threshold| first_at(&steps, &returns, threshold)),
            f_statistic: column("hyper/f_statistic")?.into_iter().rfind(|f| f.is_finite()),
        });
    }
    Ok(rows)
}

/// The mean of a curve over the steps, each value standing for those since the row before; what is missing is left out.
fn area(steps: &[f64], values: &[f64]) -> Option<f64> {
    let (mut sum, mut weight, mut before) = (0.0, 0.0, 0.0);
    for (&step, &value) in steps.iter().zip(values) {
        if value.is_finite() {
            sum += (step - before) * value;
            weight += step - before;
        }
        before = step;
    }
    (weight > 0.0).then(|| sum / weight)
}

/// Where a curve first is at a threshold.
fn first_at(steps: &[f64], values: &[f64], threshold: f64) -> Option<f64> {
    let mut points = steps.iter().zip(values);
    points.find(|(_, value)| **value >= threshold).map(|(step, _)| *step)
}

/// What one method reached on one task.
struct Summary<'a> {
    name: &'a str,
    group: Option<&'a str>,
    scores: Vec<f64>,
    /// All seeds of the experiment are among the scores.
    complete: bool,
    mean: f64,
    interval: Interval,
    aucs: Vec<f64>,
    f_statistics: Vec<f64>,
    /// Steps to the threshold; those of the whole run where it was not reached.
    reached: Vec<f64>,
    /// Runs that reached it.
    reaching: usize,
}

fn summaries<'a>(plan: &'a Plan, rows: &[Row], task: usize) -> Vec<Summary<'a>> {
    let summary = |(index, method): (usize, &'a super::plan::Method)| {
        let own = || rows.iter().filter(move |row| (row.task, row.method) == (task, index));
        let scores: Vec<f64> = own().filter_map(|row| score(plan.score, &row.result)).collect();
        Summary {
            name: &method.name,
            group: method.group.as_deref(),
            complete: scores.len() as u64 == plan.seeds,
            mean: mean(&scores),
            interval: bootstrap_interval(&scores, RESAMPLES, 0),
            aucs: own().filter_map(|row| row.auc).collect(),
            f_statistics: own().filter_map(|row| row.f_statistic).collect(),
            reached: own()
                .map(|row| row.reached.unwrap_or(row.result.steps as f64))
                .collect(),
            reaching: own().filter(|row| row.reached.is_some()).count(),
            scores,
        }
    };
    plan.methods.iter().enumerate().map(summary).collect()
}

/// The tables of all tasks, each with the sentence that it bears.
pub fn report(plan: &Plan, rows: &[Row], style: Style) -> String {
    let mut text = String::new();
    let lay_out = |table: &TextTable| match style {
        Style::Plain => table.plain(),
        Style::Markdown => table.markdown(),
    };
    for (index, task) in plan.tasks.iter().enumerate() {
        let summaries = summaries(plan, rows, index);
        let gap = if index > 0 { "\n" } else { "" };
        let _ = match style {
            Style::Plain => writeln!(text, "{gap}{task}, {}\n", plan.score.name()),
            Style::Markdown => writeln!(text, "{gap}## {task}\n"),
        };
        text.push_str(&lay_out(&comparison(plan, &summaries)));
        let _ = writeln!(text, "\n{}", verdict(&summaries));
        if let Some(table) = groups(plan, &summaries) {
            let _ = write!(text, "\n{}", lay_out(&table));
        }
    }
    text
}

fn comparison(plan: &Plan, summaries: &[Summary<'_>]) -> TextTable {
    let steps_to = plan.threshold.map(|threshold| format!("steps to {threshold}"));
    let mut header = vec![
        "method",
        "seeds",
        "mean",
        "sd",
        "95% interval",
        "median",
        "IQM",
        "best",
        "AUC",
        "AUC 95% interval",
        "F",
    ];
    if let Some(steps_to) = &steps_to {
        header.extend([steps_to, "95% interval", "runs there"]);
    }
    let mut table = TextTable::new(&header);
    for summary in summaries {
        let scores = &summary.scores;
        let seeds = match summary.complete {
            true => scores.len().to_string(),
            false => format!("{} of {}", scores.len(), plan.seeds),
        };
        let mut fields = vec![
            summary.name.to_string(),
            seeds,
            number(summary.mean),
            number(standard_deviation(scores)),
            range(summary.interval),
            number(median(scores)),
            number(interquartile_mean(scores)),
            number(scores.iter().copied().fold(f64::NAN, f64::max)),
            number(mean(&summary.aucs)),
            range(bootstrap_interval(&summary.aucs, RESAMPLES, 0)),
            number(mean(&summary.f_statistics)),
        ];
        if steps_to.is_some() {
            // Runs that never came there count with all their steps, so that the mean is too small rather than too large.
            let at_least = if summary.reaching < summary.reached.len() {
                "> "
            } else {
                ""
            };
            let interval = bootstrap_interval(&summary.reached, RESAMPLES, 0);
            fields.push(format!("{at_least}{:.0}", mean(&summary.reached)));
            fields.push(format!("[{:.0}, {:.0}]", interval.low, interval.high));
            fields.push(format!("{} of {}", summary.reaching, summary.reached.len()));
        }
        table.row(&fields.iter().map(String::as_str).collect::<Vec<_>>());
    }
    table
}

/// Each group's mean over its methods, as a share of the reference group's best method: with a group of starts that are off
/// by some factor, the tuning-free score (1: as good as the best start, whatever the start).
fn groups(plan: &Plan, summaries: &[Summary<'_>]) -> Option<TextTable> {
    let reference = plan.reference.as_deref()?;
    let in_reference = summaries.iter().filter(|summary| summary.group == Some(reference));
    let best = in_reference.map(|summary| summary.mean).fold(f64::NAN, f64::max);
    let best = if best > 0.0 { best } else { f64::NAN };
    let share = format!("mean / best {reference}");
    let mut table = TextTable::new(&["group", "methods", &share, "95% interval"]);
    let mut names: Vec<&str> = Vec::new();
    for name in summaries.iter().filter_map(|summary| summary.group) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let members: Vec<&Summary<'_>> = summaries.iter().filter(|summary| summary.group == Some(name)).collect();
        // One value per seed, over all methods of the group; a missing run leaves nothing to say.
        let of_seed = |seed: usize| {
            mean(
                &members
                    .iter()
                    .map(|member| member.scores[seed] / best)
                    .collect::<Vec<_>>(),
            )
        };
        let shares: Vec<f64> = match members.iter().all(|member| member.complete) {
            true => (0..plan.seeds as usize).map(of_seed).collect(),
            false => Vec::new(),
        };
        let interval = bootstrap_interval(&shares, RESAMPLES, 0);
        table.row(&[
            name,
            &members.len().to_string(),
            &number(mean(&shares)),
            &range(interval),
        ]);
    }
    Some(table)
}

/// Which method is ahead, and whether that can be called better.
fn verdict(summaries: &[Summary<'_>]) -> String {
    let comparable = summaries.iter().filter(|summary| !summary.mean.is_nan());
    let Some(best) = comparable.max_by(|a, b| a.mean.total_cmp(&b.mean)) else {
        return "No method has a score.".to_string();
    };
    let tied: Vec<&str> = summaries
        .iter()
        .filter(|summary| summary.mean == best.mean)
        .map(|summary| summary.name)
        .collect();
    if tied.len() > 1 {
        return format!(
            "{} share the highest mean, {}: none is better.",
            list(&tied),
            number(best.mean)
        );
    }
    let ahead = format!("{} has the highest mean, {}", best.name, number(best.mean));
    let others = || summaries.iter().filter(|summary| !std::ptr::eq(*summary, best));
    if others().next().is_none() {
        return format!("{ahead}, and nothing to be compared with.");
    }
    if summaries.iter().any(|summary| !summary.complete) {
        return format!("{ahead}; no method is called better, since runs or scores are missing.");
    }
    if best.scores.len() < LEAST_SEEDS {
        return format!("{ahead}; no method is called better with fewer than {LEAST_SEEDS} seeds.");
    }
    // Nothing that is not a number lies clearly below.
    let clear = |other: &&Summary<'_>| other.interval.high < best.interval.low;
    let below: Vec<&str> = others().filter(clear).map(|other| other.name).collect();
    let level: Vec<&str> = others().filter(|other| !clear(other)).map(|other| other.name).collect();
    match (below.is_empty(), level.is_empty()) {
        (_, true) => format!("{ahead}, and is better than every other: its interval overlaps none of theirs."),
        (true, _) => format!("{ahead}, but its interval overlaps all others: no method is shown to be better."),
        _ => format!(
            "{ahead}. It is better than {} (intervals do not overlap), but not shown to be better than {}.",
            list(&below),
            list(&level)
        ),
    }
}

fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn number(x: f64) -> String {
    match x.is_nan() {
        true => "-".to_string(),
        false => format!("{x:.2}"),
    }
}

fn range(interval: Interval) -> String {
    match interval.low.is_nan() {
        true => "-".to_string(),
        false => format!("{interval:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(name: &'static str, scores: &[f64], seeds: usize) -> Summary<'static> {
        Summary {
            name,
            group: None,
            scores: scores.to_vec(),
            complete: scores.len() == seeds,
            mean: mean(scores),
            interval: bootstrap_interval(scores, 1000, 0),
            aucs: Vec::new(),
            f_statistics: Vec::new(),
            reached: Vec::new(),
            reaching: 0,
        }
    }

    #[test]
    fn a_threshold_is_reached_where_the_curve_first_is_there() {
        let steps = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(first_at(&steps, &[f64::NAN, 3.0, 5.0, 2.0], 5.0), Some(30.0));
        assert_eq!(first_at(&steps, &[1.0; 4], 5.0), None);
    }

    #[test]
    fn the_area_weighs_every_row_by_its_steps_and_skips_what_is_missing() {
        let steps = [10.0, 20.0, 50.0];
        assert_eq!(area(&steps, &[f64::NAN, 1.0, 5.0]), Some(4.0));
        assert_eq!(area(&steps, &[f64::NAN; 3]), None);
    }

    #[test]
    fn better_is_said_only_where_intervals_do_not_overlap() {
        let high = || summary("a", &[9.0, 9.1, 9.2, 9.3, 9.4], 5);
        let level = || summary("b", &[8.0, 9.0, 9.2, 9.3, 9.6], 5);
        let low = || summary("c", &[1.0, 1.1, 1.2, 1.3, 1.4], 5);
        assert_eq!(
            verdict(&[low(), high(), high()]),
            "a and a share the highest mean, 9.20: none is better."
        );
        assert!(verdict(&[low(), high()]).contains("a has the highest mean, 9.20, and is better than every other"));
        assert!(verdict(&[high(), level()]).contains("no method is shown to be better"));
        let mixed = verdict(&[high(), level(), low()]);
        assert!(mixed.contains("better than c (intervals do not overlap), but not shown to be better than b"));
    }

    #[test]
    fn nothing_is_called_better_on_few_seeds_or_missing_runs() {
        let few = [summary("a", &[9.0; 2], 2), summary("b", &[1.0; 2], 2)];
        assert!(verdict(&few).contains("fewer than 5 seeds"));
        let missing = [summary("a", &[9.0; 5], 5), summary("b", &[1.0; 4], 5)];
        assert!(verdict(&missing).contains("runs or scores are missing"));
        assert_eq!(verdict(&[summary("a", &[], 5)]), "No method has a score.");
    }
}
