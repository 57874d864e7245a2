//! What a step of the MuJoCo tasks costs, beside the bare simulator: `mj_step` as often, on the same trajectory.
//!
//! The same seed and actions are played twice, through the environment and by setting the controls and stepping by
//! hand, with the same resets. Both are repeated in turn, and of each step the fastest pass counts, so that whatever else
//! the machine does is left out.
//!
//! `cargo run --release -p epgt-envs --example mujoco_speed`

use epgt_envs::mujoco::{Array, MujocoEnv};
use epgt_envs::{Env, EnvError, tasks};
use epgt_rng::Pcg64;
use std::time::{Duration, Instant};

const STEPS: usize = 1000;
const PASSES: usize = 7;

fn main() -> Result<(), EnvError> {
    epgt_envs::mujoco::installation()?;
    for task in tasks() {
        let Ok(mut env) = MujocoEnv::open(task.id) else {
            continue;
        };
        let mut rng = Pcg64::from_seed(0);
        let mut actions = vec![0.0; STEPS * task.action.len()];
        for action in actions.chunks_exact_mut(task.action.len()) {
            env.action_space().sample(&mut rng, action);
        }
        let mut row = vec![0.0; task.observation.len()];
        let (mut whole, mut bare) = (vec![Duration::MAX; STEPS], vec![Duration::MAX; STEPS]);
        for _ in 0..PASSES {
            let ends = steps(&mut env, &actions, &mut row, &mut whole)?;
            simulation(&mut env, &actions, &ends, &mut row, &mut bare)?;
        }
        let (whole, bare): (Duration, Duration) = (whole.iter().sum(), bare.iter().sum());
        println!(
            "{}: {:.2} us per step, {:.2} us of mj_step (x {:.3}), {:.0} steps per second",
            task.id,
            whole.as_secs_f64() * 1e6 / STEPS as f64,
            bare.as_secs_f64() * 1e6 / STEPS as f64,
            whole.as_secs_f64() / bare.as_secs_f64(),
            STEPS as f64 / whole.as_secs_f64(),
        );
    }
    Ok(())
}

/// Lowers the time of each step to what it takes through the environment, and says after which an episode ended.
fn steps(env: &mut MujocoEnv, actions: &[f32], row: &mut [f32], best: &mut [Duration]) -> Result<Vec<bool>, EnvError> {
    let mut ends = Vec::new();
    env.reset(Some(0), row)?;
    for (action, best) in actions.chunks_exact(actions.len() / STEPS).zip(best) {
        let begin = Instant::now();
        let step = env.step(action, row)?;
        *best = begin.elapsed().min(*best);
        ends.push(step.terminated);
        if step.terminated {
            env.reset(None, row)?;
        }
    }
    Ok(ends)
}

/// Lowers the time of each step to what the simulator alone takes for the same.
fn simulation(
    env: &mut MujocoEnv,
    actions: &[f32],
    ends: &[bool],
    row: &mut [f32],
    best: &mut [Duration],
) -> Result<(), EnvError> {
    let frame_skip = env.frame_skip();
    env.reset(Some(0), row)?;
    for ((action, &ended), best) in actions.chunks_exact(actions.len() / STEPS).zip(ends).zip(best) {
        let data = env.data_mut();
        let controls = data.get_mut(Array::Ctrl);
        controls
            .iter_mut()
            .zip(action)
            .for_each(|(control, &x)| *control = x.into());
        let begin = Instant::now();
        data.step(frame_skip);
        *best = begin.elapsed().min(*best);
        if ended {
            env.reset(None, row)?;
        }
    }
    Ok(())
}
