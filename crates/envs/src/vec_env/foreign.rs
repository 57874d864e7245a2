//! What is different where a worker steps the environments: how they are made, and that their state cannot be saved.

use epgt_rng::Pcg64;

use super::groups::Groups;
use super::{Progress, VecEnv};
use crate::gymnasium::Bridge;
use crate::{EnvError, TaskSpec};

impl VecEnv {
    pub(super) fn foreign(task: &TaskSpec, n: usize, seed: u64) -> Result<Self, EnvError> {
        let described = task.foreign.as_ref().and_then(|foreign| foreign.spaces.as_ref());
        let bridge = Bridge::new(&task.id, &task.options, described, n, &task.label())?;
        Ok(VecEnv {
            observation_size: bridge.observation_space.size(),
            action_size: bridge.action_space.size(),
            observation_space: bridge.observation_space.clone(),
            action_space: bridge.action_space.clone(),
            groups: Groups::Foreign(Box::new(bridge)),
            n,
            task: task.label(),
            seed,
            started: false,
            finished: Vec::with_capacity(n),
            threads: 1,
            trial: (0, 0.0),
        })
    }

    /// Spreads the resets of a worker's environments, where their episodes have a limit.
    pub(super) fn stagger_foreign(&mut self) {
        let n = self.n as u64;
        if let Groups::Foreign(bridge) = &mut self.groups
            && bridge.limit != u32::MAX
        {
            for (i, account) in (1..).zip(&mut bridge.accounts) {
                account.limit = (u64::from(bridge.limit) * i / n).max(1) as u32;
            }
        }
    }

    /// Whether the environments begin anew after [`VecEnv::restore`], because their states cannot be saved. Then they must be
    /// reset before they are stepped.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// assert!(!VecEnv::new(&find("Pendulum-v1")?, 1, 0)?.begins_anew());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn begins_anew(&self) -> bool {
        matches!(self.groups, Groups::Foreign(_))
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
            Groups::Foreign(bridge) => Some(bridge.worker_id()),
            _ => None,
        }
    }

    /// CPU seconds (user and system) that this worker has used, its start included; 0 where there is none, and where the system
    /// does not tell.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// assert_eq!(VecEnv::new(&find("Pendulum-v1")?, 1, 0)?.worker_cpu_seconds(), 0.0);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn worker_cpu_seconds(&self) -> f64 {
        match &self.groups {
            Groups::Foreign(bridge) => bridge.worker_cpu_seconds(),
            _ => 0.0,
        }
    }

    /// Takes back what can be: the count of steps. The seed of the environments is made of the first one and that count, so that
    /// it is another at every point of the run, and always the same at one.
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
        if let Groups::Foreign(bridge) = &mut self.groups {
            bridge.steps = saved.steps;
        }
        Ok(())
    }
}
