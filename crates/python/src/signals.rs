//! Ctrl-C while Rust works.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long a signal waits at most until Python is told of it.
pub const TICK: Duration = Duration::from_millis(50);

/// Looks for signals now and then, from work that is done on the thread that called it.
pub struct Watch {
    looked: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    /// Begins to watch.
    pub fn new() -> Self {
        Self {
            looked: Instant::now(),
            raised: None,
        }
    }

    /// Whether the work may go on: no signal has been answered with an exception.
    pub fn goes_on(&mut self) -> bool {
        if self.raised.is_none() && self.looked.elapsed() >= TICK {
            self.raised = Python::attach(|py| py.check_signals()).err();
            self.looked = Instant::now();
        }
        self.raised.is_none()
    }

    /// The exception that stopped the work, if one did.
    pub fn end(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
