//! The decisions of a hyper-agent, as `logs` writes them.

use std::path::Path;

use epgt_hyper::{Choice, Decision, HyperSpace, Neighbour};

use super::RecordError;
use crate::artifact::ArtifactError;
use crate::logs::DECISIONS;
use crate::run::CONFIG;
use crate::table::{CsvTable, read_csv};

/// The decisions of a run's hyper-agent, from its `decisions.csv`, in order: those whose outcome is known. `space` is
/// what is scheduled, and `options` how many Q values a row may have. Keys are not logged; norms that are not are NaN.
pub fn read_decisions(directory: &Path, space: &HyperSpace, options: usize) -> Result<Vec<Decision>, RecordError> {
    let path = directory.join(DECISIONS);
    let table = read_csv(&path)?;
    decisions(&table, space, options).map_err(|problem| RecordError::Unreadable { path, problem })
}

/// A decision on one hyperparameter, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The policy update that it was made for.
    pub update: u64,
    /// How it came about.
    pub choice: Choice,
    /// The value that was in force from then on.
    pub value: f64,
    /// The outcome that scored it.
    pub outcome: f64,
    /// The change of the outcome since the update phase before.
    pub improvement: f64,
}

impl Tried {
    /// From the fields `update`, `choice`, the value, `outcome` and `improvement` of a row; `None` where one of them is
    /// none.
    pub(super) fn read(fields: &[&str]) -> Option<Self> {
        let number = |field: &str| field.parse::<f64>().ok().filter(|x| x.is_finite());
        Some(Self {
            update: fields[0].parse().ok()?,
            choice: choice(fields[1]).ok()?,
            value: number(fields[2])?,
            outcome: number(fields[3])?,
            improvement: number(fields[4])?,
        })
    }

    /// Whether somebody chose: values that were kept or that a rule left tell nothing of a choice.
    pub fn is_choice(&self) -> bool {
        !matches!(self.choice, Choice::Fixed | Choice::Rule)
    }
}

/// The rows of the table; the error says what is wrong and where.
fn decisions(table: &CsvTable, space: &HyperSpace, options: usize) -> Result<Vec<Decision>, String> {
    let column = |name: &str| table.header.iter().position(|known| known == name);
    let place = |name: &str| column(name).ok_or_else(|| format!("it lacks the column '{name}'"));
    let choices = place("choice")?;
    let (q_values, neighbours) = (place("q_values")?, place("neighbours")?);
    let numbers = |name: &str| -> Result<Vec<f64>, String> {
        place(name)?;
        table.numbers(name).map_err(|error| match error {
            ArtifactError::Malformed { line, problem, .. } => format!("line {line}: {problem}"),
            other => other.to_string(),
        })
    };
    let counts = |name: &str| -> Result<Vec<u64>, String> {
        let whole = |x: f64| (0.0..1e15).contains(&x) && x.fract() == 0.0;
        let numbers = numbers(name)?;
        match numbers.iter().position(|&x| !whole(x)) {
            Some(row) => Err(format!("line {} has no whole number in column '{name}'", row + 2)),
            None => Ok(numbers.iter().map(|&x| x as u64).collect()),
        }
    };
    let (number, update, memory, written) = (
        counts("decision")?,
        counts("update")?,
        counts("memory")?,
        counts("written")?,
    );
    let (epsilon, q, weights, gradients) = (
        numbers("epsilon")?,
        numbers("q")?,
        numbers("weight_norm")?,
        numbers("gradient_norm")?,
    );
    let (outcome, hyper_return, improvement) = (numbers("outcome")?, numbers("hyper_return")?, numbers("improvement")?);
    let axes = space.axes();
    let values = axes
        .iter()
        .map(|axis| numbers(&axis.name))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(row) = update.windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(format!(
            "the update of line {} does not come after the one before it",
            row + 3
        ));
    }
    let row = |row: usize| -> Result<Decision, String> {
        let fields = &table.rows[row];
        let values: Vec<f64> = values.iter().map(|column| column[row]).collect();
        let choice = choice(&fields[choices])?;
        let action = match choice {
            Choice::Fixed | Choice::Rule => space.default_action(),
            _ => action(space, &values)?,
        };
        Ok(Decision {
            decision: number[row],
            update: update[row],
            epsilon: epsilon[row] as f32,
            choice,
            action,
            values,
            norms: (weights[row] as f32, gradients[row] as f32),
            q: q_values_of(options, &fields[q_values])?,
            q_chosen: q[row].is_finite().then_some(q[row] as f32),
            neighbours: list(&fields[neighbours], neighbour)?,
            memory: memory[row] as usize,
            key: None,
            written: written[row] > 0,
            outcome: outcome[row] as f32,
            hyper_return: hyper_return[row] as f32,
            improvement: improvement[row] as f32,
        })
    };
    (0..table.rows.len())
        .map(|index| row(index).map_err(|problem| format!("line {} {problem}", index + 2)))
        .collect()
}

