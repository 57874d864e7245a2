//! What is different where somebody else steps the environments: that their state cannot be saved, and what their
//! worker costs.

use std::cell::Cell;

use epgt_rng::Pcg64;

use super::groups::Groups;
use super::{Episode, Progress, StepRow, VecEnv};
use crate::{EnvError, Observations, RowsMut, Space};

/// N environments that another process steps together.
pub(crate) trait Foreign: Send {
    fn observation_space(&self) -> &Space;

    fn action_space(&self) -> &Space;

    /// Begins an episode in every environment; a first one is seeded.
    fn reset(&mut self, seed: Option<u64>, observations: RowsMut<'_>) -> Result<(), EnvError>;

    /// Acts once in every environment; see [`VecEnv::step`].
    fn step(&mut self, actions: &[f32], out: StepRow<'_>, finished: &mut Vec<Episode>) -> Result<(), EnvError>;

    /// Spreads the resets; see [`VecEnv::with_staggered_starts`].
    fn stagger(&mut self);

    /// How often it was stepped.
    fn steps(&self) -> u64;

    /// Counts on from so many steps.
    fn set_steps(&mut self, steps: u64);

    /// The last observations of the episodes that ended most recently, `[n][O]`.
    fn final_observations(&self) -> &Observations;

    /// The process id of the worker.
    fn worker_id(&self) -> u32;

    /// CPU seconds (user and system) that the worker has used.
    fn worker_cpu_seconds(&self) -> f64;
}

impl VecEnv {
    /// Whether the environments begin anew after [`VecEnv::restore`], because their states cannot be saved. Then they
    /// must be reset before they are stepped.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// assert!(!VecEnv::new(&find("Pendulum-v1")?, 1, 0)?.begins_anew());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn begins_anew(&self) -> bool {
        self.unsaved
    }

    /// The process id of the worker that steps the environments; `None` where this process does.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// assert_eq!(VecEnv::new(&find("Pendulum-v1")?, 1, 0)?.worker(), None);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn worker(&self) -> Option<u32> {
        match &self.groups {
            Groups::Foreign(envs) => Some(envs.worker_id()),
            _ => None,
        }
    }

    /// CPU seconds (user and system) that this worker has used, its start included; 0 where there is none, and where
    /// the system does not tell.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// assert_eq!(VecEnv::new(&find("Pendulum-v1")?, 1, 0)?.worker_cpu_seconds(), 0.0);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn worker_cpu_seconds(&self) -> f64 {
        match &self.groups {
            Groups::Foreign(envs) => envs.worker_cpu_seconds(),
            _ => 0.0,
        }
    }

    /// Takes back what can be: the count of steps. The seed of the environments is made of the first one and that
    /// count, so that it is another at every point of the run, and always the same at one.
    pub(super) fn begin_anew(&mut self, saved: &Progress) -> Result<(), EnvError> {
        if saved.task != self.task {
            return Err(EnvError::InvalidState(format!(
                "the saved state is of {}, not of {}; resume with the settings of the saved run",
                saved.task, self.task
            )));
        }
        self.seed = Pcg64::for_purpose(self.seed, "environments that begin anew", saved.steps).next_u64() >> 1;
        self.started = false;
        self.finished.clear();
        if let Groups::Foreign(envs) = &mut self.groups {
            envs.set_steps(saved.steps);
        }
        self.groups.iter_mut().for_each(|group| group.steps = saved.steps);
        Ok(())
    }
}

/// CPU seconds (user and system) of the workers that the calling thread has ended; those of a worker that still runs
/// are in [`VecEnv::worker_cpu_seconds`].
///
/// ```
/// assert_eq!(epgt_envs::ended_worker_cpu_seconds(), 0.0);
/// ```
pub fn ended_worker_cpu_seconds() -> f64 {
    ENDED.get()
}

thread_local! {
    /// CPU seconds of the workers whose end this thread has seen.
    static ENDED: Cell<f64> = const { Cell::new(0.0) };
}

/// Counts the CPU seconds of a worker that has ended.
#[cfg(feature = "gymnasium")]
pub(crate) fn count_ended_worker(seconds: f64) {
    ENDED.set(ENDED.get() + seconds);
}
