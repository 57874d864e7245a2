//! `epgt report` and `epgt compare` on real runs, and the page in a real browser.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Place;
use epgt_testing::needs;

/// Two methods with two seeds each in an experiment's layout, one run that has not finished and one directory that is
/// broken.
fn experiment() -> Place {
    let place = Place::new();
    for (method, arguments) in [
        ("scheduled", ["--preset", "paper", "--set", "write_interval=1"]),
        ("kept <b>", ["--preset", "paper", "--scheduler", "fixed"]),
    ] {
        for seed in ["0", "1", "2"] {
            let out = format!("runs/CartPole-v1/{method}/seed-{seed}");
            let mut all = vec!["--steps", "6000", "--seed", seed, "--set", "eval_interval=3000"];
            all.extend(arguments);
            place.train(&out, &all);
        }
    }
    std::fs::remove_dir_all(place.path("runs/CartPole-v1/kept <b>/seed-2")).unwrap();
    std::fs::remove_file(place.path("runs/CartPole-v1/scheduled/seed-2/result.json")).unwrap();
    std::fs::create_dir_all(place.path("runs/CartPole-v1/scheduled/seed-3")).unwrap();
    place.write("runs/CartPole-v1/scheduled/seed-3/config.toml", "task = ");
    place
}

#[test]
fn a_report_is_one_page_with_its_pictures_and_tables_beside_it() {
    let place = experiment();
    let ended = place.run(&["report", "runs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("runs/report.html: 5 runs, "), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(
        ended.stderr.contains("seed-3/config.toml: it is not valid TOML"),
        "{ended:?}"
    );

    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "src=", "url(", "@import", "<script", "<b>"] {
        assert!(!outside.contains(reference), "'{reference}' in the page");
    }
    for part in [
        "2 runs per method are too few to rest a claim on",
        "seed-2 has come to step 6000",
        "it is not valid TOML",
        "What was chosen on CartPole-v1: learning_rate",
        "keys by value",
        "Reconstruction loss",
        "Performance profile",
        "What the returns say of the choices",
        "scheduled, learning_rate: F = ",
        "A run like these can",
        "this is what was seen, not what was caused",
        "<span class=\"method\">kept &lt;b&gt;</span>",
        "The commands that make it again",
        "epgt train ",
        "epgt report runs",
        "Where the methods differ",
        "Written by epgt",
    ] {
        assert!(page.contains(part), "'{part}' is missing");
    }

    let files = common::files(&place.path("runs/report"));
    let count = |end: &str| files.keys().filter(|name| name.ends_with(end)).count();
    assert_eq!((count(".svg"), count(".csv")), (count(".png"), count(".md")));
    assert_eq!(count(".svg"), page.matches("<figure").count());
    assert!(
        files
            .iter()
            .all(|(name, bytes)| !name.ends_with(".png") || bytes.starts_with(b"\x89PNG"))
    );
    let table = String::from_utf8(files["scores-final-CartPole-v1.csv"].clone()).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows[0].starts_with("method,runs,mean,sd,95% interval,median,IQM,"),
        "{table}"
    );
    assert_eq!(rows.len(), 3, "{table}");
    assert!(
        rows[1..].iter().all(|row| row.contains(",2,")),
        "the unfinished run is not counted: {table}"
    );
    let markdown = String::from_utf8(files["scores-final-CartPole-v1.md"].clone()).unwrap();
    assert!(markdown.starts_with("| method "), "{markdown}");

    // Written again it has the same bytes but for the date, and the folder that it left is no run.
    place.run(&["report", "runs"]);
    let again = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    assert!(undated(&again) == undated(&page));
}

/// A page without the moment at which it was written.
fn undated(page: &str) -> String {
    let (before, rest) = page.split_once("<time").expect("a date");
    let (_, after) = rest.split_once("</time>").expect("the date's end");
    format!("{before}{after}")
}

