//! A population in its directory, with the same face as a [`Run`](crate::Run).
//!
//! ```text
//! config.toml          the complete resolved configuration; `steps` are those of each member
//! metrics.csv          those of a run, of the member with the best score at the time, and how the others stand
//! population.csv       every member's values at the start, at every exchange and at the end, and whom it copied
//! members/K/           metrics.csv, decisions.csv and TensorBoard events of member K
//! best.safetensors     the policy of the best evaluation or training score (`best_by`) of any member
//! last.safetensors     the latest policy of the member with the best score
//! checkpoint.bin       everything that training needs to go on
//! result.json          the summary, once all members have finished
//! ```

mod begin;
mod report;

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use epgt_envs::TaskSpec;
use epgt_hyper::HyperSpace;
use serde::{Deserialize, Serialize};

use super::exchange::{Exchange, ExchangeState};
use super::logs::{Event, PopulationLogLengths, PopulationLogs};
use super::member::{Cadence, Clock, Gauge, Member, SavedMember, crosses};
use super::workers;
use crate::lock::lock;
use crate::outcome::{Progress, RunEnd, RunError};
use crate::run::{BEST_POLICY, CHECKPOINT, CONFIG, LAST_POLICY, RESULT};
use crate::{Config, artifact, directory};

/// The least seconds between two checkpoints that nobody asked for.
const LEAST_CHECKPOINT: f64 = 1.0;

#[derive(Serialize, Deserialize)]
struct Checkpoint<'a> {
    config: Cow<'a, str>,
    exchange: Option<Cow<'a, ExchangeState>>,
    members: Vec<SavedMember<'a>>,
    logs: PopulationLogLengths,
    position: u64,
    best: Option<Kept>,
    wall_seconds: f64,
}

/// The policy that is kept as the best: its score, when the members met after it, and whose it was.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Kept {
    score: f64,
    target: u64,
    member: usize,
}

/// A population that trains in a directory.
///
/// ```
/// use epgt_train::population::PopulationRun;
/// use epgt_train::{Assignment, Config, RunEnd};
/// let directory = std::env::temp_dir().join(format!("epgt-doc-population-{}", std::process::id()));
/// let settings = [("task", "CartPole-v1"), ("scheduler", "pbt"), ("steps", "2000"), ("population.ready", "500")];
/// let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value)))?;
/// let mut run = PopulationRun::create(config, &directory, true).unwrap();
/// let Ok(RunEnd::Finished(result)) = run.train(&Default::default(), &mut |_| {}) else { panic!() };
/// assert_eq!((result.steps, result.population.unwrap().steps_all_members), (2000, 8000));
/// # std::fs::remove_dir_all(directory).unwrap();
/// # Ok::<(), String>(())
/// ```
pub struct PopulationRun {
    directory: PathBuf,
    config: Config,
    config_text: String,
    task: TaskSpec,
    space: HyperSpace,
    members: Vec<Member>,
    /// Decides who copies whom; the searches have none.
    exchange: Option<Exchange>,
    logs: PopulationLogs,
    /// The steps at which all members have last met.
    position: u64,
    best: Option<Kept>,
    /// The best evaluation of any member.
    evaluation: Option<f64>,
    clock: Clock,
    /// Steps of all members when this process took over.
    steps_before: u64,
    threads: usize,
    /// Held as long as the run is open, so that no second process trains in the same directory.
    _lock: File,
}

