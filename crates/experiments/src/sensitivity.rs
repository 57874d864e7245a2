//! How much is lost by not tuning: settings that were picked for every task by itself, beside one setting for all.
//!
//! The measures are those of Adkins, Bowling and White (NeurIPS 2024). A setting's mean score on a task is normalised by
//! the 5th and 95th percentile over all settings that were tried there. *Sensitivity* is the best mean over tasks with a
//! setting picked for each, minus the best mean with one setting for all. *Effective dimension* is the fewest
//! hyperparameters that must be picked by task, the others left at their defaults, for 95% of the mean with all picked.
//!
//! The best of many noisy scores is partly luck. So settings are picked on one half of the seeds and scored on the other,
//! both ways.

use std::collections::BTreeSet;

use epgt_report::statistics::mean;
use epgt_report::text_table::TextTable;
use epgt_train::Config;

use crate::cell::{Cell, State};
use crate::plan::Plan;

/// The share of the fully tuned mean that is enough.
const ENOUGH: f64 = 0.95;

/// What tuning is worth around one default.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The group of settings, of which the first is the default.
    pub group: String,
    /// How many settings it has.
    pub settings: usize,
    /// The normalised score of the default, over all tasks.
    pub default: f64,
    /// That of the one setting that is best for all tasks.
    pub shared: f64,
    /// That of the settings that are best for each.
    pub picked: f64,
    /// The fewest hyperparameters that must be picked by task.
    pub dimension: usize,
    /// What each hyperparameter is worth where it alone is picked by task, the most first.
    pub worth: Vec<(String, f64)>,
}

/// The sensitivity of every group of the plan, whose first method is its default and whose others change some of its
/// hyperparameters; or what is missing for it.
pub fn measure(plan: &Plan, found: &[(Cell, State)]) -> Result<Vec<Sensitivity>, String> {
    let mut scores = vec![vec![Vec::new(); plan.tasks.len()]; plan.methods.len()];
    for (cell, state) in found {
        if let State::Finished(result) = state {
            scores[cell.method][cell.task].extend(plan.score.of(result, || None));
        }
    }
    for (method, tasks) in plan.methods.iter().zip(&scores) {
        if let Some(task) = tasks.iter().position(|seeds| seeds.len() < 2) {
            return Err(format!(
                "{} on {} has fewer than two finished runs with a score; settings are picked on one half and scored on the other",
                method.name, plan.tasks[task]
            ));
        }
    }
    normalise(&mut scores);
    let mut all: Vec<Sensitivity> = Vec::new();
    for method in &plan.methods {
        let Some(group) = &method.group else {
            return Err(format!("{} is in no group; say which default it changes", method.name));
        };
        if all.iter().any(|known| known.group == *group) {
            continue;
        }
        let members: Vec<usize> = (0..plan.methods.len())
            .filter(|&other| plan.methods[other].group.as_ref() == Some(group))
            .collect();
        let changed: Vec<BTreeSet<String>> = members
            .iter()
            .map(|&member| {
                (0..plan.tasks.len())
                    .flat_map(|task| changes(plan.config(task, members[0]), plan.config(task, member)))
                    .collect()
            })
            .collect();
        let scores: Vec<&[Vec<f64>]> = members.iter().map(|&member| &scores[member][..]).collect();
        all.push(of(group, &scores, &changed));
    }
    Ok(all)
}

/// The names of the settings in which two configurations differ.
fn changes(default: &Config, other: &Config) -> Vec<String> {
    let values = |config: &Config| -> Vec<(&'static str, String)> {
        let sections = config.sections().into_iter();
        let entries = sections.flat_map(|(_, entries)| entries);
        entries.map(|entry| (entry.key, entry.value)).collect()
    };
    let pairs = values(default).into_iter().zip(values(other));
    let differing = pairs.filter(|(here, there)| here != there);
    differing.map(|((key, _), _)| key.to_string()).collect()
}

