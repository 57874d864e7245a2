//! The arguments of `epgt report` and `epgt compare`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use epgt_experiments::Measure;
use epgt_experiments::page::{Format, Width};

use super::measure::measure;

/// Write one HTML page that shows what runs have come to, and its pictures and tables as files.
///
/// The page needs no network and nothing else. Beside it, a folder of the same name has the pictures as SVG and PNG
/// and the tables as CSV and Markdown. Runs are found below the directories. Those whose configuration is the same but for the
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
    /// Write every figure for a paper into this folder as well
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// What these figures are, several after commas [default: pdf]
    #[arg(long, value_parser = format(), value_delimiter = ',', requires = "figures")]
    pub format: Vec<Format>,
    /// How wide they are [default: page]
    #[arg(long, value_parser = width(), requires = "figures")]
    pub width: Option<Width>,
}

fn format() -> impl TypedValueParser<Value = Format> {
    let meaning = |format: Format| match format {
        Format::Svg => "Lines and words, for a browser or an editor",
        Format::Pdf => "Lines and words with their font, for LaTeX",
        Format::Png => "Pixels, 400 to the inch",
    };
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(meaning(format)));
    PossibleValuesParser::new(values).map(|given| {
        let known = Format::ALL.into_iter().find(|format| format.name() == given);
        known.unwrap_or(Format::Pdf)
    })
}

fn width() -> impl TypedValueParser<Value = Width> {
    let meaning = |width: Width| match width {
        Width::Column => "One column of two: 3.3 inches",
        Width::Page => "All of a page: 6.8 inches",
    };
    let values = Width::ALL.map(|width| PossibleValue::new(width.name()).help(meaning(width)));
    PossibleValuesParser::new(values).map(|given| {
        let known = Width::ALL.into_iter().find(|width| width.name() == given);
        known.unwrap_or_default()
    })
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
