//! Several runs at a time, and how they are asked to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use epgt_experiments::parallel::{in_turn, lock, threads};

use crate::output;

/// Shares the cores among so many runs at a time: workers that step environments on several threads use no more than
/// theirs.
pub fn share_cores(runs: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    epgt_envs::gymnasium::use_threads(cores / runs.max(1));
}

/// A flag that the first Ctrl-C sets, which is told at once; a second one ends the program.
pub fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.load(Ordering::Relaxed) {
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        // It is told before the program can have ended.
        output::interject("stopping ...");
        flag.store(true, Ordering::Relaxed);
    })
    .map_err(|error| format!("cannot listen for Ctrl-C: {error}"))?;
    Ok(stop)
}
