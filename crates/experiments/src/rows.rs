//! What each finished run says: its score, and what its metrics tell beside it.
//!
//! Two numbers stand beside the score. The area under the learning curve is the mean over training of the return of the
//! last hundred episodes, which is far less noisy than its end. F tells whether the hyper-action explains anything of
//! the improvement that followed (about 1: nothing), without which no difference can be credited to the scheduling.

use epgt_report::curve::Curve;
use epgt_train::RunResult;
use epgt_train::artifact::ArtifactError;
use epgt_train::record::{STEPS, read_metrics};

use crate::cell::Cell;
use crate::measure::Measure;
use crate::plan::Plan;

/// One finished run.
pub struct Row {
    pub task: usize,
    pub method: usize,
    pub result: RunResult,
    pub auc: Option<f64>,
    pub f_statistic: Option<f64>,
    /// Steps after which the training return first was at the threshold.
    pub reached: Option<f64>,
}

impl Row {
    /// The finished run of a cell with what its metrics say.
    pub fn of(plan: &Plan, cell: &Cell, result: &RunResult) -> Result<Self, ArtifactError> {
        let metrics = read_metrics(&cell.directory)?;
        let column = |name: &str| metrics.numbers(name);
        let (steps, returns) = (column(STEPS)?, column("rollout/ep_rew_mean")?);
        Ok(Self {
            task: cell.task,
            method: cell.method,
            result: result.clone(),
            reached: plan
                .threshold
                .and_then(|threshold| first_at(&steps, &returns, threshold)),
            auc: Curve { steps, values: returns }.area(),
            f_statistic: column("hyper/f_statistic")?.into_iter().rfind(|f| f.is_finite()),
        })
    }

    /// The number that methods are compared by.
    pub fn score(&self, score: Measure) -> Option<f64> {
        score.of(&self.result, || self.auc)
    }

    /// Environment steps per second of processor time; `None` where that was too short to be measured.
    pub fn steps_per_cpu_second(&self) -> Option<f64> {
        let rate = self.steps_in_all() as f64 / self.result.cpu_seconds;
        rate.is_finite().then_some(rate)
    }

    /// Environment steps that the result has cost: those of every member where it is a population's.
    pub fn steps_in_all(&self) -> u64 {
        let members = self.result.population.as_ref();
        members.map_or(self.result.steps, |population| population.steps_all_members)
    }
}

/// Where a curve first is at a threshold.
fn first_at(steps: &[f64], values: &[f64], threshold: f64) -> Option<f64> {
    let mut points = steps.iter().zip(values);
    points.find(|(_, value)| **value >= threshold).map(|(step, _)| *step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_reached_where_the_curve_first_is_there() {
        let steps = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(first_at(&steps, &[f64::NAN, 3.0, 5.0, 2.0], 5.0), Some(30.0));
        assert_eq!(first_at(&steps, &[1.0; 4], 5.0), None);
    }
}
