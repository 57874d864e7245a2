//! The arguments of `epgt watch`.

use std::path::PathBuf;

use clap::Args;

/// Follow runs while they train, on a page in the browser.
///
/// The page shows every run below the directories with its progress, rate and time left, and of the one that is opened
/// the learning curve, what was scheduled, divergence, learning rate, memory, and the present policy at play. It is
/// told of changes as they happen, and finds runs that begin later.
///
/// It is a process of its own that reads what runs write, at the lowest priority; training does not know of it. Only
/// this machine can open the page, and only with the token in its address; nothing can be changed from there and
/// nothing is fetched from elsewhere. From another machine: ssh -L 8000:127.0.0.1:PORT HOST, then the same address with
/// port 8000.
#[derive(Args)]
#[command(after_help = "With a run: epgt train TASK --watch\nWith an experiment: epgt experiment run NAME --watch")]
pub struct WatchArgs {
    /// Run directories, or directories of runs such as an experiment's [default: runs, which may appear later]
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// The port to listen at [default: one that the system chooses]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Print the address and open no browser; one is opened only from a terminal of a desktop
    #[arg(long)]
    pub no_open: bool,
    /// End once nobody has trained in these directories, and no page was open, for so many seconds [default: never;
    /// Ctrl-C ends it]
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,
    /// The Python that plays policies of the tasks gym:ID and of Atari's [default: as in epgt train]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
}
