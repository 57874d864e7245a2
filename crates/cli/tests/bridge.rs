//! `epgt train gym:...` from the outside: it trains, is resumed and evaluated; failures are told and leave nothing
//! behind.
//!
//! The variable EPGT_PYTHON names a Python interpreter that has Gymnasium; without it the tests are ignored.

mod common;

use common::Place;
use epgt_testing::needs;

/// A place with the environment of the README, and one that fails when told to.
fn place() -> Place {
    let place = Place::new();
    assert!(common::corridor().lines().count() <= 30);
    place.write("corridor.py", common::corridor());
    place.write(
        "failing.py",
        "import gymnasium\n\
         from corridor import Corridor\n\
         print('what is printed while it is imported')\n\
         class Failing(Corridor):\n\
         \x20   def __init__(self, at):\n\
         \x20       super().__init__()\n\
         \x20       self.left = at\n\
         \x20   def step(self, action):\n\
         \x20       self.left -= 1\n\
         \x20       if self.left == 0:\n\
         \x20           raise RuntimeError('no more')\n\
         \x20       return super().step(action)\n\
         gymnasium.register('Failing-v0', Failing)\n",
    );
    place
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

#[needs(python)]
#[test]
fn the_environment_of_the_readme_trains_twice_to_the_same_policy_and_is_evaluated() {
    let place = place();
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

#[needs(python)]
#[test]
#[cfg(target_os = "linux")]
fn what_workers_compute_is_in_the_cpu_time_of_a_run_and_of_a_measurement() {
    let place = place();
    place.write(
        "busy.py",
        "import time\n\
         from corridor import Corridor\n\
         def work(seconds):\n\
         \x20   begun = time.process_time()\n\
         \x20   while time.process_time() < begun + seconds:\n\
         \x20       pass\n\
         class Busy(Corridor):\n\
         \x20   def __init__(self, start=0.0, step=0.0):\n\
         \x20       super().__init__()\n\
         \x20       self.seconds = step\n\
         \x20       work(start)\n\
         \x20   def step(self, action):\n\
         \x20       work(self.seconds)\n\
         \x20       return super().step(action)\n",
    );
    let cpu_seconds = |arguments: &[&str], settings: &[&str]| {
        let mut arguments = arguments.to_vec();
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let ended = place.run(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        result["cpu_seconds"].as_f64().unwrap()
    };
    let train = [
        "train",
        "gym:busy:Busy",
        "--n-envs",
        "1",
        "--steps",
        "128",
        "--quiet",
        "--json",
    ];
    let settings = [
        "env.start=1.5",
        "ppo.n_steps=64",
        "eval_interval=128",
        "eval_episodes=1",
    ];
    // One worker trains and another evaluates.
    assert!(cpu_seconds(&train, &settings) > 3.0);
    let measure = [
        "bench",
        "gym:busy:Busy",
        "--simulator-only",
        "--n-envs",
        "1",
        "--steps",
        "50",
    ];
    assert!(cpu_seconds(&measure, &["env.step=0.02"]) > 1.0);
}

#[needs(python)]
#[test]
fn an_environment_that_tells_no_limit_is_watched_until_it_cuts_an_episode() {
    let place = place();
    let config = |task: &str, more: &[&str]| {
        let arguments = [&["train", task, "--print-config"], more].concat();
        let ended = place.run(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    };
    // The corridor cuts its episodes after 50 steps, and has no spec that says so.
    let corridor = config("gym:corridor:Corridor", &["--env-arg", "length=40"]);
    assert!(
        corridor.contains("# From the task's properties.\ngamma = 0.9\n"),
        "{corridor}"
    );
    // One that fails while it is watched says so when it is trained.
    let failing = config("gym:failing:Failing", &["--env-arg", "at=3"]);
    assert!(
        failing.contains("# From the task's properties.\ngamma = 0.995\n"),
        "{failing}"
    );
    let declared = config("gym:Pendulum-v1", &[]);
    assert!(
        declared.contains("# From the task's properties.\ngamma = 0.975\n"),
        "{declared}"
    );
}

#[needs(python)]
#[test]
fn a_task_is_described_with_its_options() {
    let place = place();
    let ended = place.run(&["tasks", "gym:Failing-v0", "--import", "failing", "--env-arg", "at=0"]);
    assert!(ended.stdout.contains("observation[0]     0   1"), "{ended:?}");
    assert!(ended.stdout.contains("choice 1"), "{ended:?}");
    let without = place.run(&["tasks", "gym:Failing-v0"]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("NameNotFound"), "{without:?}");
}

#[test]
fn what_is_quoted_in_an_error_is_shown_short_and_clean() {
    let place = Place::new();
    let long = "x".repeat(100_000);
    place.write("long.toml", &format!("task = \"gym:{}\"\n", "x".repeat(10_000_000)));
    place.write("odd.toml", "task = \"gym:a\\u001b[2J\"\n");
    for arguments in [
        &["train", "--config", "long.toml"][..],
        &["train", "--config", "odd.toml"],
        &["tasks", &long],
        &["tasks", "gym:\u{1b}[31m"],
        &["train", "CartPole-v1", "--algo", &long],
        &["train", "CartPole-v1", "--algo", "\u{1b}[31m\u{7}"],
        &["train", "CartPole-v1", "--set", &format!("steps={long}")],
        &["train", "CartPole-v1", "--set", &format!("{long}=1")],
        &["train", "CartPole-v1", "--set", "\u{1b}[31m=1"],
    ] {
        let ended = place.run(arguments);
        ended.is_refused_with(&[]);
        assert!(ended.stderr.len() < 4000, "{} bytes", ended.stderr.len());
        assert!(!ended.stderr.trim_end().contains(char::is_control), "{ended:?}");
    }
}

#[needs(python)]
#[test]
fn an_exception_stops_the_run_with_its_traceback_and_an_intact_checkpoint() {
    let place = place();
    let mut arguments = vec!["train", "gym:Failing-v0", "--import", "failing", "--steps", "10000"];
    arguments.extend(["--env-arg", "at=300", "--set", "checkpoint_interval=256"]);
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

    // The checkpoint is whole: training goes on from it, with environments that begin anew, until they fail again.
    let resumed = place.run(&["train", "--resume", "run", "--quiet"]);
    assert!(
        resumed
            .stderr
            .starts_with("The environments of gym:Failing-v0 begin anew, because"),
        "{resumed:?}"
    );
    assert!(resumed.stderr.contains("stopped after 2048 steps"), "{resumed:?}");
}

#[needs(python)]
#[test]
fn every_kind_of_action_and_images_train() {
    let place = place();
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
