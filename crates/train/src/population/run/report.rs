//! What a population tells of itself: its progress while it trains, and its result.

use epgt_envs::TaskSpec;
use epgt_hyper::HyperSpace;

use super::PopulationRun;
use crate::Config;
use crate::outcome::{PopulationResult, Progress, RunResult};
use crate::population::exchange::ranked;
use crate::population::logs::leader;
use crate::population::member::{Gauge, Member};
use crate::run_loop::Clock;
use crate::usage;

/// All that is told while the members train. It does not hold them: they are with the threads that train them then, and show
/// themselves by their gauges.
pub(super) struct Reporter<'a> {
    pub config: &'a Config,
    pub task: &'a TaskSpec,
    pub space: &'a HyperSpace,
    pub clock: &'a Clock,
    /// Steps of all members when this process took over.
    pub steps_before: u64,
    /// The best evaluation of any member when they last met.
    pub evaluation: Option<f64>,
}

impl Reporter<'_> {
    /// How it goes, from what the members show.
    pub fn progress(&self, gauges: &[Gauge]) -> Progress {
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

impl PopulationRun {
    /// The member with the best score.
    pub(super) fn leader(&self) -> usize {
        leader(&self.members)
    }

    /// How it goes while nobody trains, with what is to be told once.
    pub(super) fn progress(&mut self) -> Progress {
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

    /// The members, and who tells of them meanwhile.
    pub(super) fn members_and_reporter(&mut self) -> (&mut [Member], Reporter<'_>) {
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
    pub(super) fn result(&self, policy_sha256: String, best_checkpoint: Option<f64>) -> RunResult {
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
