//! Populations as their directories show them, and what a member that copies another really trains with.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use epgt_pg::SavedMethod;
use epgt_train::table::read_csv;
use epgt_train::{Assignment, BestBy, Config, Progress, ResumeWith, Run, RunEnd, RunResult, Trainer, Training};

fn assignments(pairs: &[(&str, &str)]) -> Vec<Assignment> {
    let task = ("task", "CartPole-v1");
    [task]
        .iter()
        .chain(pairs)
        .map(|(key, value)| Assignment::new(*key, value))
        .collect()
}

fn config(pairs: &[(&str, &str)]) -> Config {
    Config::build(&assignments(pairs)).unwrap()
}

/// A small population; PPO, so that whole numbers are tuned too.
fn small(scheduler: &'static str) -> Config {
    config(&[
        ("algo", "ppo"),
        ("scheduler", scheduler),
        ("steps", "4096"),
        ("n_envs", "4"),
        ("ppo.n_steps", "32"),
        ("ppo.n_epochs", "2"),
        ("ppo.learning_rate_schedule", "constant"),
        ("population.ready", "512"),
        ("population.runs", "3"),
        ("tune.learning_rate", "paper:3"),
        ("tune.batch_size", "16:32"),
        ("eval_episodes", "2"),
    ])
}

fn finish(mut training: Training) -> RunResult {
    match training.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

/// All that a finished population has written and that time does not change.
fn traces(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut traces = BTreeMap::new();
    for name in ["best.safetensors", "last.safetensors", "population.csv"] {
        traces.insert(name.to_string(), std::fs::read(directory.join(name)).unwrap());
    }
    let members = std::fs::read_dir(directory.join("members")).unwrap().count();
    let tables = (0..members).map(|i| format!("members/{i}/metrics.csv"));
    for name in tables.chain(["metrics.csv".to_string()]) {
        let table = read_csv(directory.join(&name)).unwrap();
        let timeless = |column: &usize| !["time/time_elapsed", "time/fps"].contains(&table.header[*column].as_str());
        let columns: Vec<usize> = (0..table.header.len()).filter(timeless).collect();
        let rows = table
            .rows
            .iter()
            .map(|row| columns.iter().map(|&i| row[i].as_str()).collect::<Vec<_>>().join(","));
        traces.insert(name, rows.collect::<Vec<_>>().join("\n").into_bytes());
    }
    traces
}

#[test]
fn a_member_that_copies_another_trains_with_its_own_values_from_the_next_update_on() {
    // Each tunes the rate, which a schedule multiplies, and something that the optimiser itself holds.
    for (algo, held) in [
        ("a2c", "rms_prop_decay"),
        ("ppo", "adam_beta1"),
        ("acktr", "stats_decay"),
    ] {
        let grid = format!("tune.{held}");
        let config = config(&[
            ("algo", algo),
            ("scheduler", "fixed"),
            ("steps", "8192"),
            ("n_steps", "32"),
            ("n_envs", "4"),
            ("learning_rate_schedule", "linear"),
            ("tune.learning_rate", "paper:3"),
            (&grid, "0.5:0.9"),
        ]);
        let (space, _) = config.hyper_space().unwrap();
        let order = |rate: f64, other: f64| -> Vec<f64> {
            let axes = space.axes().iter();
            axes.map(|axis| if axis.name == "learning_rate" { rate } else { other })
                .collect()
        };
        let mut parent = Trainer::new(&config).unwrap();
        parent.keep(&order(1e-3, 0.9));
        let mut child_config = config.clone();
        child_config.run.seed = 1;
        let mut child = Trainer::new(&child_config).unwrap();
        for _ in 0..4 {
            parent.iterate().unwrap();
            child.iterate().unwrap();
        }
        child.adopt(&parent).unwrap();
        assert_eq!(child.policy.params.values(), parent.policy.params.values(), "{algo}");
        assert_eq!(child.counters, parent.counters, "{algo}");
        assert_eq!(
            child.normalizer.observation_mean(),
            parent.normalizer.observation_mean(),
            "{algo}"
        );

        // With a rate of 0 nothing may move, and with another it must.
        let before = child.policy.params.values().to_vec();
        child.keep(&order(0.0, 0.5));
        child.iterate().unwrap();
        assert_eq!(
            child.policy.params.values(),
            before,
            "{algo}: the old rate is still in force"
        );
        let decay = match child.method.save() {
            SavedMethod::A2c(optimiser, _) => optimiser.decay,
            SavedMethod::Ppo(optimiser, _) => optimiser.beta1,
            SavedMethod::Acktr(kfac, _) => kfac.decay,
            SavedMethod::Other(_) | SavedMethod::Controlled(..) => panic!("nothing else was asked for"),
        };
        assert_eq!(decay, 0.5, "{algo}: the optimiser holds on to the parent's value");
        child.keep(&order(2e-3, 0.5));
        let left = 1.0 - child.counters.steps as f64 / 8192.0;
        child.iterate().unwrap();
        assert_ne!(child.policy.params.values(), before, "{algo}");
        assert!((child.method.learning_rate() - 2e-3 * left).abs() < 1e-12, "{algo}");
    }
}

#[test]
fn the_log_of_each_member_shows_the_values_that_the_exchanges_gave_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    finish(Training::create(small("pbt"), &path, false).unwrap());
    let exchanges = read_csv(path.join("population.csv")).unwrap();
    let column = |name: &str| exchanges.numbers(name).unwrap();
    let (steps, members, rates) = (column("steps"), column("member"), column("learning_rate_after"));
    let copies = exchanges.rows.iter().filter(|row| row[0] == "copied").count();
    assert_eq!(copies, 7, "one of four members at each of seven exchanges");
    for member in 0..4 {
        let metrics = read_csv(path.join(format!("members/{member}/metrics.csv"))).unwrap();
        let logged = metrics.numbers("train/learning_rate").unwrap();
        for (now, rate) in metrics.numbers("time/total_timesteps").unwrap().into_iter().zip(logged) {
            // What was written at an exchange was trained before it.
            let mut in_force = (0..steps.len()).filter(|&i| members[i] == f64::from(member) && steps[i] < now);
            assert_eq!(
                Some(rate),
                in_force.next_back().map(|i| rates[i]),
                "member {member} at {now}"
            );
        }
    }
}

