//! Populations from the command line.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::Place;

const PBT: &[&str] = &[
    "--scheduler",
    "pbt",
    "--steps",
    "60000",
    "--tune",
    "learning_rate=paper:3,gae_lambda=0.9:0.95:1",
    "--set",
    "population.ready=5000",
    "--set",
    "checkpoint_interval=2000",
];

#[test]
fn a_population_killed_at_many_moments_resumes_to_the_same_policy() {
    let place = Place::new();
    let began = Instant::now();
    let whole = place.train("whole", PBT);
    let longest = began.elapsed().as_secs_f64() / 4.0;
    let arguments = |name: &str| match place.path(name).join("config.toml").exists() {
        true => vec!["train", "--quiet", "--resume", "run"],
        false => [
            &["train", "--quiet", "CartPole-v1", "--out", "run", "--threads", "2"],
            PBT,
        ]
        .concat(),
    };
    for kill in 0..8 {
        let mut child = place.command(&arguments("run")).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_secs_f64(longest * f64::from(kill % 5) / 5.0));
        child.kill().expect("a child");
        child.wait().expect("the program ends");
    }
    let end = place.run(&arguments("run"));
    assert_eq!(end.code, Some(0), "{end:?}");
    for name in [
        "last.safetensors",
        "best.safetensors",
        "population.csv",
        "members/3/decisions.csv",
        "config.toml",
    ] {
        let read = |directory: &Path| std::fs::read(directory.join(name)).unwrap();
        assert!(read(&whole) == read(&place.path("run")), "{name} differs");
    }
}

#[test]
fn a_population_is_told_and_explained_as_one() {
    let place = Place::new();
    let short = |scheduler: &str| {
        let settings = "--steps 4000 --set defaults=task --set population.ready=1000 --threads 2";
        let settings: Vec<&str> = settings.split_whitespace().collect();
        place.run(
            &[
                &["train", "CartPole-v1", "--out", scheduler, "--scheduler", scheduler],
                &settings[..],
            ]
            .concat(),
        )
    };
    let trained = short("pbt");
    assert_eq!(trained.code, Some(0), "{trained:?}");
    assert!(
        trained.stderr.contains("4000 steps for each member"),
        "{}",
        trained.stderr
    );
    assert!(trained.stdout.contains("the best of 4 members"), "{}", trained.stdout);
    assert!(
        trained.stdout.contains("16000 steps of all members together"),
        "{}",
        trained.stdout
    );
    let explained = place.run(&["explain", "pbt"]);
    assert_eq!(explained.code, Some(0), "{explained:?}");
    assert!(
        explained.stdout.contains("4 members of 4000 steps each"),
        "{}",
        explained.stdout
    );
    assert!(explained.stdout.contains("Member 3"), "{}", explained.stdout);
    let refused = place.run(&["explain", "pbt", "--update", "3"]);
    assert!(refused.stderr.contains("leave --update out"), "{}", refused.stderr);

    assert_eq!(short("grid").code, Some(0));
    let explained = place.run(&["explain", "grid"]);
    assert!(explained.stdout.contains("the best first"), "{}", explained.stdout);
    let evaluated = place.run(&["eval", "pbt"]);
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
}

#[test]
fn an_experiment_compares_populations_with_single_runs() {
    let place = Place::new();
    let text = r#"
description = "A population beside a single run."
seeds = 2
score = "return_last_100"
[settings]
steps = 6000
population.ready = 2000
[[task]]
task = "CartPole-v1"
[[method]]
name = "fixed"
scheduler = "fixed"
[[method]]
name = "pbt"
scheduler = "pbt"
[[method]]
name = "random-search"
scheduler = "random-search"
population.runs = 2
"#;
    std::fs::write(place.path("populations.toml"), text).unwrap();
    let end = place.run(&["experiment", "run", "populations.toml", "--out", "out", "--quiet"]);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.stdout.contains("random-search"), "{}", end.stdout);
}
