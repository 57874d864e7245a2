//! The program `epgt` as a function, for whoever brings it in another form than a binary.
//!
//! `epgt` trains a policy-gradient agent and schedules its hyperparameters while it trains. Its own file,
//! `src/main.rs`, calls [`main`], and so does the command of the Python package.

mod args;
mod bench;
mod compare;
mod completions;
mod display;
mod eval;
mod experiment;
mod explain;
mod hyperparameters;
mod output;
mod parallel;
mod report;
mod setup;
mod tasks;
mod train;
mod venv;
mod video;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use args::{Command, Program};
use clap::Parser;

/// Exit status of a run that was asked to stop, as shells give it after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// How a command ended when nothing went wrong.
enum Done {
    /// All of it.
    Completely,
    /// It was stopped and can be resumed.
    Interrupted,
}

/// Ends the program with what is wrong with its command line; an argument that is quoted does nothing to the terminal.
fn refuse(error: &clap::Error) -> ! {
    let text = error.to_string();
    let cleaned = epgt_settings::clean(&text, usize::MAX);
    if cleaned == text {
        error.exit();
    }
    output::note(cleaned.trim_end());
    std::process::exit(error.exit_code());
}

/// Runs the program with the arguments of a command line and returns its exit status. The first argument is the file by
/// which the program can be started again.
///
/// It is called once in a process, whose standard streams and Ctrl-C are then the program's own; a command line that
/// cannot be read ends the process.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    epgt_train::usage::give_memory_back();
    epgt_train::started_by(arguments.clone());
    let file = arguments.first().map_or_else(|| "epgt".into(), PathBuf::from);
    let program = Program::try_parse_from(arguments).unwrap_or_else(|error| refuse(&error));
    let done = match &program.command {
        Command::Train(args) => train::run(args, &file),
        Command::Eval(args) => eval::run(args),
        Command::Tasks(args) => tasks::run(args),
        Command::Hyperparameters(args) => hyperparameters::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Bench(args) => bench::run(args, file),
        Command::Experiment(args) => experiment::run(args, &file),
        Command::Watch(args) => watch::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Setup(args) => setup::run(args),
        Command::Completions(args) => completions::run(args),
    };
    match done {
        Ok(Done::Completely) => 0,
        Ok(Done::Interrupted) => INTERRUPTED,
        Err(sentence) => {
            output::note(&output::fit(&format!("epgt: {sentence}")));
            1
        }
    }
}
