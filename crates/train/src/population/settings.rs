//! The settings of a population, and what it refuses.

use epgt_hyper::{About, Choosing};
use epgt_settings::settings;

use crate::{Config, ConfigError};

/// Members train side by side and each keeps its logs open; systems allow a process some thousand files.
pub(crate) const MOST_MEMBERS: usize = 256;

settings! {
    /// Settings of the schedulers that take several runs side by side: `pbt`, `pb2`, `grid` and `random-search`. The
    /// run's `steps` are those of each member.
    pub struct PopulationSettings {
        /// Members of `pbt` and `pb2`, each of which trains for the run's steps.
        pub size: usize = 4;
        /// Environment steps of each member between two exchanges of `pbt` and `pb2`.
        pub ready: u64 = 50_000;
        /// Share of the members that copies one of the best as many, at least one.
        pub quantile: f64 = 0.25;
        /// Factor of `pbt` that lowers a copied value.
        pub perturb_down: f64 = 0.8;
        /// Factor of `pbt` that raises a copied value.
        pub perturb_up: f64 = 1.2;
        /// Probability that `pbt` draws a value anew instead.
        pub resample: f64 = 0.25;
        /// Combinations of tuned values that `random-search` draws, one run for each.
        pub runs: usize = 8;
    }
}

/// The schedulers that take several runs side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopulationKind {
    /// Population-based training.
    Pbt,
    /// Population-based bandits.
    Pb2,
    /// Every combination of the tuned values.
    Grid,
    /// Some combinations, drawn at random.
    RandomSearch,
}

impl PopulationKind {
    /// All of them, in the order of help.
    pub const ALL: [Self; 4] = [Self::Pbt, Self::Pb2, Self::Grid, Self::RandomSearch];

    /// What it says of itself.
    pub fn about(self) -> About {
        let (name, help, does) = match self {
            Self::Pbt => (
                "pbt",
                "Population-based training: the worst members copy one of the best and change its values at random.",
                "every so often the worst members copy one of the best and multiply its values or draw new ones",
            ),
            Self::Pb2 => (
                "pb2",
                "Population-based bandits: as `pbt`, with the new values chosen by a Gaussian process.",
                "every so often the worst members copy one of the best; a Gaussian process chooses their values",
            ),
            Self::Grid => (
                "grid",
                "One run for every combination of the tuned values.",
                "trains one member for every combination of the tuned values and compares them",
            ),
            Self::RandomSearch => (
                "random-search",
                "One run for each of some combinations, drawn at random.",
                "trains one member for each of some combinations, drawn at random, and compares them",
            ),
        };
        About {
            name,
            help,
            does,
            choosing: Choosing::Kept,
            ..About::BLANK
        }
    }

    /// Whether its members copy one another.
    pub fn exchanges(self) -> bool {
        matches!(self, Self::Pbt | Self::Pb2)
    }
}

impl PopulationSettings {
    /// Refuses a configuration that no population can be made of, in one sentence.
    pub(crate) fn validate(&self, config: &Config) -> Result<(), ConfigError> {
        let Some(kind) = config.scheduler.population() else {
            return Ok(());
        };
        let scheduler = kind.about().name;
        let combinations = config.hyper_space()?.0.len();
        if combinations < 2 {
            return Err(ConfigError::NothingToChoose { scheduler });
        }
        let members = self.members(config)?;
        if members > MOST_MEMBERS {
            return Err(ConfigError::TooManyMembers { scheduler, members });
        }
        match kind {
            PopulationKind::RandomSearch if self.runs == 0 || self.runs > combinations => {
                let problem = format!("must lie between 1 and the {combinations} combinations of tuned values");
                Err(ConfigError::population("runs", self.runs, problem))
            }
            PopulationKind::Pbt | PopulationKind::Pb2 => self.validate_exchange(config.run.steps),
            _ => Ok(()),
        }
    }

    fn validate_exchange(&self, steps: u64) -> Result<(), ConfigError> {
        if self.size < 2 {
            let problem = "leaves nobody to copy from; use 2 or more";
            return Err(ConfigError::population("size", self.size, problem));
        }
        if self.ready == 0 || self.ready >= steps {
            let problem =
                format!("must lie above 0 and below steps = {steps}, or no member ever copies another; change either");
            return Err(ConfigError::population("ready", self.ready, problem));
        }
        if !(self.quantile > 0.0 && self.quantile <= 0.5) {
            let problem = "must lie above 0 and at most 0.5";
            return Err(ConfigError::population("quantile", self.quantile, problem));
        }
        if !(0.0..=1.0).contains(&self.resample) {
            let problem = "must lie between 0 and 1";
            return Err(ConfigError::population("resample", self.resample, problem));
        }
        let (down, up) = (self.perturb_down, self.perturb_up);
        if !(down > 0.0 && down <= 1.0 && up >= 1.0 && up.is_finite()) {
            let problem =
                format!("must lie above 0 and at most 1, and population.perturb_up = {up} must be at least 1");
            return Err(ConfigError::population("perturb_down", down, problem));
        }
        Ok(())
    }

    /// Members of the population that a configuration describes.
    pub(crate) fn members(&self, config: &Config) -> Result<usize, ConfigError> {
        Ok(match config.scheduler.population() {
            Some(PopulationKind::Pbt | PopulationKind::Pb2) => self.size,
            Some(PopulationKind::RandomSearch) => self.runs,
            Some(PopulationKind::Grid) => config.hyper_space()?.0.len(),
            None => 1,
        })
    }
}
