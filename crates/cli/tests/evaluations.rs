//! Evaluations: they can be stopped, end whatever the environment does, say so, and play the policy that is meant.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Place;
use epgt_testing::needs;

/// Asks a process to stop, as Ctrl-C does.
fn interrupt(id: u32) {
    let sent = Command::new("kill").args(["-INT", &id.to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

#[test]
fn ctrl_c_stops_an_evaluation_at_once_and_the_run_ends_as_if_nothing_had_happened() {
    let place = Place::new();
    // The first evaluation alone would take a long time.
    let endless = ["--set", "eval_interval=1000", "--set", "eval_episodes=100000"];
    let mut all = vec!["train", "Pendulum-v1", "--steps", "2000", "--out", "run"];
    all.extend(endless);
    let mut child = place
        .command(&all)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let began = Instant::now();
    while !place.path("run").join("metrics.csv").exists() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    // 1000 steps are trained in milliseconds.
    std::thread::sleep(Duration::from_millis(700));
    interrupt(child.id());
    let asked = Instant::now();
    let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let told = lines
        .by_ref()
        .map(|line| line.expect("UTF-8"))
        .any(|line| line.contains("stopping ..."));
    assert!(told);
    let rest: Vec<String> = lines.map(|line| line.expect("UTF-8")).collect();
    let status = child.wait().expect("the program ends");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(status.code(), Some(130));
    assert!(
        rest.iter()
            .any(|line| line.contains("Go on with: epgt train --resume run")),
        "{rest:?}"
    );
    assert!(
        !place.path("run").join("best.safetensors").exists(),
        "no evaluation was finished"
    );
}

#[test]
fn ctrl_c_stops_eval_at_once() {
    let place = Place::new();
    let run = place.train("run", &["--steps", "2000"]);
    let all = ["eval", run.to_str().expect("UTF-8"), "--episodes", "10000000"];
    let child = place
        .command(&all)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_millis(500));
    interrupt(child.id());
    let output = child.wait_with_output().expect("the program ends");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("stopping ...") && stderr.contains("of 10000000 episodes"),
        "{stderr}"
    );
}

/// An environment whose episodes never end.
const ENDLESS: &str = "
import gymnasium, numpy

class Endless(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        return numpy.zeros(1, numpy.float32), 1.0, False, False, {}
";

#[needs(python)]
#[test]
fn episodes_that_never_end_are_cut_and_told_of() {
    let place = Place::new();
    place.write("endless.py", ENDLESS);
    let limit = ["--set", "eval_max_steps=300", "--set", "ppo.n_steps=64", "--quiet"];
    let mut all = vec!["train", "gym:endless:Endless", "--steps", "4096", "--out", "run"];
    all.extend(limit);
    let ended = place.run(&all);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sentence = "evaluated episodes had not ended after 300 steps";
    assert_eq!(ended.stderr.matches(sentence).count(), 1, "{ended:?}");
    let ended = place.run(&["eval", "run", "--episodes", "3", "--max-steps", "50", "--json"]);
    assert!(
        ended
            .stderr
            .contains("3 of 3 evaluated episodes had not ended after 50 steps"),
        "{ended:?}"
    );
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (report["mean_return"].as_f64(), report["episodes_cut"].as_u64()),
        (Some(50.0), Some(3))
    );
}

#[test]
fn evaluations_of_a_short_run_take_no_more_steps_than_their_share() {
    let place = Place::new();
    let run = place.path("run");
    let all = [
        "train",
        "MountainCarContinuous-v0",
        "--steps",
        "8000",
        // What an evaluation costs is foretold from the episodes of training, which are as long with this.
        "--set",
        "step_control=rate",
        "--quiet",
        "--out",
        "run",
    ];
    assert_eq!(place.run(&all).code, Some(0));
    let table = epgt_train::table::read_csv(run.join("metrics.csv")).expect("metrics");
    let column = |name: &str| table.numbers(name).expect("a column");
    let steps: f64 = column("eval/mean_ep_length")
        .iter()
        .zip(column("eval/episodes"))
        .filter(|(length, _)| length.is_finite())
        .map(|(length, episodes)| length * episodes)
        .sum();
    assert!(steps > 0.0 && steps <= 0.25 * 8000.0 + 999.0, "{steps}");
}

#[test]
fn eval_plays_no_other_policy_than_the_one_that_the_run_has_kept() {
    let place = Place::new();
    let run = place.train("run", &["--steps", "4000"]);
    let best = run.join("best.safetensors");
    let bytes = std::fs::read(&best).expect("a policy");
    std::fs::remove_file(&best).expect("it can be removed");
    let eval = |more: &[&str]| place.run(&[&["eval", "run", "--episodes", "2"], more].concat());
    eval(&[]).is_refused_with(&["best.safetensors is missing", "--resume", "--last"]);
    assert_eq!(eval(&["--last"]).code, Some(0));
    std::fs::write(&best, &bytes[..bytes.len() - 5]).expect("it can be written");
    eval(&[]).is_refused_with(&["best.safetensors", "damaged"]);
    let mut altered = bytes.clone();
    altered[bytes.len() - 5] ^= 64;
    std::fs::write(&best, altered).expect("it can be written");
    eval(&[]).is_refused_with(&["best.safetensors", "altered"]);
    let ended = place.run(&["train", "--resume", "run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("best.safetensors was damaged and has been restored"),
        "{ended:?}"
    );
    assert!(std::fs::read(&best).expect("a policy") == bytes);
    assert_eq!(eval(&[]).code, Some(0));
}
