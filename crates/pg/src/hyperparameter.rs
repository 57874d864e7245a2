//! Hyperparameters that may change while training goes on: what a hyper-agent can schedule (paper, section
//! "Hyperparameter Reinforcement Learning" and appendix A.2).
//!
//! A method lists the fields of its settings that can be scheduled once, with [`schedulable!`](crate::schedulable);
//! afterwards they are read and set by their index in that list, so that the hot path looks up no names. What is common
//! to the methods is described here.

use epgt_settings::number;

use crate::PgError;

/// Networks are computed in single precision: beyond these a number is infinite there, or 0.
const LARGEST: f64 = 1e38;
const SMALLEST: f64 = 1e-37;

/// How the values of a hyperparameter are spread over its search range (paper, appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By multiples and fractions of the default.
    LearningRateLike,
    /// Uniformly, or from a list.
    Other,
    /// As `Other`, in whole numbers.
    Whole,
}

/// How often a new value can take effect exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// At the next policy update step.
    Update,
    /// Once per rollout: the hyper-action is then chosen once per rollout, so that the choice that is credited is the
    /// one in force.
    Rollout,
}

/// A hyperparameter that a hyper-agent can schedule.
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
    /// How often it takes effect.
    pub effect: Effect,
    /// The smallest valid value.
    pub low: f64,
    /// The largest valid value.
    pub high: f64,
    /// Values to try, as `--tune` takes them: the paper's where an experiment of it tunes this one.
    pub grid: &'static str,
    /// Whether `grid` is the paper's.
    pub from_paper: bool,
    /// Whether nothing was won by choosing it for every task by itself, with the setting that is one for every task
    /// (`docs/defaults.md`, "What is left to tune"): it is offered last.
    pub settled: bool,
}

impl Hyperparameter {
    /// What the entries below are laid upon.
    pub const BLANK: Self = Self {
        name: "",
        symbol: "",
        meaning: "",
        kind: Kind::Other,
        effect: Effect::Update,
        low: 0.0,
        high: LARGEST,
        grid: "",
        from_paper: false,
        settled: false,
    };

    /// Refuses a value that the method cannot work with, in one sentence.
    ///
    /// ```
    /// use epgt_pg::{A2cSettings, Schedulable};
    /// let settings = A2cSettings::default();
    /// let gamma = settings.hyperparameters()[settings.index("gamma")?];
    /// assert_eq!(gamma.validate(0.9), Ok(()));
    /// assert_eq!(
    ///     gamma.validate(1.5).unwrap_err().to_string(),
    ///     "gamma = 1.5 cannot be used: a number from 0 to 1 is wanted"
    /// );
    /// # Ok::<(), epgt_pg::PgError>(())
    /// ```
    pub fn validate(&self, value: f64) -> Result<(), PgError> {
        let whole = self.kind != Kind::Whole || value.fract() == 0.0;
        let is_told_from_zero = value == 0.0 || value.is_nan() || value.abs() >= SMALLEST;
        if (self.low..=self.high).contains(&value) && whole && is_told_from_zero {
            return Ok(());
        }
        let (name, low, high) = (self.name, number(self.low), number(self.high));
        let wants = match (is_told_from_zero, self.kind == Kind::Whole, self.high < LARGEST) {
            (false, ..) => format!(
                "in single precision it is 0; 0 or a number of at least {} is wanted",
                number(SMALLEST)
            ),
            (true, true, true) => format!("a whole number from {low} to {high} is wanted"),
            (true, true, false) => format!("a whole number of at least {low} is wanted"),
            (true, false, true) => format!("a number from {low} to {high} is wanted"),
            (true, false, false) if value > self.high => format!("a number of at most {high} is wanted"),
            (true, false, false) => format!("a finite number of at least {low} is wanted"),
        };
        Err(PgError::value(name, number(value), wants))
    }
}

/// Settings of a method, some of which can be scheduled.
///
/// ```
/// use epgt_pg::{PpoSettings, Schedulable};
/// let mut settings = PpoSettings::default();
/// let lambda = settings.index("gae_lambda")?;
/// settings.set(lambda, 0.8);
/// assert_eq!((settings.get(lambda), settings.gae_lambda), (0.8, 0.8));
/// assert_eq!(
///     settings.index("gae_lamda").unwrap_err().to_string(),
///     "unknown hyperparameter 'gae_lamda'; did you mean 'gae_lambda'?"
/// );
/// # Ok::<(), epgt_pg::PgError>(())
/// ```
pub trait Schedulable {
    /// What can be scheduled; indices are into this list.
    fn hyperparameters(&self) -> &'static [Hyperparameter];

    /// The current value of a hyperparameter. Panics if there is none of that index.
    fn get(&self, index: usize) -> f64;

    /// Sets a hyperparameter from its next time of effect on. Panics if there is none of that index.
    fn set(&mut self, index: usize, value: f64);

    /// The index of the hyperparameter called `name`, or one sentence that names the nearest.
    fn index(&self, name: &str) -> Result<usize, PgError> {
        let all = self.hyperparameters();
        all.iter()
            .position(|hyperparameter| hyperparameter.name == name)
            .ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|hyperparameter| hyperparameter.name).collect();
                PgError::UnknownHyperparameter(epgt_settings::unknown("hyperparameter", name, &names))
            })
    }

    /// Refuses the first hyperparameter whose value the method cannot work with.
    fn validate_hyperparameters(&self) -> Result<(), PgError> {
        let mut all = self.hyperparameters().iter().enumerate();
        all.try_for_each(|(index, hyperparameter)| hyperparameter.validate(self.get(index)))
    }
}

