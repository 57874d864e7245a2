//! The arguments of `epgt report` and `epgt compare`.

use std::path::PathBuf;

use clap::Args;
use epgt_experiments::Measure;

use super::measure::measure;

/// Write one HTML page that shows what runs have come to, and its pictures and tables as files.
///
/// The page needs no network and nothing else. Beside it, the folder `report` has the pictures as SVG and PNG and the
/// tables as CSV and Markdown. Runs are found below the directories. Those whose configuration is the same but for the
/// seed are one method, unless they are below different directories that are named here; a seed counts once.
#[derive(Args)]
pub struct PageArgs {
    /// Run directories, or directories of runs such as an experiment's
    #[arg(required = true, value_name = "DIR")]
    pub runs: Vec<PathBuf>,
    /// The page [default: report.html in the first directory]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Its title
    #[arg(long)]
    pub title: Option<String>,
}

/// Compare the scores of runs: one row per method, each against the first.
///
/// Runs whose configuration is the same but for the seed are one method, unless they are below different directories
/// that are named here; a seed counts once. Fewer than three runs have no interval.
#[derive(Args)]
pub struct CompareArgs {
    /// Run directories, or directories of runs
    #[arg(required = true, value_name = "DIR")]
    pub runs: Vec<PathBuf>,
    /// What is compared
    #[arg(long, value_parser = measure(), default_value = "final")]
    pub score: Measure,
}
