//! What the runs of an experiment say: one table per task, and the claim it bears.

use std::collections::BTreeSet;
use std::fmt::Write;

use epgt_report::numbers::hundredths as number;
use epgt_report::statistics::{RESAMPLES, bootstrap_interval, interquartile_mean, mean, median, standard_deviation};
use epgt_report::text::{filled, markdown};
use epgt_report::text_table::TextTable;

use crate::comparison::Summary;
use crate::filter::Filter;
use crate::measure::last_episodes;
use crate::plan::{Method, Plan, Statistic};
use crate::rows::Row;
use crate::verdict::{Contender, list, of_experiment};

/// For whom a report is laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Style {
    /// For a terminal of so many columns, or for a file or a pipe, where a row is a line however wide.
    Plain(Option<usize>),
    /// For a document.
    Markdown,
}

impl Style {
    /// A table.
    pub(crate) fn table(self, table: &TextTable) -> String {
        match self {
            Self::Plain(Some(columns)) => table.fitted(columns),
            Self::Plain(None) => table.plain(),
            Self::Markdown => table.markdown(),
        }
    }

    /// Sentences of the program's own.
    pub(crate) fn filled(self, text: &str) -> String {
        match self {
            Self::Plain(Some(columns)) => filled(text, columns),
            Self::Plain(None) | Self::Markdown => text.to_string(),
        }
    }

    /// Sentences with names that come from the experiment's file.
    fn words(self, text: &str) -> String {
        match self {
            Self::Plain(_) => self.filled(text),
            Self::Markdown => markdown(text),
        }
    }
}

/// What one method reached on one task, with what an experiment's table says beside the scores.
struct Entry<'a> {
    summary: Summary<'a>,
    group: Option<&'a str>,
    /// All seeds of the experiment are among the scores.
    complete: bool,
    /// What the methods are ordered by: the mean or the median.
    first: f64,
    aucs: Vec<f64>,
    f_statistics: Vec<f64>,
    /// Steps to the threshold; those of the whole run where it was not reached.
    reached: Vec<f64>,
    /// Runs that reached it.
    reaching: usize,
    /// Environment steps that one seed has cost.
    cost: f64,
}

/// Tasks and methods, by their numbers in the plan, of which at least one run has begun.
pub type Begun = BTreeSet<(usize, usize)>;

fn entries<'a>(plan: &'a Plan, rows: &[Row], task: usize, methods: &[usize]) -> Vec<Entry<'a>> {
    let entry = |&index: &usize| {
        let method: &'a Method = &plan.methods[index];
        let own = || rows.iter().filter(move |row| (row.task, row.method) == (task, index));
        let scores: Vec<f64> = own().filter_map(|row| row.score(plan.score)).collect();
        Entry {
            group: method.group.as_deref(),
            complete: scores.len() as u64 == plan.seeds,
            first: match plan.statistic {
                Statistic::Mean => mean(&scores),
                Statistic::Median => median(&scores),
            },
            aucs: own().filter_map(|row| row.auc).collect(),
            f_statistics: own().filter_map(|row| row.f_statistic).collect(),
            reached: own()
                .map(|row| row.reached.unwrap_or(row.result.steps as f64))
                .collect(),
            reaching: own().filter(|row| row.reached.is_some()).count(),
            cost: mean(&own().map(|row| row.steps_in_all() as f64).collect::<Vec<_>>()),
            summary: Summary::of(&method.name, index, scores),
        }
    };
    methods.iter().map(entry).collect()
}

/// The tables of the tasks and methods that are meant, each with the sentence that it bears. What no run has begun of
/// is only named.
pub fn report(plan: &Plan, rows: &[Row], begun: &Begun, filter: &Filter, style: Style) -> String {
    let mut text = String::new();
    if style != Style::Markdown && plan.scale != 1.0 {
        let _ = writeln!(text, "{}\n", plan.title());
    }
    let mut gap = "";
    let lay_out = |table: &TextTable| style.table(table);
    let words = |sentence: &str| style.words(sentence);
    let mut absent: Vec<&str> = Vec::new();
    for (index, task) in plan.tasks.iter().enumerate() {
        let meant = (0..plan.methods.len()).filter(|&method| filter.takes_row(index, method));
        let (shown, missing): (Vec<usize>, Vec<usize>) = meant.partition(|&method| begun.contains(&(index, method)));
        if shown.is_empty() {
            absent.extend((!missing.is_empty()).then_some(task.as_str()));
            continue;
        }
        let entries = entries(plan, rows, index, &shown);
        let _ = match style {
            Style::Plain(_) => writeln!(
                text,
                "{gap}{}\n",
                words(&format!("{task}, {}", score(plan, rows, index)))
            ),
            Style::Markdown => writeln!(text, "{gap}## {}\n", words(task)),
        };
        gap = "\n";
        text.push_str(&lay_out(&comparison(plan, &entries)));
        let _ = writeln!(text, "\n{}", words(&verdict(plan.statistic, &entries)));
        if !missing.is_empty() {
            let names: Vec<&str> = missing
                .iter()
                .map(|&method| plan.methods[method].name.as_str())
                .collect();
            let _ = writeln!(text, "{}", words(&format!("No run has begun of {}.", list(&names))));
        }
        // A group is compared as a whole.
        let whole = missing.iter().all(|&method| plan.methods[method].group.is_none());
        if whole && let Some(table) = groups(plan, &entries, plan.zeros[index]) {
            let _ = write!(text, "\n{}", lay_out(&table));
        }
    }
    if !absent.is_empty() {
        let _ = writeln!(
            text,
            "{gap}{}",
            words(&format!("No run has begun on {}.", list(&absent)))
        );
    }
    text
}

