//! Policies: reading, acting, evaluating, and the arrays they are made of.

use std::path::PathBuf;
use std::sync::Mutex;

use epgt_envs::{RowShape, Space};
use epgt_experiments::parallel::lock;
use epgt_rng::Pcg64;
use epgt_train::policy_file::{self, PolicyError};
use epgt_train::{EvalActions, EvalPlan, Policy, evaluate};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, OrRaised, guarded, tried};
use crate::foreign::Environment;
use crate::signals::Watch;
use crate::spaces::describe;

/// A policy that was read from its file. Its Python side is `python/epgt/_policy.py`.
#[pyclass(module = "epgt._epgt", name = "NativePolicy", frozen)]
pub struct NativePolicy {
    observations: Space,
    actions: Space,
    acting: Mutex<Acting>,
    environment: Option<Environment>,
}

struct Acting {
    policy: Policy,
    /// What seeds the draws of the next call.
    rng: Pcg64,
}

/// Rows of observations, copied so that nobody else can change them.
enum Seen {
    Numbers(Vec<f32>),
    Bytes(Vec<u8>),
}

type Numbers<'py> = Bound<'py, PyArray1<f64>>;

#[pymethods]
impl NativePolicy {
    /// Reads the policy in a file. One that was trained on an environment of Python is given it.
    #[new]
    fn read(py: Python<'_>, path: PathBuf, environment: Option<Bound<'_, Environment>>) -> PyResult<Self> {
        let environment = environment.map(|environment| environment.get().clone());
        let registry = Environment::registry(environment.as_ref())?;
        let read = || -> Result<_, PolicyError> {
            let policy = policy_file::read_in(&path, &registry)?;
            let env = policy.task.make().map_err(|error| PolicyError::Task { path, error })?;
            Ok((policy, env.observation_space().clone(), env.action_space().clone()))
        };
        let (policy, observations, actions) = Environment::first(&environment, tried(py, read))?;
        Ok(Self {
            observations,
            actions,
            acting: Mutex::new(Acting {
                policy,
                rng: Pcg64::from_seed(0),
            }),
            environment,
        })
    }

    /// The task that it was trained for, with the options that are not the defaults.
    #[getter]
    fn task(&self) -> String {
        lock(&self.acting).policy.task.label()
    }

    /// The digest that the file carries; files of early versions have none.
    #[getter]
    fn sha256(&self) -> Option<String> {
        lock(&self.acting).policy.digest.clone()
    }

