//! `epgt experiment status`: how far every method is on every task.

use std::fmt::Write;

use epgt_experiments::State;
use epgt_report::text_table::TextTable;

use super::open;
use crate::args::PlaceArgs;
use crate::{Done, output};

/// How far the runs of one method on one task are.
#[derive(Default)]
struct Row {
    done: usize,
    /// Shares of the runs that a process is at, and of those that wait to be gone on with.
    running: Vec<f64>,
    begun: Vec<f64>,
    new: usize,
    failed: usize,
}

/// Prints the table.
pub fn run(args: &PlaceArgs) -> Result<Done, String> {
    let (plan, out) = open(args)?;
    let mut rows: Vec<Row> = Vec::new();
    rows.resize_with(plan.tasks.len() * plan.methods.len(), Row::default);
    let mut failures = String::new();
    let mut done = 0;
    for cell in plan.cells(&out) {
        let row = &mut rows[cell.task * plan.methods.len() + cell.method];
        match cell.state().map_err(output::told)? {
            State::Finished(_) => {
                row.done += 1;
                done += 1;
            }
            _ if cell.is_training() => row.running.push(cell.share()),
            State::Failed(sentence) => {
                row.failed += 1;
                let _ = writeln!(failures, "\n{} failed: {sentence}", cell.directory.display());
            }
            State::Damaged(sentence) => {
                row.failed += 1;
                let _ = writeln!(failures, "\n{sentence}");
            }
            State::Begun => row.begun.push(cell.share()),
            State::New => row.new += 1,
        }
    }
    let mut table = TextTable::new(&["task", "method", "done", "running", "begun", "not begun", "failed"]);
    for (i, row) in rows.iter().enumerate() {
        table.row(&[
            &plan.tasks[i / plan.methods.len()],
            &plan.methods[i % plan.methods.len()].name,
            &format!("{} of {}", row.done, plan.seeds),
            &shares(&row.running),
            &shares(&row.begun),
            &row.new.to_string(),
            &row.failed.to_string(),
        ]);
    }
    output::print(&format!(
        "{} in {}: {done} of {} runs done\n\n{}{failures}",
        plan.title(),
        out.display(),
        plan.runs(),
        output::table(&table)
    ))?;
    Ok(Done::Completely)
}

/// How many, and how far each is: `2 (45%, 10%)`.
fn shares(shares: &[f64]) -> String {
    let told: Vec<String> = shares
        .iter()
        .map(|share| format!("{:.0}%", (100.0 * share).floor()))
        .collect();
    match told.is_empty() {
        true => "0".to_string(),
        false => format!("{} ({})", told.len(), told.join(", ")),
    }
}
