//! What the scores of a task come to: the sentence above its pictures and the tables below them.

use std::slice::from_ref;

use epgt_report::aggregate::{
    aggregate_iqm, aggregate_mean, aggregate_median, improvement_interval, probability_of_improvement,
    stratified_interval,
};
use epgt_report::chart::Row;
use epgt_report::statistics::{
    Interval, LEAST_SCORES, RESAMPLES, bootstrap_interval, cohens_d, interquartile_mean, mean, median,
    standard_deviation,
};
use epgt_report::text_table::TextTable;

use crate::groups::{Group, Task};
use crate::measure::Measure;

/// A bootstrap interval of fewer scores is too narrow to rest a claim on.
pub const LEAST_RUNS: usize = 5;

/// What one method reached on one task.
pub struct Summary<'a> {
    /// The method's name.
    pub name: &'a str,
    /// Its place among all methods, which gives it its colour.
    pub index: usize,
    /// One score per finished run.
    pub scores: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// The 95% bootstrap interval of the mean.
    pub interval: Interval,
}

impl<'a> Summary<'a> {
    /// The summary of these scores.
    pub fn of(name: &'a str, index: usize, scores: Vec<f64>) -> Self {
        Self {
            name,
            index,
            mean: mean(&scores),
            interval: bootstrap_interval(&scores, RESAMPLES, 0),
            scores,
        }
    }
}

/// The methods of a task that have scores, the highest mean first.
pub fn ranked(task: &Task, measure: Measure) -> Vec<Summary<'_>> {
    let summary = |group: &'_ Group| (group.index, group.scores(measure));
    let mut all: Vec<Summary<'_>> = Vec::new();
    for group in &task.groups {
        let (index, scores) = summary(group);
        if !scores.is_empty() {
            all.push(Summary::of(&group.name, index, scores));
        }
    }
    all.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    all
}

