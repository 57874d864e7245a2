//! Runs as their directories show them.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use epgt_train::table::read_csv;
use epgt_train::{
    Assignment, Config, MARKER, Marker, Progress, ResumeWith, Run, RunEnd, RunError, RunResult, TrainError, Trainer,
    Training, best_policy, policy_file, version,
};

fn config(steps: u64) -> Config {
    let settings = [
        ("task", "CartPole-v1"),
        ("defaults", "task"),
        ("steps", &steps.to_string()),
    ];
    Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap()
}

#[test]
fn a_directory_is_trained_in_by_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = Run::create(config(2000), &path, false).unwrap();
    let refusal = Run::resume(&path).err().unwrap();
    assert_eq!(refusal, RunError::Taken(path.clone()));
    assert_eq!(
        refusal.to_string(),
        format!(
            "cannot use {}: another process is training there; wait for it or stop it",
            path.display()
        )
    );
    let refusal = Run::create(config(2000), &path, true).err().unwrap();
    assert!(refusal.is_taken(), "{refusal}");
    assert!(matches!(
        run.train(&AtomicBool::new(false), &mut ()),
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
    let expected = finish(Run::create(config(8000), &whole, false).unwrap());
    // Asked to stop from the start, a run still finishes one phase, so that every resume gets further.
    let mut run = Run::create(config(8000), &parted, false).unwrap();
    let mut stops = 0;
    while stops < 5 {
        assert!(matches!(
            run.train(&AtomicBool::new(true), &mut ()),
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

/// Trains to the end.
fn finish(mut run: Run) -> RunResult {
    match run.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

#[test]
fn a_directory_with_somebody_elses_files_is_refused_whatever_is_said_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    for name in [
        "metrics.csv",
        "result.json",
        "members/0/metrics.csv",
        "epgt.json",
        "thesis.tex",
    ] {
        let directory = place.path().join(name.replace('/', "-"));
        let file = directory.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "years of work").unwrap();
        for force in [false, true] {
            let refusal = Run::create(config(2000), &directory, force).err().unwrap().to_string();
            assert!(
                refusal.contains("holds files that this program did not make"),
                "{refusal}"
            );
        }
        assert!(Run::resume(&directory).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "years of work");
    }
}

#[test]
fn a_run_that_is_replaced_leaves_what_others_have_put_into_its_directory() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let population = [
        ("task", "CartPole-v1"),
        ("scheduler", "grid"),
        ("tune.gamma", "0.98:0.99"),
        ("steps", "1000"),
    ];
    let population = Config::build(&population.map(|(key, value)| Assignment::new(key, value))).unwrap();
    drop(Training::create(population, &path, false).unwrap());
    let theirs = [
        "notes.txt",
        "members/notes.txt",
        "members/0/notes.txt",
        "members/mine/metrics.csv",
    ];
    fs::create_dir(path.join("members/mine")).unwrap();
    for name in theirs {
        fs::write(path.join(name), name).unwrap();
    }
    finish(Run::create(config(2000), &path, true).unwrap());
    for name in theirs {
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), name);
    }
    assert!(!path.join("population.csv").exists() && !path.join("members/1").exists());
}

#[test]
fn what_cannot_be_trained_leaves_no_directory() {
    let place = tempfile::tempdir().unwrap();
    for scheduler in ["fixed", "pbt"] {
        let settings = [("task", "CartPole-v1"), ("scheduler", scheduler), ("device", "cuda")];
        let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap();
        let path = place.path().join(scheduler);
        assert!(
            Training::create(config, &path, false)
                .err()
                .unwrap()
                .to_string()
                .contains("cuda")
        );
        assert!(!path.exists());
    }
}

#[test]
fn a_run_that_was_killed_before_its_configuration_was_written_starts_over() {
    let place = tempfile::tempdir().unwrap();
    let (whole, killed) = (place.path().join("whole"), place.path().join("killed"));
    let expected = finish(Run::create(config(2000), &whole, false).unwrap());
    drop(Run::create(config(2000), &killed, false).unwrap());
    for entry in fs::read_dir(&killed).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with(MARKER) {
            fs::remove_file(path).unwrap();
        }
    }
    let result = finish(Run::resume(&killed).unwrap());
    assert_eq!(result.policy_sha256, expected.policy_sha256);
    let history = Marker::read(&killed).unwrap().unwrap().history;
    assert_eq!(history.len(), 2);
    assert!(
        history
            .iter()
            .all(|process| process.version == version::VERSION && !process.host.is_empty())
    );
}

