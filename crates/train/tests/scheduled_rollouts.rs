//! Rollouts whose length is scheduled: what is refused, and where the run ends.

use epgt_train::{Assignment, Config, ConfigError, Trainer};

fn build(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let task = [("task", "CartPole-v1"), ("n_envs", "8")];
    let all = task.iter().chain(pairs);
    let assignments: Vec<_> = all.map(|(key, value)| Assignment::new(*key, value)).collect();
    Config::build(&assignments)
}

#[test]
fn every_scheduled_value_passes_the_checks_of_a_fixed_one() {
    let steps = ("steps", "5000");
    for algo in ["a2c", "ppo", "acktr"] {
        let algo = ("algo", algo);
        let fixed = ("n_steps", "16");
        assert_eq!(
            build(&[algo, steps, fixed, ("tune.n_steps", "5:1000")])
                .unwrap_err()
                .to_string(),
            "cannot schedule n_steps = 1000: steps = 5000 is less than one rollout of 8 environments times 1000 steps; raise it to \
             8000 or more"
        );
        let error = build(&[algo, ("steps", "1e13"), fixed, ("tune.n_steps", "5:1e9")])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot schedule n_steps = 1000000000: these settings need about"),
            "{error}"
        );
        assert!(error.contains("GB"), "{error}");
        for scheduler in ["epgt", "fixed", "random", "pbt", "pb2", "grid", "random-search"] {
            let scheduled = [
                algo,
                steps,
                fixed,
                ("scheduler", scheduler),
                ("population.ready", "1000"),
            ];
            let population = ("population.runs", "2");
            let refused = [&scheduled[..], &[population, ("tune.n_steps", "5:1000")]].concat();
            assert!(
                build(&refused)
                    .unwrap_err()
                    .to_string()
                    .contains("n_steps = 1000: steps = 5000"),
                "{scheduler}"
            );
            let accepted = [&scheduled[..], &[population, ("tune.n_steps", "5:600")]].concat();
            assert!(build(&accepted).is_ok(), "{scheduler}: {:?}", build(&accepted));
        }
    }
    // What only two of them together make impossible is refused as well.
    let wide = ("policy.hidden", "[20000]");
    let ppo = [
        ("algo", "ppo"),
        ("scheduler", "random"),
        ("steps", "1e9"),
        wide,
        ("n_steps", "16"),
    ];
    let (long, large) = (("tune.n_steps", "16:100000"), ("tune.batch_size", "64:1000000"));
    assert!(build(&[&ppo[..], &[long]].concat()).is_ok());
    assert!(build(&[&ppo[..], &[large]].concat()).is_ok());
    let error = build(&[&ppo[..], &[long, large]].concat()).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot schedule batch_size = 1000000 with n_steps = 100000: these settings need"),
        "{error}"
    );
}

#[test]
fn a_run_with_rollouts_of_scheduled_length_spends_its_budget() {
    for (scheduler, seed) in [("random", "0"), ("random", "1"), ("epgt", "0"), ("fixed", "0")] {
        let config = build(&[
            ("scheduler", scheduler),
            ("seed", seed),
            ("steps", "20001"),
            ("tune.n_steps", "5:300:1000"),
            ("hyper.hold", "1"),
        ])
        .unwrap();
        let mut trainer = Trainer::new(&config).unwrap();
        while !trainer.is_finished() {
            trainer.iterate().unwrap();
        }
        let left = 20_001 - trainer.counters.steps;
        assert!(left < 5 * 8, "{scheduler}: {left} steps are left");
    }
}

#[test]
fn a_run_with_rollouts_of_one_length_plays_whole_ones() {
    let config = build(&[("steps", "5000"), ("n_steps", "600")]).unwrap();
    let mut trainer = Trainer::new(&config).unwrap();
    trainer.iterate().unwrap();
    assert!(trainer.is_finished());
    assert_eq!((trainer.counters.steps, config.total_steps()), (4800, 4800));
}
