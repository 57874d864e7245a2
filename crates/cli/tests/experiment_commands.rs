//! The other commands of `epgt experiment`: what there is, how far it is, and one command per run.

mod common;

use std::fs;

use common::{Ended, Place};

const TINY: &str = r#"
description = "Two methods on a pole. More words."
seeds = 3
first_seed = 4

[settings]
defaults = "task"
steps = 2000
eval_interval = 0

[[task]]
task = "CartPole-v1"

[[method]]
name = "fixed"
scheduler = "fixed"

[[method]]
name = "epgt paper"
preset = "paper"
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    place
}

fn experiment(place: &Place, arguments: &[&str]) -> Ended {
    let mut all = vec!["experiment"];
    all.extend(arguments);
    place.run(&all)
}

fn works(place: &Place, arguments: &[&str]) -> String {
    let ended = experiment(place, arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

/// The words of the line that begins with these.
fn line<'a>(text: &'a str, begins: &[&str]) -> Vec<&'a str> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = lines.filter(|words| words.starts_with(begins));
    found.next().unwrap_or_else(|| panic!("{begins:?} is not in\n{text}"))
}

/// `results.csv` up to the columns that are a matter of the machine.
fn results(place: &Place, out: &str) -> String {
    let text = fs::read_to_string(place.path(out).join("results.csv")).unwrap();
    let wall = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "wall_seconds");
    let keep = |line: &str| line.split(',').take(wall.unwrap()).collect::<Vec<_>>().join(",");
    text.lines().map(keep).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_experiments_of_the_program_are_listed_and_shown_anywhere() {
    let place = place();
    let list = works(&place, &["list"]);
    let cartpole = line(&list, &["cartpole"]);
    assert_eq!(cartpole[1..6], ["1", "6", "10", "500k", "60"]);
    assert!(
        cartpole[6..]
            .join(" ")
            .starts_with("A2C on CartPole-v1 with the program's defaults")
    );
    let shown = works(&place, &["show", "cartpole"]);
    assert!(shown.starts_with("cartpole\n\nA2C on CartPole-v1"), "{shown}");
    assert!(
        shown.contains("60 runs: 1 tasks x 6 methods x 10 seeds (0 to 9), compared by the mean of return_last_100.")
    );
    assert!(shown.contains("hyper.encoder = \"clock\"") && shown.contains("What it costs is not known"));
    assert_eq!(
        line(&shown, &["CartPole-v1", "epgt", "paper"])[3..6],
        ["a2c", "epgt", "paper"]
    );
}

#[test]
fn a_file_on_the_disk_wins_over_the_one_of_the_program() {
    let place = Place::new();
    fs::create_dir(place.path("experiments")).unwrap();
    place.write("experiments/cartpole.toml", TINY);
    assert!(works(&place, &["show", "cartpole"]).contains("Two methods on a pole"));
    assert_eq!(line(&works(&place, &["list"]), &["cartpole"])[5], "6");
}

#[test]
fn status_tells_what_is_done_begun_and_failed() {
    let place = place();
    works(&place, &["run", "tiny.toml", "--only", "method=fixed,seed=4-5", "-q"]);
    fs::remove_file(place.path("runs/tiny/CartPole-v1/fixed/seed-5/result.json")).unwrap();
    works(
        &place,
        &["run", "tiny.toml", "--only", "method=epgt paper,seed=6", "-q"],
    );
    fs::remove_file(place.path("runs/tiny/CartPole-v1/epgt-paper/seed-6/result.json")).unwrap();
    place.write("runs/tiny/CartPole-v1/epgt-paper/seed-6/failure.txt", "it diverged");
    let status = works(&place, &["status", "tiny.toml"]);
    assert!(status.starts_with("tiny in runs/tiny: 1 of 6 runs done\n"), "{status}");
    let fixed = line(&status, &["CartPole-v1", "fixed"]);
    assert_eq!(fixed[2..], ["1", "of", "3", "0", "1", "(100%)", "1", "0"]);
    let paper = line(&status, &["CartPole-v1", "epgt", "paper"]);
    assert_eq!(paper[3..], ["0", "of", "3", "0", "0", "2", "1"]);
    assert!(status.contains("epgt-paper/seed-6 failed: it diverged"), "{status}");
    // What failed is tried again, and then it has not failed.
    works(&place, &["run", "tiny.toml", "-q"]);
    assert!(works(&place, &["status", "tiny.toml"]).contains("6 of 6 runs done"));
    assert!(works(&place, &["show", "tiny.toml"]).contains("6 runs are done in runs/tiny and took"));
}