/// The score's name, and of how many episodes it is where a run has had fewer than it asks for.
fn score(plan: &Plan, rows: &[Row], task: usize) -> String {
    let own = || {
        rows.iter()
            .filter(|row| row.task == task)
            .map(|row| row.result.episodes)
    };
    let is_short = plan.score.is_of_last_episodes() && own().any(|episodes| episodes < 100);
    match is_short {
        true => format!("{} ({})", plan.score.name(), last_episodes(own())),
        false => plan.score.name().to_string(),
    }
}

fn comparison(plan: &Plan, entries: &[Entry<'_>]) -> TextTable {
    let steps_to = plan.threshold.map(|threshold| format!("steps to {threshold}"));
    // The mean stays with its deviation and interval, wherever they stand.
    let mut header = match plan.statistic {
        Statistic::Mean => vec!["method", "seeds", "mean", "sd", "95% interval", "median"],
        Statistic::Median => vec!["method", "seeds", "median", "mean", "sd", "95% interval of the mean"],
    };
    header.extend(["IQM", "best", "AUC", "AUC 95% interval", "F"]);
    if let Some(steps_to) = &steps_to {
        header.extend([steps_to, "95% interval", "runs there"]);
    }
    // Where a method trains several members, what it cost belongs beside what it reached.
    let costs_differ = entries.iter().any(|entry| entry.cost > 1.5 * entries[0].cost);
    if costs_differ {
        header.push("steps in all");
    }
    let mut table = TextTable::new(&header);
    for entry in entries {
        let scores = &entry.summary.scores;
        let seeds = match entry.complete {
            true => scores.len().to_string(),
            false => format!("{} of {}", scores.len(), plan.seeds),
        };
        let mut fields = vec![
            entry.summary.name.to_string(),
            seeds,
            number(entry.summary.mean),
            number(standard_deviation(scores)),
            format!("{:.2}", entry.summary.interval),
        ];
        let place = match plan.statistic {
            Statistic::Mean => fields.len(),
            Statistic::Median => 2,
        };
        fields.insert(place, number(median(scores)));
        fields.extend([
            number(interquartile_mean(scores)),
            number(scores.iter().copied().fold(f64::NAN, f64::max)),
            number(mean(&entry.aucs)),
            format!("{:.2}", bootstrap_interval(&entry.aucs, RESAMPLES, 0)),
            number(mean(&entry.f_statistics)),
        ]);
        if steps_to.is_some() {
            // Runs that never came there count with all their steps, so that the mean is too small rather than too
            // large.
            let at_least = if entry.reaching < entry.reached.len() { "> " } else { "" };
            let interval = bootstrap_interval(&entry.reached, RESAMPLES, 0);
            fields.push(format!("{at_least}{:.0}", mean(&entry.reached)));
            fields.push(format!("{interval:.0}"));
            fields.push(format!("{} of {}", entry.reaching, entry.reached.len()));
        }
        if costs_differ {
            fields.push(format!("{:.0}", entry.cost));
        }
        table.row(&fields.iter().map(String::as_str).collect::<Vec<_>>());
    }
    table
}

/// Each group's mean over its methods, as a share of the reference group's best method: with a group of starts that are
/// off by some factor, the tuning-free score (1: as good as the best start, whatever the start).
fn groups(plan: &Plan, entries: &[Entry<'_>], zero: f64) -> Option<TextTable> {
    let first = plan.reference.first()?;
    let is_reference = |group: &str| plan.reference.iter().any(|reference| reference == group);
    let in_reference = entries.iter().filter(|entry| entry.group.is_some_and(is_reference));
    let best = in_reference.map(|entry| entry.summary.mean).fold(f64::NAN, f64::max);
    let best = if best > zero { best - zero } else { f64::NAN };
    let share = match zero == 0.0 {
        true => format!("mean / best {first}"),
        false => format!("mean / best {first}, above {}", number(zero)),
    };
    let mut table = TextTable::new(&["group", "methods", &share, "95% interval"]);
    let mut names: Vec<&str> = Vec::new();
    for name in entries.iter().filter_map(|entry| entry.group) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let members: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.group == Some(name)).collect();
        // One value per seed, over all methods of the group; a missing run leaves nothing to say.
        let of_seed = |seed: usize| {
            mean(
                &members
                    .iter()
                    .map(|member| (member.summary.scores[seed] - zero) / best)
                    .collect::<Vec<_>>(),
            )
        };
        let shares: Vec<f64> = match members.iter().all(|member| member.complete) {
            true => (0..plan.seeds as usize).map(of_seed).collect(),
            false => Vec::new(),
        };
        let interval = bootstrap_interval(&shares, RESAMPLES, 0);
        table.row(&[
            name,
            &members.len().to_string(),
            &number(mean(&shares)),
            &format!("{:.2}", interval),
        ]);
    }
    Some(table)
}

/// Which method is ahead, and whether that can be called better.
fn verdict(statistic: Statistic, entries: &[Entry<'_>]) -> String {
    let contender = |entry: &'_ Entry<'_>| Contender {
        name: entry.summary.name.to_string(),
        height: entry.first,
        interval: entry.summary.interval,
        runs: entry.summary.scores.len(),
        complete: entry.complete,
    };
    of_experiment(statistic, &entries.iter().map(contender).collect::<Vec<_>>())
}
