//! Who watches a run.

use std::path::Path;

use epgt_hyper::Decision;

use crate::outcome::{Progress, RunError};

/// Watches a run: its own log files do, its display does, and so does whoever starts it
/// ([`Run::train`](crate::Run::train)). Every method does nothing unless it is implemented.
///
/// The methods that return a result can stop the run: it ends with their error, and its last checkpoint stays as it
/// was.
///
/// A closure that takes a [`Progress`] is an observer of progress alone, and `()` is an observer that watches nothing.
///
/// ```
/// use epgt_train::{Assignment, Config, MetricsRow, Observer, Run, RunError};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
///
/// /// Collects a learning curve.
/// #[derive(Default)]
/// struct Curve(Vec<(u64, f64)>);
///
/// impl Observer for Curve {
///     fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
///         self.0.extend(row.get("rollout/ep_rew_mean").map(|mean| (row.steps, mean)));
///         Ok(())
///     }
/// }
///
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2048)])?;
/// let mut curve = Curve::default();
/// Run::create(config, &directory, false).unwrap().train(&Default::default(), &mut curve).unwrap();
/// assert!(matches!(curve.0.last(), Some((2048, mean)) if *mean > 9.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer {
    /// How it goes, a few times a second.
    fn progress(&mut self, _progress: &Progress) {}

    /// A row of metrics. That of a population tells of the member with the best score, and how the others stand.
    fn metrics(&mut self, _row: &MetricsRow<'_>) -> Result<(), RunError> {
        Ok(())
    }

    /// A decision of the hyper-agent with its outcome. Decisions of a population's members are not told.
    fn decision(&mut self, _decision: &Decision) -> Result<(), RunError> {
        Ok(())
    }

    /// A checkpoint was written.
    fn checkpoint(&mut self, _checkpoint: &WrittenCheckpoint<'_>) -> Result<(), RunError> {
        Ok(())
    }
}

impl<F: FnMut(&Progress)> Observer for F {
    fn progress(&mut self, progress: &Progress) {
        self(progress);
    }
}

impl Observer for () {}

/// Metrics of one moment.
#[derive(Clone, Copy, Debug)]
pub struct MetricsRow<'a> {
    /// Environment steps taken.
    pub steps: u64,
    /// Every metric by its name, in the order of the columns of `metrics.csv`; `None` where it was not measured.
    pub values: &'a [(String, Option<f64>)],
}

impl MetricsRow<'_> {
    /// A metric by its name; `None` where it was not measured, or is none of this run's.
    pub fn get(&self, name: &str) -> Option<f64> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| *value)
    }
}

/// A checkpoint that lies on the disk.
#[derive(Clone, Copy, Debug)]
pub struct WrittenCheckpoint<'a> {
    /// The run's directory.
    pub directory: &'a Path,
    /// Environment steps that the run had taken.
    pub steps: u64,
    /// The digest of the policy that was written beside it.
    pub policy_sha256: &'a str,
}
