//! The settings of a run itself, and how a user assigns any setting.

use epgt_pg::NoiseControl;
use epgt_settings::{Value, Wanted, choice, settings};

use crate::ConfigError;
use crate::best::BestBy;
use crate::evaluate::EvalActions;

choice! {
    /// A named set of hyper-agent settings that the user's own are laid upon.
    pub enum Preset {
        /// The best evidence so far.
        Default = "default",
        /// Exactly the paper.
        Paper = "paper",
    }
}

choice! {
    /// Whose settings lie below all others.
    pub enum Defaults {
        /// One for every task.
        Universal = "universal",
        /// Those that were tuned for the task by its name.
        Task = "task",
    }
}

choice! {
    /// The processor that the networks are on.
    pub enum Device {
        /// A GPU where there is one and the networks suit it, else the CPU.
        Auto = "auto",
        /// The CPU.
        Cpu = "cpu",
        /// An NVIDIA GPU.
        Cuda = "cuda" | "gpu" | "nvidia",
    }
}

/// The name of something that the registry holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// This name.
    pub fn new(name: &str) -> Self {
        Self(name.to_string())
    }

    /// The name in the text of a setting, whose quotes are optional.
    pub(crate) fn read(text: &str) -> Self {
        Self::new(text.trim().trim_matches('"'))
    }

    /// The name itself.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Value for Name {
    fn parse(text: &str) -> Result<Self, Wanted> {
        Ok(Self::read(text))
    }

    fn show(&self) -> String {
        self.0.show()
    }
}

settings! {
    /// What the hyper-agent is rewarded with; part of the section `hyper`.
    pub struct RewardSettings {
        /// What of a rollout scores the updates before it. "discounted" is the paper's G; it moves with the critic.
        @ "G"
        pub outcome: Name = Name::new("reward-rate");
    }
}

settings! {
    /// Settings of the run itself.
    pub struct RunSettings {
        /// The task, by its Gymnasium id.
        pub task: String = String::new();
        /// The policy-gradient method; where it is not said, the one that suits the task.
        pub algo: Name = Name::new("a2c");
        /// Who schedules the hyperparameters.
        pub scheduler: Name = Name::new("epgt");
        /// The hyper-agent's settings that the others are laid upon: default (best evidence) or paper (exactly the
        /// paper).
        pub preset: Preset = Preset::Default;
        /// The settings that all others are laid upon: one for every task (universal), or those that were tuned for the
        /// task by its name (task), which the paper's preset has.
        pub defaults: Defaults = Defaults::Universal;
        /// The one number that determines everything random.
        pub seed: u64 = 0;
        /// A policy file to start from, or the directory of a run whose best policy it is; empty to start from random
        /// weights. The networks' settings are the policy's where nothing else is said.
        pub init: String = String::new();
        /// Environment steps in all; only whole rollouts are played. Where their length is scheduled, the last may be
        /// shorter.
        @ "n_e"
        pub steps: u64 = 100_000;
        /// Environments that are stepped together.
        @ "N"
        pub n_envs: usize = 8;
        /// Whether observations are normalised by running statistics (clip 10). Images never are: their bytes are
        /// divided by 255.
        pub normalize_observations: bool = true;
        /// Whether rewards are normalised by the running deviation of the return (clip 10). Scores are always of raw
        /// rewards.
        pub normalize_rewards: bool = true;
        /// Whether the agent learns from the sign of each reward (-1, 0 or 1) instead of its normalised value; usual
        /// for Atari.
        pub sign_rewards: bool = false;
        /// Whether each environment's first episode is cut at a different time, so that resets do not come all at once.
        pub staggered_starts: bool = true;
        /// What decides how widely actions are drawn: the policy gradient (learned), or that and the comparison of
        /// environments that act with less and with more noise (greedy).
        pub noise_control: NoiseControl = NoiseControl::Learned;
        /// A quarter of the environments acts with so many times less noise than the policy's own and a quarter with so
        /// many times more, so that what they earn can be compared; 1 is all alike, and auto is 1.5 where noise is
        /// scheduled or noise_control is greedy.
        pub noise_spread: Option<f64> = None;
        /// Environment steps between two rows of metrics; auto is a hundredth of the run.
        pub log_interval: Option<u64> = None;
        /// Environment steps between two evaluations; auto is a tenth of the run, 0 is never.
        pub eval_interval: Option<u64> = None;
        /// Episodes of an evaluation.
        pub eval_episodes: usize = 10;
        /// Steps of all evaluations together, at most, as a share of the steps that training has taken, where
        /// eval_interval is auto: an evaluation that would exceed it is left out, and the one at the end has as many
        /// episodes as it allows, at least one.
        pub eval_share: f64 = 0.25;
        /// Steps after which an evaluated episode that has not ended is cut; it counts with what it has earned.
        pub eval_max_steps: u64 = crate::evaluate::MAX_STEPS;
        /// How an evaluation's actions are chosen: the most likely ones (deterministic), drawn as in training
        /// (stochastic), or auto, which is stochastic in Atari's games and deterministic elsewhere.
        pub eval_actions: EvalActions = EvalActions::Auto;
        /// What decides which policy is kept as the best: an evaluation's mean return, or that of the last 100 training
        /// episodes.
        pub best_by: BestBy = BestBy::Evaluation;
        /// Episodes for which the best policy is played once training is over (result.json: best_checkpoint); 0 is
        /// none.
        pub final_episodes: usize = 0;
        /// The processor that the networks are on: cpu, cuda (an NVIDIA GPU; for image policies), or auto (cuda where
        /// it can be used). The last digits of results differ between processors.
        pub device: Device = Device::Auto;
        /// Whether a GPU may round the factors of matrix products to TF32 (10 bits of mantissa), which is faster.
        pub tf32: bool = false;
        /// Environment steps between two checkpoints; auto is a tenth of the run but at least a second, 0 is only at
        /// the end.
        pub checkpoint_interval: Option<u64> = None;
    }
}

/// One `key = value` of the user; keys are dotted (`a2c.gamma`), and the section may be left out where only one has the
/// key.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The setting.
    pub key: String,
    /// Its value as TOML text; quotes may be left out.
    pub value: String,
}

impl Assignment {
    /// An assignment from its two halves. The run's own settings have no section, but may be said to be of `run`.
    ///
    /// ```
    /// use epgt_train::Assignment;
    /// assert_eq!(Assignment::new("run.steps", 1000), Assignment::new("steps", 1000));
    /// ```
    pub fn new(key: impl Into<String>, value: impl ToString) -> Self {
        let key = key.into();
        Self {
            key: key.strip_prefix("run.").map(str::to_string).unwrap_or(key),
            value: value.to_string(),
        }
    }

    /// Reads `KEY=VALUE`.
    ///
    /// ```
    /// use epgt_train::Assignment;
    /// assert_eq!(Assignment::parse("hyper.hold=20")?, Assignment::new("hyper.hold", 20));
    /// assert!(Assignment::parse("hyper.hold").is_err());
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| ConfigError::NotAnAssignment(text.to_string()))?;
        Ok(Self::new(key.trim(), value.trim()))
    }
}
