//! The hyper-agent's settings: every number of the paper's method, and what was added to it.

use epgt_settings::{choice, settings};

use crate::error::HyperError;

choice! {
    /// The value that `fixed` keeps.
    pub enum FixedAt {
        /// The method's own setting.
        Default = "default",
        /// The smallest value of every tuned hyperparameter.
        Min = "min",
        /// The largest value of every tuned hyperparameter.
        Max = "max",
    }
}

choice! {
    /// What turns a hyper-state into a memory key.
    pub enum EncoderKind {
        /// A variational auto-encoder trained online (paper, A.3).
        Vae = "vae",
        /// The same networks at their random initialisation (paper, Fig. 5a).
        Random = "random",
        /// Not the hyper-state at all but the share of training done: the control that tells what the hyper-state adds.
        Clock = "clock",
    }
}

choice! {
    /// How a hyper-return is written into the memory.
    pub enum WriteRule {
        /// Move the nearest neighbours towards it (paper, Eq. 4).
        Average = "average",
        /// Keep the best return of an exact key (paper, B.4).
        Max = "max",
    }
}

choice! {
    /// What is made of the outcome before it is a hyper-return.
    pub enum Transform {
        /// The outcome itself (paper).
        Raw = "raw",
        /// Its change since the previous update phase.
        Improvement = "improvement",
        /// Its distance from the straight line through the recent outcomes.
        Detrended = "detrended",
    }
}

choice! {
    /// Which rollouts of an update phase score it.
    pub enum Window {
        /// The one after its last update (paper, Eq. 1).
        Last = "last",
        /// The mean over those that followed its updates.
        Mean = "mean",
    }
}

choice! {
    /// What has a value of its own.
    pub enum ActionValues {
        /// Every combination of hyperparameter values (paper).
        Joint = "joint",
        /// Every value of every hyperparameter, each judged on its own.
        Factored = "factored",
    }
}

choice! {
    /// Where the next hyper-action may be.
    pub enum Moves {
        /// Anywhere (paper).
        Uniform = "uniform",
        /// At most one step up or down from the current value of each hyperparameter.
        Local = "local",
    }
}

/// For how long a hyper-action is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// This many policy updates; 1 is the paper's.
    Updates(u64),
    /// The whole update phase.
    Phase,
}

impl epgt_settings::Value for Hold {
    fn parse(text: &str) -> Result<Self, epgt_settings::Wanted> {
        match text.trim().trim_matches('"') {
            "phase" => Ok(Self::Phase),
            number => match epgt_settings::Value::parse(number) {
                Ok(updates) if updates > 0 => Ok(Self::Updates(updates)),
                _ => Err("\"phase\" or a number of updates from 1 up is wanted".into()),
            },
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Updates(updates) => updates.to_string(),
            Self::Phase => "\"phase\"".to_string(),
        }
    }
}

settings! {
    /// Settings of the hyper-agent. `Default` is the program's default preset, the best evidence so far;
    /// [`HyperSettings::paper`] is exactly the paper.
    pub struct HyperSettings {
        /// Value kept by the scheduler `fixed`.
        pub fixed_at: FixedAt = FixedAt::Default;
        /// Policy updates in an update phase: after that many, the next rollout's outcome is the hyper-reward.
        @ "U"
        pub update_phase: u64 = 1;
        /// How long a hyper-action is kept: a number of updates, or "phase". A hold longer than the update phase
        /// extends it.
        pub hold: Hold = Hold::Updates(50);
        /// What is made of the outcome: raw (paper), its improvement, or its distance from the recent trend.
        pub transform: Transform = Transform::Improvement;
        /// Which rollouts of an update phase score it: the last (paper) or the mean of all.
        pub window: Window = Window::Mean;
        /// Update phases in the line that "detrended" subtracts.
        pub trend_window: usize = 20;
        /// Values kept per joint hyper-action (paper) or factored per hyperparameter.
        pub action_values: ActionValues = ActionValues::Joint;
        /// Where the next hyper-action may be: uniform (paper) or local, one step from the current value.
        pub moves: Moves = Moves::Local;
        /// Share of random hyper-actions at the start.
        @ "\\epsilon"
        pub epsilon_start: f32 = 1.0;
        /// Share of the training after which no hyper-action is random; 1.0 is the paper's.
        pub epsilon_zero_at: f32 = 1.0;
        /// What makes the memory key: a trained VAE (paper), a random projection, or the clock as a control.
        @ "\\phi"
        pub encoder: EncoderKind = EncoderKind::Random;
        /// Gradients of the last N_order updates that the hyper-state holds.
        @ "N_{order}"
        pub order: usize = 2;
        /// Numbers to which each row of a weight or gradient matrix is projected.
        @ "d"
        pub state_dim: usize = 4;
        /// Numbers in a memory key.
        @ "h"
        pub key_dim: usize = 32;
        /// Policy updates between two gradient steps of the VAE.
        pub encoder_interval: u64 = 10;
        /// Factor by which that interval grows, up to 32-fold, whenever 16 steps have not lowered the reconstruction
        /// loss; 1 keeps it (paper).
        pub encoder_interval_growth: f32 = 1.0;
        /// Hyper-states in a batch of the VAE.
        pub encoder_batch: usize = 8;
        /// Recent hyper-states from which the VAE's batches are drawn.
        pub encoder_buffer: usize = 64;
        /// Learning rate (Adam) of the VAE.
        pub encoder_learning_rate: f32 = 1e-3;
        /// Neighbours read.
        @ "K"
        pub neighbours: usize = 3;
        /// Neighbours moved by a write.
        @ "K_w"
        pub write_neighbours: usize = 3;
        /// How far a write moves its neighbours towards the hyper-return.
        @ "\\beta"
        pub write_rate: f32 = 0.5;
        /// How a hyper-return is written: average (paper) or max.
        pub write_rule: WriteRule = WriteRule::Average;
        /// Decisions between two that are written. The paper writes every tenth.
        pub write_interval: u64 = 1;
        /// Tuples that the memory holds; auto is half of those that a run writes, at most 10,000.
        @ "N_{mem}"
        pub memory_size: Option<usize> = None;
        /// Gradient-step rate (Adam) of the scheduler `dqn`.
        pub dqn_learning_rate: f32 = 1e-3;
        /// Discount between the decisions of one update phase, for `dqn`.
        pub dqn_discount: f32 = 0.99;
        /// Updates between two copies of the value network into the target network, for `dqn`.
        @ "T_q"
        pub dqn_target_interval: u64 = 50;
        /// Transitions that `dqn` remembers.
        pub dqn_replay: usize = 1_000_000;
        /// Transitions in a batch of `dqn`.
        pub dqn_batch: usize = 32;
        /// How far a feedback of 1 moves the logarithm of an arm's weight, over its probability, for `lrrl`.
        @ "\\alpha"
        pub lrrl_step: f32 = 0.2;
        /// Share of their logarithms that the weights of `lrrl` keep from one decision to the next; 1 never forgets.
        @ "\\delta"
        pub lrrl_decay: f32 = 0.99;
        /// Share of the choices of `lrrl` that is spread evenly over all arms.
        @ "\\gamma"
        pub lrrl_exploration: f32 = 0.1;
        /// Update phases whose mean outcome the next is compared with, for `lrrl`.
        pub lrrl_window: usize = 5;
        /// Width of the confidence bounds of `ultho`, in units of the range of the returns remembered.
        @ "c"
        pub ultho_exploration: f32 = 1.0;
        /// Returns that `ultho` remembers of each hyperparameter and each value.
        @ "W"
        pub ultho_window: usize = 10;
        /// Largest number of joint hyper-actions that is accepted; it grows fast with every tuned hyperparameter.
        @ "|A|"
        pub max_actions: usize = 1000;
    }
}

