//! A table that is read while it grows: only what has come since it was last looked at.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::artifact::ArtifactError;
use crate::table::split_row;

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// A row is not longer; a file without line ends is no table.
const LONGEST_ROW: usize = 1 << 24;

/// Follows a table of a run while the run writes it.
///
/// A resumed run cuts its tables back and writes on. That is seen by the length, or else by the last row that was read,
/// which tells the time when it was written: the table is then read from its start again.
///
/// ```
/// use epgt_train::record::{Part, Tail};
/// # let place = tempfile::tempdir()?;
/// # let path = place.path().join("metrics.csv");
/// std::fs::write(&path, "step,return\n1,5\n2,6\n3,unfini")?;
/// let mut tail = Tail::new(&path);
/// let mut rows = Vec::new();
/// let mut read = |tail: &mut Tail| {
///     tail.read(u64::MAX, &mut |part| match part {
///         Part::Header(names) => rows.push(names.join("|")),
///         Part::Row(fields) => rows.push(fields.join("|")),
///     })
/// };
/// read(&mut tail)?;
/// std::fs::write(&path, "step,return\n1,5\n2,6\n3,7\n")?;
/// read(&mut tail)?;
/// assert_eq!(rows, ["step|return", "1|5", "2|6", "3|7"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// How the file was when it was last read to its end.
    seen: Option<Stamp>,
    /// Fields of a row; none before the header was read.
    columns: usize,
    /// Bytes of whole rows that were given.
    given: u64,
    /// Lines of them.
    lines: usize,
    /// The last row that was given.
    last: Vec<u8>,
}

/// What a [`Tail`] gives.
#[derive(Debug)]
pub enum Part<'a> {
    /// The names of the columns. The table begins: what was given before no longer holds.
    Header(Vec<String>),
    /// The next row, as wide as the header.
    Row(&'a [&'a str]),
}

/// By what a changed file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(u64, Option<SystemTime>, u64);

impl Stamp {
    pub(super) fn of(about: &Metadata) -> Self {
        Self(about.len(), about.modified().ok(), number(about))
    }

    /// That of a file; `None` where there is none.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|about| Self::of(&about))
    }
}

