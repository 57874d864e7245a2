//! `epgt bench` as a user runs it.

use epgt_testing::needs;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_epgt"))
        .arg("bench")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn every_variant_is_measured_and_the_simulator_is_the_fastest() {
    let arguments = ["MountainCarContinuous-v0", "--steps", "2000", "--n-envs", "1"];
    let output = bench(&[&arguments[..], &["--repeat", "1", "--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    let all = [
        "simulator",
        "fixed",
        "fixed by rate",
        "epgt",
        "epgt-paper",
        "random",
        "bandit",
        "dqn",
    ];
    assert_eq!(names, all);
    for row in rows {
        assert_eq!((&row["n_envs"], &row["steps"]), (&1.into(), &2000.into()), "{row}");
        for number in [
            "cpu_seconds",
            "steps_per_cpu_second",
            "of_simulator",
            "of_fixed",
            "peak_memory_mb",
        ] {
            assert!(row[number].as_f64().unwrap() > 0.0, "{number} of {row}");
        }
        assert!(row["of_simulator"].as_f64().unwrap() <= 1.0, "{row}");
        assert!(row["of_peer"].is_null());
        let has_context = ["epgt", "epgt-paper", "dqn"].contains(&row["variant"].as_str().unwrap());
        assert_eq!(row["hyper"].is_object(), has_context, "{row}");
        if has_context {
            the_parts_make_the_whole(&row["hyper"], row["variant"] != "epgt");
        }
        let timed = ["fixed", "epgt"].contains(&row["variant"].as_str().unwrap());
        assert_eq!(
            row["first_update_ms"].as_f64().is_some_and(|ms| ms > 0.0),
            timed,
            "{row}"
        );
    }
}

/// The parts of the hyper-agent's time are its total, and less than the run's; only trained encoders train.
fn the_parts_make_the_whole(hyper: &serde_json::Value, trains: bool) {
    assert_eq!(hyper["updates"], 400, "{hyper}");
    let number = |name: &str| hyper[name].as_f64().unwrap();
    let parts = [
        "projecting_us",
        "encoding_us",
        "reading_us",
        "writing_us",
        "training_us",
    ];
    let sum: f64 = parts.iter().map(|part| number(part)).sum();
    assert!((sum - number("total_us")).abs() < 1e-6 * sum, "{hyper}");
    for part in &parts[..4] {
        assert!(number(part) > 0.0, "{part} of {hyper}");
    }
    assert_eq!(number("training_us") > 0.0, trains, "{hyper}");
    assert!((0.0..1.0).contains(&number("share")), "{hyper}");
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_sentence() {
    let refused = |arguments: &[&str]| {
        let output = bench(arguments);
        assert!(!output.status.success() && output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        refused(&["--peer", "sb33"]),
        "epgt: unknown peer 'sb33'; did you mean 'sb3'?\n"
    );
    assert!(refused(&["MountainCar"]).contains("did you mean"));
    assert!(refused(&["--n-envs", "0"]).contains("at least one environment"));
    assert!(refused(&["--repeat", "0"]).contains("--repeat 0"));
    assert!(refused(&["--peer", "sb3", "--peer-steps", "many"]).contains("whole number"));
    assert!(refused(&["gym:CartPole-v1", "--simulators"]).contains("is stepped by Python itself"));
}

#[needs(python)]
#[test]
fn the_simulators_are_measured_beside_gymnasium() {
    let output = bench(&["LunarLanderContinuous-v2", "--simulators", "--repeat", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for row in ["\nengine ", "\nenvironment ", "\ngymnasium ", "on 2 ("] {
        assert!(text.contains(row), "{text}");
    }
}

#[needs(stable_baselines3)]
#[test]
fn the_peer_trains_on_numbers_and_images_with_the_options_of_the_task() {
    for (task, settings) in [
        ("gym:CartPole-v1", &["env.sutton_barto_reward=true"][..]),
        (
            "HalfCheetah-v5",
            &["env.exclude_current_positions_from_observation=false"],
        ),
        (
            "ALE/Pong-v5",
            &["policy.conv_channels=2,2,2", "policy.image_hidden=8", "device=cpu"],
        ),
    ] {
        let mut arguments = vec![task, "--n-envs", "2", "--steps", "200", "--repeat", "1", "--json"];
        arguments.extend(["--peer", "sb3", "--peer-steps", "200"]);
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let output = bench(&arguments);
        assert!(
            output.status.success(),
            "{task}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let peer = report["rows"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&peer["variant"], &peer["steps"]),
            (&"sb3".into(), &200.into()),
            "{peer}"
        );
    }
}

#[test]
fn a_python_without_the_peer_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_epgt"))
        .args(["bench", "--peer", "sb3"])
        .env("EPGT_PYTHON", "/nonexistent/python")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("epgt: /nonexistent/python cannot run Stable-Baselines3: "),
        "{said}"
    );
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1));
}
