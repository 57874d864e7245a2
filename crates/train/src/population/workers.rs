//! The members of a population at work, several at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::member::{Gauge, Member};
use crate::outcome::RunError;
use crate::run_loop::Conditions;

/// Between two reports while members train.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What the members are asked to do.
pub(super) struct Order<'a> {
    /// The environment steps up to which each trains.
    pub target: u64,
    /// `stop` is set where they should stop after one more phase.
    pub conditions: Conditions<'a>,
}

/// Trains all members on up to `threads` threads and calls `report` now and then. Each trains alone, so it does not
/// matter which thread it is on and when; how each ended is returned in their order.
pub(super) fn train(
    members: &mut [Member],
    threads: usize,
    order: &Order<'_>,
    gauges: &[Gauge],
    report: &mut dyn FnMut(),
) -> Vec<Result<(), RunError>> {
    let work: Vec<_> = members.iter_mut().map(|member| Mutex::new((member, Ok(())))).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, ends) = channel::<()>();
        for _ in 0..threads.min(work.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = work.get(turn) else { break };
                    let mut item = item.lock().unwrap_or_else(PoisonError::into_inner);
                    item.1 = item.0.train(order, &gauges[turn]);
                }
                // The channel closes when the last thread lets go of it.
                drop(sender);
            });
        }
        drop(sender);
        while ends.recv_timeout(REPORT_EVERY) == Err(RecvTimeoutError::Timeout) {
            report();
        }
    });
    let done = work.into_iter();
    done.map(|item| item.into_inner().unwrap_or_else(PoisonError::into_inner).1)
        .collect()
}
