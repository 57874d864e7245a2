//! N environments of a worker, with the accounts of their running episodes: what a [`VecEnv`](crate::VecEnv) holds for
//! them.

use std::time::Duration;

use epgt_settings::clean_line;

use super::memory::{self, Memory};
use super::protocol::{
    Description, LOOK, LOOK_BACK, Layout, PIXELS, PROTOCOL, RESET, Ready, Request, SEEDED_RESET, STEP, Sides,
};
use super::python::{python, threads};
use super::worker::{LABEL, Worker};
use crate::group::Account;
use crate::space::choice;
use crate::vec_env::{Episode, Foreign, StepRow};
use crate::{EnvError, Observations, Options, Picture, RowShape, Rows, RowsMut, Space, atari};

/// N foreign environments, stepped together.
pub(crate) struct Bridge {
    worker: Worker,
    memory: Memory,
    layout: Layout,
    n: usize,
    observation_space: Space,
    action_space: Space,
    /// The last observations of the episodes that ended most recently, `[n][O]`.
    final_observations: Observations,
    /// What the last step gave.
    pub rewards: Vec<f64>,
    /// Terminated, truncated, over.
    ends: [Vec<u8>; 3],
    actions: Vec<f32>,
    seeds: Vec<u64>,
    cuts: Vec<u8>,
    pub accounts: Vec<Account>,
    /// Steps after which episodes are cut, where the task says so.
    pub limit: u32,
    /// How often it was stepped.
    steps: u64,
    /// Steps that a second of watching shows, where the worker has said so.
    pub fps: Option<f64>,
    label: String,
}

/// Starts a worker that makes `n` environments, and has it describe them. Only one that is filmed can be looked at.
pub(super) fn start(
    id: &str,
    options: &Options,
    n: usize,
    film: bool,
) -> Result<(Worker, std::fs::File, Description), EnvError> {
    let file = memory::anonymous()
        .map_err(|error| EnvError::Simulator(format!("cannot share memory with a worker for {id}: {error}")))?;
    let timeout = Duration::from_secs(options.count("bridge_timeout") as u64);
    let game = atari::rom(id);
    let python = match game {
        Some(_) => atari::python(id)?,
        None => python(),
    };
    let mut worker = Worker::start(id, python, &file, timeout)?;
    let imports = options.text("import").unwrap_or_default();
    let request = Request {
        protocol: PROTOCOL,
        kind: if game.is_some() { "atari" } else { "gymnasium" },
        task: game.unwrap_or(id.strip_prefix(super::task::PREFIX).unwrap_or(id)),
        imports: imports
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect(),
        options: options.for_worker(),
        num_envs: n,
        threads: threads(),
        film,
    };
    let description: Description = worker.ask(&request)?;
    let fits = description.check();
    fits.map_err(|sentence| EnvError::Simulator(format!("{id} cannot be used: {sentence}")))?;
    Ok((worker, file, description))
}

impl Bridge {
    /// Starts a worker with `n` environments of the task with this id and these options, which must have the spaces
    /// that were described, if they were.
    pub fn new(
        id: &str,
        options: &Options,
        described: Option<&[Space; 2]>,
        n: usize,
        label: &str,
        film: bool,
    ) -> Result<Self, EnvError> {
        let (mut worker, file, description) = start(id, options, n, film)?;
        let (observation_space, action_space) = (description.observation_space(), description.action_space());
        let (shape, action_size) = (RowShape::from(&observation_space), action_space.size());
        let label = clean_line(label, LABEL);
        if described.is_some_and(|[observed, done]| *observed != observation_space || *done != action_space) {
            return Err(EnvError::Simulator(format!(
                "{label}: the environment has other spaces than when it was made before; correct it, because a policy is made for one"
            )));
        }
        let layout = Layout::new(n, shape, action_size).ok_or_else(|| {
            EnvError::Simulator(format!(
                "cannot share as much memory with the worker of {label} as {n} environments need; use fewer"
            ))
        })?;
        let memory = Memory::map(&file, layout.bytes).map_err(|error| {
            EnvError::Simulator(format!(
                "cannot share {} bytes with the worker of {label} ({error}); use fewer environments",
                layout.bytes
            ))
        })?;
        let ready: Ready = worker.ask(&layout)?;
        let limit = description.max_episode_steps.unwrap_or(u32::MAX);
        Ok(Self {
            worker,
            memory,
            layout,
            n,
            observation_space,
            action_space,
            final_observations: Observations::new(shape, n),
            rewards: vec![0.0; n],
            ends: [vec![0; n], vec![0; n], vec![0; n]],
            actions: vec![0.0; n * action_size],
            seeds: vec![0; n],
            cuts: vec![0; n],
            accounts: vec![Account::new(limit); n],
            limit,
            steps: 0,
            fps: ready.fps.filter(|fps| fps.is_finite() && *fps > 0.0),
            label,
        })
    }

    /// A picture of the first environment: as it is now, or of the end of the episode that ended in the last step.
    pub fn look(&mut self, back: bool) -> Result<Option<Picture>, EnvError> {
        let Sides { sides } = self.worker.ask_for(if back { LOOK_BACK } else { LOOK })?;
        let Some(sides) = sides else { return Ok(None) };
        let Some(count) = Sides::pixels(sides) else {
            return Err(EnvError::Simulator(format!(
                "{}: a picture of {} x {} pixels cannot be shown; correct the environment's render()",
                self.label, sides[1], sides[0]
            )));
        };
        let mut pixels = vec![[0; 3]; count];
        self.worker.receive(PIXELS, pixels.as_flattened_mut())?;
        Ok(Some(Picture::Pixels {
            width: sides[1],
            pixels,
        }))
    }

