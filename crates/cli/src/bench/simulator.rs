//! The bare simulator: how fast environments step when nobody learns. No training can be faster.

use epgt_envs::{Observations, RowShape, StepRow, VecEnv};
use epgt_rng::Pcg64;
use epgt_train::{Config, usage};
use serde_json::{Value, json};

use crate::output;

/// Rows of random actions that are drawn beforehand and used in turn.
const ACTION_ROWS: usize = 1024;

/// Steps the environments with random actions, and says what the stepping alone cost.
pub fn measure(config: &Config) -> Result<Value, String> {
    let (run, n) = (&config.run, config.run.n_envs);
    let task = config.task().map_err(output::told)?;
    let mut envs = VecEnv::new(&task, n, run.seed).map_err(|error| error.to_string())?;
    let mut observations = Observations::new(RowShape::from(envs.observation_space()), n);
    let mut rewards = vec![0.0; n];
    let (mut terminated, mut truncated) = (vec![false; n], vec![false; n]);

    let size = envs.action_space().size();
    let mut actions = vec![0.0; ACTION_ROWS * n * size];
    let mut rng = Pcg64::for_purpose(run.seed, "simulator", 0);
    for action in actions.chunks_exact_mut(size) {
        envs.action_space().sample(&mut rng, action);
    }

    envs.reset(&mut observations).map_err(|error| error.to_string())?;
    let rows = actions.chunks_exact(n * size).cycle();
    let start = usage::thread_cpu_seconds() + envs.worker_cpu_seconds();
    for row in rows.take(run.steps as usize / n) {
        let out = StepRow {
            observations: (&mut observations).into(),
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        envs.step(row, out).map_err(|error| error.to_string())?;
    }
    Ok(json!({
        "steps": envs.steps() * n as u64,
        "cpu_seconds": usage::thread_cpu_seconds() + envs.worker_cpu_seconds() - start,
        "peak_memory_mb": usage::peak_memory_mb(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_train::Assignment;

    #[test]
    fn every_environment_takes_its_share_of_the_steps() {
        for task in ["MountainCarContinuous-v0", "CartPole-v1", "PixelCatch-v0"] {
            let settings = [("task", task), ("n_envs", "4"), ("steps", "3000")];
            let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value))).unwrap();
            let cost = measure(&config).unwrap();
            assert_eq!(cost["steps"], 3000);
            assert!(cost["cpu_seconds"].as_f64().unwrap() > 0.0);
        }
    }
}
