//! Live progress on stderr: one line per run that is rewritten in place, or plain lines now and then where output is not a
//! terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use epgt_train::{Config, Progress};

/// Between two plain lines of one run.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows how runs go.
pub struct Display {
    mode: Mode,
    names: Vec<String>,
    /// The last line of each run that has begun.
    lines: Vec<Option<String>>,
    /// When each run last had a plain line.
    shown: Vec<Instant>,
    /// Lines of the live display that are on the screen.
    drawn: usize,
}

#[derive(PartialEq)]
enum Mode {
    Quiet,
    Plain,
    Live,
}

impl Display {
    /// A display for runs with these names.
    pub fn new(quiet: bool, names: &[String]) -> Self {
        let mode = match quiet {
            true => Mode::Quiet,
            false if std::io::stderr().is_terminal() => Mode::Live,
            false => Mode::Plain,
        };
        Self {
            mode,
            names: names.to_vec(),
            lines: vec![None; names.len()],
            shown: vec![Instant::now(); names.len()],
            drawn: 0,
        }
    }

    /// Says once what is about to happen.
    pub fn announce(&self, config: &Config) {
        if self.mode == Mode::Quiet {
            return;
        }
        let run = &config.run;
        let size = config.hyper_space().map_or(0, |(space, _)| space.len());
        let tuned: Vec<String> = config
            .tune
            .iter()
            .map(|(name, grid)| format!("{name} ({grid})"))
            .collect();
        eprintln!(
            "Training {} with {}, {} environments, {} steps. Scheduler {}: {}, |A| = {size}.",
            run.task,
            run.algo.name(),
            run.n_envs,
            run.steps,
            run.scheduler.name(),
            tuned.join(", ")
        );
    }

    /// Takes the progress of run `i`.
    pub fn update(&mut self, i: usize, progress: &Progress<'_>) {
        let finished = progress.steps >= progress.total_steps;
        match self.mode {
            Mode::Quiet => {}
            Mode::Plain => {
                if finished || self.shown[i].elapsed() >= PLAIN_EVERY {
                    self.shown[i] = Instant::now();
                    eprintln!("{}{}", self.prefix(i), line(progress, usize::MAX));
                }
            }
            Mode::Live => {
                let width = terminal_width();
                let prefix = self.prefix(i);
                self.lines[i] = Some(format!(
                    "{prefix}{}",
                    line(progress, width.saturating_sub(prefix.len()))
                ));
                self.redraw();
            }
        }
    }

    /// Leaves the last state on the screen.
    pub fn close(&mut self) {
        self.drawn = 0;
    }

    /// The run's own part of its name where there are several.
    fn prefix(&self, i: usize) -> String {
        match self.names.len() {
            1 => String::new(),
            _ => format!("{} ", self.names[i].rsplit('/').next().unwrap_or(&self.names[i])),
        }
    }

    fn redraw(&mut self) {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        let lines: Vec<&String> = self.lines.iter().flatten().collect();
        for line in &lines {
            text.push_str("\x1b[2K");
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines.len();
        // A terminal that is gone must not stop the training.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// One line of at most `width` characters: the most important parts first.
fn line(progress: &Progress<'_>, width: usize) -> String {
    let share = 100.0 * progress.steps as f64 / progress.total_steps.max(1) as f64;
    let mut parts = vec![
        format!("{share:3.0}%"),
        format!("{} steps", short(progress.steps as f64)),
        format!("{}/s", short(progress.steps_per_second)),
        format!(
            "return {}",
            progress.mean_return.map_or("-".to_string(), |x| format!("{x:.1}"))
        ),
    ];
    parts.extend(progress.best_evaluation.map(|best| format!("best {best:.1}")));
    parts.extend(
        progress
            .hyperparameters
            .iter()
            .map(|(name, value)| format!("{name} {value:.3e}")),
    );
    parts.push(format!("epsilon {:.2}", progress.epsilon));
    parts.push(format!("memory {}", progress.memory));
    parts.push(format!("{} left", duration(progress.seconds_left)));
    let mut text = String::new();
    for part in parts {
        let more = if text.is_empty() { part } else { format!("  {part}") };
        if text.len() + more.len() > width {
            break;
        }
        text.push_str(&more);
    }
    text
}

fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{:.2}M", x / 1e6),
        x if x >= 1e3 => format!("{:.0}k", x / 1e3),
        x => format!("{x:.0}"),
    }
}

fn duration(seconds: f64) -> String {
    match seconds as u64 {
        s if s >= 3600 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        s if s >= 60 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{s}s"),
    }
}

/// The terminal's width; `COLUMNS` wins, and 100 is assumed where nothing is known.
fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress<'static> {
        Progress {
            steps: 50_000,
            total_steps: 200_000,
            steps_per_second: 312_345.0,
            seconds_left: 75.0,
            mean_return: Some(123.45),
            best_evaluation: None,
            hyperparameters: vec![("learning_rate", 7e-4)],
            epsilon: 0.75,
            memory: 42,
        }
    }

    #[test]
    fn a_line_tells_steps_speed_return_hyperparameters_and_time_left() {
        assert_eq!(
            line(&progress(), 200),
            " 25%  50k steps  312k/s  return 123.5  learning_rate 7.000e-4  epsilon 0.75  memory 42  1m15s left"
        );
    }

    #[test]
    fn a_narrow_terminal_gets_the_most_important_parts() {
        assert_eq!(line(&progress(), 40), " 25%  50k steps  312k/s  return 123.5");
    }
}
