//! Steps the real Gymnasium's MuJoCo tasks beside ours, in double precision.
//!
//! Needs EPGT_PYTHON, as `live_gymnasium.rs`, with MuJoCo installed there.

mod common;

use common::gymnasium::Gymnasium;
use common::{assert_same_task, doubles, text};
use epgt_envs::mujoco::{MujocoEnv, installation};
use epgt_envs::{Env, TaskSpec, tasks};
use epgt_rng::Pcg64;

const STEPS: usize = 1000;
/// Numbers may differ by this, relative to their size: some sums and sines are rounded differently in NumPy.
const TOLERANCE: f64 = 1e-12;

/// The tasks that need MuJoCo, or none, with a line that says why, where it is missing.
fn mujoco_tasks() -> Vec<&'static TaskSpec> {
    if let Err(error) = installation() {
        println!("skipped: {error}");
        return Vec::new();
    }
    tasks().iter().filter(|task| MujocoEnv::open(task.id).is_ok()).collect()
}

/// All that a task returned.
struct Played {
    actions: Vec<f32>,
    observations: Vec<f64>,
    rewards: Vec<f64>,
    ends: String,
}

/// Plays random actions, some of them beyond the bounds, over as many episodes as it takes.
fn play(task: &TaskSpec, seed: u64) -> Played {
    let mut env = MujocoEnv::open(task.id).expect("a task");
    let mut rng = Pcg64::for_purpose(seed, "random actions", 0);
    let mut row = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut played = Played {
        actions: Vec::new(),
        observations: Vec::new(),
        rewards: Vec::new(),
        ends: String::new(),
    };
    env.reset(Some(seed), &mut row).expect("a reset");
    played.observations.extend(env.observation());
    let mut length = 0;
    for _ in 0..STEPS {
        env.action_space().sample(&mut rng, &mut action);
        action.iter_mut().for_each(|x| *x *= 1.2);
        let step = env.step(&action, &mut row).expect("a step");
        length += 1;
        played.actions.extend(&action);
        played.observations.extend(env.observation());
        played.rewards.push(step.reward);
        let cut = length == task.max_episode_steps;
        let end = u32::from(step.terminated) + 2 * u32::from(cut);
        played.ends.extend(char::from_digit(end, 10));
        if end > 0 {
            length = 0;
            env.reset(None, &mut row).expect("a reset");
            played.observations.extend(env.observation());
        }
    }
    played
}

/// The largest relative difference, and how many numbers differ at all.
fn compare(name: &str, ours: &[f64], theirs: &[f64]) -> (f64, usize) {
    assert_eq!(ours.len(), theirs.len(), "{name}: how many numbers there are");
    let differences = ours
        .iter()
        .zip(theirs)
        .map(|(our, their)| (our - their).abs() / their.abs().max(1.0));
    let worst = differences.clone().fold(0.0, f64::max);
    assert!(worst <= TOLERANCE, "{name}: the numbers are off by {worst:e}");
    (worst, differences.filter(|&difference| difference > 0.0).count())
}

#[test]
fn every_mujoco_task_follows_the_real_gymnasium() {
    let Some(mut gymnasium) = Gymnasium::start() else {
        println!("skipped: EPGT_PYTHON names no Python with Gymnasium to compare with");
        return;
    };
    let tasks = mujoco_tasks();
    assert_eq!(
        tasks.len(),
        21,
        "EPGT_PYTHON has Gymnasium but not MuJoCo: install mujoco==4.0.0 there"
    );
    for task in tasks {
        for seed in [0, 1 << 40] {
            let ours = play(task, seed);
            let theirs = gymnasium.play(task.id, seed, &ours.actions);
            assert_same_task(task.id, &theirs["task"]);
            assert_eq!(ours.ends, text(&theirs["ends"]), "{}: the ends of episodes", task.id);
            let observed = compare(task.id, &ours.observations, &doubles(text(&theirs["observations"])));
            let rewarded = compare(task.id, &ours.rewards, &doubles(text(&theirs["rewards"])));
            println!(
                "{} seed {seed}: {STEPS} steps, {} ends; {} of {} observed numbers differ, by at most {:.0e}; {} rewards, by at most {:.0e}",
                task.id,
                ours.ends.matches(['1', '2', '3']).count(),
                observed.1,
                ours.observations.len(),
                observed.0,
                rewarded.1,
                rewarded.0,
            );
        }
    }
    gymnasium.stop();
}
