//! Standard output that may go away: a reader that has seen enough (`epgt tasks | head -1`) is no fault, a full disk is
//! one that can be told in a sentence.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Mutex;

use epgt_report::text;
use epgt_report::text_table::TextTable;
use epgt_settings::clean;
pub use epgt_train::artifact::reason;

use crate::parallel::lock;

/// Writes a text to standard output.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write the output: {}", reason(&error)))
        }
        _ => Ok(()),
    }
}

/// The columns that a line on standard output may have: those of its terminal, or what COLUMNS says. Elsewhere, in a
/// file or a pipe, a row is a line, however wide, so that other programs can take it apart.
pub fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    said.or_else(of_terminal).filter(|columns| *columns > 0)
}

/// A table for standard output, no wider than its terminal.
pub fn table(table: &TextTable) -> String {
    match columns() {
        Some(columns) => table.fitted(columns),
        None => table.plain(),
    }
}

/// The same, two columns to the right.
pub fn indented(table: &TextTable) -> String {
    let text = match columns() {
        Some(columns) => table.fitted(columns.saturating_sub(2)),
        None => table.plain(),
    };
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Sentences for standard output: a line that is wider than the terminal is broken between words and keeps its
/// indentation.
pub fn filled(text: &str) -> String {
    match columns() {
        Some(columns) => text::filled(text, columns),
        None => text.to_string(),
    }
}

/// An error as it can be shown, whatever is quoted in it: without control characters, and no line longer than anybody
/// reads.
pub fn fit(text: &str) -> String {
    const LONGEST: usize = 3000;
    let lines: Vec<String> = text.lines().map(|line| clean(line, LONGEST)).collect();
    lines.join("\n")
}

/// The sentence of an error.
pub fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Writes a line to standard error; nothing is left to be told if that fails.
pub fn note(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Lines that were written while a live display was on the screen, below it.
static INTERJECTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Writes a line to standard error at once, whatever display is there.
pub fn interject(line: &str) {
    let mut lines = lock(&INTERJECTED);
    // At a terminal it takes the place of what Ctrl-C has left there.
    let start = if std::io::stderr().is_terminal() { "\r" } else { "" };
    note(&format!("{start}{line}"));
    lines.push(line.to_string());
}

/// The lines that were written below a live display since it was last drawn: they are on the screen, and move above it.
pub fn take_interjected() -> Vec<String> {
    std::mem::take(&mut *lock(&INTERJECTED))
}

/// Rewrites the current line of a terminal; shows nothing elsewhere.
pub fn live_line(text: &str) {
    let mut err = std::io::stderr().lock();
    if err.is_terminal() {
        let _ = err
            .write_all(format!("\r\x1b[K{text}").as_bytes())
            .and_then(|()| err.flush());
    }
}
