//! The files that keep what an experiment found: one row per run, and the tables with what produced them.

use std::fmt::Write;
use std::path::Path;

use epgt_train::artifact::write_atomically;
use epgt_train::table::{Cell as Field, CsvWriter};

use super::plan::{Plan, Score};
use super::table::{Row, Style, report};

/// Writes `results.csv`, one row per run, and `results.md`, the tables and the file that produced them.
pub fn write(plan: &Plan, rows: &[Row], failures: &[String], out: &Path) -> Result<(), String> {
    let header = [
        "task",
        "method",
        "seed",
        "return_last_100",
        "best_evaluation",
        "auc",
        "f_statistic",
        "steps_to_threshold",
        "steps",
        "wall_seconds",
        "policy_sha256",
    ];
    let told = |error: epgt_train::artifact::ArtifactError| error.to_string();
    std::fs::create_dir_all(out).map_err(|error| format!("cannot use {}: {error}", out.display()))?;
    let mut csv = CsvWriter::create(out.join("results.csv"), &header).map_err(told)?;
    let optional = |x: Option<f64>| x.map_or(Field::Empty, Field::F64);
    for Row {
        task,
        method,
        result,
        auc,
        f_statistic,
        reached,
    } in rows
    {
        csv.row(&[
            Field::Text(&plan.tasks[*task]),
            Field::Text(&plan.methods[*method].name),
            Field::Integer(result.seed),
            optional(result.return_last_100),
            optional(result.best_evaluation),
            optional(*auc),
            optional(*f_statistic),
            optional(*reached),
            Field::Integer(result.steps),
            Field::F64(result.wall_seconds),
            Field::Text(&result.policy_sha256),
        ]);
    }
    csv.flush().map_err(told)?;
    write_atomically(out.join("results.md"), markdown(plan, rows, failures).as_bytes()).map_err(told)
}

fn markdown(plan: &Plan, rows: &[Row], failures: &[String]) -> String {
    let mut text = format!("# {}\n\n{}\n\n", plan.name, plan.description.trim());
    let what = match plan.score {
        Score::ReturnLast100 => "the mean return of the last 100 training episodes",
        Score::BestEvaluation => "the best mean return of an evaluation",
    };
    let _ = writeln!(
        text,
        "The score is {what}, in raw rewards. Intervals are 95% percentile bootstraps of the mean over seeds. AUC is the mean \
         over training of the return of the last 100 episodes. F is the variance of the improvement between hyper-actions over \
         that within them, about 1 where the hyper-action explains nothing.\n"
    );
    text.push_str(&report(plan, rows, Style::Markdown));
    if !failures.is_empty() {
        let _ = writeln!(
            text,
            "\n## Failed runs\n\nThey are left out above.\n\n- {}",
            failures.join("\n- ")
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        text,
        "\n## Settings\n\nMade by epgt {version} from this file; each run's complete configuration is its `config.toml`.\n\n\
         ```toml\n{}\n```",
        plan.text.trim_end()
    );
    text
}