/// A field that holds a number.
#[doc(hidden)]
pub trait Number: Copy {
    /// The field as a hyper-agent sees it.
    fn number(self) -> f64;
    /// What a hyper-agent chose, as the field holds it.
    fn from_number(value: f64) -> Self;
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }

    fn from_number(value: f64) -> Self {
        value
    }
}

impl Number for usize {
    fn number(self) -> f64 {
        self as f64
    }

    fn from_number(value: f64) -> Self {
        value.round() as usize
    }
}

/// Lists the fields of a settings struct that can be scheduled, each with its description; the name is the field's.
///
/// ```
/// use epgt_pg::{Hyperparameter, Schedulable, schedulable};
/// struct Settings {
///     learning_rate: f64,
///     n_steps: usize,
/// }
/// schedulable!(Settings {
///     learning_rate: epgt_pg::LEARNING_RATE,
///     n_steps: Hyperparameter { grid: "5:8:16", ..epgt_pg::N_STEPS },
/// });
/// let mut settings = Settings { learning_rate: 7e-4, n_steps: 5 };
/// settings.set(1, 8.0);
/// assert_eq!((settings.n_steps, settings.get(0)), (8, 7e-4));
/// ```
#[macro_export]
macro_rules! schedulable {
    ($settings:ty { $($field:ident: $description:expr,)+ }) => {
        impl $crate::Schedulable for $settings {
            fn hyperparameters(&self) -> &'static [$crate::Hyperparameter] {
                static LIST: &[$crate::Hyperparameter] =
                    &[$($crate::Hyperparameter { name: stringify!($field), ..$description },)+];
                LIST
            }

            fn get(&self, index: usize) -> f64 {
                let getters: &[fn(&$settings) -> f64] =
                    &[$(|settings| $crate::Number::number(settings.$field),)+];
                getters[index](self)
            }

            fn set(&mut self, index: usize, value: f64) {
                let setters: &[fn(&mut $settings, f64)] = &[$(|settings, value| {
                    settings.$field = $crate::Number::from_number(value);
                },)+];
                setters[index](self, value);
            }
        }
    };
}
/// Step size of the optimiser.
pub const LEARNING_RATE: Hyperparameter = Hyperparameter {
    symbol: "\\alpha",
    meaning: "Step size of the optimiser; a schedule multiplies it. Where steps are measured by divergence it decides nothing.",
    kind: Kind::LearningRateLike,
    grid: "paper:3",
    from_paper: true,
    ..Hyperparameter::BLANK
};

/// Multiplier of the step.
pub const STEP: Hyperparameter = Hyperparameter {
    meaning: "Multiplier of the step: of the target divergence, or of the learning rate where that is set.",
    kind: Kind::LearningRateLike,
    low: 1e-6,
    high: 1e6,
    grid: "0.7:1:1.4",
    ..Hyperparameter::BLANK
};

/// The change of the exploration noise.
pub const NOISE: Hyperparameter = Hyperparameter {
    meaning: "Factor of the exploration noise over a hundredth of training: of deviations, or of the temperature of choices.",
    effect: Effect::Rollout,
    kind: Kind::LearningRateLike,
    low: 1e-3,
    high: 1e3,
    grid: "0.9:1:1.1",
    ..Hyperparameter::BLANK
};

/// The critic's learning rate.
pub const CRITIC_LEARNING_RATE: Hyperparameter = Hyperparameter {
    meaning: "Step size of the critic where the policy's steps are measured by divergence; a schedule multiplies it.",
    kind: Kind::LearningRateLike,
    grid: "paper:3",
    ..Hyperparameter::BLANK
};

/// Discount factor.
pub const GAMMA: Hyperparameter = Hyperparameter {
    symbol: "\\gamma",
    meaning: "Discount factor; the statistics of reward normalisation keep the one they began with.",
    high: 1.0,
    grid: "0.98:0.99:0.995",
    ..Hyperparameter::BLANK
};

/// Trade-off of GAE.
pub const GAE_LAMBDA: Hyperparameter = Hyperparameter {
    symbol: "\\lambda",
    meaning: "Bias-variance trade-off of the advantages.",
    high: 1.0,
    grid: "0.9:0.95:0.975:0.99",
    from_paper: true,
    ..Hyperparameter::BLANK
};

/// Weight of the entropy.
pub const ENT_COEF: Hyperparameter = Hyperparameter {
    meaning: "Weight of the entropy bonus.",
    grid: "0:0.005:0.01:0.02",
    ..Hyperparameter::BLANK
};

/// Weight of the value loss.
pub const VF_COEF: Hyperparameter = Hyperparameter {
    meaning: "Weight of the value loss.",
    grid: "0.25:0.5:1",
    from_paper: true,
    ..Hyperparameter::BLANK
};

/// Gradient clipping.
pub const MAX_GRAD_NORM: Hyperparameter = Hyperparameter {
    meaning: "Norm that the gradient is clipped to.",
    low: 1e-6,
    grid: "0.25:0.5:1:2",
    ..Hyperparameter::BLANK
};

/// Length of a rollout.
pub const N_STEPS: Hyperparameter = Hyperparameter {
    symbol: "T",
    meaning: "Steps of every environment before an update phase.",
    kind: Kind::Whole,
    effect: Effect::Rollout,
    low: 1.0,
    ..Hyperparameter::BLANK
};
