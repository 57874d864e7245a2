//! Many copies of a task, stepped together into contiguous rows.
//!
//! This is the hot path of the environment phase: [`VecEnv::step`] writes straight into the arrays of the rollout,
//! allocates nothing, and makes one virtual call per environment. Episodes that end begin anew in the same step.

use crate::env::{decode, encode};
use crate::space::not_a_number;
use crate::{Env, EnvError, Space, Step, TaskSpec};
use serde::{Deserialize, Serialize};

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
    /// What is seen next; after the end of an episode, the first observation of the next one.
    pub observations: &'a mut [f32],
    /// Raw rewards.
    pub rewards: &'a mut [f32],
    /// Episodes that the task ended.
    pub terminated: &'a mut [bool],
    /// Episodes that a limit cut.
    pub truncated: &'a mut [bool],
}

/// The running episode of one environment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Account {
    episode_return: f64,
    length: u32,
    /// The episode is cut after so many steps.
    limit: u32,
}

impl Account {
    fn new(limit: u32) -> Self {
        Account {
            episode_return: 0.0,
            length: 0,
            limit,
        }
    }
}

/// What is saved besides the environments' own states.
#[derive(Serialize, Deserialize)]
struct Progress {
    task: String,
    seed: u64,
    started: bool,
    steps: u64,
    accounts: Vec<Account>,
    final_observations: Vec<f32>,
    finished: Vec<Episode>,
}

/// N copies of a task.
///
/// ```
/// use epgt_envs::{StepRow, VecEnv, find};
/// let mut envs = VecEnv::new(find("CartPole-v1")?, 2, 0)?;
/// let (mut observations, mut rewards) = ([0.0; 8], [0.0; 2]);
/// let (mut terminated, mut truncated) = ([false; 2], [false; 2]);
/// envs.reset(&mut observations)?;
/// while envs.finished().is_empty() {
///     let out = StepRow {
///         observations: &mut observations,
///         rewards: &mut rewards,
///         terminated: &mut terminated,
///         truncated: &mut truncated,
///     };
///     envs.step(&[0.0, 1.0], out)?;
/// }
/// let episode = envs.finished()[0];
/// assert_eq!(episode.episode_return, f64::from(episode.length));
/// assert!(terminated[episode.env]);
/// assert_ne!(envs.final_observation(episode.env), &observations[4 * episode.env..][..4]);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct VecEnv {
    envs: Vec<Box<dyn Env>>,
    observation_space: Space,
    action_space: Space,
    observation_size: usize,
    action_size: usize,
    limit: u32,
    clipped: Vec<f32>,
    progress: Progress,
}

