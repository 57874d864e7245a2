//! How far an experiment has come, on stderr: one table that is rewritten in place, a row per task and method, or one
//! plain line per finished run where stderr is not a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use epgt_experiments::{Cell, End, Observer, Plan};
use epgt_report::numbers::hundredths as number;
use epgt_report::statistics::mean;
use epgt_report::text_table::TextTable;

use crate::display::{duration, terminal_size};
use crate::output;

/// Between two looks of the live table.
const LIVE_EVERY: Duration = Duration::from_millis(200);

/// Shows which runs are done, what they scored and how long the others will take.
pub struct Progress<'a> {
    plan: &'a Plan,
    mode: Mode,
    runs: Vec<RunOf>,
    /// Runs at a time.
    jobs: usize,
    drawn: Option<Instant>,
    /// Lines of the live table that are on the screen.
    lines: usize,
}

/// What is known of one run.
struct RunOf {
    task: usize,
    method: usize,
    seed: u64,
    steps: u64,
    share: f64,
    /// When this process began with it, and the share that was done by then.
    began: Option<(Instant, f64)>,
    /// Seconds that the whole of it takes, by what this process has seen.
    seconds: Option<f64>,
    mean_return: Option<f64>,
    score: Option<f64>,
    /// It is done, or nothing more will come of it.
    ended: bool,
    done: bool,
    /// It was done before this process came.
    before: bool,
}

#[derive(PartialEq)]
enum Mode {
    Quiet,
    Plain,
    Live,
}

impl<'a> Progress<'a> {
    /// A display for an experiment whose runs are still to be added.
    pub fn new(quiet: bool, plan: &'a Plan) -> Self {
        let mode = match quiet {
            true => Mode::Quiet,
            false if std::io::stderr().is_terminal() => Mode::Live,
            false => Mode::Plain,
        };
        Self {
            plan,
            mode,
            runs: Vec::new(),
            jobs: 1,
            drawn: None,
            lines: 0,
        }
    }

    /// Takes the end of run `i`.
    fn finish(&mut self, i: usize, done: bool, score: Option<f64>, how: &str) {
        let run = &mut self.runs[i];
        (run.ended, run.done, run.score) = (true, done, score);
        run.share = 1.0;
        let reached = match (done, score) {
            (true, Some(score)) => format!("{score:.2} "),
            (true, None) => "no score ".to_string(),
            (false, _) => String::new(),
        };
        if self.mode == Mode::Plain {
            let run = &self.runs[i];
            let (task, method) = (&self.plan.tasks[run.task], &self.plan.methods[run.method].name);
            output::note(&format!(
                "{}: {task}, {method}, seed {}: {reached}{how}",
                self.line(),
                run.seed
            ));
        }
        self.draw();
    }

    /// Removes the live table: what follows says it all.
    pub fn close(&mut self) {
        if self.mode == Mode::Live && self.lines > 0 {
            let below = output::take_interjected().len();
            self.write(&format!("\x1b[{}A\r\x1b[J", self.lines + below));
            self.lines = 0;
        }
    }

    fn draw(&mut self) {
        if self.mode != Mode::Live {
            return;
        }
        self.drawn = Some(Instant::now());
        let (columns, rows) = terminal_size();
        let lines = self.table(columns - 1, rows - 1);
        let interjected = output::take_interjected();
        let mut text = match self.lines + interjected.len() {
            0 => "\r".to_string(),
            lines => format!("\x1b[{lines}A\r"),
        };
        for line in interjected.iter().chain(&lines) {
            text.push_str(line);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J");
        self.lines = lines.len();
        self.write(&text);
    }

    fn write(&self, text: &str) {
        // A terminal that is gone must not stop the runs.
        let _ = std::io::stderr().write_all(text.as_bytes());
        let _ = std::io::stderr().flush();
    }

    /// The table in a terminal of this size: where it is too high, rows that are done go first.
    fn table(&self, columns: usize, rows: usize) -> Vec<String> {
        let mut table = TextTable::new(&["task", "method", "seeds", self.plan.score.name(), "return now", "left"]);
        let mut open = Vec::new();
        let mut count = 0;
        for (task, id) in self.plan.tasks.iter().enumerate() {
            for (method, of) in self.plan.methods.iter().enumerate() {
                let own: Vec<&RunOf> = self
                    .runs
                    .iter()
                    .filter(|run| (run.task, run.method) == (task, method))
                    .collect();
                if own.is_empty() {
                    continue;
                }
                let scores: Vec<f64> = own.iter().filter_map(|run| run.score).collect();
                let now: Vec<f64> = own
                    .iter()
                    .filter(|run| !run.ended)
                    .filter_map(|run| run.mean_return)
                    .collect();
                let is_open = own.iter().any(|run| !run.ended);
                let left = match (
                    is_open,
                    self.seconds_left(|run| (run.task, run.method) == (task, method)),
                ) {
                    (false, _) => "-".to_string(),
                    (true, Some(seconds)) => duration(seconds),
                    (true, None) => "?".to_string(),
                };
                table.row(&[
                    id,
                    &of.name,
                    &format!("{} of {}", own.iter().filter(|run| run.done).count(), own.len()),
                    &number(mean(&scores)),
                    &number(mean(&now)),
                    &left,
                ]);
                open.push(is_open);
                count += 1;
            }
        }
        let plain = table.plain();
        let all: Vec<&str> = plain.lines().collect();
        // Above the rows stand the header and its rule.
        let head = all.len() - count;
        let room = rows.saturating_sub(head + 1);
        let mut shown: Vec<usize> = (0..count).collect();
        shown.sort_by_key(|&row| !open[row]);
        shown.truncate(room);
        shown.sort_unstable();
        let cut = |line: &str| line.chars().take(columns).collect::<String>();
        let mut lines: Vec<String> = all[..head].iter().map(|line| cut(line)).collect();
        lines.extend(shown.iter().map(|&row| cut(all[head + row])));
        lines.push(cut(&format!("{}: {}", self.plan.title(), self.line())));
        lines
    }

    fn line(&self) -> String {
        let done = self.runs.iter().filter(|run| run.done).count();
        let left = match self.seconds_left(|_| true) {
            Some(seconds) => format!("{} left", duration(seconds.ceil())),
            None => "time left unknown".to_string(),
        };
        format!("{done} of {} runs done, {left}", self.runs.len())
    }

    /// Seconds until these runs are done if all jobs worked on them, at the pace of their method on their task so far,
    /// or, where none of these has been seen, at that of all runs.
    fn seconds_left(&self, whose: impl Fn(&RunOf) -> bool) -> Option<f64> {
        let seen = |runs: &mut dyn Iterator<Item = &RunOf>| {
            let (mut seconds, mut steps) = (0.0, 0.0);
            for (run, took) in runs.filter_map(|run| run.seconds.map(|took| (run, took))) {
                seconds += took;
                steps += run.steps as f64;
            }
            (steps > 0.0).then_some(seconds / steps)
        };
        let mut left = 0.0;
        for run in self.runs.iter().filter(|run| !run.ended && whose(run)) {
            let alike = |other: &&RunOf| (other.task, other.method) == (run.task, run.method);
            let per_step = seen(&mut self.runs.iter().filter(alike)).or_else(|| seen(&mut self.runs.iter()))?;
            left += (1.0 - run.share) * run.steps as f64 * per_step;
        }
        Some(left / self.jobs as f64)
    }
}

impl Observer for Progress<'_> {
    fn planned(&mut self, cell: &Cell, done: bool, score: Option<f64>) {
        self.runs.push(RunOf {
            task: cell.task,
            method: cell.method,
            seed: cell.config.run.seed,
            steps: cell.config.run.steps,
            share: if done { 1.0 } else { 0.0 },
            began: None,
            seconds: None,
            mean_return: None,
            score,
            ended: done,
            done,
            before: done,
        });
    }

