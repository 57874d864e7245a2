//! The members of a population, as its own log tells of them.

use std::path::Path;

use super::RecordError;
use crate::artifact::ArtifactError;
use crate::population::POPULATION;
use crate::table::{CsvTable, read_csv};

/// What happened to a member of a population: a row of `population.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberEvent {
    /// `start`, `kept`, `copied` or `end`, as the table says it.
    pub event: String,
    /// Environment steps that the member had made.
    pub steps: f64,
    /// Whose row it is.
    pub member: usize,
    /// The member's score then; NaN where it had none.
    pub score: f64,
    /// The member that it has copied; NaN where it has not.
    pub copied_from: f64,
    /// The values in force from then on, or until then at the end.
    pub values: Vec<f64>,
}

/// What happened to the members of a population, from its `population.csv`, in order; `names` are those of what it
/// schedules.
pub fn read_members(directory: &Path, names: &[&str]) -> Result<Vec<MemberEvent>, RecordError> {
    rows(&read_csv(directory.join(POPULATION))?, names)
}

fn rows(table: &CsvTable, names: &[&str]) -> Result<Vec<MemberEvent>, RecordError> {
    let numbers = |column: &str| table.numbers(column);
    let (steps, members, scores) = (numbers("steps")?, numbers("member")?, numbers("score")?);
    let copied_from = numbers("copied_from")?;
    let columns = |moment: &str| -> Result<Vec<Vec<f64>>, ArtifactError> {
        names.iter().map(|name| numbers(&format!("{name}_{moment}"))).collect()
    };
    let (before, after) = (columns("before")?, columns("after")?);
    // A population has a row for each of its members, so there are no more of them than rows.
    let is_member = |member: &f64| member.fract() == 0.0 && (0.0..table.rows.len() as f64).contains(member);
    if let Some(row) = members.iter().position(|member| !is_member(member)) {
        return Err(RecordError::Table(ArtifactError::Malformed {
            path: table.path.clone(),
            line: row + 2,
            problem: format!("'{}' in column 'member' is no member's number", members[row]),
        }));
    }
    let row = |i: usize| {
        let event = table.rows[i].first().cloned().unwrap_or_default();
        let source = if event == "end" { &before } else { &after };
        MemberEvent {
            steps: steps[i],
            member: members[i] as usize,
            score: scores[i],
            copied_from: copied_from[i],
            values: source.iter().map(|column| column[i]).collect(),
            event,
        }
    };
    Ok((0..table.rows.len()).map(row).collect())
}
