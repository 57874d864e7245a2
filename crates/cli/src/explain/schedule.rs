//! A hyperparameter's schedule as a picture of blocks: one row per value, the largest on top, time from left to right.

use std::fmt::Write;

use super::log::RunLog;
use super::numbers::short;

/// Columns of the picture.
const WIDTH: usize = 60;

/// By the share of a column's updates for which a value was in force.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// The picture of one hyperparameter.
pub fn picture(log: &RunLog, axis: usize) -> String {
    let values = &log.space.axes()[axis].values;
    let spans = (0..log.decisions.len()).map(|position| {
        let decision = &log.decisions[position];
        (
            log.space.index(decision.action, axis),
            decision.update,
            log.end(position),
        )
    });
    let shares = shares(spans, values.len(), log.updates);
    let labels: Vec<String> = values.iter().map(|&value| short(value)).collect();
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (label, row) in labels.iter().zip(&shares).rev() {
        let blocks: String = row.iter().map(|&share| shade(share)).collect();
        let _ = writeln!(text, "  {label:>margin$} |{blocks}|");
    }
    let last = log.updates.saturating_sub(1).to_string();
    let width = shares.first().map_or(0, Vec::len).saturating_sub(1);
    let _ = writeln!(text, "  {:margin$}  0{last:>width$}  update", "");
    text
}

/// For each value and column: the share of the column's updates that spans `(value, first update, end)` cover.
fn shares(spans: impl Iterator<Item = (usize, u64, u64)>, values: usize, updates: u64) -> Vec<Vec<f64>> {
    let width = (updates as usize).clamp(1, WIDTH);
    let per_column = updates.max(1) as f64 / width as f64;
    let mut shares = vec![vec![0.0; width]; values];
    for (value, first, end) in spans {
        let (first, end) = (first as f64 / per_column, end as f64 / per_column);
        let columns = first.floor() as usize..(end.ceil() as usize).min(width);
        for column in columns {
            let overlap = end.min(column as f64 + 1.0) - first.max(column as f64);
            shares[value][column] += overlap.max(0.0);
        }
    }
    shares
}

/// Anything that is there is seen, and only what fills a column fully or nearly so is full.
fn shade(share: f64) -> char {
    match share {
        share if share < 1e-9 => SHADES[0],
        share => SHADES[((share * 4.0 - 1e-6).floor() as usize + 1).min(4)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_update_is_in_one_column_once() {
        let spans = [(0, 0, 100), (2, 100, 250), (1, 250, 600)];
        let shares = shares(spans.into_iter(), 3, 600);
        for column in 0..WIDTH {
            let sum: f64 = shares.iter().map(|row| row[column]).sum();
            assert!((sum - 1.0).abs() < 1e-9, "column {column}: {sum}");
        }
        assert_eq!((shares[0][9], shares[2][9], shares[2][10]), (1.0, 0.0, 1.0));
    }

    #[test]
    fn shades_grow_with_the_share() {
        let shades: String = [0.0, 0.1, 0.25, 0.3, 0.6, 0.9, 1.0].map(shade).iter().collect();
        assert_eq!(shades, " ░░▒▓██");
    }
}
