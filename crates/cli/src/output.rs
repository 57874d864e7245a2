//! Standard output that may go away: a reader that has seen enough (`epgt tasks | head -1`) is no fault, a full disk is one
//! that can be told in a sentence.

use std::io::{ErrorKind, IsTerminal, Write};

use epgt_settings::clean;
pub use epgt_train::artifact::reason;

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

/// An error as it can be shown, whatever is quoted in it: without control characters, and no line longer than anybody reads.
pub fn fit(text: &str) -> String {
    const LONGEST: usize = 3000;
    let lines: Vec<String> = text.lines().map(|line| clean(line, LONGEST)).collect();
    lines.join("\n")
}

/// Writes a line to standard error; nothing is left to be told if that fails.
pub fn note(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
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

/// A task's id as one part of a path: `ALE/Pong-v5` would be two, and `gym:Pong-v5` none on some systems.
pub fn file_name(task: &str) -> String {
    task.replace([':', '/'], "-")
}
