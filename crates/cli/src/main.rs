//! `epgt`: trains a policy-gradient agent and schedules its hyperparameters while it trains.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // What a shell says of the program's file may be a name or a link.
    let file = std::env::current_exe().map_or_else(|_| "epgt".into(), OsString::from);
    ExitCode::from(epgt_cli::main([file].into_iter().chain(std::env::args_os().skip(1))))
}
