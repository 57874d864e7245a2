//! Which policy a run keeps as its best, and what it is worth in the end.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use epgt_train::table::read_csv;
use epgt_train::{Assignment, BEST_POLICY, Config, EvalPlan, Run, RunEnd, RunResult, evaluate, policy_file};

fn config(by: &str) -> Config {
    let pairs = [
        ("task", "CartPole-v1"),
        ("steps", "20000"),
        ("best_by", by),
        ("final_episodes", "100"),
    ];
    Config::build(&pairs.map(|(key, value)| Assignment::new(key, value))).unwrap()
}

fn finish(mut run: Run) -> RunResult {
    match run.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

fn best_policy(path: &Path) -> Vec<u8> {
    std::fs::read(path.join(BEST_POLICY)).unwrap()
}

#[test]
fn the_best_by_training_is_the_policy_of_the_row_with_the_best_training_return() {
    let directory = tempfile::tempdir().unwrap();
    let result = finish(Run::create(config("training"), &directory.path().join("whole"), false).unwrap());
    assert!(result.best_checkpoint.is_some() && result.best_evaluation.is_some());

    // The same run, stopped at the row of metrics where the return was highest: its last policy is that best one.
    let metrics = read_csv(directory.path().join("whole/metrics.csv")).unwrap();
    let returns = metrics.numbers("rollout/ep_rew_mean").unwrap();
    let steps = metrics.numbers("time/total_timesteps").unwrap();
    let (mut best, mut at) = (f64::NEG_INFINITY, 0.0);
    for (&mean, &step) in returns.iter().zip(&steps) {
        if mean > best {
            (best, at) = (mean, step);
        }
    }
    let mut trainer = epgt_train::Trainer::new(&config("training")).unwrap();
    while (trainer.counters.steps as f64) < at {
        trainer.iterate().unwrap();
    }
    let kept = policy_file::read(&directory.path().join("whole").join(BEST_POLICY)).unwrap();
    assert_eq!(kept.networks.params.values(), trainer.policy.params.values());
}

#[test]
fn the_best_checkpoint_is_the_mean_of_the_final_episodes_of_the_best_policy() {
    let directory = tempfile::tempdir().unwrap();
    for by in ["training", "evaluation"] {
        let path = directory.path().join(by);
        let result = finish(Run::create(config(by), &path, false).unwrap());
        let mut policy = policy_file::read(&path.join(BEST_POLICY)).unwrap();
        let task = policy.task.clone();
        let plan = EvalPlan {
            episodes: 100,
            seed: epgt_rng::Pcg64::for_purpose(0, "final evaluation", 0).next_u64() >> 1,
            ..EvalPlan::default()
        };
        let played = evaluate(&mut policy.networks, &policy.normalizer, &task, &plan, &mut |_| true);
        assert_eq!(result.best_checkpoint, Some(played.unwrap().unwrap().mean_return()));
    }
}

#[test]
fn a_stopped_run_keeps_the_same_best_policy() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, parted) = (directory.path().join("whole"), directory.path().join("parted"));
    let mut config = config("training");
    config.run.steps = 2000;
    let expected = finish(Run::create(config.clone(), &whole, false).unwrap());
    let mut run = Run::create(config, &parted, false).unwrap();
    for _ in 0..20 {
        run.train(&AtomicBool::new(true), &mut ()).unwrap();
        drop(run);
        run = Run::resume(&parted).unwrap();
    }
    let result = finish(run);
    assert_eq!(result.best_checkpoint, expected.best_checkpoint);
    assert_eq!(best_policy(&whole), best_policy(&parted));
}

#[test]
fn without_final_episodes_there_is_no_best_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config("training");
    config.run.final_episodes = 0;
    let result = finish(Run::create(config, &directory.path().join("run"), false).unwrap());
    assert_eq!(result.best_checkpoint, None);
}
