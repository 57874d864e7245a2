//! Tasks on the Box2D engine, with Gymnasium 1.4's definitions: a walker with two legs and a lander on the moon.
//!
//! The engine is Box2D 2.3.1 (the crate `wrapped2d`), Gymnasium's is 2.3.0: from the same seed both draw the same
//! terrain and begin with the same state. The lander goes the same way, bit for bit, until it touches the ground. Then
//! its body is moved to the moment of the impact (`b2Sweep::Advance`), by `c0 += beta * (c - c0)` in 2.3.1 and by `c0 =
//! (1 - beta) * c0 + beta * c` in 2.3.0: the same point, rounded otherwise. Of 300 flights of a simple pilot, under
//! five sets of options, 152 stayed equal to their last bit, 289 within 1e-3, and 11 parted by up to 1, because a leg
//! that only just touches does so in one of them. With that one formula of 2.3.0 put into 2.3.1, 300 of 300 flights of
//! Gymnasium's own heuristic (150 with wind) were equal to the last bit, and without it 128. A walker touches the
//! ground from its first step on, so it is off by a last bit there and by up to 1e-3 fifty steps later.
//!
//! Every episode has a world of its own. Gymnasium's lander makes one for every episode too, but its walker keeps one.
//! Measured there, with 20 seeds and the same actions: in a kept world that has seen three episodes the contacts are in
//! another order from the first step on, and 13 of 20 walks part from those in a fresh one; when the world is made anew
//! before the walk, all 20 are equal bit for bit. Returns and lengths of 300 random walks in one kept world and in 300
//! fresh ones could not be told apart (Kolmogorov and Smirnov's p is 0.999 and 0.893, with obstacles 0.640 and 0.936).
//!
//! A task is a [`Simulation`] (what the world is made of, what an action does, what is observed and rewarded);
//! [`Replayed`] makes an [`Env`](crate::Env) of it, whose exact state is its seed and its actions.

mod bipedal_walker;
mod engine;
mod lunar_lander;
mod replayed;
mod terrain;
mod wind;

pub use bipedal_walker::BipedalWalker;
pub use lunar_lander::{Conditions, LunarLander};
pub use replayed::{Replayed, Simulation};

use crate::{Color, Scene, TaskSpec};

/// The entries of the registry.
pub(crate) fn tasks() -> Vec<TaskSpec> {
    [bipedal_walker::tasks(), lunar_lander::tasks()].concat()
}

/// Steps per second.
const FPS: f64 = 50.0;
/// The earth's gravity, roughly.
const GRAVITY: f64 = -10.0;
/// Pixels of Gymnasium's picture per unit of the world; most lengths are given in pixels.
const SCALE: f64 = 30.0;
/// The part of the world that is seen.
const VIEW: [f64; 2] = [600.0 / SCALE, 400.0 / SCALE];

/// Draws a flag on its pole.
fn flag(scene: &mut Scene, [x, y]: [f32; 2], pole: Color, cloth: Color) {
    let pixel = 1.0 / SCALE as f32;
    let top = y + 50.0 * pixel;
    scene.line([x, y], [x, top], pixel, pole);
    let tip = [x + 25.0 * pixel, top - 5.0 * pixel];
    scene.polygon(&[[x, top], [x, top - 10.0 * pixel], tip], cloth);
}
