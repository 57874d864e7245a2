//! The command line, and the help that teaches it.

mod experiment;
mod measure;
mod page;
mod proposed;
mod watch;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use epgt_train::{Config, EvalPlan};

pub use experiment::{ExperimentArgs, ExperimentCommand, PlaceArgs, ReportArgs, RunArgs};
pub use page::{CompareArgs, PageArgs};
pub use watch::WatchArgs;

/// Trains a policy-gradient agent and schedules its hyperparameters while it trains, in a single run.
///
/// The method is Episodic Policy Gradient Training (AAAI 2022): a hyper-agent looks at the networks' weights and
/// gradients, recalls from an episodic memory what worked in similar moments, and picks the hyperparameters of the next
/// update.
#[derive(Parser)]
#[command(name = "epgt", version = epgt_train::version::description(), after_help = "Start with: epgt train CartPole-v1")]
pub struct Program {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Train an agent on a task
    Train(Box<TrainArgs>),
    /// Play a trained policy and report its returns
    Eval(EvalArgs),
    /// List the tasks, or describe one
    Tasks(TasksArgs),
    /// List what can be scheduled, for each method
    Hyperparameters(HyperparametersArgs),
    /// Explain the hyper-agent's decisions of a run: what it saw, what it remembered, what came of it
    Explain(ExplainArgs),
    /// Measure speed and memory: raw simulator, training with each hyper-agent, and peers
    Bench(BenchArgs),
    /// Run several methods on several tasks and seeds, and compare them
    Experiment(ExperimentArgs),
    /// Follow runs while they train, on a page in the browser
    Watch(WatchArgs),
    /// Write a page with the pictures and tables of runs
    Report(PageArgs),
    /// Compare the scores of runs in the terminal
    Compare(CompareArgs),
    /// Get a simulator that some tasks need: mujoco, atari
    Setup(SetupArgs),
    /// Print what a shell needs to complete this program's commands, options, tasks and names
    Completions(CompletionsArgs),
}

/// Train an agent on a task.
///
/// With nothing but the task it uses the settings that are known to work for it and the scheduler `epgt`, which tunes
/// the learning rate while it trains. The run's directory holds the policy, the metrics and every decision; it can be
/// resumed after any kind of stop and then ends with the same policy, bit for bit.
#[derive(Args)]
#[command(after_long_help = settings_help(), after_help = "Every setting with its meaning: epgt train --help")]
pub struct TrainArgs {
    /// The task, by its Gymnasium id (see: epgt tasks); gym:ID or gym:MODULE:FACTORY is any environment of a Python
    /// that has Gymnasium
    #[arg(value_parser = proposed::task(), hide_possible_values = true)]
    pub task: Option<String>,
    #[arg(long, value_parser = proposed::algorithm(), hide_possible_values = true,
          help = format!("The policy-gradient method: {} [default: what suits the task]", proposed::methods()))]
    pub algo: Option<String>,
    #[arg(long, value_parser = proposed::scheduler(), hide_possible_values = true, help = proposed::schedulers())]
    pub scheduler: Option<String>,
    /// The hyper-agent's settings to start from: default (best evidence) or paper (exactly the paper)
    #[arg(long, value_parser = proposed::preset(), hide_possible_values = true)]
    pub preset: Option<String>,
    /// What to schedule: NAME=paper:B, NAME=around:FACTOR:B, NAME=log:LOW..HIGH:B, NAME=uniform:LOW..HIGH:B or
    /// NAME=V:V:V, separated by commas
    #[arg(long, value_name = "NAME=VALUES,..")]
    pub tune: Option<String>,
    /// Environment steps in all
    #[arg(long, value_name = "N")]
    pub steps: Option<String>,
    /// Environments that are stepped together
    #[arg(long, value_name = "N")]
    pub n_envs: Option<String>,
    /// The processor of the networks: cpu, cuda (an NVIDIA GPU, for image policies), auto [default: auto]; a run can
    /// be resumed on another
    #[arg(long, value_name = "NAME", value_parser = proposed::device(), hide_possible_values = true)]
    pub device: Option<String>,
    /// The number that determines everything random [default: 0]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Run this many seeds side by side, from --seed on, each in its own directory below --out; together they can be
    /// resumed, evaluated, reported and compared
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seeds: u64,
    /// Threads for --seeds, or for the environments of one run where they are slow [default: the machine's cores];
    /// results do not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one option of the task, such as gravity=-3.7 (repeatable; see: epgt tasks TASK)
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub env_arg: Vec<String>,
    /// Import this Python module before a task gym:ID is made, because it registers the id (repeatable); short for
    /// --env-arg import=MODULE
    #[arg(long, value_name = "MODULE")]
    pub import: Vec<String>,
    /// The Python of the tasks gym:ID and of Atari's [default: $EPGT_PYTHON, else for Atari's the one of `epgt setup
    /// atari`, for others the active virtual environment's or python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// Set one setting of the networks, such as hidden=64,64 or shared=true (repeatable); short for --set
    /// policy.KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE")]
    pub policy: Vec<String>,
    /// Set one setting, such as hyper.hold=20 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The run's directory [default: a new one below runs/]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Start from a trained policy: a policy file, or a run's directory for its best one
    #[arg(long, value_name = "POLICY")]
    pub init: Option<PathBuf>,
    /// Go on with the run, or with all runs of --seeds, in this directory; with --steps to another number of steps in
    /// all, past the end too
    #[arg(long, value_name = "DIR", conflicts_with_all = ["task", "algo", "scheduler", "preset", "tune", "n_envs", "seed", "seeds",
        "config", "env_arg", "import", "policy", "set", "init", "out", "force", "print_config"])]
    pub resume: Option<PathBuf>,
    /// Replace an existing run
    #[arg(long)]
    pub force: bool,
    /// Get a simulator that the task needs without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Print the complete configuration as commented TOML and stop
    #[arg(long)]
    pub print_config: bool,
    /// Print one JSON object with the result on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Follow the run on a page in the browser, as epgt watch does: curves, schedule, time left, the policy at play.
    /// The page outlives the training as long as it is open, and 30 seconds
    #[arg(long)]
    pub watch: bool,
}

