//! Many copies of a task, stepped together into contiguous rows.
//!
//! This is the hot path of the environment phase: [`VecEnv::step`] writes straight into the arrays of the rollout. One
//! thread steps all environments, or several threads step a group each, where the environments are slow enough for that
//! to pay.

mod foreign;
mod groups;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::checker::check_space;
use crate::env::{decode_state, encode_state};
use crate::group::{Account, Group};
use crate::pool::Pool;
use crate::{Env, EnvError, Observations, RowShape, Rows, RowsMut, Space, TaskSpec};
use groups::Groups;

pub(crate) use foreign::Foreign;
#[cfg(feature = "gymnasium")]
pub(crate) use foreign::count_ended_worker;
pub use foreign::ended_worker_cpu_seconds;

/// Steps after which it is known how slow the environments are.
const TRIAL_STEPS: u32 = 50;
/// Seconds of a step that threads must save to be worth their own cost.
const WORTH_THREADS: f64 = 40e-6;

/// An episode that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The index of its environment.
    pub env: usize,
    /// The sum of its raw rewards.
    pub episode_return: f64,
    /// How many steps it had.
    pub length: u32,
    /// Whether it belongs into statistics: not when its time was shortened to stagger the starts.
    pub counted: bool,
}

/// Where one step of all environments is written: row i of each belongs to environment i.
pub struct StepRow<'a> {
    /// What is seen next, as numbers or, where the task shows images, as bytes; after the end of an episode, the first
    /// observation of the next one.
    pub observations: RowsMut<'a>,
    /// Raw rewards.
    pub rewards: &'a mut [f32],
    /// Episodes that the task ended.
    pub terminated: &'a mut [bool],
    /// Episodes that a limit cut.
    pub truncated: &'a mut [bool],
}

/// What is saved besides the environments' own states.
#[derive(Serialize, Deserialize)]
struct Progress {
    task: String,
    seed: u64,
    started: bool,
    steps: u64,
    accounts: Vec<Account>,
    final_observations: Observations,
    finished: Vec<Episode>,
}

/// N copies of a task.
///
/// ```
/// use epgt_envs::{StepRow, VecEnv, find};
/// let mut envs = VecEnv::new(&find("CartPole-v1")?, 2, 0)?;
/// let (mut observations, mut rewards) = ([0.0; 8], [0.0; 2]);
/// let (mut terminated, mut truncated) = ([false; 2], [false; 2]);
/// envs.reset(&mut observations)?;
/// while envs.finished().is_empty() {
///     let out = StepRow {
///         observations: (&mut observations).into(),
///         rewards: &mut rewards,
///         terminated: &mut terminated,
///         truncated: &mut truncated,
///     };
///     envs.step(&[0.0, 1.0], out)?;
/// }
/// let episode = envs.finished()[0];
/// assert_eq!(episode.episode_return, f64::from(episode.length));
/// assert!(terminated[episode.env]);
/// assert_ne!(envs.final_observation(episode.env).numbers(), &observations[4 * episode.env..][..4]);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct VecEnv {
    groups: Groups,
    n: usize,
    observation_space: Space,
    action_space: Space,
    observation_size: usize,
    action_size: usize,
    task: String,
    /// Whether states cannot be saved.
    unsaved: bool,
    seed: u64,
    started: bool,
    finished: Vec<Episode>,
    /// Threads that may be used.
    threads: usize,
    /// Steps of the trial, and the seconds they took.
    trial: (u32, f64),
}

impl VecEnv {
    /// `n` copies of a task. Copy i is given the seed `seed + i` at its first reset, as in Gymnasium's vector
    /// environments, and goes on with its own generator.
    pub fn new(task: &TaskSpec, n: usize, seed: u64) -> Result<Self, EnvError> {
        let mut envs = match &task.foreign {
            Some(start) if n > 0 => {
                let envs = start(task, n)?;
                let spaces = [envs.observation_space().clone(), envs.action_space().clone()];
                VecEnv::of(Groups::Foreign(envs), n, spaces, seed)
            }
            _ => {
                let envs = (0..n).map(|_| task.make()).collect::<Result<Vec<_>, _>>()?;
                VecEnv::from_envs(envs, task.max_episode_steps, seed)?
            }
        };
        envs.task = task.label();
        envs.unsaved |= task.unsaved;
        Ok(envs)
    }

