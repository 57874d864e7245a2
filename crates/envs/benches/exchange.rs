//! What the bridge to Gymnasium costs: microseconds for one step of 8 copies of an environment that does nothing, by
//! Gymnasium's own vector environment inside of Python, and through the bridge.
//!
//! `EPGT_PYTHON=python3 cargo bench -p epgt-envs --bench exchange -- [ROUNDS]`. Of all rounds the fastest and the
//! median are printed, because the machine may have other work; both are measured in turn.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use epgt_envs::{StepRow, VecEnv, find, gymnasium};

const N: usize = 8;
const STEPS: usize = 250;
/// Steps Gymnasium's vector environment for every line it reads, and answers with seconds.
const DIRECT: &str = r#"
import sys, time
import gymnasium, numpy
from tests.bridge_envs import DoNothing
mode = gymnasium.vector.AutoresetMode.SAME_STEP
envs = gymnasium.vector.SyncVectorEnv([lambda: DoNothing(length=10**9)] * 8, autoreset_mode=mode)
envs.reset(seed=0)
actions = numpy.zeros(8, numpy.int64)
for line in sys.stdin:
    begun = time.perf_counter()
    for _ in range(int(line)):
        envs.step(actions)
    print(time.perf_counter() - begun, flush=True)
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args()
        .skip(1)
        .find(|word| word != "--bench")
        .map_or(Ok(200), |text| text.parse())?;
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR"))?;
    let mut python = Command::new(gymnasium::python())
        .args(["-c", DIRECT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ask = python.stdin.take().ok_or("a pipe")?;
    let mut answers = BufReader::new(python.stdout.take().ok_or("a pipe")?);

    let task = find("gym:tests.bridge_envs:DoNothing")?.with([("length", "1000000000")])?;
    let mut envs = VecEnv::new(&task, N, 0)?;
    let (mut observations, mut rewards) = ([0.0; 4 * N], [0.0; N]);
    let (mut terminated, mut truncated) = ([false; N], [false; N]);
    envs.reset(&mut observations)?;

    let (mut direct, mut bridged) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        writeln!(ask, "{STEPS}")?;
        let mut line = String::new();
        answers.read_line(&mut line)?;
        direct.push(line.trim().parse::<f64>()? * 1e6 / STEPS as f64);
        let begun = Instant::now();
        for _ in 0..STEPS {
            let out = StepRow {
                observations: (&mut observations).into(),
                rewards: &mut rewards,
                terminated: &mut terminated,
                truncated: &mut truncated,
            };
            envs.step(&[0.0; N], out)?;
        }
        bridged.push(begun.elapsed().as_secs_f64() * 1e6 / STEPS as f64);
    }
    drop(ask);
    python.wait()?;
    direct.sort_by(f64::total_cmp);
    bridged.sort_by(f64::total_cmp);
    let middle = rounds / 2;
    println!("microseconds per step of {N} environments      fastest   median");
    for (name, times) in [
        ("Gymnasium's SyncVectorEnv in Python", &direct),
        ("through the bridge", &bridged),
    ] {
        println!("{name:<45} {:>7.1}  {:>7.1}", times[0], times[middle]);
    }
    let added = (bridged[0] - direct[0], bridged[middle] - direct[middle]);
    println!("{:<45} {:>7.1}  {:>7.1}", "the bridge adds", added.0, added.1);
    Ok(())
}
