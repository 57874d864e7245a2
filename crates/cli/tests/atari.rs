//! Atari's games from the outside: they are found, trained, resumed, evaluated and compared; what is missing is told in
//! a sentence.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has ale-py; without it the tests that play are ignored.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Ended, Place, files};
use epgt_testing::needs;

/// Two short games at a time, seen through a small network.
const SMALL: &str = "ppo.n_steps=16 ppo.batch_size=16 ppo.n_epochs=1 policy.conv_channels=4,4 policy.conv_kernels=8,4 \
    policy.conv_strides=4,2 policy.image_hidden=16 eval_interval=0 n_envs=2";

fn small<'a>(first: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = first.to_vec();
    arguments.extend(["--env-arg", "max_num_frames_per_episode=80", "--quiet"]);
    arguments.extend(SMALL.split_whitespace().flat_map(|setting| ["--set", setting]));
    arguments
}

/// The program where neither ale-py nor a Python is named.
fn bare(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command
        .env("XDG_CACHE_HOME", place.path("cache"))
        .env_remove("EPGT_PYTHON");
    command
}

fn run(mut command: Command) -> Ended {
    Ended::of(command.output().expect("the program starts"))
}

fn json(ended: &Ended) -> serde_json::Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn games_are_listed_described_and_configured_without_a_python() {
    let place = Place::new();
    let listed = run(bare(&place, &["tasks"])).stdout;
    assert!(
        listed.contains("GAMENoFrameskip-v4, or ALE/GAME-v5 with sticky"),
        "{listed}"
    );
    assert!(
        listed.contains(" MontezumaRevenge ") && listed.lines().count() < 70,
        "{listed}"
    );
    let described = run(bare(
        &place,
        &["tasks", "ALE/Breakout-v5", "--env-arg", "full_action_space=true"],
    ))
    .stdout;
    assert!(
        described.contains("4 channels (first), 84 rows, 84 columns"),
        "{described}"
    );
    assert!(described.contains("17  down, left and fire"), "{described}");
    assert!(
        described.contains("0 is random play, 1.7; 1 is a human, 31.8"),
        "{described}"
    );
    let printed = run(bare(&place, &["train", "PongNoFrameskip-v4", "--print-config"])).stdout;
    for line in [
        "n_envs = 8",
        "sign_rewards = true",
        "clip_range = 0.1",
        "repeat_action_probability = 0.0",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_told_in_a_sentence() {
    let place = Place::new();
    run(bare(&place, &["train", "PongNoFrameskip-v4", "--out", "run"])).is_refused_with(&[
        "PongNoFrameskip-v4 needs ale-py 0.12.1",
        "get it with `epgt setup atari`",
    ]);
    assert!(!place.path("run").exists());
    for (id, meant) in [
        ("PnogNoFrameskip-v4", "PongNoFrameskip-v4"),
        ("ALE/SpaceInvader-v5", "ALE/SpaceInvaders-v5"),
        ("Breakout-v4", "BreakoutNoFrameskip-v4"),
    ] {
        let meant = format!("did you mean '{meant}'?");
        run(bare(&place, &["train", id])).is_refused_with(&["unknown task", &meant]);
    }
    let typo = ["train", "PongNoFrameskip-v4", "--env-arg", "noop_mx=3"];
    run(bare(&place, &typo)).is_refused_with(&["did you mean 'noop_max'?"]);
}

/// A Python whose virtual environments are copies of itself, and whose pip writes down what it was asked for.
const PYTHON: &str = r#"#!/usr/bin/env bash
case "$2" in
venv) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
pip) shift 2; echo "$@" >> "$ASKED"; [ -z "$FAILS" ] || { echo "ERROR: no such package" >&2; exit 1; } ;;
esac
"#;

#[test]
fn setup_makes_a_virtual_environment_once_and_tells_why_it_cannot() {
    let place = Place::new();
    let python = place.write("python", PYTHON);
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).expect("an executable");
    let setup = |fails: &str| {
        let mut command = bare(&place, &["setup", "atari", "--yes"]);
        command.env("EPGT_PYTHON", &python).env("FAILS", fails);
        run({
            command.env("ASKED", place.path("asked"));
            command
        })
    };
    let failed = setup("yes");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.stderr.contains("ale-py could not be installed into"),
        "{failed:?}"
    );
    assert!(failed.stderr.contains("ERROR: no such package"), "{failed:?}");
    run(bare(&place, &["train", "PongNoFrameskip-v4"])).is_refused_with(&["epgt setup atari"]);
    let made = setup("");
    assert!(made.stdout.starts_with("ale-py 0.12.1 is in "), "{made:?}");
    let again = setup("");
    assert!(again.stdout.starts_with("ale-py 0.12.1 is already in "), "{again:?}");
    let asked = std::fs::read_to_string(place.path("asked")).unwrap();
    let line = "install --quiet --disable-pip-version-check ale-py==0.12.1 gymnasium==1.4.0 numpy==2.4.6\n";
    assert_eq!(asked, line.repeat(2));
    // It is used: this one does nothing, so that its worker is gone at once.
    let arguments = small(&["train", "PongNoFrameskip-v4", "--steps", "64"]);
    let used = run(bare(&place, &arguments));
    assert!(
        used.stderr.contains("the worker of PongNoFrameskip-v4 ended by itself"),
        "{used:?}"
    );
}

