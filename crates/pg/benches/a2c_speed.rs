//! How fast A2C trains with fixed hyperparameters: `cargo bench -p epgt-pg --bench a2c_speed`.
//!
//! Prints the steps per second of MountainCarContinuous with one and with sixteen environments, and where the time
//! goes.

use epgt_envs::{Normalizer, VecEnv};
use epgt_pg::{A2c, A2cSettings, ActorCritic, PolicySettings, Rollout, collect};
use epgt_rng::Pcg64;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for n in [1, 16] {
        let mut envs = VecEnv::new(&epgt_envs::find("MountainCarContinuous-v0")?, n, 0)?;
        let (observation, actions) = (envs.observation_space().size(), envs.action_space().clone());
        let mut rng = Pcg64::from_seed(0);
        let mut agent = ActorCritic::new(&PolicySettings::default(), observation, &actions, &mut rng);
        let mut a2c = A2c::new(A2cSettings::default(), &agent);
        let mut rollout = Rollout::new(a2c.settings.n_steps, n, observation, actions.size());
        let mut normalizer = Normalizer::new(observation, n, true, true, a2c.settings.gamma);

        let updates = 500_000 / rollout.batch_size();
        let (mut collecting, mut updating) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..updates {
            let start = Instant::now();
            collect(&mut rollout, &mut envs, &mut normalizer, &mut agent, &mut rng)?;
            let middle = Instant::now();
            a2c.update(&mut agent, &mut rollout)?;
            collecting += middle - start;
            updating += middle.elapsed();
        }
        let steps = updates * rollout.batch_size();
        println!(
            "N = {n:2}: {:7.0} steps/s; {:.2} us to collect a step, {:.2} us per update of {} steps",
            steps as f64 / (collecting + updating).as_secs_f64(),
            collecting.as_secs_f64() * 1e6 / steps as f64,
            updating.as_secs_f64() * 1e6 / updates as f64,
            rollout.batch_size(),
        );
    }
    Ok(())
}
