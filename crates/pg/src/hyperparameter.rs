//! Hyperparameters that may change between two updates: what a hyper-agent can schedule.
//!
//! A method lists them once; afterwards they are read and set by their index in that list, so that the hot path looks up no
//! names.

/// How the values of a hyperparameter are spread over its search range (paper, appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By multiples and fractions of the default.
    LearningRateLike,
    /// Uniformly, or from a list.
    Other,
}

/// A hyperparameter that takes effect at the next update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperparameter {
    /// Its name, the same as the setting's.
    pub name: &'static str,
    /// Its symbol in the paper; empty where it has none.
    pub symbol: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// How its values are spread.
    pub kind: Kind,
    /// The smallest valid value.
    pub low: f64,
    /// The largest valid value; may be infinite, which itself is not valid.
    pub high: f64,
}

impl Hyperparameter {
    /// Refuses a value that the method cannot work with, in one sentence.
    ///
    /// ```
    /// let gamma = epgt_pg::A2c::hyperparameters()[1];
    /// assert_eq!(gamma.validate(0.9), Ok(()));
    /// assert_eq!(
    ///     gamma.validate(1.5).unwrap_err(),
    ///     "gamma = 1.5 cannot be used: a number from 0 to 1 is wanted"
    /// );
    /// ```
    pub fn validate(&self, value: f64) -> Result<(), String> {
        if value.is_finite() && (self.low..=self.high).contains(&value) {
            return Ok(());
        }
        let Self { name, low, high, .. } = self;
        Err(if high.is_finite() {
            format!("{name} = {value} cannot be used: a number from {low} to {high} is wanted")
        } else {
            format!("{name} = {value} cannot be used: a finite number of at least {low} is wanted")
        })
    }
}

/// The index of the hyperparameter called `name`, or one sentence that names the nearest.
///
/// ```
/// use epgt_pg::{A2c, index_of};
/// assert_eq!(index_of(A2c::hyperparameters(), "gae_lambda"), Ok(2));
/// assert_eq!(
///     index_of(A2c::hyperparameters(), "gae_lamda").unwrap_err(),
///     "unknown hyperparameter 'gae_lamda'; did you mean 'gae_lambda'?"
/// );
/// ```
pub fn index_of(hyperparameters: &[Hyperparameter], name: &str) -> Result<usize, String> {
    hyperparameters
        .iter()
        .position(|hyperparameter| hyperparameter.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = hyperparameters
                .iter()
                .map(|hyperparameter| hyperparameter.name)
                .collect();
            epgt_settings::unknown("hyperparameter", name, &names)
        })
}
