//! `epgt bench --simulators`: stepping alone, from the bare engine to Python's Gymnasium, measured in one run.
//!
//! Engine and environment walk the same trajectory. All are measured in short passes, in turn, and the fastest of each
//! counts: a busy machine only ever adds time. Resets are timed apart, because they come more often in some tasks than
//! in others.

use std::process::Command;
use std::time::Instant;

use epgt_envs::{EnvError, Observations, StepRow, TaskSpec, VecEnv};
use epgt_report::text_table::TextTable;
use epgt_rng::Pcg64;
use epgt_train::usage::{cpu_model, process_cpu_seconds, thread_cpu_seconds};
use serde::Deserialize;

use super::engine::{self, Trajectory};
use super::table::times;
use super::{answer, peer};
use crate::Done;
use crate::args::BenchArgs;
use crate::output;

/// Where all randomness of a pass comes from.
pub const SEED: u64 = 0;
/// Steps of a pass, and passes of a round.
const STEPS: usize = 2000;
const PASSES: usize = 5;

const SCRIPT: &str = include_str!("../bench_gymnasium.py");

/// What some steps cost, in CPU seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Pass {
    steps: usize,
    /// Without resets.
    step_seconds: f64,
    resets: usize,
    reset_seconds: f64,
}

impl Pass {
    /// Begins an episode and takes the time.
    pub fn time_reset<T>(&mut self, reset: impl FnOnce() -> T) -> T {
        let begun = thread_cpu_seconds();
        let result = reset();
        self.resets += 1;
        self.reset_seconds += thread_cpu_seconds() - begun;
        result
    }

    /// Closes the account of so many steps that began at this time.
    pub fn finish(mut self, steps: usize, begun: f64) -> Self {
        self.steps = steps;
        self.step_seconds = thread_cpu_seconds() - begun - self.reset_seconds;
        self
    }

    fn seconds(&self) -> f64 {
        (self.step_seconds + self.reset_seconds).max(1e-9)
    }

    fn steps_per_second(&self) -> f64 {
        self.steps as f64 / self.seconds()
    }

    /// Microseconds of a step alone.
    fn step_us(&self) -> f64 {
        1e6 * self.step_seconds / self.steps as f64
    }

    fn keep_fastest(best: &mut Option<Self>, pass: Self) {
        if best.is_none_or(|best| pass.seconds() < best.seconds()) {
            *best = Some(pass);
        }
    }
}

#[derive(Deserialize)]
struct Gymnasium {
    #[serde(flatten)]
    pass: Pass,
    versions: String,
}

/// Measures and prints.
pub fn run(args: &BenchArgs) -> Result<Done, String> {
    let task = epgt_envs::find(&args.task).map_err(|error| error.to_string())?;
    if task.is_foreign() {
        return Err(format!(
            "{} is stepped by Python itself, so there is no simulator of this program to compare; leave out --simulators",
            task.id
        ));
    }
    let n = args.n_envs.iter().copied().max().unwrap_or(1).max(1);
    let python = peer::interpreter()?;
    // Gymnasium knows this task under its newer name only.
    let name = task.id.replace("LunarLanderContinuous-v2", "LunarLanderContinuous-v3");
    let (mut bare, mut own, mut theirs) = (None, None, None);
    let mut versions = String::new();
    let mut groups = [Group::default(); 2];
    for round in 1..=args.repeat {
        output::live_line(&format!("round {round} of {}", args.repeat));
        for _ in 0..PASSES {
            measure(&task, n, &mut bare, &mut own, &mut groups).map_err(|error| error.to_string())?;
        }
        let mut command = Command::new(&python);
        command.args(["-c", SCRIPT, &name]);
        command.args([STEPS as u64, PASSES as u64, SEED].map(|number| number.to_string()));
        let answered: Gymnasium = answer(&mut command, "measuring Gymnasium failed")?;
        Pass::keep_fastest(&mut theirs, answered.pass);
        versions = answered.versions;
    }
    output::live_line("");
    let speeds = Speeds {
        bare,
        own: own.unwrap_or_default(),
        theirs: theirs.unwrap_or_default(),
        groups,
    };
    output::print(&report(&task, n, &speeds, &versions, args.repeat))?;
    Ok(Done::Completely)
}

struct Speeds {
    bare: Option<Pass>,
    own: Pass,
    theirs: Pass,
    /// On one thread and on two.
    groups: [Group; 2],
}

/// How fast many environments are together; each number is the best of all passes.
#[derive(Clone, Copy)]
struct Group {
    /// Steps per second of wall clock.
    rate: f64,
    /// CPU seconds of a step, of all threads.
    cpu_seconds: f64,
}

impl Default for Group {
    fn default() -> Self {
        Group {
            rate: 0.0,
            cpu_seconds: f64::INFINITY,
        }
    }
}

/// One pass of everything that is ours.
fn measure(
    task: &TaskSpec,
    n: usize,
    bare: &mut Option<Pass>,
    own: &mut Option<Pass>,
    groups: &mut [Group; 2],
) -> Result<(), EnvError> {
    let (pass, trajectory) = environment(task)?;
    Pass::keep_fastest(own, pass);
    if let Some(pass) = engine::pass(task, &trajectory)? {
        Pass::keep_fastest(bare, pass);
    }
    for (best, threads) in groups.iter_mut().zip(1..) {
        let group = vectorised(task, n, threads)?;
        best.rate = best.rate.max(group.rate);
        best.cpu_seconds = best.cpu_seconds.min(group.cpu_seconds);
    }
    Ok(())
}

