//! Reinforcement-learning tasks with Gymnasium's meaning.
//!
//! A task is known by its versioned id ([`tasks`], [`find`], [`make`]); an [`Env`] is one copy of it that is reset and
//! stepped; a [`VecEnv`] steps many copies into contiguous rows and begins new episodes by itself; a [`Normalizer`]
//! keeps running statistics of what they return. [`check`] is the test that every environment passes.
//!
//! An observation is a row of `f32`, or an image of bytes ([`Rows`]). An action is a row of `f32`: a discrete one is
//! its index as a number.
//!
//! ```
//! let mut env = epgt_envs::make("CartPole-v1")?;
//! let mut observation = [0.0; 4];
//! env.reset(Some(1), &mut observation)?;
//! let step = env.step(&[1.0], &mut observation)?;
//! assert_eq!(step.reward, 1.0);
//! # Ok::<(), epgt_envs::EnvError>(())
//! ```
//!
//! # Features
//!
//! None is on by default, so that the crate compiles without a C++ compiler and runs without Python; [`find`] refuses a
//! task whose family is missing.
//!
//! | feature | tasks | needs |
//! | --- | --- | --- |
//! | `box2d` | `BipedalWalker`, `LunarLander` | a C++ compiler and CMake, to build |
//! | `mujoco` | `Ant`, `HalfCheetah`, `Hopper`, `Humanoid` and others | MuJoCo, to run |
//! | `gymnasium` | `gym:ID` and Atari's games | Python with Gymnasium or ale-py, to run; Linux |
//!
//! Box2D is built by the crate `wrapped2d` with CMake, whose settings are taken from the environment of `cargo`; a
//! crate cannot give them to another one. CMake 4 and newer refuses Box2D's old build files unless
//! `CMAKE_POLICY_VERSION_MINIMUM` is `3.5`: export it, or put `CMAKE_POLICY_VERSION_MINIMUM = "3.5"` below `[env]` into
//! the `.cargo/config.toml` of your project. Two flags for speed, which change no bit of any result, are worth having
//! beside it: `CXXFLAGS = "-U__linux__ -fno-if-conversion -fno-if-conversion2"` (Box2D then does not read the clock in
//! every step, and its solver branches instead of waiting for both sides).
//!
//! # An environment of your own
//!
//! Implement [`Env`], have [`check`] try it out, and make a task of it with [`TaskSpec::new`]; whatever takes a task
//! takes yours.
//!
//! ```
//! use epgt_envs::{Env, EnvError, Space, Step, StepRow, TaskSpec, VecEnv, check, decode_state, encode_state};
//! use epgt_rng::Pcg64;
//!
//! /// A corridor of nine cells whose last one is the exit.
//! struct Corridor {
//!     observation_space: Space,
//!     action_space: Space,
//!     rng: Pcg64,
//!     cell: u32,
//! }
//!
//! impl Corridor {
//!     fn new() -> Self {
//!         Corridor {
//!             observation_space: Space::Box { low: vec![0.0], high: vec![8.0] },
//!             action_space: Space::Discrete(2),
//!             rng: Pcg64::from_seed(0),
//!             cell: 0,
//!         }
//!     }
//! }
//!
//! impl Env for Corridor {
//!     fn observation_space(&self) -> &Space {
//!         &self.observation_space
//!     }
//!
//!     fn action_space(&self) -> &Space {
//!         &self.action_space
//!     }
//!
//!     fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), EnvError> {
//!         if let Some(seed) = seed {
//!             self.rng = Pcg64::from_seed(seed);
//!         }
//!         self.cell = self.rng.below(8) as u32;
//!         observation[0] = self.cell as f32;
//!         Ok(())
//!     }
//!
//!     fn step(&mut self, action: &[f32], observation: &mut [f32]) -> Result<Step, EnvError> {
//!         self.action_space.check_action(action)?;
//!         self.cell = match action[0] {
//!             0.0 => self.cell.saturating_sub(1),
//!             _ => (self.cell + 1).min(8),
//!         };
//!         observation[0] = self.cell as f32;
//!         let terminated = self.cell == 8;
//!         Ok(Step { reward: if terminated { 1.0 } else { -0.01 }, terminated, truncated: false })
//!     }
//!
//!     fn save(&self) -> Vec<u8> {
//!         encode_state(&(&self.rng, self.cell))
//!     }
//!
//!     fn restore(&mut self, state: &[u8]) -> Result<(), EnvError> {
//!         (self.rng, self.cell) = decode_state(state)?;
//!         Ok(())
//!     }
//! }
//!
//! check(&mut Corridor::new())?;
//! let task = TaskSpec::new("Corridor-v0", Corridor::new)
//!     .with_summary("Leave a corridor to the right.")
//!     .with_max_episode_steps(100);
//! let mut envs = VecEnv::new(&task, 2, 0)?;
//! let (mut observations, mut rewards) = ([0.0; 2], [0.0; 2]);
//! let (mut terminated, mut truncated) = ([false; 2], [false; 2]);
//! envs.reset(&mut observations)?;
//! while envs.finished().is_empty() {
//!     let out = StepRow {
//!         observations: (&mut observations).into(),
//!         rewards: &mut rewards,
//!         terminated: &mut terminated,
//!         truncated: &mut truncated,
//!     };
//!     // To the right in both.
//!     envs.step(&[1.0, 1.0], out)?;
//! }
//! assert!(terminated.contains(&true));
//! # Ok::<(), epgt_envs::EnvError>(())
//! ```

#[cfg(feature = "gymnasium")]
pub mod atari;
#[cfg(feature = "box2d")]
pub mod box2d;
#[cfg(any(feature = "gymnasium", feature = "mujoco"))]
mod cache;
mod checker;
pub mod classic;
mod env;
mod error;
mod families;
mod group;
#[cfg(feature = "gymnasium")]
pub mod gymnasium;
#[cfg(feature = "mujoco")]
pub mod mujoco;
mod normalizer;
mod options;
mod picture;
pub mod pixels;
mod pool;
mod registry;
mod rows;
mod scene;
mod space;
mod time_limit;
mod vec_env;

pub use checker::check;
pub use env::{Env, Step, decode_state, encode_state};
pub use error::EnvError;
pub use normalizer::Normalizer;
pub use options::{Limit, OptionValue, Options, TaskOption};
pub use picture::Picture;
pub use registry::{Build, Entry, TaskSpec, family, find, make, tasks};
pub use rows::{Observations, RowShape, Rows, RowsMut};
pub use scene::{Color, Scene, Shape};
pub use space::Space;
pub use time_limit::TimeLimit;
pub use vec_env::{Episode, StepRow, VecEnv, ended_worker_cpu_seconds};
