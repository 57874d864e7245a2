//! Runs that are there: what their files say.

use std::path::{Path, PathBuf};

use epgt_train::table::{CsvTable, read_csv};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, OrRaised, no_run, tried};

/// The ids of the tasks that the package has itself.
#[pyfunction]
pub fn tasks() -> Vec<String> {
    epgt_envs::tasks().iter().map(|task| task.id.to_string()).collect()
}

/// The columns of a run's table by name: numbers as an array, with NaN where nothing was measured, and text as a list.
#[pyfunction]
pub fn columns<'py>(py: Python<'py>, table: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let table = tried(py, || read_csv(table))?;
    let columns = PyDict::new(py);
    for (i, name) in table.header.iter().enumerate() {
        match table.numbers(name) {
            Ok(numbers) => columns.set_item(name, PyArray1::from_vec(py, numbers))?,
            Err(_) => columns.set_item(name, text(&table, i))?,
        }
    }
    Ok(columns)
}

fn text(table: &CsvTable, column: usize) -> Vec<&str> {
    table.rows.iter().map(|row| row[column].as_str()).collect()
}

/// The file of a run's best policy, unless it is not to be trusted; `None` where none was kept.
#[pyfunction]
pub fn best_policy(directory: PathBuf) -> PyResult<Option<PathBuf>> {
    epgt_train::best_policy(&directory).or_raised()
}

/// The configuration of the run in a directory, as TOML; a directory of something else is refused.
#[pyfunction]
pub fn config_text(directory: PathBuf) -> PyResult<String> {
    if seeds_of(&directory)?.is_some() {
        return Err(Class::Run.says(format!(
            "{} holds several seeds; read or resume them with load_seeds or resume_seeds",
            directory.display()
        )));
    }
    epgt_train::config_text(&directory)
        .or_raised()?
        .ok_or_else(|| no_run(&directory))
}

/// The directories of the runs of several seeds.
#[pyfunction]
pub fn seed_directories(directory: PathBuf) -> PyResult<Vec<PathBuf>> {
    seeds_of(&directory)?.ok_or_else(|| {
        Class::Run.says(format!(
            "{} does not hold several seeds; read or resume a single run with load or resume",
            directory.display()
        ))
    })
}

fn seeds_of(directory: &Path) -> PyResult<Option<Vec<PathBuf>>> {
    let marker = epgt_train::Marker::read(directory).or_raised()?;
    let of_seeds = marker.filter(|marker| marker.holds == epgt_train::Holds::Seeds);
    let place = |seed: &u64| directory.join(format!("seed-{seed}"));
    Ok(of_seeds.map(|marker| marker.seeds.iter().map(place).collect()))
}