/// The file's number in its file system: one that was replaced has another.
#[cfg(unix)]
fn number(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

impl Tail {
    /// A table of which nothing was read yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            seen: None,
            columns: 0,
            given: 0,
            lines: 0,
            last: Vec::new(),
        }
    }

    /// Gives every whole row that has come to `take`; a file that has not changed is not opened. Stops after about
    /// `most` bytes and returns whether there is more.
    pub fn read(&mut self, most: u64, take: &mut dyn FnMut(Part<'_>)) -> Result<bool, ArtifactError> {
        let about = fs::metadata(&self.path).map_err(|error| ArtifactError::unreadable(&self.path, &error))?;
        let stamp = Stamp::of(&about);
        if self.seen == Some(stamp) {
            return Ok(false);
        }
        let more = self.read_on(about.len(), most, take)?;
        if !more {
            self.seen = Some(stamp);
        }
        Ok(more)
    }

    fn read_on(&mut self, length: u64, most: u64, take: &mut dyn FnMut(Part<'_>)) -> Result<bool, ArtifactError> {
        let path = self.path.clone();
        let unreadable = |error: io::Error| ArtifactError::unreadable(&path, &error);
        let mut file = File::open(&path).map_err(unreadable)?;
        if length < self.given || !self.is_as_it_was(&mut file).map_err(unreadable)? {
            *self = Self::new(&path);
        }
        file.seek(SeekFrom::Start(self.given)).map_err(unreadable)?;
        let enough = self.given.saturating_add(most);
        let mut piece = vec![0; PIECE];
        let mut filled = 0;
        while self.given < enough {
            if filled == piece.len() {
                if filled >= LONGEST_ROW {
                    return Err(self.malformed("the row is longer than any of a run".to_string()));
                }
                piece.resize(2 * filled, 0);
            }
            let came = file.read(&mut piece[filled..]).map_err(unreadable)?;
            if came == 0 {
                return Ok(false);
            }
            filled += came;
            if let Some(end) = piece[..filled].iter().rposition(|&byte| byte == b'\n') {
                self.give(&piece[..=end], take)?;
                piece.copy_within(end + 1..filled, 0);
                filled -= end + 1;
            }
        }
        Ok(true)
    }

    /// Whether the last row that was given stands where it stood.
    fn is_as_it_was(&self, file: &mut File) -> io::Result<bool> {
        let mut found = vec![0; self.last.len()];
        file.seek(SeekFrom::Start(self.given - self.last.len() as u64))?;
        match file.read_exact(&mut found) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|()| found == self.last),
        }
    }

    /// Gives whole lines.
    fn give(&mut self, bytes: &[u8], take: &mut dyn FnMut(Part<'_>)) -> Result<(), ArtifactError> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.lines += 1;
            let whole = std::str::from_utf8(line).map_err(|_| self.malformed("it is not text".to_string()))?;
            let quoted = match whole.contains('"') {
                true => split_row(whole).map_err(|problem| self.malformed(problem))?.0,
                false => Vec::new(),
            };
            let fields: Vec<&str> = match quoted.is_empty() {
                true => whole.trim_end_matches(['\n', '\r']).split(',').collect(),
                false => quoted.iter().map(String::as_str).collect(),
            };
            if self.columns == 0 {
                self.columns = fields.len();
                take(Part::Header(fields.iter().map(|name| name.to_string()).collect()));
            } else if fields.len() == self.columns {
                take(Part::Row(&fields));
            } else {
                let (has, wants) = (fields.len(), self.columns);
                return Err(self.malformed(format!("the row has {has} fields and the header has {wants}")));
            }
            self.given += line.len() as u64;
            self.last.clear();
            self.last.extend(line);
        }
        Ok(())
    }

    fn malformed(&self, problem: String) -> ArtifactError {
        ArtifactError::Malformed {
            path: self.path.clone(),
            line: self.lines,
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// All that a tail gives in one look, a line for each part.
    fn look(tail: &mut Tail) -> Vec<String> {
        let mut seen = Vec::new();
        tail.read(u64::MAX, &mut |part| match part {
            Part::Header(names) => seen.push(format!("header {}", names.join(" "))),
            Part::Row(fields) => seen.push(fields.join(" ")),
        })
        .unwrap();
        seen
    }

    #[test]
    fn a_table_that_was_cut_back_is_read_from_its_start() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("table.csv");
        fs::write(&path, "step,time\n1,0.1\n2,0.2\n").unwrap();
        let mut tail = Tail::new(&path);
        assert_eq!(look(&mut tail), ["header step time", "1 0.1", "2 0.2"]);
        assert_eq!(look(&mut tail), [""; 0]);
        fs::write(&path, "step,time\n1,0.1\n").unwrap();
        assert_eq!(look(&mut tail), ["header step time", "1 0.1"]);
        // Cut back and longer again between two looks: the last row tells another time.
        fs::write(&path, "step,time\n1,0.7\n2,0.8\n").unwrap();
        assert_eq!(look(&mut tail), ["header step time", "1 0.7", "2 0.8"]);
        fs::write(&path, "step,time\n1,0.7\n2,0.9\n3,1.0\n").unwrap();
        assert_eq!(look(&mut tail), ["header step time", "1 0.7", "2 0.9", "3 1.0"]);
    }

    #[test]
    fn a_long_table_comes_in_pieces() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("table.csv");
        let mut file = File::create(&path).unwrap();
        writeln!(file, "step,note").unwrap();
        (0..200_000).for_each(|i| writeln!(file, "{i},\"a, b\"").unwrap());
        let mut tail = Tail::new(&path);
        let (mut rows, mut looks) = (0, 0);
        loop {
            looks += 1;
            let mut take = |part: Part<'_>| {
                if let Part::Row(fields) = part {
                    assert_eq!((fields[0], fields[1]), (rows.to_string().as_str(), "a, b"));
                    rows += 1;
                }
            };
            if !tail.read(500_000, &mut take).unwrap() {
                break;
            }
        }
        assert_eq!(rows, 200_000);
        assert!(looks > 3, "{looks}");
    }

    #[test]
    fn what_is_no_table_is_named_with_its_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("table.csv");
        let error_of = |content: &[u8]| {
            fs::write(&path, content).unwrap();
            let read = Tail::new(&path).read(u64::MAX, &mut |_| ());
            read.unwrap_err().to_string()
        };
        assert!(error_of(b"a,b\n1,2\n3\n").ends_with("line 3: the row has 1 fields and the header has 2"));
        assert!(error_of(b"a\n\xff\n").ends_with("line 2: it is not text"));
        assert!(error_of(&vec![b'9'; LONGEST_ROW + 1]).ends_with("the row is longer than any of a run"));
    }
}
