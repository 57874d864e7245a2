//! How far an experiment has come, on stderr: one line that is rewritten in place, or one plain line per finished run where
//! stderr is not a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::output;

/// Between two looks of the live line.
const LIVE_EVERY: Duration = Duration::from_millis(100);

/// Shows how many runs are done and how long the others will take.
pub struct Progress {
    mode: Mode,
    /// Runs of the experiment, and those that were done before.
    all: usize,
    done_before: usize,
    /// The share of each run of this invocation that is done.
    shares: Vec<f64>,
    started: Instant,
    drawn: Option<Instant>,
}

#[derive(PartialEq)]
enum Mode {
    Quiet,
    Plain,
    Live,
}

impl Progress {
    /// A display for an experiment of `all` runs, of which `to_run` are still to be made.
    pub fn new(quiet: bool, all: usize, to_run: usize) -> Self {
        let mode = match quiet {
            true => Mode::Quiet,
            false if std::io::stderr().is_terminal() => Mode::Live,
            false => Mode::Plain,
        };
        Self {
            mode,
            all,
            done_before: all - to_run,
            shares: vec![0.0; to_run],
            started: Instant::now(),
            drawn: None,
        }
    }

    /// Says once what is about to happen.
    pub fn announce(&self, description: &str, jobs: usize) {
        if self.mode != Mode::Quiet && !self.shares.is_empty() {
            let (to_run, before) = (self.shares.len(), self.done_before);
            output::note(&format!(
                "{description}: {to_run} runs to make, {before} done before, {jobs} at a time."
            ));
        }
    }

    /// Takes the share of run `i` that is done.
    pub fn update(&mut self, i: usize, share: f64) {
        self.shares[i] = share;
        if self.mode == Mode::Live && self.drawn.is_none_or(|drawn| drawn.elapsed() >= LIVE_EVERY) {
            self.drawn = Some(Instant::now());
            self.write(&format!("\r\x1b[2K{}", self.line()));
        }
    }

    /// Takes the end of run `i`.
    pub fn finish(&mut self, i: usize, what: &str) {
        self.shares[i] = 1.0;
        match self.mode {
            Mode::Quiet => {}
            Mode::Plain => output::note(&format!("{}: {what}", self.line())),
            Mode::Live => self.write(&format!("\r\x1b[2K{}", self.line())),
        }
    }

    /// Clears the live line.
    pub fn close(&self) {
        if self.mode == Mode::Live {
            self.write("\r\x1b[2K");
        }
    }

    fn write(&self, text: &str) {
        // A terminal that is gone must not stop the runs.
        let _ = std::io::stderr().write_all(text.as_bytes());
        let _ = std::io::stderr().flush();
    }

    fn line(&self) -> String {
        let done = self.done_before + self.shares.iter().filter(|share| **share >= 1.0).count();
        let share = self.shares.iter().sum::<f64>() / self.shares.len() as f64;
        let left = time_left(self.started.elapsed().as_secs_f64(), share);
        format!("{done} of {} runs done, {left}", self.all)
    }
}

/// How long the rest takes at the pace so far.
fn time_left(elapsed: f64, share: f64) -> String {
    if share <= 0.0 {
        return "time left unknown".to_string();
    }
    match (elapsed * (1.0 - share) / share).ceil() as u64 {
        s if s >= 3600 => format!("{}h{:02}m left", s / 3600, s / 60 % 60),
        s if s >= 60 => format!("{}m{:02}s left", s / 60, s % 60),
        s => format!("{s}s left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_before_count_as_done_but_not_for_the_pace() {
        let mut progress = Progress::new(true, 10, 2);
        progress.finish(0, "");
        assert!(progress.line().starts_with("9 of 10 runs done, "));
        assert_eq!(time_left(10.0, 0.25), "30s left");
        assert_eq!(time_left(100.0, 0.01), "2h45m left");
        assert_eq!(time_left(1.0, 0.0), "time left unknown");
    }
}
