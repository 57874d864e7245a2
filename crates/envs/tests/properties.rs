//! What holds for every task, whatever the seed and the actions.

use epgt_envs::{Env, Episode, Normalizer, Space, Step, StepRow, TaskSpec, VecEnv, check, family, make, tasks};
use epgt_rng::Pcg64;
use epgt_testing::needs;
use proptest::prelude::*;
use std::sync::LazyLock;

/// What one step of a vector environment wrote.
#[derive(Clone, Debug, PartialEq)]
struct Rows {
    observations: Vec<f32>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    finished: Vec<Episode>,
}

fn first_rows(envs: &mut VecEnv) -> Rows {
    let n = envs.n();
    let mut rows = Rows {
        observations: vec![0.0; n * envs.observation_space().size()],
        rewards: vec![0.0; n],
        terminated: vec![false; n],
        truncated: vec![false; n],
        finished: Vec::new(),
    };
    envs.reset(&mut rows.observations).expect("a reset");
    rows
}

fn step(envs: &mut VecEnv, actions: &[f32], rows: &mut Rows) {
    let out = StepRow {
        observations: (&mut rows.observations).into(),
        rewards: &mut rows.rewards,
        terminated: &mut rows.terminated,
        truncated: &mut rows.truncated,
    };
    envs.step(actions, out).expect("a step");
    rows.finished = envs.finished().to_vec();
}

/// Random actions for a row of environments, always within the space.
fn sample(space: &Space, rng: &mut Pcg64, actions: &mut [f32]) {
    actions
        .chunks_exact_mut(space.size())
        .for_each(|action| space.sample(rng, action));
}

/// The tasks whose simulator is on this machine, but for images, which are tested in `pixels.rs`.
static PLAYABLE: LazyLock<Vec<&TaskSpec>> = LazyLock::new(|| {
    let numbers = tasks().iter().filter(|task| task.image.is_none());
    numbers.filter(|task| task.make().is_ok()).collect()
});