#[test]
fn a_best_policy_that_was_lost_or_damaged_is_refused_and_restored_from_the_checkpoint() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let result = finish(Run::create(config(4000), &path, false).unwrap());
    let file = path.join("best.safetensors");
    let kept = fs::read(&file).unwrap();
    assert_eq!(policy_file::digest(&kept).unwrap(), result.best_policy_sha256);
    assert_eq!(best_policy(&path).unwrap(), Some(file.clone()));

    let mut altered = kept.clone();
    *altered.last_mut().unwrap() ^= 1;
    let other = place.path().join("other");
    finish(Run::create(config(2000), &other, false).unwrap());
    let other = fs::read(other.join("last.safetensors")).unwrap();
    let missing: Option<&[u8]> = None;
    for (content, problem) in [
        (missing, "is missing"),
        (Some(&kept[..kept.len() / 2]), "damaged"),
        (Some(&altered), "altered"),
        (Some(&other), "is not the policy that the run has kept"),
    ] {
        match content {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let refusal = best_policy(&path).unwrap_err().to_string();
        assert!(refusal.contains(problem) && refusal.contains("--resume"), "{refusal}");
        assert_eq!(finish(Run::resume(&path).unwrap()), result);
        assert!(fs::read(&file).unwrap() == kept, "{problem}");
    }
}

#[test]
fn any_altered_byte_of_a_policy_is_noticed_or_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    finish(Run::create(config(2000), &path, false).unwrap());
    let bytes = fs::read(path.join("last.safetensors")).unwrap();
    let digest = policy_file::digest(&bytes).unwrap();
    for position in (0..bytes.len()).step_by(7) {
        let mut altered = bytes.clone();
        altered[position] ^= 1 << (position % 8);
        if let Ok(found) = policy_file::digest(&altered) {
            // Blanks behind the header may be other blanks, and an entry that is no digest any more is none.
            assert!(found.is_none() || found == digest, "byte {position}");
        }
    }
}

#[test]
fn an_evaluation_that_is_stopped_is_made_when_the_run_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let (whole, parted) = (place.path().join("whole"), place.path().join("parted"));
    let config = |by: &str| {
        let settings = [
            ("task", "Pendulum-v1"),
            ("steps", "8000"),
            ("eval_interval", "1000"),
            ("final_episodes", "20"),
            ("best_by", by),
        ];
        Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap()
    };
    for by in ["evaluation", "training"] {
        let (whole, parted) = (whole.join(by), parted.join(by));
        let expected = finish(Run::create(config(by), &whole, false).unwrap());
        let mut run = Run::create(config(by), &parted, false).unwrap();
        let mut stopped = 0;
        let result = loop {
            let (stop, mut told) = (AtomicBool::new(false), 0);
            // Every third evaluation is stopped as soon as it is seen.
            let end = run.train(&stop, &mut |progress: &Progress| {
                if progress.evaluating.is_some_and(|(ended, _)| ended == 0) {
                    told += 1;
                    stop.store(told == 3, Ordering::Relaxed);
                }
            });
            match end.unwrap() {
                RunEnd::Finished(result) => break result,
                RunEnd::Interrupted { .. } => stopped += 1,
            }
            drop(run);
            run = Run::resume(&parted).unwrap();
        };
        assert!(stopped >= 3, "{stopped}");
        assert_eq!(
            (
                result.policy_sha256,
                result.best_policy_sha256,
                result.best_checkpoint,
                result.best_evaluation
            ),
            (
                expected.policy_sha256,
                expected.best_policy_sha256,
                expected.best_checkpoint,
                expected.best_evaluation
            )
        );
        let evaluations = |path: &Path| {
            let table = read_csv(path.join("metrics.csv")).unwrap();
            [
                "eval/mean_reward",
                "eval/episodes",
                "train/value_loss",
                "train/explained_variance",
            ]
            .map(|name| format!("{:?}", table.numbers(name).unwrap()))
        };
        assert_eq!(evaluations(&whole), evaluations(&parted));
    }
}

