//! Which of a run's policies is kept as the best, and what it is worth in the end.
//!
//! The paper's score is that of the best checkpoint: the policy of the moment with the best training score, played for
//! a hundred episodes once training is over. Picking it by its training score leaves the final episodes untouched, so
//! that the score is not the luckiest of many evaluations.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use epgt_rng::Pcg64;
use epgt_settings::{Entry, Settings, choice};
use serde::{Deserialize, Serialize};

use crate::artifact::{self, write_atomically};
use crate::directory::{earlier_result, unusable};
use crate::outcome::RunError;
use crate::policy_file::{self, BestProblem, EncodedPolicy, PolicyError};
use crate::run::{BEST_POLICY, CHECKPOINT};
use crate::settings::RunSettings;
use crate::trainer::Counters;
use crate::{Assignment, Config, EvalPlan, Evaluation, InitProblem, Registry, SetupError, evaluate};

choice! {
    /// What decides which policy is kept as the best.
    pub enum BestBy {
        /// The mean return of an evaluation.
        Evaluation = "evaluation",
        /// The mean return of the last hundred training episodes, looked at with every row of metrics (the paper's).
        Training = "training",
    }
}

/// Training episodes that make a score: the first ones alone may be the luck of one.
const LEAST_EPISODES: u64 = 10;

/// The best scores so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Best {
    /// Of an evaluation.
    pub evaluation: Option<f64>,
    /// Of the last hundred training episodes.
    training: Option<f64>,
}

impl Best {
    /// Takes the mean return of an evaluation; says whether the policy is to be kept.
    pub fn take_evaluation(&mut self, by: BestBy, mean: f64) -> bool {
        let is_best = self.evaluation.is_none_or(|best| mean > best);
        if is_best {
            self.evaluation = Some(mean);
        }
        is_best && by == BestBy::Evaluation
    }

    /// Takes the training score of this moment; says whether the policy is to be kept.
    pub fn take_training(&mut self, by: BestBy, counters: &Counters) -> bool {
        let Some(mean) = counters.mean_return().filter(|_| counters.episodes >= LEAST_EPISODES) else {
            return false;
        };
        let is_best = self.training.is_none_or(|best| mean > best);
        if is_best {
            self.training = Some(mean);
        }
        is_best && by == BestBy::Training
    }

    /// Whether a policy is kept once training is over and is to be played for the final score.
    pub fn has_final_score(&self, run: &RunSettings) -> bool {
        let kept = match run.best_by {
            BestBy::Evaluation => self.evaluation,
            BestBy::Training => self.training,
        };
        run.final_episodes > 0 && kept.is_some()
    }
}

/// Plays the best policy of a finished run for `final_episodes` episodes; `None` where `watch` stops it.
pub(crate) fn play_best(
    config: &Config,
    directory: &Path,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Evaluation>, RunError> {
    let run = &config.run;
    let mut policy = policy_file::read_in(&directory.join(BEST_POLICY), &config.registry)?;
    let plan = EvalPlan {
        episodes: run.final_episodes,
        seed: Pcg64::for_purpose(run.seed, "final evaluation", 0).next_u64() >> 1,
        actions: run.eval_actions,
        max_steps: run.eval_max_steps,
    };
    let task = policy.task.clone();
    evaluate(&mut policy.networks, &policy.normalizer, &task, &plan, watch).map_err(RunError::BestPolicy)
}

/// The settings of the networks of a policy, a file's or a run's best: those of a run that starts from it (`init`), where
/// the user says nothing else.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// # let directory = place.path().join("run");
/// use epgt_train::{Assignment, Config, Registry, Run, networks_of};
/// let said = [("task", "CartPole-v1"), ("steps", "2000"), ("policy.hidden", "[8]")];
/// let config = Config::build(&said.map(|(key, value)| Assignment::new(key, value)))?;
/// Run::create(config, &directory, false)?.train(&Default::default(), &mut ())?;
/// let settings = networks_of(&directory, &Registry::builtin())?;
/// assert!(settings.contains(&Assignment::new("policy.hidden", "[8]")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn networks_of(path: &Path, registry: &Registry) -> Result<Vec<Assignment>, SetupError> {
    let file = match path.is_dir() {
        false => path.to_path_buf(),
        true => best_policy(path)?.ok_or_else(|| SetupError::Init {
            path: path.to_path_buf(),
            problem: InitProblem::NoPolicy,
        })?,
    };
    let entries = policy_file::read_in(&file, registry)?.settings.entries();
    let setting = |entry: Entry| Assignment::new(format!("policy.{}", entry.key), entry.value);
    Ok(entries.into_iter().map(setting).collect())
}

