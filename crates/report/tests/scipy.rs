//! The statistics against NumPy's and SciPy's, recorded by `record_scipy.py`.

use epgt_report::f_distribution::probability;
use epgt_report::signal::{Across, Evidence, Windows};
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

#[test]
fn the_f_distribution_and_the_bound_of_its_noncentrality_are_scipys() {
    let recorded: Value = serde_json::from_str(include_str!("data/scipy.json")).unwrap();
    let cases = recorded["f"].as_array().unwrap();
    assert_eq!(cases.len(), 22);
    let close = |ours: f64, theirs: f64, most: f64| {
        let error = (ours - theirs).abs() / theirs.abs();
        assert!(error < most, "{ours} where {theirs} was recorded");
    };
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap();
        let (f, between, within) = (number("f"), number("between"), number("within"));
        let evidence = Evidence {
            f,
            between,
            within,
            runs: 1,
        };
        close(probability(f, between, within, 0.0), number("central"), 1e-10);
        close(evidence.chance(), number("chance"), 1e-9);
        close(evidence.bound(), number("bound"), 1e-6);
        for pair in case["noncentral"].as_array().unwrap() {
            let (noncentrality, theirs) = (pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap());
            // SciPy itself has an absolute error of about 1e-14 in the tail.
            let ours = probability(f, between, within, noncentrality);
            let error = (ours - theirs).abs();
            assert!(error < 1e-12 + 1e-9 * theirs, "{ours} where {theirs} was recorded");
        }
    }
}

#[test]
fn the_signal_over_runs_is_numpys() {
    let recorded: Value = serde_json::from_str(include_str!("data/scipy.json")).unwrap();
    let cases = recorded["across"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let runs = |key: &str| case[key].as_array().unwrap().iter().map(numbers).collect::<Vec<_>>();
        let windows: Vec<Windows> = runs("x")
            .into_iter()
            .zip(runs("y"))
            .map(|(x, y)| x.into_iter().zip(y).collect())
            .collect();
        assert_close(Across::of(&windows).unwrap().signal, &case["signal"]);
    }
}
