//! What a population writes as a whole: `metrics.csv`, and every exchange in `population.csv`.

use std::path::Path;

use epgt_hyper::HyperSpace;
use serde::{Deserialize, Serialize};

use super::exchange::{Move, ranked};
use super::member::Member;
use crate::artifact::ArtifactError;
use crate::logs::{self, MetricsTable};
use crate::observer::{MetricsRow, Observer};
use crate::outcome::RunError;
use crate::table::{Cell, CsvWriter};

/// The open tables of a population.
pub(super) struct PopulationLogs {
    metrics: MetricsTable,
    exchanges: CsvWriter,
}

/// Their lengths at a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PopulationLogLengths {
    metrics: u64,
    exchanges: u64,
}

/// What is told of a member in `population.csv`.
pub(super) enum Event<'a> {
    /// Its first values.
    Start(&'a [f64]),
    /// An exchange.
    Exchange(&'a Move),
    /// Its last score.
    End(&'a [f64]),
}

/// The columns of `metrics.csv` and of `population.csv`.
fn headers(space: &HyperSpace, members: &[Member]) -> (Vec<String>, Vec<String>) {
    let names = row(members, 0.0, None).into_iter().map(|(name, _)| name);
    let mut columns: Vec<String> = ["event", "steps", "member", "score", "copied_from"]
        .map(String::from)
        .to_vec();
    for moment in ["before", "after"] {
        columns.extend(space.axes().iter().map(|axis| format!("{}_{moment}", axis.name)));
    }
    (names.collect(), columns)
}

impl PopulationLogs {
    pub fn create(directory: &Path, space: &HyperSpace, members: &[Member]) -> Result<Self, ArtifactError> {
        let (names, columns) = headers(space, members);
        Ok(Self {
            metrics: MetricsTable::create(directory, &names)?,
            exchanges: CsvWriter::create(directory.join(super::POPULATION), &columns)?,
        })
    }

    pub fn resume(
        directory: &Path,
        lengths: &PopulationLogLengths,
        space: &HyperSpace,
        members: &[Member],
    ) -> Result<Self, ArtifactError> {
        let (names, columns) = headers(space, members);
        Ok(Self {
            metrics: MetricsTable::resume(directory, lengths.metrics, &names)?,
            exchanges: CsvWriter::open_at(directory.join(super::POPULATION), lengths.exchanges, &columns)?,
        })
    }

    /// One row of metrics, for the table and for an observer.
    pub fn metrics(
        &mut self,
        members: &[Member],
        elapsed: f64,
        best: Option<f64>,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let row = MetricsRow {
            steps: members[leader(members)].steps(),
            values: &row(members, elapsed, best),
        };
        self.metrics.metrics(&row)?;
        observer.metrics(&row)
    }

    /// One row of `population.csv`.
    pub fn event(
        &mut self,
        steps: u64,
        member: usize,
        score: Option<f64>,
        event: &Event<'_>,
    ) -> Result<(), ArtifactError> {
        let (name, copied_from, before, after) = match event {
            Event::Start(values) => ("start", None, None, Some(*values)),
            Event::End(values) => ("end", None, Some(*values), None),
            Event::Exchange(made) => {
                let name = if made.copied_from.is_some() { "copied" } else { "kept" };
                (name, made.copied_from, Some(&made.before[..]), Some(&made.after[..]))
            }
        };
        let width = before.or(after).map_or(0, <[f64]>::len);
        let row = &mut self.exchanges;
        row.field(Cell::Text(name));
        row.field(Cell::Integer(steps));
        row.field(Cell::Integer(member as u64));
        row.field(score.map_or(Cell::Empty, Cell::F64));
        row.field(copied_from.map_or(Cell::Empty, |parent| Cell::Integer(parent as u64)));
        for values in [before, after] {
            for i in 0..width {
                row.field(values.map_or(Cell::Empty, |values| Cell::F64(values[i])));
            }
        }
        row.end_row().flush()?;
        Ok(())
    }

    /// Waits until the disk holds all of it.
    pub fn sync(&mut self) -> Result<PopulationLogLengths, ArtifactError> {
        Ok(PopulationLogLengths {
            metrics: self.metrics.sync()?,
            exchanges: self.exchanges.sync()?,
        })
    }
}

/// The metrics of this moment: those of a run, of the member with the best score, and how the others stand.
fn row(members: &[Member], elapsed: f64, best: Option<f64>) -> Vec<(String, Option<f64>)> {
    let scores: Vec<Option<f64>> = members.iter().map(Member::score).collect();
    let leader = leader(members);
    let all: u64 = members.iter().map(|member| member.trained).sum();
    let mut present: Vec<f64> = scores.iter().flatten().copied().collect();
    present.sort_by(f64::total_cmp);
    let evaluated = members.iter().filter_map(|member| member.evaluated);
    let evaluated = evaluated.reduce(f64::max);
    let diverged = members.iter().filter(|member| member.diverged.is_some());
    let mut row = logs::metrics(&members[leader].run.trainer, elapsed, None, best);
    for (_, value) in row.iter_mut().filter(|(name, _)| name == "eval/mean_reward") {
        *value = evaluated;
    }
    let whole = [
        ("population/total_timesteps", Some(all as f64)),
        ("population/best_member", Some(leader as f64)),
        ("population/ep_rew_median", median(&present)),
        ("population/ep_rew_worst", present.first().copied()),
        ("population/diverged", Some(diverged.count() as f64)),
    ];
    row.extend(whole.map(|(name, value)| (name.to_string(), value)));
    row
}

/// The member with the best score.
pub(super) fn leader(members: &[Member]) -> usize {
    let scores: Vec<Option<f64>> = members.iter().map(Member::score).collect();
    ranked(&scores)[0]
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(0.5 * (sorted[middle - 1] + sorted[middle])),
    }
}
