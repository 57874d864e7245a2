//! Random command lines, good and bad, of the words that the program knows: whatever is typed is done or refused in a
//! sentence.

mod fuzz_common;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use epgt_train::Config;
use fuzz_common::{Case, ODD, QUICK, copy, fuzz, make_run, os, place};

/// Tasks that are quick, need a simulator, or are none.
const TASKS: &[&str] = &[
    "CartPole-v1",
    "Pendulum-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Acrobot-v1",
    "LunarLander-v3",
    "PixelCatch-v0",
    "CartPole",
    "cartpole-v1",
    "gym",
    "gym:",
    "Hopper-v99",
    "ALE/Nothing-v5",
];

const GRIDS: &[&str] = &[
    "paper:3",
    "paper:7",
    "paper:4",
    "paper:0",
    "paper:99999999999",
    "paper:",
    "around:8:5",
    "around:1e300:5",
    "around:1:3",
    "around:-2:3",
    "log:1e-4..5e-3:7",
    "log:5e-3..1e-4:7",
    "log:0..1:3",
    "log:-1..1:3",
    "log:1e-4..5e-3",
    "uniform:0..1:3",
    "uniform:0..inf:3",
    "uniform:0.9..0.99:1000000000",
    "0.1:0.2",
    "0.5:0.5",
    "1:2:4",
    "5:1000",
    "5:1000000000",
    "0",
    "-1:1",
    "nan:1",
    "1e-300:1",
    "1e300:1",
    ":",
    "::",
    "",
];

const FILES: &[&str] = &[
    "run",
    "pop",
    "run/best.safetensors",
    "run/config.toml",
    "nothing",
    ".",
    "/dev/null",
    "run/metrics.csv",
    "",
];

const EXPERIMENT: &str = "description = \"tiny\"\nseeds = 1\n[settings]\nsteps = 200\nn_envs = 2\neval_interval = 0\n[[task]]\ntask = \"CartPole-v1\"\n\
    [[method]]\nname = \"a\"\nscheduler = \"fixed\"\n";

/// Words that the settings are called by, as the program itself lists them.
fn vocabulary() -> (Vec<String>, Vec<String>) {
    let registry = epgt_train::Registry::builtin();
    let mut keys = Vec::new();
    for algo in registry.method_names() {
        let config = Config::lay(&[epgt_train::Assignment::new("algo", algo)]).expect("a method's defaults");
        for (section, entries) in config.sections() {
            let dot = if section.is_empty() { "" } else { "." };
            keys.extend(entries.iter().map(|entry| format!("{section}{dot}{}", entry.key)));
            keys.extend(entries.iter().map(|entry| entry.key.to_string()));
        }
    }
    let names = registry.methods().iter().flat_map(|method| {
        let all = method.hyperparameters().iter();
        all.map(|hyperparameter| hyperparameter.name.to_string())
            .collect::<Vec<_>>()
    });
    (keys, names.collect())
}

