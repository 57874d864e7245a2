//! Begins many episodes of one task or of every task, and fails where the process then needs more memory than after the
//! first tenth of them.
//!
//! `cargo bench -p epgt-envs --bench resets -- 10000`, or with a task behind the number. Under valgrind, which finds
//! what is read or written out of place: `valgrind --leak-check=full --error-exitcode=9 target/release/deps/resets-*
//! 100 BipedalWalker-v3`. Episodes have three steps, or as many as stand behind the task: `resets 10000 Humanoid-v5 0`.

use epgt_envs::{EnvError, TaskSpec, find, tasks};
use std::process::ExitCode;

/// Steps of an episode, unless told otherwise.
const STEPS: usize = 3;
/// Resets that it takes to tell growth from a start.
const LEAST: usize = 1000;
/// What the allocator may keep for later, in kB.
const SLACK: u64 = 512;

fn main() -> Result<ExitCode, EnvError> {
    // Cargo adds --bench to what is said.
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let resets: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let all: Vec<TaskSpec> = match arguments.next() {
        Some(id) => vec![find(&id)?],
        None => tasks().to_vec(),
    };
    let steps: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(STEPS);
    let mut grown = false;
    for task in all {
        match play(&task, resets, steps) {
            Ok((early, late)) => {
                println!(
                    "{}: {early} kB after {} resets, {late} kB after {resets}",
                    task.id,
                    resets / 10
                );
                grown |= resets >= LEAST && late > early + SLACK;
            }
            Err(EnvError::MissingSimulator(sentence)) => println!("{}: skipped, {sentence}", task.id),
            Err(error) => return Err(error),
        }
    }
    if grown {
        println!("memory grows with the number of resets");
    }
    Ok(ExitCode::from(u8::from(grown)))
}

/// The memory of the process after a tenth of the resets, and after all.
fn play(task: &TaskSpec, resets: usize, steps: usize) -> Result<(u64, u64), EnvError> {
    let mut env = task.make()?;
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut rng = epgt_rng::Pcg64::from_seed(0);
    env.reset(Some(0), &mut observation)?;
    let mut early = 0;
    for reset in 1..=resets {
        for _ in 0..steps {
            env.action_space().sample(&mut rng, &mut action);
            if env.step(&action, &mut observation)?.terminated {
                break;
            }
        }
        env.reset(None, &mut observation)?;
        if reset == resets / 10 {
            early = memory();
        }
    }
    Ok((early, memory()))
}

/// What Linux says of this process; elsewhere it is not known, and 0.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.and_then(|line| line.split_whitespace().next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