/// Play a trained policy with frozen normalisation.
#[derive(Args)]
pub struct EvalArgs {
    /// A run's directory (its best policy is played), that of several seeds (all of theirs are), or a policy file
    pub run: PathBuf,
    /// Episodes to play
    #[arg(long, default_value_t = 100)]
    pub episodes: usize,
    /// Episode i starts from seed S + i
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// How actions are chosen: deterministic (the most likely ones), stochastic (drawn as in training), or auto, which
    /// is stochastic in Atari's games and deterministic elsewhere
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub actions: String,
    /// Play the last policy instead of the best
    #[arg(long)]
    pub last: bool,
    /// Steps after which an episode that has not ended is cut; it counts with what it has earned
    #[arg(long, value_name = "N", default_value_t = EvalPlan::default().max_steps)]
    pub max_steps: u64,
    /// Also show the first episodes: a .mp4 with the ffmpeg on PATH or that EPGT_FFMPEG names, or a .gif, which needs
    /// nothing; a name with neither ending becomes what can be made
    #[arg(long, value_name = "FILE")]
    pub video: Option<PathBuf>,
    /// Episodes to show
    #[arg(long, value_name = "N", default_value_t = 1, requires = "video")]
    pub video_episodes: usize,
    /// The Python of the tasks gym:ID and of Atari's [default: $EPGT_PYTHON, else for Atari's the one of `epgt setup
    /// atari`, for others the active virtual environment's or python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// List the tasks, or describe one: observation, action, reward and options.
#[derive(Args)]
pub struct TasksArgs {
    /// The task to describe; gym:ID or gym:MODULE:FACTORY is any environment of a Python that has Gymnasium
    #[arg(value_parser = proposed::task(), hide_possible_values = true)]
    pub task: Option<String>,
    /// Set one option of the task (repeatable)
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true, requires = "task")]
    pub env_arg: Vec<String>,
    /// Import this Python module before a task gym:ID is made (repeatable)
    #[arg(long, value_name = "MODULE", requires = "task")]
    pub import: Vec<String>,
    /// The Python of the tasks gym:ID and of Atari's [default: $EPGT_PYTHON, else for Atari's the one of `epgt setup
    /// atari`, for others the active virtual environment's or python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
}

/// List what can be scheduled: meaning, default, when it takes effect, the paper's symbol and values.
#[derive(Args)]
pub struct HyperparametersArgs {
    #[arg(long, value_parser = proposed::algorithm(), hide_possible_values = true,
          help = format!("Only those of one method: {}", proposed::methods()))]
    pub algo: Option<String>,
}

/// Explain the hyper-agent's decisions of a run.
#[derive(Args)]
pub struct ExplainArgs {
    /// A run's directory
    pub run: PathBuf,
    /// Explain the decision that was in force at this policy update, in full
    #[arg(long, value_name = "N")]
    pub update: Option<u64>,
}

