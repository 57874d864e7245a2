//! `epgt completions`: the script that has a shell complete this program's commands, options, tasks and names.

use clap::CommandFactory;

use crate::args::{CompletionsArgs, Program};
use crate::{Done, output};

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<Done, String> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Program::command(), "epgt", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Done::Completely)
}