#[test]
fn the_printed_commands_make_the_whole_experiment() {
    let place = place();
    works(&place, &["run", "tiny.toml", "-q", "--out", "whole"]);
    let commands = works(&place, &["cells", "tiny.toml", "--out", "of cells"]);
    assert_eq!(commands.lines().count(), 6);
    assert!(
        commands.contains("--only 'task=CartPole-v1,method=epgt paper,seed=4' --out 'of cells' -q\n"),
        "{commands}"
    );
    let program = env!("CARGO_BIN_EXE_epgt");
    let ended = place.bash(&format!("set -e; epgt() {{ '{program}' \"$@\"; }}\n{commands}"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(results(&place, "of cells"), results(&place, "whole"));
    let page = |out: &str| fs::read(place.path(out).join("results.md")).unwrap();
    assert_eq!(page("of cells"), page("whole"));
}

#[test]
fn what_has_not_begun_is_named_and_takes_no_room_in_the_tables() {
    let place = place();
    place.write("two.toml", &format!("{TINY}\n[[task]]\ntask = \"Acrobot-v1\"\n"));
    let only = "task=CartPole-v1,method=fixed,seed=4-5";
    let printed = works(&place, &["run", "two.toml", "-q", "--out", "two", "--only", only]);
    assert_eq!(line(&printed, &["fixed"])[1..4], ["2", "of", "3"]);
    assert!(!printed.contains("No run has begun"), "{printed}");
    let page = fs::read_to_string(place.path("two/results.md")).unwrap();
    let (tables, _) = page.split_once("## Settings").unwrap();
    assert!(tables.contains("No run has begun of epgt paper.\n"), "{tables}");
    assert!(tables.contains("No run has begun on Acrobot-v1.\n"), "{tables}");
    assert!(!tables.contains("0 of 3"), "{tables}");
    let costs = fs::read_to_string(place.path("two/costs.md")).unwrap();
    assert_eq!(costs.matches("-v1").count(), 1, "{costs}");
}

#[test]
fn directories_of_several_machines_are_merged() {
    let place = place();
    works(&place, &["run", "tiny.toml", "-q", "--out", "whole"]);
    works(
        &place,
        &["run", "tiny.toml", "-q", "--out", "a", "--only", "method=fixed"],
    );
    works(
        &place,
        &[
            "run",
            "tiny.toml",
            "-q",
            "--out",
            "b",
            "--only",
            "method=epgt paper,seed=4",
        ],
    );
    works(
        &place,
        &[
            "run",
            "tiny.toml",
            "-q",
            "--out",
            "c",
            "--only",
            "method=epgt paper,seed=4-6",
        ],
    );
    let table = works(&place, &["report", "tiny.toml", "--out", "a", "--merge", "b", "c"]);
    assert_eq!(line(&table, &["epgt", "paper"])[2], "3");
    assert_eq!(results(&place, "a"), results(&place, "whole"));

    // The same run with another end is no other machine's.
    let path = place.path("c/CartPole-v1/epgt-paper/seed-4/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("policy_sha256").unwrap() + "policy_sha256\": \"".len();
    fs::write(&path, format!("{}!{}", &text[..at], &text[at + 1..])).unwrap();
    experiment(&place, &["report", "tiny.toml", "--out", "a", "--merge", "b", "c"])
        .is_refused_with(&["hold the same run with different ends"]);
}

#[test]
fn a_scaled_experiment_says_so_everywhere_and_has_a_place_of_its_own() {
    let place = place();
    let says = "tiny (scaled: 0.5 times the steps)";
    let ended = experiment(&place, &["run", "tiny.toml", "--scale", "0.5"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains(says) && ended.stdout.starts_with(says),
        "{ended:?}"
    );
    let out = "runs/tiny-scale-0.5";
    let page = fs::read_to_string(place.path(out).join("results.md")).unwrap();
    assert!(page.starts_with(&format!("# {says}\n")), "{page}");
    assert!(
        fs::read_to_string(place.path(out).join("costs.md"))
            .unwrap()
            .contains(says)
    );
    assert!(
        results(&place, out)
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("CartPole-v1,fixed,4,0.5,")
    );
    assert!(results(&place, out).contains(",1000,"));
    for command in ["status", "report", "show", "cells"] {
        let said = works(&place, &[command, "tiny.toml", "--scale", "0.5"]);
        assert!(
            said.contains("caled: 0.5 times the steps") || said.contains("--scale 0.5 --only"),
            "{said}"
        );
    }
    assert!(!place.path("runs/tiny").exists());
    experiment(&place, &["status", "tiny.toml", "--out", out])
        .is_refused_with(&["steps = 1000 there, steps = 2000 here", "say --scale F"]);
}

#[test]
fn a_file_may_choose_the_median_of_the_best_checkpoint_and_ask_for_costs() {
    let place = Place::new();
    let head = "score = \"best_checkpoint\"\nstatistic = \"median\"\ncosts = true\n";
    let runs = "[settings]\nbest_by = \"training\"\nfinal_episodes = 20";
    place.write("tiny.toml", &format!("{head}{}", TINY.replace("[settings]", runs)));
    let table = works(&place, &["run", "tiny.toml", "-q"]);
    assert!(table.starts_with("CartPole-v1, best_checkpoint\n"), "{table}");
    assert_eq!(line(&table, &["method", "seeds"])[2..4], ["median", "mean"]);
    assert!(table.contains("has the highest median"), "{table}");
    assert!(table.contains("steps per CPU-second"), "{table}");
    let scores: Vec<f64> = results(&place, "runs/tiny")
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(6).unwrap().parse().unwrap())
        .collect();
    assert_eq!(scores.len(), 6);
    let mut fixed = scores[..3].to_vec();
    fixed.sort_by(f64::total_cmp);
    assert_eq!(line(&table, &["fixed", "3"])[2], format!("{:.2}", fixed[1]));
}

#[test]
fn what_cannot_be_meant_is_refused_in_one_sentence() {
    let place = place();
    let refused = |arguments: &[&str], parts: &[&str]| experiment(&place, arguments).is_refused_with(parts);
    refused(
        &["run", "cartpol"],
        &["unknown experiment 'cartpol'; did you mean 'cartpole'?"],
    );
    refused(
        &["show", "no-such-thing-at-all"],
        &["unknown experiment", "valid ones are ablation-encoder, "],
    );
    refused(
        &["run", "tiny.toml", "--only", "task=CartPole"],
        &["did you mean 'CartPole-v1'?"],
    );
    refused(
        &["run", "tiny.toml", "--only", "method=fixd"],
        &["did you mean 'fixed'?"],
    );
    refused(
        &["run", "tiny.toml", "--only", "seed=3"],
        &["not among the experiment's seeds, 4 to 6"],
    );
    refused(&["run", "tiny.toml", "--only", "fixed"], &["should be task=NAME"]);
    for scale in ["0", "nan", "inf", "-1", "1e9"] {
        refused(
            &["run", "tiny.toml", &format!("--scale={scale}")],
            &["use a number above 0, such as 0.1"],
        );
    }
    refused(
        &["run", "tiny.toml", "--scale", "0.001"],
        &["with --scale 0.001, steps = 2 is less than one rollout"],
    );
    refused(&["run", "tiny.toml", "--jobs", "0"], &["use 1 or more"]);
    refused(
        &["report", "tiny.toml"],
        &["there are no runs of tiny in runs/tiny; make them with: epgt experiment run"],
    );
    refused(
        &["report", "tiny.toml", "--merge", "nowhere"],
        &["--merge nowhere: there is no such directory"],
    );
    assert!(!place.path("runs").exists());
}

#[test]
fn the_signal_of_random_choices_is_measured_over_seeds() {
    let place = Place::new();
    let text = r#"
seeds = 8
[settings]
defaults = "task"
steps = 4000
n_envs = 8
eval_interval = 0
hyper.hold = 10
hyper.outcome = "episode"
tune.learning_rate = "around:2:3"
[[task]]
task = "CartPole-v1"
[[method]]
name = "drawn"
scheduler = "random"
[[method]]
name = "learned"
scheduler = "bandit"
[[method]]
name = "kept"
scheduler = "fixed"
"#;
    place.write("drawn.toml", text);
    experiment(&place, &["signal", "drawn.toml"])
        .is_refused_with(&["no method of drawn has finished runs in runs/drawn that drew their values at random"]);
    works(&place, &["run", "drawn.toml", "--quiet"]);
    let ended = experiment(&place, &["signal", "drawn.toml"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // 100 updates are ten decisions; the last waits for its rollout, and the first has none before it.
    let row = line(&ended.stdout, &["CartPole-v1", "drawn", "learning_rate", "8", "8"]);
    let (signal, chance): (f64, f64) = (row[5].parse().unwrap(), row[6].parse().unwrap());
    assert!(signal > 0.0 && (chance - 2.0_f64.sqrt()).abs() < 0.01, "{row:?}");
    assert!(
        !ended.stdout.contains("learned") && !ended.stdout.contains("kept"),
        "{ended:?}"
    );
    let left_out = "left out: learned on CartPole-v1, learning_rate: choices were not drawn at random";
    assert!(
        ended.stderr.contains(left_out) && !ended.stderr.contains("kept"),
        "{ended:?}"
    );
}

#[test]
fn how_much_is_lost_by_not_tuning_is_measured_around_the_first_method_of_a_group() {
    let place = Place::new();
    let text = r#"
seeds = 2
[settings]
defaults = "task"
scheduler = "fixed"
steps = 4000
eval_interval = 0
[[task]]
task = "CartPole-v1"
[[task]]
task = "Pendulum-v1"
[[method]]
name = "usual"
group = "around"
[[method]]
name = "near"
group = "around"
a2c.gamma = 0.5
[[method]]
name = "small"
group = "around"
policy.hidden = [4]
"#;
    place.write("varied.toml", text);
    experiment(&place, &["sensitivity", "varied.toml"])
        .is_refused_with(&["usual on CartPole-v1 has fewer than two finished runs"]);
    works(&place, &["run", "varied.toml", "--quiet"]);
    let told = works(&place, &["sensitivity", "varied.toml"]);
    let row = line(&told, &["around", "3"]);
    let numbers: Vec<f64> = row[2..].iter().map(|text| text.parse().unwrap()).collect();
    let [_, shared, picked, sensitivity, dimension] = numbers[..] else {
        panic!("{row:?}")
    };
    assert!(
        (picked - shared - sensitivity).abs() < 0.011 && dimension <= 2.0,
        "{row:?}"
    );
    for name in ["gamma", "hidden"] {
        assert_eq!(line(&told, &[name]).len(), 2, "{told}");
    }
    place.write("alone.toml", &text.replace("group = \"around\"\n", ""));
    works(&place, &["run", "alone.toml", "--quiet"]);
    experiment(&place, &["sensitivity", "alone.toml"]).is_refused_with(&["usual is in no group"]);
}
