//! What a run writes while it goes: metrics as CSV and as TensorBoard events, and every decision of the hyper-agent.
//!
//! Metrics have Stable-Baselines3's names (`rollout/ep_rew_mean`, `time/fps`, ...), so that a user's dashboards carry over.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use epgt_hyper::{Decision, HyperSpace};
use epgt_pg::Rule;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactError;
use crate::table::{Cell, CsvWriter};
use crate::tensorboard::EventWriter;
use crate::{Evaluation, Trainer};

/// The file of a run's metrics.
pub const METRICS: &str = "metrics.csv";
/// The file of its hyper-agent's decisions.
pub const DECISIONS: &str = "decisions.csv";
const EVENTS: &str = "events.out.tfevents.epgt";

/// The files that a run's log consists of.
pub const FILES: [&str; 3] = [METRICS, DECISIONS, EVENTS];

/// The open log files of a run.
pub struct Logs {
    metrics: CsvWriter,
    decisions: CsvWriter,
    events: EventWriter,
    text: String,
}

/// Lengths of the log files at a checkpoint: what was written after it is cut off at resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLengths {
    metrics: u64,
    decisions: u64,
    events: u64,
}

impl Logs {
    /// Starts the log files in an empty run directory.
    pub fn create(directory: &Path, trainer: &Trainer) -> Result<Self, ArtifactError> {
        let (names, columns) = (metric_names(trainer), decision_columns(trainer.hyper.space()));
        Ok(Self {
            metrics: CsvWriter::create(directory.join(METRICS), &names)?,
            decisions: CsvWriter::create(directory.join(DECISIONS), &columns)?,
            events: EventWriter::create(directory.join(EVENTS), wall_time())?,
            text: String::new(),
        })
    }

    /// Goes on after a checkpoint; rows that were written later are dropped.
    pub fn resume(directory: &Path, lengths: &LogLengths, trainer: &Trainer) -> Result<Self, ArtifactError> {
        let (names, columns) = (metric_names(trainer), decision_columns(trainer.hyper.space()));
        Ok(Self {
            metrics: CsvWriter::open_at(directory.join(METRICS), lengths.metrics, &names)?,
            decisions: CsvWriter::open_at(directory.join(DECISIONS), lengths.decisions, &columns)?,
            events: EventWriter::open_at(directory.join(EVENTS), lengths.events)?,
            text: String::new(),
        })
    }

    /// One row of metrics.
    pub fn metrics(
        &mut self,
        trainer: &Trainer,
        elapsed: f64,
        evaluation: Option<&Evaluation>,
        best: Option<f64>,
    ) -> Result<(), ArtifactError> {
        let now = wall_time();
        for (name, value) in metrics(trainer, elapsed, evaluation, best) {
            match value {
                Some(value) => {
                    self.metrics.field(Cell::F64(value));
                    self.events.scalar(now, &name, trainer.counters.steps, value as f32);
                }
                None => {
                    self.metrics.field(Cell::Empty);
                }
            }
        }
        self.metrics.end_row().flush()?;
        self.decisions.flush()?;
        self.events.flush()?;
        Ok(())
    }

    /// One decision of the hyper-agent with what came of it.
    pub fn decision(&mut self, decision: &Decision) {
        let number = |x: f32| if x.is_nan() { Cell::Empty } else { Cell::F32(x) };
        let row = &mut self.decisions;
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
    of_training(trainer).into_iter().map(|(name, _)| name).collect()
}

/// Metrics by name, in the order of the columns.
pub(crate) type Metrics = Vec<(String, Option<f64>)>;

/// The metrics of this moment. Those of training are as they were at the checkpoint, until a resumed run has trained again.
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
