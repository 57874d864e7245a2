//! Random configurations over all methods and schedulers, from TOML files, `--set` and `--tune`: what is accepted is
//! trained for a few rollouts, and what is not is refused in a sentence.

mod fuzz_common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use epgt_pg::Kind;
use epgt_settings::{Entry, Value};
use epgt_train::{Assignment, Config, Registry};
use fuzz_common::{Case, ODD, fuzz};

/// All settings of a method by their full key, as the program itself lists them.
fn settings(algo: &str) -> Vec<(String, Entry)> {
    let config = Config::lay(&[Assignment::new("algo", algo)]).expect("a method's defaults");
    let sections = config.sections().into_iter().flat_map(|(section, entries)| {
        let dot = if section.is_empty() { "" } else { "." };
        entries
            .into_iter()
            .map(move |entry| (format!("{section}{dot}{}", entry.key), entry))
    });
    // What decides how long a case takes is chosen apart.
    let apart = [
        "task",
        "algo",
        "scheduler",
        "steps",
        "n_envs",
        "eval_episodes",
        "final_episodes",
        "device",
        "population.runs",
        "population.size",
    ];
    sections.filter(|(key, _)| !apart.contains(&key.as_str())).collect()
}

/// A value of the setting's kind: near its default, or, in a wild case, at the ends of what a number can be or
/// something else altogether.
fn value(case: &mut Case, entry: &Entry, wild: bool) -> String {
    if wild && case.chance(0.15) {
        return case.pick(ODD).to_string();
    }
    if !entry.choices.is_empty() {
        return entry.choices[case.below(entry.choices.len())].clone();
    }
    let text = entry.value.trim_matches('"');
    match text {
        "true" | "false" => case.pick(&["true", "false"]).to_string(),
        "auto" => case.pick(&["auto", "1", "2", "40", "1e6", "0.02"]).to_string(),
        list if list.starts_with('[') => {
            let length = case.below(4);
            let widths: Vec<&str> = (0..length)
                .map(|_| case.pick(&["1", "2", "3", "4", "8", "16"]))
                .collect();
            format!("[{}]", widths.join(", "))
        }
        number => match number.parse::<f64>() {
            Ok(number) if !wild && number.fract() == 0.0 && !text.contains(['.', 'e']) => {
                format!("{}", case.pick(&[number, (number / 2.0).ceil(), number + 1.0]))
            }
            Ok(number) if !wild => format!("{:e}", number * case.pick(&[1.0, 0.9, 0.5])),
            Ok(number) if number.fract() == 0.0 && !text.contains(['.', 'e']) => {
                let near = [number, 1.0, 2.0, 3.0, 7.0, (number / 2.0).floor(), number * 2.0];
                format!("{}", case.pick(&near).min(1e5))
            }
            Ok(number) => {
                let near = [
                    number,
                    0.0,
                    1.0,
                    number * 0.1,
                    number * 3.0,
                    number * 1e3,
                    1.0 - number,
                    1e-12,
                    1e10,
                ];
                format!("{:e}", case.pick(&near))
            }
            Err(_) => text.to_string(),
        },
    }
}

/// A grid for a hyperparameter: its own, or a rule, or a list with something odd in it.
fn grid(case: &mut Case, hyperparameter: &epgt_pg::Hyperparameter, wild: bool) -> String {
    let whole = hyperparameter.kind == Kind::Whole;
    match if wild { case.below(10) } else { 0 } {
        0..=3 => match whole {
            true => case.pick(&["1:2:4", "2:3", "8", "4:16:64"]).to_string(),
            false => hyperparameter.grid.to_string(),
        },
        4 => format!("paper:{}", case.pick(&[3, 5, 7, 15])),
        5 => format!(
            "around:{}:{}",
            case.pick(&["2", "1.001", "1e3", "1e30"]),
            case.pick(&[3, 5])
        ),
        6 => format!("log:1e-5..1e3:{}", case.pick(&[3, 5, 9])),
        7 => format!("uniform:0.1..0.9:{}", case.pick(&[2, 3, 7])),
        8 => format!("{}:{}", hyperparameter.low, hyperparameter.high),
        _ => format!("1:{}", case.pick(ODD)),
    }
}

/// The tasks whose steps cost next to nothing, and some that cost more.
const TASKS: &[&str] = &[
    "CartPole-v1",
    "CartPole-v1",
    "Pendulum-v1",
    "Pendulum-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Acrobot-v1",
    "LunarLander-v3",
    "BipedalWalker-v3",
    "PixelCatch-v0",
];

