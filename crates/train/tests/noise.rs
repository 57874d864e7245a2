//! Noise that is moved to where more is earned: by the greedy rule, and by a hyper-agent.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use epgt_envs::{Env, EnvError, Space, Step, TaskSpec};
use epgt_train::{Assignment, Config, Registry, Run, RunEnd, Trainer};

fn assignments(pairs: &[(&str, &str)]) -> Vec<Assignment> {
    pairs.iter().map(|(key, value)| Assignment::new(*key, value)).collect()
}

/// A task in which an action of so great a size earns `reward` of it.
struct Sized {
    observation: Space,
    action: Space,
    reward: fn(f32) -> f32,
}

impl Sized {
    fn new(reward: fn(f32) -> f32) -> Self {
        let line = || Space::Box {
            low: vec![-1.0],
            high: vec![1.0],
        };
        Self {
            observation: line(),
            action: line(),
            reward,
        }
    }
}

impl Env for Sized {
    fn observation_space(&self) -> &Space {
        &self.observation
    }
    fn action_space(&self) -> &Space {
        &self.action
    }
    fn reset(&mut self, _seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        observation.fill(0.5);
        Ok(())
    }
    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        observation.fill(0.5);
        Ok(Step {
            reward: f64::from((self.reward)(action[0].clamp(-1.0, 1.0).abs())),
            terminated: false,
            truncated: false,
        })
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn restore(&mut self, _state: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}

/// The deviation of the actions after training with these settings, started from 0.5.
fn deviation(reward: fn(f32) -> f32, settings: &[(&str, &str)]) -> f32 {
    let task = TaskSpec::new("Sized-v0", move || Sized::new(reward)).with_max_episode_steps(50);
    let registry = Arc::new(Registry::new().with_task(task));
    let mut said = assignments(&[
        ("task", "Sized-v0"),
        ("steps", "30000"),
        ("n_envs", "8"),
        ("policy.log_std_init", "-0.7"),
    ]);
    said.extend(assignments(settings));
    let mut trainer = Trainer::new(&Config::build_in(&registry, &said).unwrap()).unwrap();
    while !trainer.is_finished() {
        trainer.iterate().unwrap();
    }
    trainer.policy.log_std()[0].exp()
}

#[test]
fn noise_moves_to_where_more_is_earned() {
    let cost: fn(f32) -> f32 = |size| -size;
    let gain: fn(f32) -> f32 = |size| size;
    for algo in ["a2c", "ppo"] {
        let of = |reward, more: &[(&str, &str)]| deviation(reward, &[&[("algo", algo)], more].concat());
        // Steps too small to learn anything, so that what moves is what is looked at here.
        let still = [
            ("target_divergence", "1e-9"),
            ("learning_rate", "1e-9"),
            ("scheduler", "fixed"),
        ];
        let learned = (of(cost, &still), of(gain, &still));
        assert!(
            (learned.0 - 0.4966).abs() < 0.01 && (learned.1 - 0.4966).abs() < 0.01,
            "{algo}: {learned:?}"
        );
        let greedy = [&still[..], &[("noise_control", "greedy")]].concat();
        let (low, high) = (of(cost, &greedy), of(gain, &greedy));
        assert!(low < 0.1 && high > 1.0, "{algo}, greedy: {low} and {high}");
        let scheduled = [&still[..2], &[("scheduler", "bandit"), ("tune.noise", "0.9:1:1.1")]].concat();
        let (low, high) = (of(cost, &scheduled), of(gain, &scheduled));
        assert!(low < 0.3 && high > 0.8, "{algo}, scheduled: {low} and {high}");
    }
}

#[test]
fn a_run_that_moves_its_noise_and_is_stopped_ends_the_same() {
    let place = tempfile::tempdir().unwrap();
    let greedy = [("noise_control", "greedy"), ("scheduler", "fixed")];
    for (task, algo) in [("Pendulum-v1", "ppo"), ("Pendulum-v1", "a2c"), ("CartPole-v1", "acktr")] {
        for (name, settings) in [("greedy", &greedy[..]), ("scheduled", &[("tune.noise", "0.9:1:1.1")])] {
            let base = [("task", task), ("algo", algo), ("steps", "12000")];
            let config = || Config::build(&assignments(&[&base[..], settings].concat())).unwrap();
            let path = |part: &str| place.path().join(format!("{algo}-{name}-{part}"));
            let whole = finish(Run::create(config(), &path("whole"), false).unwrap());
            let mut run = Run::create(config(), &path("parted"), false).unwrap();
            for _ in 0..3 {
                let stopped = run.train(&AtomicBool::new(true), &mut ()).unwrap();
                assert!(matches!(stopped, RunEnd::Interrupted { .. }));
                drop(run);
                run = Run::resume(&path("parted")).unwrap();
            }
            assert_eq!(finish(run), whole, "{algo}, {name}");
            let decisions = |path: &Path| std::fs::read(path.join("decisions.csv")).unwrap();
            assert_eq!(decisions(&path("whole")), decisions(&path("parted")));
        }
    }
}

/// Trains to the end; the digest of the policy.
fn finish(mut run: Run) -> String {
    match run.train(&AtomicBool::new(false), &mut ()).unwrap() {
        RunEnd::Finished(result) => result.policy_sha256,
        RunEnd::Interrupted { steps } => panic!("interrupted at {steps}"),
    }
}

#[test]
fn environments_are_compared_where_noise_is_scheduled_and_need_to_be_four() {
    let build = |pairs: &[(&str, &str)]| Config::build(&assignments(&[&[("task", "Pendulum-v1")], pairs].concat()));
    let spread = |pairs| build(pairs).unwrap().noise_spread();
    assert_eq!(spread(&[]), 1.0);
    assert_eq!(spread(&[("tune.noise", "0.9:1:1.1")]), 1.5);
    assert_eq!(spread(&[("tune.noise", "0.9:1:1.1"), ("scheduler", "fixed")]), 1.0);
    assert_eq!(spread(&[("noise_control", "greedy")]), 1.5);
    assert_eq!(spread(&[("noise_control", "greedy"), ("noise_spread", "2")]), 2.0);
    let alone = build(&[("tune.noise", "0.9:1:1.1")]).unwrap().to_toml();
    assert!(
        alone.contains("outcome = \"noise\"\n") && alone.contains("transform = \"raw\"\n"),
        "{alone}"
    );
    let said = build(&[("tune.noise", "0.9:1:1.1"), ("hyper.outcome", "episode")])
        .unwrap()
        .to_toml();
    assert!(
        said.contains("outcome = \"episode\"\n") && said.contains("transform = \"improvement\"\n"),
        "{said}"
    );
    let refused = |pairs| build(pairs).unwrap_err().to_string();
    assert!(
        refused(&[("noise_control", "greedy"), ("n_envs", "3")]).contains("at least 4 are needed"),
        "{}",
        refused(&[("noise_control", "greedy"), ("n_envs", "3")])
    );
    assert!(refused(&[("noise_spread", "0.5")]).contains("from 1 to 10 is wanted"));
}

#[test]
fn a_goal_that_is_seldom_seen_is_found_by_the_noise_of_a_single_number() {
    // Started with a deviation of 1, the policy stops moving before it has seen the goal from each of these seeds.
    for seed in ["300", "303", "310", "319"] {
        let config = Config::build(&assignments(&[
            ("task", "MountainCarContinuous-v0"),
            ("algo", "ppo"),
            ("scheduler", "fixed"),
            ("seed", seed),
        ]))
        .unwrap();
        let mut trainer = Trainer::new(&config).unwrap();
        while !trainer.is_finished() {
            trainer.iterate().unwrap();
        }
        let score = trainer.counters.mean_return().unwrap();
        assert!(score > 85.0, "seed {seed}: {score}");
    }
}
