//! A run's decisions, read back from its directory.

use std::path::{Path, PathBuf};

use epgt_hyper::{Decision, Hold, HyperSpace};
use epgt_train::record::{STEPS, natural, read_decisions, read_metrics};
use epgt_train::table::CsvTable;
use epgt_train::{CONFIG, Config};

use crate::output;

/// What a run has written of its hyper-agent.
pub struct RunLog {
    pub config: Config,
    pub space: HyperSpace,
    /// The decisions whose outcome is known, in order. Keys are not logged; norms that are not are NaN.
    pub decisions: Vec<Decision>,
    /// Policy updates made.
    pub updates: u64,
    /// Environment steps made.
    pub steps: f64,
    /// How far updates moved the policy, row by row of the metrics, where that was measured.
    pub moves: Vec<Move>,
    /// The scheduled values when the metrics were last written.
    pub last_values: Vec<f64>,
    /// Whether the choice shows in the improvement, as the agent last told it.
    pub f_statistic: Option<f64>,
    /// Correlation of value and improvement, by hyperparameter.
    pub correlations: Vec<Option<f64>>,
}

/// How far one update phase moved the policy.
pub struct Move {
    /// Updates made by then.
    pub update: u64,
    /// How far it should.
    pub target: f64,
    /// How far it did.
    pub divergence: f64,
    /// The learning rate in force.
    pub rate: f64,
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
        let mut config = Config::read_stored(&text)
            .and_then(|assignments| Config::build(&assignments))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let (space, _) = config.hyper_space().map_err(output::told)?;
        let options = groups(&config, &space).iter().sum();
        config.hyper.action_values = config.scheduler.of_agent().action_values(config.hyper.action_values);
        let decisions = read_decisions(directory, &space, options).map_err(output::told)?;
        let metrics = read_metrics(directory).map_err(output::told)?;
        let last = |column: &str| -> Result<Option<f64>, String> {
            let numbers = metrics.numbers(column).map_err(|error| error.to_string())?;
            Ok(numbers.last().copied().filter(|x| x.is_finite()))
        };
        let names = || space.axes().iter().map(|axis| &axis.name);
        let mut log = Self {
            updates: last("train/n_updates")?.unwrap_or(0.0) as u64,
            steps: last(STEPS)?.unwrap_or(0.0),
            f_statistic: last("hyper/f_statistic")?,
            correlations: names()
                .map(|name| last(&format!("hyper/correlation_{name}")))
                .collect::<Result<_, _>>()?,
            moves: moves(&metrics)?,
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
        if self.config.scheduler.is_fixed() {
            return self.updates.max(start + 1);
        }
        if self.config.scheduler.is_rule() {
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

/// The rows of metrics that say how far an update phase moved the policy; older runs have no such columns.
fn moves(metrics: &CsvTable) -> Result<Vec<Move>, String> {
    let columns = [
        "train/n_updates",
        "train/target_divergence",
        "train/divergence",
        "train/learning_rate",
    ];
    if columns
        .iter()
        .any(|column| !metrics.header.iter().any(|name| name == column))
    {
        return Ok(Vec::new());
    }
    let numbers = |column: &str| metrics.numbers(column).map_err(|error| error.to_string());
    let [updates, targets, divergences, rates] = [
        numbers(columns[0])?,
        numbers(columns[1])?,
        numbers(columns[2])?,
        numbers(columns[3])?,
    ];
    let rows = (0..updates.len()).map(|row| Move {
        update: updates[row] as u64,
        target: targets[row],
        divergence: divergences[row],
        rate: rates[row],
    });
    Ok(rows.filter(|row| row.divergence.is_finite()).collect())
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
    config.scheduler.of_agent().groups(config.hyper.action_values, space)
}
