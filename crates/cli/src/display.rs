//! Live progress on stderr: one line per run that is rewritten in place, or plain lines now and then where output is
//! not a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use epgt_train::{Config, Progress};

use crate::explain::numbers::short as short_value;
use crate::output;

/// Between two plain lines of one run.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Members of a population whose scores are shown.
const MOST_MEMBERS: usize = 8;

/// Values of a scheduled hyperparameter that are listed.
const MOST_VALUES: usize = 9;

/// Columns and rows of a terminal that does not tell.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Shows how runs go.
pub struct Display {
    mode: Mode,
    /// What the line of each run begins with.
    prefixes: Vec<String>,
    /// The last line of each run that goes on.
    lines: Vec<Option<String>>,
    /// Whether a run's last line has been shown.
    finished: Vec<bool>,
    /// When each run last had a plain line.
    shown: Vec<Instant>,
    /// Lines of the live display that are on the screen.
    drawn: usize,
    /// Whether the scheduler explores and learns, so that epsilon and memory mean something.
    learns: bool,
}

#[derive(PartialEq)]
enum Mode {
    Quiet,
    Plain,
    Live,
}

impl Display {
    /// A display for runs in these directories, all but for their seed of this configuration.
    pub fn new(quiet: bool, directories: &[String], config: &Config) -> Self {
        let mode = match quiet {
            true => Mode::Quiet,
            false if std::io::stderr().is_terminal() => Mode::Live,
            false => Mode::Plain,
        };
        Self {
            mode,
            prefixes: prefixes(directories),
            lines: vec![None; directories.len()],
            finished: vec![false; directories.len()],
            shown: vec![Instant::now(); directories.len()],
            drawn: 0,
            learns: config.scheduler.explores(),
        }
    }

    /// Says once what is about to happen.
    pub fn announce(&self, config: &Config) {
        if self.mode == Mode::Quiet {
            return;
        }
        let run = &config.run;
        let space = config.hyper_space().map(|(space, _)| space).unwrap_or_default();
        let size = space.len();
        let axes = space.axes().iter().zip(&config.tune);
        let tuned = axes.map(|(axis, (name, grid))| tuned(name, &axis.values, grid));
        let scheduled = match &config.scheduler {
            scheduler if scheduler.is_fixed() => ".".to_string(),
            scheduler if scheduler.is_rule() => format!(": {}.", tuned.collect::<Vec<_>>().join(", ")),
            _ => format!(": {}; |A| = {size}.", tuned.collect::<Vec<_>>().join(", ")),
        };
        let each = if config.scheduler.population().is_some() {
            " for each member"
        } else {
            ""
        };
        let schedules = match config.schedule_sentence() {
            sentence if sentence.is_empty() => sentence,
            sentence => format!("\n{sentence}"),
        };
        output::note(&format!(
            "Training {} with {}, {} environments, {}{each}.\nScheduler {}{scheduled}{schedules}",
            run.task,
            run.algo.name(),
            run.n_envs,
            steps(config),
            run.scheduler.name(),
        ));
    }

    /// Takes the progress of run `i`. What is to be told once is told, progress or not.
    pub fn update(&mut self, i: usize, progress: &Progress) {
        let finished = progress.steps >= progress.total_steps && progress.evaluating.is_none();
        let notes = progress.notes.iter().map(|note| format!("{}{note}", self.prefixes[i]));
        let mut above: Vec<String> = notes.collect();
        if self.mode != Mode::Live {
            above.drain(..).for_each(|line| output::note(&line));
        }
        if self.mode == Mode::Quiet || self.finished[i] {
            above.iter().for_each(|line| output::note(line));
            return;
        }
        self.finished[i] = finished;
        if self.mode == Mode::Plain {
            if finished || self.shown[i].elapsed() >= PLAIN_EVERY {
                self.shown[i] = Instant::now();
                output::note(&self.line(i, progress, usize::MAX));
            }
            return;
        }
        let (columns, rows) = terminal_size();
        // A line that fills its row makes some terminals begin another.
        let line = self.line(i, progress, columns - 1);
        self.lines[i] = match finished {
            true => {
                above.push(line);
                None
            }
            false => Some(line),
        };
        self.redraw(above, rows - 1);
    }

    /// One line of at most `width` characters for run `i`: the most important parts first.
    fn line(&self, i: usize, progress: &Progress, width: usize) -> String {
        let mut text = self.prefixes[i].clone();
        for (i, part) in parts(progress, self.learns).into_iter().enumerate() {
            let gap = if i > 0 { "  " } else { "" };
            if text.len() + gap.len() + part.len() > width {
                break;
            }
            text.push_str(gap);
            text.push_str(&part);
        }
        text
    }

