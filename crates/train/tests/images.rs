//! Runs on a task of pixels: interrupted, resumed, evaluated and read back.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use epgt_train::{Assignment, Config, Run, RunEnd, RunResult};

fn config(algo: &str, scheduler: &str) -> Config {
    let settings = [
        ("task", "PixelCatch-v0"),
        ("algo", algo),
        ("scheduler", scheduler),
        ("steps", "2500"),
        ("n_steps", "16"),
        ("sign_rewards", "true"),
        ("policy.conv_channels", "[4, 6]"),
        ("policy.conv_kernels", "[8, 4]"),
        ("policy.conv_strides", "[4, 2]"),
        ("policy.image_hidden", "[16]"),
    ];
    Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap()
}

fn finish(mut run: Run) -> RunResult {
    match run.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

#[test]
fn a_run_on_images_goes_on_to_the_same_end_after_a_stop() {
    for (algo, scheduler) in [("a2c", "epgt"), ("ppo", "epgt"), ("acktr", "fixed")] {
        let directory = tempfile::tempdir().unwrap();
        let (whole, parted) = (directory.path().join("whole"), directory.path().join("parted"));
        let expected = finish(Run::create(config(algo, scheduler), &whole, false).unwrap());
        let mut run = Run::create(config(algo, scheduler), &parted, false).unwrap();
        for _ in 0..3 {
            let end = run.train(&AtomicBool::new(true), &mut ());
            assert!(matches!(end, Ok(RunEnd::Interrupted { .. })));
            drop(run);
            run = Run::resume(&parted).unwrap();
        }
        let result = finish(run);
        assert_eq!(result.policy_sha256, expected.policy_sha256, "{algo}");
        let read = |path: &Path| std::fs::read(path.join("decisions.csv")).unwrap();
        assert_eq!(read(&whole), read(&parted));
    }
}

#[test]
fn windows_that_do_not_fit_are_refused_in_one_sentence() {
    let settings = [("task", "PixelCatch-v0"), ("policy.conv_kernels", "[8, 9, 3]")];
    let error = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap_err();
    assert!(
        error.contains("PixelCatch-v0 shows 36 by 36 pixels, into which not all windows fit"),
        "{error}"
    );
}
