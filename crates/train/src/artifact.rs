//! Files that can be trusted after a crash.
//!
//! A run may be killed, or its disk may fill up, at any instant. A checkpoint is therefore written whole or not at all
//! ([`write_atomically`]) inside an envelope that shows any damage ([`seal`], [`open`]). The logs beside it (`table`,
//! `tensorboard`) are appended to, and report their troubles with the same [`ArtifactError`].

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The first bytes of every checkpoint.
const MAGIC: &[u8; 8] = b"EPGTCKPT";
/// Changes whenever an older program could not read what a newer one writes.
const FORMAT_VERSION: u32 = 3;
/// Magic, version, payload length.
const HEADER_BYTES: usize = 8 + 4 + 8;
const CHECKSUM_BYTES: usize = 32;

/// Why a file could not be written or read; its text is one sentence for the user.
///
/// ```
/// let error = epgt_train::artifact::open("no/such/checkpoint.bin").unwrap_err();
/// assert_eq!(error.to_string(), "cannot read no/such/checkpoint.bin: no such file or directory");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The system refused to write.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
        /// What is left on the disk.
        aftermath: String,
    },
    /// The system refused to read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file that this program did not write.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A checkpoint in another format than this program's.
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u32,
    },
    /// A file that ends too early.
    Truncated {
        /// The file.
        path: PathBuf,
        /// How many bytes it holds.
        found: u64,
        /// How many bytes it should hold at least.
        expected: u64,
    },
    /// A checkpoint whose checksum does not match its content.
    Altered {
        /// The file.
        path: PathBuf,
    },
    /// A table that breaks the rules of CSV, or holds something else than what was asked of it.
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritable {
                path,
                reason,
                aftermath,
            } => write!(f, "cannot write {}: {reason}; {aftermath}", path.display()),
            Self::Unreadable { path, reason } => {
                write!(f, "cannot read {}: {reason}", path.display())
            }
            Self::Foreign { path } => write!(
                f,
                "{} is not a checkpoint of this program; name a file that a run of it has saved",
                path.display()
            ),
            Self::OtherVersion { path, found } => write!(
                f,
                "{} is a checkpoint of format {found} and this program reads format {FORMAT_VERSION}; \
                 use the version of the program that wrote it",
                path.display()
            ),
            Self::Truncated { path, found, expected } => write!(
                f,
                "{} is truncated: it holds {found} of {expected} bytes; use another copy of it",
                path.display()
            ),
            Self::Altered { path } => write!(
                f,
                "{} was altered after it was written: its checksum does not match; use another copy of it",
                path.display()
            ),
            Self::Malformed { path, line, problem } => write!(f, "{}, line {line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for ArtifactError {}

impl ArtifactError {
    pub(crate) fn unwritable(path: &Path, error: &io::Error, aftermath: impl Into<String>) -> Self {
        Self::Unwritable {
            path: path.to_path_buf(),
            reason: reason(error),
            aftermath: aftermath.into(),
        }
    }

    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable {
            path: path.to_path_buf(),
            reason: reason(error),
        }
    }
}

/// The system's words in mid-sentence: no capital, no error number.
///
/// ```
/// let error = std::fs::read("no/such/file").unwrap_err();
/// assert_eq!(epgt_train::artifact::reason(&error), "no such file or directory");
/// ```
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => "unknown reason".to_string(),
    }
}

/// Replaces `path` by `bytes`, or leaves it as it was: whoever reads it, even after a power failure, finds the old
/// content or the new one, never a mixture.
///
/// The bytes go to `.<name>.tmp` in the same directory, reach the disk, and only then take the name. What a killed
/// process leaves of that file is overwritten next time, so one process at a time may write a given path.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("config.toml");
/// epgt_train::artifact::write_atomically(&path, b"seed = 1\n")?;
/// epgt_train::artifact::write_atomically(&path, b"seed = 2\n")?;
/// assert_eq!(std::fs::read(&path)?, b"seed = 2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), ArtifactError> {
    let path = path.as_ref();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let temporary = directory.join(temporary_name(&name));

    let written = write_to_disk(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // Nothing to be done if it is not there, or cannot be removed: the error at hand is the one to tell.
        let _ = fs::remove_file(&temporary);
        let aftermath = if path.is_file() {
            format!("the last good {} is intact", spoken_name(&name))
        } else {
            "nothing was written".to_string()
        };
        return Err(ArtifactError::unwritable(path, &error, aftermath));
    }
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| {
            let aftermath = "it is in place but may not survive a power failure";
            ArtifactError::unwritable(path, &error, aftermath)
        })
}

/// The name under which a file is written before it takes its own.
pub(crate) fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