    /// Rewrites the lines of the runs that go on, as many as the terminal has `rows` for, below lines that stay.
    fn redraw(&mut self, above: Vec<String>, rows: usize) {
        let live: Vec<&String> = self.lines.iter().flatten().take(rows).collect();
        let interjected = output::take_interjected();
        let mut text = match self.drawn + interjected.len() {
            0 => "\r".to_string(),
            lines => format!("\x1b[{lines}A\r"),
        };
        for line in interjected.iter().chain(&above).chain(live.iter().copied()) {
            text.push_str(line);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J");
        self.drawn = live.len();
        // A terminal that is gone must not stop the training.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// A scheduled hyperparameter with its values, or only how they were said where they are many.
fn tuned(name: &str, values: &[f64], grid: &str) -> String {
    if values.len() > MOST_VALUES {
        return format!("{name} ({grid}: {} values)", values.len());
    }
    let shown: Vec<String> = values.iter().map(|&value| short_value(value)).collect();
    // A list that was said as it is needs no second telling.
    let told = match grid.starts_with(char::is_alphabetic) {
        true => format!(" ({grid})"),
        false => String::new(),
    };
    format!("{name} {}{told}", shown.join(", "))
}

/// The steps of the run, and why they are fewer than was asked for where they are.
fn steps(config: &Config) -> String {
    let (asked, played) = (config.run.steps, config.total_steps());
    match played < asked {
        false => format!("{asked} steps"),
        true => format!(
            "{played} of {asked} steps: whole rollouts of {} x {}",
            config.run.n_envs,
            config.method.n_steps()
        ),
    }
}

/// The last part of each directory, all of one width; nothing where there is only one run.
fn prefixes(directories: &[String]) -> Vec<String> {
    let names: Vec<&str> = directories
        .iter()
        .map(|path| path.rsplit('/').next().unwrap_or(path))
        .collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    match names.len() {
        1 => vec![String::new()],
        _ => names.iter().map(|name| format!("{name:width$}  ")).collect(),
    }
}

/// What is told of a run, the most important first.
fn parts(progress: &Progress, learns: bool) -> Vec<String> {
    let share = 100.0 * progress.steps as f64 / progress.total_steps.max(1) as f64;
    let mut parts = vec![
        format!("{:3.0}%", share.floor()),
        format!("{} steps", short(progress.steps as f64)),
        format!("{}/s", short(progress.steps_per_second)),
    ];
    if let Some((ended, episodes)) = progress.evaluating {
        parts.insert(1, format!("evaluating {ended}/{episodes}"));
    }
    if progress.steps < progress.total_steps {
        parts.push(format!("{} left", duration(progress.seconds_left)));
    }
    let mean = progress
        .mean_return
        .map_or("-".to_string(), |mean| format!("{mean:.1}"));
    parts.push(format!("return {mean}"));
    parts.extend(progress.human_normalised.map(|share| format!("human {share:.2}")));
    parts.extend(progress.best_evaluation.map(|best| format!("best {best:.1}")));
    let values = progress.hyperparameters.iter();
    parts.extend(values.map(|(name, value)| format!("{name} {}", setting(*value))));
    if !progress.members.is_empty() {
        let shown = progress.members.iter().take(MOST_MEMBERS);
        let scores: Vec<String> = shown
            .map(|score| score.map_or("-".to_string(), |score| format!("{score:.1}")))
            .collect();
        let more = if progress.members.len() > MOST_MEMBERS {
            " .."
        } else {
            ""
        };
        parts.push(format!("members {}{more}", scores.join(" ")));
    }
    if learns {
        parts.push(format!("epsilon {:.2}", progress.epsilon));
        parts.push(format!("memory {}", progress.memory));
    }
    parts
}

/// A hyperparameter's value: whole numbers and those near 1 as they are, all others with a fixed number of digits, so
/// that lines keep their width.
fn setting(x: f64) -> String {
    match x.fract() == 0.0 && x.abs() < 1e9 {
        true => format!("{x:.0}"),
        false if (0.01..1000.0).contains(&x.abs()) => short_value(x),
        false => format!("{x:.3e}"),
    }
}

fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{:.2}M", x / 1e6),
        x if x >= 1e3 => format!("{:.0}k", x / 1e3),
        x => format!("{x:.0}"),
    }
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    match seconds as u64 {
        s if s >= 3600 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        s if s >= 60 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{s}s"),
    }
}

/// Columns and rows of the terminal behind stderr, at least 2 of each.
pub fn terminal_size() -> (usize, usize) {
    let (columns, rows) = match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
        None => USUAL_SIZE,
    };
    (columns.max(2), rows.max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(directories: &[&str]) -> Display {
        let directories: Vec<String> = directories.iter().map(|name| name.to_string()).collect();
        let config = Config::lay(&[]).unwrap();
        Display::new(true, &directories, &config)
    }

    fn progress() -> Progress {
        Progress {
            steps: 50_000,
            total_steps: 200_000,
            steps_per_second: 312_345.0,
            seconds_left: 75.0,
            mean_return: Some(123.45),
            human_normalised: None,
            best_evaluation: None,
            hyperparameters: vec![("learning_rate".to_string(), 7e-4)],
            epsilon: 0.75,
            memory: 42,
            members: Vec::new(),
            evaluating: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn an_evaluation_shows_how_far_it_is() {
        let mut progress = progress();
        progress.evaluating = Some((3, 10));
        assert!(
            display(&["runs/a"])
                .line(0, &progress, 200)
                .starts_with(" 25%  evaluating 3/10  50k steps")
        );
    }

    #[test]
    fn a_line_tells_steps_speed_return_hyperparameters_and_time_left() {
        assert_eq!(
            display(&["runs/a"]).line(0, &progress(), 200),
            " 25%  50k steps  312k/s  1m15s left  return 123.5  learning_rate 7.000e-4  epsilon 0.75  memory 42"
        );
    }

    #[test]
    fn whole_numbers_are_shown_as_such_and_small_rates_by_their_exponent() {
        let shown = [128.0, 1.0, 0.0, -3.0, 7e-4, 0.95, 2.5, 1e12].map(setting);
        assert_eq!(shown, ["128", "1", "0", "-3", "7.000e-4", "0.95", "2.5", "1.000e12"]);
    }

    #[test]
    fn what_is_scheduled_is_told_by_its_values_or_where_they_are_many_by_how_they_were_said() {
        assert_eq!(
            tuned("learning_rate", &[7e-4 / 3.0, 3.5e-4, 7e-4, 1.4e-3, 2.1e-3], "paper:7"),
            "learning_rate 2.333e-4, 3.5e-4, 7e-4, 1.4e-3, 2.1e-3 (paper:7)"
        );
        assert_eq!(
            tuned("ent_coef", &[0.0, 0.01, 0.02], "0:0.01:0.02"),
            "ent_coef 0, 0.01, 0.02"
        );
        assert_eq!(tuned("ent_coef", &[1e-3, 0.02], "1e-3:2e-2"), "ent_coef 1e-3, 0.02");
        let many: Vec<f64> = (0..15).map(f64::from).collect();
        assert_eq!(
            tuned("vf_coef", &many, "uniform:0..14:15"),
            "vf_coef (uniform:0..14:15: 15 values)"
        );
    }

    #[test]
    fn steps_that_no_whole_rollout_fits_into_are_told() {
        let said = |asked: &str| {
            let settings = [
                ("task", "Pendulum-v1"),
                ("algo", "ppo"),
                ("n_envs", "1"),
                ("n_steps", "2048"),
                ("steps", asked),
            ];
            let list = settings.map(|(key, value)| epgt_train::Assignment::new(key, value));
            steps(&Config::build(&list).unwrap())
        };
        assert_eq!(said("10000"), "8192 of 10000 steps: whole rollouts of 1 x 2048");
        assert_eq!(said("8192"), "8192 steps");
    }

    #[test]
    fn a_population_shows_its_members_scores() {
        let mut progress = progress();
        progress.members = vec![Some(12.34), None, Some(-5.0)];
        assert_eq!(parts(&progress, false).last().unwrap(), "members 12.3 - -5.0");
    }

    #[test]
    fn a_narrow_terminal_gets_the_most_important_parts() {
        let display = display(&["runs/seed-9", "runs/seed-10"]);
        assert_eq!(display.line(0, &progress(), 40), "seed-9    25%  50k steps  312k/s");
    }

    #[test]
    fn a_run_that_has_not_ended_is_never_at_hundred_percent() {
        let mut progress = progress();
        progress.steps = 199_999;
        assert_eq!(parts(&progress, true)[0], " 99%");
    }
}
