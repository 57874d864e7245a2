//! Any Gymnasium environment, stepped by a Python worker beside this program: the tasks `gym:ID` and
//! `gym:module:factory`.
//!
//! The worker makes the environments and steps them in its own process; observations, actions, rewards and ends go
//! through memory that both see, and a byte on a socket says whose turn it is. What can go wrong there (the worker
//! dies, hangs, raises, returns nonsense) is an error here, in one sentence with Python's traceback below. The protocol
//! is in `docs/bridge.md`.
//!
//! The state of a foreign environment cannot be saved: after a restore its environments begin anew.

mod bridge;
mod env;
mod looking;
mod memory;
mod protocol;
mod python;
mod task;
mod text;
mod worker;

pub use python::{python, run_inside_of, threads, use_python, use_threads};

pub(crate) use bridge::Bridge;
pub(crate) use env::ForeignEnv;
pub(crate) use python::named_python;
pub(crate) use task::{find, started};