#[test]
fn a_rollout_longer_than_the_interval_is_followed_by_one_exchange_and_one_row() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut config = small("pbt");
    config.population.ready = 50;
    finish(Training::create(config, &path, false).unwrap());
    let exchanges = read_csv(path.join("population.csv")).unwrap();
    let copies = exchanges.rows.iter().filter(|row| row[0] == "copied").count();
    assert_eq!(copies, 31, "after each of 32 rollouts but the last");
    assert_eq!(read_csv(path.join("metrics.csv")).unwrap().rows.len(), 32);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for scheduler in ["pbt", "pb2", "grid"] {
        let place = tempfile::tempdir().unwrap();
        let train = |name: &str, threads: usize| {
            let path = place.path().join(name);
            let mut training = Training::create(small(scheduler), &path, false).unwrap();
            training.use_threads(threads);
            (finish(training).policy_sha256, traces(&path))
        };
        let one = train("one", 1);
        assert_eq!(one, train("two", 2), "{scheduler}");
        assert_eq!(one, train("five", 5), "{scheduler}");
    }
}

#[test]
fn a_population_that_is_stopped_again_and_again_goes_on_to_the_same_end() {
    for scheduler in ["pbt", "pb2", "random-search"] {
        let place = tempfile::tempdir().unwrap();
        let (whole, parted) = (place.path().join("whole"), place.path().join("parted"));
        let expected = finish(Training::create(small(scheduler), &whole, false).unwrap());
        let mut training = Training::create(small(scheduler), &parted, false).unwrap();
        // A phase has 128 steps, so these are before, at and after exchanges.
        for _ in 0..14 {
            let end = training.train(&AtomicBool::new(true), &mut ()).unwrap();
            assert!(matches!(end, RunEnd::Interrupted { .. }), "{end:?}");
            drop(training);
            training = Training::resume(&parted, ResumeWith::default()).unwrap();
        }
        let result = finish(training);
        assert_eq!(result.policy_sha256, expected.policy_sha256, "{scheduler}");
        assert_eq!(result.population, expected.population, "{scheduler}");
        let (whole, parted) = (traces(&whole), traces(&parted));
        let differing: Vec<&String> = whole
            .keys()
            .filter(|name| whole.get(*name) != parted.get(*name))
            .collect();
        assert!(differing.is_empty(), "{scheduler}: {differing:?}");
    }
}

#[test]
fn a_search_reports_its_best_run_and_what_all_of_them_cost() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let result = finish(Training::create(small("grid"), &path, false).unwrap());
    let population = result.population.clone().unwrap();
    assert_eq!(
        (population.members, result.steps, population.steps_all_members),
        (6, 4096, 6 * 4096)
    );
    let table = read_csv(path.join("population.csv")).unwrap();
    let scores = table.numbers("score").unwrap();
    let best = scores
        .into_iter()
        .filter(|score| score.is_finite())
        .fold(f64::MIN, f64::max);
    assert_eq!(result.return_last_100, Some(best));
    let text = std::fs::read_to_string(path.join("result.json")).unwrap();
    assert!(text.contains("\"steps_all_members\": 24576"), "{text}");
    assert_eq!(
        serde_json::from_str::<RunResult>(&text).unwrap().population,
        result.population
    );
}

