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

/// The log with improvements that are `effect` where the first value was chosen, and differ by 1 from row to row.
fn with_effect(decisions: &str, effect: f64) -> String {
    let mut lines = decisions.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let place = |name: &str| header.iter().position(|column| *column == name).expect("a column");
    let (value, improvement) = (place("learning_rate"), place("improvement"));
    let mut least = f64::INFINITY;
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for row in &rows {
        least = least.min(row[value].parse().expect("a value"));
    }
    let mut text = header.join(",") + "\n";
    for (i, mut row) in rows.into_iter().enumerate() {
        let first = row[value].parse() == Ok(least);
        let number = format!("{}", (i % 2) as f64 + if first { effect } else { 0.0 });
        row[improvement] = &number;
        text += &(row.join(",") + "\n");
    }
    text
}

#[test]
fn explain_says_what_a_run_can_know_of_its_choices() {
    let place = Place::new();
    let choices = [
        "--steps",
        "80000",
        "--set",
        "hyper.outcome=episode",
        "--set",
        "hyper.moves=uniform",
    ];
    let seen = "Choices were not drawn at random: this is what was seen, not what was caused.";
    let run = place.train("random", &[EXPLAINED, &choices, &["--scheduler", "random"]].concat());
    let told = |name: &str| place.run(&["explain", name]).stdout;
    assert!(!told("random").contains(seen), "{}", told("random"));
    let decisions = std::fs::read_to_string(run.join("decisions.csv")).unwrap();
    for (effect, words) in [
        (0.0, "This run cannot know which learning_rate is best: "),
        (
            0.3,
            "This run cannot be sure which learning_rate is best: its returns hold a signal of about ",
        ),
        (5.0, "The returns of this run hold a signal of about "),
    ] {
        std::fs::write(run.join("decisions.csv"), with_effect(&decisions, effect)).unwrap();
        let text = told("random");
        assert!(text.contains(words), "an effect of {effect}:\n{text}");
        let sentence = text.lines().find(|line| line.contains(words)).expect("a line");
        assert!(sentence.contains(" steps like these "), "{sentence}");
    }
    place.train("greedy", &[EXPLAINED, &choices].concat());
    assert!(
        told("greedy").contains(seen) && told("greedy").contains("This run can"),
        "{}",
        told("greedy")
    );
    place.train(
        "fixed",
        &[EXPLAINED, &["--steps", "8000", "--scheduler", "fixed"]].concat(),
    );
    assert!(
        !told("fixed").contains("signal") && !told("fixed").contains(seen),
        "{}",
        told("fixed")
    );
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

#[test]
fn explain_names_the_file_that_is_damaged_and_never_panics() {
    let place = Place::new();
    let run = place.train("run", &[EXPLAINED, &["--steps", "20000"]].concat());
    let long = "9".repeat(1_000_000);
    let decisions = std::fs::read_to_string(run.join("decisions.csv")).unwrap();
    let (header, first) = (decisions.lines().next().unwrap(), decisions.lines().nth(1).unwrap());
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("config.toml", b"task = ".to_vec(), "config.toml"),
        ("config.toml", vec![0xff; 100], "config.toml"),
        ("config.toml", long.clone().into_bytes(), "config.toml"),
        ("decisions.csv", Vec::new(), "decisions.csv"),
        ("decisions.csv", header.as_bytes()[..10].to_vec(), "decisions.csv"),
        (
            "decisions.csv",
            format!("{header}\n{long}\n").into_bytes(),
            "decisions.csv",
        ),
        (
            "decisions.csv",
            format!("{header}\n{first}\n{first}\n").into_bytes(),
            "decisions.csv",
        ),
        (
            "decisions.csv",
            format!("{header}\n{}\n", first.replacen(',', &format!(",{long}"), 1)).into_bytes(),
            "decisions.csv",
        ),
        ("metrics.csv", Vec::new(), "metrics.csv"),
        ("metrics.csv", b"a\nb\n".to_vec(), "metrics.csv"),
        ("metrics.csv", vec![0xff; 100], "metrics.csv"),
    ];
    for (file, bytes, named) in cases {
        let before = std::fs::read(run.join(file)).unwrap();
        std::fs::write(run.join(file), &bytes).unwrap();
        let ended = place.run(&["explain", "run"]);
        ended.is_refused_with(&[named]);
        assert!(ended.stderr.len() < 500, "{file}: {} bytes", ended.stderr.len());
        std::fs::write(run.join(file), before).unwrap();
    }
    // A row that was never finished is not read, and what explain does not read does not matter.
    std::fs::write(run.join("decisions.csv"), &decisions[..decisions.len() - 5]).unwrap();
    std::fs::write(run.join("result.json"), "").unwrap();
    let ended = place.run(&["explain", "run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn explain_names_what_is_damaged_of_a_population() {
    let place = Place::new();
    let run = place.train(
        "run",
        &[
            "--scheduler",
            "grid",
            "--steps",
            "1000",
            "--tune",
            "learning_rate=paper:3",
        ],
    );
    let path = run.join("population.csv");
    let whole = std::fs::read_to_string(&path).unwrap();
    for (bytes, part) in [
        (Vec::new(), "there is no header"),
        (b"a,b\n1,2\n".to_vec(), "unknown column"),
        (whole.replace(",0,", ",1e300,").into_bytes(), "member"),
        (whole.replace(",0,", ",-1,").into_bytes(), "member"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        place
            .run(&["explain", "run"])
            .is_refused_with(&["population.csv", part]);
    }
}

#[test]
fn a_directory_of_runs_is_explained_one_by_one() {
    let place = Place::new();
    for seed in ["2", "10"] {
        place.train(&format!("seeds/seed-{seed}"), &["--steps", "1000", "--seed", seed]);
    }
    place
        .run(&["explain", "seeds"])
        .is_refused_with(&["seeds is not a run directory: it holds runs; name one of them, such as seeds/seed-2"]);
}
