//! `epgt bench`: what a training step costs, beside the bare simulator and beside another program, measured in one run.
//!
//! Speed is per CPU-second, because machines are shared. Every measurement is a process of its own, so that neither
//! memory nor warm caches of one variant show in another: the simulator is this program with `--simulator-only`, a
//! variant is `epgt train`, the peer is a Python interpreter. All of them get the same settings, spelled out, from one
//! resolved configuration. The variants are measured in rounds rather than one after the other, so that a busy spell of
//! the machine does not hit one alone.

mod engine;
mod peer;
mod simulator;
mod simulators;
mod split;
mod table;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use epgt_settings::Value;
use epgt_train::{Assignment, Config, HyperSeconds, usage};
use serde::Deserialize;

use crate::Done;
use crate::args::BenchArgs;
use crate::output;
use peer::Peer;
use split::Split;
use table::{Report, Row};

/// A way to spend environment steps.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// The simulator alone.
    Simulator,
    /// Training with a hyper-agent.
    Training {
        name: &'static str,
        scheduler: &'static str,
        preset: &'static str,
    },
    /// Training by another program.
    Peer,
}

const fn training(name: &'static str, scheduler: &'static str, preset: &'static str) -> Variant {
    Variant::Training {
        name,
        scheduler,
        preset,
    }
}

/// What is measured, in the order of the table.
const VARIANTS: [Variant; 9] = [
    Variant::Simulator,
    training("fixed", "fixed", "default"),
    training(BY_RATE, "fixed", "default"),
    training("epgt", "epgt", "default"),
    training("epgt-paper", "epgt", "paper"),
    training("random", "random", "default"),
    training("bandit", "bandit", "default"),
    training("dqn", "dqn", "default"),
    Variant::Peer,
];

/// The variant that works with a learning rate, for what it costs to measure steps by divergence.
const BY_RATE: &str = "fixed by rate";

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Training { name, .. } => name,
            Self::Peer => peer::NAME,
        }
    }

    /// Whether the time to its first update is measured too.
    fn is_timed_from_start(self) -> bool {
        matches!(self.name(), "fixed" | "epgt" | peer::NAME)
    }
}

/// What one measurement found.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Cost {
    steps: u64,
    cpu_seconds: f64,
    peak_memory_mb: f64,
    #[serde(default)]
    wall_seconds: f64,
    #[serde(default)]
    hyper_seconds: Option<HyperSeconds>,
    /// The hyper-agent's part of it.
    #[serde(skip)]
    split: Option<Split>,
}

/// Measures and prints; `executable` is this program.
pub fn run(args: &BenchArgs, executable: PathBuf) -> Result<Done, String> {
    if args.repeat == 0 {
        return Err("--repeat 0 leaves nothing to measure; use 1 or more".to_string());
    }
    if args.simulators {
        return simulators::run(args);
    }
    let configs = configs(args)?;
    if args.simulator_only {
        for config in &configs {
            output::print(&format!("{}\n", simulator::measure(config)?))?;
        }
        return Ok(Done::Completely);
    }
    let peer = match &args.peer {
        Some(name) => Some(Peer::find(name, peer_steps(args)?)?),
        None => None,
    };
    let bench = Bench {
        executable,
        scratch: Scratch(std::env::temp_dir().join(format!("epgt-bench-{}", std::process::id()))),
        peer,
    };
    let rows = bench.rows(&configs, args.repeat)?;
    let report = Report::new(rows, &configs[0], bench.peer.as_ref(), args.repeat);
    let text = match args.json {
        true => format!("{}\n", report.json()?),
        false => report.text(),
    };
    output::print(&text)?;
    Ok(Done::Completely)
}

