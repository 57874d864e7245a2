//! `epgt experiment cells`: one command per run, for whoever spreads them over machines.

use std::fmt::Write;
use std::path::Path;

use super::open;
use super::plan::Plan;
use crate::args::{PlaceArgs, RunArgs};
use crate::{Done, output};

/// Prints the commands.
pub fn run(args: &PlaceArgs) -> Result<Done, String> {
    let (plan, out) = open(args)?;
    let head = head(&args.name, &plan);
    let place = quoted(&out.to_string_lossy());
    let mut text = String::new();
    let mut refused: Vec<String> = Vec::new();
    for cell in plan.cells(&out) {
        if let Some(sentence) = cell.refused {
            if refused.last() != Some(&sentence) {
                refused.push(sentence);
            }
            continue;
        }
        let only = format!(
            "task={},method={},seed={}",
            plan.tasks[cell.task], plan.methods[cell.method].name, cell.config.run.seed
        );
        let _ = writeln!(text, "{head} --only {} --out {place} -q", quoted(&only));
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
        let _ = write!(text, " --only {}", quoted(only));
    }
    let _ = write!(text, " --out {}", quoted(&out.to_string_lossy()));
    text
}

fn head(name: &Path, plan: &Plan) -> String {
    let scale = match plan.scale == 1.0 {
        true => String::new(),
        false => format!(" --scale {}", plan.scale),
    };
    format!("epgt experiment run {}{scale}", quoted(&name.to_string_lossy()))
}

/// A word for the shell, in quotes where it needs them.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:+@%".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(quoted("task=CartPole-v1,seed=0"), "task=CartPole-v1,seed=0");
        assert_eq!(quoted("method=epgt paper"), "'method=epgt paper'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
