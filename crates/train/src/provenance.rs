//! Where a result comes from: which program, when, on which machine, by which command.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{usage, version};

/// One process that worked on something.
///
/// ```
/// let here = epgt_train::Provenance::now();
/// assert_eq!(here.version, epgt_train::version::VERSION);
/// assert!(here.date.ends_with('Z') && here.date.len() == "2026-01-31T12:00:00Z".len());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of the program.
    pub version: String,
    /// The commit that it was built from, where that is known.
    pub commit: Option<String>,
    /// When it began, in UTC (ISO 8601).
    pub date: String,
    /// The name of the machine.
    pub host: String,
    /// The machine's processor; runs of earlier versions do not say it, nor the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// The cores that the process could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// The operating system and the processor's architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The command line, with the quotes that a shell needs.
    pub command: String,
}

impl Provenance {
    /// This process, now.
    pub fn now() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let said = COMMAND.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let command: Vec<String> = said
            .unwrap_or_else(|| std::env::args_os().collect())
            .iter()
            .enumerate()
            .map(|(i, word)| match i {
                0 => program(word),
                _ => shell_word(&word.to_string_lossy()),
            })
            .collect();
        Self {
            version: version::VERSION.to_string(),
            commit: version::commit().map(String::from),
            date: utc(since_1970.map_or(0, |time| time.as_secs())),
            host: usage::host_name(),
            cpu: Some(usage::cpu_model()),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            os: Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
            command: command.join(" "),
        }
    }

    /// The program with its commit.
    ///
    /// ```
    /// assert!(epgt_train::Provenance::now().program().starts_with("epgt "));
    /// ```
    pub fn program(&self) -> String {
        let commit = self.commit.as_ref().map(|commit| format!(" ({commit})"));
        format!("epgt {}{}", self.version, commit.unwrap_or_default())
    }

    /// The machine in words, as far as it is known.
    ///
    /// ```
    /// let here = epgt_train::Provenance::now();
    /// assert!(here.machine().starts_with(&here.host) && here.machine().contains("core"));
    /// ```
    pub fn machine(&self) -> String {
        let cores = self
            .cores
            .map(|cores| format!("{cores} core{}", if cores == 1 { "" } else { "s" }));
        let known: Vec<String> = [self.cpu.clone(), cores, self.os.clone()]
            .into_iter()
            .flatten()
            .collect();
        match known.is_empty() {
            true => self.host.clone(),
            false => format!("{} ({})", self.host, known.join(", ")),
        }
    }
}

/// The command line of this process, where its arguments do not say it.
static COMMAND: Mutex<Option<Vec<OsString>>> = Mutex::new(None);

/// Says by which command line this process was started, for a library in another program, whose process may have been
/// started otherwise. What is said last holds.
///
/// ```
/// epgt_train::started_by(["python", "learn.py", "--fast"].map(Into::into).into());
/// assert_eq!(epgt_train::Provenance::now().command, "python learn.py --fast");
/// ```
pub fn started_by(command: Vec<OsString>) {
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) = Some(command);
}

/// The name of a program, without its place; every file of this program's is `epgt`.
fn program(file: &OsStr) -> String {
    let name = Path::new(file)
        .file_stem()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match name.starts_with("python") {
        true => name,
        false => "epgt".to_string(),
    }
}

/// A word for the shell, in quotes where it needs them.
///
/// ```
/// use epgt_train::shell_word;
/// assert_eq!(shell_word("task=CartPole-v1,seed=0"), "task=CartPole-v1,seed=0");
/// assert_eq!(shell_word("it's $HOME"), "'it'\\''s $HOME'");
/// assert_eq!(shell_word(""), "''");
/// ```
pub fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:+@%".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Seconds since 1970 as a date and a time of day, by the calendar's 400-year cycle (146,097 days) counted from a 1st
/// of March, so that a leap day is the last of its year.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * cycle + year + next;
    format!(
        "{year:04}-{month:02}-{day_of_month:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_versions_wrote_is_read_as_far_as_it_goes() {
        let old = r#"{"version": "0.1.0", "commit": null, "date": "2026-01-31T12:00:00Z", "host": "h", "command": "epgt train"}"#;
        let read: Provenance = serde_json::from_str(old).unwrap();
        assert_eq!(
            (read.program(), read.machine()),
            ("epgt 0.1.0".to_string(), "h".to_string())
        );
        let now = Provenance::now();
        let again: Provenance = serde_json::from_str(&serde_json::to_string(&now).unwrap()).unwrap();
        assert_eq!(again, now);
    }

    #[test]
    fn seconds_since_1970_are_dates() {
        // From `date -u -d @SECONDS +%FT%TZ`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