#[test]
fn a_finished_run_that_is_resumed_has_its_result_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let result = finish(Run::create(config(8000), &path, false).unwrap());
    let text = fs::read(path.join("result.json")).unwrap();
    assert!(result.hyper_seconds.as_ref().unwrap().updates > 0);
    assert_eq!(finish(Run::resume(&path).unwrap()), result);
    assert_eq!(fs::read(path.join("result.json")).unwrap(), text);
    assert_eq!(Marker::read(&path).unwrap().unwrap().history.len(), 1);
}

#[test]
fn what_the_hyper_agent_took_is_counted_over_all_resumes() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut run = Run::create(config(8000), &path, false).unwrap();
    run.train(&AtomicBool::new(true), &mut ()).unwrap();
    drop(run);
    let result = finish(Run::resume(&path).unwrap());
    assert_eq!(result.hyper_seconds.unwrap().updates, 8000 / 8 / 5);
}

#[test]
fn a_finished_run_can_go_on_to_more_steps_and_ends_the_same_however_it_is_stopped() {
    let place = tempfile::tempdir().unwrap();
    let longer = ResumeWith {
        steps: Some(12_000),
        ..ResumeWith::default()
    };
    let mut hashes = Vec::new();
    for stops in [0, 3] {
        let path = place.path().join(stops.to_string());
        let first = finish(Run::create(config(4000), &path, false).unwrap());
        assert_eq!((first.steps, first.steps_asked), (4000, 4000));
        let mut run = Run::resume_with(&path, longer.clone()).unwrap();
        assert!(!path.join("result.json").exists());
        for _ in 0..stops {
            run.train(&AtomicBool::new(true), &mut ()).unwrap();
            drop(run);
            run = Run::resume(&path).unwrap();
        }
        let result = finish(run);
        assert_eq!((result.steps, result.steps_asked), (12_000, 12_000));
        assert_ne!(result.policy_sha256, first.policy_sha256);
        hashes.push(result.policy_sha256);
        let fewer = ResumeWith {
            steps: Some(8000),
            ..ResumeWith::default()
        };
        let refusal = Run::resume_with(&path, fewer).err().unwrap().to_string();
        assert!(refusal.contains("12000 steps are done already"), "{refusal}");
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_run_can_go_on_with_other_values_of_its_hyperparameters() {
    let place = tempfile::tempdir().unwrap();
    let with = |values: &[(&str, f64)]| ResumeWith {
        values: values.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
        ..ResumeWith::default()
    };
    let settings = [
        ("task", "CartPole-v1"),
        ("scheduler", "fixed"),
        ("step_control", "rate"),
        ("a2c.learning_rate", "1e-3"),
        ("steps", "8000"),
        ("log_interval", "800"),
        ("eval_interval", "0"),
    ];
    let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap();
    let mut hashes = Vec::new();
    for values in [&[][..], &[("learning_rate", 5e-2)], &[("gamma", 0.5)]] {
        let path = place.path().join(hashes.len().to_string());
        let mut run = Run::create(config.clone(), &path, false).unwrap();
        run.train(&AtomicBool::new(true), &mut ()).unwrap();
        drop(run);
        let mut run = Run::resume_with(&path, with(values)).unwrap();
        run.train(&AtomicBool::new(true), &mut ()).unwrap();
        drop(run);
        // What was said once holds from then on.
        hashes.push(finish(Run::resume(&path).unwrap()).policy_sha256);
        let rates = read_csv(path.join("metrics.csv"))
            .unwrap()
            .numbers("train/learning_rate")
            .unwrap();
        let expected = if hashes.len() == 2 { 5e-2 } else { 1e-3 };
        assert!(
            rates.last().is_some_and(|rate| (rate - expected).abs() < 1e-9),
            "{rates:?}"
        );
        let text = fs::read_to_string(path.join("config.toml")).unwrap();
        assert_eq!(text.contains("\ngamma = 0.5\n"), hashes.len() == 3, "{text}");
    }
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2]);
    let refused = |values: &[(&str, f64)]| {
        Run::resume_with(&place.path().join("0"), with(values))
            .err()
            .unwrap()
            .to_string()
    };
    assert!(refused(&[("gama", 0.5)]).contains("did you mean 'gamma'?"));
    assert!(refused(&[("gamma", 2.0)]).contains("a number from 0 to 1 is wanted"));
    assert!(refused(&[("critic_learning_rate", 0.1)]).contains("it decides nothing"));
    let path = place.path().join("scheduled");
    let scheduled: Vec<Assignment> = [("task", "CartPole-v1"), ("tune.gamma", "0.9:0.99"), ("steps", "2000")]
        .map(|(key, value)| Assignment::new(key, value))
        .into();
    finish(Run::create(Config::build(&scheduled).unwrap(), &path, false).unwrap());
    let error = Run::resume_with(&path, with(&[("gamma", 0.5)]))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("the run schedules it itself"), "{error}");
}

