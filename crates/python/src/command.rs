//! The command `epgt` that the wheel brings.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error::guarded;

/// Runs the program with these arguments, of which the first is its file; returns its exit status.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    guarded(py, || epgt_cli::main(arguments))
}

/// Says by which command line the interpreter was started, which runs keep in their `epgt.json`, and which file it is:
/// the workers of the tasks `gym:ID` are started with it.
#[pyfunction]
pub fn set_up(command: Vec<OsString>, interpreter: OsString) {
    epgt_train::started_by(command);
    if !interpreter.is_empty() {
        epgt_envs::gymnasium::run_inside_of(interpreter);
    }
}
