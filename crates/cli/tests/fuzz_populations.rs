//! Random populations: `pbt`, `pb2`, `grid` and `random-search` with random settings, members that diverge, interrupts
//! at any moment, and resumes. Each ends, and one that was stopped ends with the same policy as one that was not.

mod fuzz_common;

use std::fs;
use std::time::Duration;

use fuzz_common::{Case, fuzz};

/// The command line of a random population, without its directory.
fn population(case: &mut Case) -> Vec<String> {
    let algo = case.pick(&["a2c", "ppo", "acktr"]);
    let scheduler = case.pick(&["pbt", "pb2", "grid", "random-search"]);
    let (n_envs, n_steps) = (1 + case.below(3), 1 + case.below(16));
    let steps = n_envs * n_steps * (3 + case.below(20));
    let mut line: Vec<String> = ["train", "--quiet"].map(String::from).into();
    let mut say = |flag: &str, value: String| line.extend([flag.to_string(), value]);
    say("--algo", algo.to_string());
    say("--scheduler", scheduler.to_string());
    say("--n-envs", n_envs.to_string());
    say("--steps", steps.to_string());
    say("--seed", case.number.to_string());
    say("--threads", case.pick(&["1", "2", "5"]).to_string());
    say("--policy", format!("hidden={}", case.pick(&["4", "8,4"])));
    // Rates that diverge, rates that do nothing, and such as are usual.
    let rates = [
        "7e-4:1e-3",
        "1e-4:1e30",
        "0:1e-3",
        "1e-3:1e37:1e38",
        "paper:3",
        "around:100:3",
        "1e30:1e38",
    ];
    let mut grids = vec![format!("learning_rate={}", case.pick(&rates))];
    if case.chance(0.5) {
        grids.push(format!(
            "gamma={}",
            case.pick(&["0.9:0.99", "0:1", "uniform:0.5..0.9:3"])
        ));
    }
    if case.chance(0.3) {
        grids.push(format!("n_steps={}", case.pick(&["1:4", "2:3:7", "1:16"])));
    }
    match algo {
        "ppo" if case.chance(0.5) => grids.push(format!("batch_size={}", case.pick(&["1:64", "4:8", "3:5:7"]))),
        "ppo" if case.chance(0.3) => grids.push(format!("n_epochs={}", case.pick(&["1:3", "2:5"]))),
        "acktr" if case.chance(0.5) => grids.push(format!("damping={}", case.pick(&["1e-8:1", "0.01:0.1"]))),
        _ => {}
    }
    say("--tune", grids.join(","));
    let interval = |case: &mut Case| case.pick(&["auto", "0", "1", "30", "1000000"]).to_string();
    for (key, value) in [
        ("n_steps", n_steps.to_string()),
        ("eval_episodes", "1".to_string()),
        ("eval_interval", interval(case)),
        ("checkpoint_interval", interval(case)),
        ("best_by", case.pick(&["evaluation", "training"]).to_string()),
        ("final_episodes", case.below(2).to_string()),
        ("population.size", (2 + case.below(4)).to_string()),
        ("population.runs", (1 + case.below(3)).to_string()),
        ("population.ready", (1 + case.below(steps)).to_string()),
        ("population.quantile", case.pick(&["0.25", "0.5", "0.01"]).to_string()),
        ("population.resample", case.pick(&["0", "0.25", "1"]).to_string()),
        ("population.perturb_up", case.pick(&["1.2", "1", "1e30"]).to_string()),
        ("population.perturb_down", case.pick(&["0.8", "1", "1e-30"]).to_string()),
    ] {
        say("--set", format!("{key}={value}"));
    }
    line.insert(
        1,
        case.pick(&["CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
            .to_string(),
    );
    line
}

#[test]
fn every_population_comes_to_its_end_through_interrupts_and_divergence() {
    fuzz("fuzz_populations", |case| {
        let line = population(case);
        let to = |name: &str| [&line[..], &["--out".to_string(), name.to_string()]].concat();
        // The first run says how long it takes at most; a busy machine only makes interrupts come earlier.
        let whole = case.run(&to("whole"))?;
        if case.chance(0.5) {
            return Ok(());
        }
        let after = Duration::from_millis(case.below(60) as u64);
        let mut parted = case.run_for(&to("parted"), after)?;
        for _ in 0..20 {
            if !case.path("parted/config.toml").exists() || parted.code != Some(130) {
                break;
            }
            let after = Duration::from_millis(5 + case.below(80) as u64);
            parted = case.run_for(&["train", "--resume", "parted", "--quiet"], after)?;
        }
        if parted.code == Some(130) && case.path("parted/config.toml").exists() {
            parted = case.run(&["train", "--resume", "parted", "--quiet"])?;
        }
        match (whole.code, parted.code) {
            (Some(0), Some(0)) => {
                let policy = |name: &str| fs::read(case.path(name).join("last.safetensors")).ok();
                match policy("whole") == policy("parted") && policy("whole").is_some() {
                    true => Ok(()),
                    false => Err(format!("the policy of the stopped population differs: {line:?}")),
                }
            }
            // It was stopped before there was a run, or has diverged as a whole, or was refused.
            (Some(0), Some(130)) => Ok(()),
            (Some(1), Some(1 | 130)) => Ok(()),
            (whole, parted) => Err(format!(
                "one ends with {whole:?} and the stopped one with {parted:?}: {line:?}"
            )),
        }
    });
}
