//! `epgt explain`: what it tells of a run.

mod common;

use common::Place;

/// What the tests of `explain` count on: 40 steps an update, and a decision every 50 updates.
const EXPLAINED: &[&str] = &[
    "--n-envs",
    "8",
    "--set",
    "a2c.n_steps=5",
    "--set",
    "hyper.hold=50",
    "--tune",
    "learning_rate=paper:7",
];

/// The update of the first decision of a kind, from the log.
fn first_update(run: &std::path::Path, choice: &str, with: &str) -> String {
    let log = std::fs::read_to_string(run.join("decisions.csv")).expect("decisions.csv");
    let row = log
        .lines()
        .find(|line| line.contains(choice) && line.contains(with))
        .expect("such a decision");
    row.split(',').nth(1).expect("an update").to_string()
}

#[test]
fn explain_tells_what_was_seen_remembered_chosen_and_what_came_of_it() {
    let place = Place::new();
    let choices = ["--steps", "60000", "--set", "hyper.outcome=episode"];
    let run = place.train("run", &[EXPLAINED, &choices].concat());
    let overview = place.run(&["explain", "run"]);
    assert_eq!((overview.code, overview.stderr.as_str()), (Some(0), ""));
    for part in [
        "1500 policy updates of 1500",
        "Scheduler epgt: recalls",
        "29 decisions, each kept for 50 updates",
        "learning_rate  chosen  share  hyper-return  improvement  last at update",
        "F = ",
        "correlation ",
        "The latest decision that was not random",
    ] {
        assert!(
            overview.stdout.contains(part),
            "'{part}' is missing in\n{}",
            overview.stdout
        );
    }
    // A greedy decision that leaned on remembered moments: its weights are shares of a whole.
    let update = first_update(&run, "greedy", ";");
    let greedy = place.run(&["explain", "run", "--update", &update]).stdout;
    for part in [
        "What it saw",
        "weights of norm",
        "epsilon",
        "Q",
        "<- chosen",
        "What it remembered",
        "What came of it",
    ] {
        assert!(greedy.contains(part), "'{part}' is missing in\n{greedy}");
    }
    let table = greedy.split("What it remembered").nth(1).expect("moments");
    let weights = table
        .split_whitespace()
        .filter_map(|word| word.strip_suffix('%')?.parse::<f64>().ok());
    let sum: f64 = weights.sum();
    assert!((sum - 100.0).abs() < 0.3, "weights add up to {sum}%:\n{greedy}");
    // Every update within a hold is answered by the decision in force.
    let within: u64 = update.parse::<u64>().expect("an update") + 49;
    let later = place.run(&["explain", "run", "--update", &within.to_string()]).stdout;
    assert_eq!(
        later.split_once('\n').map(|parts| parts.1),
        greedy.split_once('\n').map(|parts| parts.1)
    );
    let random = place.run(&["explain", "run", "--update", &first_update(&run, "random", "")]);
    assert!(random.stdout.contains("drawn at random"), "{}", random.stdout);
    let last = place.run(&["explain", "run", "--update", "1499"]);
    assert!(last.stdout.contains("no decision in the log"), "{}", last.stdout);
}

#[test]
fn explain_has_words_for_every_scheduler() {
    let place = Place::new();
    let cases = [
        ("fixed", "In force throughout: learning_rate = "),
        ("random", "nothing is learned"),
        ("bandit", "whatever the moment"),
        ("dqn", "a network"),
    ];
    for (scheduler, words) in cases {
        place.train(
            scheduler,
            &[EXPLAINED, &["--steps", "40000", "--scheduler", scheduler]].concat(),
        );
        let overview = place.run(&["explain", scheduler]);
        assert_eq!(overview.code, Some(0), "{overview:?}");
        assert!(overview.stdout.contains(words), "{}", overview.stdout);
        assert!(!overview.stdout.contains("remembered moment"), "{}", overview.stdout);
        let one = place.run(&["explain", scheduler, "--update", "700"]);
        assert_eq!(one.code, Some(0), "{one:?}");
        assert!(one.stdout.contains("What it chose"), "{}", one.stdout);
    }
}

#[test]
fn explain_lists_factored_values_by_hyperparameter_and_says_when_nothing_can_be_told() {
    let place = Place::new();
    let tune = [
        "--tune",
        "learning_rate=paper:5,ent_coef=0:0.01:0.02",
        "--set",
        "hyper.action_values=factored",
    ];
    // Every step of this task earns 1, so the reward per step tells nothing.
    let blind = ["--steps", "60000", "--set", "hyper.outcome=reward-rate"];
    let run = place.train("run", &[&tune[..], &blind].concat());
    let overview = place.run(&["explain", "run"]).stdout;
    assert!(
        overview.contains("every outcome was 1, whatever was chosen"),
        "{overview}"
    );
    let greedy = place
        .run(&["explain", "run", "--update", &first_update(&run, "greedy", ";")])
        .stdout;
    for part in [
        "expected of each learning_rate",
        "expected of each ent_coef",
        "remembered for its learning_rate",
    ] {
        assert!(greedy.contains(part), "'{part}' is missing in\n{greedy}");
    }
    assert_eq!(greedy.matches("<- chosen").count(), 2);
}
