//! Broken environments, wrong actions and foreign bytes are named, not believed.

use std::sync::Arc;

use epgt_envs::classic::Pendulum;
use epgt_envs::{Env, EnvError, Options, Space, Step, StepRow, TaskSpec, VecEnv, check, find};

/// A pendulum that breaks one promise.
struct Broken {
    pendulum: Pendulum,
    fault: Fault,
    steps: u32,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    ObservationOutOfBounds,
    ObservationNotANumber,
    InfiniteReward,
    HugeReward,
    SeedIgnored,
    StateForgotten,
    ActionNotChecked,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        Broken {
            pendulum: Pendulum::new(),
            fault,
            steps: 0,
        }
    }
}

impl Env for Broken {
    fn observation_space(&self) -> &Space {
        self.pendulum.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.pendulum.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        let seed = if let Fault::SeedIgnored = self.fault {
            None
        } else {
            seed
        };
        self.pendulum.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let action = if action[0].is_nan() && matches!(self.fault, Fault::ActionNotChecked) {
            &[0.0]
        } else {
            action
        };
        let mut step = self.pendulum.step(action, observation)?;
        self.steps += 1;
        if self.steps > 2 {
            match self.fault {
                Fault::ObservationOutOfBounds => observation[2] = 8.5,
                Fault::ObservationNotANumber => observation[1] = f32::NAN,
                Fault::InfiniteReward => step.reward = f64::NEG_INFINITY,
                Fault::HugeReward => step.reward = 1e39,
                Fault::SeedIgnored | Fault::StateForgotten | Fault::ActionNotChecked => (),
            }
        }
        Ok(step)
    }

    fn save(&self) -> Vec<u8> {
        self.pendulum.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        match self.fault {
            Fault::StateForgotten => Ok(()),
            _ => self.pendulum.restore(state),
        }
    }
}

#[test]
fn the_checker_names_the_promise_that_is_broken() {
    let cases = [
        (
            Fault::ObservationOutOfBounds,
            "of step 3 is not in the observation space",
        ),
        (
            Fault::ObservationNotANumber,
            "of step 3 is not in the observation space",
        ),
        (Fault::InfiniteReward, "the reward of step 3 is -inf"),
        (
            Fault::SeedIgnored,
            "the same seed and actions gave two different episodes",
        ),
        (Fault::StateForgotten, "a restored state did not go on as the saved one"),
        (Fault::ActionNotChecked, "was not refused as an invalid action"),
    ];
    for (fault, sentence) in cases {
        let error = check(&mut Broken::new(fault)).expect_err("a broken environment");
        assert!(error.to_string().contains(sentence), "{fault:?}: {error}");
    }
}

fn task(build: fn(&Options) -> Result<Box<dyn Env>, EnvError>) -> TaskSpec {
    let mut task = find("Pendulum-v1").expect("a task");
    task.build = Arc::new(build);
    task
}

/// The error of stepping two environments until there is one.
fn error_of(task: &TaskSpec, actions: [f32; 2]) -> String {
    let mut envs = VecEnv::new(task, 2, 0).expect("environments");
    let mut observations = vec![0.0; 2 * envs.observation_space().size()];
    envs.reset(&mut observations).expect("a reset");
    for _ in 0..10 {
        let out = StepRow {
            observations: (&mut observations).into(),
            rewards: &mut [0.0; 2],
            terminated: &mut [false; 2],
            truncated: &mut [false; 2],
        };
        if let Err(error) = envs.step(&actions, out) {
            return error.to_string();
        }
    }
    panic!("nothing went wrong")
}

