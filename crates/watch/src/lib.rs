//! Follows runs while they train: a page on this machine with learning curves, what was scheduled, progress, and the
//! present policy at play.
//!
//! A [`Watch`] looks at directories of runs, reads what was appended to their tables, and serves a page to the browsers
//! of this machine. It only reads, and it knows nothing of the processes that train but what their directories say.
//!
//! - [`series`]: a curve of any length in few points.
//! - `follow`: a run, at a glance and in detail; `watcher` looks at all of them again and again.
//! - `request` and `server`: who may read what; `events` keeps a page current; `picture` plays a policy.
//! - `page/`: the page itself, which fetches nothing from elsewhere.

mod events;
mod follow;
mod page;
mod picture;
mod request;
pub mod series;
mod server;
mod watcher;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use server::Server;
use watcher::{Shared, Watcher};

/// Why runs cannot be followed. The text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchError {
    /// Another program listens at the port.
    PortTaken(u16),
    /// The port cannot be used.
    Unusable {
        /// The port; 0 where the system was to choose.
        port: u16,
        /// What the system says.
        reason: String,
    },
    /// The system gives no random numbers; what it says.
    NoToken(String),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortTaken(port) => write!(
                f,
                "port {port} is taken by another program; choose another one, or none, and the system chooses"
            ),
            Self::Unusable { port: 0, reason } => write!(f, "cannot listen on 127.0.0.1: {reason}"),
            Self::Unusable { port, reason } => write!(f, "cannot listen on port {port} of 127.0.0.1: {reason}"),
            Self::NoToken(reason) => write!(f, "the system gives no random numbers for the page's token: {reason}"),
        }
    }
}

impl std::error::Error for WatchError {}

/// Follows the runs below some directories.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use std::time::Duration;
/// # let place = tempfile::tempdir()?;
/// # let runs = place.path().to_path_buf();
/// let watch = epgt_watch::Watch::open(&[runs], None)?;
/// println!("Open {}", watch.address());
/// // It goes on until it is stopped, or as here until nobody has trained or looked for a while.
/// watch.run(&AtomicBool::new(false), Some(Duration::from_millis(10)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Watch {
    shared: Arc<Shared>,
    server: Arc<Server>,
}

impl Watch {
    /// Listens at a port of this machine, or at one that the system chooses. Directories may appear later.
    pub fn open(directories: &[PathBuf], port: Option<u16>) -> Result<Self, WatchError> {
        let shared = Arc::new(Shared::new(directories));
        let server = Arc::new(Server::bind(port, shared.clone())?);
        Ok(Self { shared, server })
    }

    /// The address of the page, with the token that it asks for.
    pub fn address(&self) -> String {
        self.server.address()
    }

    /// Follows the runs until `stop` is set, or for as long as somebody trains or looks: `idle` is how long it goes on
    /// when nobody does. The server's threads live as long as the process.
    pub fn run(&self, stop: &AtomicBool, idle: Option<Duration>) {
        let server = self.server.clone();
        thread::spawn(move || server.serve());
        let mut watcher = Watcher::new(self.shared.clone());
        let mut needed = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            watcher.turn();
            let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::Relaxed);
            if count(&self.shared.training) + count(&self.shared.pages) > 0 {
                needed = Instant::now();
            }
            if idle.is_some_and(|idle| needed.elapsed() > idle) {
                return;
            }
        }
    }
}
