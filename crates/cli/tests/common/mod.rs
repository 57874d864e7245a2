//! Running the real executable and looking at what it leaves behind.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of its own for a test, removed at its end.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program, to be run in this place.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epgt"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments).output().expect("the program starts"))
    }

    /// Runs a line of bash with the program as `$EPGT`.
    pub fn bash(&self, line: &str) -> Ended {
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("EPGT", env!("CARGO_BIN_EXE_epgt"));
        Ended::of(command.current_dir(self.0.path()).output().expect("bash starts"))
    }

    /// Trains in the directory `name`, which must work, on CartPole-v1 or the task that the arguments begin with.
    pub fn train(&self, name: &str, arguments: &[&str]) -> PathBuf {
        let mut all = vec!["train", "--quiet", "--out", name];
        all.extend(task_of(arguments));
        all.extend(arguments);
        let ended = self.run(&all);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        self.path(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a test's file can be written");
        path
    }
}

/// The usual task, where the arguments do not begin with one.
pub fn task_of(arguments: &[&str]) -> Option<&'static str> {
    let names_one = arguments.first().is_some_and(|first| !first.starts_with('-'));
    (!names_one).then_some("CartPole-v1")
}

/// The environment of the README, `corridor.py`.
pub fn corridor() -> &'static str {
    let page = include_str!("../../../../README.md");
    let (_, rest) = page.split_once("```python\n").expect("an environment");
    rest.split_once("```").expect("its end").0
}

/// How the program ended and what it said.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    /// Asserts a refusal: exit code 1, nothing on stdout, one sentence on stderr that has all these parts.
    pub fn is_refused_with(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("epgt: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "one sentence: {}", self.stderr);
        assert!(self.stderr.ends_with('\n'), "{self:?}");
        for word in ["panicked", "RUST_BACKTRACE", "Error {"] {
            assert!(
                !self.stderr.contains(word),
                "'{word}' is not for users: {}",
                self.stderr
            );
        }
        for part in parts {
            assert!(self.stderr.contains(part), "'{part}' is missing in: {}", self.stderr);
        }
    }
}

/// Every file below a directory with its content.
pub fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a readable directory") {
            let path = entry.expect("a directory entry").path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let name = path
                        .strip_prefix(directory)
                        .expect("a path below")
                        .display()
                        .to_string();
                    found.insert(name, std::fs::read(&path).expect("a readable file"));
                }
            }
        }
    }
    found
}

/// Asserts that two directories hold the same files, naming those that differ rather than printing them.
pub fn assert_same_files(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(before), names(after));
    let changed: Vec<&String> = before.keys().filter(|name| before[*name] != after[*name]).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
}

/// What must be equal for two runs to be the same: the policies, the decisions, and the metrics but for the time.
pub fn assert_same_run(a: &Path, b: &Path) {
    for name in ["last.safetensors", "best.safetensors", "decisions.csv", "config.toml"] {
        let read = |directory: &Path| std::fs::read(directory.join(name)).expect(name);
        assert!(
            read(a) == read(b),
            "{name} of {} and {} differ",
            a.display(),
            b.display()
        );
    }
    assert_eq!(timeless_metrics(a), timeless_metrics(b));
}

/// `metrics.csv` without the columns that depend on the machine's speed.
fn timeless_metrics(directory: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(directory.join("metrics.csv")).expect("metrics.csv");
    let rows: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    let slow = ["time/time_elapsed", "time/fps"];
    let keep: Vec<usize> = (0..rows[0].len())
        .filter(|&i| !slow.contains(&rows[0][i].as_str()))
        .collect();
    assert_eq!(keep.len(), rows[0].len() - slow.len());
    rows.iter()
        .map(|row| keep.iter().map(|&i| row[i].clone()).collect())
        .collect()
}