    /// Says once what is about to happen.
    fn begins(&mut self, jobs: usize) {
        self.jobs = jobs;
        let before = self.runs.iter().filter(|run| run.before).count();
        let to_make = self.runs.len() - before;
        if self.mode != Mode::Quiet && to_make > 0 {
            output::note(&format!(
                "{}: {to_make} runs to make, {before} done before, {jobs} at a time.",
                self.plan.title()
            ));
        }
    }

    fn advanced(&mut self, i: usize, share: f64, mean_return: Option<f64>) {
        let run = &mut self.runs[i];
        let (began, before) = *run.began.get_or_insert((Instant::now(), share));
        run.share = share;
        run.mean_return = mean_return;
        if share > before {
            run.seconds = Some(began.elapsed().as_secs_f64() / (share - before));
        }
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= LIVE_EVERY) {
            self.draw();
        }
    }

    fn ended(&mut self, i: usize, end: &End, score: Option<f64>) {
        let (done, how) = match end {
            End::Finished(result) => (true, format!("in {:.1} s", result.wall_seconds)),
            End::Found(_) => (true, "by another process".to_string()),
            End::Failed(sentence) => (false, sentence.clone()),
            End::Elsewhere => (false, "skipped, another process is making it".to_string()),
            End::Stopped => return,
        };
        self.finish(i, done, score, &how);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "seeds = 2\n[settings]\nsteps = 1000\n[[task]]\ntask = \"CartPole-v1\"\n\
                        [[method]]\nname = \"fixed\"\n[[method]]\nname = \"epgt\"\n";

    fn plan() -> Plan {
        Plan::parse("test".to_string(), TEXT.to_string(), 0.5).unwrap()
    }

    fn progress(plan: &Plan) -> Progress<'_> {
        let mut progress = Progress::new(true, plan);
        for (i, cell) in plan.cells(Path::new("out")).iter().enumerate() {
            progress.planned(cell, i == 0, (i == 0).then_some(12.5));
        }
        progress
    }

    #[test]
    fn runs_of_before_count_as_done_but_not_for_the_pace() {
        let plan = plan();
        let mut progress = progress(&plan);
        assert_eq!(progress.line(), "1 of 4 runs done, time left unknown");
        progress.finish(1, true, Some(1.0), "");
        progress.runs[1].seconds = Some(10.0);
        assert_eq!(progress.line(), "2 of 4 runs done, 20s left");
        progress.jobs = 2;
        assert_eq!(progress.line(), "2 of 4 runs done, 10s left");
    }

    #[test]
    fn the_live_table_has_a_row_per_method_and_says_that_it_is_scaled() {
        let plan = plan();
        let mut progress = progress(&plan);
        progress.advanced(2, 0.0, Some(33.0));
        let lines = progress.table(200, 50);
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let rows = &lines[lines.len() - 3..];
        assert_eq!(
            words(&rows[0]),
            ["CartPole-v1", "fixed", "1", "of", "2", "12.50", "-", "?"]
        );
        assert_eq!(
            words(&rows[1]),
            ["CartPole-v1", "epgt", "0", "of", "2", "-", "33.00", "?"]
        );
        assert!(rows[2].starts_with("test (scaled: 0.5 times the steps): 1 of 4 runs done"));
    }

    #[test]
    fn a_low_terminal_keeps_the_rows_that_are_open() {
        let plan = plan();
        let mut progress = progress(&plan);
        progress.finish(1, true, Some(1.0), "");
        let lines = progress.table(30, 4);
        assert_eq!(lines.len(), 4);
        assert!(lines[2].contains("epgt") && lines.iter().all(|line| line.chars().count() <= 30));
    }
}
