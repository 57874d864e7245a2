//! A run's decisions, read back from its directory.

use std::path::{Path, PathBuf};

use epgt_hyper::{Choice, Decision, Hold, HyperSpace, Neighbour, Scheduler};
use epgt_train::artifact::ArtifactError;
use epgt_train::table::{CsvTable, read_csv};
use epgt_train::{CONFIG, Config};

use crate::output;
use epgt_experiments::runs::natural;

const DECISIONS: &str = "decisions.csv";
const METRICS: &str = "metrics.csv";

/// What a run has written of its hyper-agent.
pub struct RunLog {
    pub config: Config,
    pub space: HyperSpace,
    /// The decisions whose outcome is known, in order. Keys are not logged; norms that are not are NaN.
    pub decisions: Vec<Decision>,
    /// Policy updates made.
    pub updates: u64,
    /// The scheduled values when the metrics were last written.
    pub last_values: Vec<f64>,
    /// Whether the choice shows in the improvement, as the agent last told it.
    pub f_statistic: Option<f64>,
    /// Correlation of value and improvement, by hyperparameter.
    pub correlations: Vec<Option<f64>>,
}

impl RunLog {
    /// Reads the files of a run; the error is one sentence.
    pub fn read(directory: &Path) -> Result<Self, String> {
        let path = directory.join(CONFIG);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let reason = match error.kind() {
                std::io::ErrorKind::NotFound => match run_below(directory) {
                    Some(run) => format!("it holds runs; name one of them, such as {}", run.display()),
                    None => format!("it holds no {CONFIG}"),
                },
                _ => format!("cannot read {CONFIG}: {}", output::reason(&error)),
            };
            format!("{} is not a run directory: {reason}", directory.display())
        })?;
        let mut config = Config::read_toml(&text)
            .and_then(|assignments| Config::build(&assignments))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let (space, _) = config.hyper_space()?;
        let options = groups(&config, &space).iter().sum();
        config.hyper.action_values = config.run.scheduler.action_values(config.hyper.action_values);
        let path = directory.join(DECISIONS);
        let table = read_csv(&path).map_err(|error| error.to_string())?;
        let decisions =
            decisions(&table, &space, options).map_err(|problem| format!("{}: {problem}", path.display()))?;
        let metrics = read_csv(directory.join(METRICS)).map_err(|error| error.to_string())?;
        let last = |column: &str| -> Result<Option<f64>, String> {
            let numbers = metrics.numbers(column).map_err(|error| error.to_string())?;
            Ok(numbers.last().copied().filter(|x| x.is_finite()))
        };
        let names = || space.axes().iter().map(|axis| &axis.name);
        let mut log = Self {
            updates: last("train/n_updates")?.unwrap_or(0.0) as u64,
            f_statistic: last("hyper/f_statistic")?,
            correlations: names()
                .map(|name| last(&format!("hyper/correlation_{name}")))
                .collect::<Result<_, _>>()?,
            last_values: names()
                .map(|name| Ok(last(&format!("hyper/{name}"))?.unwrap_or(f64::NAN)))
                .collect::<Result<_, String>>()?,
            config,
            space,
            decisions,
        };
        if let Some(last) = log.decisions.len().checked_sub(1) {
            log.updates = log.updates.max(log.end(last));
        }
        Ok(log)
    }

    /// The first update for which the decision at `position` was in force no more.
    pub fn end(&self, position: usize) -> u64 {
        if let Some(next) = self.decisions.get(position + 1) {
            return next.update;
        }
        let start = self.decisions[position].update;
        if self.config.run.scheduler == Scheduler::Fixed {
            return self.updates.max(start + 1);
        }
        if self.config.run.scheduler.is_rule() {
            return start + 1;
        }
        // The log ends with a whole update phase; the agent decides anew at the start of the next.
        let hyper = &self.config.hyper;
        let (phase, held) = match hyper.hold {
            Hold::Updates(updates) => (hyper.update_phase.max(updates), updates),
            Hold::Phase => (hyper.update_phase, u64::MAX),
        };
        start
            .saturating_add(held)
            .min((start / phase + 1).saturating_mul(phase))
    }

    /// The position of the decision in force at an update, if it is in the log.
    pub fn in_force(&self, update: u64) -> Option<usize> {
        let after = self.decisions.partition_point(|decision| decision.update <= update);
        let position = after.checked_sub(1)?;
        (update < self.end(position)).then_some(position)
    }

    /// The decision that was made at exactly this update.
    pub fn made_at(&self, update: u64) -> Option<&Decision> {
        let position = self.decisions.binary_search_by_key(&update, |decision| decision.update);
        position.ok().map(|position| &self.decisions[position])
    }
}

/// The first run in a directory of runs.
fn run_below(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let mut runs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join(CONFIG).is_file())
        .collect();
    runs.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    runs.into_iter().next()
}

/// Numbers of options that are valued apart: all joint hyper-actions, or the values of each hyperparameter.
pub fn groups(config: &Config, space: &HyperSpace) -> Vec<usize> {
    config.run.scheduler.groups(config.hyper.action_values, space)
}

/// The rows of `decisions.csv`; `options` is how many Q values a row may have; the error says what is wrong and where.
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
