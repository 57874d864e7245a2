//! The tables of a run: CSV that grows by whole rows.
//!
//! [`CsvWriter`] formats into one reused buffer, so logging a row costs no allocation; [`read_csv`] reads such a table
//! back for the commands that compare and plot runs. Text is quoted where CSV asks for it (RFC 4180), lines end with a
//! plain newline, and numbers are written with the shortest text that reads back to the same number.

use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

use crate::append::AppendFile;
use crate::artifact::ArtifactError;

/// One field of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing: the quantity was not measured in this row.
    Empty,
    /// Some text, quoted when it has to be.
    Text(&'a str),
    /// A count.
    Integer(u64),
    /// A number of single precision.
    F32(f32),
    /// A number of double precision.
    F64(f64),
}

/// Appends rows to a CSV file.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("metrics.csv");
/// use epgt_train::table::{Cell, CsvWriter};
/// let mut table = CsvWriter::create(&path, &["step", "rollout/ep_rew_mean", "note"])?;
/// table.row(&[Cell::Integer(80), Cell::F32(-0.1), Cell::Text("a, b")]);
/// table.field(Cell::Integer(160)).field(Cell::F64(0.5)).field(Cell::Empty).end_row();
/// let length = table.flush()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "step,rollout/ep_rew_mean,note\n80,-0.1,\"a, b\"\n160,0.5,\n");
/// assert_eq!(length, 54);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CsvWriter {
    file: AppendFile,
    columns: usize,
    /// Fields written of the current row.
    filled: usize,
    buffer: String,
}

impl CsvWriter {
    /// A new table with this header, in place of one that may be there. The header is in the file when this returns, so
    /// a place that cannot be written to is found out before anything is trained.
    pub fn create<S: AsRef<str>>(path: impl AsRef<Path>, header: &[S]) -> Result<Self, ArtifactError> {
        let mut writer = Self {
            file: AppendFile::create(path.as_ref())?,
            columns: header.len(),
            filled: 0,
            buffer: String::new(),
        };
        for name in header {
            writer.field(Cell::Text(name.as_ref()));
        }
        writer.end_row();
        writer.flush()?;
        Ok(writer)
    }

    /// Continues a table at the `length` that [`flush`](Self::flush) returned when the checkpoint was made; rows after
    /// it are dropped, since the resumed run writes them again. A table with another header is refused.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("metrics.csv");
    /// use epgt_train::table::{Cell, CsvWriter};
    /// let mut table = CsvWriter::create(&path, &["step"])?;
    /// let checkpointed = table.row(&[Cell::Integer(1)]).flush()?;
    /// table.row(&[Cell::Integer(2)]).flush()?;
    ///
    /// let mut resumed = CsvWriter::open_at(&path, checkpointed, &["step"])?;
    /// resumed.row(&[Cell::Integer(2)]).flush()?;
    /// assert_eq!(std::fs::read_to_string(&path)?, "step\n1\n2\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_at<S: AsRef<str>>(path: impl AsRef<Path>, length: u64, header: &[S]) -> Result<Self, ArtifactError> {
        let path = path.as_ref();
        let file = AppendFile::open_at(path, length)?;
        if !read_csv(path)?.header.iter().eq(header.iter().map(AsRef::as_ref)) {
            return Err(ArtifactError::Malformed {
                path: path.to_path_buf(),
                line: 1,
                problem: "the columns are not those that this run writes; use another copy of it".to_string(),
            });
        }
        Ok(Self {
            file,
            columns: header.len(),
            filled: 0,
            buffer: String::new(),
        })
    }

    /// Adds a whole row to the buffer.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> &mut Self {
        for &cell in cells {
            self.field(cell);
        }
        self.end_row()
    }

    /// Adds the next field of the current row to the buffer.
    pub fn field(&mut self, cell: Cell<'_>) -> &mut Self {
        if self.filled > 0 {
            self.buffer.push(',');
        }
        self.filled += 1;
        let written = match cell {
            Cell::Empty => Ok(()),
            Cell::Text(text) => write_text(&mut self.buffer, text),
            Cell::Integer(number) => write!(self.buffer, "{number}"),
            // The debug form is the shortest that reads back, with an exponent where the plain form would be long.
            Cell::F32(number) => write!(self.buffer, "{number:?}"),
            Cell::F64(number) => write!(self.buffer, "{number:?}"),
        };
        written.expect("writing to a string cannot fail");
        // A whole number has no point: counts are counted in the same tables as means.
        if matches!(cell, Cell::F32(_) | Cell::F64(_)) && self.buffer.ends_with(".0") {
            self.buffer.truncate(self.buffer.len() - 2);
        }
        self
    }

    /// Ends the current row, which must have as many fields as the header.
    pub fn end_row(&mut self) -> &mut Self {
        assert_eq!(self.filled, self.columns, "fields in a row of the table");
        self.filled = 0;
        self.buffer.push('\n');
        self
    }

    /// Hands the buffered rows to the system and returns the file's length. After an error the file ends with the last
    /// row that was flushed before, and the buffered ones are kept for another try.
    pub fn flush(&mut self) -> Result<u64, ArtifactError> {
        assert_eq!(self.filled, 0, "a row must be ended before a flush");
        let length = self.file.append(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(length)
    }

    /// [`flush`](Self::flush), and waits until the disk has it: for lengths that go into a checkpoint, which must not
    /// promise rows that a power failure can take away.
    pub fn sync(&mut self) -> Result<u64, ArtifactError> {
        let length = self.flush()?;
        self.file.sync()?;
        Ok(length)
    }
}