/// One configuration for each number of environments, with the defaults of the task and nothing between start and end
/// but training: no evaluation, and a checkpoint only at the end.
fn configs(args: &BenchArgs) -> Result<Vec<Config>, String> {
    let config = |n_envs: &usize| {
        let mut assignments = vec![
            Assignment::new("task", &args.task),
            Assignment::new("algo", &args.algo),
            Assignment::new("steps", &args.steps),
            Assignment::new("n_envs", n_envs),
            Assignment::new("eval_interval", 0),
            Assignment::new("checkpoint_interval", 0),
        ];
        if args.algo == "a2c" {
            assignments.push(Assignment::new("a2c.n_steps", 5));
        }
        for text in &args.set {
            assignments.push(Assignment::parse(text).map_err(|error| format!("--set {error}"))?);
        }
        Config::build(&assignments).map_err(output::told)
    };
    args.n_envs.iter().map(config).collect()
}

fn peer_steps(args: &BenchArgs) -> Result<u64, String> {
    match u64::parse(&args.peer_steps) {
        Ok(0) => Err("--peer-steps 0 leaves nothing to measure; use 1 or more".to_string()),
        Ok(steps) => Ok(steps),
        Err(wants) => Err(format!("--peer-steps {} cannot be used: {wants}", args.peer_steps)),
    }
}

struct Bench {
    executable: PathBuf,
    scratch: Scratch,
    peer: Option<Peer>,
}

impl Bench {
    /// Measures everything `repeat` times, round by round, and keeps the fastest of each.
    fn rows(&self, configs: &[Config], repeat: usize) -> Result<Vec<Row>, String> {
        let measured = |variant: &Variant| match variant.name() {
            peer::NAME => self.peer.is_some(),
            BY_RATE => configs.iter().all(is_controlled),
            _ => true,
        };
        let variants: Vec<Variant> = VARIANTS.into_iter().filter(measured).collect();
        let mut rows: Vec<Option<Row>> = vec![None; variants.len() * configs.len()];
        for round in 1..=repeat {
            let jobs = configs
                .iter()
                .flat_map(|config| variants.iter().map(move |variant| (config, *variant)));
            for (slot, (config, variant)) in rows.iter_mut().zip(jobs) {
                let n_envs = config.run.n_envs;
                output::live_line(&format!("round {round} of {repeat}: {}, N = {n_envs}", variant.name()));
                let cost = self.cost(variant, config)?;
                let first_update_ms = match variant.is_timed_from_start() {
                    true => Some(self.first_update_ms(variant, config)?),
                    false => None,
                };
                let row = Row::new(variant.name(), n_envs, cost, first_update_ms);
                *slot = Some(match slot.take() {
                    Some(before) => before.fastest(row),
                    None => row,
                });
            }
        }
        output::live_line("");
        Ok(rows.into_iter().flatten().collect())
    }

    fn cost(&self, variant: Variant, config: &Config) -> Result<Cost, String> {
        match (variant, &self.peer) {
            (Variant::Peer, Some(peer)) => peer.measure(config, peer.steps),
            (Variant::Training { .. }, _) => {
                let before = usage::children_cpu_seconds();
                let mut cost = self.child(variant, config)?;
                let (wall_seconds, cpu_seconds) = (cost.wall_seconds, cost.cpu_seconds);
                let parts = cost.hyper_seconds.as_ref();
                cost.split = parts.and_then(|parts| Split::new(parts, wall_seconds, cpu_seconds));
                // All that the process used, from its start to its end, not only what its training loop saw.
                cost.cpu_seconds = usage::children_cpu_seconds() - before;
                Ok(cost)
            }
            _ => self.child(variant, config),
        }
    }