impl HyperSettings {
    /// Exactly the paper (sections 2 and A, B.2): one hyper-action per update, raw discounted return, trained VAE.
    ///
    /// ```
    /// use epgt_hyper::{EncoderKind, Hold, HyperSettings};
    /// let paper = HyperSettings::paper();
    /// assert_eq!((paper.encoder, paper.hold), (EncoderKind::Vae, Hold::Updates(1)));
    /// ```
    pub fn paper() -> Self {
        Self {
            update_phase: 10,
            hold: Hold::Updates(1),
            transform: Transform::Raw,
            window: Window::Last,
            moves: Moves::Uniform,
            encoder: EncoderKind::Vae,
            write_interval: 10,
            ..Self::default()
        }
    }

    /// Refuses impossible values with one sentence.
    ///
    /// ```
    /// let mut settings = epgt_hyper::HyperSettings::default();
    /// settings.write_rate = 1.5;
    /// assert_eq!(settings.validate().unwrap_err().to_string(), "write_rate = 1.5 must lie above 0 and at most 1");
    /// ```
    pub fn validate(&self) -> Result<(), HyperError> {
        let refused = |name, value: f32, must| {
            let value = value.to_string();
            Err(HyperError::Setting { name, value, must })
        };
        if self.hold == Hold::Updates(0) {
            return refused("hold", 0.0, "be at least 1");
        }
        let at_least_one = [
            ("update_phase", self.update_phase),
            ("trend_window", self.trend_window as u64),
            ("state_dim", self.state_dim as u64),
            ("key_dim", self.key_dim as u64),
            ("encoder_interval", self.encoder_interval),
            ("encoder_batch", self.encoder_batch as u64),
            ("encoder_buffer", self.encoder_buffer as u64),
            ("neighbours", self.neighbours as u64),
            ("write_neighbours", self.write_neighbours as u64),
            ("write_interval", self.write_interval),
            ("memory_size", self.memory_size.unwrap_or(1) as u64),
            ("dqn_target_interval", self.dqn_target_interval),
            ("dqn_replay", self.dqn_replay as u64),
            ("dqn_batch", self.dqn_batch as u64),
            ("lrrl_window", self.lrrl_window as u64),
            ("ultho_window", self.ultho_window as u64),
            ("max_actions", self.max_actions as u64),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return refused(name, 0.0, "be at least 1");
            }
        }
        let positive_up_to_one = [
            ("write_rate", self.write_rate),
            ("epsilon_zero_at", self.epsilon_zero_at),
            ("lrrl_exploration", self.lrrl_exploration),
        ];
        for (name, value) in positive_up_to_one {
            if !(value > 0.0 && value <= 1.0) {
                return refused(name, value, "lie above 0 and at most 1");
            }
        }
        let from_zero_to_one = [
            ("epsilon_start", self.epsilon_start),
            ("dqn_discount", self.dqn_discount),
            ("lrrl_decay", self.lrrl_decay),
        ];
        for (name, value) in from_zero_to_one {
            if !(0.0..=1.0).contains(&value) {
                return refused(name, value, "lie between 0 and 1");
            }
        }
        let growth = self.encoder_interval_growth;
        if !(growth >= 1.0 && growth.is_finite()) {
            return refused("encoder_interval_growth", growth, "be at least 1");
        }
        let rates = [
            ("encoder_learning_rate", self.encoder_learning_rate),
            ("dqn_learning_rate", self.dqn_learning_rate),
            ("lrrl_step", self.lrrl_step),
            ("ultho_exploration", self.ultho_exploration),
        ];
        for (name, value) in rates {
            if !(value > 0.0 && value.is_finite()) {
                return refused(name, value, "be above 0");
            }
        }
        Ok(())
    }
}