#[needs(ale_py)]
#[test]
fn a_python_without_ale_py_is_told() {
    let place = Place::new();
    let mut command = place.command(&small(&["train", "PongNoFrameskip-v4", "--steps", "64"]));
    // Python runs this first, and finds nothing by a name that has nothing.
    place.write("sitecustomize.py", "import sys\nsys.modules['ale_py'] = None\n");
    command.env("PYTHONPATH", {
        let before = std::env::var("PYTHONPATH").unwrap_or_default();
        format!("{}:{before}", place.path("").display())
    });
    run(command).is_refused_with(&[
        "has no package ale-py 0.12",
        "`epgt setup atari` makes a Python that has it",
    ]);
}

#[needs(ale_py)]
#[test]
fn a_game_is_trained_twice_to_the_same_policy_and_evaluated() {
    let place = Place::new();
    let train = |out: &str| {
        let first = ["train", "ALE/Pong-v5", "--steps", "128", "--json", "--out", out];
        json(&place.run(&small(&first)))
    };
    let (one, two) = (train("one"), train("two"));
    assert_eq!(one["policy_sha256"], two["policy_sha256"]);
    // Games of 20 steps in two environments of 64.
    assert_eq!((&one["episodes"], &one["steps"]), (&6.into(), &128.into()));
    let score = one["return_last_100"].as_f64().unwrap();
    let normalised = one["human_normalised"].as_f64().unwrap();
    assert!((normalised - (score + 20.7) / 30.0).abs() < 1e-9, "{one}");
    let metrics = std::fs::read_to_string(place.path("one/metrics.csv")).unwrap();
    assert!(metrics.lines().next().unwrap().contains("rollout/human_normalised"));
    let report = json(&place.run(&["eval", "one", "--episodes", "2", "--json"]));
    assert_eq!(report["mean_length"], 20.0);
    assert!(report["human_normalised"].as_f64().is_some(), "{report}");
    let line = place.run(&["eval", "one", "--episodes", "1"]).stdout;
    assert!(line.contains("human-normalised 0."), "{line}");
}

/// Waits until a file is there and is not this.
fn changed(path: &Path, before: &[u8], child: &mut Child) -> Vec<u8> {
    let begun = Instant::now();
    loop {
        match std::fs::read(path) {
            Ok(now) if now != before => return now,
            _ => assert!(
                begun.elapsed() < Duration::from_secs(60),
                "no checkpoint: {:?}",
                child.try_wait()
            ),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[needs(ale_py)]
#[test]
fn a_run_that_was_killed_is_resumed() {
    let place = Place::new();
    let first = [
        "train",
        "BreakoutNoFrameskip-v4",
        "--steps",
        "1e6",
        "--set",
        "checkpoint_interval=64",
        "--out",
        "run",
    ];
    let checkpoint = place.path("run/checkpoint.bin");
    let mut child = place.command(&small(&first)).spawn().unwrap();
    let before = changed(&checkpoint, &[], &mut child);
    child.kill().and_then(|()| child.wait()).unwrap();
    let before = std::fs::read(&checkpoint).unwrap_or(before);
    let mut child = place.command(&["train", "--resume", "run"]).spawn().unwrap();
    changed(&checkpoint, &before, &mut child);
    child.kill().and_then(|()| child.wait()).unwrap();
    let report = json(&place.run(&["eval", "run", "--last", "--episodes", "1", "--json"]));
    assert_eq!(report["task"], "BreakoutNoFrameskip-v4");
}

#[needs(ale_py)]
#[test]
fn an_experiment_keeps_each_task_in_one_directory_and_compares_human_normalised_scores() {
    let place = Place::new();
    let settings: String = SMALL
        .split_whitespace()
        .map(|setting| {
            let (key, value) = setting.split_once('=').unwrap();
            match value.contains(',') {
                true => format!("{key} = [{value}]\n"),
                false => format!("{key} = {value}\n"),
            }
        })
        .collect();
    place.write(
        "games.toml",
        &format!(
            "seeds = 1\nscore = \"human_normalised\"\n[settings]\nsteps = 64\nalgo = \"ppo\"\nenv.max_num_frames_per_episode = 80\n{settings}\
             [[task]]\ntask = \"ALE/Pong-v5\"\n[[method]]\nname = \"fixed\"\nscheduler = \"fixed\"\n"
        ),
    );
    let ended = place.run(&["experiment", "run", "games.toml", "--out", "out", "-q"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(place.path("out/ALE-Pong-v5/fixed/seed-0/result.json").exists());
    assert!(ended.stdout.contains("ALE/Pong-v5, human_normalised"), "{ended:?}");
    let rows = std::fs::read_to_string(place.path("out/results.csv")).unwrap();
    assert!(
        rows.lines().nth(1).unwrap().starts_with("ALE/Pong-v5,fixed,0,"),
        "{rows}"
    );
    let ended = place.run(&["report", "out", "--out", "page.html"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    // Sixty-four steps are fewer than a hundred episodes, and the page says how many there were.
    assert!(page.contains("human-normalised score of the last ") && !page.contains("score of the last 100"));
    let written = files(&place.path(""));
    let tables: Vec<&String> = written
        .keys()
        .filter(|name| name.contains("scores-human-normalised"))
        .collect();
    assert!(
        !tables.is_empty() && tables.iter().all(|name| !name.contains("ALE/")),
        "{tables:?}"
    );
}
