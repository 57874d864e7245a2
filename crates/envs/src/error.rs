//! What can go wrong with a task, each as one sentence for the user.

use std::fmt;

/// A task that is not known, or an environment that did not do as it should.
///
/// ```
/// let error = epgt_envs::find("CartPol-v1").unwrap_err();
/// assert_eq!(error.to_string(), "unknown task 'CartPol-v1'; did you mean 'CartPole-v1'?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvError {
    /// No task has this id.
    UnknownTask(String),
    /// An option that the task does not take, or a value that it cannot have.
    InvalidOption(String),
    /// An action outside the action space that cannot be clipped into it.
    InvalidAction(String),
    /// An observation or a reward that is NaN or infinite.
    NotFinite(String),
    /// Bytes that are not a saved state of this environment.
    InvalidState(String),
    /// The environment checker found a broken promise.
    BrokenPromise(String),
    /// Environments that cannot be stepped together.
    InvalidEnvironments(String),
    /// The task's simulator is not on this machine.
    MissingSimulator(String),
    /// The task's simulator is there but cannot be used.
    Simulator(String),
    /// The environment shows nothing.
    NoPicture(String),
}

impl EnvError {
    /// The same error, saying in which of many environments and at which of its steps it happened.
    #[cold]
    pub(crate) fn at(mut self, env: usize, step: u64) -> Self {
        let (Self::UnknownTask(text)
        | Self::InvalidOption(text)
        | Self::InvalidAction(text)
        | Self::NotFinite(text)
        | Self::InvalidState(text)
        | Self::BrokenPromise(text)
        | Self::InvalidEnvironments(text)
        | Self::MissingSimulator(text)
        | Self::Simulator(text)
        | Self::NoPicture(text)) = &mut self;
        *text = format!("environment {env}, step {step}: {text}");
        self
    }
}

impl fmt::Display for EnvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::UnknownTask(text)
        | Self::InvalidOption(text)
        | Self::InvalidAction(text)
        | Self::NotFinite(text)
        | Self::InvalidState(text)
        | Self::BrokenPromise(text)
        | Self::InvalidEnvironments(text)
        | Self::MissingSimulator(text)
        | Self::Simulator(text)
        | Self::NoPicture(text)) = self;
        formatter.write_str(text)
    }
}

impl std::error::Error for EnvError {}
