//! Logs that a resumed run continues without losing or repeating a row.
//!
//! The tables and event files of a run grow by whole flushes through an [`AppendFile`]. A checkpoint records their
//! lengths; the run that goes on from it cuts them back to those lengths and appends.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::artifact::ArtifactError;

/// A file that only grows, by whole flushes: after a failed one it is cut back to the last good length and nothing is
/// lost from the caller's buffer.
#[derive(Debug)]
pub(crate) struct AppendFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl AppendFile {
    /// An empty file, in place of one that may be there.
    pub fn create(path: &Path) -> Result<Self, ArtifactError> {
        match File::create(path) {
            Ok(file) => Ok(Self {
                path: path.to_path_buf(),
                file,
                length: 0,
            }),
            Err(error) => {
                let aftermath = "check that its directory exists and may be written to";
                Err(ArtifactError::unwritable(path, &error, aftermath))
            }
        }
    }

    /// An existing file, cut to the `length` that a checkpoint recorded.
    pub fn open_at(path: &Path, length: u64) -> Result<Self, ArtifactError> {
        let unwritable = |error| {
            let aftermath = "the run cannot go on without it";
            ArtifactError::unwritable(path, &error, aftermath)
        };
        let mut file = OpenOptions::new().write(true).open(path).map_err(unwritable)?;
        let found = file.metadata().map_err(unwritable)?.len();
        if found < length {
            return Err(ArtifactError::Truncated {
                path: path.to_path_buf(),
                found,
                expected: length,
            });
        }
        file.set_len(length).map_err(unwritable)?;
        file.seek(SeekFrom::Start(length)).map_err(unwritable)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            length,
        })
    }

    /// Appends all of `bytes` or none of them, and returns the length of the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, ArtifactError> {
        if let Err(error) = self.file.write_all(bytes) {
            // Best effort: should this fail too, the next run cuts the file at the length in its checkpoint.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            let aftermath = "what was written before is intact";
            return Err(ArtifactError::unwritable(&self.path, &error, aftermath));
        }
        self.length += bytes.len() as u64;
        Ok(self.length)
    }

    /// Waits until the disk holds all that was appended.
    pub fn sync(&self) -> Result<(), ArtifactError> {
        self.file.sync_data().map_err(|error| {
            let aftermath = "its last rows may not survive a power failure";
            ArtifactError::unwritable(&self.path, &error, aftermath)
        })
    }
}
