//! What each command prints, where, and that it can be read by a person and by a program.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{Place, files};
use epgt_train::Config;

const RESULT_KEYS: [&str; 18] = [
    "task",
    "algo",
    "scheduler",
    "seed",
    "steps",
    "steps_asked",
    "episodes",
    "return_last_100",
    "best_evaluation",
    "best_checkpoint",
    "steps_per_second",
    "wall_seconds",
    "cpu_seconds",
    "peak_memory_mb",
    "policy_sha256",
    "best_policy_sha256",
    "hyper_seconds",
    "directory",
];

/// The digest of a policy file as another program counts it: the SHA-256 of the file without the entry that carries it.
/// `None` where there is no Python.
fn digest_by_python(path: &std::path::Path) -> Option<String> {
    const COUNT: &str = r#"
import hashlib, json, struct, sys
raw = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", raw[:8])
header, tensors = json.loads(raw[8 : 8 + length]), raw[8 + length :]
compact = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
description = json.loads(header["__metadata__"]["epgt"])
carried = description.pop("digest")
header["__metadata__"]["epgt"] = compact(description)
text = compact(header).encode()
text += b" " * (-len(text) % 8)
print(hashlib.sha256(struct.pack("<Q", len(text)) + text + tensors).hexdigest(), carried)
"#;
    let output = Command::new("python3").args(["-c", COUNT]).arg(path).output().ok()?;
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (counted, carried) = text.trim().split_once(' ').expect("two digests");
    assert_eq!(counted, carried);
    Some(counted.to_string())
}

