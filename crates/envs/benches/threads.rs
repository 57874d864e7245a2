//! What a second thread brings: raw steps per second of many copies of a task on 1, 2, .. threads.
//!
//! `cargo bench -p epgt-envs --bench threads -- HalfCheetah-v4 16 2`

use std::error::Error;
use std::time::Instant;

use epgt_envs::{Observations, StepRow, VecEnv, find};
use epgt_rng::Pcg64;

const STEPS: usize = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds --bench to what is said.
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let task = find(&arguments.next().unwrap_or("HalfCheetah-v4".into()))?;
    let n: usize = arguments.next().unwrap_or("16".into()).parse()?;
    let most: usize = arguments.next().unwrap_or("2".into()).parse()?;
    let mut alone = None;
    for threads in 1..=most {
        // The fastest of a few rounds: a busy machine only ever adds time.
        let rounds = (0..5).map(|_| steps_per_second(&task, n, threads));
        let speed = rounds.collect::<Result<Vec<_>, _>>()?.into_iter().fold(0.0, f64::max);
        let ratio = speed / *alone.get_or_insert(speed);
        println!(
            "{} N = {n}, {threads} threads: {speed:.0} steps/s, x{ratio:.2}",
            task.id
        );
    }
    Ok(())
}

fn steps_per_second(task: &epgt_envs::TaskSpec, n: usize, threads: usize) -> Result<f64, Box<dyn Error>> {
    let mut envs = VecEnv::new(task, n, 0)?.on_threads(threads);
    let mut rng = Pcg64::from_seed(0);
    let action_width = envs.action_space().size();
    let (mut observations, mut actions) = (Observations::new(task.observed(), n), vec![0.0; n * action_width]);
    let (mut rewards, mut terminated, mut truncated) = (vec![0.0; n], vec![false; n], vec![false; n]);
    envs.reset(&mut observations)?;
    let begun = Instant::now();
    for _ in 0..STEPS {
        let space = envs.action_space();
        actions
            .chunks_exact_mut(action_width)
            .for_each(|action| space.sample(&mut rng, action));
        let out = StepRow {
            observations: (&mut observations).into(),
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        envs.step(&actions, out)?;
    }
    Ok((STEPS * n) as f64 / begun.elapsed().as_secs_f64())
}
