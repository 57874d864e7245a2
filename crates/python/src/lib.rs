//! The extension module `epgt._epgt`: what of the Python package is Rust.
//!
//! The package's own files (`python/epgt`) are what users see; they check and convert what Python code gives them, and
//! call the few functions and classes of this module. Three things hold for all of it:
//!
//! - While Rust works, the interpreter is free for other threads. Work that takes long looks for Ctrl-C (`signals`).
//! - A panic never reaches Python: it is caught and raised as `epgt.InternalError` (`error::guarded`).
//! - Errors keep their sentences; their class says what is wrong (`python/epgt/_errors.py`).

mod command;
mod error;
mod experiments;
mod foreign;
mod policy;
mod runs;
mod scheduler;
mod signals;
mod spaces;
mod training;
mod vec_env;

use pyo3::prelude::*;

#[pymodule]
fn _epgt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", epgt_train::version::VERSION)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(command::set_up, module)?)?;
    module.add_function(wrap_pyfunction!(error::fail, module)?)?;
    module.add_function(wrap_pyfunction!(experiments::experiment_cells, module)?)?;
    module.add_function(wrap_pyfunction!(experiments::experiment_text, module)?)?;
    module.add_function(wrap_pyfunction!(experiments::make_cell, module)?)?;
    module.add_function(wrap_pyfunction!(runs::best_policy, module)?)?;
    module.add_function(wrap_pyfunction!(runs::columns, module)?)?;
    module.add_function(wrap_pyfunction!(runs::config_text, module)?)?;
    module.add_function(wrap_pyfunction!(runs::seed_directories, module)?)?;
    module.add_function(wrap_pyfunction!(runs::tasks, module)?)?;
    module.add_function(wrap_pyfunction!(training::resume, module)?)?;
    module.add_function(wrap_pyfunction!(training::train, module)?)?;
    module.add_class::<foreign::Environment>()?;
    module.add_class::<policy::NativePolicy>()?;
    module.add_class::<scheduler::NativeScheduler>()?;
    module.add_class::<vec_env::NativeVecEnv>()?;
    Ok(())
}