impl VecEnv {
    /// `n` copies of a task. Copy i is given the seed `seed + i` at its first reset, as in Gymnasium's vector
    /// environments, and goes on with its own generator.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn new(task: &TaskSpec, n: usize, seed: u64) -> Result<Self, EnvError> {
        assert!(n > 0, "at least one environment is needed");
        let envs = (0..n).map(|_| (task.make)()).collect::<Result<Vec<_>, _>>()?;
        let observation_space = envs[0].observation_space().clone();
        let action_space = envs[0].action_space().clone();
        let (observation_size, action_size) = (observation_space.size(), action_space.size());
        let limit = task.max_episode_steps;
        Ok(VecEnv {
            envs,
            observation_space,
            action_space,
            observation_size,
            action_size,
            limit,
            clipped: vec![0.0; action_size],
            progress: Progress {
                task: task.id.into(),
                seed,
                started: false,
                steps: 0,
                accounts: vec![Account::new(limit); n],
                final_observations: vec![0.0; n * observation_size],
                finished: Vec::with_capacity(n),
            },
        })
    }

    /// Spreads the resets: the first episode of environment i is cut after limit * (i + 1) / n steps.
    ///
    /// Environments that all begin together are all at the same point of their episodes for long, and what a rollout
    /// earns swings with that. Episodes of shortened time do not count in statistics, however they ended: only the
    /// short ones would be seen.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let envs = VecEnv::new(find("Pendulum-v1")?, 4, 0)?.with_staggered_starts();
    /// assert_eq!(envs.n(), 4);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn with_staggered_starts(mut self) -> Self {
        let n = self.n() as u64;
        for (i, account) in (1..).zip(&mut self.progress.accounts) {
            account.limit = (u64::from(self.limit) * i / n).max(1) as u32;
        }
        self
    }

    /// How many environments there are.
    pub fn n(&self) -> usize {
        self.envs.len()
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
        self.progress.steps
    }

    /// Begins an episode everywhere; running ones are dropped.
    pub fn reset(&mut self, observations: &mut [f32]) -> Result<(), EnvError> {
        assert_eq!(observations.len(), self.n() * self.observation_size, "one row each");
        let progress = &mut self.progress;
        let rows = observations.chunks_exact_mut(self.observation_size);
        for (i, (env, row)) in self.envs.iter_mut().zip(rows).enumerate() {
            if progress.started {
                progress.accounts[i] = Account::new(self.limit);
            }
            let seed = (!progress.started).then(|| progress.seed.wrapping_add(i as u64));
            env.reset(seed, row)
                .and_then(|()| finite_observation(row))
                .map_err(|error| error.at(i, progress.steps))?;
        }
        progress.started = true;
        progress.finished.clear();
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
    pub fn step(&mut self, actions: &[f32], out: StepRow<'_>) -> Result<(), EnvError> {
        let (n, width) = (self.n(), self.observation_size);
        assert!(
            self.progress.started,
            "the environments are reset before they are stepped"
        );
        assert_eq!(actions.len(), n * self.action_size, "one action each");
        assert_eq!(out.observations.len(), n * width, "one observation each");
        assert!(out.rewards.len() == n && out.terminated.len() == n && out.truncated.len() == n);
        self.progress.steps += 1;
        self.progress.finished.clear();
        for i in 0..n {
            let action = &actions[i * self.action_size..][..self.action_size];
            let row = &mut out.observations[i * width..][..width];
            let step = self
                .step_one(i, action, row)
                .map_err(|error| error.at(i, self.progress.steps))?;
            out.rewards[i] = step.reward as f32;
            out.terminated[i] = step.terminated;
            out.truncated[i] = step.truncated;
        }
        Ok(())
    }

    #[inline]
    fn step_one(&mut self, i: usize, action: &[f32], row: &mut [f32]) -> Result<Step, EnvError> {
        let mut step = match &self.action_space {
            Space::Discrete(_) => self.envs[i].step(action, row)?,
            Space::Box { low, high } => {
                for (k, clipped) in self.clipped.iter_mut().enumerate() {
                    if action[k].is_nan() {
                        return Err(not_a_number(k));
                    }
                    *clipped = action[k].max(low[k]).min(high[k]);
                }
                self.envs[i].step(&self.clipped, row)?
            }
        };
        finite_observation(row)?;
        if !step.reward.is_finite() {
            return Err(not_finite("the reward", step.reward));
        }
        let account = &mut self.progress.accounts[i];
        account.episode_return += step.reward;
        account.length += 1;
        step.truncated |= account.length >= account.limit;
        if step.terminated || step.truncated {
            self.begin_next_episode(i, row)?;
        }
        Ok(step)
    }

    fn begin_next_episode(&mut self, i: usize, row: &mut [f32]) -> Result<(), EnvError> {
        let progress = &mut self.progress;
        let account = progress.accounts[i];
        progress.finished.push(Episode {
            env: i,
            episode_return: account.episode_return,
            length: account.length,
            counted: account.limit == self.limit,
        });
        progress.accounts[i] = Account::new(self.limit);
        progress.final_observations[i * row.len()..][..row.len()].copy_from_slice(row);
        self.envs[i].reset(None, row)?;
        finite_observation(row)
    }

    /// The last observation of the episode that ended most recently in environment `i`: what a truncated episode is
    /// bootstrapped from.
    pub fn final_observation(&self, i: usize) -> &[f32] {
        &self.progress.final_observations[i * self.observation_size..][..self.observation_size]
    }

    /// The episodes that ended in the last step.
    pub fn finished(&self) -> &[Episode] {
        &self.progress.finished
    }

    /// Everything that decides what happens next: states, generators, running episodes, staggering.
    ///
    /// ```
    /// use epgt_envs::{VecEnv, find};
    /// let mut envs = VecEnv::new(find("Pendulum-v1")?, 2, 0)?;
    /// envs.reset(&mut [0.0; 6])?;
    /// let mut other = VecEnv::new(find("Pendulum-v1")?, 2, 1)?;
    /// other.restore(&envs.save())?;
    /// assert_eq!(other.save(), envs.save());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn save(&self) -> Vec<u8> {
        let envs: Vec<_> = self.envs.iter().map(|env| env.save()).collect();
        encode(&(&self.progress, envs))
    }

    /// Takes back what [`VecEnv::save`] gave, for the same task and number of environments.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let (mut progress, states): (Progress, Vec<Vec<u8>>) = decode(state)?;
        let n = self.n();
        if progress.task != self.progress.task
            || states.len() != n
            || progress.accounts.len() != n
            || progress.final_observations.len() != n * self.observation_size
        {
            return Err(EnvError::InvalidState(format!(
                "the saved state is of {} environments of {}, not {n} of {}; resume with the settings of the saved run",
                states.len(),
                progress.task,
                self.progress.task,
            )));
        }
        for (i, (env, state)) in self.envs.iter_mut().zip(&states).enumerate() {
            env.restore(state).map_err(|error| error.at(i, progress.steps))?;
        }
        progress.finished.reserve(n);
        self.progress = progress;
        Ok(())
    }
}

#[inline]
fn finite_observation(row: &[f32]) -> Result<(), EnvError> {
    // A sum of products with 0 is 0, unless one of the numbers is NaN or infinite.
    if row.iter().map(|x| x * 0.0).sum::<f32>() == 0.0 {
        return Ok(());
    }
    match row.iter().position(|x| !x.is_finite()) {
        Some(k) => Err(not_finite(&format!("entry {k} of the observation"), row[k].into())),
        None => Ok(()),
    }
}

#[cold]
fn not_finite(what: &str, value: f64) -> EnvError {
    EnvError::NotFinite(format!(
        "{what} is {value}; the environment is broken there, so report the task, seed and actions"
    ))
}
