//! A corridor: every step costs 1 until its end is reached.

use epgt::envs::{Env, EnvError, Space, Step, decode_state, encode_state};
use epgt::rng::Pcg64;

const LENGTH: u64 = 9;

pub struct Corridor {
    observation: Space,
    action: Space,
    rng: Pcg64,
    cell: u64,
}

impl Corridor {
    pub fn new() -> Self {
        Self {
            observation: Space::Box {
                low: vec![0.0],
                high: vec![LENGTH as f32],
            },
            action: Space::Discrete(2),
            rng: Pcg64::from_seed(0),
            cell: 0,
        }
    }
}

impl Env for Corridor {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        self.cell = self.rng.below(LENGTH);
        observation[0] = self.cell as f32;
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        self.action.check_action(action)?;
        self.cell = match action[0] > 0.5 {
            true => self.cell + 1,
            false => self.cell.saturating_sub(1),
        };
        observation[0] = self.cell as f32;
        Ok(Step {
            reward: -1.0,
            terminated: self.cell == LENGTH,
            truncated: false,
        })
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.cell))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        (self.rng, self.cell) = decode_state(state)?;
        Ok(())
    }
}
