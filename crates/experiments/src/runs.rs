//! Runs that were made before, with what methods are compared by.

use std::collections::BTreeSet;
use std::path::PathBuf;

use epgt_report::curve::Curve;
use epgt_settings::{one_line, shortened};
use epgt_train::record::{self, Record, RecordError};

use crate::measure::Measure;

/// Characters of a sentence about a file: what it quotes may be of any length.
const LONGEST_SENTENCE: usize = 400;

/// Points to which a schedule is condensed.
const SCHEDULE_POINTS: usize = 120;

/// One run as far as it has come.
#[derive(Clone, Debug)]
pub struct Run {
    /// What its directory says.
    pub record: Record,
    /// Which of the named directories it was found below.
    pub origin: usize,
}

impl Run {
    /// A column of `metrics.csv` over environment steps; empty where there is none.
    pub fn curve(&self, column: &str) -> Curve {
        Curve {
            steps: self.record.steps(),
            values: self.record.column(column),
        }
    }

    /// The score of a finished run; an unfinished one has none.
    pub fn score(&self, measure: Measure) -> Option<f64> {
        let result = self.record.result.as_ref()?;
        measure.of(result, || self.curve("rollout/ep_rew_mean").area())
    }

    /// How far it has come, in environment steps.
    pub fn steps(&self) -> f64 {
        self.curve(record::STEPS).end()
    }

    /// Why it stopped, in one line, where an experiment has written it down.
    pub fn failure(&self) -> Option<String> {
        let failure = self.record.failure.as_ref()?;
        Some(sentence(failure))
    }

    /// A column whose values hold: what a row of `metrics.csv` says has held since the row before it. Each value is at the
    /// step from which it holds, the last one again at the run's end.
    pub fn held(&self, column: &str) -> Curve {
        let Curve { steps, mut values } = self.curve(column);
        let Some(&last) = values.last() else {
            return Curve::default();
        };
        values.push(last);
        Curve {
            steps: [0.0].into_iter().chain(steps).collect(),
            values,
        }
    }

    /// A hyperparameter over training. Each value holds from its step to the next one's, and the last to the run's end; where
    /// there are more choices than can be seen, it is the mean of several (geometric if `log`).
    pub fn schedule(&self, name: &str, log: bool) -> Curve {
        let chosen = self.record.choices(name);
        if chosen.is_empty() {
            return self.held(&format!("hyper/{name}"));
        }
        let updates = self.curve("train/n_updates");
        let clock = Curve {
            steps: [0.0].into_iter().chain(updates.values).collect(),
            values: [0.0].into_iter().chain(updates.steps).collect(),
        };
        let each = chosen.len().div_ceil(SCHEDULE_POINTS).max(1);
        let mut curve = Curve::default();
        for part in chosen.chunks(each) {
            let value = |choice: &(f64, f64)| if log { choice.1.ln() } else { choice.1 };
            let mean = part.iter().map(value).sum::<f64>() / part.len() as f64;
            let step = clock.at(&[part[0].0])[0];
            if step.is_finite() {
                curve.steps.push(step);
                curve.values.push(if log { mean.exp() } else { mean });
            }
        }
        if let Some(&last) = curve.values.last() {
            curve.steps.push(self.steps().max(curve.end()));
            curve.values.push(last);
        }
        curve
    }
}

/// A text that a file may hold, as a sentence that can be shown.
fn sentence(text: &str) -> String {
    shortened(&one_line(text), LONGEST_SENTENCE)
}

/// The runs below directories, in order, and a sentence for each that could not be read. One that is reached in two
/// ways counts once.
pub fn find(directories: &[PathBuf]) -> Result<(Vec<Run>, Vec<String>), RecordError> {
    let (mut runs, mut broken) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for (origin, directory) in directories.iter().enumerate() {
        for path in record::find(directory)? {
            if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                continue;
            }
            match Record::read(&path) {
                Ok(record) => runs.push(Run { record, origin }),
                Err(error) => broken.push(sentence(&error.to_string())),
            }
        }
    }
    Ok((runs, broken))
}
