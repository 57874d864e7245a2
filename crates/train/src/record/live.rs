//! A run that is looked at again and again while it is made.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Record, RecordError, Stamp, Tail};
use crate::is_training;
use crate::logs::{DECISIONS, METRICS};
use crate::run::{BEST_POLICY, CONFIG, LAST_POLICY, RESULT};

use super::FAILURE;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process trains in its directory.
    Training,
    /// It has its result.
    Finished,
    /// Nobody trains, there is no result, and an experiment has written down why.
    Failed,
    /// Nobody trains and there is no result: it was stopped or killed, and can be resumed.
    Stopped,
}

/// Follows a run: what its files say but for the tables, which a [`Tail`] each follows.
///
/// ```
/// use epgt_train::record::{Live, State};
/// use epgt_train::{Assignment, Config, Run};
/// # let place = tempfile::tempdir()?;
/// # let directory = place.path().join("run");
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2000)])?;
/// let mut run = Run::create(config, &directory, false)?;
/// let mut live = Live::new(&directory);
/// assert!(live.look()?);
/// assert_eq!((live.state(), live.steps_asked()), (State::Training, Some(2000.0)));
/// run.train(&Default::default(), &mut ())?;
/// drop(run);
/// assert!(live.look()?);
/// assert_eq!(live.state(), State::Finished);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Live {
    directory: PathBuf,
    stamps: Option<[Option<Stamp>; 3]>,
    record: Option<Record>,
    training: bool,
}

impl Live {
    /// A run that was not looked at yet.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            stamps: None,
            record: None,
            training: false,
        }
    }

    /// Looks again; whether anything has changed. After an error it is as it was at the look before.
    pub fn look(&mut self) -> Result<bool, RecordError> {
        let training = is_training(&self.directory);
        let changed = training != self.training;
        self.training = training;
        let stamps = [CONFIG, RESULT, FAILURE].map(|name| Stamp::at(&self.directory.join(name)));
        if self.stamps == Some(stamps) {
            return Ok(changed);
        }
        self.stamps = Some(stamps);
        self.record = Some(Record::read_head(&self.directory)?);
        Ok(true)
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What its files say, without any metrics; `None` where they could not be read yet.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// How it stands.
    pub fn state(&self) -> State {
        let record = self.record.as_ref();
        let failed = || self.directory.join(FAILURE).exists();
        match self.training {
            true => State::Training,
            false if record.is_some_and(|record| record.result.is_some()) => State::Finished,
            false if record.map_or_else(failed, |record| record.failure.is_some()) => State::Failed,
            false => State::Stopped,
        }
    }

    /// Environment steps that it is to make.
    pub fn steps_asked(&self) -> Option<f64> {
        let steps = self.record.as_ref()?.settings.get("steps")?;
        steps.parse().ok().filter(|steps: &f64| steps.is_finite())
    }

    /// Its metrics, from their start.
    pub fn metrics(&self) -> Tail {
        Tail::new(&self.directory.join(METRICS))
    }

    /// The decisions of its hyper-agent, from their start.
    pub fn decisions(&self) -> Tail {
        Tail::new(&self.directory.join(DECISIONS))
    }

    /// The file of its present policy, that of its last checkpoint or else the best so far, and when it was written;
    /// `None` where there is none yet.
    pub fn policy(&self) -> Option<(PathBuf, SystemTime)> {
        let found = [LAST_POLICY, BEST_POLICY].map(|name| {
            let path = self.directory.join(name);
            let written = fs::metadata(&path).and_then(|about| about.modified()).ok()?;
            Some((path, written))
        });
        found.into_iter().flatten().next()
    }
}