#[test]
fn numbers_that_are_not_finite_are_traced_to_environment_and_step() {
    let observation = task(|_| Ok(Box::new(Broken::new(Fault::ObservationNotANumber))));
    let error = error_of(&observation, [0.0; 2]);
    assert!(
        error.starts_with("environment 0, step 3: entry 1 of the observation is NaN"),
        "{error}"
    );
    let reward = task(|_| Ok(Box::new(Broken::new(Fault::InfiniteReward))));
    let error = error_of(&reward, [0.0; 2]);
    assert!(
        error.starts_with("environment 0, step 3: the reward is -inf"),
        "{error}"
    );
    // Finite in 64 bits, and infinite in the 32 that are learned from.
    let reward = task(|_| Ok(Box::new(Broken::new(Fault::HugeReward))));
    let error = error_of(&reward, [0.0; 2]);
    assert!(
        error.starts_with("environment 0, step 3: the reward is 1e39, which is too large for 32 bits"),
        "{error}"
    );
}

#[test]
fn actions_that_mean_nothing_are_refused() {
    let error = error_of(&find("Pendulum-v1").expect("a task"), [0.0, f32::NAN]);
    assert!(
        error.starts_with("environment 1, step 1: entry 0 of the action is NaN"),
        "{error}"
    );
    let car = find("MountainCar-v0").expect("a task");
    for wrong in [3.0, -1.0, 0.5, f32::NAN, f32::INFINITY] {
        let error = error_of(&car, [2.0, wrong]);
        let expected = format!("environment 1, step 1: the action is {wrong}, but this task takes");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn actions_of_another_size_are_refused() {
    for id in ["CartPole-v1", "Pendulum-v1", "LunarLander-v3", "BipedalWalker-v3"] {
        let mut env = epgt_envs::make(id).expect("a task");
        let mut observation = vec![0.0; env.observation_space().size()];
        env.reset(Some(0), &mut observation).expect("a reset");
        let size = env.action_space().size();
        for wrong in [0, size + 1] {
            let error = env.step(&vec![0.0; wrong], &mut observation).expect_err("another size");
            let expected = format!("the action has {wrong} numbers, but this task takes {size}");
            assert_eq!(error, EnvError::InvalidAction(expected), "{id}");
        }
    }
}

#[test]
fn foreign_bytes_are_not_restored() {
    let mut pendulum = Pendulum::new();
    let saved = pendulum.save();
    for wrong in [&[1, 2, 3], &saved[..saved.len() - 1]] {
        assert!(
            matches!(pendulum.restore(wrong), Err(EnvError::InvalidState(_))),
            "{wrong:?}"
        );
    }
    let envs = |id, n| VecEnv::new(&find(id).expect("a task"), n, 0).expect("environments");
    for (other, n) in [("Pendulum-v1", 3), ("MountainCar-v0", 2)] {
        let error = envs("Pendulum-v1", 2)
            .restore(&envs(other, n).save())
            .expect_err("not its own");
        let expected = format!("the saved state is of {n} environments of {other}, not 2 of Pendulum-v1");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn box_actions_are_clipped_and_staggered_starts_spread_the_resets() {
    let mut envs = VecEnv::new(&find("Pendulum-v1").expect("a task"), 4, 0)
        .expect("environments")
        .with_staggered_starts();
    let mut plain = VecEnv::new(&find("Pendulum-v1").expect("a task"), 4, 0).expect("environments");
    let mut observations = [[0.0; 12]; 2];
    envs.reset(&mut observations[0]).expect("a reset");
    plain.reset(&mut observations[1]).expect("a reset");
    let mut ends = Vec::new();
    for number in 1..=300 {
        for (k, envs) in [&mut envs, &mut plain].into_iter().enumerate() {
            let out = StepRow {
                observations: (&mut observations[k]).into(),
                rewards: &mut [0.0; 4],
                terminated: &mut [false; 4],
                truncated: &mut [false; 4],
            };
            let torque = [2.0, f32::INFINITY][k];
            envs.step(&[torque; 4], out).expect("a step");
        }
        if number < 50 {
            assert_eq!(observations[0], observations[1]);
        }
        for episode in envs.finished() {
            assert_eq!(episode.length, if number > 200 { 200 } else { number });
            ends.push((number, episode.env, episode.counted));
        }
    }
    let expected = [(50, 0, false), (100, 1, false), (150, 2, false), (200, 3, true)];
    assert_eq!(ends[..4], expected);
    assert_eq!(ends[4..], [(250, 0, true), (300, 1, true)]);
}