fn arguments(case: &mut Case, keys: &[String], names: &[String]) -> Vec<String> {
    let mut line: Vec<String> = Vec::new();
    let mut say = |words: &[&str]| line.extend(words.iter().map(|word| word.to_string()));
    match case.below(20) {
        0..=10 => {
            say(&["train", case.pick(TASKS), "--out", "new"]);
            say(QUICK);
            say(&[
                "--steps",
                case.pick(&["64", "100", "200", "0", "15", "1e2", "abc", "-5", "1e300"]),
            ]);
            for _ in 0..case.below(4) {
                let (key, name) = (&keys[case.below(keys.len())], &names[case.below(names.len())]);
                let (odd, grid) = (case.pick(ODD), case.pick(GRIDS));
                match case.below(16) {
                    0 => say(&["--algo", case.pick(&["a2c", "ppo", "acktr", "A2C", odd])]),
                    1 | 2 => say(&[
                        "--scheduler",
                        case.pick(&epgt_train::Registry::builtin().scheduler_names()),
                    ]),
                    3 => say(&["--preset", case.pick(&["default", "paper", odd])]),
                    4..=6 => say(&["--tune", &format!("{name}={grid}")]),
                    7..=9 => say(&["--set", &format!("{key}={odd}")]),
                    10 => say(&[
                        "--policy",
                        &format!(
                            "{}={odd}",
                            case.pick(&["hidden", "shared", "squash", "activation", "hiden"])
                        ),
                    ]),
                    11 => say(&["--device", case.pick(&["cpu", "auto", "gpu", odd])]),
                    12 => say(&["--seeds", case.pick(&["2", "0", "1001", odd])]),
                    13 => {
                        say(&[case.pick(&["--print-config", "--json", "--force", "--quiet", "--help", "--nonsense"])])
                    }
                    14 => say(&[
                        "--env-arg",
                        &format!("{}={odd}", case.pick(&["g", "gravity", "render", "x"])),
                    ]),
                    _ => say(&[
                        case.pick(&["--seed", "--threads", "--config", "--resume", "--n-envs"]),
                        odd,
                    ]),
                }
            }
        }
        11 => say(&["train", "--resume", case.pick(FILES)]),
        12 | 13 => {
            say(&[
                "eval",
                case.pick(FILES),
                "--episodes",
                case.pick(&["1", "2", "0", "-1", "abc"]),
            ]);
            match case.below(4) {
                0 => say(&["--actions", case.pick(&["auto", "stochastic", "deterministic", "best"])]),
                1 => say(&[
                    "--video",
                    case.pick(&["out.gif", "/nowhere/out.gif", "out.png", ""]),
                    "--json",
                ]),
                2 => say(&["--seed", case.pick(ODD)]),
                _ => say(&[case.pick(&["--last", "--json", "--video-episodes"])]),
            }
        }
        14 => {
            say(&["explain", case.pick(FILES)]);
            if case.chance(0.5) {
                say(&[
                    "--update",
                    case.pick(&["0", "1", "5", "1000000", "18446744073709551615", "-1", "x"]),
                ]);
            }
        }
        15 => say(&[
            "report",
            case.pick(FILES),
            case.pick(&["--out", "--title", "pop"]),
            case.pick(&["page.html", "run", "/nowhere/x.html", "<b>"]),
        ]),
        16 => say(&[
            "compare",
            case.pick(FILES),
            case.pick(FILES),
            "--score",
            case.pick(&["final", "best", "auc", ""]),
        ]),
        17 => {
            say(&[
                "experiment",
                case.pick(&["list", "show", "run", "status", "report", "cells", "rum"]),
            ]);
            say(&[case.pick(&["tiny.toml", "nothing", "run/config.toml", "why-epi", "", "/dev/zero"])]);
            match case.below(4) {
                0 => say(&[
                    "--scale",
                    case.pick(&["0.5", "0", "-1", "nan", "inf", "1e300", "1e-300"]),
                ]),
                1 => say(&["--out", case.pick(&["new", "run", "/nowhere", ""])]),
                2 => say(&[
                    "--only",
                    case.pick(&["seed=0", "seed=5-1", "seed=0-99999999999", "method=b", "task", "=", ""]),
                ]),
                _ => {}
            }
        }
        18 => say(&[
            case.pick(&["tasks", "hyperparameters", "--version", "--help", "help", ""]),
            case.pick(TASKS),
        ]),
        _ => {
            say(&[
                "bench",
                "CartPole-v1",
                "--simulator-only",
                "--steps",
                case.pick(&["100", "0", "abc", "1e300", "-1"]),
            ]);
            say(&["--n-envs", case.pick(&["1", "2,3", "0", "x", ",", "99999999999"])]);
        }
    }
    // Now and then a word is lost, doubled, moved or spoilt.
    if case.chance(0.25) && line.len() > 1 {
        let at = 1 + case.below(line.len() - 1);
        match case.below(4) {
            0 => {
                line.remove(at);
            }
            1 => line.insert(at, line[at].clone()),
            2 => {
                let other = 1 + case.below(line.len() - 1);
                line.swap(at, other);
            }
            _ => line[at] = case.pick(ODD).to_string(),
        }
    }
    line
}

#[test]
fn every_command_line_is_done_or_refused_in_a_sentence() {
    let fixtures = place();
    let base = |name: &str, more: &[&str]| {
        let line = [&["train", "CartPole-v1", "--out", name, "--steps", "400"], QUICK, more].concat();
        make_run(fixtures.path(), &line);
    };
    base("run", &["--set", "hyper.hold=2"]);
    base("pop", &["--scheduler", "grid", "--tune", "gamma=0.9:0.99"]);
    let (keys, names) = vocabulary();
    fuzz("fuzz_commands", |case| {
        let line = arguments(case, &keys, &names);
        for name in ["run", "pop"] {
            if line.iter().any(|word| word.starts_with(name) || word == ".") {
                copy(&fixtures.path().join(name), &case.path(name));
            }
        }
        if line.iter().any(|word| word == "tiny.toml") {
            case.write("tiny.toml", EXPERIMENT);
        }
        let mut line = os(&line);
        if case.chance(0.01) {
            // Not every argument is text.
            line.push(OsString::from_vec(vec![b'a', 0xff, 0xfe]));
        }
        // Some lines ask for a training that takes hours: those are stopped as a user stops them.
        case.run_for(&line, Duration::from_secs(2)).map(|_| ())
    });
}
