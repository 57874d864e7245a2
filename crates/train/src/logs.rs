//! What a run writes while it goes: metrics as CSV and as TensorBoard events, and every decision of the hyper-agent.
//!
//! Metrics have Stable-Baselines3's names (`rollout/ep_rew_mean`, `time/fps`, ...), so that a user's dashboards carry
//! over.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use epgt_hyper::{Decision, HyperSpace};
use epgt_pg::Rule;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactError;
use crate::observer::{MetricsRow, Observer};
use crate::outcome::RunError;
use crate::table::{Cell, CsvWriter};
use crate::tensorboard::{EventWriter, HyperparameterValue};
use crate::{Config, Evaluation, Trainer};

/// The table of metrics in a run directory.
pub const METRICS: &str = "metrics.csv";
/// The table of the hyper-agent's decisions.
pub const DECISIONS: &str = "decisions.csv";
/// The metrics for TensorBoard.
pub const EVENTS: &str = "events.out.tfevents.epgt";

/// The metrics that runs are compared by in TensorBoard.
const COMPARED: [&str; 3] = ["rollout/ep_rew_mean", "eval/mean_reward", "eval/best_mean_reward"];

/// The files that a run's log consists of.
pub(crate) const FILES: [&str; 3] = [METRICS, DECISIONS, EVENTS];

/// The open log files of a run.
pub(crate) struct Logs {
    metrics: MetricsTable,
    decisions: DecisionTable,
    events: EventLog,
}

/// Lengths of the log files at a checkpoint: what was written after it is cut off at resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogLengths {
    metrics: u64,
    decisions: u64,
    events: u64,
}

impl Logs {
    /// Starts the log files of a run with this configuration in its directory.
    pub fn create(directory: &Path, config: &Config, trainer: &Trainer) -> Result<Self, ArtifactError> {
        Ok(Self {
            metrics: MetricsTable::create(directory, &metric_names(trainer))?,
            decisions: DecisionTable::create(directory, trainer.hyper.space())?,
            events: EventLog::create(directory, config)?,
        })
    }

    /// Goes on after a checkpoint; rows that were written later are dropped.
    pub fn resume(directory: &Path, lengths: &LogLengths, trainer: &Trainer) -> Result<Self, ArtifactError> {
        Ok(Self {
            metrics: MetricsTable::resume(directory, lengths.metrics, &metric_names(trainer))?,
            decisions: DecisionTable::resume(directory, lengths.decisions, trainer.hyper.space())?,
            events: EventLog::resume(directory, lengths.events)?,
        })
    }

    /// Brings everything to the disk and says how long the files are.
    pub fn sync(&mut self) -> Result<LogLengths, ArtifactError> {
        Ok(LogLengths {
            metrics: self.metrics.sync()?,
            decisions: self.decisions.sync()?,
            events: self.events.sync()?,
        })
    }
}

impl Observer for Logs {
    fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
        self.metrics.metrics(row)?;
        self.decisions.metrics(row)?;
        self.events.metrics(row)
    }

    fn decision(&mut self, decision: &Decision) -> Result<(), RunError> {
        self.decisions.decision(decision)
    }
}

/// Writes `metrics.csv`.
pub(crate) struct MetricsTable(CsvWriter);

impl MetricsTable {
    pub fn create(directory: &Path, names: &[String]) -> Result<Self, ArtifactError> {
        CsvWriter::create(directory.join(METRICS), names).map(Self)
    }

    pub fn resume(directory: &Path, length: u64, names: &[String]) -> Result<Self, ArtifactError> {
        CsvWriter::open_at(directory.join(METRICS), length, names).map(Self)
    }

    pub fn sync(&mut self) -> Result<u64, ArtifactError> {
        self.0.sync()
    }
}

impl Observer for MetricsTable {
    fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
        for (_, value) in row.values {
            self.0.field(value.map_or(Cell::Empty, Cell::F64));
        }
        self.0.end_row().flush()?;
        Ok(())
    }
}

/// Writes the metrics as TensorBoard's events.
struct EventLog(EventWriter);

impl EventLog {
    /// Begins with what the run was made with, by which TensorBoard's tab of hyperparameters compares runs.
    fn create(directory: &Path, config: &Config) -> Result<Self, ArtifactError> {
        let now = wall_time();
        let mut events = EventWriter::create(directory.join(EVENTS), now)?;
        events.hyperparameters(now, &hyperparameters(config), &COMPARED);
        events.flush()?;
        Ok(Self(events))
    }

    fn resume(directory: &Path, length: u64) -> Result<Self, ArtifactError> {
        EventWriter::open_at(directory.join(EVENTS), length).map(Self)
    }

    fn sync(&mut self) -> Result<u64, ArtifactError> {
        self.0.sync()
    }
}

