//! The same seed gives the same run, bit for bit: whatever the threads, and whatever stops it on the way.

mod common;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, Place, assert_same_run, task_of};
use epgt_testing::needs;

/// Runs that take a second or so, with more checkpoints than a user would ask for.
const DEFAULT_PRESET: &[&str] = &["--steps", "600000", "--set", "checkpoint_interval=10000"];
const PAPER_PRESET: &[&str] = &[
    "--steps",
    "16000",
    "--preset",
    "paper",
    "--set",
    "checkpoint_interval=400",
];

/// PPO with something of every kind scheduled: minibatches, rollouts, epochs, rates.
const PPO: &[&str] = &[
    "--algo",
    "ppo",
    "--steps",
    "80000",
    "--tune",
    "learning_rate=paper:3,batch_size=64:100:256,gae_lambda=0.9:0.99,n_steps=32:64,n_epochs=3:6",
    "--set",
    "checkpoint_interval=2000",
];

/// ACKTR with its own hyperparameters scheduled.
const ACKTR: &[&str] = &[
    "--algo",
    "acktr",
    "--steps",
    "80000",
    "--tune",
    "learning_rate=paper:3,kl_clip=0.001:0.002:0.003,vf_coef=0.25:0.5:1,inverse_interval=5:10,n_steps=10:20",
    "--set",
    "checkpoint_interval=2000",
];

/// HOOF with other hyperparameters beside the rate.
const HOOF: &[&str] = &[
    "--algo",
    "a2c",
    "--scheduler",
    "hoof",
    "--steps",
    "60000",
    "--tune",
    "learning_rate=paper:7,ent_coef=0:0.02",
    "--set",
    "hoof.rate_candidates=20",
    "--set",
    "checkpoint_interval=2000",
];

/// Meta-gradients of all that they know.
const META_GRADIENT: &[&str] = &[
    "--algo",
    "a2c",
    "--scheduler",
    "meta-gradient",
    "--steps",
    "200000",
    "--tune",
    "learning_rate=paper:7,gamma=0.9:0.999,gae_lambda=0.8:0.99",
    "--set",
    "checkpoint_interval=4000",
];

/// The number after `n` in a sequence that looks random (splitmix64), as a share of 1.
fn share(n: u64) -> f64 {
    let mut x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// Starts a run in `name`, or goes on with it where it has begun.
fn start_or_resume(place: &Place, name: &str, arguments: &[&str]) -> Child {
    let mut all = vec!["train", "--quiet"];
    match place.path(name).join("epgt.json").exists() {
        true => all.extend(["--resume", name]),
        false => {
            all.extend(["--out", name]);
            all.extend(task_of(arguments));
            all.extend(arguments);
        }
    }
    let mut command = place.command(&all);
    command.stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Waits until a run has written so many rows of its hundred of metrics.
fn wait_for_rows(run: &Path, rows: usize) {
    let began = Instant::now();
    let written = || std::fs::read_to_string(run.join("metrics.csv")).map_or(0, |text| text.lines().count());
    while written() <= rows {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{} does not go on",
            run.display()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to a running program and waits for its end.
fn signal(mut child: Child, name: &str) -> Ended {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
    let status = child.wait().expect("the program ends");
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .expect("stderr")
        .read_to_string(&mut stderr)
        .expect("UTF-8");
    Ended {
        code: status.code(),
        stdout: String::new(),
        stderr,
    }
}

/// Kills a run at twenty random moments and compares it with one that was left alone.
fn killed_twenty_times(arguments: &[&str]) {
    let place = Place::new();
    let began = Instant::now();
    let whole = place.train("whole", arguments);
    let longest = began.elapsed().as_secs_f64() / 12.0;
    let mut moments = 0;
    let mut kills = 0;
    while kills < 20 {
        let mut child = start_or_resume(&place, "run", arguments);
        std::thread::sleep(Duration::from_secs_f64(longest * share(moments)));
        moments += 1;
        if child.try_wait().expect("a child").is_some() {
            // It was faster than the first: what is left of the kills goes to another run.
            assert_same_run(&whole, &place.path("run"));
            std::fs::remove_dir_all(place.path("run")).expect("a finished run");
            continue;
        }
        child.kill().expect("a living child");
        child.wait().expect("the program ends");
        kills += 1;
    }
    let end = start_or_resume(&place, "run", arguments)
        .wait_with_output()
        .expect("the program ends");
    assert!(end.status.success(), "{:?}", Ended::of(end));
    assert_same_run(&whole, &place.path("run"));
}

#[test]
fn a_run_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(DEFAULT_PRESET);
}

#[test]
fn the_papers_method_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(PAPER_PRESET);
}

#[test]
fn ppo_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(PPO);
}

#[test]
fn acktr_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(ACKTR);
}

