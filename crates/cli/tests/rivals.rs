//! The schedulers that choose by rules of their own, `lrrl` and `ultho`, through the program.

mod common;

use std::time::Duration;

use common::{Place, assert_same_run};

/// 40 steps an update, and a decision every 50 updates.
const SHAPE: &[&str] = &["--n-envs", "8", "--set", "a2c.n_steps=5", "--set", "hyper.hold=50"];

/// The fields of a column of a run's decisions.
fn column(run: &std::path::Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(run.join("decisions.csv")).expect("decisions");
    let mut lines = text.lines();
    let place = lines
        .next()
        .and_then(|header| header.split(',').position(|column| column == name));
    let place = place.expect("the column");
    lines
        .map(|line| line.split(',').nth(place).expect("a field").to_string())
        .collect()
}

#[test]
fn lrrl_logs_the_probabilities_it_draws_by_and_explains_them() {
    let place = Place::new();
    let choices = [
        "--steps",
        "60000",
        "--scheduler",
        "lrrl",
        "--tune",
        "learning_rate=paper:7",
    ];
    let run = place.train("run", &[SHAPE, &choices].concat());
    assert!(column(&run, "choice").iter().all(|choice| choice == "own"));
    for row in column(&run, "q_values") {
        let probabilities: Vec<f64> = row.split(';').map(|p| p.parse().expect("a number")).collect();
        assert_eq!(probabilities.len(), 5);
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{row}");
    }
    let overview = place.run(&["explain", "run"]);
    assert_eq!(overview.code, Some(0), "{overview:?}");
    for part in ["all by its own rule", "its probability", "drawn by these probabilities"] {
        assert!(
            overview.stdout.contains(part),
            "'{part}' is missing in\n{}",
            overview.stdout
        );
    }
}

#[test]
fn ultho_logs_the_bounds_of_values_and_hyperparameters_and_explains_them() {
    let place = Place::new();
    let tune = "learning_rate=paper:3,ent_coef=0:0.01";
    let choices = ["--steps", "60000", "--scheduler", "ultho", "--tune", tune];
    let run = place.train("run", &[SHAPE, &choices].concat());
    // Three rates, two coefficients, two hyperparameters.
    assert!(column(&run, "q_values").iter().all(|row| row.split(';').count() == 7));
    for arguments in [&["explain", "run"][..], &["explain", "run", "--update", "700"]] {
        let told = place.run(arguments);
        assert_eq!(told.code, Some(0), "{told:?}");
        for part in [
            "upper confidence bound",
            "of moving each hyperparameter",
            "What it chose",
        ] {
            assert!(told.stdout.contains(part), "'{part}' is missing in\n{}", told.stdout);
        }
    }
}

#[test]
fn lrrl_refuses_to_schedule_anything_but_the_learning_rate() {
    let place = Place::new();
    let ended = place.run(&[
        "train",
        "CartPole-v1",
        "--scheduler",
        "lrrl",
        "--tune",
        "learning_rate=paper:3,ent_coef=0:0.01",
    ]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("lrrl schedules learning_rate alone, not ent_coef"),
        "{}",
        ended.stderr
    );
}

#[test]
fn runs_that_were_killed_resume_to_the_same_policy() {
    let place = Place::new();
    let steps = ["--steps", "200000", "--set", "checkpoint_interval=5000"];
    let cases = [
        ("lrrl", "learning_rate=paper:5"),
        ("ultho", "learning_rate=paper:5,ent_coef=0:0.01"),
    ];
    for (scheduler, tune) in cases {
        let choices = [SHAPE, &steps, &["--scheduler", scheduler, "--tune", tune]].concat();
        let whole = place.train(&format!("{scheduler}-whole"), &choices);
        let name = format!("{scheduler}-killed");
        let start = [&["train", "CartPole-v1", "--quiet", "--out", &name], &choices[..]].concat();
        let resume = ["train", "--quiet", "--resume", &name];
        let mut kills = 0;
        loop {
            let begun = place.path(&name).join("config.toml").exists();
            let mut command = place.command(if begun { &resume } else { &start });
            let mut child = command.spawn().expect("the program starts");
            std::thread::sleep(Duration::from_millis(40 * (kills + 1)));
            if let Some(status) = child.try_wait().expect("a child") {
                assert!(status.success(), "{scheduler} ended with {status}");
                break;
            }
            child.kill().expect("a living child");
            child.wait().expect("the program ends");
            kills += 1;
        }
        assert!(kills > 1, "{scheduler} was killed {kills} times");
        assert_same_run(&whole, &place.path(&name));
    }
}
