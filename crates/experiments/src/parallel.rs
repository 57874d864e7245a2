//! Several runs at a time.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads for `jobs`: as many as asked for or as the machine has cores, and no more than there are jobs.
pub fn threads(asked: Option<usize>, jobs: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(cores).clamp(1, jobs.max(1))
}

/// Does `work(0)`, `work(1)`, .. up to `jobs`, each on the next free thread, until all are begun or `stop` is set.
pub fn in_turn(threads: usize, jobs: usize, stop: &AtomicBool, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= jobs {
                        break;
                    }
                    work(turn);
                }
            });
        }
    });
}

/// A panic, which is a fault of the program; what it said.
///
/// ```
/// use epgt_experiments::parallel::Panicked;
/// let fault = Panicked("index out of bounds".to_string());
/// assert_eq!(fault.to_string(), "it ended by a fault of the program (index out of bounds); please report it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(pub String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it ended by a fault of the program ({}); please report it", self.0)
    }
}

impl std::error::Error for Panicked {}

/// What some work comes to; a panic in it is an error instead, so that the work beside it goes on.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    // Whatever the work has changed is dropped with it.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("without a word");
        Panicked(said.to_string())
    })
}

/// Locks a mutex; a thread that panicked while holding it leaves data that is still whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
