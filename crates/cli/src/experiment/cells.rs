//! `epgt experiment cells`: one command per run, for whoever spreads them over machines.

use std::fmt::Write;
use std::path::Path;

use epgt_experiments::Plan;
use epgt_train::shell_word;

use super::open;
use crate::args::{PlaceArgs, RunArgs};
use crate::{Done, output};

/// Prints the commands.
pub fn run(args: &PlaceArgs) -> Result<Done, String> {
    let (plan, out) = open(args)?;
    let head = head(&args.name, &plan);
    let place = shell_word(&out.to_string_lossy());
    let mut text = String::new();
    let mut refused: Vec<String> = Vec::new();
    for cell in plan.cells(&out) {
        if let Some(sentence) = cell.refused.map(output::told) {
            if refused.last() != Some(&sentence) {
                refused.push(sentence);
            }
            continue;
        }
        let only = format!(
            "task={},method={},seed={}",
            plan.tasks[cell.task], plan.methods[cell.method].name, cell.config.run.seed
        );
        let _ = writeln!(text, "{head} --only {} --out {place} -q", shell_word(&only));
    }
    for sentence in refused {
        output::note(&format!("left out: {sentence}"));
    }
    output::print(&text)?;
    Ok(Done::Completely)
}

/// The command that goes on with a run of the experiment.
pub fn command(args: &RunArgs, plan: &Plan, out: &Path) -> String {
    let mut text = head(&args.place.name, plan);
    if let Some(only) = &args.only {
        let _ = write!(text, " --only {}", shell_word(only));
    }
    let _ = write!(text, " --out {}", shell_word(&out.to_string_lossy()));
    text
}

fn head(name: &Path, plan: &Plan) -> String {
    let scale = match plan.scale == 1.0 {
        true => String::new(),
        false => format!(" --scale {}", plan.scale),
    };
    format!("epgt experiment run {}{scale}", shell_word(&name.to_string_lossy()))
}
