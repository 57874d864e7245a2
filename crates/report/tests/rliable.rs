//! The statistics over tasks against the Python package rliable, recorded by `record_rliable.py`.
//!
//! Estimates are equal to rounding. Bootstrap intervals come from different generators, so they agree to the noise of
//! their own resampling: within 4% of the interval's width (rliable's 20,000 resamples and our 10,000 leave about 1%
//! each); the share of runs above a threshold moves in steps of one run, and its interval may be off by one.

use epgt_report::aggregate::{
    aggregate_iqm, aggregate_mean, aggregate_median, improvement_interval, performance_profile,
    probability_of_improvement, profile_intervals, stratified_interval,
};
use epgt_report::statistics::{Interval, RESAMPLES};
use serde_json::Value;

const NOISE: f64 = 0.04;

fn cases() -> Vec<Value> {
    let recorded: Value = serde_json::from_str(include_str!("data/rliable.json")).unwrap();
    let cases = recorded["cases"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 5);
    cases
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap();
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

fn tasks(list: &Value) -> Vec<Vec<f64>> {
    list.as_array().unwrap().iter().map(numbers).collect()
}

#[track_caller]
fn assert_equal(ours: f64, recorded: &Value) {
    let recorded = recorded.as_f64().unwrap();
    assert!(
        (ours - recorded).abs() <= 1e-12 * recorded.abs().max(1.0),
        "{ours} where {recorded} was recorded"
    );
}

#[track_caller]
fn assert_near(ours: Interval, recorded: &Value, step: f64) {
    let recorded = numbers(recorded);
    let tolerance = NOISE * (recorded[1] - recorded[0]) + 1.001 * step;
    for (ours, recorded) in [ours.low, ours.high].into_iter().zip(&recorded) {
        assert!(
            (ours - recorded).abs() <= tolerance,
            "{ours} where {recorded} was recorded"
        );
    }
}

#[test]
fn estimates_are_rliables() {
    for case in cases() {
        let (a, b) = (tasks(&case["a"]), tasks(&case["b"]));
        assert_equal(aggregate_mean(&a), &case["mean"]);
        assert_equal(aggregate_median(&a), &case["median"]);
        assert_equal(aggregate_iqm(&a), &case["iqm"]);
        assert_equal(probability_of_improvement(&a, &b), &case["improvement"]);
        let profile = performance_profile(&a, &numbers(&case["thresholds"]));
        let recorded = case["profile"].as_array().unwrap();
        assert_eq!(profile.len(), recorded.len());
        profile
            .iter()
            .zip(recorded)
            .for_each(|(&ours, recorded)| assert_equal(ours, recorded));
    }
}

#[test]
fn intervals_are_rliables_to_the_noise_of_resampling() {
    for case in cases() {
        let (a, b) = (tasks(&case["a"]), tasks(&case["b"]));
        let ours = [
            stratified_interval(&a, RESAMPLES, 0, aggregate_mean),
            stratified_interval(&a, RESAMPLES, 0, aggregate_median),
            stratified_interval(&a, RESAMPLES, 0, aggregate_iqm),
        ];
        for (ours, recorded) in ours.into_iter().zip(case["intervals"].as_array().unwrap()) {
            assert_near(ours, recorded, 0.0);
        }
        let interval = improvement_interval(&a, &b, RESAMPLES, 0);
        assert_near(interval, &case["improvement_interval"], 0.0);
        let runs: usize = a.iter().map(Vec::len).sum();
        let band = profile_intervals(&a, &numbers(&case["thresholds"]), 4000, 0);
        for (ours, recorded) in band.into_iter().zip(case["profile_intervals"].as_array().unwrap()) {
            assert_near(ours, recorded, 1.0 / runs as f64);
        }
    }
}
