//! What the scores of a task, and of several, come to: the tables of their statistics.

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
use crate::verdict::of_suite;

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

/// Every statistic of every method; the last columns compare `reference` with each.
pub fn table(summaries: &[Summary<'_>], reference: usize, comparison: Comparison) -> TextTable {
    let against = &summaries[reference];
    let p = match comparison {
        Comparison::ReferenceOverEach => better(against.name),
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

/// All tasks together, of scores that were normalised, `scores[method][task][seed]`: the table, its sentence, and its
/// picture's rows.
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
    let p = better(&best.name);
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
    let fewest = order.iter().flat_map(|(_, tasks)| tasks.iter().map(Vec::len)).min();
    let rows: Vec<Row> = order.into_iter().map(|(row, _)| row).collect();
    let sentence = of_suite(&rows, fewest.unwrap_or(0));
    (table, sentence, rows)
}

/// Which way the last columns of a table look.
#[derive(Clone, Copy, PartialEq)]
pub enum Comparison {
    /// How much better the reference is than each row.
    ReferenceOverEach,
    /// How much better each row is than the reference.
    EachOverReference,
}

/// Letters of a name that stands above a column.
const LONGEST_NAME: usize = 24;

/// The head of the column that says how likely the first row is better.
fn better(name: &str) -> String {
    match name.chars().count() <= LONGEST_NAME {
        true => format!("P({name} better)"),
        false => "P(first row better)".to_string(),
    }
}

/// How likely a run of `a` beats one of `b`; a dash where there are too few to say.
fn probability(a: &[Vec<f64>], b: &[Vec<f64>]) -> String {
    match a.iter().chain(b).all(|scores| scores.len() >= LEAST_SCORES) {
        true => number(probability_of_improvement(a, b), 2),
        false => "-".to_string(),
    }
}

/// A number with so many decimals, or by its exponent where it would be long; a dash where it is none.
pub(crate) fn number(value: f64, digits: usize) -> String {
    match value.abs() {
        size if !size.is_finite() => "-".to_string(),
        size if size >= 1e9 => format!("{value:.3e}"),
        _ => format!("{value:.digits$}"),
    }
}

pub(crate) fn range(interval: Interval, digits: usize) -> String {
    match interval.is_known() {
        true => format!("[{}, {}]", number(interval.low, digits), number(interval.high, digits)),
        false => "-".to_string(),
    }
}

/// Decimals that show four digits of the largest of some numbers.
pub(crate) fn digits(values: impl Iterator<Item = f64>) -> usize {
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