#[test]
fn hoof_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(HOOF);
}

#[test]
fn meta_gradients_killed_twenty_times_resume_to_the_same_policy() {
    killed_twenty_times(META_GRADIENT);
}

/// Settings of a short run on a simulator's task.
fn on_a_simulator(task: &'static str) -> [&'static str; 9] {
    [
        task,
        "--algo",
        "a2c",
        "--steps",
        "48000",
        "--set",
        "checkpoint_interval=2000",
        "--set",
        "eval_episodes=2",
    ]
}

#[test]
fn a_run_on_box2d_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(&on_a_simulator("BipedalWalker-v3"));
}

#[needs(mujoco)]
#[test]
fn a_run_on_mujoco_killed_twenty_times_resumes_to_the_same_policy() {
    killed_twenty_times(&on_a_simulator("HalfCheetah-v5"));
}

#[test]
fn a_run_that_is_interrupted_says_how_to_go_on_and_then_ends_the_same() {
    let place = Place::new();
    // No checkpoint is asked for on the way: the interruption itself must save.
    let arguments = ["--steps", "600000", "--set", "checkpoint_interval=0"];
    let whole = place.train("whole", &arguments);
    let mut run = start_or_resume(&place, "run", &arguments);
    for (name, rows) in [("INT", 20), ("TERM", 40)] {
        wait_for_rows(&place.path("run"), rows);
        let ended = signal(run, name);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(
            ended.stderr.contains("Go on with: epgt train --resume run"),
            "{}",
            ended.stderr
        );
        assert!(!place.path("run/result.json").exists());
        run = start_or_resume(&place, "run", &arguments);
    }
    let end = Ended::of(run.wait_with_output().expect("the program ends"));
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(place.path("run/result.json").exists());
    assert_same_run(&whole, &place.path("run"));
}

#[test]
fn several_seeds_that_are_interrupted_say_how_to_go_on_with_all_of_them() {
    let place = Place::new();
    let arguments = ["--steps", "300000", "--seeds", "3", "--threads", "1"];
    place.train("whole", &arguments);
    let run = start_or_resume(&place, "runs", &arguments);
    wait_for_rows(&place.path("runs/seed-0"), 30);
    let ended = signal(run, "INT");
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(
        lines.last(),
        Some(&"Go on with: epgt train --resume runs"),
        "{}",
        ended.stderr
    );
    let resumed = place.run(&["train", "--quiet", "--resume", "runs"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    for seed in 0..3 {
        let of = |name: &str| place.path(name).join(format!("seed-{seed}"));
        assert_same_run(&of("whole"), &of("runs"));
    }
}

#[test]
fn several_seeds_give_the_same_policies_in_one_thread_and_in_two() {
    let place = Place::new();
    let arguments = ["--steps", "40000", "--seeds", "3", "--threads"];
    let one = place.train("one", &[&arguments[..], &["1"]].concat());
    let two = place.train("two", &[&arguments[..], &["2"]].concat());
    for seed in 0..3 {
        let directory = format!("seed-{seed}");
        assert_same_run(&one.join(&directory), &two.join(&directory));
        let alone = place.train(
            &format!("alone-{seed}"),
            &["--steps", "40000", "--seed", &seed.to_string()],
        );
        assert_same_run(&one.join(&directory), &alone);
    }
}

#[test]
fn every_scheduler_of_both_presets_repeats_itself_and_differs_by_seed() {
    let place = Place::new();
    for preset in ["default", "paper"] {
        for scheduler in [
            "epgt",
            "fixed",
            "random",
            "bandit",
            "dqn",
            "lrrl",
            "ultho",
            "hoof",
            "meta-gradient",
        ] {
            let train = |name: &str, seed: &str| {
                let name = format!("{preset}-{scheduler}-{name}");
                let choices = ["--preset", preset, "--scheduler", scheduler];
                place.train(&name, &[&choices[..], &["--steps", "8000", "--seed", seed]].concat())
            };
            let (first, second, other) = (train("first", "5"), train("second", "5"), train("other", "6"));
            assert_same_run(&first, &second);
            let policy = |run: &Path| std::fs::read(run.join("last.safetensors")).unwrap();
            assert!(
                policy(&first) != policy(&other),
                "{preset} {scheduler}: the seed changes nothing"
            );
        }
    }
}
