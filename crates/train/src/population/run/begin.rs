//! From a configuration to the members' first values, and to who decides about the next.

use epgt_hyper::Scheduler;
use epgt_pg::Kind;

use crate::Config;
use crate::population::{Exchange, Range, grid, random_search};

/// Who decides about exchanges; the searches have nobody.
pub(super) fn exchange(config: &Config) -> Result<Option<Exchange>, String> {
    let scheduler = config.run.scheduler;
    if !matches!(scheduler, Scheduler::Pbt | Scheduler::Pb2) {
        return Ok(None);
    }
    let (space, indices) = config.hyper_space()?;
    let hyperparameters = config.method.schedulable().hyperparameters();
    let axes = space.axes().iter().zip(indices);
    let ranges = axes
        .map(|(axis, index)| Range {
            values: axis.values.clone(),
            logarithmic: hyperparameters[index].kind == Kind::LearningRateLike,
            whole: hyperparameters[index].kind == Kind::Whole,
        })
        .collect();
    let settings = config.population.clone();
    Ok(Some(Exchange::new(scheduler, settings, ranges, config.run.seed)))
}

/// The values that each member begins with.
pub(super) fn first_values(config: &Config, exchange: Option<&Exchange>) -> Result<Vec<Vec<f64>>, String> {
    let (space, _) = config.hyper_space()?;
    let settings = &config.population;
    Ok(match exchange {
        Some(exchange) => (0..settings.size).map(|i| exchange.values(i).to_vec()).collect(),
        None if config.run.scheduler == Scheduler::Grid => grid(&space),
        None => random_search(&space, settings.runs, config.run.seed),
    })
}