fn write_text(buffer: &mut String, text: &str) -> fmt::Result {
    if !text.contains([',', '"', '\n', '\r']) {
        return buffer.write_str(text);
    }
    buffer.write_char('"')?;
    for character in text.chars() {
        if character == '"' {
            buffer.write_char('"')?;
        }
        buffer.write_char(character)?;
    }
    buffer.write_char('"')
}

/// A table in memory, all fields as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CsvTable {
    /// Where it was read from.
    pub path: PathBuf,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows below the header, each as wide as it.
    pub rows: Vec<Vec<String>>,
    /// The line of the file on which each row begins.
    lines: Vec<usize>,
}

impl CsvTable {
    /// The numbers of one column; an empty field is NaN.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("metrics.csv");
    /// std::fs::write(&path, "step,return\n1,-200.0\n2,\n")?;
    /// let table = epgt_train::table::read_csv(&path)?;
    /// assert_eq!(table.numbers("step")?, [1.0, 2.0]);
    /// assert!(table.numbers("return")?[1].is_nan());
    /// let error = table.numbers("retrun").unwrap_err().to_string();
    /// assert!(error.ends_with("line 1: unknown column 'retrun'; did you mean 'return'?"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>, ArtifactError> {
        let Some(index) = self.header.iter().position(|name| name == column) else {
            let names: Vec<&str> = self.header.iter().map(String::as_str).collect();
            let problem = epgt_settings::unknown("column", column, &names);
            return Err(malformed(&self.path, 1, problem));
        };
        let fields = self.rows.iter().map(|row| row[index].as_str());
        fields
            .zip(&self.lines)
            .map(|(field, &line)| match field {
                "" => Ok(f64::NAN),
                _ => field.parse().map_err(|_| {
                    let problem = format!("'{field}' in column '{column}' is not a number");
                    malformed(&self.path, line, problem)
                }),
            })
            .collect()
    }
}

/// Reads a table that [`CsvWriter`] wrote. A last line without its newline is a row that was never finished, as a
/// killed run can leave it, and is not read.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("metrics.csv");
/// std::fs::write(&path, "step,note\n80,\"a, b\"\n160,unfini")?;
/// let table = epgt_train::table::read_csv(&path)?;
/// assert_eq!(table.header, ["step", "note"]);
/// assert_eq!(table.rows, [["80", "a, b"]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_csv(path: impl AsRef<Path>) -> Result<CsvTable, ArtifactError> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).map_err(|error| ArtifactError::unreadable(path, &error))?;
    let finished = text.rfind('\n').map_or("", |end| &text[..=end]);

    let mut table = CsvTable {
        path: path.to_path_buf(),
        header: Vec::new(),
        rows: Vec::new(),
        lines: Vec::new(),
    };
    let mut rest = finished;
    let mut line = 1;
    while !rest.is_empty() {
        let (row, after) = split_row(rest).map_err(|problem| malformed(path, line, problem))?;
        if line == 1 {
            table.header = row;
        } else if row.len() == table.header.len() {
            table.rows.push(row);
            table.lines.push(line);
        } else {
            let (has, wants) = (row.len(), table.header.len());
            let problem = format!("the row has {has} fields and the header has {wants}");
            return Err(malformed(path, line, problem));
        }
        line += rest[..rest.len() - after.len()].matches('\n').count();
        rest = after;
    }
    if table.header.is_empty() {
        return Err(malformed(path, 1, "there is no header".to_string()));
    }
    Ok(table)
}

/// Splits the first row off a text that ends with a newline.
pub(crate) fn split_row(text: &str) -> Result<(Vec<String>, &str), String> {
    let mut row = Vec::new();
    let mut rest = text;
    loop {
        let mut field = String::new();
        if rest.starts_with('"') {
            // Within quotes a doubled quote stands for one: the text is in pieces with a quote between them.
            let mut between = "";
            while let Some(quoted) = rest.strip_prefix('"') {
                let end = quoted.find('"').ok_or("a quote is opened and not closed")?;
                field.push_str(between);
                field.push_str(&quoted[..end]);
                between = "\"";
                rest = &quoted[end + 1..];
            }
        } else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            field.push_str(rest[..end].strip_suffix('\r').unwrap_or(&rest[..end]));
            rest = &rest[end..];
        }
        row.push(field);
        rest = rest.strip_prefix('\r').unwrap_or(rest);
        if let Some(after) = rest.strip_prefix(',') {
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\n') {
            return Ok((row, after));
        } else {
            return Err("a comma is missing after a closing quote".to_string());
        }
    }
}