impl Observer for EventLog {
    fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
        let now = wall_time();
        for (name, value) in row.values {
            if let Some(value) = value {
                self.0.scalar(now, name, row.steps, *value as f32);
            }
        }
        self.0.flush()?;
        Ok(())
    }
}

/// What of a configuration is compared: what is trained and how, the method's settings, and what is scheduled.
fn hyperparameters(config: &Config) -> Vec<(String, HyperparameterValue)> {
    const OF_RUN: [&str; 6] = ["task", "algo", "scheduler", "seed", "steps", "n_envs"];
    let mut found = Vec::new();
    for (section, entries) in config.sections() {
        for entry in entries {
            if section == config.run.algo.name() || section.is_empty() && OF_RUN.contains(&entry.key) {
                found.push((entry.key.to_string(), HyperparameterValue::of_toml(&entry.value)));
            }
        }
    }
    let tuned = config.tune.iter();
    found.extend(tuned.map(|(name, grid)| (format!("tune.{name}"), HyperparameterValue::Text(grid.clone()))));
    found
}

/// Writes `decisions.csv`.
struct DecisionTable {
    table: CsvWriter,
    text: String,
}

impl DecisionTable {
    fn create(directory: &Path, space: &HyperSpace) -> Result<Self, ArtifactError> {
        CsvWriter::create(directory.join(DECISIONS), &decision_columns(space)).map(Self::of)
    }

    fn resume(directory: &Path, length: u64, space: &HyperSpace) -> Result<Self, ArtifactError> {
        CsvWriter::open_at(directory.join(DECISIONS), length, &decision_columns(space)).map(Self::of)
    }

    fn of(table: CsvWriter) -> Self {
        Self {
            table,
            text: String::new(),
        }
    }

    fn sync(&mut self) -> Result<u64, ArtifactError> {
        self.table.sync()
    }
}

impl Observer for DecisionTable {
    /// Rows of decisions reach the file together with a row of metrics.
    fn metrics(&mut self, _: &MetricsRow<'_>) -> Result<(), RunError> {
        self.table.flush()?;
        Ok(())
    }

    fn decision(&mut self, decision: &Decision) -> Result<(), RunError> {
        let number = |x: f32| if x.is_nan() { Cell::Empty } else { Cell::F32(x) };
        let row = &mut self.table;
        row.field(Cell::Integer(decision.decision));
        row.field(Cell::Integer(decision.update));
        row.field(Cell::F32(decision.epsilon));
        row.field(Cell::Text(decision.choice.name()));
        for &value in &decision.values {
            row.field(Cell::F64(value));
        }
        row.field(decision.q_chosen.map_or(Cell::Empty, Cell::F32));
        row.field(Cell::Integer(decision.memory as u64));
        row.field(Cell::Integer(u64::from(decision.written)));
        row.field(
            decision
                .neighbours
                .first()
                .map_or(Cell::Empty, |nearest| Cell::F32(nearest.distance)),
        );
        match &decision.key {
            Some(_) => row
                .field(Cell::F32(decision.norms.0))
                .field(Cell::F32(decision.norms.1)),
            None => row.field(Cell::Empty).field(Cell::Empty),
        };
        row.field(number(decision.outcome));
        row.field(number(decision.hyper_return));
        row.field(number(decision.improvement));
        self.text.clear();
        for (i, q) in decision.q.iter().enumerate() {
            let _ = write!(self.text, "{}{q}", if i > 0 { ";" } else { "" });
        }
        row.field(Cell::Text(&self.text));
        self.text.clear();
        for (i, n) in decision.neighbours.iter().enumerate() {
            let separator = if i > 0 { ";" } else { "" };
            let _ = write!(
                self.text,
                "{separator}{}:{}:{}:{}",
                n.origin, n.distance, n.weight, n.value
            );
        }
        row.field(Cell::Text(&self.text));
        row.end_row();
        Ok(())
    }
}

/// The columns of `decisions.csv`: the scheduled hyperparameters stand between `choice` and `q`.
fn decision_columns(space: &HyperSpace) -> Vec<String> {
    let before = ["decision", "update", "epsilon", "choice"];
    let after = [
        "q",
        "memory",
        "written",
        "nearest_distance",
        "weight_norm",
        "gradient_norm",
        "outcome",
        "hyper_return",
        "improvement",
        "q_values",
        "neighbours",
    ];
    let scheduled = space.axes().iter().map(|axis| axis.name.clone());
    before
        .map(String::from)
        .into_iter()
        .chain(scheduled)
        .chain(after.map(String::from))
        .collect()
}

/// The columns of `metrics.csv`.
pub(crate) fn metric_names(trainer: &Trainer) -> Vec<String> {
    trainer.metrics().into_iter().map(|(name, _)| name).collect()
}

/// Metrics by name, in the order of the columns.
pub(crate) type Metrics = Vec<(String, Option<f64>)>;