/// Brings the best policy's file back to what it was at a checkpoint. A sentence is returned where the file had been
/// lost or damaged; a run that was killed may also have kept a later one, which it will find again.
pub(crate) fn restore(directory: &Path, kept: Option<&EncodedPolicy>) -> Result<Option<String>, RunError> {
    let path = directory.join(BEST_POLICY);
    let found = fs::read(&path);
    let Some(kept) = kept else {
        if found.is_ok() {
            fs::remove_file(&path).map_err(|error| unusable(&path, &error))?;
        }
        return Ok(None);
    };
    let trouble = match &found {
        Ok(bytes) if *bytes == kept.bytes => return Ok(None),
        Ok(bytes) => policy_file::digest(bytes).is_err().then_some("damaged"),
        Err(_) => Some("missing"),
    };
    write_atomically(&path, &kept.bytes)?;
    Ok(trouble.map(|trouble| {
        format!(
            "{} was {trouble} and has been restored from the checkpoint.",
            path.display()
        )
    }))
}

/// What every checkpoint begins with.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head<'a> {
    /// The run's configuration.
    pub config: Cow<'a, str>,
    /// The best policy so far, so that its file can be lost.
    pub best: Cow<'a, Option<EncodedPolicy>>,
}

/// The path of a run's best policy, once it is known to be the one that the run has kept; `None` where the run has kept
/// none yet.
///
/// ```
/// use epgt_train::{Assignment, Config, Run, best_policy};
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2000)])?;
/// Run::create(config, &directory, false).unwrap().train(&Default::default(), &mut ()).unwrap();
/// assert_eq!(best_policy(&directory).unwrap(), Some(directory.join("best.safetensors")));
/// std::fs::remove_file(directory.join("best.safetensors")).unwrap();
/// assert!(best_policy(&directory).unwrap_err().to_string().contains("best.safetensors is missing"));
/// # Ok::<(), epgt_train::ConfigError>(())
/// ```
pub fn best_policy(directory: &Path) -> Result<Option<PathBuf>, PolicyError> {
    let path = directory.join(BEST_POLICY);
    let refusal = |problem| PolicyError::Best {
        path: path.clone(),
        problem,
    };
    let found = fs::read(&path).ok();
    let expected = match earlier_result(directory) {
        Some(result) => result.best_policy_sha256,
        // While a run goes on, its file may be newer than its checkpoint.
        None if found.is_some() => None,
        None => kept_digest(&directory.join(CHECKPOINT))?,
    };
    let Some(bytes) = found else {
        return match expected {
            Some(_) => Err(refusal(BestProblem::Missing)),
            None => Ok(None),
        };
    };
    let digest = policy_file::digest(&bytes).map_err(|problem| refusal(BestProblem::Content(Box::new(problem))))?;
    match expected.is_some() && digest != expected {
        true => Err(refusal(BestProblem::Other)),
        false => Ok(Some(path)),
    }
}

/// The digest of the best policy that a checkpoint holds; `None` where it has none, or is not there.
fn kept_digest(path: &Path) -> Result<Option<String>, PolicyError> {
    if !path.exists() {
        return Ok(None);
    }
    let payload = artifact::open(path)?;
    let (head, _) =
        postcard::take_from_bytes::<Head<'_>>(&payload).map_err(|_| PolicyError::OtherVersion(path.to_path_buf()))?;
    Ok(head.best.into_owned().map(|policy| policy.digest))
}
