//! `epgt train gym:...` from the outside: it trains, is resumed and evaluated; failures are told and leave nothing behind.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it the tests say that they are skipped.

mod common;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Place;

/// A place with the environment of the documentation, and one that fails when told to.
fn place() -> Option<Place> {
    if std::env::var_os("EPGT_PYTHON").is_none_or(|name| name.is_empty()) {
        eprintln!("skipped: EPGT_PYTHON names no Python with Gymnasium");
        return None;
    }
    let place = Place::new();
    let page = include_str!("../../../docs/bridge.md");
    let code = page
        .split("```python\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    assert!(code.lines().count() <= 30);
    place.write("corridor.py", code);
    place.write(
        "failing.py",
        "import os, time, gymnasium\n\
         from corridor import Corridor\n\
         print('what is printed while it is imported')\n\
         class Failing(Corridor):\n\
         \x20   def __init__(self, fault, at):\n\
         \x20       super().__init__()\n\
         \x20       self.fault, self.left = fault, at\n\
         \x20       open('pids', 'a').write(f'{os.getpid()}\\n')\n\
         \x20   def step(self, action):\n\
         \x20       self.left -= 1\n\
         \x20       if self.left == 0 and self.fault == 'hang':\n\
         \x20           open('hanging', 'w').write('now')\n\
         \x20           time.sleep(1000)\n\
         \x20       if self.left == 0 and self.fault == 'raise':\n\
         \x20           raise RuntimeError('no more')\n\
         \x20       return super().step(action)\n\
         gymnasium.register('Failing-v0', Failing)\n",
    );
    Some(place)
}

const SHORT: [&str; 8] = [
    "--n-envs",
    "4",
    "--quiet",
    "--set",
    "eval_interval=0",
    "--set",
    "ppo.n_steps=64",
    "--out",
];

fn shared_memory() -> BTreeSet<String> {
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect()
}

/// The workers that an environment of the place ran in, and whether each still lives.
fn none_lives(place: &Place) {
    let pids = std::fs::read_to_string(place.path("pids")).unwrap();
    assert!(!pids.is_empty());
    let begun = Instant::now();
    for pid in pids.lines() {
        let stat = format!("/proc/{pid}/cmdline");
        while std::fs::read_to_string(&stat).is_ok_and(|command| command.contains("\0-u\0-\0")) {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "the worker {pid} has outlived the program"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_environment_of_the_documentation_trains_twice_to_the_same_policy_and_is_evaluated() {
    let Some(place) = place() else { return };
    let train = |out: &str| {
        let mut arguments = vec![
            "train",
            "gym:corridor:Corridor",
            "--env-arg",
            "length=4",
            "--steps",
            "12000",
        ];
        arguments.extend([
            "--algo",
            "a2c",
            "--set",
            "eval_interval=12000",
            "--json",
            "--quiet",
            "--out",
            out,
        ]);
        let ended = place.run(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str::<serde_json::Value>(&ended.stdout).unwrap()
    };
    let (first, second) = (train("one"), train("two"));
    assert_eq!(first["policy_sha256"], second["policy_sha256"]);
    // From the middle of 4 places the end is 2.5 steps away: 1 - 0.15 on average.
    assert!(first["return_last_100"].as_f64().unwrap() > 0.7, "{first}");
    let ended = place.run(&["eval", "one", "--episodes", "10", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(report["mean_return"].as_f64().unwrap() > 0.7, "{report}");
    assert_eq!(report["env"]["length"], "4");
}

#[test]
fn a_task_is_described_with_its_options() {
    let Some(place) = place() else { return };
    let ended = place.run(&[
        "tasks",
        "gym:Failing-v0",
        "--import",
        "failing",
        "--env-arg",
        "fault=no",
        "--env-arg",
        "at=0",
    ]);
    assert!(ended.stdout.contains("observation[0]     0   1"), "{ended:?}");
    assert!(ended.stdout.contains("choice 1"), "{ended:?}");
    let without = place.run(&["tasks", "gym:Failing-v0"]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("NameNotFound"), "{without:?}");
}

#[test]
fn an_exception_stops_the_run_with_its_traceback_and_an_intact_checkpoint() {
    let Some(place) = place() else { return };
    let before = shared_memory();
    let mut arguments = vec!["train", "gym:Failing-v0", "--import", "failing", "--steps", "10000"];
    arguments.extend([
        "--env-arg",
        "fault=raise",
        "--env-arg",
        "at=300",
        "--set",
        "checkpoint_interval=256",
    ]);
    arguments.extend(SHORT);
    arguments.push("run");
    let ended = place.run(&arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let first = ended.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("epgt: stopped after 1024 steps: gym:Failing-v0: environment 0 raised RuntimeError"),
        "{ended:?}"
    );
    assert!(
        first.ends_with("in step 300: no more; the last good checkpoint is in run"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("Traceback (most recent call last)"), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("What it printed last:\nwhat is printed while it is imported"),
        "{ended:?}"
    );
    assert_eq!(ended.stdout, "");
    none_lives(&place);
    assert_eq!(shared_memory(), before);

    // The checkpoint is whole: training goes on from it, with environments that begin anew, until they fail again.
    let resumed = place.run(&["train", "--resume", "run", "--quiet"]);
    assert!(
        resumed
            .stderr
            .starts_with("The environments of gym:Failing-v0 begin anew, because"),
        "{resumed:?}"
    );
    assert!(resumed.stderr.contains("stopped after 2048 steps"), "{resumed:?}");
    none_lives(&place);
}

#[test]
fn no_worker_outlives_a_program_that_is_killed() {
    let Some(place) = place() else { return };
    let before = shared_memory();
    for round in 0..4u64 {
        let hangs = round % 2 == 0;
        let _ = std::fs::remove_file(place.path("hanging"));
        let _ = std::fs::remove_file(place.path("pids"));
        let at = if hangs { "at=40" } else { "at=-1" };
        let mut arguments = vec![
            "train",
            "gym:Failing-v0",
            "--import",
            "failing",
            "--steps",
            "1e9",
            "--force",
        ];
        arguments.extend(["--env-arg", "fault=hang", "--env-arg", at]);
        arguments.extend(SHORT);
        let out = format!("run{round}");
        arguments.push(&out);
        let mut program = place.command(&arguments).stderr(Stdio::null()).spawn().unwrap();
        let metrics = if hangs {
            place.path("hanging")
        } else {
            place.path(&format!("{out}/metrics.csv"))
        };
        let begun = Instant::now();
        while !metrics.exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it did not come so far");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(20 * round));
        program.kill().unwrap();
        program.wait().unwrap();
        none_lives(&place);
    }
    assert_eq!(shared_memory(), before);
}

#[test]
fn a_worker_that_hangs_is_given_up_after_its_time() {
    let Some(place) = place() else { return };
    let mut arguments = vec![
        "train",
        "gym:failing:Failing",
        "--steps",
        "10000",
        "--env-arg",
        "bridge_timeout=1",
    ];
    arguments.extend(["--env-arg", "fault=hang", "--env-arg", "at=10"]);
    arguments.extend(SHORT);
    arguments.push("run");
    let ended = place.run(&arguments);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stderr
            .contains("the worker of gym:failing:Failing did not answer within 1 seconds"),
        "{ended:?}"
    );
    none_lives(&place);
}

#[test]
fn every_kind_of_action_and_images_train() {
    let Some(place) = place() else { return };
    place.write(
        "kinds.py",
        "import gymnasium, numpy as np\n\
         from gymnasium import spaces\n\
         class Kind(gymnasium.Env):\n\
         \x20   def __init__(self, actions='choices', image=False):\n\
         \x20       box = spaces.Box(np.float32([-1, 0]), np.float32([1, 3]))\n\
         \x20       self.action_space = spaces.MultiDiscrete([2, 3]) if actions == 'choices' else box\n\
         \x20       bytes = spaces.Box(0, 255, (12, 12), np.uint8)\n\
         \x20       self.observation_space = bytes if image else spaces.Box(-1, 1, (2,))\n\
         \x20   def reset(self, *, seed=None, options=None):\n\
         \x20       super().reset(seed=seed)\n\
         \x20       self.steps = 0\n\
         \x20       return self.observation_space.low, {}\n\
         \x20   def step(self, action):\n\
         \x20       assert self.action_space.contains(action)\n\
         \x20       self.steps += 1\n\
         \x20       return self.observation_space.low, float(action[0] == 1) + float(action[1] == 2), False, self.steps == 8, {}\n",
    );
    let small = [
        "--policy",
        "conv_channels=4",
        "--policy",
        "conv_kernels=4",
        "--policy",
        "conv_strides=4",
    ];
    for (name, options, more) in [
        ("choices", ["actions=choices", "image=false"], &["--steps", "12000"][..]),
        (
            "numbers",
            ["actions=numbers", "image=false"],
            &["--steps", "1000", "--policy", "squash=true"],
        ),
        (
            "images",
            ["actions=choices", "image=true"],
            &["--steps", "1000", "--policy", "image_hidden=8"],
        ),
    ] {
        let mut arguments = vec!["train", "gym:kinds:Kind", "--algo", "a2c", "--json"];
        options
            .iter()
            .for_each(|option| arguments.extend(["--env-arg", option]));
        arguments.extend(small);
        arguments.extend(more);
        arguments.extend(SHORT.iter().filter(|word| !word.starts_with("ppo")).take(5));
        arguments.extend(["--out", name]);
        let ended = place.run(&arguments);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        if name == "choices" {
            let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            // Chance earns 8 * (1/2 + 1/3) = 6.7, and both choices right 16.
            assert!(result["return_last_100"].as_f64().unwrap() > 12.0, "{result}");
        }
    }
    let squash = place.run(&["train", "gym:kinds:Kind", "--policy", "squash=true"]);
    assert!(
        squash.stderr.contains("it needs continuous actions with finite bounds"),
        "{squash:?}"
    );
}
