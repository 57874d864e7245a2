//! The command line of `epgt experiment`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Run several methods on several tasks and seeds, and compare them.
///
/// An experiment is a TOML file: those of the list are part of the program and are named without their ending; a file
/// in ./experiments, or any path, is taken as well. Every run has its own directory below --out and is made once,
/// whatever stops it on the way and however many processes work on the experiment.
#[derive(Args)]
pub struct ExperimentArgs {
    #[command(subcommand)]
    pub command: ExperimentCommand,
}

#[derive(Subcommand)]
pub enum ExperimentCommand {
    /// List the experiments
    List,
    /// Describe one: what it compares, its runs, its settings, and what it costs as far as that is known
    Show(PlaceArgs),
    /// Make the runs that are missing, and compare all
    Run(RunArgs),
    /// Say how far the runs are
    Status(PlaceArgs),
    /// Compare the runs that are there, and write results.md and results.csv
    Report(ReportArgs),
    /// Measure how much the returns of one run say of what was drawn at random (scheduler random), across seeds
    Signal(ReportArgs),
    /// Measure how much is lost by not tuning: settings picked by task beside one for all, in each group of methods
    Sensitivity(ReportArgs),
    /// Print one shell command per run, for a cluster's scheduler
    Cells(PlaceArgs),
}

/// Which experiment, and where its runs are.
#[derive(Args)]
pub struct PlaceArgs {
    /// The experiment's name (see: epgt experiment list), or its TOML file
    pub name: PathBuf,
    /// Where the runs are [default: runs/NAME, or runs/NAME-scale-F]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// All runs with F times their steps, such as 0.1: a try, not the experiment
    #[arg(long, value_name = "F")]
    pub scale: Option<f64>,
}

/// Make the runs that are missing, and compare all.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Only these runs: task=, method= and seed=, each as often as wanted; seed=0-4 is five of them
    #[arg(long, value_name = "KEY=NAME,..")]
    pub only: Option<String>,
    /// Runs at a time [default: the machine's cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Follow the runs on a page in the browser, as epgt watch does
    #[arg(long)]
    pub watch: bool,
}

/// An experiment's runs that are there.
#[derive(Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Take runs from these directories too, such as those that other machines have filled
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub merge: Vec<PathBuf>,
}
