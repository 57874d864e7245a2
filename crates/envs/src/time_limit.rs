//! Cuts episodes that take too long.

use crate::env::{decode_state, encode_state};
use crate::{Env, EnvError, Picture, Scene, Space, Step};

/// An environment whose episodes are truncated after a number of steps.
///
/// ```
/// use epgt_envs::{Env, TimeLimit, classic::Pendulum};
/// let mut env = TimeLimit::new(Box::new(Pendulum::new()), 2);
/// let mut observation = [0.0; 3];
/// env.reset(Some(0), &mut observation)?;
/// assert!(!env.step(&[0.0], &mut observation)?.truncated);
/// assert!(env.step(&[0.0], &mut observation)?.truncated);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct TimeLimit {
    env: Box<dyn Env>,
    limit: u32,
    elapsed: u32,
}

impl TimeLimit {
    /// Limits the episodes of `env` to `limit` steps.
    pub fn new(env: Box<dyn Env>, limit: u32) -> Self {
        TimeLimit { env, limit, elapsed: 0 }
    }
}

impl Env for TimeLimit {
    fn observation_space(&self) -> &Space {
        self.env.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        self.elapsed = 0;
        self.env.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let mut step = self.env.step(action, observation)?;
        self.elapsed += 1;
        step.truncated |= self.elapsed >= self.limit;
        Ok(step)
    }

    fn image(&self, pixels: &mut [u8]) {
        self.env.image(pixels);
    }

    fn scene(&self) -> Option<Scene> {
        self.env.scene()
    }

    fn film(&mut self) {
        self.env.film();
    }

    fn picture(&mut self) -> Result<Option<Picture>, EnvError> {
        self.env.picture()
    }

    fn steps_per_second(&self) -> f64 {
        self.env.steps_per_second()
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(self.elapsed, self.env.save()))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let (elapsed, env): (u32, Vec<u8>) = decode_state(state)?;
        self.env.restore(&env)?;
        self.elapsed = elapsed;
        Ok(())
    }
}
