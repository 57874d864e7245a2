//! The environments that one thread steps: the inner loop of the environment phase.
//!
//! A group owns its environments and the accounts of their running episodes. It allocates nothing while stepping and
//! makes one virtual call per environment. Episodes that end begin anew in the same step, or where that is asked for in
//! the next.

use serde::{Deserialize, Serialize};

use crate::space::not_a_number;
use crate::vec_env::{Episode, StepRow};
use crate::{Env, EnvError, Observations, RowShape, RowsMut, Space, Step};

/// The running episode of one environment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Account {
    pub episode_return: f64,
    pub length: u32,
    /// The episode is cut after so many steps.
    pub limit: u32,
}

impl Account {
    pub fn new(limit: u32) -> Self {
        Account {
            episode_return: 0.0,
            length: 0,
            limit,
        }
    }
}

/// Some of the environments of a [`VecEnv`](crate::VecEnv), from number `first` on.
pub(crate) struct Group {
    pub first: usize,
    pub envs: Vec<Box<dyn Env>>,
    pub accounts: Vec<Account>,
    pub final_observations: Observations,
    pub finished: Vec<Episode>,
    /// How often it was stepped.
    pub steps: u64,
    /// Where an episode that has ended begins anew with the next step instead of the same: whether it has, for each
    /// environment.
    pub over: Option<Vec<bool>>,
    action_space: Space,
    limit: u32,
    /// Numbers or bytes of one observation.
    width: usize,
    clipped: Vec<f32>,
}

impl Group {
    pub fn new(first: usize, envs: Vec<Box<dyn Env>>, limit: u32) -> Self {
        let action_space = envs[0].action_space().clone();
        let shape = RowShape::from(envs[0].observation_space());
        Group {
            first,
            accounts: vec![Account::new(limit); envs.len()],
            final_observations: Observations::new(shape, envs.len()),
            finished: Vec::with_capacity(envs.len()),
            steps: 0,
            over: None,
            clipped: vec![0.0; action_space.size()],
            action_space,
            limit,
            width: shape.size(),
            envs,
        }
    }

    /// Begins an episode in every environment. A first one is seeded, and keeps the limit it was given.
    pub fn reset(&mut self, seed: Option<u64>, observations: RowsMut<'_>) -> Result<(), EnvError> {
        let accounts = self.accounts.clone();
        self.reset_with(|i| seed.map(|seed| seed.wrapping_add(i as u64)), observations)?;
        if seed.is_some() {
            self.accounts = accounts;
        }
        Ok(())
    }

    /// Begins an episode in every environment; number i is given the seed `seed(i)`, or goes on with its generator.
    pub fn reset_with(
        &mut self,
        seed: impl Fn(usize) -> Option<u64>,
        mut observations: RowsMut<'_>,
    ) -> Result<(), EnvError> {
        let width = self.width;
        for (i, env) in self.envs.iter_mut().enumerate() {
            self.accounts[i] = Account::new(self.limit);
            self.over.iter_mut().for_each(|over| over[i] = false);
            let mut row = observations.part(i * width..(i + 1) * width);
            let number = self.first + i;
            begin(&mut **env, seed(number), &mut row).map_err(|error| error.at(number, self.steps))?;
        }
        self.finished.clear();
        Ok(())
    }

    /// Acts once in every environment; see [`VecEnv::step`](crate::VecEnv::step).
    pub fn step(&mut self, actions: &[f32], mut out: StepRow<'_>) -> Result<(), EnvError> {
        let (width, action_size) = (self.width, self.clipped.len());
        self.steps += 1;
        self.finished.clear();
        for i in 0..self.envs.len() {
            let action = &actions[i * action_size..][..action_size];
            let row = out.observations.part(i * width..(i + 1) * width);
            let step = self
                .step_one(i, action, row)
                .map_err(|error| error.at(self.first + i, self.steps))?;
            out.rewards[i] = step.reward as f32;
            out.terminated[i] = step.terminated;
            out.truncated[i] = step.truncated;
        }
        Ok(())
    }

