//! What the bodies that move in a plane share: `HalfCheetah`, `Hopper`, `Swimmer` and `Walker2d` earn their speed along
//! x and pay for their controls.

use super::env::{Definition, Moment, Reset};
use super::library::Array;
use super::numpy::control_cost;
use super::picture::View;
use super::tables::Table;
use super::terms::Terms;
use crate::TaskSpec;

/// What a definition says where it says nothing else.
pub(super) const PLANAR: Definition = Definition {
    id: "",
    model: "",
    sizes: [0; 4],
    extensible: true,
    sites: 0,
    terms: Terms::NONE,
    options: &[
        "xml_file",
        "frame_skip",
        "forward_reward_weight",
        "ctrl_cost_weight",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ],
    forces: |_| false,
    bodies: &[],
    reset: Reset::Uniform,
    measure: |state| state.get(Array::Qpos)[0],
    observe: |state, row| {
        row.extend(state.positions(1));
        row.extend(state.get(Array::Qvel));
    },
    judge: |moment| judge(moment, (0.0, false)),
    view: View::BESIDE,
};

/// The same for a body that can fall.
pub(super) const UPRIGHT: Definition = Definition {
    observe: |state, row| {
        row.extend(state.positions(1));
        row.extend(state.get(Array::Qvel).iter().map(|x| x.clamp(-10.0, 10.0)));
    },
    terms: Terms {
        frame_skip: 4,
        noise: 5e-3,
        control: 1e-3,
        healthy: 1.0,
        ..Terms::NONE
    },
    ..PLANAR
};

/// The options of version 4, whose model and frame skip cannot be chosen.
pub(super) const fn of_version_4(version_5: &Definition) -> &'static [&'static str] {
    version_5.options.split_at(2).1
}

/// The reward, with the bonus for a healthy state, and whether the episode is over.
pub(super) fn judge(moment: &Moment<'_>, (bonus, over): (f64, bool)) -> (f64, bool) {
    let terms = moment.terms();
    let cost = control_cost(terms.control, moment.action);
    (terms.forward * moment.speed() + bonus - cost, over)
}

/// The task of a definition. The positions of the first `hidden` joints are not observed; the first three joints are
/// the body's own, and have no motor.
pub(super) fn task(definition: &'static Definition, joints: &[&str], hidden: usize) -> TaskSpec {
    TaskSpec {
        observation: Table::new()
            .each("position", &joints[hidden..])
            .each("velocity", joints)
            .entries(),
        action: Table::new().within("torque", &joints[3..], 1.0).entries(),
        max_episode_steps: 1000,
        ..definition.task()
    }
}
