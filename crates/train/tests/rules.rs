//! The schedulers that live inside of A2C's update, `hoof` and `meta-gradient`, as runs show them.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use epgt_train::table::read_csv;
use epgt_train::{Assignment, Config, ConfigError, Run, RunEnd, RunResult, Trainer};

const RULES: [(&str, &[(&str, &str)]); 2] = [
    (
        "hoof",
        &[
            ("tune.learning_rate", "paper:7"),
            ("tune.ent_coef", "0:0.02"),
            ("tune.gamma", "0.9:0.99"),
            ("hoof.rate_candidates", "10"),
        ],
    ),
    (
        "meta-gradient",
        &[
            ("tune.learning_rate", "log:1e-4..1e-2:5"),
            ("tune.gae_lambda", "0.8:0.99"),
            ("tune.gamma", "0.9:0.999"),
        ],
    ),
];

fn config(scheduler: &str, more: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let base = [
        ("task", "CartPole-v1"),
        ("defaults", "task"),
        ("algo", "a2c"),
        ("steps", "6000"),
        ("scheduler", scheduler),
    ];
    let said = base.iter().chain(more).map(|(key, value)| Assignment::new(*key, value));
    Config::build(&said.collect::<Vec<_>>())
}

fn finish(mut run: Run) -> RunResult {
    match run.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

#[test]
fn a_run_that_is_stopped_again_and_again_ends_the_same() {
    for (scheduler, more) in RULES {
        let directory = tempfile::tempdir().unwrap();
        let (whole, parted) = (directory.path().join("whole"), directory.path().join("parted"));
        let config = || config(scheduler, more).unwrap();
        let expected = finish(Run::create(config(), &whole, false).unwrap());
        let mut run = Run::create(config(), &parted, false).unwrap();
        // Asked to stop from the start, a run still finishes one phase, so that every resume gets further.
        for _ in 0..12 {
            let end = run.train(&AtomicBool::new(true), &mut ());
            assert!(matches!(end, Ok(RunEnd::Interrupted { .. })), "{scheduler}: {end:?}");
            drop(run);
            run = Run::resume(&parted).unwrap();
        }
        let result = finish(run);
        assert_eq!(result.policy_sha256, expected.policy_sha256, "{scheduler}");
        let rows = |path: &Path| std::fs::read(path.join("decisions.csv")).unwrap();
        assert_eq!(rows(&whole), rows(&parted), "{scheduler}");
    }
}

#[test]
fn the_log_shows_what_was_in_force_at_every_update_and_the_rules_own_numbers() {
    for (scheduler, more) in RULES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let config = config(scheduler, more).unwrap();
        let (space, indices) = config.hyper_space().unwrap();
        // The same training beside the run says what each update was made with.
        let mut trainer = Trainer::new(&config).unwrap();
        let mut in_force = Vec::new();
        while !trainer.is_finished() {
            trainer.iterate().unwrap();
            in_force.push(
                indices
                    .iter()
                    .map(|&i| trainer.method.settings().get(i))
                    .collect::<Vec<_>>(),
            );
        }
        finish(Run::create(config.clone(), &path, false).unwrap());

        let decisions = read_csv(path.join("decisions.csv")).unwrap();
        let columns: Vec<Vec<f64>> = space
            .axes()
            .iter()
            .map(|axis| decisions.numbers(&axis.name).unwrap())
            .collect();
        assert_eq!(
            decisions.rows.len(),
            in_force.len() - 1,
            "all but the last have an outcome"
        );
        for (update, values) in in_force.iter().take(decisions.rows.len()).enumerate() {
            let logged: Vec<f64> = columns.iter().map(|column| column[update]).collect();
            assert_eq!(&logged, values, "{scheduler}, update {update}");
        }
        let changes = in_force.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(changes > in_force.len() / 2, "{scheduler}: {changes} changes");

        let metrics = read_csv(path.join("metrics.csv")).unwrap();
        let own: &[&str] = match scheduler {
            "hoof" => &["hoof/upper_bound", "hoof/rejected"],
            _ => &[
                "meta/gradient_learning_rate",
                "meta/gradient_gamma",
                "meta/gradient_gae_lambda",
            ],
        };
        for name in own {
            let numbers = metrics.numbers(name).unwrap();
            assert!(numbers.iter().all(|x| x.is_finite()), "{name}: {numbers:?}");
            assert!(numbers.iter().any(|x| *x != numbers[0]), "{name} moves");
        }
        let bounds = space.axes().iter().zip(&columns).skip(usize::from(scheduler == "hoof"));
        for (axis, column) in bounds {
            let (low, high) = (axis.values[0], axis.values[axis.values.len() - 1]);
            assert!(column.iter().all(|x| (low..=high).contains(x)), "{}", axis.name);
        }
    }
}

#[test]
fn what_a_rule_cannot_do_is_refused_in_a_sentence() {
    for (scheduler, more, sentence) in [
        ("hoof", ("algo", "ppo"), "use --algo a2c, or another scheduler"),
        ("meta-gradient", ("algo", "acktr"), "not of acktr"),
        ("hoof", ("tune.n_steps", "5:10"), "hoof cannot change n_steps"),
        (
            "meta-gradient",
            ("tune.vf_coef", "0.1:1"),
            "meta-gradient cannot change vf_coef",
        ),
        ("hoof", ("hoof.max_kl", "nan"), "max_kl"),
        (
            "hoof",
            ("hoof.rate_candidates", "0"),
            "hoof.rate_candidates = 0 must lie between",
        ),
        (
            "meta-gradient",
            ("meta.rate", "-1"),
            "meta.rate = -1 must be a number from 0 to 10",
        ),
        (
            "meta-gradient",
            ("a2c.normalize_advantage", "true"),
            "normalize_advantage = false",
        ),
    ] {
        let refusal = config(scheduler, &[more]).unwrap_err().to_string();
        assert!(refusal.contains(sentence), "{more:?}: {refusal}");
    }
    // Another scheduler may stand beside settings of these.
    assert!(config("epgt", &[("hoof.max_kl", "0.1"), ("meta.rate", "0.1")]).is_ok());
}

#[test]
fn a_checkpoint_of_another_rule_is_refused() {
    let trainer = |scheduler| Trainer::new(&config(scheduler, &[]).unwrap()).unwrap();
    let mut hoof = trainer("hoof");
    for other in ["meta-gradient", "fixed"] {
        let mut other = trainer(other);
        other.iterate().unwrap();
        let refusal = hoof.restore(other.save()).unwrap_err().to_string();
        assert!(refusal.contains("another scheduler"), "{refusal}");
    }
}
