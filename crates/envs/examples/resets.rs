//! Begins many episodes of a task and prints how much memory the process needed at its peak: it must stay the same.
//!
//! `cargo run --release -p epgt-envs --example resets -- BipedalWalker-v3 10000`

use epgt_envs::EnvError;

fn main() -> Result<(), EnvError> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_else(|| "BipedalWalker-v3".into());
    let resets: u32 = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut env = epgt_envs::make(&id)?;
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut rng = epgt_rng::Pcg64::from_seed(0);
    env.reset(Some(0), &mut observation)?;
    for reset in 1..=resets {
        for _ in 0..3 {
            env.action_space().sample(&mut rng, &mut action);
            env.step(&action, &mut observation)?;
        }
        env.reset(None, &mut observation)?;
        if reset % (resets / 10).max(1) == 0 {
            println!("{id}: {reset} resets, peak memory {}", peak_memory());
        }
    }
    Ok(())
}

/// What Linux says of this process; elsewhere it is not known.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".into(), |size| size.trim().into())
}