/// Random actions in one environment with its time limit.
fn environment(task: &TaskSpec) -> Result<(Pass, Trajectory), EnvError> {
    let mut env = epgt_envs::make(&task.id)?;
    let mut observation = vec![0.0; env.observation_space().size()];
    let actions = random_actions(env.action_space(), STEPS);
    let mut ends = vec![false; STEPS];
    env.reset(Some(SEED), &mut observation)?;
    let mut pass = Pass::default();
    let begun = thread_cpu_seconds();
    for (action, ended) in actions.chunks_exact(actions.len() / STEPS).zip(&mut ends) {
        let step = env.step(action, &mut observation)?;
        *ended = step.terminated || step.truncated;
        if *ended {
            pass.time_reset(|| env.reset(None, &mut observation))?;
        }
    }
    Ok((pass.finish(STEPS, begun), Trajectory { actions, ends }))
}

fn random_actions(space: &epgt_envs::Space, rows: usize) -> Vec<f32> {
    let mut rng = Pcg64::for_purpose(SEED, "simulator", 0);
    let mut actions = vec![0.0; rows * space.size()];
    for action in actions.chunks_exact_mut(space.size()) {
        space.sample(&mut rng, action);
    }
    actions
}

/// Many environments on some threads.
fn vectorised(task: &TaskSpec, n: usize, threads: usize) -> Result<Group, EnvError> {
    let mut envs = VecEnv::new(task, n, SEED)?.on_threads(threads);
    let rows = (STEPS / n).max(1);
    let actions = random_actions(envs.action_space(), rows * n);
    let mut observations = Observations::new(task.observed(), n);
    let (mut rewards, mut terminated, mut truncated) = (vec![0.0; n], vec![false; n], vec![false; n]);
    envs.reset(&mut observations)?;
    let (begun, cpu) = (Instant::now(), process_cpu_seconds());
    for row in actions.chunks_exact(actions.len() / rows) {
        let out = StepRow {
            observations: (&mut observations).into(),
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        envs.step(row, out)?;
    }
    let steps = (rows * n) as f64;
    Ok(Group {
        rate: steps / begun.elapsed().as_secs_f64(),
        cpu_seconds: (process_cpu_seconds() - cpu) / steps,
    })
}

fn report(task: &TaskSpec, n: usize, speeds: &Speeds, versions: &str, repeat: usize) -> String {
    let header = [
        "what",
        "steps/CPU-s",
        "us/step",
        "us/reset",
        "step x engine",
        "x gymnasium",
    ];
    let mut table = TextTable::new(&header);
    let theirs = speeds.theirs.steps_per_second();
    let rows = [
        ("engine", speeds.bare),
        ("environment", Some(speeds.own)),
        ("gymnasium", Some(speeds.theirs)),
    ];
    for (name, pass) in rows {
        let Some(pass) = pass else { continue };
        let reset = (pass.resets > 0).then(|| 1e6 * pass.reset_seconds / pass.resets as f64);
        table.row(&[
            name,
            &format!("{:.0}", pass.steps_per_second()),
            &format!("{:.2}", pass.step_us()),
            &reset.map_or("-".to_string(), |us| format!("{us:.1}")),
            &times(speeds.bare.map(|bare| pass.step_us() / bare.step_us())),
            &times(Some(pass.steps_per_second() / theirs)),
        ]);
    }
    let [one, two] = speeds.groups;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}, random actions\n\n{}\n\
         - {n} environments together: {:.0} steps per second of wall clock on 1 thread, {:.0} on 2 ({:.2} times, with {:.2} times \
         the CPU time; that needs an idle machine).\n\
         - Machine: {cores} x {}; epgt {}; {versions}.\n\
         - The fastest of {} passes of {STEPS} steps each. Engine and environment take the same steps; steps/CPU-s include \
         resets, us/step does not.\n",
        task.id,
        table.plain(),
        one.rate,
        two.rate,
        two.rate / one.rate,
        two.cpu_seconds / one.cpu_seconds,
        cpu_model(),
        env!("CARGO_PKG_VERSION"),
        repeat * PASSES,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_takes_the_steps_of_the_environment_in_less_time() {
        let task = epgt_envs::find("LunarLander-v3").unwrap();
        let (mut bare, mut own, mut groups) = (None, None, [Group::default(); 2]);
        for _ in 0..3 {
            measure(&task, 4, &mut bare, &mut own, &mut groups).unwrap();
        }
        let (bare, own) = (bare.unwrap(), own.unwrap());
        assert_eq!((bare.steps, bare.resets), (own.steps, own.resets));
        assert!(own.resets > 5 && own.reset_seconds > 0.0);
        assert!(bare.step_us() < 1.2 * own.step_us(), "{bare:?} {own:?}");
        assert!(groups.iter().all(|group| group.rate > 100.0 && group.cpu_seconds > 0.0));
    }

    #[test]
    fn a_task_without_an_engine_is_measured_without_that_row() {
        let task = epgt_envs::find("Pendulum-v1").unwrap();
        let (pass, trajectory) = environment(&task).unwrap();
        assert_eq!(pass.resets, STEPS / 200);
        assert!(engine::pass(&task, &trajectory).unwrap().is_none());
        let speeds = Speeds {
            bare: None,
            own: pass,
            theirs: pass,
            groups: [1.0, 2.0].map(|rate| Group { rate, cpu_seconds: 1.0 }),
        };
        let text = report(&task, 2, &speeds, "Gymnasium", 1);
        assert!(
            !text.contains("\nengine") && text.contains("(2.00 times, with 1.00 times"),
            "{text}"
        );
    }
}
