//! Errors of the crates as exceptions of the package, and panics as one of them.

use std::path::Path;

use epgt_envs::EnvError;
use epgt_experiments::parallel::{Panicked, caught};
use epgt_train::artifact::ArtifactError;
use epgt_train::policy_file::PolicyError;
use epgt_train::record::RecordError;
use epgt_train::{ConfigError, DirectoryError, RunError, SetupError};
use pyo3::prelude::*;

/// The classes of `python/epgt/_errors.py`.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    Config,
    Env,
    Input,
    Internal,
    Policy,
    Run,
    Training,
}

impl Class {
    /// An exception of this class with this sentence.
    pub fn says(self, sentence: impl ToString) -> PyErr {
        let name = match self {
            Self::Config => "ConfigError",
            Self::Env => "EnvError",
            Self::Input => "InputError",
            Self::Internal => "InternalError",
            Self::Policy => "PolicyError",
            Self::Run => "RunError",
            Self::Training => "TrainingError",
        };
        Python::attach(|py| {
            let class = py.import("epgt._errors").and_then(|module| module.getattr(name));
            match class.and_then(|class| class.call1((sentence.to_string(),))) {
                Ok(exception) => PyErr::from_value(exception),
                Err(error) => error,
            }
        })
    }
}

/// What is raised in Python in an error's place. Not `From`, so that it can be had for types of other crates.
pub trait Raised {
    /// The exception.
    fn raised(self) -> PyErr;
}

/// A result whose error is raised.
pub trait OrRaised<T> {
    /// The value, or the exception in its error's place.
    fn or_raised(self) -> PyResult<T>;
}

impl<T, E: Raised> OrRaised<T> for Result<T, E> {
    fn or_raised(self) -> PyResult<T> {
        self.map_err(Raised::raised)
    }
}

impl Raised for RunError {
    fn raised(self) -> PyErr {
        let class = match &self {
            Self::Config(_) | Self::ConfigFile { .. } => Class::Config,
            Self::Setup(error) => class_of(error),
            Self::Environment(_) | Self::BestPolicy(_) => Class::Env,
            Self::Policy(_) => Class::Policy,
            Self::Training { .. } | Self::Member { .. } | Self::AllDiverged(_) => Class::Training,
            Self::Directory(error) => return Class::Run.says(in_python(error)),
            _ => Class::Run,
        };
        class.says(self)
    }
}

/// The sentence on a directory, which says what to do on a command line, with what to do in Python.
fn in_python(error: &DirectoryError) -> String {
    match error {
        DirectoryError::HoldsRun(path) => format!(
            "{} already holds a run; go on with it by epgt.resume, choose another directory, or replace it with \
             overwrite=True",
            path.display()
        ),
        DirectoryError::HoldsEarlierSeeds(path) => format!(
            "{} already holds the runs of several seeds; go on with them by epgt.resume_seeds, choose another directory, or \
             replace them with overwrite=True",
            path.display()
        ),
        other => other.to_string().replace("--out", "directory"),
    }
}

impl Raised for SetupError {
    fn raised(self) -> PyErr {
        class_of(&self).says(self)
    }
}

fn class_of(error: &SetupError) -> Class {
    match error {
        SetupError::Config(_) | SetupError::Name(_) | SetupError::Method(_) | SetupError::Hyper(_) => Class::Config,
        SetupError::Environment(_) => Class::Env,
        SetupError::Policy(_) | SetupError::Init { .. } => Class::Policy,
        _ => Class::Run,
    }
}

impl Raised for ConfigError {
    fn raised(self) -> PyErr {
        Class::Config.says(self)
    }
}

impl Raised for EnvError {
    fn raised(self) -> PyErr {
        match self {
            Self::InvalidAction(_) => Class::Input.says(self),
            Self::UnknownTask(_) | Self::InvalidOption(_) => Class::Config.says(self),
            _ => Class::Env.says(self),
        }
    }
}

impl Raised for PolicyError {
    fn raised(self) -> PyErr {
        Class::Policy.says(self)
    }
}

impl Raised for RecordError {
    fn raised(self) -> PyErr {
        Class::Run.says(self)
    }
}

impl Raised for ArtifactError {
    fn raised(self) -> PyErr {
        Class::Run.says(self)
    }
}

impl Raised for Panicked {
    fn raised(self) -> PyErr {
        Class::Internal.says(self)
    }
}

/// Works while other threads of Python can go on; a panic is raised as an exception.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| caught(work)).or_raised()
}

/// [`guarded`] work that can fail.
pub fn tried<T: Send, E: Raised + Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T> {
    guarded(py, work)?.or_raised()
}

/// Refuses a directory without a run.
pub fn no_run(directory: &Path) -> PyErr {
    RunError::from(DirectoryError::NotARun(directory.to_path_buf())).raised()
}

/// Panics with this text: what the tests see in Python shows what becomes of a fault.
#[pyfunction]
pub fn fail(py: Python<'_>, text: String) -> PyResult<()> {
    guarded(py, || panic!("{text}"))
}
