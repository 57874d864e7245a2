//! One run of an experiment: where it is and how far it has come.

use std::fs;
use std::path::{Path, PathBuf};

use epgt_settings::{one_line, shortened};
use epgt_train::artifact::write_atomically;
use epgt_train::record::{FAILURE, read_failure, read_result, settings, steps_logged};
use epgt_train::{CONFIG, Config, MARKER, RunResult, claim, config_text, is_training};

use crate::error::{ExperimentError, PlanError};

/// Characters of it that are shown.
const LONGEST_FAILURE: usize = 4000;

/// One run of the experiment.
pub struct Cell {
    /// The task's number in the plan.
    pub task: usize,
    /// The method's number in the plan.
    pub method: usize,
    /// Where it is, or is to be.
    pub directory: PathBuf,
    /// What it does.
    pub config: Config,
    /// Why it cannot be made with the experiment's scale, where it cannot.
    pub refused: Option<PlanError>,
}

/// How far a cell has come.
#[expect(clippy::large_enum_variant, reason = "it is looked at and left")]
pub enum State {
    /// Nothing is there.
    New,
    /// It has begun and can go on.
    Begun,
    /// It has stopped with this sentence; it is tried again when the experiment is run again.
    Failed(String),
    /// What is there cannot be read, and this sentence says why; nobody but the user may take it away.
    Damaged(String),
    /// It is done.
    Finished(RunResult),
}

impl Cell {
    /// Looks what is in the cell's directory; a run with other settings is refused, never mixed in.
    pub fn state(&self) -> Result<State, ExperimentError> {
        let failure = || {
            // It may hold a traceback of an environment, whose words are anybody's.
            let text = read_failure(&self.directory)?;
            let lines: Vec<String> = text.lines().map(one_line).collect();
            Some(State::Failed(shortened(&lines.join("\n"), LONGEST_FAILURE)))
        };
        // No run of this cell can have begun with this scale, whatever another one has left here.
        if self.refused.is_some() {
            return Ok(State::New);
        }
        let path = self.directory.join(CONFIG);
        let there = match config_text(&self.directory) {
            Ok(Some(there)) => there,
            Ok(None) => return Ok(failure().unwrap_or(State::New)),
            Err(error) => return Ok(State::Damaged(error.to_string())),
        };
        if let Err(problem) = settings(&there) {
            return Ok(State::Damaged(format!("{}: {problem}", path.display())));
        }
        if let Some([there, here]) = difference(&there, &self.config) {
            let directory = self.directory.clone();
            return Err(ExperimentError::OtherSettings { directory, there, here });
        }
        Ok(match read_result(&self.directory).ok().flatten() {
            Some(result) => State::Finished(result),
            None => failure().unwrap_or(State::Begun),
        })
    }

    /// Whether a run has begun here, so that it is to be resumed.
    pub fn has_begun(&self) -> bool {
        self.directory.join(MARKER).exists()
    }

    /// Whether a process works on it right now.
    pub fn is_training(&self) -> bool {
        is_training(&self.directory)
    }

    /// The same cell below another directory.
    pub fn below(&self, out: &Path, other: &Path) -> Self {
        let directory = match self.directory.strip_prefix(out) {
            Ok(rest) => other.join(rest),
            Err(_) => self.directory.clone(),
        };
        Self {
            directory,
            config: self.config.clone(),
            refused: self.refused.clone(),
            ..*self
        }
    }

    /// Share of the run that its metrics tell of.
    pub fn share(&self) -> f64 {
        steps_logged(&self.directory) / self.config.run.steps as f64
    }

    /// Keeps why the run stopped, for whoever looks at the experiment later. Where that cannot be written, or the
    /// directory is somebody else's, the failure is told by the process that saw it.
    pub fn note_failure(&self, sentence: &str) {
        if self.has_begun() || claim(&self.directory, &self.config).is_ok() {
            let _ = write_atomically(self.directory.join(FAILURE), sentence.as_bytes());
        }
    }

    /// Forgets a failure: the run is tried again.
    pub fn forget_failure(&self) {
        let _ = fs::remove_file(self.directory.join(FAILURE));
    }
}

/// The lines of the first setting that a run's configuration file and a configuration disagree about. Comments do not
/// count, nor do settings that the file does not know: they came later, with defaults that change nothing.
fn difference(there: &str, here: &Config) -> Option<[String; 2]> {
    let filled = Config::read_stored(there).and_then(|assignments| Config::build(&assignments));
    let there = filled.map_or_else(|_| there.to_string(), |config| config.to_toml());
    let here = here.to_toml();
    let mut left = there.lines().filter(|line| is_setting(line));
    let mut right = here.lines().filter(|line| is_setting(line));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                return Some([a, b].map(|line| shortened(line.unwrap_or("nothing more"), 80)));
            }
        }
    }
}

fn is_setting(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_train::Assignment;

    #[test]
    fn a_changed_value_is_a_difference_and_a_changed_comment_or_a_new_setting_is_not() {
        let config = Config::build(&[Assignment::new("task", "CartPole-v1")]).unwrap();
        let text = config.to_toml();
        assert_eq!(difference(&format!("# old words\n{text}"), &config), None);
        let older: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("final_episodes"))
            .collect();
        assert_eq!(difference(&older.join("\n"), &config), None);
        let changed = text.replace("hold = 8", "hold = 9");
        assert_eq!(difference(&changed, &config).unwrap(), ["hold = 9", "hold = 8"]);
        assert!(difference("not a configuration", &config).is_some());
    }
}
