//! The signal in the returns of an experiment's runs: of methods that draw their values at random, what each value did
//! to the outcome that followed, moment by moment across seeds.

use epgt_hyper::Choice;
use epgt_report::numbers::rounded;
use epgt_report::signal::{Across, LEAST_RUNS, SURE, Windows};
use epgt_report::text_table::TextTable;
use epgt_train::record::{Record, Tried};

use crate::cell::{Cell, State};
use crate::plan::Plan;

/// What a hyperparameter did in the runs of one method on one task.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// The task's number in the plan.
    pub task: usize,
    /// The method's number in the plan.
    pub method: usize,
    /// The name of what was scheduled.
    pub hyperparameter: String,
    /// The signal of one run, measured over all of them.
    pub across: Across,
}

/// The signal of every method whose finished runs have drawn their values at random, at the same updates; `left_out` is
/// told why another method has none. Methods that choose nothing are passed over.
pub fn measure(plan: &Plan, found: &[(Cell, State)], left_out: &mut dyn FnMut(&str)) -> Vec<Signal> {
    let mut signals = Vec::new();
    for task in 0..plan.tasks.len() {
        for method in 0..plan.methods.len() {
            let finished = found.iter().filter(|(cell, state)| {
                (cell.task, cell.method) == (task, method) && matches!(state, State::Finished(_))
            });
            let mut records = Vec::new();
            for (cell, _) in finished {
                match Record::read(&cell.directory) {
                    Ok(record) => records.push(record),
                    Err(error) => left_out(&error.to_string()),
                }
            }
            for name in records.first().map(Record::scheduled).unwrap_or_default() {
                let runs: Vec<Vec<Tried>> = records.iter().map(|record| record.tried(&name)).collect();
                match across(&runs) {
                    Ok(across) => signals.push(Signal {
                        task,
                        method,
                        hyperparameter: name,
                        across,
                    }),
                    Err(reason) => left_out(&format!(
                        "{} on {}, {name}: {reason}",
                        plan.methods[method].name, plan.tasks[task]
                    )),
                }
            }
        }
    }
    signals
}

/// The signal of one hyperparameter in some runs, or why there is none.
fn across(runs: &[Vec<Tried>]) -> Result<Across, String> {
    if runs.len() < LEAST_RUNS {
        return Err(format!("{} finished runs are fewer than {LEAST_RUNS}", runs.len()));
    }
    let all = || runs.iter().flatten();
    if all().any(|tried| tried.choice != Choice::Random) {
        return Err("choices were not drawn at random".to_string());
    }
    let together = |(a, b): (&Tried, &Tried)| a.update == b.update;
    if runs.iter().any(|run| !run.iter().zip(&runs[0]).all(together)) {
        return Err("decisions were made at different updates".to_string());
    }
    // Rates and their multipliers act by their ratios.
    let ratios = all().all(|tried| tried.value > 0.0);
    let value = |tried: &Tried| if ratios { tried.value.ln() } else { tried.value };
    let windows = |run: &Vec<Tried>| -> Windows { run.iter().map(|tried| (value(tried), tried.outcome)).collect() };
    let windows: Vec<Windows> = runs.iter().map(windows).collect();
    Across::of(&windows).ok_or_else(|| "outcomes do not vary".to_string())
}

/// The signals as a table.
pub fn table(plan: &Plan, signals: &[Signal]) -> TextTable {
    let mut table = TextTable::new(&[
        "task",
        "method",
        "hyperparameter",
        "runs",
        "decisions",
        "signal",
        "by chance",
        "without chance",
        "runs to be sure",
    ]);
    for signal in signals {
        let across = &signal.across;
        let (squared, sign) = match across.shows() {
            true => (across.estimate(), ""),
            false => (across.bound(), "at most "),
        };
        let more = if across.shows() { "about" } else { "at least" };
        table.row(&[
            &plan.tasks[signal.task],
            &plan.methods[signal.method].name,
            &signal.hyperparameter,
            &across.runs.to_string(),
            &across.decisions.to_string(),
            &format!("{:.2}", across.signal),
            &format!("{:.2}", across.chance()),
            &format!("{sign}{:.2}", squared.sqrt()),
            &format!("{more} {}", rounded((SURE * SURE / squared).ceil())),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten runs of six decisions; the outcome follows the logarithm of the value and something else.
    fn runs(choice: Choice) -> Vec<Vec<Tried>> {
        let decision = |run: u64, at: u64| {
            let exponent = ((run * run + 5 * at + run / 3) % 3) as f64 - 1.0;
            Tried {
                update: 25 * at,
                choice,
                value: 4.0_f64.powf(exponent),
                outcome: 3.0 * exponent + ((7 * run + 11 * at) % 13) as f64 / 13.0,
                improvement: 0.0,
            }
        };
        (0..10)
            .map(|run| (0..6).map(|at| decision(run, at)).collect())
            .collect()
    }

    #[test]
    fn runs_that_drew_at_random_at_the_same_updates_have_a_signal_and_others_have_a_reason() {
        let random = runs(Choice::Random);
        let measured = across(&random).unwrap();
        assert_eq!((measured.runs, measured.decisions), (10, 5));
        assert!(measured.shows());
        let reason = |runs: &[Vec<Tried>]| across(runs).unwrap_err();
        assert_eq!(reason(&random[..6]), "6 finished runs are fewer than 7");
        assert_eq!(reason(&runs(Choice::Greedy)), "choices were not drawn at random");
        let mut shifted = random.clone();
        shifted[3][2].update += 1;
        assert_eq!(reason(&shifted), "decisions were made at different updates");
        let mut still = random.clone();
        still.iter_mut().flatten().for_each(|tried| tried.outcome = 1.0);
        assert_eq!(reason(&still), "outcomes do not vary");
    }

    #[test]
    fn the_signal_does_not_depend_on_the_unit_of_a_rate() {
        let random = runs(Choice::Random);
        let mut scaled = random.clone();
        scaled.iter_mut().flatten().for_each(|tried| tried.value *= 7e-4);
        let (a, b) = (across(&random).unwrap(), across(&scaled).unwrap());
        assert!((a.signal - b.signal).abs() < 1e-9 * a.signal);
    }
}
