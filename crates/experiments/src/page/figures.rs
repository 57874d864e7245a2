//! The figures of one task: scores, learning curves, what was scheduled, and the hyper-agent's own state.

use epgt_hyper::Choosing;
use epgt_report::aggregate::{performance_profile, profile_intervals};
use epgt_report::chart::{Figure, Kind, Panel, Plot, Row, Rows, Series};
use epgt_report::curve::{Band, Curve, band, band_of_held};
use epgt_train::Scheduler;

use crate::comparison::Summary;
use crate::groups::{Group, Task};
use crate::measure::Measure;

/// Points of a curve.
const POINTS: usize = 100;

/// Resamples of a band that is looked at, not quoted.
const RESAMPLES: usize = 1000;

/// The horizontal axis of everything over training.
const STEPS: &str = "environment steps";

/// The column of the mean return while training.
const RETURN: &str = "rollout/ep_rew_mean";

/// A figure and the name of its file.
pub struct Picture {
    pub file: String,
    pub figure: Figure,
}

impl Picture {
    pub fn new(file: String, figure: Figure) -> Self {
        Self { file, figure }
    }
}

/// Every run's score, with mean and interval, the best method on top.
pub fn scores(task: &Task, measure: Measure, ranked: &[Summary<'_>]) -> Picture {
    let row = |summary: &Summary<'_>| Row {
        name: summary.name.to_string(),
        index: summary.index,
        values: summary.scores.clone(),
        mean: summary.mean,
        interval: summary.interval,
    };
    let rows = Rows {
        label: task.measure(measure),
        rows: ranked.iter().map(row).collect(),
    };
    Picture::new(
        format!("scores-{}-{}", measure.slug(), task.name),
        Figure {
            note: how_to_read(ranked.iter().any(|summary| summary.interval.is_known())),
            ..Figure::of(format!("Scores on {}", task.name), vec![Panel::Rows(rows)])
        },
    )
}

/// What the signs of a row mean.
pub fn how_to_read(intervals: bool) -> String {
    match intervals {
        true => "stroke: a run; dot: their mean; bar: its 95% interval".to_string(),
        false => "stroke: a run; dot: their mean".to_string(),
    }
}

/// The learning curves, of training or, where there are any, of evaluations.
pub fn learning(task: &Task) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for (column, title, slug, label) in [
        (
            RETURN,
            "Learning curves",
            "learning",
            "mean return of the last 100 episodes at most",
        ),
        (
            "eval/mean_reward",
            "Evaluations",
            "evaluation",
            "mean return with the most likely actions",
        ),
    ] {
        let series: Vec<Series> = task.groups.iter().filter_map(|group| banded(group, column)).collect();
        if series.is_empty() {
            continue;
        }
        let figure = Figure::curves(format!("{title} on {}", task.name), Plot::new("", STEPS, label), series);
        pictures.push(Picture::new(format!("{slug}-{}", task.name), figure));
    }
    pictures
}

/// The learning curves of all methods, a panel per task.
pub fn learning_by_task(tasks: &[Task]) -> Option<Picture> {
    let plot = |task: &Task| {
        let mut plot = Plot::new(&task.name, STEPS, "");
        plot.series = task.groups.iter().filter_map(|group| banded(group, RETURN)).collect();
        (!plot.series.is_empty()).then_some(plot)
    };
    let plots: Vec<Plot> = tasks.iter().filter_map(plot).collect();
    (plots.len() > 1).then(|| {
        let figure = Figure {
            note: "mean return of the last 100 episodes at most".to_string(),
            ..Figure::side_by_side("Learning curves by task", plots)
        };
        Picture::new("learning-all-tasks".to_string(), figure)
    })
}

/// A column of a method's runs: mean and interval; nothing where no run has it.
fn banded(group: &Group, column: &str) -> Option<Series> {
    let curves = known(group.runs.iter().map(|run| run.curve(column)));
    (!curves.is_empty()).then(|| series(group, &band(&curves, POINTS)))
}

/// The same of a column whose values hold until the next.
fn banded_steps(group: &Group, column: &str) -> Option<Series> {
    let curves = known(group.runs.iter().map(|run| run.held(column)));
    (!curves.is_empty()).then(|| series(group, &band_of_held(&curves, POINTS)).in_steps())
}