impl PopulationRun {
    /// Starts a population in a new directory. An existing run is only replaced with `force`, and then only its own files.
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        let lock = directory::take(directory, force)?;
        Self::begin(config, directory, lock)
    }

    /// Starts a population in a directory that this process has the lock of; what a run left there goes.
    fn begin(config: Config, directory: &Path, lock: File) -> Result<Self, RunError> {
        directory::clear(directory)?;
        let exchange = begin::exchange(&config)?;
        let values = begin::first_values(&config, exchange.as_ref())?;
        let members = values.iter().enumerate();
        let members: Vec<Member> = members
            .map(|(i, values)| Member::create(&config, i, directory, values))
            .collect::<Result<_, _>>()?;
        let (space, _) = config.hyper_space()?;
        let mut logs = PopulationLogs::create(directory, &space, &members)?;
        for (i, values) in values.iter().enumerate() {
            logs.event(0, i, None, &Event::Start(values))?;
        }
        let config_text = config.to_toml();
        artifact::write_atomically(directory.join(CONFIG), config_text.as_bytes())?;
        Ok(Self {
            directory: directory.to_path_buf(),
            task: config.task()?,
            config,
            config_text,
            space,
            members,
            exchange,
            logs,
            position: 0,
            best: None,
            evaluation: None,
            clock: Clock {
                started: Instant::now(),
                before: 0.0,
            },
            steps_before: 0,
            threads: 1,
            _lock: lock,
        })
    }

    /// Goes on from the last checkpoint of a population, or from its start if it was stopped before the first.
    pub fn resume(directory: &Path) -> Result<Self, RunError> {
        let (config, config_text) = directory::read_config(directory)?;
        let lock = lock(directory)?;
        if !directory::has_checkpoint(directory)? {
            return Self::begin(config, directory, lock);
        }
        let path = directory.join(CHECKPOINT);
        let payload = artifact::open(&path)?;
        let checkpoint: Checkpoint<'_> =
            postcard::from_bytes(&payload).map_err(|_| directory::of_another_version(&path))?;
        if checkpoint.config != config_text {
            return Err(directory::config_has_changed(directory));
        }
        let misfit = |error: String| RunError(format!("{}: {error}", path.display()));
        let mut exchange = begin::exchange(&config)?;
        if let (Some(exchange), Some(state)) = (&mut exchange, checkpoint.exchange) {
            exchange.restore(state.into_owned()).map_err(misfit)?;
        }
        if checkpoint.members.len() != begin::first_values(&config, exchange.as_ref())?.len() {
            return Err(misfit("it holds another number of members".to_string()));
        }
        let saved = checkpoint.members.into_iter().enumerate();
        let members: Vec<Member> = saved
            .map(|(i, saved)| Member::resume(&config, i, directory, saved))
            .collect::<Result<_, _>>()?;
        let (space, _) = config.hyper_space()?;
        Ok(Self {
            directory: directory.to_path_buf(),
            task: config.task()?,
            config,
            config_text,
            steps_before: members.iter().map(|member| member.record.trained).sum(),
            evaluation: best_evaluation(&members),
            logs: PopulationLogs::resume(directory, &checkpoint.logs, &space, &members)?,
            space,
            members,
            exchange,
            position: checkpoint.position,
            best: checkpoint.best,
            clock: Clock {
                started: Instant::now(),
                before: checkpoint.wall_seconds,
            },
            threads: 1,
            _lock: lock,
        })
    }

    /// Lets up to `threads` members train at a time; results do not depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Trains until every member's budget is spent or `stop` is set, telling `observe` how it goes.
    ///
    /// When stopped each member finishes its phase and all is saved; after an error the last good checkpoint stays as it was.
    pub fn train(&mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Progress<'_>)) -> Result<RunEnd, RunError> {
        self.clock.started = Instant::now();
        let cadence = self.cadence();
        let asked = self.config.run.checkpoint_interval.is_some();
        let mut checkpointed = Instant::now();
        while !self.is_finished() {
            let (before, target) = (self.position, self.target(&cadence));
            self.train_members(target, &cadence, stop, observe)?;
            let have_met = self.members.iter().all(|member| member.has_reached(target));
            if have_met {
                self.meet(target, &cadence)?;
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if crosses(cadence.checkpoint, before, self.position)
                && (asked || checkpointed.elapsed().as_secs_f64() >= LEAST_CHECKPOINT)
            {
                self.save()?;
                checkpointed = Instant::now();
            }
        }
        let policy_sha256 = self.save()?;
        let is_finished = self.is_finished();
        let (members, reporter) = self.members_and_reporter();
        let gauges: Vec<Gauge> = members.iter().map(Gauge::of).collect();
        let mut progress = reporter.progress(&gauges);
        if is_finished {
            // Where rollouts differ in length, the end is known when it has come.
            progress.total_steps = progress.steps;
        }
        observe(&progress);
        if !self.is_finished() {
            let steps = self.members[self.leader()].trainer.counters.steps;
            return Ok(RunEnd::Interrupted { steps });
        }
        let best_checkpoint = match self.best {
            Some(kept) => {
                let best = &self.members[kept.member].record.best;
                best.checkpoint(&self.config.run, &self.directory)?
            }
            None => None,
        };
        let result = self.result(policy_sha256, best_checkpoint);
        let text = serde_json::to_string_pretty(&result).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(RESULT), text.as_bytes())?;
        Ok(RunEnd::Finished(result))
    }

    fn cadence(&self) -> Cadence {
        let run = &self.config.run;
        let share = |interval: Option<u64>, parts: u64| interval.unwrap_or((run.steps / parts).max(1));
        Cadence {
            log: share(run.log_interval, 100),
            evaluate: share(run.eval_interval, 10),
            checkpoint: share(run.checkpoint_interval, 10),
            exchange: self.exchange.as_ref().map_or(0, |_| self.config.population.ready),
        }
    }

    /// Where the members meet next.
    fn target(&self, cadence: &Cadence) -> u64 {
        cadence.next(self.position).min(self.config.run.steps)
    }

    fn is_finished(&self) -> bool {
        self.members.iter().all(Member::is_done)
    }

    /// Trains every member up to `target`, several at a time.
    fn train_members(
        &mut self,
        target: u64,
        cadence: &Cadence,
        stop: &AtomicBool,
        observe: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), RunError> {
        let threads = self.threads;
        let (members, reporter) = self.members_and_reporter();
        let gauges: Vec<Gauge> = members.iter().map(Gauge::of).collect();
        let order = workers::Order {
            target,
            cadence,
            stop,
            clock: reporter.clock,
        };
        let report = &mut || observe(&reporter.progress(&gauges));
        let ends = workers::train(members, threads, &order, &gauges, report);
        for (i, end) in ends.into_iter().enumerate() {
            end.map_err(|RunError(error)| {
                let place = self.directory.display();
                RunError(format!(
                    "member {i} stopped: {error}; the last good checkpoint, if any, is in {place}"
                ))
            })?;
        }
        Ok(())
    }

    /// All members stand at `target`: what they have found is kept, and bad ones copy good ones where that is due.
    fn meet(&mut self, target: u64, cadence: &Cadence) -> Result<(), RunError> {
        self.keep_best(target)?;
        let before = self.position;
        // A rollout may lead far beyond the target; what was passed by on the way is not done several times.
        let going_on = self.members.iter().filter(|member| !member.is_done());
        let steps = going_on.map(|member| member.trainer.counters.steps).min();
        self.position = steps.unwrap_or(target).max(target);
        self.logs
            .metrics(&self.members, self.clock.seconds(), self.evaluation)?;
        for member in &mut self.members {
            member.record.evaluated = None;
        }
        let reasons = self.members.iter().map(|member| member.record.diverged.as_ref());
        if let Some(Some(reason)) = reasons.reduce(Option::and) {
            return Err(RunError(format!(
                "all members have diverged, the last because {reason}"
            )));
        }
        let scores: Vec<Option<f64>> = self.members.iter().map(Member::score).collect();
        if self.is_finished() {
            for (i, member) in self.members.iter().enumerate() {
                let (steps, values) = (member.trainer.counters.steps, member.trainer.hyper.values());
                self.logs.event(steps, i, scores[i], &Event::End(values))?;
            }
            return Ok(());
        }
        let due = crosses(cadence.exchange, before, self.position);
        let Some(exchange) = self.exchange.as_mut().filter(|_| due) else {
            return Ok(());
        };
        for (i, made) in exchange.step(self.position as f64, &scores).iter().enumerate() {
            let steps = self.members[i].trainer.counters.steps;
            self.logs.event(steps, i, scores[i], &Event::Exchange(made))?;
            if let Some(parent) = made.copied_from
                && let Ok([member, parent]) = self.members.get_disjoint_mut([i, parent])
            {
                member.adopt(parent);
                member.trainer.keep(&made.after);
            }
        }
        Ok(())
    }

    /// Keeps the best policy. Of equals it is that of the earlier meeting, then of the first member, so that a stop between two
    /// meetings changes nothing.
    fn keep_best(&mut self, target: u64) -> Result<(), RunError> {
        for (i, member) in self.members.iter_mut().enumerate() {
            let Some((score, policy)) = member.candidate.take() else {
                continue;
            };
            let equal = |best: Kept| score == best.score && target == best.target && i < best.member;
            if self.best.is_none_or(|best| score > best.score || equal(best)) {
                artifact::write_atomically(self.directory.join(BEST_POLICY), &policy)?;
                self.best = Some(Kept {
                    score,
                    target,
                    member: i,
                });
            }
        }
        self.evaluation = best_evaluation(&self.members);
        Ok(())
    }

    /// Writes the leader's policy and the checkpoint; returns the policy's hash.
    fn save(&mut self) -> Result<String, RunError> {
        let target = self.target(&self.cadence());
        self.keep_best(target)?;
        let policy = self.members[self.leader()].policy_bytes()?;
        artifact::write_atomically(self.directory.join(LAST_POLICY), &policy)?;
        let checkpoint = Checkpoint {
            config: Cow::Borrowed(&self.config_text),
            exchange: self.exchange.as_ref().map(|exchange| Cow::Borrowed(exchange.state())),
            members: self.members.iter_mut().map(Member::save).collect::<Result<_, _>>()?,
            logs: self.logs.sync()?,
            position: self.position,
            best: self.best,
            wall_seconds: self.clock.seconds(),
        };
        let payload = postcard::to_stdvec(&checkpoint).map_err(|error| RunError(error.to_string()))?;
        artifact::write_atomically(self.directory.join(CHECKPOINT), &artifact::seal(payload))?;
        Ok(artifact::sha256_hex(&policy))
    }
}

/// The best evaluation of any member.
fn best_evaluation(members: &[Member]) -> Option<f64> {
    let evaluations = members.iter().filter_map(|member| member.record.best.evaluation);
    evaluations.reduce(f64::max)
}
