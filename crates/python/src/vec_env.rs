//! Many copies of a task as NumPy sees them: the simulators write into fresh arrays, and nothing is copied.

use std::sync::Mutex;

use epgt_envs::{EnvError, RowShape, RowsMut, Space, StepRow, VecEnv, find};
use epgt_experiments::parallel::{lock, threads};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, OrRaised, guarded, tried};
use crate::spaces::describe;

/// Copies of a task that are stepped together. Its Python side is `python/epgt/_vector.py`.
#[pyclass(module = "epgt._epgt", frozen)]
pub struct NativeVecEnv {
    /// `None` once they are closed.
    stepping: Mutex<Option<Stepping>>,
    n: usize,
    observations: Space,
    actions: Space,
    /// The process that made them: threads do not come along into a fork.
    process: u32,
    max_episode_steps: u32,
    task: String,
}

struct Stepping {
    envs: VecEnv,
    rewards: Vec<f32>,
    is_reset: bool,
}

/// Observations, rewards, terminations, truncations, and of each episode that has ended its environment, return and
/// length.
type Stepped<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Vec<(usize, f64, u32)>,
);

#[pymethods]
impl NativeVecEnv {
    /// `n` copies of a task with these options, each a name and a text. Episodes that have ended begin anew in the next
    /// step or in the same.
    #[new]
    fn new(
        py: Python<'_>,
        task: String,
        n: usize,
        options: Vec<(String, String)>,
        next_step: bool,
        most_threads: Option<usize>,
    ) -> PyResult<Self> {
        let made = tried(py, || {
            let task = find(&task)?.with(options)?;
            if task.is_foreign() {
                let sentence = format!(
                    "{} is not one of the package's own simulators; make it with gymnasium",
                    task.id
                );
                return Err(EnvError::InvalidEnvironments(sentence));
            }
            let mut envs = VecEnv::new(&task, n, 0)?;
            if next_step {
                envs = envs.with_resets_in_the_next_step();
            }
            envs.use_threads(threads(most_threads, n));
            Ok((envs, task))
        });
        let (envs, task) = made?;
        Ok(Self {
            n,
            observations: envs.observation_space().clone(),
            actions: envs.action_space().clone(),
            process: std::process::id(),
            max_episode_steps: task.max_episode_steps,
            task: task.label(),
            stepping: Mutex::new(Some(Stepping {
                envs,
                rewards: vec![0.0; n],
                is_reset: false,
            })),
        })
    }

    /// The task with the options that are not the defaults.
    #[getter]
    fn task(&self) -> &str {
        &self.task
    }

    /// Steps after which episodes are cut; `None` where there is no limit.
    #[getter]
    fn max_episode_steps(&self) -> Option<u32> {
        (self.max_episode_steps < u32::MAX).then_some(self.max_episode_steps)
    }

