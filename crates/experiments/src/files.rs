//! The files that keep what an experiment found: one row per run, the tables with what produced them, and what the runs
//! cost.

use std::fmt::Write;
use std::path::Path;

use epgt_report::numbers::hundredths as number;
use epgt_report::statistics::{LEAST_SCORES, mean, median};
use epgt_report::text;
use epgt_report::text_table::TextTable;
use epgt_train::artifact::write_atomically;
use epgt_train::table::{Cell as Field, CsvWriter};

use crate::error::ExperimentError;
use crate::filter::Filter;
use crate::measure::Measure;
use crate::plan::{Plan, Statistic};
use crate::rows::Row;
use crate::table::{Begun, Style, report};

/// The columns of `results.csv`; from `wall_seconds` on they are a matter of the machine.
const COLUMNS: [&str; 17] = [
    "task",
    "method",
    "seed",
    "scale",
    "return_last_100",
    "best_evaluation",
    "best_checkpoint",
    "auc",
    "f_statistic",
    "steps_to_threshold",
    "human_normalised",
    "steps",
    "steps_in_all",
    "policy_sha256",
    "wall_seconds",
    "steps_per_cpu_second",
    "process_peak_mb",
];

/// Refuses to write over tables of the same names that this program did not make.
pub fn refuse_foreign(out: &Path) -> Result<(), ExperimentError> {
    for (name, sign) in [
        ("results.csv", "task,method,seed,scale,"),
        ("results.md", "\nMade by epgt "),
        ("costs.md", "# What the runs of "),
    ] {
        let path = out.join(name);
        let is_foreign = std::fs::read(&path).is_ok_and(|bytes| !String::from_utf8_lossy(&bytes).contains(sign));
        if is_foreign {
            return Err(ExperimentError::ForeignTable(path));
        }
    }
    Ok(())
}

/// Writes `results.csv`, one row per run; `results.md`, the tables and the file that produced them; and `costs.md`,
/// which is apart because it is the only one that no two machines agree about.
pub fn write(plan: &Plan, rows: &[Row], begun: &Begun, failures: &[String], out: &Path) -> Result<(), ExperimentError> {
    refuse_foreign(out)?;
    std::fs::create_dir_all(out).map_err(|error| ExperimentError::system("use", out, error))?;
    // Written aside and renamed, so that a reader never sees half of it.
    let unfinished = out.join(".results.csv.tmp");
    let mut csv = CsvWriter::create(&unfinished, &COLUMNS)?;
    let optional = |x: Option<f64>| x.map_or(Field::Empty, Field::F64);
    for row in rows {
        let result = &row.result;
        csv.row(&[
            Field::Text(&plan.tasks[row.task]),
            Field::Text(&plan.methods[row.method].name),
            Field::Integer(result.seed),
            Field::F64(plan.scale),
            optional(result.return_last_100),
            optional(result.best_evaluation),
            optional(result.best_checkpoint),
            optional(row.auc),
            optional(row.f_statistic),
            optional(row.reached),
            optional(result.human_normalised),
            Field::Integer(result.steps),
            Field::Integer(row.steps_in_all()),
            Field::Text(&result.policy_sha256),
            Field::F64(result.wall_seconds),
            optional(row.steps_per_cpu_second()),
            Field::F64(result.peak_memory_mb),
        ]);
    }
    csv.sync()?;
    let named = out.join("results.csv");
    std::fs::rename(&unfinished, &named).map_err(|error| ExperimentError::system("write", &named, error))?;
    let costs = format!(
        "# What the runs of {} cost\n\n{}",
        text::markdown(&plan.title()),
        costs(plan, rows, begun, Style::Markdown)
    );
    write_atomically(out.join("costs.md"), costs.as_bytes())?;
    write_atomically(out.join("results.md"), markdown(plan, rows, begun, failures).as_bytes())?;
    Ok(())
}

/// What the runs cost: the median speed, and the largest memory of a process.
pub fn costs(plan: &Plan, rows: &[Row], begun: &Begun, style: Style) -> String {
    let header = [
        "task",
        "method",
        "runs",
        "steps per CPU-second",
        "CPU seconds a run",
        "peak MB of the process",
    ];
    let mut table = TextTable::new(&header);
    for &(task, method) in begun {
        let own = || rows.iter().filter(|row| (row.task, row.method) == (task, method));
        let speeds: Vec<f64> = own().filter_map(Row::steps_per_cpu_second).collect();
        let seconds: Vec<f64> = own().map(|row| row.result.cpu_seconds).collect();
        let peak = own().map(|row| row.result.peak_memory_mb).fold(f64::NAN, f64::max);
        let speed = median(&speeds);
        table.row(&[
            &plan.tasks[task],
            &plan.methods[method].name,
            &speeds.len().to_string(),
            &if speed.is_nan() {
                "-".to_string()
            } else {
                format!("{speed:.0}")
            },
            &number(mean(&seconds)),
            &number(peak),
        ]);
    }
    let note = "Speeds are medians over runs. What one run takes of a process that makes several cannot be told, so memory is the \
                peak of the whole process up to the end of the run: runs side by side and runs before it are in it. Run by \
                run it is told by the commands of `epgt experiment cells`, each a process of its own.";
    format!("{}\n{}\n", style.table(&table), style.filled(note))
}

fn markdown(plan: &Plan, rows: &[Row], begun: &Begun, failures: &[String]) -> String {
    let description: Vec<String> = plan.description.trim().lines().map(described).collect();
    let mut text = format!("# {}\n\n{}\n\n", text::markdown(&plan.title()), description.join("\n"));
    let what = plan.score.definition(rows.iter().map(|row| row.result.episodes));
    let raw = match plan.score {
        Measure::Human => "",
        _ => ", in raw rewards",
    };
    let order = match plan.statistic {
        Statistic::Mean => "",
        Statistic::Median => " Methods are ordered by the median over seeds.",
    };
    let _ = writeln!(
        text,
        "The score is {what}{raw}.{order} Intervals are 95% percentile bootstraps of the mean over seeds, given from \
         {LEAST_SCORES} seeds on. AUC is the mean over training of the return of the last 100 episodes at most. F is the variance of the improvement between hyper-actions over \
         that within them, about 1 where the hyper-action explains nothing.\n"
    );
    text.push_str(&report(plan, rows, begun, &Filter::default(), Style::Markdown));
    if !failures.is_empty() {
        let _ = writeln!(
            text,
            "\n## Failed runs\n\nThey are left out above.\n\n- {}",
            failures
                .iter()
                .map(|failure| text::markdown(failure))
                .collect::<Vec<_>>()
                .join("\n- ")
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        text,
        "\n## Settings\n\nMade by epgt {version} from this file; each run's complete configuration is its `config.toml`.\n\n{}",
        text::fenced("toml", &plan.text).trim_end()
    );
    text
}

/// A line of the experiment's own words: they may be Markdown, but not HTML.
fn described(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;")
}
