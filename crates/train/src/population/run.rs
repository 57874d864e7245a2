//! A population in its directory, with the same face as a [`Run`](crate::Run).
//!
//! ```text
//! epgt.json            who made it, as in every run
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

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use epgt_envs::TaskSpec;
use epgt_hyper::HyperSpace;
use serde::{Deserialize, Serialize};

use super::exchange::{Exchange, ExchangeState, ranked};
use super::logs::{Event, PopulationLogLengths, PopulationLogs, leader};
use super::member::{Gauge, Member, SavedMember};
use super::workers;
use crate::best::Head;
use crate::cadence::{Cadence, crosses};
use crate::directory::{self, ResumeWith, RunDirectory};
use crate::observer::Observer;
use crate::outcome::{PopulationResult, Progress, RunEnd, RunError, RunResult};
use crate::run::LEAST_CHECKPOINT;
use crate::run_loop::{Clock, Conditions};
use crate::{Config, SetupError, usage};
use begin::Start;

#[derive(Serialize, Deserialize)]
struct Checkpoint<'a> {
    head: Head<'a>,
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
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path().join("run");
/// let settings = [("task", "CartPole-v1"), ("scheduler", "pbt"), ("steps", "2048"), ("population.ready", "512")];
/// let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value)))?;
/// let mut run = PopulationRun::create(config, &directory, false).unwrap();
/// let Ok(RunEnd::Finished(result)) = run.train(&Default::default(), &mut ()) else { panic!() };
/// assert_eq!((result.steps, result.population.unwrap().steps_all_members), (2048, 8192));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PopulationRun {
    directory: RunDirectory,
    config: Config,
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
    /// What the user should be told, once.
    notes: Vec<String>,
}

impl PopulationRun {
    /// Starts a population in a new directory; see [`Run::create`](crate::Run::create).
    pub fn create(config: Config, directory: &Path, force: bool) -> Result<Self, RunError> {
        directory::refuse_taken(directory, force)?;
        // What cannot be trained leaves no directory behind.
        let start = Start::new(&config)?;
        let directory = RunDirectory::create(directory, &config, force)?;
        Self::begin(start, config, directory)
    }

    /// Starts a population in a directory that is its own.
    fn begin(start: Start, config: Config, directory: RunDirectory) -> Result<Self, RunError> {
        let trainers = start.trainers.into_iter().enumerate();
        let members: Vec<Member> = trainers
            .map(|(i, trainer)| Member::create(&config, i, directory.path(), trainer))
            .collect::<Result<_, _>>()?;
        let (space, _) = config.hyper_space()?;
        let mut logs = PopulationLogs::create(directory.path(), &space, &members)?;
        for (i, values) in start.values.iter().enumerate() {
            logs.event(0, i, None, &Event::Start(values))?;
        }
        Ok(Self {
            directory,
            task: config.task()?,
            config,
            space,
            members,
            exchange: start.exchange,
            logs,
            position: 0,
            best: None,
            evaluation: None,
            clock: Clock::after(0.0),
            steps_before: 0,
            threads: 1,
            notes: Vec::new(),
        })
    }

