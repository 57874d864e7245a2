//! `HalfCheetah`: run fast on two legs, in a plane. Versions 4 and 5 are the same with their default options.

use super::env::{Definition, Reset};
use super::picture::View;
use super::planar::{PLANAR, of_version_4, task};
use super::terms::Terms;
use crate::TaskSpec;

const JOINTS: [&str; 9] = [
    "the front tip (x)",
    "the front tip (z)",
    "the front tip (angle)",
    "back thigh",
    "back shin",
    "back foot",
    "front thigh",
    "front shin",
    "front foot",
];

pub(super) const V5: Definition = Definition {
    id: "HalfCheetah-v5",
    model: "half_cheetah.xml",
    sizes: [9, 9, 6, 8],
    terms: Terms {
        frame_skip: 5,
        noise: 0.1,
        control: 0.1,
        ..Terms::NONE
    },
    reset: Reset::Normal,
    view: View {
        target: [0.1, 0.0, 0.5],
        distance: 2.5,
        ..View::BESIDE
    },
    ..PLANAR
};

pub(super) const V4: Definition = Definition {
    id: "HalfCheetah-v4",
    options: of_version_4(&V5),
    ..V5
};

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        summary: "Make a flat two-legged cheetah run forward as fast as it can.".into(),
        reward: "forward speed - 0.1 |action|^2.".into(),
        reward_threshold: Some(4800.0),
        ..task(&V5, &JOINTS, 1)
    };
    vec![V4.version_of(&v5), v5]
}