/// The metrics of this moment. Those of training are as they were at the checkpoint, until a resumed run has trained
/// again.
pub(crate) fn metrics(trainer: &Trainer, elapsed: f64, evaluation: Option<&Evaluation>, best: Option<f64>) -> Metrics {
    let mut row = trainer.metrics();
    let evaluated = evaluation.map(Evaluation::mean_return);
    for (name, value) in &mut row {
        match name.as_str() {
            "time/time_elapsed" => *value = Some(elapsed),
            "time/fps" => *value = (elapsed > 0.0).then(|| trainer.counters.steps as f64 / elapsed),
            "eval/mean_reward" => *value = evaluated,
            "eval/mean_ep_length" => *value = evaluation.map(Evaluation::mean_length),
            "eval/episodes" => *value = evaluation.map(|evaluation| evaluation.returns.len() as f64),
            "eval/best_mean_reward" => *value = best,
            "eval/human_normalised" => *value = trainer.human_normalised(evaluated),
            _ => {}
        }
    }
    row
}

/// What a trainer tells of the phase that it has just made; time and evaluation are others' to say.
pub(crate) fn of_training(trainer: &Trainer) -> Metrics {
    let counters = &trainer.counters;
    let insight = trainer.hyper.insight();
    let stats = trainer.method.stats();
    let log_std = trainer.policy.log_std();
    let std =
        (!log_std.is_empty()).then(|| log_std.iter().map(|x| f64::from(x.exp())).sum::<f64>() / log_std.len() as f64);
    let float = |x: f32| Some(f64::from(x));
    let mut row = vec![
        ("time/total_timesteps".to_string(), Some(counters.steps as f64)),
        ("time/iterations".to_string(), Some(counters.rollouts as f64)),
        ("time/time_elapsed".to_string(), None),
        ("time/fps".to_string(), None),
        ("rollout/ep_rew_mean".to_string(), counters.mean_return()),
        ("rollout/ep_len_mean".to_string(), counters.mean_length()),
        ("eval/mean_reward".to_string(), None),
        ("eval/mean_ep_length".to_string(), None),
        ("eval/episodes".to_string(), None),
        ("eval/best_mean_reward".to_string(), None),
        ("train/n_updates".to_string(), Some(counters.updates as f64)),
        ("train/learning_rate".to_string(), Some(trainer.method.learning_rate())),
        ("train/policy_loss".to_string(), float(stats.policy_loss)),
        ("train/value_loss".to_string(), float(stats.value_loss)),
        ("train/entropy_loss".to_string(), float(-stats.entropy)),
        ("train/grad_norm".to_string(), float(stats.grad_norm)),
        (
            "train/explained_variance".to_string(),
            trainer.rollout.explained_variance().map(f64::from),
        ),
        ("train/approx_kl".to_string(), stats.approx_kl.map(f64::from)),
        ("train/clip_fraction".to_string(), stats.clip_fraction.map(f64::from)),
        ("train/trust_scale".to_string(), stats.trust_scale.map(f64::from)),
        (
            "train/target_divergence".to_string(),
            stats.target_divergence.map(f64::from),
        ),
        ("train/divergence".to_string(), stats.divergence.map(f64::from)),
        ("train/std".to_string(), std),
        ("hyper/epsilon".to_string(), float(insight.epsilon)),
        ("hyper/decisions".to_string(), Some(insight.decisions as f64)),
        ("hyper/memory".to_string(), Some(insight.memory as f64)),
        (
            "hyper/outcome".to_string(),
            insight.verdict.map(|verdict| f64::from(verdict.outcome)),
        ),
        (
            "hyper/hyper_return".to_string(),
            insight.verdict.map(|verdict| f64::from(verdict.hyper_return)),
        ),
        (
            "hyper/improvement".to_string(),
            insight.verdict.map(|verdict| f64::from(verdict.improvement)),
        ),
        ("hyper/f_statistic".to_string(), insight.f_statistic),
        (
            "hyper/reconstruction_loss".to_string(),
            insight.reconstruction_loss.map(f64::from),
        ),
        ("hyper/key_drift".to_string(), insight.key_drift.map(f64::from)),
        ("hyper/dqn_loss".to_string(), insight.dqn_loss.map(f64::from)),
    ];
    if trainer.human_normalised(Some(0.0)).is_some() {
        let normalised = trainer.human_normalised(counters.mean_return());
        row.push(("rollout/human_normalised".to_string(), normalised));
        row.push(("eval/human_normalised".to_string(), None));
    }
    let axes = trainer.hyper.space().axes().iter();
    for ((axis, value), correlation) in axes.zip(trainer.hyper.values()).zip(insight.correlations) {
        row.push((format!("hyper/{}", axis.name), Some(*value)));
        row.push((format!("hyper/correlation_{}", axis.name), correlation));
    }
    row.extend(trainer.method.rule().into_iter().flat_map(Rule::metrics));
    row
}

/// Seconds since 1970, as TensorBoard wants them.
fn wall_time() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64())
}
