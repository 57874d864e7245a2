//! Compares the runs that are there, whoever made them, and writes the result files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use epgt_settings::{one_line, shortened};

use crate::cell::{Cell, State};
use crate::error::ExperimentError;
use crate::filter::Filter;
use crate::plan::Plan;
use crate::rows::Row;
use crate::table::{Begun, Style, report};
use crate::{files, page};

pub use crate::files::refuse_foreign;

/// Characters of what is said of one run that failed; its `failure.txt` has all of it.
const LONGEST_SENTENCE: usize = 400;

/// Compares the runs below `out`, and those of the same experiment below `others` that have come further; writes the
/// files of a report below `out` and returns what is printed of it: the tables of what the filter takes. `left_out` is
/// told of each run that cannot be read.
///
/// Every file that an experiment as a whole leaves behind is written here.
pub fn write(
    plan: &Plan,
    out: &Path,
    others: &[PathBuf],
    filter: &Filter,
    columns: Option<usize>,
    left_out: &mut dyn FnMut(&str),
) -> Result<String, ExperimentError> {
    fs::create_dir_all(out).map_err(|error| ExperimentError::system("use", out, error))?;
    // Whoever writes last has looked last. Where there are no locks, two reports at once are the user's own business.
    let _turn = File::open(out).and_then(|directory| directory.lock().map(|()| directory));
    let found = merged(plan, out, others)?;
    let (mut rows, mut failures, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, state) in &found {
        match state {
            // A run whose tables cannot be read is left out and named, like one that failed.
            State::Finished(result) => match Row::of(plan, cell, result) {
                Ok(row) => rows.push(row),
                Err(error) => damaged.push(shortened(&error.to_string(), LONGEST_SENTENCE)),
            },
            State::Failed(sentence) => failures.push(shortened(
                &format!("{}: {}", cell.directory.display(), one_line(sentence)),
                LONGEST_SENTENCE,
            )),
            State::Damaged(sentence) => damaged.push(shortened(sentence, LONGEST_SENTENCE)),
            State::New | State::Begun => {}
        }
    }
    for sentence in damaged {
        left_out(&sentence);
        failures.push(sentence);
    }
    let tried = found.iter().filter(|(_, state)| !matches!(state, State::New));
    let begun: Begun = tried.map(|(cell, _)| (cell.task, cell.method)).collect();
    files::write(plan, &rows, &begun, &failures, out)?;
    let mut text = report(plan, &rows, &begun, filter, Style::Plain(columns));
    if plan.costs {
        text.push_str(&format!(
            "\n{}",
            files::costs(plan, &rows, &begun, Style::Plain(columns))
        ));
    }
    text.push_str(&format!(
        "\nWritten to {0}/results.md, {0}/results.csv and {0}/costs.md\n",
        out.display()
    ));
    // A single cell of a cluster's many draws no pictures of the others.
    if filter.takes_some(plan) && !rows.is_empty() {
        let page = write_page(plan, out, &found)?;
        text.push_str(&format!("The report, with pictures, is {}\n", page.display()));
    }
    Ok(text)
}

/// Writes `report.html` on the cells that have begun.
fn write_page(plan: &Plan, out: &Path, found: &[(Cell, State)]) -> Result<PathBuf, ExperimentError> {
    let begun = found
        .iter()
        .filter(|(_, state)| matches!(state, State::Finished(_) | State::Begun));
    let directories: Vec<PathBuf> = begun.map(|(cell, _)| cell.directory.clone()).collect();
    let mut notes = Vec::new();
    if plan.scale != 1.0 {
        notes.push(format!("Scaled: every run had {} times its steps.", plan.scale));
    }
    let request = page::Request {
        out: Some(out.join("report.html")),
        title: Some(plan.title()),
        question: Some(plan.description.trim().to_string()),
        notes,
        ..page::Request::default()
    };
    Ok(page::write(&directories, &request)?.page)
}

/// Each cell where it has come furthest among the directories.
pub fn merged(plan: &Plan, out: &Path, others: &[PathBuf]) -> Result<Vec<(Cell, State)>, ExperimentError> {
    let mut found = Vec::new();
    for cell in plan.cells(out) {
        let mut best = (cell.state()?, None);
        for other in others {
            let there = cell.below(out, other);
            let state = there.state()?;
            if let (State::Finished(a), State::Finished(b)) = (&best.0, &state)
                && a.policy_sha256 != b.policy_sha256
            {
                let one = best.1.as_ref().unwrap_or(&cell).directory.clone();
                return Err(ExperimentError::DifferentEnds([one, there.directory]));
            }
            if progress(&state) > progress(&best.0) {
                best = (state, Some(there));
            }
        }
        let (state, elsewhere) = best;
        found.push((elsewhere.unwrap_or(cell), state));
    }
    Ok(found)
}

fn progress(state: &State) -> u8 {
    match state {
        State::New => 0,
        State::Damaged(_) => 1,
        State::Begun => 2,
        State::Failed(_) => 3,
        State::Finished(_) => 4,
    }
}