    /// Goes on from the last checkpoint of a population, or from its start if it was stopped before the first.
    pub fn resume(directory: &Path, with: ResumeWith) -> Result<Self, RunError> {
        let opened = directory::open(directory, with)?;
        let Some(checkpoint) = opened.checkpoint::<Checkpoint<'_>>()? else {
            let start = Start::new(&opened.config)?;
            let (config, directory) = opened.begin_anew()?;
            return Self::begin(start, config, directory);
        };
        opened.check_fits(&checkpoint.head.config)?;
        let mut exchange = begin::exchange(&opened.config)?;
        if let (Some(exchange), Some(state)) = (&mut exchange, checkpoint.exchange) {
            let restored = exchange.restore(state.into_owned());
            restored.map_err(|error| opened.misfit(error))?;
        }
        if checkpoint.members.len() != opened.config.population.members(&opened.config)? {
            return Err(opened.misfit(SetupError::OtherMembers));
        }
        let saved = checkpoint.members.into_iter().enumerate();
        let members: Vec<Member> = saved
            .map(|(i, saved)| Member::resume(&opened.config, i, directory, saved))
            .collect::<Result<_, _>>()?;
        opened.check_steps(steps_done(&members))?;
        let config = opened.config.clone();
        let (space, _) = config.hyper_space()?;
        let logs = PopulationLogs::resume(directory, &checkpoint.logs, &space, &members)?;
        let (directory, note) = opened.go_on(checkpoint.head, members.iter().all(Member::is_done))?;
        Ok(Self {
            directory,
            task: config.task()?,
            config,
            steps_before: members.iter().map(|member| member.trained).sum(),
            evaluation: best_evaluation(&members),
            space,
            members,
            exchange,
            logs,
            position: checkpoint.position,
            best: checkpoint.best,
            clock: Clock::after(checkpoint.wall_seconds),
            threads: 1,
            notes: note.into_iter().collect(),
        })
    }

    /// Environment steps of the member that has done most.
    pub fn steps_done(&self) -> u64 {
        steps_done(&self.members)
    }

    /// Lets up to `threads` members train at a time; results do not depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Trains until every member's budget is spent or `stop` is set, telling `observer` how it goes.
    ///
    /// When stopped each member finishes its phase, or leaves the evaluation that it is at for later, and all is saved;
    /// after an error the last good checkpoint stays as it was. A population that had finished before has its result
    /// again.
    pub fn train(&mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<RunEnd, RunError> {
        let is_finished = self.is_finished();
        if let Some(result) = is_finished.then(|| self.directory.earlier_result()).flatten() {
            if !self.notes.is_empty() {
                observer.progress(&self.progress());
            }
            return Ok(RunEnd::Finished(result));
        }
        self.clock.started = Instant::now();
        let cadence = self.cadence();
        let asked = self.config.run.checkpoint_interval.is_some();
        let mut checkpointed = Instant::now();
        while !self.is_finished() {
            let (before, target) = (self.position, self.target(&cadence));
            self.train_members(target, &cadence, stop, observer)?;
            let have_met = self.members.iter().all(|member| member.has_reached(target));
            if have_met {
                self.meet(target, &cadence, observer)?;
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if crosses(cadence.checkpoint, before, self.position)
                && (asked || checkpointed.elapsed().as_secs_f64() >= LEAST_CHECKPOINT)
            {
                self.save(observer)?;
                checkpointed = Instant::now();
            }
        }
        let policy_sha256 = self.save(observer)?;
        let mut progress = self.progress();
        if self.is_finished() {
            // Where rollouts differ in length, the end is known when it has come.
            progress.total_steps = progress.steps;
        }
        observer.progress(&progress);
        let interrupted = RunEnd::Interrupted {
            steps: self.members[self.leader()].steps(),
        };
        if !self.is_finished() {
            return Ok(interrupted);
        }
        let run = &self.config.run;
        let plays_best = self
            .best
            .is_some_and(|kept| self.members[kept.member].run.best.has_final_score(run));
        let result = |best_checkpoint| self.result(policy_sha256, best_checkpoint);
        let finished = self
            .directory
            .finish(&self.config, plays_best, progress, stop, observer, result)?;
        Ok(finished.map_or(interrupted, RunEnd::Finished))
    }

    fn cadence(&self) -> Cadence {
        let exchange = self.exchange.as_ref().map_or(0, |_| self.config.population.ready);
        Cadence::new(&self.config.run, exchange)
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
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let threads = self.threads;
        let (members, reporter) = self.members_and_reporter();
        let gauges: Vec<Gauge> = members.iter().map(Gauge::of).collect();
        let order = workers::Order {
            target,
            conditions: Conditions {
                cadence,
                clock: reporter.clock,
                stop,
            },
        };
        let report = &mut || observer.progress(&reporter.progress(&gauges));
        let ends = workers::train(members, threads, &order, &gauges, report);
        for (i, end) in ends.into_iter().enumerate() {
            end.map_err(|error| RunError::Member {
                index: i,
                cause: Box::new(error),
                directory: self.directory.path().to_path_buf(),
            })?;
        }
        Ok(())
    }

    /// All members stand at `target`: what they have found is kept, and bad ones copy good ones where that is due.
    fn meet(&mut self, target: u64, cadence: &Cadence, observer: &mut dyn Observer) -> Result<(), RunError> {
        self.keep_best(target)?;
        let before = self.position;
        // A rollout may lead far beyond the target; what was passed by on the way is not done several times.
        let going_on = self.members.iter().filter(|member| !member.is_done());
        let steps = going_on.map(Member::steps).min();
        self.position = steps.unwrap_or(target).max(target);
        self.logs
            .metrics(&self.members, self.clock.seconds(), self.evaluation, observer)?;
        for member in &mut self.members {
            member.evaluated = None;
        }
        let reasons = self.members.iter().map(|member| member.diverged.as_ref());
        if let Some(Some(reason)) = reasons.reduce(Option::and) {
            return Err(RunError::AllDiverged(reason.clone()));
        }
        let scores: Vec<Option<f64>> = self.members.iter().map(Member::score).collect();
        if self.is_finished() {
            for (i, member) in self.members.iter().enumerate() {
                let (steps, values) = (member.steps(), member.run.trainer.hyper.values());
                self.logs.event(steps, i, scores[i], &Event::End(values))?;
            }
            return Ok(());
        }
        let due = crosses(cadence.exchange, before, self.position);
        let Some(exchange) = self.exchange.as_mut().filter(|_| due) else {
            return Ok(());
        };
        for (i, made) in exchange.step(self.position as f64, &scores).iter().enumerate() {
            let steps = self.members[i].steps();
            self.logs.event(steps, i, scores[i], &Event::Exchange(made))?;
            if let Some(parent) = made.copied_from
                && let Ok([member, parent]) = self.members.get_disjoint_mut([i, parent])
            {
                member.adopt(parent)?;
                member.run.trainer.keep(&made.after);
            }
        }
        Ok(())
    }

    /// Keeps the best policy. Of equals it is that of the earlier meeting, then of the first member, so that a stop
    /// between two meetings changes nothing.
    fn keep_best(&mut self, target: u64) -> Result<(), RunError> {
        for (i, member) in self.members.iter_mut().enumerate() {
            let Some((score, policy)) = member.run.candidate.take() else {
                continue;
            };
            let equal = |best: Kept| score == best.score && target == best.target && i < best.member;
            if self.best.is_none_or(|best| score > best.score || equal(best)) {
                self.directory.keep_best(policy)?;
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

    /// Writes the leader's policy and the checkpoint; returns the policy's digest.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<String, RunError> {
        let target = self.target(&self.cadence());
        self.keep_best(target)?;
        let (leader, steps) = (self.leader(), self.steps_done());
        let policy = self.members[leader].policy_bytes()?;
        let checkpoint = Checkpoint {
            head: self.directory.head(),
            exchange: self.exchange.as_ref().map(|exchange| Cow::Borrowed(exchange.state())),
            members: self.members.iter_mut().map(Member::save).collect::<Result<_, _>>()?,
            logs: self.logs.sync()?,
            position: self.position,
            best: self.best,
            wall_seconds: self.clock.seconds(),
        };
        self.directory.save(steps, &policy, &checkpoint, observer)?;
        Ok(policy.digest)
    }

    /// The member with the best score.
    fn leader(&self) -> usize {
        leader(&self.members)
    }

    /// How it goes while nobody trains, with what is to be told once.
    fn progress(&mut self) -> Progress {
        let mut notes = std::mem::take(&mut self.notes);
        for (i, member) in self.members.iter_mut().enumerate() {
            let own = member.notes.drain(..).chain(member.run.notes.drain(..));
            notes.extend(own.map(|sentence| format!("member {i}: {sentence}")));
        }
        let (members, reporter) = self.members_and_reporter();
        let gauges: Vec<Gauge> = members.iter().map(Gauge::of).collect();
        Progress {
            notes,
            ..reporter.progress(&gauges)
        }
    }

    /// The members, and the reporter that tells of them while they train.
    fn members_and_reporter(&mut self) -> (&mut [Member], Reporter<'_>) {
        let reporter = Reporter {
            config: &self.config,
            task: &self.task,
            space: &self.space,
            clock: &self.clock,
            steps_before: self.steps_before,
            evaluation: self.evaluation,
        };
        (&mut self.members, reporter)
    }

    /// The summary of the population.
    fn result(&self, policy_sha256: String, best_checkpoint: Option<f64>) -> RunResult {
        let (run, leader) = (&self.config.run, self.leader());
        let best = &self.members[leader];
        let counters = &best.run.trainer.counters;
        let wall_seconds = self.clock.seconds();
        let steps_all_members: u64 = self.members.iter().map(|member| member.trained).sum();
        let names = self.space.axes().iter().map(|axis| axis.name.clone());
        RunResult {
            task: run.task.clone(),
            algo: run.algo.name().to_string(),
            scheduler: run.scheduler.name().to_string(),
            seed: run.seed,
            steps: counters.steps,
            steps_asked: run.steps,
            episodes: counters.episodes,
            return_last_100: best.score(),
            best_evaluation: self.evaluation,
            best_checkpoint,
            human_normalised: best.run.trainer.human_normalised(best.score()),
            steps_per_second: steps_all_members as f64 / wall_seconds.max(1e-9),
            wall_seconds,
            cpu_seconds: self.members.iter().map(|member| member.cpu_seconds).sum(),
            peak_memory_mb: usage::peak_memory_mb(),
            policy_sha256,
            best_policy_sha256: self.directory.best_digest(),
            hyper_seconds: None,
            population: Some(Box::new(PopulationResult {
                members: self.members.len(),
                steps_all_members,
                best_member: leader,
                best_values: names.zip(best.run.trainer.hyper.values().iter().copied()).collect(),
                diverged_members: self.members.iter().filter(|member| member.diverged.is_some()).count(),
            })),
        }
    }
}

/// Tells how a population goes while its members train. It does not hold the members: the threads that train them do,
/// and gauges show how they stand.
struct Reporter<'a> {
    config: &'a Config,
    task: &'a TaskSpec,
    space: &'a HyperSpace,
    clock: &'a Clock,
    /// Steps of all members when this process took over.
    steps_before: u64,
    /// The best evaluation of any member when they last met.
    evaluation: Option<f64>,
}

impl Reporter<'_> {
    /// How it goes, from what the members show.
    fn progress(&self, gauges: &[Gauge]) -> Progress {
        let scores: Vec<Option<f64>> = gauges.iter().map(Gauge::score).collect();
        let leader = ranked(&scores)[0];
        let trained: u64 = gauges.iter().map(Gauge::trained).sum();
        let seconds = self.clock.started.elapsed().as_secs_f64().max(1e-9);
        let steps_per_second = (trained.saturating_sub(self.steps_before)) as f64 / seconds;
        let total_steps = self.config.total_steps();
        let steps = gauges.iter().map(Gauge::steps).sum::<u64>() / gauges.len() as u64;
        let left = total_steps.saturating_sub(steps) as f64 * gauges.len() as f64;
        let names = self.space.axes().iter().map(|axis| axis.name.clone());
        let judged = gauges.iter().map(Gauge::judged);
        let (ended, episodes) = judged.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        Progress {
            steps,
            total_steps,
            steps_per_second,
            seconds_left: left / steps_per_second.max(1e-9),
            mean_return: scores[leader],
            human_normalised: scores[leader].and_then(|score| self.task.human_normalised(score)),
            best_evaluation: self.evaluation,
            hyperparameters: names.zip(gauges[leader].values.iter().copied()).collect(),
            epsilon: 0.0,
            memory: 0,
            members: scores,
            evaluating: (episodes > 0).then_some((ended, episodes)),
            notes: Vec::new(),
        }
    }
}

/// The best evaluation of any member.
fn best_evaluation(members: &[Member]) -> Option<f64> {
    let evaluations = members.iter().filter_map(|member| member.run.best.evaluation);
    evaluations.reduce(f64::max)
}

/// Environment steps of the member that has done most.
fn steps_done(members: &[Member]) -> u64 {
    members.iter().map(Member::steps).max().unwrap_or(0)
}