fn choice(name: &str) -> Result<Choice, String> {
    [Choice::Fixed, Choice::Random, Choice::Greedy, Choice::Own, Choice::Rule]
        .into_iter()
        .find(|choice| choice.name() == name)
        .ok_or_else(|| format!("has the choice '{name}', which is none of fixed, random, greedy, own and rule"))
}

/// The joint hyper-action of these values.
fn action(space: &HyperSpace, values: &[f64]) -> Result<usize, String> {
    let mut indices = Vec::with_capacity(values.len());
    for (axis, value) in space.axes().iter().zip(values) {
        // Another machine's powers may differ in the last digit.
        let same = |known: &f64| (known - value).abs() <= 1e-9 * known.abs();
        let index = axis.values.iter().position(same);
        indices.push(index.ok_or_else(|| format!("has {} = {value}, which {CONFIG} does not tune", axis.name))?);
    }
    Ok(space.action(indices))
}

/// Q of every joint hyper-action, or of every hyperparameter's values; nothing where the agent did not look.
fn q_values_of(options: usize, field: &str) -> Result<Vec<f32>, String> {
    let q = list(field, |text| text.parse().ok())?;
    match q.len() {
        0 => Ok(q),
        count if count == options => Ok(q),
        count => Err(format!("has {count} Q values, and by {CONFIG} there are {options}")),
    }
}

/// The items of a field, separated by semicolons.
fn list<T>(field: &str, item: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let items = field.split(';').filter(|text| !text.is_empty());
    items
        .map(|text| item(text).ok_or_else(|| format!("has '{text}' where numbers are wanted")))
        .collect()
}

/// `origin:distance:weight:value`.
fn neighbour(text: &str) -> Option<Neighbour> {
    let mut parts = text.split(':');
    let neighbour = Neighbour {
        origin: parts.next()?.parse().ok()?,
        distance: parts.next()?.parse().ok()?,
        weight: parts.next()?.parse().ok()?,
        value: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(neighbour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_on_a_value_is_read_where_its_outcome_is_known() {
        let tried = Tried::read(&["25", "random", "0.5", "-3", "0.25"]).unwrap();
        assert_eq!((tried.update, tried.choice, tried.value), (25, Choice::Random, 0.5));
        assert_eq!(
            (tried.outcome, tried.improvement, tried.is_choice()),
            (-3.0, 0.25, true)
        );
        assert!(!Tried::read(&["25", "fixed", "0.5", "-3", "0.25"]).unwrap().is_choice());
        for broken in [
            ["25", "random", "0.5", "", ""],
            ["25", "none", "0.5", "1", "0"],
            ["x", "own", "0.5", "1", "0"],
        ] {
            assert_eq!(Tried::read(&broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_neighbour_reads_back_and_anything_else_does_not() {
        let read = neighbour("150:0.25:0.5:-3").unwrap();
        assert_eq!(
            (read.origin, read.distance, read.weight, read.value),
            (150, 0.25, 0.5, -3.0)
        );
        for broken in ["", "150", "150:0.25:0.5", "150:0.25:0.5:-3:1", "x:0.25:0.5:-3"] {
            assert!(neighbour(broken).is_none(), "{broken}");
        }
    }
}
