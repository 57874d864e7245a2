//! Standard output that may go away: a reader that has seen enough (`epgt tasks | head -1`) is no fault, a full disk is one
//! that can be told in a sentence.

use std::io::{ErrorKind, Write};

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

/// Writes a line to standard error; nothing is left to be told if that fails.
pub fn note(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// The system's words in mid-sentence: no capital, no error number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
