//! Which Python the workers are, and how many threads each may use.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cache::variable;

static PYTHON: Mutex<Option<OsString>> = Mutex::new(None);
static AROUND: Mutex<Option<OsString>> = Mutex::new(None);
/// Threads of a worker; 0 where nobody has said anything.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Has all workers use this Python, whatever the environment's variables say.
///
/// ```
/// epgt_envs::gymnasium::use_python("/opt/venv/bin/python");
/// assert_eq!(epgt_envs::gymnasium::python(), "/opt/venv/bin/python");
/// ```
pub fn use_python(python: impl Into<OsString>) {
    *PYTHON.lock().unwrap_or_else(PoisonError::into_inner) = Some(python.into());
}

/// Says that this process is itself a Python: workers use the same where nobody names another.
///
/// ```
/// epgt_envs::gymnasium::run_inside_of("/opt/venv/bin/python");
/// assert!(std::env::var_os("EPGT_PYTHON").is_some() || epgt_envs::gymnasium::python() == "/opt/venv/bin/python");
/// ```
pub fn run_inside_of(python: impl Into<OsString>) {
    *AROUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(python.into());
}

/// Has every worker that steps its environments on several threads, as Atari's does, use at most so many.
///
/// ```
/// epgt_envs::gymnasium::use_threads(2);
/// assert_eq!(epgt_envs::gymnasium::threads(), 2);
/// ```
pub fn use_threads(threads: usize) {
    THREADS.store(threads.max(1), Ordering::Relaxed);
}

/// The most threads of a worker: what [`use_threads`] said, or as many as the machine has cores.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// The Python of the workers: the one that [`use_python`] named, or `EPGT_PYTHON`, or the one that this process is
/// ([`run_inside_of`]), or that of the active virtual environment, or `python3`.
pub fn python() -> OsString {
    named_python()
        .or_else(|| AROUND.lock().unwrap_or_else(PoisonError::into_inner).clone())
        .or_else(|| Some(Path::new(&variable("VIRTUAL_ENV")?).join("bin/python").into()))
        .unwrap_or_else(|| "python3".into())
}

/// The Python that [`use_python`] or `EPGT_PYTHON` names.
pub(crate) fn named_python() -> Option<OsString> {
    let named = PYTHON.lock().unwrap_or_else(PoisonError::into_inner).clone();
    named.or_else(|| variable("EPGT_PYTHON"))
}
