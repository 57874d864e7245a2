//! `Swimmer`: three links swim through a thick fluid, seen from above. Versions 4 and 5 are the same with their default
//! options.

use super::env::Definition;
use super::library::Array;
use super::picture::View;
use super::planar::{PLANAR, of_version_4, task};
use super::terms::Terms;
use crate::TaskSpec;

const JOINTS: [&str; 5] = [
    "the front tip (x)",
    "the front tip (y)",
    "the front tip (angle)",
    "the first joint",
    "the second joint",
];

pub(super) const V5: Definition = Definition {
    id: "Swimmer-v5",
    model: "swimmer.xml",
    sizes: [5, 5, 2, 4],
    terms: Terms {
        frame_skip: 4,
        noise: 0.1,
        control: 1e-4,
        ..Terms::NONE
    },
    observe: |state, row| {
        row.extend(state.positions(2));
        row.extend(state.get(Array::Qvel));
    },
    view: View {
        target: [0.0, 0.0, 0.0],
        follow: [true, true, false],
        distance: 4.6,
        turn: 0.0,
        height: 48.0,
        ..View::BESIDE
    },
    ..PLANAR
};

pub(super) const V4: Definition = Definition {
    id: "Swimmer-v4",
    options: of_version_4(&V5),
    ..V5
};

pub(super) fn tasks() -> Vec<TaskSpec> {
    let v5 = TaskSpec {
        summary: "Make three links swim forward through a thick fluid.".into(),
        reward: "forward speed - 0.0001 |action|^2.".into(),
        reward_threshold: Some(360.0),
        ..task(&V5, &JOINTS, 2)
    };
    vec![V4.version_of(&v5), v5]
}
