//! `epgt experiment` from outside: the real executable on a tiny experiment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

const TINY: &str = r#"
description = "tiny"
seeds = 2

[settings]
defaults = "task"
steps = 2000
eval_interval = 0

[[task]]
task = "CartPole-v1"

[[method]]
name = "fixed max"
group = "fixed"
scheduler = "fixed"
hyper.fixed_at = "max"

[[method]]
name = "epgt"
group = "epgt"
[method.hyper]
hold = 5
"#;

/// Runs `epgt experiment run` on this text below a directory.
fn experiment(directory: &Path, text: &str, arguments: &[&str]) -> Output {
    let file = directory.join("tiny.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_epgt"));
    command
        .current_dir(directory)
        .args(["experiment", "run"])
        .arg(file)
        .args(arguments);
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `results.csv` without the columns that are a matter of the machine.
fn results(out: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(out.join("results.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let wall = header.iter().position(|name| *name == "wall_seconds").unwrap();
    let row = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(String::from).collect();
        fields.truncate(wall);
        fields
    };
    text.lines().map(row).collect()
}

fn written(out: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut list = Vec::new();
    for method in ["fixed-max", "epgt"] {
        for seed in ["seed-0", "seed-1"] {
            let path = out.join("CartPole-v1").join(method).join(seed).join("result.json");
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            list.push((path, time));
        }
    }
    list
}

#[test]
fn an_experiment_ends_with_a_table_and_is_not_run_twice() {
    let directory = tempfile::tempdir().unwrap();
    let first = experiment(directory.path(), TINY, &["--jobs", "2"]);
    assert!(first.status.success(), "{}", stderr(&first));
    assert!(stderr(&first).contains("4 of 4 runs done"), "{}", stderr(&first));
    let table = stdout(&first);
    // Two thousand steps are fewer than a hundred episodes here, and that is said.
    assert!(
        table.starts_with("CartPole-v1, return_last_100 (the last ") && table.contains(" training episodes)\n"),
        "{table}"
    );
    assert!(
        table.ends_with("\nThe report, with pictures, is runs/tiny/report.html\n"),
        "{table}"
    );
    for word in [
        "method",
        "95% interval",
        "IQM",
        "AUC",
        " F\n",
        "\nfixed max ",
        "\nepgt ",
    ] {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    assert!(
        table.contains("no method is called better with fewer than 5 seeds"),
        "{table}"
    );

    let out = directory.path().join("runs/tiny");
    let rows = results(&out);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[2][..3], ["CartPole-v1", "fixed max", "1"]);
    assert_eq!((rows[0][3].as_str(), rows[1][3].as_str()), ("scale", "1"));
    assert_eq!(rows[0][8], "f_statistic");
    assert!(rows[1][8].is_empty(), "a constant method has no F: {:?}", rows[1]);
    assert!(rows[3][8].parse::<f64>().unwrap() > 0.0);
    let page = fs::read_to_string(out.join("results.md")).unwrap();
    assert!(page.contains("| fixed max ") && page.contains("hold = 5"), "{page}");
    assert!(
        page.contains("The score is the mean return of the last ") && page.contains(" training episodes, in raw"),
        "{page}"
    );
    // Two seeds have no interval.
    let row: Vec<&str> = table
        .lines()
        .find(|line| line.starts_with("epgt "))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!((row[1], row[4], row[9]), ("2", "-", "-"), "{table}");
    assert!(
        fs::read_to_string(out.join("report.html"))
            .unwrap()
            .contains("fixed-max")
    );
    let costs = fs::read_to_string(out.join("costs.md")).unwrap();
    assert!(costs.contains("| peak MB of the process |"), "{costs}");

    let before = written(&out);
    let second = experiment(directory.path(), TINY, &["--quiet"]);
    assert!(second.status.success());
    assert_eq!(stdout(&second), table);
    assert_eq!(stderr(&second), "");
    assert_eq!(written(&out), before);
}

#[test]
fn results_do_not_depend_on_how_many_runs_go_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    for jobs in ["1", "2"] {
        let output = experiment(directory.path(), TINY, &["--quiet", "--jobs", jobs, "--out", jobs]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(
        results(&directory.path().join("1")),
        results(&directory.path().join("2"))
    );
}

#[test]
fn a_run_that_was_cut_off_is_completed() {
    let directory = tempfile::tempdir().unwrap();
    let first = experiment(directory.path(), TINY, &["--quiet"]);
    let out = directory.path().join("runs/tiny");
    let rows = results(&out);
    let cell = out.join("CartPole-v1/epgt/seed-1");
    fs::remove_file(cell.join("result.json")).unwrap();
    fs::remove_file(cell.join("checkpoint.bin")).unwrap();
    let second = experiment(directory.path(), TINY, &[]);
    assert!(
        stderr(&second).contains("1 runs to make, 3 done before"),
        "{}",
        stderr(&second)
    );
    assert_eq!((stdout(&second), results(&out)), (stdout(&first), rows));
}

#[test]
fn a_group_of_starts_is_measured_against_the_best_of_the_reference() {
    let directory = tempfile::tempdir().unwrap();
    let output = experiment(
        directory.path(),
        &format!("reference = \"fixed\"\n{TINY}"),
        &["--quiet"],
    );
    let table = stdout(&output);
    assert!(table.contains("mean / best fixed"), "{table}");
    let fixed = table.lines().rfind(|line| line.starts_with("fixed ")).unwrap();
    assert_eq!(
        fixed.split_whitespace().take(3).collect::<Vec<_>>(),
        ["fixed", "1", "1.00"]
    );
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest_name() {
    let directory = tempfile::tempdir().unwrap();
    let output = experiment(directory.path(), &TINY.replace("fixed_at", "fixd_at"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("tiny.toml: method 'fixed max' on CartPole-v1: unknown setting"),
        "{told}"
    );
    assert!(told.contains("did you mean 'hyper.fixed_at'?"), "{told}");
    assert!(!directory.path().join("runs").exists());
}

#[test]
fn runs_with_other_settings_are_never_mixed_in() {
    let directory = tempfile::tempdir().unwrap();
    experiment(directory.path(), TINY, &["--quiet"]);
    let output = experiment(directory.path(), &TINY.replace("hold = 5", "hold = 6"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("CartPole-v1/epgt/seed-0 holds a run with other settings"),
        "{told}"
    );
    assert!(told.contains("(hold = 5 there, hold = 6 here)"), "{told}");
}

#[test]
fn a_run_that_diverges_does_not_stop_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let text = TINY.replace(
        "hyper.fixed_at = \"max\"",
        "a2c.step_control = \"rate\"\na2c.learning_rate = 3e37",
    );
    let output = experiment(directory.path(), &text, &["--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("2 of 4 runs failed"), "{}", stderr(&output));
    assert!(stdout(&output).contains("0 of 2"), "{}", stdout(&output));
    assert_eq!(results(&directory.path().join("runs/tiny")).len(), 3);
}

#[test]
fn a_scale_that_is_too_small_for_some_runs_is_refused_only_where_they_are_meant() {
    let directory = tempfile::tempdir().unwrap();
    let text = TINY.replace("name = \"epgt\"", "name = \"epgt\"\nsteps = 200_000");
    let refused = experiment(directory.path(), &text, &["--scale", "0.01", "-q"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = stderr(&refused);
    assert!(
        told.contains("method 'fixed max' on CartPole-v1: with --scale 0.01, steps = 20 is less than one rollout"),
        "{told}"
    );
    assert!(!directory.path().join("runs").exists());
    let made = experiment(
        directory.path(),
        &text,
        &["--scale", "0.01", "-q", "--only", "method=epgt"],
    );
    assert_eq!(
        (made.status.code(), stderr(&made).as_str()),
        (Some(0), ""),
        "{}",
        stdout(&made)
    );
    assert!(
        stdout(&made).ends_with("is runs/tiny-scale-0.01/report.html\n"),
        "{}",
        stdout(&made)
    );
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epgt"));
        command.current_dir(directory.path()).arg("experiment").args(arguments);
        command.output().unwrap()
    };
    for name in ["status", "report", "show"] {
        let output = command(&[name, "tiny.toml", "--scale", "0.01"]);
        assert_eq!(
            (output.status.code(), stderr(&output).as_str()),
            (Some(0), ""),
            "{name}"
        );
    }
    let cells = command(&["cells", "tiny.toml", "--scale", "0.01"]);
    assert_eq!(stdout(&cells).lines().count(), 2, "{}", stdout(&cells));
    assert!(
        stderr(&cells).starts_with("left out: method 'fixed max'"),
        "{}",
        stderr(&cells)
    );
}

#[test]
fn a_damaged_run_is_left_out_of_the_report_and_never_written_over() {
    let directory = tempfile::tempdir().unwrap();
    assert!(experiment(directory.path(), TINY, &["--quiet"]).status.success());
    let out = directory.path().join("runs/tiny/CartPole-v1");
    fs::write(out.join("epgt/seed-0/metrics.csv"), "a,b\n1\n").unwrap();
    fs::write(out.join("epgt/seed-1/config.toml"), "x".repeat(1_000_000)).unwrap();
    let command = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epgt"));
        command
            .current_dir(directory.path())
            .args(["experiment", name, "tiny.toml"]);
        command.output().unwrap()
    };
    let reported = command("report");
    assert!(reported.status.success(), "{}", stderr(&reported));
    let told = stderr(&reported);
    assert!(
        told.contains("epgt/seed-0/metrics.csv, line 2: the row has 1 fields"),
        "{told}"
    );
    assert!(told.contains("epgt/seed-1/config.toml: it is not valid TOML"), "{told}");
    assert!(
        told.lines()
            .all(|line| line.starts_with("left out: ") && line.len() < 500),
        "{told}"
    );
    assert!(stdout(&reported).contains("0 of 2"), "{}", stdout(&reported));
    let status = command("status");
    assert!(
        stdout(&status).contains("epgt/seed-1/config.toml: it is not valid TOML"),
        "{}",
        stdout(&status)
    );
    let run = command("run");
    assert_eq!(run.status.code(), Some(1));
    assert!(
        stderr(&run).contains("it is not valid TOML; choose another --out, or remove "),
        "{}",
        stderr(&run)
    );
    assert_eq!(fs::read(out.join("epgt/seed-1/config.toml")).unwrap().len(), 1_000_000);
}

#[test]
fn names_and_failures_are_shown_in_markdown_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let text = TINY
        .replace("name = \"fixed max\"", "name = \"fixed | <b>max</b> `x`\"")
        .replace(
            "hyper.fixed_at = \"max\"",
            "a2c.step_control = \"rate\"\na2c.learning_rate = 3e37",
        )
        .replace("description = \"tiny\"", "description = \"<script>1</script> ``` \"");
    experiment(directory.path(), &text, &["--quiet"]);
    let out = directory.path().join("runs/tiny");
    let page = fs::read_to_string(out.join("results.md")).unwrap();
    let (before, settings) = page
        .split_once("\n````toml\n")
        .expect("a fence that the text cannot end");
    assert!(!before.contains("<b>") && !before.contains("<script"), "{before}");
    assert!(before.contains("| fixed \\| &lt;b>max&lt;/b> \\`x\\` |"), "{before}");
    assert!(
        settings.contains("fixed | <b>max</b> `x`") && settings.ends_with("\n````\n"),
        "{settings}"
    );
    assert!(before.contains("## Failed runs"), "{before}");
    assert!(!fs::read_to_string(out.join("costs.md")).unwrap().contains("<b>"));
}

#[test]
fn a_name_is_looked_up_among_the_experiments() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("experiments")).unwrap();
    fs::write(directory.path().join("experiments/cartpole.toml"), TINY).unwrap();
    let run = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epgt"));
        command
            .current_dir(directory.path())
            .args(["experiment", "run", name, "--quiet"]);
        command.output().unwrap()
    };
    assert!(run("cartpole").status.success());
    assert!(stderr(&run("cartpol")).contains("unknown experiment 'cartpol'; did you mean 'cartpole'?"));
}
