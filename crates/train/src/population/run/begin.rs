//! From a configuration to the members' first values, and to who decides about the next.

use epgt_pg::Kind;

use crate::population::member::Member;
use crate::population::{Exchange, PopulationKind, Range, grid, random_search};
use crate::{Config, ConfigError, SetupError, Trainer};

/// What a population begins with, before it has a directory.
pub(super) struct Start {
    pub exchange: Option<Exchange>,
    /// The first values of each member.
    pub values: Vec<Vec<f64>>,
    pub trainers: Vec<Trainer>,
}

impl Start {
    /// The start of a population with this configuration.
    pub fn new(config: &Config) -> Result<Self, SetupError> {
        let exchange = exchange(config)?;
        let values = first_values(config, exchange.as_ref())?;
        let members = values.iter().enumerate();
        let trainers = members.map(|(i, values)| Member::trainer(config, i, values));
        Ok(Self {
            trainers: trainers.collect::<Result<_, _>>()?,
            exchange,
            values,
        })
    }
}

/// Who decides about exchanges; the searches have nobody.
pub(super) fn exchange(config: &Config) -> Result<Option<Exchange>, ConfigError> {
    let Some(kind) = config.scheduler.population().filter(|kind| kind.exchanges()) else {
        return Ok(None);
    };
    let (space, indices) = config.hyper_space()?;
    let hyperparameters = config.method.hyperparameters();
    let axes = space.axes().iter().zip(indices);
    let ranges = axes
        .map(|(axis, index)| Range {
            values: axis.values.clone(),
            logarithmic: hyperparameters[index].kind == Kind::LearningRateLike,
            whole: hyperparameters[index].kind == Kind::Whole,
        })
        .collect();
    let settings = config.population.clone();
    Ok(Some(Exchange::new(kind, settings, ranges, config.run.seed)))
}

/// The values that each member begins with.
fn first_values(config: &Config, exchange: Option<&Exchange>) -> Result<Vec<Vec<f64>>, ConfigError> {
    let (space, _) = config.hyper_space()?;
    let settings = &config.population;
    Ok(match exchange {
        Some(exchange) => (0..settings.size).map(|i| exchange.values(i).to_vec()).collect(),
        None if config.scheduler.population() == Some(PopulationKind::Grid) => grid(&space),
        None => random_search(&space, settings.runs, config.run.seed),
    })
}