fn malformed(path: &Path, line: usize, problem: String) -> ArtifactError {
    ArtifactError::Malformed {
        path: path.to_path_buf(),
        line,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_a_file<T>(content: &str, test: impl FnOnce(&Path) -> T) -> T {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        fs::write(&path, content).unwrap();
        test(&path)
    }

    #[test]
    fn every_text_and_number_reads_back_as_it_was() {
        let texts = ["plain", "a,b", "say \"so\"", "two\nlines", "", "\r", "é"];
        let numbers = [0.1_f64, -0.0, 1e-300, 1.0 / 3.0, f64::MAX, f64::INFINITY];
        let singles = [0.1_f32, 1e-30, 1.0 / 3.0, f32::MAX];
        in_a_file("", |path| {
            let mut table = CsvWriter::create(path, &["text, all", "f64", "f32"]).unwrap();
            for index in 0..texts.len() {
                let number = numbers[index % numbers.len()];
                let single = singles[index % singles.len()];
                let text = texts[index];
                table.row(&[Cell::Text(text), Cell::F64(number), Cell::F32(single)]);
            }
            table.flush().unwrap();

            let back = read_csv(path).unwrap();
            assert_eq!(back.header, ["text, all", "f64", "f32"]);
            assert_eq!(back.rows.len(), texts.len());
            for (index, row) in back.rows.iter().enumerate() {
                let (number, single): (f64, f32) = (row[1].parse().unwrap(), row[2].parse().unwrap());
                assert_eq!(row[0], texts[index]);
                assert_eq!(number.to_bits(), numbers[index % numbers.len()].to_bits());
                assert_eq!(single, singles[index % singles.len()]);
            }
            assert_eq!(back.rows[0][2], "0.1");
        });
    }

    #[test]
    fn whole_numbers_are_written_without_a_point() {
        in_a_file("", |path| {
            let mut table = CsvWriter::create(path, &["f64", "f32", "text"]).unwrap();
            table.row(&[Cell::F64(500_000.0), Cell::F32(-3.0), Cell::Text("7.0")]);
            table.row(&[Cell::F64(20.0), Cell::F32(0.0), Cell::Text(".0")]);
            table.row(&[Cell::F64(1e20), Cell::F32(10.05), Cell::Empty]);
            table.flush().unwrap();
            let text = fs::read_to_string(path).unwrap();
            assert_eq!(text, "f64,f32,text\n500000,-3,7.0\n20,0,.0\n1e20,10.05,\n");
        });
    }

    #[test]
    fn a_table_with_other_columns_is_not_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.csv");
        let length = CsvWriter::create(&path, &["step", "return"]).unwrap().flush().unwrap();
        for header in [&["step"][..], &["step", "loss"], &["step", "return", "loss"]] {
            let error = CsvWriter::open_at(&path, length, header).unwrap_err().to_string();
            assert!(
                error.contains("line 1: the columns are not those that this run writes"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_buffer_is_reused() {
        in_a_file("", |path| {
            let mut table = CsvWriter::create(path, &["a", "b"]).unwrap();
            table.row(&[Cell::F64(0.123), Cell::Empty]).flush().unwrap();
            let capacity = table.buffer.capacity();
            for _ in 0..100 {
                table.row(&[Cell::F64(0.456), Cell::Empty]).flush().unwrap();
            }
            assert_eq!(table.buffer.capacity(), capacity);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_before_training() {
        let error = CsvWriter::create("/dev/full", &["step"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write /dev/full: no space left on device; what was written before is intact"
        );
    }

    #[test]
    fn a_file_shorter_than_its_checkpoint_says_is_refused() {
        in_a_file("step\n1\n", |path| {
            let error = CsvWriter::open_at(path, 99, &["step"]).unwrap_err().to_string();
            assert!(error.contains("is truncated: it holds 7 of 99 bytes"), "{error}");
            assert_eq!(fs::read_to_string(path).unwrap(), "step\n1\n");
        });
    }

    #[test]
    fn a_fault_is_named_with_file_and_line() {
        let cases = [
            (
                "a,b\n\"1\n1\",2\n3\n",
                "line 4: the row has 1 fields and the header has 2",
            ),
            ("a\n\"b\n", "line 2: a quote is opened and not closed"),
            ("a\n\"b\"c\n", "line 2: a comma is missing after a closing quote"),
            ("", "line 1: there is no header"),
        ];
        for (content, ending) in cases {
            let error = in_a_file(content, |path| read_csv(path).unwrap_err().to_string());
            assert!(error.ends_with(ending), "{error}");
            assert!(error.contains("table.csv"), "{error}");
        }
        let table = in_a_file("a\r\n1\r\nx\r\n", |path| read_csv(path).unwrap());
        let error = table.numbers("a").unwrap_err().to_string();
        assert!(error.ends_with("line 3: 'x' in column 'a' is not a number"), "{error}");
    }
}
