//! Several seeds are one thing: one directory that is trained, resumed, evaluated, reported and compared as a whole.

mod common;

use common::{Place, files};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn seeds_share_a_directory_that_is_named_after_them_and_end_with_their_mean() {
    let place = Place::new();
    let ended = place.run(&["train", "CartPole-v1", "--seeds", "3", "--steps", "4000"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let group = "runs/CartPole-v1-a2c-epgt-3-seeds";
    let last = ended.stdout.lines().last().unwrap_or_default().to_string();
    assert!(
        last.starts_with("3 seeds: mean return ")
            && last.contains("95% interval [")
            && last.ends_with(&format!("in {group}")),
        "{last}"
    );
    for seed in 0..3 {
        assert!(place.path(group).join(format!("seed-{seed}/result.json")).exists());
    }
    let ended = place.run(&["eval", group, "--episodes", "3", "--json"]);
    let report = json(&ended.stdout);
    assert_eq!(
        (report["seeds"].as_u64(), report["runs"].as_array().map(Vec::len)),
        (Some(3), Some(3))
    );
    let ended = place.run(&["compare", group]);
    assert!(ended.code == Some(0) && ended.stdout.contains(" 3 "), "{ended:?}");
    let ended = place.run(&["report", group, "--out", "page"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    place
        .run(&["train", "CartPole-v1", "--seeds", "3", "--out", group])
        .is_refused_with(&["--resume", "--force"]);
    place
        .run(&["train", "CartPole-v1", "--out", group])
        .is_refused_with(&["several seeds"]);
    place
        .run(&["eval", group, "--video", "a.gif"])
        .is_refused_with(&["--video shows one policy", "seed-0"]);
}

#[test]
fn seeds_are_resumed_as_a_whole_whatever_is_missing() {
    let place = Place::new();
    let whole = place.run(&[
        "train",
        "CartPole-v1",
        "--seeds",
        "3",
        "--seed",
        "5",
        "--steps",
        "4000",
        "--out",
        "whole",
        "--json",
    ]);
    let whole = json(&whole.stdout);
    assert_eq!(whole["directory"], "whole");
    assert_eq!(whole["runs"][2]["directory"], "whole/seed-7");
    // One is as if it had been killed before it began, one before its first checkpoint, one is done.
    let copied = std::process::Command::new("cp")
        .args(["-r", "whole", "parted"])
        .current_dir(place.path("."))
        .status();
    assert!(copied.expect("cp starts").success());
    std::fs::remove_dir_all(place.path("parted/seed-5")).expect("it can be removed");
    for name in ["checkpoint.bin", "result.json", "config.toml"] {
        std::fs::remove_file(place.path("parted/seed-6").join(name)).expect("it can be removed");
    }
    let parted = place.run(&["train", "--resume", "parted", "--json"]);
    assert_eq!(parted.code, Some(0), "{parted:?}");
    let parted = json(&parted.stdout);
    for seed in 0..3 {
        assert_eq!(
            parted["runs"][seed]["policy_sha256"],
            whole["runs"][seed]["policy_sha256"]
        );
    }
    assert_eq!(parted["mean_return"], whole["mean_return"]);
    std::fs::remove_dir_all(place.path("parted/seed-5")).expect("it can be removed");
    let refused = place.run(&["train", "--resume", "parted", "--steps", "1"]);
    refused.is_refused_with(&["steps = 1 is less than one rollout"]);
    let longer = place.run(&["train", "--resume", "parted", "--steps", "6000", "--json"]);
    let longer = json(&longer.stdout);
    // Whole rollouts of 8 x 32.
    assert_eq!(longer["runs"][0]["steps"], 5888);
}

#[test]
fn fewer_seeds_that_replace_more_leave_none_of_the_old_and_all_that_is_the_users() {
    let place = Place::new();
    let train = |seeds: &str, more: &[&str]| {
        let all = [
            &[
                "train",
                "CartPole-v1",
                "--seeds",
                seeds,
                "--steps",
                "2000",
                "--out",
                "group",
                "-q",
            ],
            more,
        ]
        .concat();
        assert_eq!(place.run(&all).code, Some(0));
    };
    train("3", &[]);
    place.write("group/notes.txt", "the user's");
    place.write("group/seed-2/notes.txt", "the user's");
    train("2", &["--force"]);
    let left: Vec<String> = files(&place.path("group/seed-2")).into_keys().collect();
    assert_eq!(left, ["notes.txt"]);
    assert!(place.path("group/notes.txt").exists());
    assert!(place.path("group/seed-1/result.json").exists());
}

#[test]
fn a_quiet_run_says_where_it_is_and_json_too() {
    let place = Place::new();
    let ended = place.run(&["train", "CartPole-v1", "--steps", "2000", "-q"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str()),
        ("", "In runs/CartPole-v1-a2c-epgt-s0\n")
    );
    let ended = place.run(&["train", "CartPole-v1", "--steps", "2000", "-q", "--json"]);
    assert_eq!(json(&ended.stdout)["directory"], "runs/CartPole-v1-a2c-epgt-s0-2");
    let made = json(&std::fs::read_to_string(place.path("runs/CartPole-v1-a2c-epgt-s0/epgt.json")).expect("a marker"));
    let by = &made["history"][0];
    assert_eq!(by["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(by["command"], "epgt train CartPole-v1 --steps 2000 -q");
    assert!(by["host"].as_str().is_some_and(|host| !host.is_empty()) && by["date"].as_str().is_some());
}

#[test]
fn reports_and_tables_are_not_written_over_somebody_elses() {
    let place = Place::new();
    place.train("runs/one", &["--steps", "2000"]);
    place.write("runs/report.html", "<p>years of work</p>");
    place
        .run(&["report", "runs"])
        .is_refused_with(&["runs/report.html was not made by this program", "--out"]);
    std::fs::remove_file(place.path("runs/report.html")).expect("a file");
    std::fs::create_dir(place.path("runs/report")).expect("a directory");
    place.write("runs/report/thesis.svg", "years of work");
    place
        .run(&["report", "runs"])
        .is_refused_with(&["runs/report was not made by this program"]);
    std::fs::remove_dir_all(place.path("runs/report")).expect("a directory");
    for _ in 0..2 {
        assert_eq!(place.run(&["report", "runs"]).code, Some(0));
    }
    std::fs::create_dir_all(place.path("tables")).expect("a directory");
    place.write("tables/results.csv", "years,of,work");
    let all = ["experiment", "run", "cartpole", "--scale", "0.01", "--out", "tables"];
    place
        .run(&all)
        .is_refused_with(&["tables/results.csv was not made by this program"]);
}

#[test]
fn somebody_elses_directory_is_refused_and_left_as_it_was() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("mine/members")).expect("a directory");
    place.write("mine/members/data.csv", "years of work");
    place.write("mine/metrics.csv", "years of work");
    let before = files(&place.path("mine"));
    for more in [
        &[][..],
        &["--force"],
        &["--seeds", "2"],
        &["--seeds", "2", "--force"],
        &["--scheduler", "pbt", "--force"],
    ] {
        let all = [&["train", "CartPole-v1", "--steps", "120000", "--out", "mine"], more].concat();
        place
            .run(&all)
            .is_refused_with(&["mine holds files that this program did not make"]);
    }
    assert_eq!(files(&place.path("mine")), before);
}