    /// Wall-clock time from the start of a process to its end, when it makes one rollout and one update.
    fn first_update_ms(&self, variant: Variant, config: &Config) -> Result<f64, String> {
        let mut config = config.clone();
        config.run.steps = config.rollout_steps();
        let start = Instant::now();
        match (variant, &self.peer) {
            (Variant::Peer, Some(peer)) => peer.measure(&config, 0)?,
            _ => self.child(variant, &config)?,
        };
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Runs this program on a configuration and reads the JSON that it prints.
    fn child(&self, variant: Variant, config: &Config) -> Result<Cost, String> {
        let mut command = Command::new(&self.executable);
        let run = &config.run;
        match variant {
            Variant::Training { scheduler, preset, .. } => {
                command.args([
                    "train",
                    &run.task,
                    "--json",
                    "--quiet",
                    "--force",
                    "--threads",
                    "1",
                    "--out",
                ]);
                command.arg(&self.scratch.0);
                command.args(["--scheduler", scheduler, "--preset", preset]);
                // The paper's preset knows rates only.
                let by_rate = is_controlled(config) && (variant.name() == BY_RATE || preset == "paper");
                let mut settings = spelled_out(config);
                if by_rate {
                    settings.retain(|setting| !setting.contains("step_control="));
                    settings.push("step_control=rate".to_string());
                }
                for setting in settings.into_iter().chain(options(config)?) {
                    command.args(["--set", &setting]);
                }
            }
            _ => {
                command.args([
                    "bench",
                    &run.task,
                    "--simulator-only",
                    "--steps",
                    &run.steps.to_string(),
                ]);
                command.args(["--n-envs", &run.n_envs.to_string(), "--algo", run.algo.name()]);
                for option in options(config)? {
                    command.args(["--set", &option]);
                }
            }
        }
        let what = format!("measuring '{}' failed", variant.name());
        answer(&mut command, &what)
    }
}

/// Whether it works by anything but a learning rate.
fn is_controlled(config: &Config) -> bool {
    config.method.idle().contains(&"learning_rate")
}

/// Every setting that is not the hyper-agent's, so that no default of a variant or preset can differ from another's.
fn spelled_out(config: &Config) -> Vec<String> {
    let mut settings = Vec::new();
    for (section, entries) in config.sections() {
        let dot = match section {
            "hyper" => continue,
            "" => "",
            _ => ".",
        };
        let kept = entries
            .into_iter()
            .filter(|entry| !matches!(entry.key, "task" | "scheduler" | "preset"));
        settings.extend(kept.map(|entry| format!("{section}{dot}{}={}", entry.key, entry.value)));
    }
    settings
}

/// The task's options that are not its defaults, as settings.
fn options(config: &Config) -> Result<Vec<String>, String> {
    let changed = config.task().map_err(output::told)?.options.changed();
    Ok(changed
        .iter()
        .map(|(name, value)| format!("env.{name}={value}"))
        .collect())
}

/// Runs a command to its end and reads the JSON object it printed; a failure is told with the last thing it said.
fn answer<T: for<'a> Deserialize<'a>>(command: &mut Command, failure: &str) -> Result<T, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{failure}: cannot start {}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
        let reason = last.map_or_else(
            || output.status.to_string(),
            |line| line.trim_start_matches("epgt: ").to_string(),
        );
        return Err(format!("{failure}: {reason}"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{failure}: its output cannot be read: {error}"))
}

/// A directory for the runs, gone when the measurements are over.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed from a temporary directory is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelled_out_settings_override_every_default_of_a_preset_but_the_hyper_agents() {
        let base = [
            ("task", "CartPole-v1"),
            ("n_envs", "3"),
            ("policy.hidden", "[16, 16]"),
            ("a2c.gamma", "0.9"),
        ];
        let base = base.map(|(key, value)| Assignment::new(key, value));
        let config = Config::build(&base).unwrap();
        let mut again = vec![
            Assignment::new("task", "CartPole-v1"),
            Assignment::new("preset", "paper"),
        ];
        again.extend(spelled_out(&config).iter().map(|text| Assignment::parse(text).unwrap()));
        let again = Config::build(&again).unwrap();
        assert_eq!((again.policy, again.method), (config.policy, config.method));
        assert_eq!(again.run.staggered_starts, config.run.staggered_starts);
        assert_eq!(again.run.n_envs, 3);
        assert_ne!(again.hyper, config.hyper);
    }
}