#[test]
fn a_population_can_go_on_to_more_steps() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let settings = [
        ("task", "CartPole-v1"),
        ("defaults", "task"),
        ("scheduler", "pbt"),
        ("steps", "2000"),
        ("population.ready", "500"),
    ];
    let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap();
    let train = |mut training: Training| match training.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    };
    let first = train(Training::create(config, &path, false).unwrap());
    assert_eq!(train(Training::resume(&path, ResumeWith::default()).unwrap()), first);
    let longer = ResumeWith {
        steps: Some(4000),
        ..ResumeWith::default()
    };
    let result = train(Training::resume(&path, longer).unwrap());
    assert_eq!(
        (result.steps, result.population.unwrap().steps_all_members),
        (4000, 16_000)
    );
}

#[test]
fn a_run_can_start_from_a_trained_policy() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("teacher");
    finish(Run::create(config(20_000), &path, false).unwrap());
    let teacher = policy_file::read(&path.join("best.safetensors")).unwrap();
    let student = |key: &str, value: &str| {
        let settings = [
            ("task", "CartPole-v1"),
            ("defaults", "task"),
            ("steps", "2000"),
            ("seed", "9"),
            ("init", path.to_str().unwrap()),
            (key, value),
        ];
        Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap()
    };
    let trainer = Trainer::new(&student("seed", "9")).unwrap();
    assert_eq!(trainer.policy.params.values(), teacher.networks.params.values());
    assert_eq!(
        trainer.normalizer.observation_mean(),
        teacher.normalizer.observation_mean()
    );
    assert_eq!(trainer.normalizer.return_variance(), teacher.return_variance);
    for (key, value, problem) in [
        ("policy.hidden", "[7]", "use the settings it was trained with"),
        ("normalize_observations", "false", "normalize_observations = true"),
    ] {
        let refusal = Trainer::new(&student(key, value)).err().unwrap().to_string();
        assert!(refusal.starts_with("init = ") && refusal.contains(problem), "{refusal}");
    }
    // The policy may be gone by the time that the run is resumed.
    let own = place.path().join("student");
    let mut run = Run::create(student("seed", "9"), &own, false).unwrap();
    run.train(&AtomicBool::new(true), &mut ()).unwrap();
    drop(run);
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(finish(Run::resume(&own).unwrap()).steps, 2000);
}

#[test]
fn a_run_that_diverges_says_after_how_many_steps_and_why_by_its_type() {
    let place = tempfile::tempdir().unwrap();
    let settings = [
        ("task", "CartPole-v1"),
        ("steps", "20000"),
        ("a2c.step_control", "rate"),
        ("a2c.learning_rate", "1e30"),
    ];
    let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap();
    let mut run = Run::create(config, &place.path().join("run"), false).unwrap();
    let error = run.train(&AtomicBool::new(false), &mut ()).unwrap_err();
    let RunError::Training {
        steps,
        cause: TrainError::Diverged(cause),
        checkpoint: None,
    } = &error
    else {
        panic!("{error:?}");
    };
    let sentence = format!("stopped after {steps} steps: {cause}; it happened before the first checkpoint");
    assert_eq!(error.to_string(), sentence);
}
