//! `PixelCatch-v0`: a ball falls, a paddle moves below it (after the "catch" of Mnih, Heess, Graves and Kavukcuoglu,
//! 2014).
//!
//! This is the program's own test task, not one of Gymnasium's: the smallest task that can only be solved by looking at
//! pixels.

use crate::env::{decode_state, encode_state};
use crate::registry::Entry;
use crate::space::choice;
use crate::{Env, EnvError, Scene, Space, Step, TaskSpec};
use epgt_rng::Pcg64;

/// Cells across and down.
const CELLS: usize = 9;
/// Pixels of a cell's side.
const CELL: usize = 4;
/// Pixels of the image's side, the smallest that the default network can look at.
const SIDE: usize = CELLS * CELL;

const ACTION: &[Entry] = &[
    Entry::choice("paddle left", 0),
    Entry::choice("stay", 1),
    Entry::choice("paddle right", 2),
];

/// The entry of the registry.
pub(crate) fn task() -> TaskSpec {
    TaskSpec {
        summary: "Catch a falling ball with a paddle, seen as pixels: a quick check of image policies.".into(),
        image: Some([1, SIDE, SIDE]),
        action: ACTION.into(),
        reward: "+1 for a ball that is caught and -1 for one that is not, at the end of the episode.".into(),
        max_episode_steps: CELLS as u32,
        reward_threshold: Some(0.9),
        ..TaskSpec::of("PixelCatch-v0", [], |_| Ok(Box::new(Catch::new())))
    }
}

/// A field of 9 by 9 cells. The ball starts in a random column of the top row and falls one row per step; the paddle
/// starts in the middle of the bottom row and moves by at most one column per step. A whole cell of a lit pixel is 255,
/// a dark one 0.
///
/// ```
/// use epgt_envs::{Env, pixels::Catch};
/// let mut catch = Catch::new();
/// catch.reset(Some(0), &mut [])?;
/// let mut pixels = [0; 36 * 36];
/// catch.image(&mut pixels);
/// // Ball and paddle, 16 pixels each.
/// assert_eq!(pixels.iter().filter(|&&pixel| pixel == 255).count(), 32);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub struct Catch {
    observation_space: Space,
    action_space: Space,
    rng: Pcg64,
    /// Column and row of the ball, column of the paddle.
    state: [usize; 3],
}

impl Catch {
    /// The ball above the paddle.
    pub fn new() -> Self {
        Catch {
            observation_space: Space::Image {
                channels: 1,
                height: SIDE,
                width: SIDE,
            },
            action_space: Space::Discrete(ACTION.len()),
            rng: Pcg64::from_seed(0),
            state: [CELLS / 2, 0, CELLS / 2],
        }
    }

    /// The lit cells, as columns and rows.
    fn lit(&self) -> [[usize; 2]; 2] {
        let [column, row, paddle] = self.state;
        [[column, row], [paddle, CELLS - 1]]
    }

    /// Writes the image into a row of numbers or bytes.
    fn draw<T: Copy>(&self, dark: T, light: T, pixels: &mut [T]) {
        if pixels.is_empty() {
            return;
        }
        pixels.fill(dark);
        for [column, row] in self.lit() {
            for y in 0..CELL {
                pixels[(row * CELL + y) * SIDE + column * CELL..][..CELL].fill(light);
            }
        }
    }
}

impl Default for Catch {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for Catch {
    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
        if let Some(seed) = seed {
            self.rng = Pcg64::from_seed(seed);
        }
        self.state = [self.rng.below(CELLS as u64) as usize, 0, CELLS / 2];
        self.draw(0.0, 255.0, observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
        let [column, row, paddle] = self.state;
        let paddle = match choice(action, 3)? {
            0 => paddle.saturating_sub(1),
            1 => paddle,
            _ => (paddle + 1).min(CELLS - 1),
        };
        // A step after the end leaves the ball where it lies.
        let row = (row + 1).min(CELLS - 1);
        self.state = [column, row, paddle];
        self.draw(0.0, 255.0, observation);
        let terminated = row == CELLS - 1;
        let reward = match (terminated, column == paddle) {
            (false, _) => 0.0,
            (true, true) => 1.0,
            (true, false) => -1.0,
        };
        Ok(Step {
            reward,
            terminated,
            truncated: false,
        })
    }

    fn image(&self, pixels: &mut [u8]) {
        self.draw(0, 255, pixels);
    }

    fn scene(&self) -> Option<Scene> {
        let mut scene = Scene::new([0.0, 0.0], [CELLS as f32; 2]);
        scene.background = [0; 3];
        for [column, row] in self.lit() {
            let at = [column as f32, (CELLS - 1 - row) as f32];
            scene.rectangle(at, 0.0, [0.0; 2], [1.0; 2], [255; 3]);
        }
        Some(scene)
    }

    fn steps_per_second(&self) -> f64 {
        8.0
    }

    fn save(&self) -> Vec<u8> {
        encode_state(&(&self.rng, self.state))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
        let (rng, state): (Pcg64, [usize; 3]) = decode_state(state)?;
        if state.iter().any(|&place| place >= CELLS) {
            return Err(EnvError::InvalidState(
                "the saved state does not belong to this task; resume with the task it was saved from".into(),
            ));
        }
        (self.rng, self.state) = (rng, state);
        Ok(())
    }
}