fn write_to_disk(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// `checkpoint.bin` is a "checkpoint" to its user; other files go by their names.
fn spoken_name(name: &str) -> &str {
    name.strip_suffix(".bin").unwrap_or(name)
}

/// Wraps a checkpoint's payload so that [`open`] can tell whether it is whole: magic `EPGTCKPT`, format version (u32),
/// payload length (u64), payload, SHA-256 of all that precedes it; integers little-endian.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use epgt_train::artifact::{open, seal, write_atomically};
/// let path = directory.path().join("checkpoint.bin");
/// write_atomically(&path, &seal(b"the state"))?;
/// assert_eq!(open(&path)?, b"the state");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn seal(payload: impl Into<Vec<u8>>) -> Vec<u8> {
    // The payload can be the largest thing in memory: the envelope is put around it where it lies.
    let mut sealed = payload.into();
    let length = sealed.len() as u64;
    sealed.reserve_exact(HEADER_BYTES + CHECKSUM_BYTES);
    let header = MAGIC
        .iter()
        .copied()
        .chain(FORMAT_VERSION.to_le_bytes())
        .chain(length.to_le_bytes());
    sealed.splice(0..0, header);
    let checksum = Sha256::digest(&sealed);
    sealed.extend_from_slice(&checksum);
    sealed
}

/// Reads a file made by [`seal`] and gives its payload back, or says in what way the file cannot be trusted.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("notes.txt");
/// std::fs::write(&path, "a shopping list")?;
/// let error = epgt_train::artifact::open(&path).unwrap_err();
/// assert!(error.to_string().contains("notes.txt is not a checkpoint of this program"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Vec<u8>, ArtifactError> {
    let path = path.as_ref();
    let mut bytes = fs::read(path).map_err(|error| ArtifactError::unreadable(path, &error))?;
    let path = path.to_path_buf();

    let shared = bytes.len().min(MAGIC.len());
    if bytes[..shared] != MAGIC[..shared] {
        return Err(ArtifactError::Foreign { path });
    }
    let found = bytes.len() as u64;
    let truncated = |path, expected| ArtifactError::Truncated { path, found, expected };
    let Some((header, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(truncated(path, (HEADER_BYTES + CHECKSUM_BYTES) as u64));
    };
    let [_, _, _, _, _, _, _, _, v0, v1, v2, v3, length @ ..] = *header;
    let version = u32::from_le_bytes([v0, v1, v2, v3]);
    if version != FORMAT_VERSION {
        let found = version;
        return Err(ArtifactError::OtherVersion { path, found });
    }
    let expected = u64::from_le_bytes(length).saturating_add((HEADER_BYTES + CHECKSUM_BYTES) as u64);
    if found < expected {
        return Err(truncated(path, expected));
    }
    let content = bytes.len() - CHECKSUM_BYTES;
    if found > expected || Sha256::digest(&bytes[..content])[..] != bytes[content..] {
        return Err(ArtifactError::Altered { path });
    }
    bytes.truncate(content);
    bytes.drain(..HEADER_BYTES);
    Ok(bytes)
}

/// The SHA-256 of some bytes in hexadecimal: a short name for "exactly this content".
///
/// ```
/// let hash = epgt_train::artifact::sha256_hex(b"");
/// assert_eq!(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/// ```
pub fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    Sha256::digest(bytes)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn refusal(bytes: &[u8]) -> ArtifactError {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint.bin");
        fs::write(&path, bytes).unwrap();
        let error = open(&path).unwrap_err();
        assert!(error.to_string().contains("checkpoint.bin"), "{error}");
        error
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_leaves_the_old_checkpoint_and_no_temporary() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint.bin");
        write_atomically(&path, b"old").unwrap();
        // Every write to this device fails for want of space.
        let temporary = directory.path().join(".checkpoint.bin.tmp");
        std::os::unix::fs::symlink("/dev/full", &temporary).unwrap();

        let error = write_atomically(&path, b"new").unwrap_err();

        let expected = format!(
            "cannot write {}: no space left on device; the last good checkpoint is intact",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(directory.path()), ["checkpoint.bin"]);
    }

    #[test]
    fn what_cannot_take_its_name_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write_atomically(&path, b"new").unwrap_err().to_string();
        assert!(error.ends_with("; nothing was written"), "{error}");
        assert_eq!(names_in(directory.path()), ["taken"]);
    }

    #[test]
    fn a_checkpoint_cut_anywhere_is_called_truncated() {
        let sealed = seal(b"the state of a run");
        for length in 0..sealed.len() {
            let error = refusal(&sealed[..length]);
            assert!(
                matches!(error, ArtifactError::Truncated { found, .. } if found == length as u64),
                "{error}"
            );
        }
    }

    #[test]
    fn a_checkpoint_with_any_bit_flipped_is_refused() {
        let sealed = seal(b"the state of a run");
        for position in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[position] ^= 1 << (position % 8);
            let error = refusal(&damaged);
            let as_expected = match position {
                0..8 => matches!(error, ArtifactError::Foreign { .. }),
                8..12 => matches!(error, ArtifactError::OtherVersion { .. }),
                // A length that was altered looks like a file that was cut or added to.
                12..20 => !matches!(error, ArtifactError::Unreadable { .. }),
                _ => matches!(error, ArtifactError::Altered { .. }),
            };
            assert!(as_expected, "byte {position}: {error}");
        }
    }

    #[test]
    fn bytes_after_the_end_count_as_an_alteration() {
        let mut sealed = seal(b"");
        sealed.push(0);
        assert!(matches!(refusal(&sealed), ArtifactError::Altered { .. }));
    }

    #[test]
    fn another_format_is_named() {
        let mut sealed = seal(b"");
        sealed[8] = 7;
        let error = refusal(&sealed).to_string();
        assert!(error.contains("format 7"), "{error}");
    }
}