fn known(curves: impl Iterator<Item = Curve>) -> Vec<Curve> {
    curves.filter(|curve| !curve.is_empty()).collect()
}

fn series(group: &Group, band: &Band) -> Series {
    let points = band.steps.iter().zip(&band.mean).map(|(&step, &mean)| [step, mean]);
    let around = band.steps.iter().zip(&band.intervals);
    let around = around.map(|(&step, interval)| [step, interval.low, interval.high]);
    Series::banded(&group.name, group.index, points.collect(), around.collect())
}

fn thread(index: usize, curve: &Curve) -> Series {
    let points = curve.steps.iter().zip(&curve.values);
    Series::thread(index, points.map(|(&step, &value)| [step, value]).collect())
}

/// What was scheduled: a figure per hyperparameter and a panel per method, every run thin and their mean bold. What was
/// chosen holds until the next choice, and is drawn so.
pub fn schedules(task: &Task) -> Vec<Picture> {
    let mut names: Vec<String> = Vec::new();
    for group in &task.groups {
        let scheduled = group.runs.first().map(|run| run.record.scheduled()).unwrap_or_default();
        names.extend(scheduled);
    }
    names.sort();
    names.dedup();
    let picture = |name: &String| {
        let of = |group: &Group, log: bool| {
            let schedules = group.runs.iter().filter(|run| run.record.scheduled().contains(name));
            known(schedules.map(|run| run.schedule(name, log)))
        };
        let all: Vec<Curve> = task.groups.iter().flat_map(|group| of(group, false)).collect();
        let log = wants_log(name, &all);
        let panels: Vec<Panel> = task
            .groups
            .iter()
            .filter_map(|group| schedule(group, &of(group, log), log))
            .map(Panel::Plot)
            .collect();
        if panels.is_empty() {
            return None;
        }
        let mut figure = Figure::of(format!("What was chosen on {}: {name}", task.name), panels);
        let runs = task.groups.iter().flat_map(|group| &group.runs);
        let most = runs.map(|run| run.condensed(name)).max().unwrap_or(1);
        let several = task.groups.iter().any(|group| of(group, log).len() > 1);
        figure.note = match (most, several) {
            (1, false) => "a value holds until the next choice".to_string(),
            (1, true) => "thin: a run; bold: their mean; a value holds until the next choice".to_string(),
            (most, false) => format!("each step is the mean of up to {most} choices"),
            (most, true) => {
                format!("thin: a run, each step the mean of up to {most} choices; bold: the mean of the runs")
            }
        };
        figure.share_axes();
        Some(Picture::new(format!("schedule-{name}-{}", task.name), figure))
    };
    names.iter().filter_map(picture).collect()
}

fn schedule(group: &Group, curves: &[Curve], log: bool) -> Option<Plot> {
    if curves.is_empty() {
        return None;
    }
    let logarithm = |curve: &Curve| Curve {
        steps: curve.steps.clone(),
        values: curve.values.iter().map(|value| value.ln()).collect(),
    };
    let mut together = match log {
        true => band_of_held(&curves.iter().map(logarithm).collect::<Vec<_>>(), POINTS),
        false => band_of_held(curves, POINTS),
    };
    if log {
        together.mean.iter_mut().for_each(|mean| *mean = mean.exp());
    }
    together.intervals.clear();
    let mut plot = Plot::new(&group.name, STEPS, "");
    (plot.about, plot.log) = (Some(group.index), log);
    // One run is its own mean.
    if let [alone] = curves {
        let points = alone.steps.iter().zip(&alone.values);
        let points = points.map(|(&step, &value)| [step, value]).collect();
        plot.series = vec![Series::line(&group.name, group.index, points).in_steps()];
        return Some(plot);
    }
    let threads = curves.iter().map(|curve| thread(group.index, curve).in_steps());
    plot.series = threads.chain([series(group, &together).in_steps()]).collect();
    Some(plot)
}

/// Positive values that are a rate or span more than a factor of ten.
fn wants_log(name: &str, curves: &[Curve]) -> bool {
    let values = || {
        let all = curves.iter().flat_map(|curve| &curve.values).copied();
        all.filter(|value| value.is_finite())
    };
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    low > 0.0 && (name.contains("rate") || high / low > 10.0)
}

