//! One foreign environment behind the interface of all others.

use super::Bridge;
use crate::vec_env::{Foreign, StepRow};
use crate::{Env, EnvError, Observations, Options, Picture, RowShape, Rows, Space, Step};

/// One copy of a foreign task; its worker starts with the first reset.
pub(crate) struct ForeignEnv {
    id: String,
    options: Options,
    /// Of observations and of actions.
    spaces: [Space; 2],
    bridge: Option<Bridge>,
    /// Whether its worker is to be able to show it.
    filmed: bool,
    /// The present observation.
    shown: Observations,
    /// The first observation of the episode that has already begun, because the one before has ended.
    next: Option<Observations>,
    finished: Vec<crate::Episode>,
}

impl ForeignEnv {
    pub fn new(id: &str, options: &Options, spaces: [Space; 2]) -> Self {
        Self {
            id: id.to_string(),
            options: options.clone(),
            shown: Observations::new(RowShape::from(&spaces[0]), 1),
            spaces,
            bridge: None,
            filmed: false,
            next: None,
            finished: Vec::new(),
        }
    }

    /// Writes the present observation as numbers, unless only its bytes are wanted.
    fn show(&self, observation: &mut [f32]) {
        match self.shown.all() {
            Rows::Numbers(numbers) => observation.copy_from_slice(numbers),
            Rows::Bytes(bytes) => {
                let pairs = observation.iter_mut().zip(bytes);
                pairs.for_each(|(number, &byte)| *number = byte.into());
            }
        }
    }
}

impl Env for ForeignEnv {
    fn observation_space(&self) -> &Space {
        &self.spaces[0]
    }

    fn action_space(&self) -> &Space {
        &self.spaces[1]
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        let (bridge, first) = match &mut self.bridge {
            Some(bridge) => (bridge, false),
            none => {
                let bridge = Bridge::new(&self.id, &self.options, Some(&self.spaces), 1, &self.id, self.filmed)?;
                (none.insert(bridge), true)
            }
        };
        bridge.limit = u32::MAX;
        bridge.accounts[0].limit = u32::MAX;
        match (seed, self.next.take()) {
            (None, Some(begun)) => self.shown = begun,
            (None, None) if first => bridge.reset(Some(0), self.shown.all_mut())?,
            (seed, _) => bridge.reset(seed, self.shown.all_mut())?,
        }
        self.show(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let bridge = self
            .bridge
            .as_mut()
            .expect("an environment is reset before it is stepped");
        let (mut reward, mut terminated, mut truncated) = ([0.0], [false], [false]);
        let out = StepRow {
            observations: self.shown.all_mut(),
            rewards: &mut reward,
            terminated: &mut terminated,
            truncated: &mut truncated,
        };
        bridge.step(action, out, &mut self.finished)?;
        // Whoever plays one environment plays whole games: a lost life is no end here.
        let over = !self.finished.is_empty();
        let step = Step {
            reward: bridge.rewards[0],
            terminated: terminated[0] && over,
            truncated: truncated[0],
        };
        if over {
            self.finished.clear();
            self.next = Some(std::mem::replace(&mut self.shown, bridge.final_observations().clone()));
        }
        self.show(observation);
        Ok(step)
    }

    fn image(&self, pixels: &mut [u8]) {
        if let Rows::Bytes(bytes) = self.shown.all() {
            pixels.copy_from_slice(bytes);
        }
    }

    fn film(&mut self) {
        self.filmed = true;
    }

    fn picture(&mut self) -> Result<Option<Picture>, EnvError> {
        match &mut self.bridge {
            // The worker has begun the next episode already where one has ended.
            Some(bridge) if self.filmed => bridge.look(self.next.is_some()),
            _ => Ok(None),
        }
    }

    fn steps_per_second(&self) -> f64 {
        let said = self.bridge.as_ref().and_then(|bridge| bridge.fps);
        said.unwrap_or(50.0)
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Err(EnvError::InvalidState(format!(
            "the state of {} cannot be saved; begin a new episode instead",
            self.id
        )))
    }
}