    /// What one environment observes.
    #[getter]
    fn observation_space<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, &self.observations)
    }

    /// What one environment takes.
    #[getter]
    fn action_space<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, &self.actions)
    }

    /// Begins an episode everywhere; environment i is given `seeds[i]`, or goes on with its generator.
    fn reset<'py>(&self, py: Python<'py>, seeds: Vec<Option<u64>>) -> PyResult<Bound<'py, PyAny>> {
        if seeds.len() != self.n {
            let given = seeds.len();
            return Err(Class::Input.says(format!("{given} seeds were given for {} environments", self.n)));
        }
        let (rows, ()) = self.with_rows(py, |stepping, rows| {
            stepping.envs.reset_with(&seeds, rows)?;
            stepping.is_reset = true;
            Ok(())
        })?;
        Ok(rows)
    }

    /// Acts once in every environment, with a row of numbers for each.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray2<'py, f32>) -> PyResult<Stepped<'py>> {
        let n = self.n;
        let actions = actions
            .as_slice()
            .ok()
            .filter(|rows| rows.len() == n * self.actions.size())
            .ok_or_else(|| Class::Input.says(format!("one action for each of {n} environments is wanted")))?;
        // After an error in one environment the others would have gone on.
        for (i, action) in actions.chunks_exact(self.actions.size()).enumerate() {
            let checked = self.actions.check_action(action);
            checked.map_err(|error| Class::Input.says(format!("environment {i}: {error}")))?;
        }
        let rewards = PyArray1::zeros(py, n, false);
        let (terminated, truncated) = (PyArray1::zeros(py, n, false), PyArray1::zeros(py, n, false));
        let (mut earned, mut ends, mut cuts) = (rewards.readwrite(), terminated.readwrite(), truncated.readwrite());
        let (earned, ends, cuts) = (earned.as_slice_mut()?, ends.as_slice_mut()?, cuts.as_slice_mut()?);
        let (rows, finished) = self.with_rows(py, |stepping, rows| {
            if !stepping.is_reset {
                return Err(EnvError::InvalidAction(
                    "the environments are reset before they are stepped".to_string(),
                ));
            }
            let out = StepRow {
                observations: rows,
                rewards: &mut stepping.rewards,
                terminated: ends,
                truncated: cuts,
            };
            stepping.envs.step(actions, out)?;
            earned
                .iter_mut()
                .zip(&stepping.rewards)
                .for_each(|(into, &reward)| *into = reward.into());
            let finished = stepping.envs.finished().iter();
            Ok(finished
                .map(|episode| (episode.env, episode.episode_return, episode.length))
                .collect())
        })?;
        Ok((rows, rewards, terminated, truncated, finished))
    }

    /// The last observation of the episode that ended most recently in an environment.
    fn final_observation<'py>(&self, py: Python<'py>, env: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut stepping = lock(&self.stepping);
        let stepping = self.open(&mut stepping)?;
        if env >= self.n {
            return Err(Class::Input.says(format!("there are {} environments, and {env} is none of them", self.n)));
        }
        Ok(match stepping.envs.final_observation(env) {
            epgt_envs::Rows::Numbers(row) => PyArray1::from_slice(py, row).into_any(),
            epgt_envs::Rows::Bytes(row) => PyArray1::from_slice(py, row).into_any(),
        })
    }

    /// Ends the environments.
    fn close(&self) {
        lock(&self.stepping).take();
    }
}

impl NativeVecEnv {
    /// The environments, unless they cannot be used any longer.
    fn open<'a>(&self, stepping: &'a mut Option<Stepping>) -> PyResult<&'a mut Stepping> {
        if std::process::id() != self.process {
            return Err(Class::Env.says("the environments were made in another process; make them after the fork"));
        }
        stepping
            .as_mut()
            .ok_or_else(|| Class::Env.says("the environments are closed"))
    }

    /// Has the environments write into the rows of a fresh array.
    fn with_rows<'py, T: Send>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut Stepping, RowsMut<'_>) -> Result<T, EnvError> + Send,
    ) -> PyResult<(Bound<'py, PyAny>, T)> {
        let dims = [self.n, self.observations.size()];
        let wrote = |rows: RowsMut<'_>| {
            guarded(py, || {
                let mut stepping = lock(&self.stepping);
                let result = work(self.open(&mut stepping)?, rows);
                if result.is_err() {
                    // They are no longer in step with each other.
                    *stepping = None;
                }
                result.or_raised()
            })?
        };
        if let RowShape::Image(_) = RowShape::from(&self.observations) {
            let array = PyArray2::zeros(py, dims, false);
            let done = wrote(RowsMut::Bytes(array.readwrite().as_slice_mut()?))?;
            return Ok((array.into_any(), done));
        }
        let array = PyArray2::zeros(py, dims, false);
        let done = wrote(RowsMut::Numbers(array.readwrite().as_slice_mut()?))?;
        Ok((array.into_any(), done))
    }
}
