//! Environments of Python, stepped in this process.
//!
//! A `Stepper` (`python/epgt/_stepper.py`) turns what an environment returns into rows of numbers, or bytes of an
//! image. What it raises is kept as it is, and raised again where the training ends by it.

use std::sync::{Arc, Mutex};

use epgt_envs::{Env, EnvError, Space, Step, TaskSpec};
use epgt_experiments::parallel::lock;
use epgt_train::Registry;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, OrRaised};
use crate::spaces::read;

/// How environments of Python are made: a function that returns a `Stepper`, and what their task is called.
#[pyclass(module = "epgt._epgt", frozen)]
#[derive(Clone)]
pub struct Environment {
    make: Arc<Py<PyAny>>,
    /// What the task is called.
    #[pyo3(get)]
    id: String,
    max_episode_steps: Option<u32>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

#[pymethods]
impl Environment {
    #[new]
    fn new(make: Py<PyAny>, id: String, max_episode_steps: Option<u32>) -> Self {
        Self {
            make: Arc::new(make),
            id,
            max_episode_steps,
            raised: Arc::default(),
        }
    }
}

impl Environment {
    /// What a configuration can name: the program's own, and the task of this environment.
    pub fn registry(environment: Option<&Self>) -> PyResult<Arc<Registry>> {
        let Some(environment) = environment else {
            return Ok(Registry::builtin());
        };
        let made = environment.clone();
        let task = TaskSpec::configurable(environment.id.clone(), [], move |_| made.make());
        let mut task = Self::first(&Some(environment.clone()), task.or_raised())?.with_unsaved_state();
        if let Some(steps) = environment.max_episode_steps {
            task = task.with_max_episode_steps(steps);
        }
        Ok(Arc::new(Registry::new().with_task(task)))
    }

    /// What the environment has raised comes before what followed from it, and so does that there is none.
    pub fn first<T>(environment: &Option<Self>, result: PyResult<T>) -> PyResult<T> {
        result.map_err(|error| match environment {
            Some(environment) => environment.take_raised().unwrap_or(error),
            None if error.to_string().contains("unknown task 'python:") => Class::Env.says(
                "it was trained on an environment of Python, which its files do not hold; give the function that makes it \
                 as env=",
            ),
            None => error,
        })
    }

    /// Hands over what the environment has raised.
    pub fn take_raised(&self) -> Option<PyErr> {
        lock(&self.raised).take()
    }

    /// One copy.
    fn make(&self) -> Result<Box<dyn Env>, EnvError> {
        self.tried(|py| {
            let stepper = self.make.call0(py)?;
            let space = |name: &str| read(stepper.getattr(py, name)?.cast_bound::<PyDict>(py)?);
            Ok(Box::new(PythonEnv {
                observation_space: space("observations")?,
                action_space: space("actions")?,
                pixels: Vec::new(),
                made_by: self.clone(),
                stepper,
            }) as Box<dyn Env>)
        })
    }

    /// Asks Python for something, and keeps the exception where there is one.
    fn tried<T>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, EnvError> {
        Python::attach(ask).map_err(|error| {
            let sentence = format!("the environment of Python failed: {error}");
            lock(&self.raised).get_or_insert(error);
            EnvError::Simulator(sentence)
        })
    }
}

/// One copy of an environment.
struct PythonEnv {
    stepper: Py<PyAny>,
    observation_space: Space,
    action_space: Space,
    /// The present image, where there are images.
    pixels: Vec<u8>,
    made_by: Environment,
}

impl PythonEnv {
    /// Copies an observation into its row, or keeps it where it is an image.
    fn observe(&mut self, observed: &Bound<'_, PyAny>, row: &mut [f32]) -> PyResult<()> {
        if let Space::Image { .. } = self.observation_space {
            let pixels: PyReadonlyArray1<'_, u8> = observed.extract()?;
            self.pixels.clear();
            self.pixels.extend(pixels.as_array());
            row.iter_mut()
                .zip(&self.pixels)
                .for_each(|(x, &pixel)| *x = pixel.into());
            return Ok(());
        }
        let numbers: PyReadonlyArray1<'_, f32> = observed.extract()?;
        row.copy_from_slice(numbers.as_slice()?);
        Ok(())
    }
}

impl Drop for PythonEnv {
    /// Closes the environment, unless the interpreter is at its end. What that raises reaches nobody.
    fn drop(&mut self) {
        Python::try_attach(|py| drop(self.stepper.call_method0(py, "close")));
    }
}

impl Env for PythonEnv {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        let made_by = self.made_by.clone();
        made_by.tried(|py| {
            let observed = self.stepper.bind(py).call_method1("reset", (seed,))?;
            self.observe(&observed, observation)
        })
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        self.action_space.check_action(action)?;
        let made_by = self.made_by.clone();
        made_by.tried(|py| {
            let action = PyArray1::from_slice(py, action);
            let stepped = self.stepper.bind(py).call_method1("step", (action,))?;
            let (observed, reward, terminated, truncated): (Bound<'_, PyAny>, f64, bool, bool) = stepped.extract()?;
            self.observe(&observed, observation)?;
            Ok(Step {
                reward,
                terminated,
                truncated,
            })
        })
    }

    fn image(&self, pixels: &mut [u8]) {
        pixels.copy_from_slice(&self.pixels);
    }

    /// Nothing: the task says that its state cannot be saved.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _state: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}
