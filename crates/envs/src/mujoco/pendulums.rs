//! `InvertedPendulum` and `InvertedDoublePendulum`: keep one pole, or two on top of each other, upright on a cart.
//!
//! Version 4 pays the bonus for an upright pole at the step that ends the episode too; version 5 does not. Version 5 of
//! the double one observes the constraint force on the cart only; that on the poles is always zero.

use std::hint::black_box;

use super::env::{Definition, Moment, Reset, State};
use super::library::Array;
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
use crate::TaskSpec;

pub(super) const SINGLE_V5: Definition = Definition {
    id: "InvertedPendulum-v5",
    model: "inverted_pendulum.xml",
    sizes: [2, 2, 1, 3],
    extensible: false,
    sites: 0,
    terms: Terms {
        frame_skip: 2,
        noise: 0.01,
        ..Terms::NONE
    },
    options: &["xml_file", "frame_skip", "reset_noise_scale"],
    forces: |_| false,
    bodies: &[],
    reset: Reset::Uniform,
    measure: |_| 0.0,
    observe: |state, row| {
        row.extend(state.get(Array::Qpos));
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| {
        let over = fallen(moment);
        (if over { 0.0 } else { 1.0 }, over)
    },
    view: View {
        target: [0.0, 0.0, 0.25],
        follow: [false; 3],
        turn: 8.0,
        distance: 2.1,
        ..View::BESIDE
    },
};

pub(super) const SINGLE_V4: Definition = Definition {
    id: "InvertedPendulum-v4",
    options: &[],
    judge: |moment| (1.0, fallen(moment)),
    ..SINGLE_V5
};

/// The pole leans too far, or a number is not finite.
fn fallen(moment: &Moment<'_>) -> bool {
    let (qpos, qvel) = (moment.get(Array::Qpos), moment.get(Array::Qvel));
    !qpos.iter().chain(qvel).all(|x| x.is_finite()) || qpos[1].abs() > 0.2
}

pub(super) const DOUBLE_V5: Definition = Definition {
    id: "InvertedDoublePendulum-v5",
    model: "inverted_double_pendulum.xml",
    sizes: [3, 3, 1, 4],
    extensible: false,
    sites: 1,
    terms: Terms {
        frame_skip: 5,
        noise: 0.1,
        healthy: 10.0,
        ..Terms::NONE
    },
    options: &["xml_file", "frame_skip", "healthy_reward", "reset_noise_scale"],
    forces: |_| false,
    bodies: &[],
    reset: Reset::Normal,
    measure: |_| 0.0,
    observe: |state, row| observe(state, row, 1),
    judge: |moment| judge(moment, 0.0),
    view: View {
        target: [0.0, 0.0, 0.5],
        follow: [false; 3],
        turn: 8.0,
        distance: 3.2,
        ..View::BESIDE
    },
};

pub(super) const DOUBLE_V4: Definition = Definition {
    id: "InvertedDoublePendulum-v4",
    options: &[],
    observe: |state, row| observe(state, row, 3),
    judge: |moment| judge(moment, 10.0),
    ..DOUBLE_V5
};

/// The last part are the constraint forces on the first few joints.
fn observe(state: &State<'_>, row: &mut Vec<f64>, forces: usize) {
    let clipped = |x: &f64| x.clamp(-10.0, 10.0);
    let qpos = state.get(Array::Qpos);
    row.push(qpos[0]);
    row.extend(qpos[1..].iter().map(|angle| angle.sin()));
    row.extend(qpos[1..].iter().map(|angle| angle.cos()));
    row.extend(state.get(Array::Qvel).iter().map(clipped));
    row.extend(state.get(Array::QfrcConstraint)[..forces].iter().map(clipped));
}

/// 10 while the tip is up (`last` at the step when it no longer is), less what the tip is off and how fast the poles
/// are.
fn judge(moment: &Moment<'_>, last: f64) -> (f64, bool) {
    // Python's x**2 calls the C library, which may round differently from a product; the exponent is hidden from the
    // compiler, which would turn the call into one.
    let square = |x: f64| x.powf(black_box(2.0));
    let (tip, velocity) = (moment.get(Array::SiteXpos), moment.get(Array::Qvel));
    let over = tip[2] <= 1.0;
    let distance = 0.01 * square(tip[0]) + square(tip[2] - 2.0);
    let speed = 1e-3 * square(velocity[1]) + 5e-3 * square(velocity[2]);
    let bonus = if over { last } else { moment.terms().healthy };
    (bonus - distance - speed, over)
}

pub(super) fn tasks() -> Vec<TaskSpec> {
    let single = TaskSpec {
        summary: "Keep a pole upright on a cart by pushing the cart with the right force.".into(),
        observation: Table::new()
            .named(&["cart position", "pole angle", "cart velocity", "pole angular velocity"])
            .entries(),
        action: Table::new().within("force", &["the cart"], 3.0).entries(),
        reward: "1 for every step at whose end the pole leans less than 0.2.".into(),
        max_episode_steps: 1000,
        reward_threshold: Some(950.0),
        ..SINGLE_V5.task()
    };
    let table = |constrained: &[&str]| {
        let poles = ["the lower pole", "the upper pole"];
        Table::new()
            .named(&["cart position"])
            .each("sine of the angle", &poles)
            .each("cosine of the angle", &poles)
            .each("velocity", &["the cart", "the lower pole", "the upper pole"])
            .each("constraint force", constrained)
            .entries()
    };
    let double = TaskSpec {
        summary: "Keep two poles on top of each other upright on a cart.".into(),
        observation: table(&["the cart"]),
        action: Table::new().within("force", &["the cart"], 1.0).entries(),
        reward: "10 while the tip is up - 0.01 x^2 - (y - 2)^2 of the tip - what the poles' speeds cost.".into(),
        max_episode_steps: 1000,
        reward_threshold: Some(9100.0),
        ..DOUBLE_V5.task()
    };
    vec![
        TaskSpec {
            reward: "1 for every step until the pole leans more than 0.2.".into(),
            ..SINGLE_V4.version_of(&single)
        },
        TaskSpec {
            observation: table(&["the cart", "the lower pole", "the upper pole"]),
            reward: "10 - 0.01 x^2 - (y - 2)^2 of the tip - what the poles' speeds cost, until the tip is down.".into(),
            ..DOUBLE_V4.version_of(&double)
        },
        single,
        double,
    ]
}
