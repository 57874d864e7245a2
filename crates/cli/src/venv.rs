//! Virtual environments that this program makes for itself in the user's cache: the bench's peer, and Atari.
//!
//! One is complete when the list of its packages lies in it, which is written last: one that was begun, or has packages
//! of other versions, is made anew.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epgt_envs::atari::COMPLETE;

/// The interpreter of a virtual environment.
pub fn interpreter(directory: &Path) -> PathBuf {
    directory.join("bin").join("python")
}

/// Whether the virtual environment is there with these packages.
pub fn is_complete(directory: &Path, packages: &[&str]) -> bool {
    fs::read_to_string(directory.join(COMPLETE)).is_ok_and(|text| text == packages.join("\n"))
}

/// Makes it with a Python and has pip install the packages; the error is the reason alone.
pub fn make(python: &OsStr, directory: &Path, packages: &[&str]) -> Result<(), String> {
    let mut venv = Command::new(python);
    venv.args(["-m", "venv", "--clear"]).arg(directory);
    let mut pip = Command::new(interpreter(directory));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    for command in [&mut venv, &mut pip] {
        succeed(command)?;
    }
    fs::write(directory.join(COMPLETE), packages.join("\n")).map_err(|error| error.to_string())
}

/// Runs a command to its end; the error is the first line in which it says so, or the last that it said.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let reason = lines
        .clone()
        .find(|line| line.starts_with("ERROR") || line.starts_with("Error"))
        .or_else(|| lines.next_back());
    Err(reason.map_or_else(|| output.status.to_string(), str::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_told_by_its_error_line() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo trying; echo 'ERROR: no such package'; echo bye; exit 1"]);
        assert_eq!(succeed(&mut command).unwrap_err(), "ERROR: no such package");
        let missing = succeed(&mut Command::new("no-such-program-of-epgt")).unwrap_err();
        assert!(missing.starts_with("cannot start no-such-program-of-epgt"), "{missing}");
    }
}
