//! Trains policy-gradient agents and schedules their hyperparameters while they train.
//!
//! Two agents take turns. The *RL agent* acts in environments and is updated by a policy-gradient method: A2C, PPO or
//! ACKTR. The *hyper-agent* chooses the hyperparameters of each update (learning rate, clipping, batch size, ...) and
//! is rewarded by what the updated policy earns. EPGT's hyper-agent recalls from an episodic memory what came of its
//! choices at similar moments of training; random choice, bandits, DQN, populations and other schedulers are there to
//! compare it with.
//!
//! Use this library to train on a task from a program of your own, to put the hyper-agent around another training loop,
//! or to look at runs that were made before. This crate holds no code: it gives the crates that do the work one name.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`train`] | configurations, the training loop, evaluation, run directories, checkpoints |
//! | [`hyper`] | the hyper-agent: what is scheduled, the episodic memory, the schedulers |
//! | [`pg`] | rollouts, advantages, losses, and the methods A2C, PPO and ACKTR |
//! | [`envs`] | tasks with Gymnasium's meaning, and many copies of one stepped together |
//! | [`nn`] | networks that push gradients back, optimisers, K-FAC |
//! | [`experiments`] | several methods on several tasks and seeds, and how runs compare |
//! | [`report`] | statistics, tables, charts and pages |
//! | [`render`] | pictures and animations of what an environment shows |
//! | [`settings`] | settings that are declared once, for defaults, help, files and parsers |
//! | [`rng`] | seeded randomness that can be saved, equal to NumPy's |
//!
//! # Train and evaluate
//!
//! A [`Config`] is made of assignments, the same as on the command line and in `config.toml`; a [`Trainer`] is
//! everything that learns.
//!
//! ```
//! use epgt::{Assignment, Config, EvalPlan, Trainer, evaluate};
//!
//! let config = Config::build(&[
//!     Assignment::new("task", "CartPole-v1"),
//!     Assignment::new("steps", 2000),
//!     Assignment::new("tune.learning_rate", "log:1e-4..1e-2:5"),
//! ])?;
//! let mut trainer = Trainer::new(&config)?;
//! while !trainer.is_finished() {
//!     trainer.iterate()?;
//! }
//! let plan = EvalPlan { episodes: 3, ..EvalPlan::default() };
//! let evaluation = evaluate(&mut trainer.policy, &trainer.normalizer, &config.task()?, &plan, &mut |_| true)?;
//! assert_eq!(evaluation.map(|played| played.returns.len()), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keep a run in a directory
//!
//! A [`Run`] is a trainer with logs, evaluations and checkpoints around it: the directory that `epgt train` makes. A
//! [`Record`] is what such a directory says, as far as the run has come.
//!
//! ```
//! use epgt::{Assignment, Config, Progress, Record, Run, RunEnd};
//!
//! # let place = tempfile::tempdir()?;
//! # let directory = place.path().join("run");
//! let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2048)])?;
//! let mut run = Run::create(config, &directory, false)?;
//! let end = run.train(&Default::default(), &mut |progress: &Progress| println!("{} steps", progress.steps))?;
//! assert!(matches!(end, RunEnd::Finished(result) if result.steps == 2048));
//! let record = Record::read(&directory)?;
//! assert_eq!(record.column("rollout/ep_rew_mean").len(), record.steps().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Say what runs have come to
//!
//! ```
//! use epgt::report::statistics::{RESAMPLES, bootstrap_interval, mean};
//!
//! let returns = [282.0, 271.5, 290.0];
//! let interval = bootstrap_interval(&returns, RESAMPLES, 0);
//! assert_eq!(format!("{:.1} {interval:.1}", mean(&returns)), "281.2 [271.5, 290.0]");
//! ```
//!
//! # Features
//!
//! Nothing is on by default: without features no C or C++ is compiled and no Python is needed.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `box2d` | BipedalWalker and LunarLander; compiles Box2D, which is C++ and needs CMake |
//! | `mujoco` | Ant, HalfCheetah, Hopper and others, with MuJoCo loaded at run time |
//! | `gymnasium` | the tasks `gym:ID` and Atari's games, stepped by a Python beside the program |
//! | `cuda` | the image network on an NVIDIA GPU, whose libraries are loaded when they are needed |
//!
//! # Where to go on
//!
//! [`train::Config`] explains settings and their layers, [`hyper`] the hyper-agent part by part, [`pg`] a training loop
//! by hand, and [`envs`] how tasks are made. The program for the command line is the package `epgt-cli`.

pub use epgt_envs as envs;
pub use epgt_experiments as experiments;
pub use epgt_hyper as hyper;
pub use epgt_nn as nn;
pub use epgt_pg as pg;
pub use epgt_render as render;
pub use epgt_report as report;
pub use epgt_rng as rng;
pub use epgt_settings as settings;
pub use epgt_train as train;

pub use epgt_train::{
    Assignment, Config, ConfigError, EvalPlan, Evaluation, Policy, Progress, Record, Run, RunEnd, RunError, RunResult,
    SetupError, TrainError, Trainer, Training, evaluate,
};