    /// Any environments that have the same spaces, stepped together. Episodes are cut after `max_episode_steps` steps,
    /// where [`u32::MAX`] is no limit. Seeds are given as in [`VecEnv::new`].
    ///
    /// ```
    /// use epgt_envs::{Env, VecEnv, classic::{CartPole, Pendulum}};
    /// let carts: Vec<Box<dyn Env>> = vec![Box::new(CartPole::new()), Box::new(CartPole::new())];
    /// assert_eq!(VecEnv::from_envs(carts, 500, 0)?.n(), 2);
    /// let mixed: Vec<Box<dyn Env>> = vec![Box::new(CartPole::new()), Box::new(Pendulum::new())];
    /// let error = VecEnv::from_envs(mixed, 500, 0).err().unwrap();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "environment 1 has other spaces than environment 0; step environments together that observe and do the same"
    /// );
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn from_envs(envs: Vec<Box<dyn Env>>, max_episode_steps: u32, seed: u64) -> Result<Self, EnvError> {
        let invalid = |text: String| Err(EnvError::InvalidEnvironments(text));
        let Some(first) = envs.first() else {
            return invalid("there are 0 environments; at least one is needed".into());
        };
        let (observation_space, action_space) = (first.observation_space().clone(), first.action_space().clone());
        check_space(&observation_space, "observation")?;
        check_space(&action_space, "action")?;
        let same = |env: &dyn Env| *env.observation_space() == observation_space && *env.action_space() == action_space;
        if let Some(i) = envs.iter().position(|env| !same(&**env)) {
            return invalid(format!(
                "environment {i} has other spaces than environment 0; step environments together that observe and do the same"
            ));
        }
        if max_episode_steps == 0 {
            return invalid("episodes have 0 steps; at least one is needed".into());
        }
        let n = envs.len();
        let group = Group::new(0, envs, max_episode_steps);
        Ok(VecEnv::of(
            Groups::One(group),
            n,
            [observation_space, action_space],
            seed,
        ))
    }

    fn of(groups: Groups, n: usize, [observation_space, action_space]: [Space; 2], seed: u64) -> Self {
        VecEnv {
            unsaved: matches!(groups, Groups::Foreign(_)),
            groups,
            n,
            observation_size: observation_space.size(),
            action_size: action_space.size(),
            observation_space,
            action_space,
            task: "an unnamed task".into(),
            seed,
            started: false,
            finished: Vec::with_capacity(n),
            threads: 1,
            trial: (0, 0.0),
        }
    }