/// Who is best, and whether the intervals bear it.
pub fn headline(ranked: &[Summary<'_>]) -> String {
    let digits = digits(ranked.iter().map(|summary| summary.mean));
    let shown = |summary: &Summary<'_>| match summary.interval.is_known() {
        true => format!("{} {}", number(summary.mean, digits), range(summary.interval, digits)),
        false => number(summary.mean, digits),
    };
    match ranked {
        [] => "No run has finished with a score yet.".to_string(),
        [only] => format!(
            "{} reaches {} over {}.",
            only.name,
            shown(only),
            runs(only.scores.len())
        ),
        [best, next, rest @ ..] => {
            let fewest = ranked.iter().map(|summary| summary.scores.len()).min().unwrap_or(0);
            let reach = |other: &&Summary<'_>| other.interval.high >= best.interval.low;
            let close = [next].into_iter().chain(rest).filter(reach).count();
            if shown(best) == shown(next) {
                let level: Vec<&str> = ranked
                    .iter()
                    .filter(|s| shown(s) == shown(best))
                    .map(|s| s.name)
                    .collect();
                return format!("No winner: {} are level at {}.", level.join(", "), shown(best));
            }
            let p = probability_of_improvement(from_ref(&best.scores), from_ref(&next.scores));
            let first = format!("{} has the highest mean, {}", best.name, shown(best));
            match (fewest < LEAST_RUNS, close) {
                (true, _) => {
                    let is = if fewest == 1 { "is" } else { "are" };
                    let least = ranked.iter().filter(|summary| summary.scores.len() == fewest);
                    let whose = match least.clone().count() == ranked.len() {
                        true => "per method".to_string(),
                        false => format!(
                            "of {}",
                            least.map(|summary| summary.name).collect::<Vec<_>>().join(" and ")
                        ),
                    };
                    format!("{first}, but {} {whose} {is} too few to rest a claim on.", runs(fewest))
                }
                (false, 0) => format!(
                    "{} is best: {}. The next, {}, has {}; the intervals do not overlap, and a run of {} beats one of {} with \
                     probability {p:.2}.",
                    best.name,
                    shown(best),
                    next.name,
                    shown(next),
                    best.name,
                    next.name
                ),
                (false, close) => format!(
                    "No clear winner: {first}, but {} it; next is {} with {}.",
                    reaching(close),
                    next.name,
                    shown(next)
                ),
            }
        }
    }
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// Every statistic of every method; the last columns compare `reference` with each.
pub fn table(summaries: &[Summary<'_>], reference: usize, comparison: Comparison) -> TextTable {
    let against = &summaries[reference];
    let p = match comparison {
        Comparison::ReferenceOverEach => format!("P({} better)", against.name),
        Comparison::EachOverReference => "P(better than first)".to_string(),
    };
    let mut header = vec![
        "method",
        "runs",
        "mean",
        "sd",
        "95% interval",
        "median",
        "IQM",
        "IQM 95%",
    ];
    // One method has nothing to be compared with.
    if summaries.len() > 1 {
        header.extend([p.as_str(), "P 95%", "Cohen's d"]);
    }
    let mut table = TextTable::new(&header);
    let digits = digits(summaries.iter().map(|summary| summary.mean));
    let number = |value: f64| number(value, digits);
    for (index, summary) in summaries.iter().enumerate() {
        let scores = from_ref(&summary.scores);
        let other = from_ref(&against.scores);
        let iqm = stratified_interval(scores, RESAMPLES, 0, |tasks| interquartile_mean(&tasks[0]));
        let (a, b) = match comparison {
            Comparison::ReferenceOverEach => (other, scores),
            Comparison::EachOverReference => (scores, other),
        };
        let [p, interval, d] = match index == reference {
            true => [const { String::new() }; 3].map(|_| "-".to_string()),
            false => [
                probability(a, b),
                range(improvement_interval(a, b, RESAMPLES, 0), 2),
                self::number(cohens_d(&a[0], &b[0]), 2),
            ],
        };
        let fields = [
            summary.name.to_string(),
            summary.scores.len().to_string(),
            number(summary.mean),
            number(standard_deviation(&summary.scores)),
            range(summary.interval, digits),
            number(median(&summary.scores)),
            number(interquartile_mean(&summary.scores)),
            range(iqm, digits),
            p,
            interval,
            d,
        ];
        let fields: Vec<&str> = fields.iter().map(String::as_str).take(header.len()).collect();
        table.row(&fields);
    }
    table
}

/// All tasks together, of scores that were normalised, `scores[method][task][seed]`: the table, its sentence, and its picture's
/// rows.
pub fn suite(names: &[(&str, usize)], scores: &[Vec<Vec<f64>>]) -> (TextTable, String, Vec<Row>) {
    let row = |((name, index), tasks): (&(&str, usize), &Vec<Vec<f64>>)| Row {
        name: name.to_string(),
        index: *index,
        values: Vec::new(),
        mean: aggregate_iqm(tasks),
        interval: stratified_interval(tasks, RESAMPLES, 0, aggregate_iqm),
    };
    let mut order: Vec<(Row, &Vec<Vec<f64>>)> = names.iter().zip(scores).map(row).zip(scores).collect();
    order.sort_by(|a, b| b.0.mean.total_cmp(&a.0.mean));
    let (best, best_scores) = (order[0].0.clone(), order[0].1);
    let p = format!("P({} better)", best.name);
    let mut table = TextTable::new(&[
        "method",
        "runs",
        "IQM",
        "95% interval",
        "mean",
        "median of tasks",
        &p,
        "P 95%",
    ]);
    for (at, (row, tasks)) in order.iter().enumerate() {
        let [p, interval] = match at {
            0 => ["-".to_string(), "-".to_string()],
            _ => [
                probability(best_scores, tasks),
                range(improvement_interval(best_scores, tasks, RESAMPLES, 0), 2),
            ],
        };
        table.row(&[
            &row.name,
            &tasks.iter().map(Vec::len).sum::<usize>().to_string(),
            &number(row.mean, 3),
            &range(row.interval, 3),
            &number(aggregate_mean(tasks), 3),
            &number(aggregate_median(tasks), 3),
            &p,
            &interval,
        ]);
    }
    let order_counts: Vec<usize> = order.iter().flat_map(|(_, tasks)| tasks.iter().map(Vec::len)).collect();
    let rows: Vec<Row> = order.into_iter().map(|(row, _)| row).collect();
    let few = order_counts.iter().copied().min().unwrap_or(0) < LEAST_RUNS;
    let overlap = rows[1..]
        .iter()
        .filter(|row| row.interval.high >= best.interval.low)
        .count();
    let interval = match best.interval.is_known() {
        true => format!(" {}", range(best.interval, 2)),
        false => String::new(),
    };
    let first = format!(
        "{} has the highest interquartile mean, {}{interval}",
        best.name,
        number(best.mean, 2)
    );
    let sentence = match (rows.len(), few, overlap) {
        (1, ..) => format!("{first}."),
        (_, true, _) => format!("{first}, but fewer than {LEAST_RUNS} runs per method and task rest no claim."),
        (_, _, 0) => format!("{first}, and no other interval reaches it."),
        (_, _, overlap) => format!("{first}, but {} it.", reaching(overlap)),
    };
    (table, sentence, rows)
}

/// "the interval of another reaches", or of several.
fn reaching(others: usize) -> String {
    match others {
        1 => "the interval of one other reaches".to_string(),
        others => format!("the intervals of {others} others reach"),
    }
}

/// Which way the last columns of a table look.
#[derive(Clone, Copy, PartialEq)]
pub enum Comparison {
    /// How much better the reference is than each row.
    ReferenceOverEach,
    /// How much better each row is than the reference.
    EachOverReference,
}

/// How likely a run of `a` beats one of `b`; a dash where there are too few to say.
fn probability(a: &[Vec<f64>], b: &[Vec<f64>]) -> String {
    match a.iter().chain(b).all(|scores| scores.len() >= LEAST_SCORES) {
        true => number(probability_of_improvement(a, b), 2),
        false => "-".to_string(),
    }
}

/// A number with so many decimals, or by its exponent where it would be long; a dash where it is none.
fn number(value: f64, digits: usize) -> String {
    match value.abs() {
        size if !size.is_finite() => "-".to_string(),
        size if size >= 1e9 => format!("{value:.3e}"),
        _ => format!("{value:.digits$}"),
    }
}

fn range(interval: Interval, digits: usize) -> String {
    match interval.is_known() {
        true => format!("[{}, {}]", number(interval.low, digits), number(interval.high, digits)),
        false => "-".to_string(),
    }
}

/// Decimals that show four digits of the largest of some numbers.
fn digits(values: impl Iterator<Item = f64>) -> usize {
    let largest = values
        .filter(|value| value.is_finite())
        .map(f64::abs)
        .fold(0.0, f64::max);
    match largest > 0.0 {
        true => (3 - largest.log10().floor() as i32).clamp(0, 4) as usize,
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headline_of(all: &[(&'static str, &[f64])]) -> String {
        let summaries = all.iter().map(|(name, scores)| Summary::of(name, 0, scores.to_vec()));
        headline(&summaries.collect::<Vec<_>>())
    }

    #[test]
    fn a_headline_claims_no_more_than_the_intervals_bear() {
        let (high, low) = ([90.0, 91.0, 92.0, 91.0, 90.5], [80.0, 81.0, 80.5, 81.5, 80.2]);
        let clear = headline_of(&[("a", &high), ("b", &low)]);
        assert!(
            clear.starts_with("a is best: 90.90 [") && clear.contains("probability 1.00"),
            "{clear}"
        );
        let close = headline_of(&[("a", &high), ("b", &[80.0, 95.0, 90.0, 91.0, 92.0])]);
        assert!(
            close.starts_with("No clear winner: a has the highest mean") && close.contains("one other"),
            "{close}"
        );
        let level = headline_of(&[("a", &[500.0; 5]), ("b", &[500.0; 5]), ("c", &low)]);
        assert_eq!(level, "No winner: a, b are level at 500.0 [500.0, 500.0].");
        let few = headline_of(&[("a", &high[..3]), ("b", &low[..3])]);
        assert!(few.contains("3 runs per method are too few"), "{few}");
        let uneven = headline_of(&[("a", &high), ("b", &low[..1])]);
        assert!(
            uneven.ends_with("but 1 run of b is too few to rest a claim on."),
            "{uneven}"
        );
        let single = headline_of(&[("a", &high[..1])]);
        assert_eq!(single, "a reaches 90.00 over 1 run.");
        assert_eq!(headline_of(&[]), "No run has finished with a score yet.");
    }

    #[test]
    fn below_three_runs_there_is_neither_interval_nor_probability_nor_effect() {
        let rows = |scores: &[&[f64]]| {
            let names = ["a", "b"];
            let summaries = names
                .iter()
                .zip(scores)
                .map(|(name, scores)| Summary::of(name, 0, scores.to_vec()));
            let text = table(&summaries.collect::<Vec<_>>(), 0, Comparison::EachOverReference).csv();
            text.lines().skip(1).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(
            rows(&[&[9.0], &[9.0, 9.0]]),
            [
                "a,1,9.000,-,-,9.000,9.000,-,-,-,-",
                "b,2,9.000,0.000,-,9.000,9.000,-,-,-,-"
            ]
        );
        let three = rows(&[&[9.0; 3], &[8.0; 3]]);
        assert_eq!(
            three[1],
            "b,3,8.000,0.000,\"[8.000, 8.000]\",8.000,8.000,\"[8.000, 8.000]\",0.00,\"[0.00, 0.00]\",-"
        );
        assert!(rows(&[&[1e300; 3], &[8.0; 3]]).concat().len() < 400);
    }
}