#[test]
fn train_prints_one_json_object_with_the_documented_keys() {
    let place = Place::new();
    let ended = place.run(&["train", "CartPole-v1", "--steps", "20000", "--json", "--out", "run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1);
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let keys: BTreeSet<&str> = result
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, BTreeSet::from(RESULT_KEYS));
    assert_eq!(
        (&result["task"], &result["algo"]),
        (&"CartPole-v1".into(), &"a2c".into())
    );
    assert_eq!((&result["scheduler"], &result["seed"]), (&"epgt".into(), &0.into()));
    // Whole rollouts of 8 x 32.
    assert_eq!(
        (&result["steps"], &result["steps_asked"]),
        (&19_968.into(), &20_000.into())
    );
    for positive in [
        "episodes",
        "return_last_100",
        "best_evaluation",
        "steps_per_second",
        "peak_memory_mb",
    ] {
        assert!(result[positive].as_f64().expect(positive) > 0.0, "{positive}");
    }
    assert!(result["wall_seconds"].as_f64() >= result["cpu_seconds"].as_f64().map(|cpu| 0.5 * cpu));
    for (key, name) in [("policy_sha256", "last"), ("best_policy_sha256", "best")] {
        if let Some(digest) = digest_by_python(&place.path(&format!("run/{name}.safetensors"))) {
            assert_eq!(result[key], digest.as_str());
        }
    }
    // The directory keeps the same object, but for its own name.
    let kept = std::fs::read_to_string(place.path("run/result.json")).expect("result.json");
    let mut kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    kept["directory"] = "run".into();
    assert_eq!(kept, result);
}

#[test]
fn several_seeds_are_one_json_object_too() {
    let place = Place::new();
    let ended = place.run(&[
        "train",
        "CartPole-v1",
        "--steps",
        "8000",
        "--json",
        "--seeds",
        "2",
        "--out",
        "run",
        "-q",
    ]);
    assert_eq!(ended.stderr, "In run\n");
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    let seeds: Vec<&serde_json::Value> = result["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["seed"])
        .collect();
    assert_eq!(seeds, [&serde_json::Value::from(0), &serde_json::Value::from(1)]);
}

#[test]
fn progress_goes_to_stderr_in_plain_lines_and_quiet_means_quiet() {
    let place = Place::new();
    let ended = place.run(&["train", "CartPole-v1", "--steps", "20000", "--out", "run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .starts_with("Training CartPole-v1 with a2c, 8 environments, 19968 of 20000 steps")
    );
    let lasts = ended.stderr.lines().filter(|line| line.starts_with("100%")).count();
    assert_eq!(lasts, 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains('\x1b'), "{}", ended.stderr);
    assert!(ended.stdout.contains("CartPole-v1 seed 0: return "), "{}", ended.stdout);
    let quiet = place.run(&["train", "CartPole-v1", "--steps", "20000", "--quiet", "--out", "quiet"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", "In quiet\n"));
}

#[test]
fn a_run_holds_the_files_that_it_promises_and_no_others() {
    let place = Place::new();
    let run = place.train("run", &["--steps", "20000"]);
    let names: Vec<String> = files(&run).into_keys().collect();
    let expected = [
        "best.safetensors",
        "checkpoint.bin",
        "config.toml",
        "decisions.csv",
        "epgt.json",
        "events.out.tfevents.epgt",
        "last.safetensors",
        "metrics.csv",
        "result.json",
    ];
    assert_eq!(names, expected);
}

#[test]
fn options_of_a_task_go_from_training_into_evaluation() {
    let place = Place::new();
    let train = "train LunarLander-v3 --algo a2c --steps 2000 --quiet --out run --env-arg gravity=-2.5 --env-arg continuous=true";
    let ended = place.run(&train.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let config = std::fs::read_to_string(place.path("run/config.toml")).expect("a configuration");
    assert!(config.contains("[env]\n"), "{config}");
    assert!(config.contains("\ngravity = -2.5\n") && config.contains("\nwind_power = 15.0\n"));
    let ended = place.run(&["eval", "run", "--episodes", "2", "--json", "--video", "moon.gif"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    assert_eq!(report["env"]["gravity"], "-2.5");
    // From the same configuration the same policy.
    let again = ["train", "--config", "run/config.toml", "--out", "again", "--quiet"];
    assert_eq!(place.run(&again).code, Some(0));
    common::assert_same_run(&place.path("run"), &place.path("again"));
    let described = place.run(&["tasks", "LunarLander-v3"]).stdout;
    assert!(described.contains("turbulence_power  1.5"), "{described}");
}

#[test]
fn eval_plays_the_policy_of_a_run() {
    let place = Place::new();
    place.train("run", &["--steps", "20000"]);
    let ended = place.run(&["eval", "run", "--episodes", "5"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("CartPole-v1: return "), "{}", ended.stdout);
    let json = |arguments: &[&str]| -> serde_json::Value {
        let ended = place.run(&[&["eval", "--episodes", "5", "--json"], arguments].concat());
        serde_json::from_str(&ended.stdout).expect("JSON on stdout")
    };
    let best = json(&["run"]);
    assert_eq!((&best["task"], &best["episodes"]), (&"CartPole-v1".into(), &5.into()));
    // On this task the return of an episode is its length.
    assert_eq!(best["mean_return"], best["mean_length"]);
    assert_eq!(best, json(&["run/best.safetensors"]));
    assert_eq!(json(&["run", "--last"])["policy"], "run/last.safetensors");
}

#[test]
fn eval_of_few_episodes_has_no_deviation_or_interval_that_it_cannot_have() {
    let place = Place::new();
    place.train("run", &["--steps", "2000"]);
    let line = |episodes: &str| place.run(&["eval", "run", "--episodes", episodes]).stdout;
    let (one, two, three) = (line("1"), line("2"), line("3"));
    assert!(one.contains(" over 1 episode, length ") && !one.contains("+-"), "{one}");
    assert!(
        two.contains("+- ") && two.contains("over 2 episodes, mean length") && !two.contains("interval"),
        "{two}"
    );
    assert!(three.contains("over 3 episodes, 95% interval ["), "{three}");
    assert!([&one, &two, &three].iter().all(|line| !line.contains("NaN")));
    let ended = place.run(&["eval", "run", "--episodes", "1", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(json["std_return"].is_null() && json["interval_95"].is_null(), "{json}");
}

#[test]
fn tasks_are_listed_and_described() {
    let place = Place::new();
    let list = place.run(&["tasks"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    for task in epgt_envs::tasks() {
        assert!(list.stdout.contains(&*task.id), "{}", task.id);
        let one = place.run(&["tasks", &task.id]);
        assert_eq!(one.code, Some(0));
        assert!(one.stdout.starts_with(&*task.id), "{}", one.stdout);
        for part in ["Observation\n", "Action\n", "Reward: "] {
            assert!(one.stdout.contains(part), "{part} of {}", task.id);
        }
    }
}

#[test]
fn the_printed_configuration_is_read_back_to_the_same() {
    let place = Place::new();
    let choices = [
        "--preset",
        "paper",
        "--tune",
        "learning_rate=paper:5,ent_coef=0:0.01",
        "--set",
        "hyper.hold=3",
    ];
    let first = place.run(&[&["train", "Pendulum-v1", "--print-config"], &choices[..]].concat());
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    place.write("config.toml", &first.stdout);
    let second = place.run(&["train", "--config", "config.toml", "--print-config"]);
    // Where values come from is all that differs.
    let origins = [
        "# A value that does not",
        "# From the task's name.",
        "# From the preset.",
        "# As said.",
    ];
    let settings = |text: &str| {
        let is_origin = |line: &&str| origins.iter().any(|origin| line.starts_with(origin));
        let kept: Vec<&str> = text.lines().filter(|line| !is_origin(line)).collect();
        kept.join("\n").trim().to_string()
    };
    for origin in origins {
        assert!(first.stdout.contains(origin), "{origin}");
    }
    assert_eq!(settings(&second.stdout), settings(&first.stdout));
    assert!(second.stdout.matches("# As said.").count() > 50, "all of it was said");
    // What a run keeps is the same text, so that any run can be repeated from its directory.
    let run = place.train("run", &["--steps", "4000"]);
    let config = run.join("config.toml");
    let again = place.run(&["train", "--config", &config.display().to_string(), "--print-config"]);
    assert_eq!(
        settings(&again.stdout),
        settings(&std::fs::read_to_string(config).unwrap())
    );
}

#[test]
fn help_names_every_setting_with_its_default() {
    let place = Place::new();
    let help = place.run(&["train", "--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for (section, entries) in Config::lay(&[]).expect("defaults").sections() {
        for entry in entries {
            let dot = if section.is_empty() { "" } else { "." };
            let line = format!("  {section}{dot}{} = {}", entry.key, entry.value);
            assert!(help.stdout.contains(&line), "missing in the help:{line}");
        }
    }
    for command in ["train", "eval", "tasks", "explain", "bench", "experiment"] {
        assert!(place.run(&["--help"]).stdout.contains(command), "{command}");
    }
}

#[test]
fn counts_in_the_tables_of_a_run_are_whole_numbers() {
    let place = Place::new();
    let run = place.train("run", &["--steps", "20000"]);
    let metrics = epgt_train::table::read_csv(run.join("metrics.csv")).expect("metrics.csv");
    for name in [
        "time/total_timesteps",
        "time/iterations",
        "train/n_updates",
        "hyper/decisions",
        "hyper/memory",
    ] {
        let column = metrics.header.iter().position(|column| column == name).expect(name);
        for row in &metrics.rows {
            assert!(row[column].parse::<u64>().is_ok(), "{name}: {}", row[column]);
        }
    }
}

#[test]
fn bash_completes_commands_options_tasks_and_names() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = place.run(&["completions", shell]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(ended.stdout.contains("meta-gradient"), "{shell}");
        place.write(shell, &ended.stdout);
    }
    // What bash does at a tab after the last of these words: it calls the function that the script has registered.
    let completed = |words: &str| {
        let script = format!(
            "source ./bash; complete -p epgt | grep -q -- '-F _epgt' && COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) && \
             _epgt epgt \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\" && echo ${{COMPREPLY[@]}}"
        );
        let ended = place.bash(&script);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.trim().to_string()
    };
    assert_eq!(completed("epgt hyp"), "hyperparameters");
    assert_eq!(completed("epgt train CartP"), "CartPole-v1");
    assert_eq!(completed("epgt train --sched"), "--scheduler");
    assert_eq!(completed("epgt train CartPole-v1 --scheduler meta"), "meta-gradient");
    assert_eq!(completed("epgt train --algo a"), "a2c acktr");
    assert_eq!(completed("epgt experiment st"), "status");
    // The names are proposals: a misspelt one is told as before.
    place
        .run(&["train", "CartPol-v1"])
        .is_refused_with(&["did you mean 'CartPole-v1'?"]);
    let help = place.run(&["train", "--help"]).stdout;
    assert!(!help.contains("possible values"), "{help}");
}

#[test]
fn the_version_names_the_commit_and_the_features() {
    let said = Place::new().run(&["--version"]).stdout;
    let mut expected = format!("epgt {} (", env!("CARGO_PKG_VERSION"));
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.git")
        .exists();
    let head = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    if let Some(head) = head.ok().filter(|head| checkout && head.status.success()) {
        expected.push_str(String::from_utf8(head.stdout).expect("UTF-8").trim());
    }
    assert!(said.starts_with(&expected), "{said} instead of {expected}..");
    assert!(said.ends_with("cuda)\n"), "{said}");
}

#[test]
fn networks_are_shaped_by_flags_that_are_short_for_settings() {
    let place = Place::new();
    let train = |name: &str, steps: &str, flags: &[&str]| {
        let usual = ["train", "Pendulum-v1", "--quiet", "--steps", steps, "--out", name];
        let ended = place.run(&[&usual[..], flags].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        std::fs::read(place.path(name).join("last.safetensors")).expect("a policy")
    };
    let short = [
        "--policy",
        "hidden=16,8",
        "--policy",
        "shared=true",
        "--policy",
        "squash=true",
    ];
    let long = [
        "--set",
        "policy.hidden=[16, 8]",
        "--set",
        "policy.shared=true",
        "--set",
        "policy.squash=true",
    ];
    let shared = train("short", "4000", &short);
    assert!(shared == train("long", "4000", &long));
    let config = |name: &str| std::fs::read_to_string(place.path(name).join("config.toml")).expect("a configuration");
    assert_eq!(config("short"), config("long"));
    assert!(config("short").contains("\nhidden = [16, 8]\n") && config("short").contains("\nsquash = true\n"));

    let ended = place.run(&["eval", "short", "--episodes", "2", "--last", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON on stdout");
    assert!(report["mean_return"].as_f64().expect("a return") < 0.0);
}

#[test]
fn who_says_a_learning_rate_that_decides_nothing_is_told() {
    let place = Place::new();
    let train = |out: &str, settings: &[&str]| {
        let ended = place.run(
            &[
                &["train", "CartPole-v1", "--steps", "512", "--out", out, "--json"],
                settings,
            ]
            .concat(),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    };
    let digest = |stdout: &str| {
        stdout
            .split("\"policy_sha256\":")
            .nth(1)
            .map(|rest| rest[..66].to_string())
    };
    let told =
        "--set learning_rate=0.1 decides nothing with step_control=divergence; it is for --set step_control=rate.";
    let (usual, idle) = (train("usual", &[]), train("idle", &["--set", "learning_rate=0.1"]));
    assert!(idle.stderr.contains(told), "{idle:?}");
    assert!(!usual.stderr.contains("decides nothing"), "{usual:?}");
    assert_eq!(digest(&idle.stdout), digest(&usual.stdout), "and it does not");
    let rates = train("rates", &["--set", "learning_rate=0.1", "--set", "step_control=rate"]);
    assert!(!rates.stderr.contains("decides nothing"), "{rates:?}");
    assert_ne!(digest(&rates.stdout), digest(&usual.stdout));
    // The rule starts at it.
    let rule = |out: &str, rate| train(out, &["--set", rate, "--set", "step_control=kl-adaptive"]);
    let (low, high) = (rule("low", "learning_rate=0.0001"), rule("high", "learning_rate=0.01"));
    assert!(!low.stderr.contains("decides nothing"), "{low:?}");
    assert_ne!(digest(&low.stdout), digest(&high.stdout));
    let critics = train(
        "critics",
        &["--set", "critic_learning_rate=0.01", "--set", "step_control=rate"],
    );
    let told =
        "critic_learning_rate=0.01 decides nothing with step_control=rate; it is for --set step_control=divergence.";
    assert!(critics.stderr.contains(told), "{critics:?}");
}
