//! The course of hyperparameters that a rule inside of the update changes: they take any value, so it is told as a
//! table over training instead of value by value.

use std::fmt::Write;

use epgt_report::text_table::TextTable;

use super::log::RunLog;
use super::numbers::{counted, short};
use crate::output;

/// Rows of the table.
const PARTS: usize = 10;

/// The median, the smallest and the largest value of every hyperparameter in each tenth of the updates.
pub fn text(log: &RunLog) -> String {
    let decisions = &log.decisions;
    if decisions.is_empty() {
        return "No update has an outcome yet.\n".to_string();
    }
    let mut text = String::new();
    let parts = PARTS.min(decisions.len());
    for (i, axis) in log.space.axes().iter().enumerate() {
        let mut table = TextTable::new(&["updates", "median", "smallest", "largest"]);
        let spans = (0..parts).map(|part| part * decisions.len() / parts..(part + 1) * decisions.len() / parts);
        let rows: Vec<_> = spans
            .map(|span| {
                let mut values: Vec<f64> = decisions[span.clone()]
                    .iter()
                    .map(|decision| decision.values[i])
                    .collect();
                values.sort_by(f64::total_cmp);
                let (first, last) = (decisions[span.start].update, decisions[span.end - 1].update);
                let numbers = [values[values.len() / 2], values[0], values[values.len() - 1]];
                (format!("{first}..{last}"), numbers)
            })
            .collect();
        for (updates, numbers) in &rows {
            let [median, least, most] = numbers.map(short);
            table.row(&[updates, &median, &least, &most]);
        }
        let _ = writeln!(
            text,
            "\n{} over {}; it started at {}\n",
            axis.name,
            counted(decisions.len(), "update", "updates"),
            short(axis.default)
        );
        text += &output::table(&table);
    }
    text + "\nOne update: epgt explain DIR --update N\n"
}
