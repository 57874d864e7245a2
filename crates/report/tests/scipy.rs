//! The statistics against NumPy's and SciPy's, recorded by `record_scipy.py`.

use epgt_report::statistics::{
    LEAST_SCORES, bootstrap_interval, cohens_d, f_statistic, interquartile_mean, mean, median, standard_deviation,
};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let recorded: Value = serde_json::from_str(include_str!("data/scipy.json")).unwrap();
    let cases = recorded["cases"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 7);
    cases
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap();
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn assert_close(ours: f64, recorded: &Value) {
    let recorded = recorded.as_f64().unwrap();
    let error = (ours - recorded).abs() / recorded.abs();
    assert!(error < 1e-11, "{ours} where {recorded} was recorded");
}

#[test]
fn summaries_of_one_sample_are_numpys() {
    for case in cases() {
        let values = numbers(&case["values"]);
        assert_close(mean(&values), &case["mean"]);
        assert_close(standard_deviation(&values), &case["standard_deviation"]);
        assert_close(median(&values), &case["median"]);
        assert_close(interquartile_mean(&values), &case["interquartile_mean"]);
    }
}

#[test]
fn comparisons_of_samples_are_scipys() {
    for case in cases() {
        let values = numbers(&case["values"]);
        let (other, third) = (numbers(&case["other"]), numbers(&case["third"]));
        // Two values have an effect size for SciPy, but none here.
        match values.len().min(other.len()) < LEAST_SCORES {
            true => assert!(cohens_d(&values, &other).is_nan()),
            false => assert_close(cohens_d(&values, &other), &case["cohens_d"]),
        }
        assert_close(f_statistic(&[&values, &other]), &case["f_of_two"]);
        assert_close(f_statistic(&[&values, &other, &third]), &case["f_of_three"]);
    }
}

#[test]
fn the_bootstrap_draws_and_ranks_as_numpy_does() {
    let enough = |case: &Value| numbers(&case["values"]).len() >= LEAST_SCORES;
    for case in cases().into_iter().filter(enough) {
        let values = numbers(&case["values"]);
        let seed = case["seed"].as_u64().unwrap();
        let resamples = case["resamples"].as_u64().unwrap() as usize;
        let interval = bootstrap_interval(&values, resamples, seed);
        assert_close(interval.low, &case["bootstrap"][0]);
        assert_close(interval.high, &case["bootstrap"][1]);
    }
}
