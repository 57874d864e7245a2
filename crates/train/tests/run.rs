//! Runs as their directories show them.

use std::sync::atomic::AtomicBool;

use epgt_train::{Assignment, Config, Run, RunEnd};

fn config(steps: u64) -> Config {
    Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", steps)]).unwrap()
}

#[test]
fn a_directory_is_trained_in_by_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = Run::create(config(2000), &path, false).unwrap();
    let refusal = Run::resume(&path).err().unwrap().to_string();
    assert!(
        refusal.ends_with("another process is training there; wait for it or stop it"),
        "{refusal}"
    );
    let refusal = Run::create(config(2000), &path, true).err().unwrap();
    assert!(refusal.is_taken(), "{refusal}");
    assert!(matches!(
        run.train(&AtomicBool::new(false), &mut |_| {}),
        Ok(RunEnd::Finished(_))
    ));
    drop(run);
    assert!(Run::resume(&path).is_ok());
    let refusal = Run::create(config(2000), &path, false).err().unwrap();
    assert!(!refusal.is_taken(), "{refusal}");
}

#[test]
fn a_run_that_is_asked_to_stop_saves_itself_and_goes_on_to_the_same_end() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, parted) = (directory.path().join("whole"), directory.path().join("parted"));
    let finish = |mut run: Run| match run.train(&AtomicBool::new(false), &mut |_| {}).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    };
    let expected = finish(Run::create(config(8000), &whole, false).unwrap());
    // Asked to stop from the start, a run still finishes one phase, so that every resume gets further.
    let mut run = Run::create(config(8000), &parted, false).unwrap();
    let mut stops = 0;
    while stops < 5 {
        assert!(matches!(
            run.train(&AtomicBool::new(true), &mut |_| {}),
            Ok(RunEnd::Interrupted { .. })
        ));
        drop(run);
        run = Run::resume(&parted).unwrap();
        stops += 1;
    }
    let result = finish(run);
    assert_eq!(result.policy_sha256, expected.policy_sha256);
    assert_eq!(result.return_last_100, expected.return_last_100);
    let rows = |path: &std::path::Path| std::fs::read(path.join("decisions.csv")).unwrap();
    assert_eq!(rows(&whole), rows(&parted));
}
