//! `epgt explain`: what the hyper-agent saw, which remembered moments it leaned on, how much each weighed, what it
//! chose, and what came of it. Everything is read from the run's own files: `config.toml`, `decisions.csv` and
//! `metrics.csv`.

mod course;
mod log;
mod moment;
mod overview;
mod population;
mod schedule;

pub use epgt_report::numbers::{self, short};
use epgt_settings::{one_line, shortened};

use crate::Done;
use crate::args::ExplainArgs;
use crate::output;
use log::RunLog;

/// Characters of an error: what it quotes of a file may be of any length.
const LONGEST_SENTENCE: usize = 400;

/// Prints an overview of a run's decisions, or one decision in full.
pub fn run(args: &ExplainArgs) -> Result<Done, String> {
    explain(args).map_err(|sentence| shortened(&one_line(&sentence), LONGEST_SENTENCE))
}

fn explain(args: &ExplainArgs) -> Result<Done, String> {
    if let Some(text) = population::text(&args.run, args.update)? {
        output::print(&output::filled(&text))?;
        return Ok(Done::Completely);
    }
    let log = RunLog::read(&args.run)?;
    let text = match args.update {
        None => overview::text(&log),
        Some(update) => {
            if update >= log.updates {
                return Err(format!(
                    "update {update} is beyond the run in {}; {}",
                    args.run.display(),
                    match log.updates {
                        0 => "it has made none yet".to_string(),
                        updates => format!("its last one is {}", updates - 1),
                    }
                ));
            }
            moment::at_update(&log, update)
        }
    };
    output::print(&output::filled(&text))?;
    Ok(Done::Completely)
}
