//! The pictures of one task: scores, learning curves, what was scheduled, and the hyper-agent's own state.

use epgt_hyper::Choosing;
use epgt_report::aggregate::{performance_profile, profile_intervals};
use epgt_report::chart::{Drawing, Plot, Row, Series, rows};
use epgt_report::curve::{Band, Curve, band};
use epgt_train::Scheduler;

use crate::comparison::Summary;
use crate::groups::{Group, Task};
use crate::measure::Measure;

/// Points of a curve.
const POINTS: usize = 100;

/// Resamples of a band that is looked at, not quoted.
const RESAMPLES: usize = 1000;

/// A picture and the name of its file.
pub struct Figure {
    pub name: String,
    pub drawing: Drawing,
}

impl Figure {
    pub fn new(name: String, drawing: Drawing) -> Self {
        Self { name, drawing }
    }
}

/// Every run's score, with mean and interval, the best method on top.
pub fn scores(task: &Task, measure: Measure, ranked: &[Summary<'_>]) -> Figure {
    let row = |summary: &Summary<'_>| Row {
        name: summary.name.to_string(),
        index: summary.index,
        values: summary.scores.clone(),
        mean: summary.mean,
        interval: summary.interval,
    };
    let all: Vec<Row> = ranked.iter().map(row).collect();
    let shown = match ranked.iter().any(|summary| summary.interval.is_known()) {
        true => "runs, mean and interval",
        false => "runs and mean",
    };
    let title = format!("{}: {shown}", task.name);
    Figure::new(
        format!("scores-{}-{}", measure.slug(), task.name),
        rows(&title, &task.measure(measure), &all),
    )
}

/// The learning curves, of training or, where there are any, of evaluations.
pub fn learning(task: &Task) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (column, title, slug, label) in [
        (
            "rollout/ep_rew_mean",
            "training",
            "learning",
            "mean return, last 100 episodes at most",
        ),
        (
            "eval/mean_reward",
            "evaluation",
            "evaluation",
            "mean return, most likely actions",
        ),
    ] {
        let mut plot = Plot::new(format!("{}: {title}", task.name), "environment steps", label);
        plot.series = task.groups.iter().filter_map(|group| banded(group, column)).collect();
        if !plot.series.is_empty() {
            figures.push(Figure::new(format!("{slug}-{}", task.name), plot.draw()));
        }
    }
    figures
}

/// A column of a method's runs: mean and interval; nothing where no run has it.
fn banded(group: &Group, column: &str) -> Option<Series> {
    let curves: Vec<Curve> = group.runs.iter().map(|run| run.curve(column)).collect();
    let curves: Vec<Curve> = curves.into_iter().filter(|curve| !curve.is_empty()).collect();
    (!curves.is_empty()).then(|| series(&group.name, group.index, &band(&curves, POINTS), true))
}

fn series(name: &str, index: usize, band: &Band, intervals: bool) -> Series {
    let points = band
        .steps
        .iter()
        .zip(&band.mean)
        .map(|(&step, &mean)| [step, mean])
        .collect();
    let around = band
        .steps
        .iter()
        .zip(&band.intervals)
        .map(|(&step, interval)| [step, interval.low, interval.high]);
    Series::banded(
        name,
        index,
        points,
        if intervals { around.collect() } else { Vec::new() },
    )
}

/// What was scheduled, one chart per method and hyperparameter: every run thin, their mean bold.
pub fn schedules(task: &Task) -> Vec<Figure> {
    let mut figures = Vec::new();
    for group in &task.groups {
        for name in group.runs.first().map(|run| run.record.scheduled()).unwrap_or_default() {
            let mut curves: Vec<Curve> = group.runs.iter().map(|run| run.schedule(&name, false)).collect();
            let log = wants_log(&name, &curves);
            if log {
                curves = group.runs.iter().map(|run| run.schedule(&name, true)).collect();
            }
            curves.retain(|curve| !curve.is_empty());
            if curves.is_empty() {
                continue;
            }
            let mut plot = Plot::new(format!("{}: {name}", group.name), "environment steps", "");
            (plot.log, plot.legend, plot.width, plot.height) = (log, false, 420.0, 250.0);
            plot.series = curves.iter().map(|curve| thread(group.index, curve)).collect();
            let logarithm = |curve: &Curve| Curve {
                steps: curve.steps.clone(),
                values: curve.values.iter().map(|value| value.ln()).collect(),
            };
            let mut together = match log {
                true => band(&curves.iter().map(logarithm).collect::<Vec<_>>(), POINTS),
                false => band(&curves, POINTS),
            };
            if log {
                together.mean.iter_mut().for_each(|mean| *mean = mean.exp());
            }
            let mut mean = series(&group.name, group.index, &together, false);
            mean.dash = 0;
            plot.series.push(mean);
            figures.push(Figure::new(
                format!("schedule-{name}-{}-{}", task.name, group.name),
                plot.draw(),
            ));
        }
    }
    figures
}