    /// Copies rows of observations from this many bytes from the start of the memory.
    fn read(&self, offset: usize, rows: &mut RowsMut<'_>) {
        match rows {
            RowsMut::Numbers(rows) => self.memory.read(offset, rows),
            RowsMut::Bytes(rows) => self.memory.read(offset, rows),
        }
    }

    /// Refuses observations that are not finite, from environment `first` on.
    #[inline]
    fn check(&self, first: usize, rows: Rows<'_>) -> Result<(), EnvError> {
        let Rows::Numbers(rows) = rows else { return Ok(()) };
        // A sum of products with 0 is 0, unless one of the numbers is NaN or infinite.
        if rows.iter().map(|x| x * 0.0).sum::<f32>() == 0.0 {
            return Ok(());
        }
        let size = self.observation_space.size();
        let entry = rows.iter().position(|x| !x.is_finite()).unwrap_or(0);
        Err(self.not_finite(
            first + entry / size,
            &format!("entry {} of an observation as", entry % size),
            rows[entry].into(),
        ))
    }

    #[cold]
    fn not_finite(&self, env: usize, what: &str, value: f64) -> EnvError {
        let why = match value.is_finite() {
            true => ", which is too large for 32 bits; scale it down",
            false => "; correct the environment, because nothing can be learned from that",
        };
        EnvError::NotFinite(format!(
            "{}: environment {env} returned {what} {value:?} in step {}{why}",
            self.label, self.steps
        ))
    }
}

impl Foreign for Bridge {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    /// A first episode keeps the limit that it was given.
    fn reset(&mut self, seed: Option<u64>, mut observations: RowsMut<'_>) -> Result<(), EnvError> {
        match seed {
            Some(seed) => {
                for (i, place) in (0..).zip(&mut self.seeds) {
                    // Gymnasium's seeds are not negative, also where they are read with a sign.
                    *place = seed.wrapping_add(i) & (u64::MAX >> 1);
                }
                self.memory.write(self.layout.offsets.seeds, &self.seeds);
                self.worker.order(SEEDED_RESET)?;
            }
            None => {
                self.accounts.fill(Account::new(self.limit));
                self.worker.order(RESET)?;
            }
        }
        self.read(self.layout.offsets.observations, &mut observations);
        self.check(0, observations.view())
    }

    fn step(&mut self, actions: &[f32], mut out: StepRow<'_>, finished: &mut Vec<Episode>) -> Result<(), EnvError> {
        let size = self.observation_space.size();
        self.steps += 1;
        self.actions.copy_from_slice(actions);
        for (i, action) in self.actions.chunks_exact_mut(self.action_space.size()).enumerate() {
            let fits = match &self.action_space {
                Space::Box { .. } => self.action_space.clip(action),
                Space::Discrete(n) => choice(action, *n).map(drop),
                Space::MultiDiscrete(counts) => {
                    let mut each = counts.iter().zip(action.chunks_exact(1));
                    each.try_for_each(|(&n, number)| choice(number, n).map(drop))
                }
                Space::Image { .. } => unreachable!("actions are choices or numbers"),
            };
            fits.map_err(|error| error.at(i, self.steps))?;
        }
        for (cut, account) in self.cuts.iter_mut().zip(&self.accounts) {
            *cut = u8::from(account.length + 1 >= account.limit);
        }
        let offsets = self.layout.offsets.clone();
        self.memory.write(offsets.actions, &self.actions);
        self.memory.write(offsets.cuts, &self.cuts);
        self.worker.order(STEP)?;
        self.read(offsets.observations, &mut out.observations);
        self.memory.read(offsets.rewards, &mut self.rewards);
        self.memory.read(offsets.terminated, &mut self.ends[0]);
        self.memory.read(offsets.truncated, &mut self.ends[1]);
        self.memory.read(offsets.episode_over, &mut self.ends[2]);
        self.check(0, out.observations.view())?;
        for i in 0..self.n {
            let reward = self.rewards[i];
            // One that is finite in 64 bits only would be learned from as an infinite one.
            if !(reward as f32).is_finite() {
                return Err(self.not_finite(i, "a reward", reward));
            }
            let account = &mut self.accounts[i];
            account.episode_return += reward;
            account.length += 1;
            out.rewards[i] = reward as f32;
            out.terminated[i] = self.ends[0][i] != 0;
            out.truncated[i] = self.ends[1][i] != 0 || self.cuts[i] != 0;
            // What is learned from as an end need not be one: a game goes on after a lost life.
            if self.ends[2][i] != 0 || self.cuts[i] != 0 {
                finished.push(Episode {
                    env: i,
                    episode_return: account.episode_return,
                    length: account.length,
                    counted: account.limit == self.limit,
                });
                self.accounts[i] = Account::new(self.limit);
            }
            if out.terminated[i] || out.truncated[i] {
                let row = i * size..(i + 1) * size;
                match self.final_observations.part_mut(row.clone()) {
                    RowsMut::Numbers(numbers) => self.memory.read(offsets.final_observations + 4 * row.start, numbers),
                    RowsMut::Bytes(bytes) => self.memory.read(offsets.final_observations + row.start, bytes),
                }
                self.check(i, self.final_observations.part(row))?;
            }
        }
        Ok(())
    }

    fn stagger(&mut self) {
        if self.limit != u32::MAX {
            for (i, account) in (1..).zip(&mut self.accounts) {
                account.limit = (u64::from(self.limit) * i / self.n as u64).max(1) as u32;
            }
        }
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn set_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    fn final_observations(&self) -> &Observations {
        &self.final_observations
    }

    fn worker_id(&self) -> u32 {
        self.worker.id()
    }

    fn worker_cpu_seconds(&self) -> f64 {
        self.worker.cpu_seconds()
    }
}