    /// What it observes.
    #[getter]
    fn observation_space<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, &self.observations)
    }

    /// What it does.
    #[getter]
    fn action_space<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, &self.actions)
    }

    /// The settings of its networks that its tensors do not show.
    #[getter]
    fn networks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let acting = lock(&self.acting);
        let settings = &acting.policy.settings;
        let told = PyDict::new(py);
        let image = matches!(self.observations, Space::Image { .. });
        let activation = if image { "relu" } else { settings.activation.name() };
        told.set_item("activation", activation)?;
        told.set_item("squash", settings.squash)?;
        told.set_item("action_unit", settings.action_unit.name())?;
        told.set_item("conv_kernels", &settings.conv_kernels)?;
        told.set_item("conv_strides", &settings.conv_strides)?;
        Ok(told)
    }

    /// The weights by name, as matrices.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let acting = lock(&self.acting);
        let tensors = PyDict::new(py);
        for tensor in acting.policy.networks.params.tensors() {
            let flat = PyArray1::from_slice(py, tensor.data);
            tensors.set_item(tensor.name, flat.reshape([tensor.rows, tensor.cols])?)?;
        }
        Ok(tensors)
    }

    /// The mean and the variance by which observations are normalised; `None` where they are not.
    fn normalization<'py>(&self, py: Python<'py>) -> Option<(Numbers<'py>, Numbers<'py>)> {
        let acting = lock(&self.acting);
        let normalizer = &acting.policy.normalizer;
        let array = |numbers: &[f64]| PyArray1::from_slice(py, numbers);
        normalizer.normalizes_observations().then(|| {
            (
                array(normalizer.observation_mean()),
                array(normalizer.observation_variance()),
            )
        })
    }

    /// Has the draws of stochastic actions begin anew from a seed.
    fn seed(&self, seed: u64) {
        lock(&self.acting).rng = Pcg64::from_seed(seed);
    }

    /// An action for each row of observations, as the environment is given it.
    fn act<'py>(
        &self,
        py: Python<'py>,
        observations: &Bound<'py, PyAny>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (mut seen, n) = self.rows(observations)?;
        let size = self.actions.size();
        let actions = guarded(py, || {
            let mut acting = lock(&self.acting);
            let Acting { policy, rng } = &mut *acting;
            let rows = match &mut seen {
                Seen::Numbers(rows) => {
                    let width = self.observations.size();
                    rows.chunks_exact_mut(width)
                        .for_each(|row| policy.normalizer.apply(row));
                    epgt_envs::Rows::Numbers(rows)
                }
                Seen::Bytes(rows) => epgt_envs::Rows::Bytes(rows),
            };
            let mut actions = vec![0.0; n * size];
            match deterministic {
                _ if n == 0 => {}
                true => policy.networks.act_greedy(rows, n, &mut actions),
                false => {
                    let mut rngs: Vec<Pcg64> = (0..n).map(|_| Pcg64::from_seed(rng.next_u64())).collect();
                    policy.networks.act_drawn(rows, &mut rngs, &mut actions);
                }
            }
            let clipped = actions
                .chunks_exact_mut(size)
                .try_for_each(|row| self.actions.clip(row));
            clipped.map(|()| actions)
        })?
        .or_raised()?;
        PyArray1::from_vec(py, actions).reshape([n, size])
    }

    /// Plays episodes of its task: their returns, their lengths, and how many were cut because they did not end.
    #[pyo3(signature = (*, episodes, seed, deterministic, max_steps))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        episodes: usize,
        seed: u64,
        deterministic: Option<bool>,
        max_steps: Option<u64>,
    ) -> PyResult<(Numbers<'py>, Bound<'py, PyArray1<u32>>, usize)> {
        let default = EvalPlan::default();
        let plan = EvalPlan {
            episodes,
            seed,
            actions: match deterministic {
                None => EvalActions::Auto,
                Some(true) => EvalActions::Deterministic,
                Some(false) => EvalActions::Stochastic,
            },
            max_steps: max_steps.unwrap_or(default.max_steps),
        };
        let mut watch = Watch::new();
        let played = tried(py, || {
            let mut acting = lock(&self.acting);
            let Policy {
                task,
                networks,
                normalizer,
                ..
            } = &mut acting.policy;
            evaluate(networks, normalizer, task, &plan, &mut |_| watch.goes_on())
        });
        watch.end()?;
        let played = Environment::first(&self.environment, played)?;
        let played = played.ok_or_else(|| Class::Internal.says("the evaluation stopped without a reason"))?;
        Ok((
            PyArray1::from_vec(py, played.returns),
            PyArray1::from_vec(py, played.lengths),
            played.cut,
        ))
    }
}

impl NativePolicy {
    /// The rows of an array, and how many they are; what the policy cannot observe is refused.
    fn rows(&self, observations: &Bound<'_, PyAny>) -> PyResult<(Seen, usize)> {
        let width = self.observations.size();
        let wrong = |found: &[usize]| {
            Class::Input.says(format!(
                "observations of {width} numbers each are wanted, and the array has shape {found:?}"
            ))
        };
        if let RowShape::Image(_) = RowShape::from(&self.observations) {
            let array: PyReadonlyArray2<'_, u8> = observations
                .extract()
                .map_err(|_| Class::Input.says("images are wanted as an array of uint8"))?;
            if array.shape()[1] != width {
                return Err(wrong(array.shape()));
            }
            let n = array.shape()[0];
            return Ok((Seen::Bytes(array.as_array().iter().copied().collect()), n));
        }
        let array: PyReadonlyArray2<'_, f32> = observations
            .extract()
            .map_err(|_| Class::Input.says("observations are wanted as an array of float32"))?;
        if array.shape()[1] != width {
            return Err(wrong(array.shape()));
        }
        let n = array.shape()[0];
        let numbers: Vec<f32> = array.as_array().iter().copied().collect();
        match numbers.iter().position(|x| !x.is_finite()) {
            None => Ok((Seen::Numbers(numbers), n)),
            Some(place) => Err(Class::Input.says(format!(
                "entry {} of observation {} is {}, but finite numbers are wanted",
                place % width,
                place / width,
                numbers[place]
            ))),
        }
    }
}