fn thread(index: usize, curve: &Curve) -> Series {
    Series::thread(
        index,
        curve
            .steps
            .iter()
            .zip(&curve.values)
            .map(|(&step, &value)| [step, value])
            .collect(),
    )
}

/// Positive values that are a rate or span more than a factor of ten.
fn wants_log(name: &str, curves: &[Curve]) -> bool {
    let values = || {
        curves
            .iter()
            .flat_map(|curve| &curve.values)
            .copied()
            .filter(|value| value.is_finite())
    };
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    low > 0.0 && (name.contains("rate") || high / low > 10.0)
}

/// How far updates moved the policy, with what they should as a thin line, and the rate for that; nothing where no run
/// has measured it.
pub fn steps(task: &Task) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (column, target, title, slug) in [
        (
            "train/divergence",
            Some("train/target_divergence"),
            "divergence of an update (thin: its target)",
            "divergence",
        ),
        ("train/learning_rate", None, "learning rate in force", "rate"),
    ] {
        let mut plot = Plot::new(title, "environment steps", "");
        (plot.log, plot.width, plot.height) = (true, 420.0, 250.0);
        let is_measured = |group: &&Group| banded(group, "train/divergence").is_some();
        for group in task.groups.iter().filter(is_measured) {
            let targets = target.and_then(|target| group.runs.first().map(|run| run.curve(target)));
            plot.series.extend(targets.map(|curve| thread(group.index, &curve)));
            plot.series.extend(banded(group, column));
        }
        if !plot.series.is_empty() {
            figures.push(Figure::new(format!("{slug}-{}", task.name), plot.draw()));
        }
    }
    figures
}

/// Epsilon, the size of the memory, and the encoder's reconstruction loss.
pub fn hyper_agent(task: &Task) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (column, title, slug, log) in [
        (
            "hyper/epsilon",
            "probability of a random choice (epsilon)",
            "epsilon",
            false,
        ),
        ("hyper/memory", "moments remembered", "memory", false),
        (
            "hyper/reconstruction_loss",
            "reconstruction loss of the encoder",
            "reconstruction",
            true,
        ),
    ] {
        let mut plot = Plot::new(title, "environment steps", "");
        (plot.log, plot.width, plot.height) = (log, 420.0, 250.0);
        let remembers = |group: &&Group| column == "hyper/reconstruction_loss" || !is_fixed(group);
        let groups = task.groups.iter().filter(remembers);
        plot.series = groups
            .filter_map(|group| banded(group, column))
            .filter(is_somewhere_above_zero)
            .collect();
        if !plot.series.is_empty() {
            figures.push(Figure::new(format!("{slug}-{}", task.name), plot.draw()));
        }
    }
    figures
}

fn is_fixed(group: &Group) -> bool {
    let learns_nothing = |scheduler: Scheduler| scheduler.is_fixed() || scheduler.about().choosing == Choosing::Random;
    let mut runs = group.runs.iter();
    runs.all(|run| run.record.known_scheduler().is_some_and(learns_nothing))
}

fn is_somewhere_above_zero(series: &Series) -> bool {
    match &series.kind {
        epgt_report::chart::Kind::Line { points, .. } => points.iter().any(|point| point[1] > 0.0),
        _ => true,
    }
}

/// The share of runs above each score, of methods with scores by task, `scores[method][task][seed]`.
pub fn profile(title: &str, label: &str, slug: &str, names: &[(&str, usize)], scores: &[Vec<Vec<f64>>]) -> Figure {
    let all = || scores.iter().flatten().flatten().copied();
    let (low, high) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::NEG_INFINITY, f64::max),
    );
    let threshold = |index: usize| low + (high - low) * index as f64 / POINTS as f64;
    let thresholds: Vec<f64> = (0..=POINTS).map(threshold).collect();
    let mut plot = Plot::new(title, label, "share of runs above");
    for ((name, index), tasks) in names.iter().zip(scores) {
        let shares = performance_profile(tasks, &thresholds);
        let intervals = profile_intervals(tasks, &thresholds, RESAMPLES, 0);
        let points = thresholds.iter().zip(shares).map(|(&t, share)| [t, share]).collect();
        let around = thresholds
            .iter()
            .zip(intervals)
            .map(|(&t, interval)| [t, interval.low, interval.high]);
        plot.series
            .push(Series::banded(*name, *index, points, around.collect()));
    }
    Figure::new(slug.to_string(), plot.draw())
}