    /// The same environments in `parts` groups of nearly equal size.
    pub fn split(mut self, parts: usize) -> Vec<Group> {
        let (n, size) = (self.envs.len(), self.width);
        let mut groups = Vec::new();
        for part in (0..parts).rev() {
            let start = n * part / parts;
            let mut group = Group::new(self.first + start, self.envs.split_off(start), self.limit);
            group.accounts = self.accounts.split_off(start);
            group.over = self.over.as_mut().map(|over| over.split_off(start));
            group.final_observations = self.final_observations.split_off(start * size);
            group.steps = self.steps;
            groups.insert(0, group);
        }
        groups
    }

    #[inline]
    fn step_one(&mut self, i: usize, action: &[f32], mut row: RowsMut<'_>) -> Result<Step, EnvError> {
        if let Some(over) = self.over.as_mut().filter(|over| over[i]) {
            over[i] = false;
            begin(&mut *self.envs[i], None, &mut row)?;
            return Ok(Step {
                reward: 0.0,
                terminated: false,
                truncated: false,
            });
        }
        let action = match &self.action_space {
            Space::Box { low, high } => {
                for (k, clipped) in self.clipped.iter_mut().enumerate() {
                    if action[k].is_nan() {
                        return Err(not_a_number(k));
                    }
                    *clipped = action[k].max(low[k]).min(high[k]);
                }
                &self.clipped
            }
            _ => action,
        };
        let mut step = act(&mut *self.envs[i], action, &mut row)?;
        if !(step.reward as f32).is_finite() {
            return Err(not_finite("the reward", step.reward));
        }
        let account = &mut self.accounts[i];
        account.episode_return += step.reward;
        account.length += 1;
        step.truncated |= account.length >= account.limit;
        if step.terminated || step.truncated {
            self.begin_next_episode(i, &mut row)?;
        }
        Ok(step)
    }

    fn begin_next_episode(&mut self, i: usize, row: &mut RowsMut<'_>) -> Result<(), EnvError> {
        let account = self.accounts[i];
        self.finished.push(Episode {
            env: self.first + i,
            episode_return: account.episode_return,
            length: account.length,
            counted: account.limit == self.limit,
        });
        self.accounts[i] = Account::new(self.limit);
        let width = self.width;
        let mut last = self.final_observations.part_mut(i * width..(i + 1) * width);
        last.copy_from(row.view());
        match &mut self.over {
            Some(over) => {
                over[i] = true;
                Ok(())
            }
            None => begin(&mut *self.envs[i], None, row),
        }
    }
}

/// Begins an episode; its first observation goes into the row.
#[inline]
fn begin(env: &mut dyn Env, seed: Option<u64>, row: &mut RowsMut<'_>) -> Result<(), EnvError> {
    match row {
        RowsMut::Numbers(row) => {
            env.reset(seed, row)?;
            finite_observation(row)
        }
        RowsMut::Bytes(pixels) => {
            env.reset(seed, &mut [])?;
            env.image(pixels);
            Ok(())
        }
    }
}

/// Acts once; the next observation goes into the row.
#[inline]
fn act(env: &mut dyn Env, action: &[f32], row: &mut RowsMut<'_>) -> Result<Step, EnvError> {
    match row {
        RowsMut::Numbers(row) => {
            let step = env.step(action, row)?;
            finite_observation(row)?;
            Ok(step)
        }
        RowsMut::Bytes(pixels) => {
            let step = env.step(action, &mut [])?;
            env.image(pixels);
            Ok(step)
        }
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
    EnvError::NotFinite(match value.is_finite() {
        true => format!("{what} is {value:?}, which is too large for 32 bits; choose smaller options of the task"),
        false => format!("{what} is {value}; the environment is broken there, so report the task, seed and actions"),
    })
}