/// Measure speed per CPU-second and peak memory: the raw simulator, training with each hyper-agent, and a peer.
///
/// Every measurement is a process of its own and all have the same settings: those of `epgt train TASK`, with rollouts
/// of 5 steps for A2C. Nothing is kept but the numbers that are printed.
#[derive(Args)]
pub struct BenchArgs {
    /// The task
    #[arg(default_value = "MountainCarContinuous-v0", value_parser = proposed::task(), hide_possible_values = true)]
    pub task: String,
    /// The policy-gradient method: a2c, ppo, acktr
    #[arg(long, default_value = "a2c", value_parser = proposed::algorithm(), hide_possible_values = true)]
    pub algo: String,
    /// Set one setting of all that is measured, such as policy.hidden=64,64 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Environment steps of each measurement
    #[arg(long, value_name = "N", default_value = "200000")]
    pub steps: String,
    /// Numbers of environments to measure
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,16")]
    pub n_envs: Vec<usize>,
    /// Also measure another program with the same settings: sb3 (Stable-Baselines3)
    ///
    /// At the first use it is installed into a virtual environment in the user's cache directory, epgt/sb3-venv, which
    /// takes minutes and some gigabytes. To use an existing Python that has stable-baselines3, name it in the variable
    /// EPGT_PYTHON.
    #[arg(long, value_name = "NAME")]
    pub peer: Option<String>,
    /// Environment steps of each measurement of the peer
    #[arg(long, value_name = "N", default_value = "20000")]
    pub peer_steps: String,
    /// Repeat each measurement and keep the fastest
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeat: usize,
    /// Only step the simulator in this process, and print one JSON object per number of environments
    #[arg(long, conflicts_with_all = ["peer", "repeat", "json"])]
    pub simulator_only: bool,
    /// Measure stepping alone, with random actions: the bare engine, our environment, many of them on 1 and 2 threads,
    /// and Python's Gymnasium from the interpreter of the peer
    #[arg(long, conflicts_with_all = ["peer", "peer_steps", "steps", "simulator_only", "json"])]
    pub simulators: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Get a simulator that some tasks need, and put it into the user's cache.
///
/// Nothing is installed elsewhere. MuJoCo and the models of its tasks (10 MB) are downloaded by pip, as is ale-py with
/// its games, into a virtual environment; `epgt train` offers the same when it is asked for such a task.
#[derive(Args)]
pub struct SetupArgs {
    /// Which one
    #[arg(value_enum)]
    pub simulator: Simulator,
    /// Ask nothing; it never does, since it was named
    #[arg(long, short)]
    pub yes: bool,
}

/// Print what a shell needs to complete this program's commands, options, tasks and names.
///
/// Bash reads it at its start from ~/.local/share/bash-completion/completions/epgt, zsh from a file _epgt in a
/// directory of $fpath, fish from ~/.config/fish/completions/epgt.fish.
#[derive(Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// What can be set up.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Simulator {
    /// For HalfCheetah, Hopper, Walker2d, Ant, Humanoid and others
    Mujoco,
    /// For Breakout, Pong, SpaceInvaders and other games
    Atari,
}

/// Every method by its name, with what it is.
fn methods(config: &Config) -> Vec<(&str, &str)> {
    let all = config.registry.methods().iter();
    all.map(|method| (method.name(), method.help())).collect()
}

/// Every scheduler by its name, with what it is.
fn schedulers(config: &Config) -> Vec<(&str, &str)> {
    let all = config.registry.schedulers().iter().map(|scheduler| scheduler.about());
    all.map(|about| (about.name, about.help)).collect()
}

/// Every setting with its meaning, default and paper symbol, for `epgt train --help`.
fn settings_help() -> String {
    let mut text = String::from(
        "Settings (--set KEY=VALUE, or a TOML file with --config; the section may be left out where the key is unique, and those of\n\
         the run stand at the top of the file or below [run]).\n\
         Defaults shown are the program's own; a task's tuned ones: epgt train TASK --print-config\n",
    );
    let Ok(config) = Config::lay(&[]) else { return text };
    let mut sections = config.sections();
    let method = config.run.algo.name();
    if let Some(position) = sections.iter().position(|(section, _)| *section == method) {
        let methods = config.registry.methods().iter();
        let others = methods.filter(|other| other.name() != method);
        sections.splice(
            position + 1..position + 1,
            others.map(|other| (other.name(), other.entries())),
        );
    }
    for (section, entries) in sections {
        let title = if section.is_empty() { "run" } else { section };
        let _ = writeln!(text, "\n[{title}]");
        for entry in entries {
            let dot = if section.is_empty() { "" } else { "." };
            let symbol = if entry.symbol.is_empty() {
                String::new()
            } else {
                format!("  (paper: {})", entry.symbol)
            };
            let _ = writeln!(text, "  {section}{dot}{} = {}{symbol}", entry.key, entry.value);
            let _ = writeln!(text, "      {}", entry.meaning);
            let described = match (section, entry.key) {
                ("", "algo") => methods(&config),
                ("", "scheduler") => schedulers(&config),
                _ => Vec::new(),
            };
            if !described.is_empty() {
                for (name, help) in described {
                    let _ = writeln!(text, "        {name}: {help}");
                }
            } else if !entry.choices.is_empty() {
                let _ = writeln!(text, "      One of: {}", entry.choices.join(", "));
            }
        }
    }
    text
}
