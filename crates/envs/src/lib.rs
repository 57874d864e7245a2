//! Reinforcement-learning tasks with Gymnasium's meaning.
//!
//! A task is known by its versioned id ([`tasks`], [`find`], [`make`]); an [`Env`] is one copy of it that is reset and
//! stepped; a [`VecEnv`] steps many copies into contiguous rows and begins new episodes by itself; a [`Normalizer`]
//! keeps running statistics of what they return. [`check`] is the test that every environment passes.
//!
//! An observation is a row of `f32`, or an image of bytes ([`Rows`]). An action is a row of `f32`: a discrete one is its index as a number.
//!
//! ```
//! let mut env = epgt_envs::make("CartPole-v1")?;
//! let mut observation = [0.0; 4];
//! env.reset(Some(1), &mut observation)?;
//! let step = env.step(&[1.0], &mut observation)?;
//! assert_eq!(step.reward, 1.0);
//! # Ok::<(), epgt_envs::EnvError>(())
//! ```

pub mod atari;
pub mod box2d;
mod checker;
pub mod classic;
mod env;
mod error;
mod group;
pub mod gymnasium;
pub mod mujoco;
mod normalizer;
mod options;
pub mod pixels;
mod pool;
mod registry;
mod rows;
mod scene;
mod space;
mod time_limit;
mod vec_env;

pub use checker::check;
pub use env::{Env, Step};
pub use error::EnvError;
pub use normalizer::Normalizer;
pub use options::{Limit, OptionValue, Options, TaskOption};
pub use registry::{Entry, TaskSpec, family, find, make, tasks};
pub use rows::{Observations, RowShape, Rows, RowsMut};
pub use scene::{Color, Scene, Shape};
pub use space::Space;
pub use time_limit::TimeLimit;
pub use vec_env::{Episode, StepRow, VecEnv};