/// How far updates moved the policy, with what they should as a thin line, and the rate for that; nothing where no run
/// has measured it.
pub fn steps(task: &Task) -> Vec<Picture> {
    let measured: Vec<&Group> = task
        .groups
        .iter()
        .filter(|group| banded(group, "train/divergence").is_some())
        .collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let mut moved = Vec::new();
    for group in &measured {
        let target = group.runs.first().map(|run| run.held("train/target_divergence"));
        moved.extend(target.map(|curve| thread(group.index, &curve).in_steps()));
        moved.extend(banded(group, "train/divergence"));
    }
    let rates = measured
        .iter()
        .filter_map(|group| banded_steps(group, "train/learning_rate"));
    let mut pictures = Vec::new();
    for (title, slug, label, series) in [
        (
            "How far an update moves the policy",
            "divergence",
            "divergence (thin: its target)",
            moved,
        ),
        ("The learning rate in force", "rate", "learning rate", rates.collect()),
    ] {
        let mut plot = Plot::new("", STEPS, label);
        plot.log = true;
        let figure = Figure::curves(format!("{title}, {}", task.name), plot, series);
        pictures.push(Picture::new(format!("{slug}-{}", task.name), figure));
    }
    pictures
}

/// Epsilon, the size of the memory, and the encoder's reconstruction loss.
pub fn hyper_agent(task: &Task) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for (column, title, slug, measured) in [
        (
            "hyper/epsilon",
            "Probability of a random choice (epsilon)",
            "epsilon",
            false,
        ),
        ("hyper/memory", "Moments remembered", "memory", false),
        (
            "hyper/reconstruction_loss",
            "Reconstruction loss of the encoder",
            "reconstruction",
            true,
        ),
    ] {
        // What is not measured is in force until it changes.
        let of = if measured { banded } else { banded_steps };
        let remembers = |group: &&Group| column == "hyper/reconstruction_loss" || !is_fixed(group);
        let groups = task.groups.iter().filter(remembers);
        let series: Vec<Series> = groups
            .filter_map(|group| of(group, column))
            .filter(is_somewhere_above_zero)
            .collect();
        if series.is_empty() {
            continue;
        }
        let mut plot = Plot::new("", STEPS, "");
        plot.log = measured;
        let figure = Figure::curves(format!("{title}, {}", task.name), plot, series);
        pictures.push(Picture::new(format!("{slug}-{}", task.name), figure));
    }
    pictures
}

fn is_fixed(group: &Group) -> bool {
    let learns_nothing = |scheduler: Scheduler| scheduler.is_fixed() || scheduler.about().choosing == Choosing::Random;
    let mut runs = group.runs.iter();
    runs.all(|run| run.record.known_scheduler().is_some_and(learns_nothing))
}

fn is_somewhere_above_zero(series: &Series) -> bool {
    match &series.kind {
        Kind::Line { points, .. } => points.iter().any(|point| point[1] > 0.0),
        _ => true,
    }
}

/// The share of runs above each score, of methods with scores by task, `scores[method][task][seed]`.
pub fn profile(title: &str, label: &str, file: &str, names: &[(&str, usize)], scores: &[Vec<Vec<f64>>]) -> Picture {
    let all = || scores.iter().flatten().flatten().copied();
    let (low, high) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::NEG_INFINITY, f64::max),
    );
    let threshold = |index: usize| low + (high - low) * index as f64 / POINTS as f64;
    let thresholds: Vec<f64> = (0..=POINTS).map(threshold).collect();
    let mut series = Vec::new();
    for ((name, index), tasks) in names.iter().zip(scores) {
        let shares = performance_profile(tasks, &thresholds);
        let intervals = profile_intervals(tasks, &thresholds, RESAMPLES, 0);
        let points = thresholds.iter().zip(shares).map(|(&t, share)| [t, share]).collect();
        let around = thresholds.iter().zip(intervals);
        let around = around.map(|(&t, interval)| [t, interval.low, interval.high]);
        // It falls where a run's score is, and nowhere between.
        series.push(Series::banded(*name, *index, points, around.collect()).in_steps());
    }
    let plot = Plot::new("", label, "share of runs above");
    Picture::new(file.to_string(), Figure::overlaid(title, plot, series))
}
