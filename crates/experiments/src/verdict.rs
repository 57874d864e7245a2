//! Who is better, in words: the one place that puts a comparison into a sentence, so that pages, tables and experiments
//! claim no more than intervals bear.

use std::slice::from_ref;

use epgt_report::aggregate::probability_of_improvement;
use epgt_report::chart::Row;
use epgt_report::numbers::hundredths;
use epgt_report::statistics::Interval;

use crate::comparison::{Summary, digits, number, range};
use crate::plan::Statistic;

/// A bootstrap interval of fewer scores is too narrow to rest a claim on.
pub(crate) const LEAST_RUNS: usize = 5;

/// Whether a mean lies below the best one beyond what their intervals allow; one whose interval is not known does not.
fn is_clearly_below(other: Interval, best: Interval) -> bool {
    other.high < best.low
}

/// Of a task: who is best, and whether the intervals bear it. `ranked` has the highest mean first.
pub fn of_task(ranked: &[Summary<'_>]) -> String {
    let digits = digits(ranked.iter().map(|summary| summary.mean));
    let shown = |summary: &Summary<'_>| match summary.interval.is_known() {
        true => format!("{} {}", number(summary.mean, digits), range(summary.interval, digits)),
        false => number(summary.mean, digits),
    };
    match ranked {
        [] => "No run has finished with a score yet.".to_string(),
        [only] => format!(
            "{} reaches {} over {}.",
            only.name,
            shown(only),
            runs(only.scores.len())
        ),
        [best, next, rest @ ..] => {
            let fewest = ranked.iter().map(|summary| summary.scores.len()).min().unwrap_or(0);
            let reach = |other: &&Summary<'_>| !is_clearly_below(other.interval, best.interval);
            let close = [next].into_iter().chain(rest).filter(reach).count();
            if shown(best) == shown(next) {
                let level: Vec<&str> = ranked
                    .iter()
                    .filter(|s| shown(s) == shown(best))
                    .map(|s| s.name)
                    .collect();
                return format!("No winner: {} are level at {}.", level.join(", "), shown(best));
            }
            let p = probability_of_improvement(from_ref(&best.scores), from_ref(&next.scores));
            let first = format!("{} has the highest mean, {}", best.name, shown(best));
            match (fewest < LEAST_RUNS, close) {
                (true, _) => {
                    let is = if fewest == 1 { "is" } else { "are" };
                    let least = ranked.iter().filter(|summary| summary.scores.len() == fewest);
                    let whose = match least.clone().count() == ranked.len() {
                        true => "per method".to_string(),
                        false => format!(
                            "of {}",
                            least.map(|summary| summary.name).collect::<Vec<_>>().join(" and ")
                        ),
                    };
                    format!("{first}, but {} {whose} {is} too few to rest a claim on.", runs(fewest))
                }
                (false, 0) => format!(
                    "{} is best: {}. The next, {}, has {}; the intervals do not overlap, and a run of {} beats one of {} with \
                     probability {p:.2}.",
                    best.name,
                    shown(best),
                    next.name,
                    shown(next),
                    best.name,
                    next.name
                ),
                (false, close) => format!(
                    "No clear winner: {first}, but {} it; next is {} with {}.",
                    reaching(close),
                    next.name,
                    shown(next)
                ),
            }
        }
    }
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// One method of an experiment, on one task.
pub(crate) struct Contender {
    pub name: String,
    /// The mean or the median of its scores, by which methods are ordered.
    pub height: f64,
    /// That of the mean.
    pub interval: Interval,
    /// Its scores.
    pub runs: usize,
    /// All seeds of the experiment are among them.
    pub complete: bool,
}

/// Of a task of an experiment: which method is ahead, and whether that can be called better.
pub(crate) fn of_experiment(statistic: Statistic, contenders: &[Contender]) -> String {
    let comparable = contenders.iter().filter(|contender| !contender.height.is_nan());
    let Some(best) = comparable.max_by(|a, b| a.height.total_cmp(&b.height)) else {
        return "No method has a score.".to_string();
    };
    let tied: Vec<&str> = contenders
        .iter()
        .filter(|contender| contender.height == best.height)
        .map(|contender| contender.name.as_str())
        .collect();
    if tied.len() > 1 {
        return format!(
            "{} share the highest {}, {}: none is better.",
            list(&tied),
            statistic.name(),
            hundredths(best.height)
        );
    }
    let ahead = format!(
        "{} has the highest {}, {}",
        best.name,
        statistic.name(),
        hundredths(best.height)
    );
    let others = || contenders.iter().filter(|contender| !std::ptr::eq(*contender, best));
    if others().next().is_none() {
        return format!("{ahead}, and nothing to be compared with.");
    }
    if contenders.iter().any(|contender| !contender.complete) {
        return format!("{ahead}; no method is called better, since runs or scores are missing.");
    }
    if best.runs < LEAST_RUNS {
        return format!("{ahead}; no method is called better with fewer than {LEAST_RUNS} seeds.");
    }
    let clear = |other: &&Contender| is_clearly_below(other.interval, best.interval);
    let below: Vec<&str> = others().filter(clear).map(|other| other.name.as_str()).collect();
    let level: Vec<&str> = others()
        .filter(|other| !clear(other))
        .map(|other| other.name.as_str())
        .collect();
    match (below.is_empty(), level.is_empty()) {
        (_, true) => format!("{ahead}, and is better than every other: its interval overlaps none of theirs."),
        (true, _) => format!("{ahead}, but its interval overlaps all others: no method is shown to be better."),
        _ => format!(
            "{ahead}. It is better than {} (intervals do not overlap), but not shown to be better than {}.",
            list(&below),
            list(&level)
        ),
    }
}

/// Of all tasks together: `rows` have the highest interquartile mean first, `fewest` is the least number of runs that a
/// method has on a task.
pub(crate) fn of_suite(rows: &[Row], fewest: usize) -> String {
    let best = &rows[0];
    let few = fewest < LEAST_RUNS;
    let overlap = rows[1..]
        .iter()
        .filter(|row| !is_clearly_below(row.interval, best.interval))
        .count();
    let interval = match best.interval.is_known() {
        true => format!(" {}", range(best.interval, 2)),
        false => String::new(),
    };
    let first = format!(
        "{} has the highest interquartile mean, {}{interval}",
        best.name,
        number(best.mean, 2)
    );
    match (rows.len(), few, overlap) {
        (1, ..) => format!("{first}."),
        (_, true, _) => format!("{first}, but fewer than {LEAST_RUNS} runs per method and task rest no claim."),
        (_, _, 0) => format!("{first}, and no other interval reaches it."),
        (_, _, overlap) => format!("{first}, but {} it.", reaching(overlap)),
    }
}

/// "the interval of another reaches", or of several.
fn reaching(others: usize) -> String {
    match others {
        1 => "the interval of one other reaches".to_string(),
        others => format!("the intervals of {others} others reach"),
    }
}

/// Names in a sentence.
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_report::statistics::{bootstrap_interval, mean};

    fn told_of(all: &[(&'static str, &[f64])]) -> String {
        let summaries = all.iter().map(|(name, scores)| Summary::of(name, 0, scores.to_vec()));
        of_task(&summaries.collect::<Vec<_>>())
    }

    #[test]
    fn a_headline_claims_no_more_than_the_intervals_bear() {
        let (high, low) = ([90.0, 91.0, 92.0, 91.0, 90.5], [80.0, 81.0, 80.5, 81.5, 80.2]);
        let clear = told_of(&[("a", &high), ("b", &low)]);
        assert!(
            clear.starts_with("a is best: 90.90 [") && clear.contains("probability 1.00"),
            "{clear}"
        );
        let close = told_of(&[("a", &high), ("b", &[80.0, 95.0, 90.0, 91.0, 92.0])]);
        assert!(
            close.starts_with("No clear winner: a has the highest mean") && close.contains("one other"),
            "{close}"
        );
        let level = told_of(&[("a", &[500.0; 5]), ("b", &[500.0; 5]), ("c", &low)]);
        assert_eq!(level, "No winner: a, b are level at 500.0 [500.0, 500.0].");
        let few = told_of(&[("a", &high[..3]), ("b", &low[..3])]);
        assert!(few.contains("3 runs per method are too few"), "{few}");
        let uneven = told_of(&[("a", &high), ("b", &low[..1])]);
        assert!(
            uneven.ends_with("but 1 run of b is too few to rest a claim on."),
            "{uneven}"
        );
        let single = told_of(&[("a", &high[..1])]);
        assert_eq!(single, "a reaches 90.00 over 1 run.");
        assert_eq!(told_of(&[]), "No run has finished with a score yet.");
    }

    fn contender(name: &str, scores: &[f64], seeds: usize) -> Contender {
        Contender {
            name: name.to_string(),
            height: mean(scores),
            interval: bootstrap_interval(scores, 1000, 0),
            runs: scores.len(),
            complete: scores.len() == seeds,
        }
    }

    #[test]
    fn better_is_said_only_where_intervals_do_not_overlap() {
        let high = || contender("a", &[9.0, 9.1, 9.2, 9.3, 9.4], 5);
        let level = || contender("b", &[8.0, 9.0, 9.2, 9.3, 9.6], 5);
        let low = || contender("c", &[1.0, 1.1, 1.2, 1.3, 1.4], 5);
        assert_eq!(
            of_experiment(Statistic::Mean, &[low(), high(), high()]),
            "a and a share the highest mean, 9.20: none is better."
        );
        assert!(
            of_experiment(Statistic::Mean, &[low(), high()])
                .contains("a has the highest mean, 9.20, and is better than every other")
        );
        assert!(of_experiment(Statistic::Mean, &[high(), level()]).contains("no method is shown to be better"));
        let mixed = of_experiment(Statistic::Mean, &[high(), level(), low()]);
        assert!(mixed.contains("better than c (intervals do not overlap), but not shown to be better than b"));
    }

    #[test]
    fn nothing_is_called_better_on_few_seeds_or_missing_runs() {
        let few = [contender("a", &[9.0; 2], 2), contender("b", &[1.0; 2], 2)];
        assert!(of_experiment(Statistic::Mean, &few).contains("fewer than 5 seeds"));
        let missing = [contender("a", &[9.0; 5], 5), contender("b", &[1.0; 4], 5)];
        assert!(of_experiment(Statistic::Mean, &missing).contains("runs or scores are missing"));
        assert_eq!(
            of_experiment(Statistic::Mean, &[contender("a", &[], 5)]),
            "No method has a score."
        );
    }
}