#[test]
fn every_configuration_trains_or_is_refused_in_a_sentence() {
    let registry = Registry::builtin();
    let (methods, schedulers) = (registry.method_names(), registry.scheduler_names());
    let known: BTreeMap<&str, Vec<(String, Entry)>> = methods.iter().map(|&algo| (algo, settings(algo))).collect();
    let (trained, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    fuzz("fuzz_configs", |case| {
        let wild = case.chance(0.5);
        let scheduler = case.pick(&schedulers);
        let algo = match scheduler {
            "hoof" | "meta-gradient" if !wild => "a2c",
            _ => case.pick(&methods),
        };
        let method = registry.method(algo).expect("a method");
        let (n_envs, n_steps) = (1 + case.below(3), 1 + case.below(8));
        let rollouts = 2 + case.below(6);
        let task = case.pick(TASKS);
        let mut said: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in [
            ("task", task.to_string()),
            ("algo", algo.to_string()),
            ("scheduler", scheduler.to_string()),
            ("n_envs", n_envs.to_string()),
            ("steps", (n_envs * n_steps * rollouts + case.below(3)).to_string()),
            ("eval_episodes", "1".to_string()),
            ("eval_interval", case.pick(&["0", "0", "20"]).to_string()),
            ("population.size", case.pick(&["2", "3", "4"]).to_string()),
            ("population.runs", case.pick(&["1", "2", "3"]).to_string()),
            ("population.ready", case.pick(&["8", "20"]).to_string()),
            ("policy.hidden", case.pick(&["[4]", "[8, 4]", "[]"]).to_string()),
            ("hyper.hold", case.pick(&["1", "2", "phase"]).to_string()),
        ] {
            said.insert(key.to_string(), value);
        }
        said.insert(format!("{algo}.n_steps"), n_steps.to_string());
        if task == "PixelCatch-v0" {
            said.insert("policy.conv_channels".to_string(), "[2, 2, 2]".to_string());
            said.insert("policy.image_hidden".to_string(), "[4]".to_string());
        }
        for _ in 0..case.below(8) {
            let (key, entry) = &known[algo][case.below(known[algo].len())];
            if !wild && (key.contains(".conv_") || key.ends_with(".squash")) {
                continue;
            }
            let value = value(case, entry, wild);
            said.insert(key.clone(), value);
        }
        let hyperparameters = method.hyperparameters();
        for _ in 0..case.below(4) {
            let hyperparameter = &hyperparameters[case.below(hyperparameters.len())];
            if !wild && matches!(scheduler, "lrrl" | "hoof" | "meta-gradient") && hyperparameter.name != "learning_rate"
            {
                continue;
            }
            let grid = grid(case, hyperparameter, wild);
            said.insert(format!("tune.{}", hyperparameter.name), grid);
        }

        // Each is said in a file, below its section or with a dot, or on the command line.
        let mut line: Vec<String> = ["train", "--quiet", "--out", "run"].map(String::from).into();
        let mut sections: BTreeMap<&str, String> = BTreeMap::new();
        for (key, value) in &said {
            if case.chance(0.4) {
                line.extend(["--set".to_string(), format!("{key}={value}")]);
                continue;
            }
            let (section, name) = key.split_once('.').unwrap_or((case.pick(&["", "run"]), key));
            let plain = value.parse::<f64>().is_ok_and(f64::is_finite)
                || value.parse::<bool>().is_ok()
                || value.starts_with('[');
            let value = if plain && case.chance(0.7) {
                value.clone()
            } else {
                value.show()
            };
            let _ = writeln!(sections.entry(section).or_default(), "{name} = {value}");
        }
        let mut file = String::new();
        for (section, text) in &sections {
            if !section.is_empty() {
                let _ = writeln!(file, "[{section}]");
            }
            file.push_str(text);
        }
        if wild && case.chance(0.05) {
            // A file that somebody has spoilt.
            let at = case.below(file.len());
            if file.is_char_boundary(at) {
                file.insert_str(at, case.pick(ODD));
            }
        }
        case.write("settings.toml", &file);
        line.extend(["--config".to_string(), "settings.toml".to_string()]);
        let ended = case.run(&line).map_err(|complaint| format!("{complaint}\n{file}"))?;
        let counted = if ended.code == Some(0) { &trained } else { &refused };
        counted.fetch_add(1, Ordering::Relaxed);
        if ended.code == Some(0) && case.chance(0.1) {
            case.run(&["train", "--resume", "run", "--quiet"])?;
        }
        Ok(())
    });
    let (trained, refused) = (trained.into_inner(), refused.into_inner());
    assert!(
        trained > refused / 2 || trained < 10,
        "only {trained} were trained, {refused} were refused"
    );
}