/// Counts the scores `[setting][task][seed]` of each task from the 5th percentile of its settings' means (0) to the 95th
/// (1).
fn normalise(scores: &mut [Vec<Vec<f64>>]) {
    for task in 0..scores[0].len() {
        let mut means: Vec<f64> = scores.iter().map(|setting| mean(&setting[task])).collect();
        means.sort_by(f64::total_cmp);
        let (low, high) = (percentile(&means, 0.05), percentile(&means, 0.95));
        // Where nothing that was tried makes a difference, nothing is to be tuned.
        let width = if high > low { high - low } else { f64::INFINITY };
        for score in scores.iter_mut().flat_map(|setting| &mut setting[task]) {
            *score = (*score - low) / width;
        }
    }
}

/// The percentile of sorted numbers, linear between them.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    sorted[below] + (at - at.floor()) * (sorted[above] - sorted[below])
}

/// A score by the second of two halves of the seeds, of what was picked by the first; each is `[setting][task]`.
type Scored<'a> = dyn Fn(&[Vec<f64>], &[Vec<f64>]) -> f64 + 'a;

/// The sensitivity of settings with these normalised scores `[setting][task][seed]`, the first of which is the default,
/// and with what each changes of it.
fn of(group: &str, scores: &[&[Vec<f64>]], changed: &[BTreeSet<String>]) -> Sensitivity {
    // Means over every second seed, from the first and from the second on: `[half][setting][task]`.
    let half = |from: usize| -> Vec<Vec<f64>> {
        let seeds = |all: &Vec<f64>| mean(&all.iter().copied().skip(from).step_by(2).collect::<Vec<f64>>());
        scores.iter().map(|tasks| tasks.iter().map(seeds).collect()).collect()
    };
    let halves = [half(0), half(1)];
    // The mean of what is scored with each half seen, and the other one to score by.
    let both_ways = |score: &Scored<'_>| (score(&halves[0], &halves[1]) + score(&halves[1], &halves[0])) / 2.0;
    let everything: Vec<usize> = (0..scores.len()).collect();
    let shared = both_ways(&|seen, other| mean(&other[best(&everything, |setting| mean(&seen[setting]))]));
    let picked_among = |allowed: &[usize]| {
        both_ways(&|seen, other| {
            let tasks = 0..seen[0].len();
            let scores = tasks.map(|task| other[best(allowed, |setting| seen[setting][task])][task]);
            mean(&scores.collect::<Vec<f64>>())
        })
    };
    let within = |names: &BTreeSet<&String>| -> Vec<usize> {
        let allowed = |setting: &usize| changed[*setting].iter().all(|name| names.contains(name));
        everything.iter().copied().filter(allowed).collect()
    };
    let names: Vec<&String> = changed.iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
    let (default, picked) = (picked_among(&[0]), picked_among(&everything));
    let dimension = (0..=names.len())
        .find(|&count| {
            let sets = subsets(&names, count);
            sets.iter().any(|set| picked_among(&within(set)) >= ENOUGH * picked)
        })
        .unwrap_or(names.len());
    let alone = |name: &&String| picked_among(&within(&BTreeSet::from([*name]))) - default;
    let mut worth: Vec<(String, f64)> = names.iter().map(|name| (name.to_string(), alone(name))).collect();
    worth.sort_by(|a, b| b.1.total_cmp(&a.1));
    Sensitivity {
        group: group.to_string(),
        settings: scores.len(),
        default,
        shared,
        picked,
        dimension,
        worth,
    }
}

/// The one of these settings with the highest score; of equal ones the first.
fn best(settings: &[usize], score: impl Fn(usize) -> f64) -> usize {
    let better = |a: usize, b: usize| if score(b) > score(a) { b } else { a };
    settings.iter().copied().reduce(better).unwrap_or(0)
}

/// All sets of so many of the names.
fn subsets<'a>(names: &[&'a String], count: usize) -> Vec<BTreeSet<&'a String>> {
    let Some((&first, rest)) = names.split_first().filter(|_| count > 0) else {
        return if count == 0 { vec![BTreeSet::new()] } else { Vec::new() };
    };
    let mut with = subsets(rest, count - 1);
    with.iter_mut().for_each(|set| {
        set.insert(first);
    });
    with.append(&mut subsets(rest, count));
    with
}

