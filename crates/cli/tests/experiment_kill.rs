//! An experiment is the same whatever stops it, and however many processes make it.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::Place;

const SMALL: &str = r#"
description = "Small enough to be killed ten times."
seeds = 3
score = "best_checkpoint"

[settings]
steps = 60_000
eval_interval = 0
best_by = "training"
final_episodes = 10
checkpoint_interval = 2000

[[task]]
task = "CartPole-v1"

[[method]]
name = "fixed"
scheduler = "fixed"

[[method]]
name = "epgt"
scheduler = "epgt"
"#;

/// The number after `n` in a sequence that looks random (splitmix64), as a share of 1.
fn share(n: u64) -> f64 {
    let mut x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1u64 << 53) as f64
}

fn start(place: &Place, out: &str, more: &[&str]) -> Child {
    let mut arguments = vec!["experiment", "run", "small.toml", "--out", out];
    arguments.extend(more);
    let mut command = place.command(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// The report but for what is a matter of the machine: `results.md` whole, and `results.csv` up to the times.
fn report(out: &Path) -> (String, String) {
    let page = fs::read_to_string(out.join("results.md")).unwrap();
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    let wall = csv
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "wall_seconds");
    let keep = |line: &str| line.split(',').take(wall.unwrap()).collect::<Vec<_>>().join(",");
    (page, csv.lines().map(keep).collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_experiment_killed_ten_times_ends_with_the_same_report() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let began = Instant::now();
    let whole = start(&place, "whole", &["-q"]).wait_with_output().unwrap();
    assert!(whole.status.success(), "{whole:?}");
    let longest = began.elapsed().as_secs_f64() / 5.0;
    let mut kills = 0;
    let mut moments = 0;
    while kills < 10 {
        let mut child = start(&place, "killed", &["-q"]);
        std::thread::sleep(Duration::from_secs_f64(longest * share(moments)));
        moments += 1;
        if child.try_wait().unwrap().is_some() {
            // It was faster than the first: what is left of the kills goes to another one.
            assert_eq!(report(&place.path("killed")), report(&place.path("whole")));
            fs::remove_dir_all(place.path("killed")).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    let end = start(&place, "killed", &["-q"]).wait_with_output().unwrap();
    assert!(end.status.success(), "{end:?}");
    assert_eq!(report(&place.path("killed")), report(&place.path("whole")));
}

#[test]
fn processes_that_run_the_same_experiment_share_it() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    start(&place, "alone", &["-q"]).wait_with_output().unwrap();
    let children: Vec<Child> = (0..3).map(|_| start(&place, "shared", &["--jobs", "1"])).collect();
    let mut made = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        made += told
            .lines()
            .filter(|line| line.contains(" in ") && line.contains("seed "))
            .count();
    }
    assert_eq!(made, 6, "every run is made once");
    assert_eq!(report(&place.path("shared")), report(&place.path("alone")));
}

#[test]
fn a_run_that_another_process_is_at_is_skipped_and_said_to_be() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let directory = place.path("held/CartPole-v1/fixed/seed-0");
    fs::create_dir_all(&directory).unwrap();
    let held = fs::File::open(&directory).unwrap();
    held.try_lock().unwrap();
    let output = start(&place, "held", &["--only", "method=fixed"])
        .wait_with_output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("1 of 3 runs were skipped, since another process is making them."),
        "{told}"
    );
    let status = place
        .run(&["experiment", "status", "small.toml", "--out", "held"])
        .stdout;
    let fixed = status.lines().find(|line| line.contains("fixed")).unwrap();
    let words: Vec<&str> = fixed.split_whitespace().collect();
    assert_eq!(words[2..7], ["2", "of", "3", "1", "(0%)"], "{status}");
    drop(held);
    let output = start(&place, "held", &["--only", "method=fixed"])
        .wait_with_output()
        .unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("3 of 3 runs done"));
}

#[test]
fn an_experiment_that_is_asked_to_stop_says_how_to_go_on() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let child = start(&place, "my runs", &["--jobs", "1", "--only", "method=epgt"]);
    let first = place.path("my runs/CartPole-v1/epgt/seed-0/metrics.csv");
    let began = Instant::now();
    while !first.exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let asked = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(130), 0),
        "{output:?}"
    );
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("Stopped and saved, 0 of 3 runs done."), "{told}");
    let command = "epgt experiment run small.toml --only method=epgt --out 'my runs'\n";
    assert!(told.ends_with(&format!("Go on with: {command}")), "{told}");
    assert!(!place.path("my runs/results.md").exists());
}
