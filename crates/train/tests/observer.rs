//! What whoever starts a run is told of it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use epgt_hyper::Decision;
use epgt_train::table::read_csv;
use epgt_train::{
    Assignment, Config, DECISIONS, METRICS, MetricsRow, Observer, Progress, ResumeWith, RunEnd, RunError, RunResult,
    Training, WrittenCheckpoint,
};

fn config(scheduler: &str) -> Config {
    let settings = [
        ("task", "CartPole-v1"),
        ("scheduler", scheduler),
        ("defaults", "task"),
        ("steps", "4000"),
        ("checkpoint_interval", "1000"),
        ("population.ready", "1000"),
    ];
    Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap()
}

/// The steps and the values of a row of metrics.
type Row = (u64, Vec<(String, Option<f64>)>);

/// Remembers everything.
#[derive(Default)]
struct Watcher {
    progress: Vec<Progress>,
    rows: Vec<Row>,
    decisions: Vec<(u64, Vec<f64>)>,
    checkpoints: Vec<(u64, String)>,
    /// Refuses the row of this number.
    refuses: Option<usize>,
}

impl Observer for Watcher {
    fn progress(&mut self, progress: &Progress) {
        self.progress.push(progress.clone());
    }

    fn metrics(&mut self, row: &MetricsRow<'_>) -> Result<(), RunError> {
        if self.refuses == Some(self.rows.len()) {
            return Err(RunError::Observer("that is enough".to_string()));
        }
        self.rows.push((row.steps, row.values.to_vec()));
        Ok(())
    }

    fn decision(&mut self, decision: &Decision) -> Result<(), RunError> {
        self.decisions.push((decision.decision, decision.values.clone()));
        Ok(())
    }

    fn checkpoint(&mut self, checkpoint: &WrittenCheckpoint<'_>) -> Result<(), RunError> {
        assert!(checkpoint.directory.join("checkpoint.bin").exists());
        self.checkpoints
            .push((checkpoint.steps, checkpoint.policy_sha256.to_string()));
        Ok(())
    }
}

fn train(mut training: Training, watcher: &mut Watcher) -> RunResult {
    match training.train(&AtomicBool::new(false), watcher).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

/// The rows that were told are those of the table.
fn assert_rows_are_in(directory: &Path, watcher: &Watcher) {
    let table = read_csv(directory.join(METRICS)).unwrap();
    assert_eq!(table.rows.len(), watcher.rows.len());
    for (row, (steps, values)) in table.rows.iter().zip(&watcher.rows) {
        let names = values.iter().map(|(name, _)| name);
        assert!(table.header.iter().eq(names));
        assert_eq!(row[0], steps.to_string());
        for (text, (name, value)) in row.iter().zip(values) {
            assert_eq!(text.parse().ok(), *value, "{name}");
        }
    }
}

#[test]
fn an_observer_is_told_every_row_and_decision_that_the_logs_hold_and_every_checkpoint() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut watcher = Watcher::default();
    let result = train(Training::create(config("epgt"), &path, false).unwrap(), &mut watcher);
    assert_rows_are_in(&path, &watcher);
    let decisions = read_csv(path.join(DECISIONS)).unwrap();
    assert_eq!(decisions.rows.len(), watcher.decisions.len());
    for (row, (number, values)) in decisions.rows.iter().zip(&watcher.decisions) {
        assert_eq!(row[0], number.to_string());
        let told: Vec<Option<f64>> = values.iter().map(|value| Some(*value)).collect();
        let read: Vec<Option<f64>> = row[4..4 + values.len()].iter().map(|text| text.parse().ok()).collect();
        assert_eq!(read, told);
    }
    let steps: Vec<u64> = watcher.checkpoints.iter().map(|checkpoint| checkpoint.0).collect();
    assert_eq!(steps, [1000, 2000, 3000, 4000]);
    assert_eq!(watcher.checkpoints[3].1, result.policy_sha256);
    assert!(watcher.progress.last().is_some_and(|last| last.steps == 4000));
}

#[test]
fn an_observer_of_a_population_is_told_the_rows_of_the_whole() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut watcher = Watcher::default();
    train(Training::create(config("pbt"), &path, false).unwrap(), &mut watcher);
    assert_rows_are_in(&path, &watcher);
    let (_, last) = watcher.rows.last().unwrap();
    assert!(last.contains(&("population/total_timesteps".to_string(), Some(16000.0))));
    assert_eq!(watcher.checkpoints.last().map(|checkpoint| checkpoint.0), Some(4000));
}

#[test]
fn an_observers_error_stops_the_run_which_goes_on_from_its_last_checkpoint() {
    let place = tempfile::tempdir().unwrap();
    let (whole, parted) = (place.path().join("whole"), place.path().join("parted"));
    let mut all = Watcher::default();
    let expected = train(Training::create(config("epgt"), &whole, false).unwrap(), &mut all);
    let mut refusing = Watcher {
        refuses: Some(60),
        ..Default::default()
    };
    let mut training = Training::create(config("epgt"), &parted, false).unwrap();
    let error = training.train(&AtomicBool::new(false), &mut refusing).unwrap_err();
    assert_eq!(error.to_string(), "that is enough");
    drop(training);
    let mut rest = Watcher::default();
    let resumed = Training::resume(&parted, ResumeWith::default()).unwrap();
    let result = train(resumed, &mut rest);
    assert_eq!(result.policy_sha256, expected.policy_sha256);
    let steps = |watcher: &Watcher| watcher.rows.iter().map(|row| row.0).collect::<Vec<u64>>();
    assert_eq!(steps(&rest), steps(&all)[50..]);
}