/// The groups as a table.
pub fn table(all: &[Sensitivity]) -> TextTable {
    let mut table = TextTable::new(&[
        "group",
        "settings",
        "default",
        "best for all",
        "picked by task",
        "sensitivity",
        "effective dimension",
    ]);
    for found in all {
        table.row(&[
            &found.group,
            &found.settings.to_string(),
            &format!("{:.2}", found.default),
            &format!("{:.2}", found.shared),
            &format!("{:.2}", found.picked),
            &format!("{:.2}", found.picked - found.shared),
            &found.dimension.to_string(),
        ]);
    }
    table
}

/// What every hyperparameter is worth alone, a column for each group.
pub fn worth_table(all: &[Sensitivity]) -> TextTable {
    let mut header = vec!["picked by task alone"];
    header.extend(all.iter().map(|found| found.group.as_str()));
    let mut table = TextTable::new(&header);
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in all.iter().flat_map(|found| &found.worth) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let mut fields = vec![name.clone()];
        for found in all {
            let worth = found.worth.iter().find(|(other, _)| other == name);
            fields.push(worth.map_or("-".to_string(), |(_, worth)| format!("{worth:+.2}")));
        }
        table.row(&fields.iter().map(String::as_str).collect::<Vec<&str>>());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn what_must_be_picked_by_task_is_counted() {
        // Two tasks: one wants another gamma, the other another clip range; the default is half as good on both.
        let same = |a: f64, b: f64| vec![vec![a; 4], vec![b; 4]];
        let scores = [same(0.5, 0.5), same(1.0, 0.0), same(0.0, 1.0), same(0.4, 0.4)];
        let scores: Vec<&[Vec<f64>]> = scores.iter().map(|tasks| &tasks[..]).collect();
        let changed = [set(&[]), set(&["gamma"]), set(&["clip_range"]), set(&["n_epochs"])];
        let found = of("before", &scores, &changed);
        assert_eq!((found.default, found.shared, found.picked), (0.5, 0.5, 1.0));
        assert_eq!(found.dimension, 2);
        let expected = [("clip_range", 0.25), ("gamma", 0.25), ("n_epochs", 0.0)];
        assert_eq!(found.worth, expected.map(|(name, worth)| (name.to_string(), worth)));
        // Where the default is as good as what is picked, nothing is.
        let found = of("after", &scores[..1], &changed[..1]);
        assert_eq!((found.dimension, found.picked - found.shared), (0, 0.0));
    }

    #[test]
    fn luck_on_the_seeds_that_settings_are_picked_on_is_not_counted() {
        // The second setting is lucky on the even seeds, and worse on the odd ones.
        let scores = [vec![vec![0.5, 0.5, 0.5, 0.5]], vec![vec![1.0, 0.0, 1.0, 0.0]]];
        let scores: Vec<&[Vec<f64>]> = scores.iter().map(|tasks| &tasks[..]).collect();
        let found = of("g", &scores, &[set(&[]), set(&["gamma"])]);
        assert_eq!((found.default, found.picked), (0.5, 0.25));
    }

    #[test]
    fn scores_are_counted_between_percentiles_of_what_was_tried() {
        // 21 settings with the scores 0 to 20: the percentiles are 1 and 19.
        let mut scores: Vec<Vec<Vec<f64>>> = (0..21).map(|k| vec![vec![f64::from(k); 2], vec![3.0; 2]]).collect();
        normalise(&mut scores);
        assert_eq!((scores[1][0][0], scores[19][0][1], scores[10][0][0]), (0.0, 1.0, 0.5));
        assert_eq!(scores[5][1], [0.0, 0.0]);
    }

    #[test]
    fn all_sets_of_some_names_are_found() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_string).to_vec();
        let names: Vec<&String> = names.iter().collect();
        let counts = [0, 1, 2, 3, 4, 5].map(|count| subsets(&names, count).len());
        assert_eq!(counts, [1, 4, 6, 4, 1, 0]);
    }
}