#[test]
fn the_best_policy_by_training_score_is_played_at_the_end() {
    let place = tempfile::tempdir().unwrap();
    let mut config = small("pbt");
    config.run.best_by = BestBy::Training;
    config.run.final_episodes = 5;
    let train = |name: &str| {
        let path = place.path().join(name);
        let result = finish(Training::create(config.clone(), &path, false).unwrap());
        (result.best_checkpoint, traces(&path))
    };
    let once = train("once");
    assert!(once.0.is_some_and(|mean| (9.0..=500.0).contains(&mean)), "{:?}", once.0);
    assert_eq!(once, train("again"));
}

#[test]
fn a_member_that_diverges_is_left_behind_and_the_others_go_on() {
    let place = tempfile::tempdir().unwrap();
    let diverging = |scheduler: &'static str| {
        config(&[
            ("scheduler", scheduler),
            ("steps", "8000"),
            ("population.ready", "1000"),
            ("tune.learning_rate", "7e-4:1e-3:1e38"),
        ])
    };
    let result = finish(Training::create(diverging("grid"), &place.path().join("grid"), false).unwrap());
    let population = result.population.unwrap();
    assert_eq!(population.diverged_members, 1);
    assert!(population.best_values["learning_rate"] < 1.0);
    let result = finish(Training::create(diverging("pbt"), &place.path().join("pbt"), false).unwrap());
    assert!(result.return_last_100.is_some());
}

#[test]
fn impossible_populations_are_refused_with_one_sentence() {
    let refused = |pairs: &[(&str, &str)]| Config::build(&assignments(pairs)).unwrap_err().to_string();
    let pbt = ("scheduler", "pbt");
    assert_eq!(
        refused(&[pbt, ("population.size", "1")]),
        "population.size = 1 leaves nobody to copy from; use 2 or more"
    );
    assert!(
        refused(&[("scheduler", "pb2"), ("steps", "20000")]).starts_with("population.ready = 50000 must lie above 0")
    );
    assert!(refused(&[pbt, ("tune.gamma", "0.99")]).contains("nothing to choose from"));
    assert!(refused(&[pbt, ("population.quantile", "0.6")]).contains("at most 0.5"));
    assert!(refused(&[pbt, ("population.resample", "1.5")]).contains("between 0 and 1"));
    assert!(refused(&[pbt, ("population.perturb_down", "0")]).contains("above 0"));
    assert!(refused(&[pbt, ("population.size", "1e9")]).contains("more than the 256"));
    assert!(refused(&[pbt, ("policy.hidden", "[20000,20000]")]).contains("GB"));
    assert!(refused(&[("scheduler", "random-search"), ("population.runs", "6")]).contains("between 1 and the 3"));
    assert!(refused(&[("population.redy", "1")]).contains("did you mean 'population.ready'?"));
    let place = tempfile::tempdir().unwrap();
    let single = Run::create(small("pbt"), place.path(), true).err().unwrap().to_string();
    assert!(single.contains("takes a population"), "{single}");
}

#[test]
fn a_population_tells_how_it_goes_while_its_members_train_and_after_a_resume() {
    // Each stage takes several times the tenth of a second after which the observer hears of it.
    let slow = || {
        let mut config = small("pbt");
        for (key, value) in [
            ("ppo.n_steps", "1024"),
            ("ppo.n_epochs", "40"),
            ("steps", "8192"),
            ("population.ready", "4096"),
            ("log_interval", "4096"),
            ("eval_interval", "0"),
            ("checkpoint_interval", "0"),
        ] {
            config.assign(key, value).unwrap();
        }
        config
    };
    let place = tempfile::tempdir().unwrap();
    let (whole, parted) = (place.path().join("whole"), place.path().join("parted"));
    let heard = Cell::new(0);
    let mut hear = |progress: &Progress| {
        assert_eq!(progress.members.len(), 4);
        assert_eq!(progress.hyperparameters.len(), 2);
        heard.set(heard.get() + 1);
    };
    let expected = match Training::create(slow(), &whole, false)
        .unwrap()
        .train(&AtomicBool::new(false), &mut hear)
        .unwrap()
    {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    };
    assert!(heard.get() > 2, "the stages were too short: {}", heard.get());

    // It stops at the first report, in the middle of a stage, and goes on in the middle of it.
    let stop = AtomicBool::new(false);
    let mut training = Training::create(slow(), &parted, false).unwrap();
    let end = training
        .train(&stop, &mut |_: &Progress| stop.store(true, Ordering::Relaxed))
        .unwrap();
    assert!(matches!(end, RunEnd::Interrupted { .. }), "{end:?}");
    drop(training);
    heard.set(0);
    let mut training = Training::resume(&parted, ResumeWith::default()).unwrap();
    let end = training.train(&AtomicBool::new(false), &mut hear).unwrap();
    assert!(heard.get() > 1, "the rest was too short: {}", heard.get());
    match end {
        RunEnd::Finished(result) => assert_eq!(result.policy_sha256, expected.policy_sha256),
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}