#[test]
fn methods_outside_an_experiment_are_named_by_what_sets_them_apart() {
    let place = Place::new();
    let common = ["--steps", "2000", "--scheduler", "fixed"];
    for (name, more) in [
        ("a", ["--seed", "0", "--set", "gamma=0.9"]),
        ("b", ["--seed", "1", "--set", "gamma=0.9"]),
        ("c", ["--seed", "0", "--set", "gamma=0.99"]),
    ] {
        place.train(name, &[&common[..], &more[..]].concat());
    }
    let ended = place.run(&["report", "a", "b", "c", "--out", "page.html", "--title", "Discounts"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(
        page.contains("<h1>Discounts</h1>") && page.contains("3 runs of 2 methods on 1 task"),
        "{ended:?}"
    );
    assert!(page.contains(">gamma=0.9<") && page.contains(">gamma=0.99<"));
    // A second page beside it has its own pictures, and either can be written again.
    for name in ["other", "page"] {
        let ended = place.run(&["report", "c", "--out", &format!("{name}.html")]);
        assert!(
            ended.stdout.ends_with(&format!("the files are in {name}\n")),
            "{ended:?}"
        );
        assert!(place.path(&format!("{name}/learning-CartPole-v1.svg")).is_file());
    }
}

#[test]
fn the_commands_that_make_it_again_are_in_the_order_in_which_they_were_given() {
    let place = Place::new();
    for (name, seed) in [("a", "0"), ("b", "1")] {
        place.train(name, &["--steps", "2000", "--seed", seed]);
    }
    // The one that is found first was given last.
    let marker = std::fs::read_to_string(place.path("a/epgt.json")).unwrap();
    let (before, rest) = marker.split_once("\"date\": \"").expect("a date");
    let (_, after) = rest.split_once('"').expect("the date's end");
    place.write(
        "a/epgt.json",
        &format!("{before}\"date\": \"2999-01-01T00:00:00Z\"{after}"),
    );
    place.run(&["report", "a", "b", "--out", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    let (_, commands) = page.split_once("The commands that make it again").expect("commands");
    let at = |part: &str| commands.find(part).expect(part);
    assert!(
        at("--out b") < at("--out a") && at("--out a") < at("epgt report a b"),
        "{commands}"
    );
}

/// The rows of a table of `epgt compare` as (method, runs, mean, interval, d).
fn compared(text: &str) -> Vec<[String; 5]> {
    let lines: Vec<&str> = text.lines().collect();
    let rule = lines.iter().position(|line| line.starts_with("---")).expect("a table");
    let spans: Vec<(usize, usize)> =
        lines[rule]
            .match_indices("-")
            .fold(Vec::new(), |mut spans: Vec<(usize, usize)>, (at, _)| {
                match spans.last_mut() {
                    Some(span) if span.1 == at => span.1 = at + 1,
                    _ => spans.push((at, at + 1)),
                }
                spans
            });
    let field = |line: &str, column: usize| {
        let (from, to) = spans[column];
        let letters: String = line.chars().skip(from).take(to - from).collect();
        letters.trim().to_string()
    };
    let rows = lines[rule + 1..].iter().take_while(|line| !line.is_empty());
    rows.map(|line| [0, 1, 2, 4, spans.len() - 1].map(|column| field(line, column)))
        .collect()
}

#[test]
fn runs_of_different_steps_or_schedulers_are_different_methods() {
    let place = Place::new();
    let common = ["--set", "eval_interval=0", "--seed"];
    for (name, more) in [
        ("runs/a", ["0", "--steps", "2000", "--scheduler", "fixed"]),
        ("runs/b", ["1", "--steps", "2000", "--scheduler", "fixed"]),
        ("runs/c", ["0", "--steps", "3000", "--scheduler", "fixed"]),
        ("runs/d", ["0", "--steps", "2000", "--scheduler", "epgt"]),
        ("runs/e", ["2", "--steps", "2000", "--scheduler", "fixed"]),
    ] {
        place.train(name, &[&common[..], &more[..]].concat());
    }
    let ended = place.run(&["compare", "runs"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let rows = compared(&ended.stdout);
    let named: Vec<(&str, &str)> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    assert_eq!(
        named,
        [
            ("epgt steps=2000", "1"),
            ("fixed steps=2000", "3"),
            ("fixed steps=3000", "1")
        ]
    );
    // One run has no interval and no effect size; three have an interval.
    assert_eq!((rows[0][3].as_str(), rows[0][4].as_str()), ("-", "-"));
    assert!(rows[1][3].starts_with('[') && rows[1][4] == "-", "{rows:?}");
    let ended = place.run(&["report", "runs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    assert!(page.contains("5 runs of 3 methods on 1 task"), "{ended:?}");
    assert!(page.contains("too few to rest a claim on"));
    assert!(!page.contains("NaN") && !page.contains(">inf<"));
}

#[test]
fn many_differing_settings_make_short_names_that_are_still_unique() {
    let place = Place::new();
    let differ = [
        "gamma=0.9",
        "ent_coef=0.02",
        "vf_coef=0.4",
        "hyper.hold=7",
        "hyper.neighbours=4",
    ];
    for (name, last) in [
        ("runs/a", "hyper.write_interval=3"),
        ("runs/b", "hyper.write_interval=4"),
        ("runs/c", ""),
    ] {
        let mut all = vec!["--steps", "1000"];
        if !last.is_empty() {
            all.extend(differ.iter().chain([&last]).flat_map(|one| ["--set", *one]));
        }
        place.train(name, &all);
    }
    let ended = place.run(&["compare", "runs"]);
    let rows = compared(&ended.stdout);
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names.len(), 3, "{ended:?}");
    assert!(
        names.iter().all(|name| name.len() < 40 && name.ends_with("(+5)")),
        "{names:?}"
    );
    assert!(
        names[0].contains("write_interval=3") || names[1].contains("write_interval=3"),
        "{names:?}"
    );
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(distinct.len(), 3, "{names:?}");
}

#[test]
fn names_of_a_million_letters_are_short_and_still_unique() {
    let place = Place::new();
    let whole = place.train("whole", &["--steps", "1000"]);
    let config = std::fs::read_to_string(whole.join("config.toml")).unwrap();
    let (long, middle) = ("é".repeat(500_000), "é".repeat(250_000));
    for (name, scheduler, task) in [
        ("a", format!("{long}x"), "CartPole-v1".to_string()),
        ("b", format!("{long}y"), "CartPole-v1".to_string()),
        ("c", format!("{middle}x{middle}x"), "CartPole-v1".to_string()),
        ("d", "epgt".to_string(), format!("../<b>\\u0000\\n{long}")),
    ] {
        let run = place.path(&format!("runs/{name}"));
        copy(&whole, &run);
        let changed = config.replace("scheduler = \"epgt\"", &format!("scheduler = \"{scheduler}\""));
        let changed = changed.replace("task = \"CartPole-v1\"", &format!("task = \"{task}\""));
        std::fs::write(run.join("config.toml"), changed).unwrap();
    }
    let ended = place.run(&["compare", "runs"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.lines().all(|line| line.chars().count() < 250));
    assert!(
        !ended.stdout.contains('\0') && ended.stdout.starts_with("../<b> é"),
        "{}",
        ended.stdout
    );
    let (_, cartpole) = ended.stdout.split_once("CartPole-v1,").expect("a second task");
    let names: std::collections::BTreeSet<String> = compared(cartpole).into_iter().map(|[name, ..]| name).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(place.run(&["report", "runs"]).code, Some(0));
    assert!(
        common::files(&place.path("runs/report"))
            .keys()
            .all(|name| name.len() < 200)
    );
}

#[test]
fn a_seed_counts_once_and_what_is_left_out_is_named() {
    let place = Place::new();
    for (name, seed) in [("runs/a", "0"), ("runs/again", "0"), ("runs/b", "1")] {
        place.train(name, &["--steps", "1000", "--seed", seed]);
    }
    let ended = place.run(&["compare", "runs"]);
    let rows = compared(&ended.stdout);
    assert_eq!(
        (rows.len(), rows[0][1].as_str(), rows[0][3].as_str()),
        (1, "2", "-"),
        "{ended:?}"
    );
    assert_eq!(
        ended.stderr,
        "left out: runs/a repeats seed 0 of runs/again, which ended with the same policy; a seed counts once\n"
    );
    let ended = place.run(&["report", "runs"]);
    assert!(ended.stdout.contains("report.html: 2 runs, "), "{ended:?}");
    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    assert!(page.contains("1 run with a seed that is there already, left out") && page.contains("repeats seed 0"));
    // The same directory named twice is no second run either.
    let ended = place.run(&["compare", "runs/b", "runs/../runs/b"]);
    assert_eq!(
        (compared(&ended.stdout).len(), compared(&ended.stdout)[0][1].as_str()),
        (1, "1"),
        "{ended:?}"
    );
}

#[test]
fn a_directory_of_seeds_is_one_method_and_two_of_them_are_two() {
    let place = Place::new();
    for (directory, scheduler) in [("first", "epgt"), ("second", "epgt"), ("third", "fixed")] {
        for seed in ["0", "1", "10"] {
            let out = format!("all/{directory}/seed-{seed}");
            place.train(&out, &["--steps", "1000", "--seed", seed, "--scheduler", scheduler]);
        }
        place.write(&format!("all/{directory}/seeds"), "a marker");
    }
    let of = |arguments: &[&str]| {
        let ended = place.run(&[&["compare"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let rows = compared(&ended.stdout);
        let rows: Vec<(String, String)> = rows.into_iter().map(|[name, runs, ..]| (name, runs)).collect();
        (rows, ended.stderr)
    };
    let named = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter()
            .map(|(name, runs)| (name.to_string(), runs.to_string()))
            .collect()
    };
    assert_eq!(of(&["all/first"]), (named(&[("a2c epgt", "3")]), String::new()));
    // What the user names apart is compared, also where the configuration is the same.
    assert_eq!(
        of(&["all/second", "all/first"]).0,
        named(&[("second", "3"), ("first", "3")])
    );
    assert_eq!(
        of(&["all/third", "all/first"]).0,
        named(&[("fixed", "3"), ("epgt", "3")])
    );
    // Below one directory the configuration decides, wherever its runs lie.
    let (rows, left_out) = of(&["all"]);
    assert_eq!(rows, named(&[("epgt", "3"), ("fixed", "3")]));
    assert_eq!(left_out.lines().count(), 3, "{left_out}");
    let ended = place.run(&["report", "all/first", "all/second", "all/third", "--out", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("9 runs of 3 methods on 1 task"), "{ended:?}");
}

#[test]
fn a_score_of_fewer_than_a_hundred_episodes_says_so() {
    let place = Place::new();
    place.train("run", &["--steps", "200", "--n-envs", "2"]);
    let result = std::fs::read_to_string(place.path("run/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    let episodes = result["episodes"].as_u64().unwrap();
    assert!((2..100).contains(&episodes), "{result}");
    let ended = place.run(&["compare", "run"]);
    let says = format!("CartPole-v1, return of the last {episodes} training episodes\n");
    assert!(ended.stdout.starts_with(&says), "{ended:?}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let place = experiment();
    place.train(
        "other/CartPole-v1-with-a-long-name-for-a-directory",
        &["--steps", "1000"],
    );
    for (arguments, part) in [
        (&["tasks"][..], "MountainCarContinuous-v0"),
        (&["tasks", "BipedalWalker-v3"], "hull"),
        (&["compare", "runs", "other"], "Cohen's"),
        (&["experiment", "list"], "tuning-free-ppo"),
        (&["hyperparameters"], "learning_rate"),
        (&["explain", "runs/CartPole-v1/scheduled/seed-0"], "learning_rate"),
    ] {
        for columns in [60, 80, 120] {
            let mut command = place.command(arguments);
            let ended = common::Ended::of(command.env("COLUMNS", columns.to_string()).output().unwrap());
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let wide = ended.stdout.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{arguments:?} at {columns}:\n{}", ended.stdout);
            assert!(
                ended.stdout.contains(part),
                "{arguments:?} at {columns}:\n{}",
                ended.stdout
            );
        }
    }
    // In a file or a pipe a row is a line.
    let ended = place.run(&["compare", "runs"]);
    assert!(ended.stdout.lines().any(|line| line.chars().count() > 100), "{ended:?}");
}

#[test]
fn a_damaged_run_is_named_and_left_out() {
    let place = Place::new();
    let whole = place.train("runs/whole", &["--steps", "2000"]);
    let long = "9".repeat(1_000_000);
    let metrics = std::fs::read_to_string(whole.join("metrics.csv")).unwrap();
    let header = metrics.lines().next().unwrap();
    let descending = {
        let mut lines: Vec<&str> = metrics.lines().collect();
        lines.reverse();
        let rows = &lines[..lines.len() - 1];
        format!("{header}\n{}\n", rows.join("\n"))
    };
    let cases: Vec<(&str, &str, Vec<u8>, &str)> = vec![
        (
            "no-toml",
            "config.toml",
            b"task = ".to_vec(),
            "config.toml: it is not valid TOML",
        ),
        ("no-text", "config.toml", vec![0xff, 0xfe, 0x00], "config.toml: "),
        (
            "no-task",
            "config.toml",
            b"seed = 1\n".to_vec(),
            "config.toml: it does not say the task",
        ),
        (
            "long-line",
            "config.toml",
            long.clone().into_bytes(),
            "config.toml: it is not valid TOML",
        ),
        (
            "empty-result",
            "result.json",
            Vec::new(),
            "result.json: it is not the result of a run",
        ),
        (
            "other-result",
            "result.json",
            b"[1, 2]".to_vec(),
            "result.json: it is not the result of a run",
        ),
        ("empty-metrics", "metrics.csv", Vec::new(), "there is no header"),
        (
            "cut-header",
            "metrics.csv",
            header.as_bytes()[..20].to_vec(),
            "there is no header",
        ),
        (
            "no-column",
            "metrics.csv",
            b"a,b\n1,2\n".to_vec(),
            "unknown column 'time/total_timesteps'",
        ),
        (
            "long-field",
            "metrics.csv",
            format!("time/total_timesteps\nx{long}\n").into_bytes(),
            "is not a number",
        ),
        (
            "long-row",
            "metrics.csv",
            format!("{header}\n{}\n", "1,".repeat(500_000)).into_bytes(),
            "metrics.csv",
        ),
        ("binary", "metrics.csv", vec![0xff; 5000], "metrics.csv"),
        (
            "backwards",
            "metrics.csv",
            descending.into_bytes(),
            "metrics.csv: its steps do not ascend",
        ),
    ];
    for (name, file, bytes, _) in &cases {
        copy(&whole, &place.path(&format!("runs/{name}")));
        std::fs::write(place.path(&format!("runs/{name}/{file}")), bytes).unwrap();
    }
    for command in ["report", "compare"] {
        let ended = place.run(&[command, "runs"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!(told.len(), cases.len(), "{command}: {told:?}");
        for (name, file, _, part) in &cases {
            let line = told.iter().find(|line| line.contains(&format!("runs/{name}/")));
            let line = line.unwrap_or_else(|| panic!("{name} is not named in {told:?}"));
            assert!(line.starts_with("left out: ") && line.len() < 500, "{line}");
            assert!(line.contains(part) && line.contains(file), "{name}: {line}");
        }
    }
    // A last row that was never finished, and what beside the tables cannot be read, leaves the run in.
    let page = place.path("runs/report.html");
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("1 run of 1 method on 1 task")
    );
    std::fs::write(whole.join("metrics.csv"), &metrics[..metrics.len() - 3]).unwrap();
    std::fs::write(whole.join("checkpoint.bin"), b"no checkpoint").unwrap();
    std::fs::write(whole.join("decisions.csv"), [0xff; 100]).unwrap();
    assert_eq!(place.run(&["report", "runs/whole"]).code, Some(0));
    // Where nothing is left there is nothing to report on.
    let ended = place.run(&["report", "runs/no-toml"]);
    ended.is_refused_with(&[
        "there is no run to report on below runs/no-toml",
        "config.toml: it is not valid TOML",
    ]);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (name, bytes) in common::files(from) {
        std::fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn words_from_outside_are_shown_as_they_are() {
    let place = Place::new();
    for method in ["a|b `c` <img src=x onerror=alert(1)>", "[x](javascript:alert(1)) **d**"] {
        for seed in ["0", "1"] {
            let out = format!("runs/CartPole-v1/{method}/seed-{seed}");
            place.train(
                &out,
                &[
                    "--steps",
                    "1000",
                    "--seed",
                    seed,
                    "--set",
                    &format!("hyper.hold={}", method.len()),
                ],
            );
        }
    }
    let failed = place.path("runs/CartPole-v1/failed/seed-0");
    std::fs::create_dir_all(&failed).unwrap();
    std::fs::write(failed.join("failure.txt"), "<script>alert(2)</script>\n| a | `b`").unwrap();
    let ended = place.run(&["report", "runs", "--title", "<b>title</b>"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("runs/report.html")).unwrap();
    for tag in ["<img", "<script", "<b>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("a|b `c` &lt;img") && page.contains("&lt;script&gt;alert(2)&lt;/script&gt; | a | `b`"));
    for (name, bytes) in common::files(&place.path("runs/report")) {
        let text = String::from_utf8_lossy(&bytes);
        if name.ends_with(".svg") {
            assert!(!text.contains("<img"), "{name}");
        }
        if name.ends_with(".md") {
            assert!(
                !text.contains("<img") && !text.replace("\\]", "").contains("](java"),
                "{name}: {text}"
            );
            let bars = |line: &str| line.replace("\\|", "").matches('|').count();
            let counts: std::collections::BTreeSet<usize> = text.lines().map(bars).collect();
            assert_eq!(counts.len(), 1, "{name}: {text}");
        }
    }
}

#[test]
fn a_comparison_has_a_row_per_method_the_first_named_on_top() {
    let place = experiment();
    let ended = place.run(&["compare", "runs/CartPole-v1/scheduled", "runs/CartPole-v1/kept <b>"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "CartPole-v1, return of the last 72 to 100 training episodes");
    assert!(
        lines[2].contains("P(better than first)") && lines[2].contains("Cohen's d"),
        "{ended:?}"
    );
    assert!(
        lines[4].starts_with("scheduled ") && lines[5].starts_with("kept <b> "),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("1 run has not finished"), "{ended:?}");
}

#[test]
fn what_holds_no_run_is_refused_in_a_sentence() {
    let place = Place::new();
    place
        .run(&["report", "nowhere"])
        .is_refused_with(&["cannot read nowhere: no such file or directory"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run(&["report", "empty"])
        .is_refused_with(&["there is no run to report on below empty"]);
    place
        .run(&["compare", "empty"])
        .is_refused_with(&["there is no finished run with a score", "below empty"]);
}

/// Nine methods with long names, three seeds each, made of one short run.
fn many_methods() -> Place {
    let place = Place::new();
    let whole = place.train(
        "whole",
        &["--steps", "3000", "--preset", "paper", "--set", "eval_interval=1500"],
    );
    let config = std::fs::read_to_string(whole.join("config.toml")).unwrap();
    for (number, method) in [
        "episodic control of the learning rate by the paper's own preset",
        "a-name-without-any-space-that-is-longer-than-a-panel-is-wide",
        "fixed",
        "learning_rate=0.0007 ent_coef=0.01 vf_coef=0.5 (+7)",
        "<b>bold</b> & \"quoted\"",
        "Übergrößenträger λ=0.95",
        "g",
        "h",
        "i",
    ]
    .iter()
    .enumerate()
    {
        for seed in 0..3 {
            let run = place.path(&format!("runs/CartPole-v1/{}/seed-{seed}", method.replace('/', "-")));
            copy(&whole, &run);
            let changed = config.replace("seed = 0\n", &format!("seed = {seed}\n"));
            let changed = changed.replace("gamma = 0.99", &format!("gamma = 0.9{number}"));
            std::fs::write(run.join("config.toml"), changed).unwrap();
        }
    }
    place
}

/// Tells, once a page has been laid out, what is wrong with it: words that are cut, leave the window or their picture, or lie
/// on others, pictures that are empty, errors, and what was fetched. The first word is `ok`, `dark` behind it on a dark ground.
const CHECK: &str = r#"<script>
const wrong = [];
addEventListener("error", event => wrong.push("error: " + event.message));
console.error = (...words) => wrong.push("console: " + words.join(" "));
addEventListener("load", () => {
    const boxes = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!node.data.trim() || ["SCRIPT", "STYLE", "title"].includes(parent.tagName)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of parent.ownerSVGElement ? [parent.getBoundingClientRect()] : range.getClientRects())
            if (box.width > 0 && box.height > 0) boxes.push([box, node.data.trim().slice(0, 40), parent]);
    }
    for (const [box, words, parent] of boxes) {
        if (box.left < -0.5 || box.right > innerWidth + 0.5) wrong.push("outside: " + words);
        const picture = parent.ownerSVGElement?.getBoundingClientRect();
        if (picture && (box.left < picture.left - 1 || box.right > picture.right + 1 || box.bottom > picture.bottom + 2))
            wrong.push("leaves its picture: " + words);
        for (let up = parent; up && up !== document.body; up = up.parentElement)
            if (getComputedStyle(up).overflowX !== "visible" && up.tagName !== "svg" && up.scrollWidth > up.clientWidth + 1)
                wrong.push("cut: " + words);
    }
    boxes.sort((a, b) => a[0].top - b[0].top);
    for (let i = 0; i < boxes.length; i++)
        for (let j = i + 1; j < boxes.length && boxes[j][0].top < boxes[i][0].bottom - 3; j++) {
            const [a, b] = [boxes[i][0], boxes[j][0]];
            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && boxes[i][2] !== boxes[j][2])
                wrong.push("overlap: " + boxes[i][1] + " / " + boxes[j][1]);
        }
    const pictures = [...document.querySelectorAll(".panels > svg")];
    for (const picture of pictures) {
        const place = picture.getBoundingClientRect(), drawn = picture.getBBox();
        if (place.width < 200 || place.height < 60 || drawn.width < 100 || drawn.height < 40) wrong.push("empty picture");
    }
    if (!pictures.length || boxes.length < 50) wrong.push("nothing to see");
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("wide: " + document.documentElement.scrollWidth);
    for (const entry of performance.getEntriesByType("resource"))
        if (!entry.name.startsWith("data:")) wrong.push("fetched: " + entry.name);
    const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    const face = ground[0] < 80 ? "dark" : "light";
    const found = wrong.length ? [...new Set(wrong)].slice(0, 12).join("; ") : "ok";
    const facts = parent.document.createElement("pre");
    facts.className = "facts";
    facts.textContent = innerWidth + " " + face + " " + found;
    parent.document.body.append(facts);
})</script></head>"#;

#[needs(browser)]
#[test]
fn in_a_browser_nothing_is_cut_overlaps_or_is_fetched_at_any_width_in_light_and_dark() {
    let browser = browser();
    let (small, many) = (experiment(), many_methods());
    small.train("one", &["--steps", "1000"]);
    for (place, runs) in [(&small, "runs"), (&small, "one"), (&many, "runs")] {
        let ended = place.run(&["report", runs, "--out", "page.html"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let page = std::fs::read_to_string(place.path("page.html")).unwrap();
        // Frames, since a window cannot be as narrow as a phone. What is folded is unfolded; dark is what a reader asks for.
        let page = page.replace("</head>", CHECK).replace("<details>", "<details open>");
        let dark = page.replace("@media screen and (prefers-color-scheme: dark)", "@media screen");
        let mut frames = String::from("<!DOCTYPE html><body>");
        for (page, width) in [&page, &dark]
            .into_iter()
            .flat_map(|page| [1440, 1280, 768, 390].map(|width| (page, width)))
        {
            let framed = page.replace('&', "&amp;").replace('"', "&quot;");
            frames += &format!("<iframe width={width} height=900 style=\"border:0\" srcdoc=\"{framed}\"></iframe>");
        }
        let checked = place.write("checked.html", &frames);
        let mut found = facts(&browser, &place.path("profile"), &checked);
        found.sort();
        let mut wanted: Vec<String> = [1440, 1280, 768, 390]
            .into_iter()
            .flat_map(|width| ["light", "dark"].map(|face| format!("{width} {face} ok")))
            .collect();
        wanted.sort();
        assert_eq!(found, wanted, "{runs}");
    }
}

/// Opens a page without any network and reads what [`CHECK`] found, a line per frame.
fn facts(browser: &Path, profile: &Path, page: &Path) -> Vec<String> {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--window-size=1500,1000")
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let parts = dom.split("<pre class=\"facts\">").skip(1);
    let found: Vec<String> = parts
        .filter_map(|part| part.split("</pre>").next())
        .map(String::from)
        .collect();
    assert!(
        !found.is_empty(),
        "no facts: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    found
}

/// The browser that EPGT_BROWSER names, or the first that is installed; `None` only if EPGT_BROWSER is `none`.
fn browser() -> PathBuf {
    if let Some(name) = std::env::var_os("EPGT_BROWSER") {
        return PathBuf::from(name);
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut found = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = found.find(|path| path.is_file());
    found.expect("a browser: install chromium, or name one in EPGT_BROWSER")
}
