//! The numbers in a task's definition that Gymnasium lets a user change: weights, ranges and what is observed.

use crate::options::{Limit, OptionValue, Options, TaskOption};

/// Every such number of every task; a task leaves those that it does not have at [`Terms::NONE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub frame_skip: usize,
    pub noise: f64,
    pub forward: f64,
    /// What the squared controls cost.
    pub control: f64,
    /// What the squared external forces cost.
    pub contact: f64,
    /// The bounds of that cost.
    pub contact_cost: [f64; 2],
    /// The bounds of each external force.
    pub force: [f64; 2],
    pub distance: f64,
    pub near: f64,
    pub healthy: f64,
    pub terminate: bool,
    pub healthy_state: [f64; 2],
    pub healthy_z: [f64; 2],
    pub healthy_angle: [f64; 2],
    /// Whether the position along the ground is left out of the observation.
    pub exclude_positions: bool,
    /// Whether external forces are charged for and observed in version 4 of the ant.
    pub use_forces: bool,
    pub inertia: bool,
    pub velocity: bool,
    pub actuators: bool,
    pub external: bool,
    /// Accepted and not used, as in Gymnasium.
    pub unused: f64,
}

impl Terms {
    /// Nothing weighs anything, and everything is observed.
    pub const NONE: Terms = Terms {
        frame_skip: 1,
        noise: 0.0,
        forward: 1.0,
        control: 0.0,
        contact: 0.0,
        contact_cost: [f64::NEG_INFINITY, 10.0],
        force: [-1.0, 1.0],
        distance: 1.0,
        near: 0.0,
        healthy: 0.0,
        terminate: true,
        healthy_state: [-100.0, 100.0],
        healthy_z: [f64::NEG_INFINITY, f64::INFINITY],
        healthy_angle: [f64::NEG_INFINITY, f64::INFINITY],
        exclude_positions: true,
        use_forces: false,
        inertia: true,
        velocity: true,
        actuators: true,
        external: true,
        unused: 1.0,
    };

    /// These terms with what the options say instead.
    pub fn with(mut self, options: &Options) -> Self {
        for (option, value) in options.all() {
            match (self.slot(option.name), value) {
                (Some((Slot::Flag(slot), _)), OptionValue::Flag(flag)) => *slot = flag,
                (Some((Slot::Count(slot), _)), OptionValue::Count(count)) => *slot = count,
                (Some((Slot::Number(slot), _)), OptionValue::Number(number)) => *slot = number,
                (Some((Slot::Range(slot), _)), OptionValue::Range(range)) => *slot = range,
                // Names are looked up in the model by whoever opens it.
                _ => (),
            }
        }
        self
    }

    /// The options of these names, whose defaults are these terms.
    pub fn declare(mut self, model: &'static str, names: &[&'static str]) -> Vec<TaskOption> {
        names.iter().map(|name| self.option(model, name)).collect()
    }

    fn option(&mut self, model: &'static str, name: &'static str) -> TaskOption {
        let Some((slot, meaning)) = self.slot(name) else {
            return match name {
                "main_body" => TaskOption::new(
                    name,
                    OptionValue::Text("1"),
                    "The body whose speed counts as forward speed, by its number or name",
                ),
                _ => TaskOption::new(
                    name,
                    OptionValue::Text(model),
                    "The model: one of Gymnasium's, or a path that begins with ., / or ~",
                ),
            };
        };
        let default = match slot {
            Slot::Flag(flag) => OptionValue::Flag(*flag),
            Slot::Count(count) => OptionValue::Count(*count),
            Slot::Number(number) => OptionValue::Number(*number),
            Slot::Range(range) => OptionValue::Range(*range),
        };
        TaskOption {
            limit: match name {
                "reset_noise_scale" => Limit::NotNegative,
                _ => Limit::Any,
            },
            ..TaskOption::new(name, default, meaning)
        }
    }

    /// Where an option's value is kept, and what it means.
    fn slot(&mut self, name: &str) -> Option<(Slot<'_>, &'static str)> {
        use Slot::{Count, Flag, Number, Range};
        Some(match name {
            "frame_skip" => (
                Count(&mut self.frame_skip),
                "Steps of the simulation per step of the task",
            ),
            "reset_noise_scale" => (
                Number(&mut self.noise),
                "How far an episode begins from the model's start",
            ),
            "forward_reward_weight" => (Number(&mut self.forward), "Weight of the forward speed"),
            "ctrl_cost_weight" | "reward_control_weight" => {
                (Number(&mut self.control), "Weight of the squared controls, which cost")
            }
            "contact_cost_weight" | "impact_cost_weight" => (
                Number(&mut self.contact),
                "Weight of the squared external forces, which cost",
            ),
            "contact_cost_range" | "impact_cost_range" => {
                (Range(&mut self.contact_cost), "Bounds of what external forces cost")
            }
            "contact_force_range" => (Range(&mut self.force), "Bounds that each external force is clipped to"),
            "reward_dist_weight" => (
                Number(&mut self.distance),
                "Weight of the distance to the target, which costs",
            ),
            "reward_near_weight" => (
                Number(&mut self.near),
                "Weight of the distance of tip and cylinder, which costs",
            ),
            "healthy_reward" => (Number(&mut self.healthy), "Reward of every step in a healthy state"),
            "terminate_when_unhealthy" => (Flag(&mut self.terminate), "Whether an unhealthy state ends the episode"),
            "healthy_state_range" => (
                Range(&mut self.healthy_state),
                "Healthy values of everything but x and z",
            ),
            "healthy_z_range" => (Range(&mut self.healthy_z), "Healthy heights of the torso"),
            "healthy_angle_range" => (Range(&mut self.healthy_angle), "Healthy angles of the torso"),
            "exclude_current_positions_from_observation" => (
                Flag(&mut self.exclude_positions),
                "Whether the place on the ground is not observed",
            ),
            "use_contact_forces" => (
                Flag(&mut self.use_forces),
                "Whether external forces are observed and cost",
            ),
            "include_cinert_in_observation" => (Flag(&mut self.inertia), "Whether inertias are observed"),
            "include_cvel_in_observation" => (Flag(&mut self.velocity), "Whether velocities of bodies are observed"),
            "include_qfrc_actuator_in_observation" => (
                Flag(&mut self.actuators),
                "Whether forces of the actuators are observed",
            ),
            "include_cfrc_ext_in_observation" => (Flag(&mut self.external), "Whether external forces are observed"),
            "uph_cost_weight" => (Number(&mut self.unused), "Without effect, as in Gymnasium 1.4"),
            _ => return None,
        })
    }
}

/// Where the value of an option is kept.
enum Slot<'a> {
    Flag(&'a mut bool),
    Count(&'a mut usize),
    Number(&'a mut f64),
    Range(&'a mut [f64; 2]),
}

/// Whether a number lies between the bounds and is none of them.
pub(super) fn inside(range: [f64; 2], x: f64) -> bool {
    range[0] < x && x < range[1]
}