fn any_task() -> impl Strategy<Value = &'static TaskSpec> {
    (0..PLAYABLE.len()).prop_map(|i| PLAYABLE[i])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_space_contains_its_samples(seed: u64, bounds in proptest::collection::vec((-1e3f32..1e3, 0f32..1e3, 0..4), 1..5)) {
        let low = bounds.iter().map(|b| if b.2 & 1 == 0 { b.0 } else { f32::NEG_INFINITY }).collect();
        let high = bounds.iter().map(|b| if b.2 & 2 == 0 { b.0 + b.1 } else { f32::INFINITY }).collect();
        let mut rng = Pcg64::from_seed(seed);
        for space in [Space::Box { low, high }, Space::Discrete(bounds.len())] {
            let mut row = vec![0.0; space.size()];
            for _ in 0..50 {
                space.sample(&mut rng, &mut row);
                prop_assert!(space.contains(&row), "{space:?} {row:?}");
            }
            row[0] = f32::NAN;
            prop_assert!(!space.contains(&row));
        }
    }

    #[test]
    fn observations_stay_in_their_space(task in any_task(), seed: u64) {
        let mut env = make(&task.id).expect("a task");
        let mut rng = Pcg64::from_seed(seed);
        let mut observation = vec![0.0; env.observation_space().size()];
        let mut action = vec![0.0; env.action_space().size()];
        env.reset(Some(seed), &mut observation).expect("a reset");
        let (space, walks) = (env.observation_space().clone(), task.id.starts_with("BipedalWalker"));
        let contains = |observation: &[f32]| {
            let mut observation = observation.to_vec();
            // A walker's hull can turn over, and its angle then leaves Gymnasium's space in Gymnasium too.
            if walks && observation[0].is_finite() {
                observation[0] = 0.0;
            }
            space.contains(&observation)
        };
        for _ in 0..300 {
            prop_assert!(contains(&observation), "{observation:?}");
            env.action_space().sample(&mut rng, &mut action);
            let step = env.step(&action, &mut observation).expect("a step");
            if step.terminated || step.truncated {
                prop_assert!(contains(&observation), "{observation:?}");
                env.reset(None, &mut observation).expect("a reset");
            }
        }
    }

    #[test]
    fn a_vector_of_environments_is_as_many_separate_ones(
        task in any_task(), n in 1usize..5, seed in 0u64..1 << 40, threads in 1usize..4,
    ) {
        let mut envs = VecEnv::new(task, n, seed).expect("environments").on_threads(threads);
        let mut rows = first_rows(&mut envs);
        let width = envs.observation_space().size();
        let mut separate: Vec<_> = (0..n).map(|_| make(&task.id).expect("a task")).collect();
        let mut observation = vec![0.0; width];
        for (i, env) in separate.iter_mut().enumerate() {
            env.reset(Some(seed + i as u64), &mut observation).expect("a reset");
            prop_assert_eq!(&rows.observations[i * width..][..width], &observation[..]);
        }
        let mut rng = Pcg64::from_seed(seed);
        let mut actions = vec![0.0; n * envs.action_space().size()];
        let mut returns = vec![(0.0, 0); n];
        for _ in 0..450 {
            sample(envs.action_space(), &mut rng, &mut actions);
            step(&mut envs, &actions, &mut rows);
            let mut finished = rows.finished.iter();
            for (i, env) in separate.iter_mut().enumerate() {
                let Step { reward, terminated, truncated } =
                    env.step(&actions[i * actions.len() / n..][..actions.len() / n], &mut observation).expect("a step");
                returns[i] = (returns[i].0 + reward, returns[i].1 + 1);
                if terminated || truncated {
                    prop_assert_eq!(envs.final_observation(i).numbers(), &observation[..]);
                    let (episode_return, length) = std::mem::take(&mut returns[i]);
                    let episode = Episode { env: i, episode_return, length, counted: true };
                    prop_assert_eq!(finished.next(), Some(&episode));
                    env.reset(None, &mut observation).expect("a reset");
                }
                prop_assert_eq!(&rows.observations[i * width..][..width], &observation[..]);
                prop_assert_eq!(rows.rewards[i], reward as f32);
                prop_assert_eq!((rows.terminated[i], rows.truncated[i]), (terminated, truncated));
            }
            prop_assert_eq!(finished.next(), None);
        }
    }

    #[test]
    fn restored_environments_go_on_exactly(task in any_task(), n in 1usize..4, seed: u64, staggered: bool, before in 0usize..300) {
        let new = |seed| {
            let envs = VecEnv::new(task, n, seed).expect("environments");
            if staggered { envs.with_staggered_starts() } else { envs }
        };
        let mut envs = new(seed);
        let mut rng = Pcg64::from_seed(seed);
        let mut actions = vec![0.0; n * envs.action_space().size()];
        let mut rows = first_rows(&mut envs);
        for _ in 0..before {
            sample(envs.action_space(), &mut rng, &mut actions);
            step(&mut envs, &actions, &mut rows);
        }
        let mut copy = VecEnv::new(task, n, seed.wrapping_add(1)).expect("environments").on_threads(2);
        copy.restore(&envs.save()).expect("its own state");
        let mut copied = rows.clone();
        prop_assert_eq!(envs.finished(), copy.finished());
        for _ in 0..300 {
            sample(envs.action_space(), &mut rng, &mut actions);
            step(&mut envs, &actions, &mut rows);
            step(&mut copy, &actions, &mut copied);
            prop_assert_eq!(&rows, &copied);
        }
        prop_assert_eq!(envs.save(), copy.save());
    }

    #[test]
    fn a_frozen_normaliser_never_changes(values in proptest::collection::vec(-1e6f32..1e6, 12), gamma in 0.0..1.0) {
        let mut normalizer = Normalizer::new(3, 4, true, true, gamma);
        let (ends, mut out) = ([false, true, false, false], [0.0; 4]);
        normalizer.observe(&mut values.clone());
        normalizer.rewards(&values[..4], &ends, &ends, &mut out);
        normalizer.freeze();
        let before = normalizer.clone();
        let mut rows = values.clone();
        normalizer.observe(&mut rows);
        normalizer.rewards(&values[4..8], &ends, &ends, &mut out);
        prop_assert_eq!(&normalizer, &before);
        let mut applied = values[..3].to_vec();
        normalizer.apply(&mut applied);
        prop_assert_eq!(&rows[..3], &applied[..]);
    }

    #[test]
    fn normalised_values_are_clipped_and_off_means_unchanged(values in proptest::collection::vec(-1e30f32..1e30, 8)) {
        for on in [false, true] {
            let mut normalizer = Normalizer::new(2, 4, on, on, 0.99);
            let (mut rows, mut rewards) = (values.clone(), [0.0; 4]);
            normalizer.observe(&mut rows);
            normalizer.rewards(&values[..4], &[false; 4], &[false; 4], &mut rewards);
            if on {
                prop_assert!(rows.iter().chain(&rewards).all(|x| x.abs() <= 10.0));
            } else {
                prop_assert_eq!(&rows, &values);
                prop_assert_eq!(&rewards[..], &values[..4]);
            }
        }
    }

    #[test]
    fn a_saved_normaliser_goes_on_exactly(values in proptest::collection::vec(-1e3f32..1e3, 40)) {
        let mut normalizer = Normalizer::new(2, 1, true, true, 0.9);
        for row in values.chunks_exact(2) {
            normalizer.observe(&mut row.to_vec());
            normalizer.rewards(&row[..1], &[row[1] > 0.0], &[false], &mut [0.0]);
            let bytes = postcard::to_stdvec(&normalizer).expect("plain numbers");
            let loaded: Normalizer = postcard::from_bytes(&bytes).expect("its own bytes");
            prop_assert_eq!(&loaded, &normalizer);
            normalizer = loaded;
        }
    }
}

fn passes_the_checker(task: &TaskSpec, mut env: Box<dyn Env>) {
    check(&mut *env).unwrap_or_else(|error| panic!("{}: {error}", task.id));
}

const WITHOUT_MUJOCO: [&str; 9] = [
    "Acrobot",
    "BipedalWalker",
    "BipedalWalkerHardcore",
    "CartPole",
    "LunarLander",
    "LunarLanderContinuous",
    "MountainCar",
    "MountainCarContinuous",
    "Pendulum",
];

/// The tasks that do not need MuJoCo, and those that do.
fn by_simulator() -> (Vec<&'static TaskSpec>, Vec<&'static TaskSpec>) {
    let numbers = tasks().iter().filter(|task| task.image.is_none());
    numbers.partition(|task| WITHOUT_MUJOCO.contains(&family(&task.id)))
}

#[test]
fn every_task_passes_the_checker() {
    let (others, _) = by_simulator();
    assert_eq!(others.len(), 10);
    for task in others {
        passes_the_checker(task, make(&task.id).expect("a task"));
        passes_the_checker(task, task.make().expect("an environment"));
    }
}

#[needs(mujoco)]
#[test]
fn every_mujoco_task_passes_the_checker() {
    let (_, mujoco) = by_simulator();
    assert_eq!(mujoco.len(), 21);
    for task in mujoco {
        // The limit adds little, and steps are slow.
        passes_the_checker(task, make(&task.id).expect("a task"));
    }
}