    /// Spreads the resets: the first episode of environment i is cut after limit * (i + 1) / n steps.
    ///
    /// Environments that all begin together are all at the same point of their episodes for long, and what a rollout
    /// earns swings with that. Episodes of shortened time do not count in statistics, however they ended: only the
    /// short ones would be seen.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let envs = VecEnv::new(&find("Pendulum-v1")?, 4, 0)?.with_staggered_starts();
    /// assert_eq!(envs.n(), 4);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn with_staggered_starts(mut self) -> Self {
        let n = self.n as u64;
        if let Groups::Foreign(envs) = &mut self.groups {
            envs.stagger();
        }
        for group in self.groups.iter_mut() {
            for (i, account) in (group.first as u64 + 1..).zip(&mut group.accounts) {
                account.limit = (u64::from(account.limit) * i / n).max(1) as u32;
            }
        }
        self
    }

    /// Has an episode that has ended begin anew with the next step, which its action does not reach and which earns
    /// nothing, instead of with the same: Gymnasium's other way. It is for whoever steps the environments by hand, since
    /// [`VecEnv::save`] does not keep which episodes have ended so.
    ///
    /// ```
    /// use epgt_envs::{StepRow, VecEnv, find};
    /// let mut envs = VecEnv::new(&find("CartPole-v1")?, 1, 0)?.with_resets_in_the_next_step();
    /// let (mut observations, mut rewards) = ([0.0; 4], [0.0]);
    /// let (mut terminated, mut truncated) = ([false], [false]);
    /// envs.reset(&mut observations)?;
    /// while rewards != [0.0] || envs.steps() == 0 {
    ///     let out = StepRow {
    ///         observations: (&mut observations).into(),
    ///         rewards: &mut rewards,
    ///         terminated: &mut terminated,
    ///         truncated: &mut truncated,
    ///     };
    ///     envs.step(&[1.0], out)?;
    /// }
    /// assert!(envs.steps() < 20 && observations.iter().all(|x| x.abs() <= 0.05));
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    ///
    /// # Panics
    /// When another process steps the environments.
    pub fn with_resets_in_the_next_step(mut self) -> Self {
        assert!(
            !matches!(self.groups, Groups::Foreign(_)),
            "a worker begins anew in the same step"
        );
        for group in self.groups.iter_mut() {
            group.over = Some(vec![false; group.envs.len()]);
        }
        self
    }

    /// Lets up to `threads` threads step the environments, if a trial of the first steps shows them slow enough for
    /// that to pay. What is stepped does not depend on it.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads.clamp(1, self.n);
    }

    /// Has `threads` threads step the environments, whether it pays or not.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let envs = VecEnv::new(&find("Pendulum-v1")?, 4, 0)?.on_threads(2);
    /// assert_eq!(envs.threads(), 2);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn on_threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, self.n);
        self.groups = self.groups.on_threads(self.threads);
        self
    }

    /// Threads that step the environments now.
    pub fn threads(&self) -> usize {
        self.groups.threads()
    }

    /// How many environments there are.
    pub fn n(&self) -> usize {
        self.n
    }

    /// What the observation of one environment looks like.
    pub fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    /// What the action for one environment looks like.
    pub fn action_space(&self) -> &Space {
        &self.action_space
    }

    /// How often [`VecEnv::step`] was called.
    pub fn steps(&self) -> u64 {
        self.groups.steps()
    }

    /// Begins an episode everywhere; running ones are dropped.
    pub fn reset<'a>(&mut self, observations: impl Into<RowsMut<'a>>) -> Result<(), EnvError> {
        let mut observations = observations.into();
        let size = self.observation_size;
        assert_eq!(observations.len(), self.n * size, "one row each");
        let seed = (!self.started).then_some(self.seed);
        self.check_kind(&observations);
        if let Groups::Foreign(envs) = &mut self.groups {
            envs.reset(seed, observations.part(0..self.n * size))?;
        }
        for group in self.groups.iter_mut() {
            let (first, n) = (group.first, group.envs.len());
            group.reset(seed, observations.part(first * size..(first + n) * size))?;
        }
        self.started = true;
        self.finished.clear();
        Ok(())
    }

    /// Begins an episode everywhere, where environment i is given the seed `seeds[i]`, or goes on with its own generator
    /// where that is none.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let mut envs = VecEnv::new(&find("Pendulum-v1")?, 2, 0)?;
    /// let mut observations = [0.0; 6];
    /// envs.reset_with(&[Some(7), Some(7)], &mut observations)?;
    /// assert_eq!(observations[..3], observations[3..]);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    ///
    /// # Panics
    /// When there is not one seed and one row per environment, or when another process steps the environments.
    pub fn reset_with<'a>(
        &mut self,
        seeds: &[Option<u64>],
        observations: impl Into<RowsMut<'a>>,
    ) -> Result<(), EnvError> {
        let mut observations = observations.into();
        let size = self.observation_size;
        assert!(seeds.len() == self.n && observations.len() == self.n * size, "one each");
        assert!(
            !matches!(self.groups, Groups::Foreign(_)),
            "a worker takes one seed for all"
        );
        self.check_kind(&observations);
        for group in self.groups.iter_mut() {
            let place = group.first..group.first + group.envs.len();
            let rows = observations.part(place.start * size..place.end * size);
            group.reset_with(|i| seeds[i], rows)?;
        }
        self.started = true;
        self.finished.clear();
        Ok(())
    }

    /// Acts once in every environment; row i of `actions` is for environment i.
    ///
    /// Box actions are clipped to their bounds. Where an episode ends, the next one begins at once: its first
    /// observation is in `out`, and the last of the old one is [`VecEnv::final_observation`]. After an error the
    /// environments are no longer in step with each other and cannot go on.
    ///
    /// # Panics
    /// When a slice has not one row per environment, or before the first [`VecEnv::reset`].
    pub fn step(&mut self, actions: &[f32], mut out: StepRow<'_>) -> Result<(), EnvError> {
        let n = self.n;
        assert!(self.started, "the environments are reset before they are stepped");
        assert_eq!(actions.len(), n * self.action_size, "one action each");
        let size = self.observation_size;
        assert_eq!(out.observations.len(), n * size, "one observation each");
        self.check_kind(&out.observations);
        assert!(out.rewards.len() == n && out.terminated.len() == n && out.truncated.len() == n);
        self.finished.clear();
        match &mut self.groups {
            Groups::One(group) => {
                let on_trial = self.threads > 1 && self.trial.0 < TRIAL_STEPS;
                let begun = on_trial.then(Instant::now);
                group.step(actions, out)?;
                if !group.finished.is_empty() {
                    self.finished.extend_from_slice(&group.finished);
                }
                if let Some(begun) = begun {
                    self.trial = (self.trial.0 + 1, self.trial.1 + begun.elapsed().as_secs_f64());
                    self.decide_on_threads();
                }
            }
            Groups::Foreign(envs) => envs.step(actions, out, &mut self.finished)?,
            Groups::Many(parcels, pool) => {
                for parcel in parcels.iter_mut() {
                    let width = parcel.actions.len();
                    let first = parcel.group.first * width / parcel.group.envs.len();
                    parcel.actions.copy_from_slice(&actions[first..][..width]);
                }
                pool.step(parcels)?;
                for parcel in parcels {
                    let (first, n) = (parcel.group.first, parcel.group.envs.len());
                    let mut rows = out.observations.part(first * size..(first + n) * size);
                    rows.copy_from(parcel.observations.all());
                    out.rewards[first..][..n].copy_from_slice(&parcel.rewards);
                    out.terminated[first..][..n].copy_from_slice(&parcel.terminated);
                    out.truncated[first..][..n].copy_from_slice(&parcel.truncated);
                    self.finished.extend_from_slice(&parcel.group.finished);
                }
            }
        }
        Ok(())
    }

    /// At the end of the trial: whether the time that threads would save is worth their own cost.
    fn decide_on_threads(&mut self) {
        let saved = 1.0 - 1.0 / self.threads as f64;
        if self.trial.0 == TRIAL_STEPS && self.trial.1 / f64::from(TRIAL_STEPS) * saved > WORTH_THREADS {
            let waiting = Groups::Many(Vec::new(), Pool::new(0));
            let groups = std::mem::replace(&mut self.groups, waiting);
            self.groups = groups.on_threads(self.threads);
        }
    }

    /// The last observation of the episode that ended most recently in environment `i`: what a truncated episode is
    /// bootstrapped from.
    pub fn final_observation(&self, i: usize) -> Rows<'_> {
        let size = self.observation_size;
        let group = match &self.groups {
            Groups::One(group) => group,
            Groups::Foreign(envs) => return envs.final_observations().part(i * size..(i + 1) * size),
            Groups::Many(parcels, _) => {
                let place = parcels.partition_point(|parcel| parcel.group.first <= i);
                &parcels[place - 1].group
            }
        };
        let place = (i - group.first) * size;
        group.final_observations.part(place..place + size)
    }

    /// Those of all environments.
    fn final_observations(&self) -> Observations {
        let mut all = Observations::new(RowShape::from(&self.observation_space), 0);
        self.groups
            .iter()
            .for_each(|group| all.append(&group.final_observations));
        all
    }

    /// Rows are bytes where the task shows images, and only there.
    fn check_kind(&self, rows: &RowsMut<'_>) {
        let images = matches!(self.observation_space, Space::Image { .. });
        assert_eq!(matches!(rows, RowsMut::Bytes(_)), images, "images are rows of bytes");
    }

    /// The episodes that ended in the last step.
    pub fn finished(&self) -> &[Episode] {
        &self.finished
    }

    /// Everything that decides what happens next: states, generators, running episodes, staggering.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let mut envs = VecEnv::new(&find("Pendulum-v1")?, 2, 0)?;
    /// envs.reset(&mut [0.0; 6])?;
    /// let mut other = VecEnv::new(&find("Pendulum-v1")?, 2, 1)?;
    /// other.restore(&envs.save())?;
    /// assert_eq!(other.save(), envs.save());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn save(&self) -> Vec<u8> {
        let progress = Progress {
            task: self.task.clone(),
            seed: self.seed,
            started: self.started,
            steps: self.steps(),
            accounts: self.groups.iter().flat_map(|group| group.accounts.clone()).collect(),
            final_observations: self.final_observations(),
            finished: self.finished.clone(),
        };
        let envs: Vec<_> = self
            .groups
            .iter()
            .flat_map(|group| &group.envs)
            .map(|env| env.save())
            .collect();
        encode_state(&(&progress, envs))
    }

    /// Takes back what [`VecEnv::save`] gave, for the same task and number of environments; the threads stay as they
    /// are.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let (progress, states): (Progress, Vec<Vec<u8>>) = decode_state(state)?;
        let (n, size) = (self.n, self.observation_size);
        if self.unsaved {
            return self.begin_anew(&progress);
        }
        if progress.task != self.task
            || states.len() != n
            || progress.accounts.len() != n
            || !progress.final_observations.is_like(&self.final_observations())
        {
            return Err(EnvError::InvalidState(format!(
                "the saved state is of {} environments of {}, not {n} of {}; resume with the settings of the saved run",
                states.len(),
                progress.task,
                self.task,
            )));
        }
        for group in self.groups.iter_mut() {
            let place = group.first..group.first + group.envs.len();
            for (i, env) in place.clone().zip(&mut group.envs) {
                env.restore(&states[i]).map_err(|error| error.at(i, progress.steps))?;
            }
            group.accounts.copy_from_slice(&progress.accounts[place.clone()]);
            let rows = place.start * size..place.end * size;
            let rows = progress.final_observations.part(rows);
            group.final_observations.all_mut().copy_from(rows);
            group.steps = progress.steps;
        }
        self.seed = progress.seed;
        self.started = progress.started;
        self.finished = progress.finished;
        self.finished.reserve(n);
        Ok(())
    }
}
