//! The file that tells the program's own directories from everybody else's.
//!
//! `epgt.json` is the first thing that is written into a directory and says what it holds, who made it, and with which
//! configuration. Only where it lies does the program ever remove or replace a file, and a run that was killed before
//! anything else was written starts over from it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactError, write_atomically};
use crate::outcome::RunError;
use crate::provenance::Provenance;

/// The file's name.
pub const MARKER: &str = "epgt.json";

/// What every marker says, so that no other program's file of this name is taken for one.
const PROGRAM: &str = "epgt";

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// One run.
    Run,
    /// One run for each of several seeds, `seed-S`.
    Seeds,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marker {
    program: String,
    /// What the directory holds.
    pub holds: Holds,
    /// The processes that have worked on it, the first one first.
    pub history: Vec<Provenance>,
    /// The seeds, where it holds several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    /// The complete configuration that it was begun with, as TOML without comments.
    pub config: String,
}

impl Marker {
    /// The marker of a directory that this process begins.
    pub(crate) fn new(holds: Holds, config_text: &str, seeds: Vec<u64>) -> Self {
        let settings = config_text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let config = settings.map(|line| format!("{line}\n")).collect();
        Self {
            program: PROGRAM.to_string(),
            holds,
            history: vec![Provenance::now()],
            seeds,
            config,
        }
    }

    /// Reads the marker of a directory; `None` where there is none, or another program's file of that name.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use epgt_train::Marker;
    /// assert_eq!(Marker::read(directory.path())?, None);
    /// std::fs::write(directory.path().join("epgt.json"), "{\"recipe\": \"bread\"}")?;
    /// assert_eq!(Marker::read(directory.path())?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(directory: &Path) -> Result<Option<Self>, RunError> {
        let path = directory.join(MARKER);
        match fs::read(&path) {
            Ok(bytes) => {
                let marker: Option<Self> = serde_json::from_slice(&bytes).ok();
                Ok(marker.filter(|marker| marker.program == PROGRAM))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(ArtifactError::unreadable(&path, &error).into()),
        }
    }

    /// Writes it.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), RunError> {
        let text = serde_json::to_string_pretty(self).map_err(|error| RunError::Unwritable(error.to_string()))?;
        Ok(write_atomically(directory.join(MARKER), text.as_bytes())?)
    }
}
