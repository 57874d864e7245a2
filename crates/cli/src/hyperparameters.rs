//! `epgt hyperparameters`: what a hyper-agent can schedule, method by method.

use epgt_hyper::{Axis, Scheduler};
use epgt_pg::{Algorithm, Effect, MethodSettings};
use epgt_report::text_table::TextTable;
use epgt_settings::Value;
use epgt_train::Config;

use crate::Done;
use crate::args::HyperparametersArgs;
use crate::explain::short;
use crate::output;

/// Lists what can be scheduled, for one method or for all.
pub fn run(args: &HyperparametersArgs) -> Result<Done, String> {
    let algorithms = match &args.algo {
        Some(name) => vec![Algorithm::parse(name).map_err(|error| format!("--algo {name}: {error}"))?],
        None => Algorithm::CHOICES
            .iter()
            .map(|name| Algorithm::parse(name))
            .collect::<Result<_, _>>()?,
    };
    let tables: Vec<String> = algorithms.into_iter().map(table).collect();
    output::print(&format!("{}\n{}", tables.join("\n"), output::filled(NOTES)))?;
    Ok(Done::Completely)
}

const NOTES: &str = "\
Values marked * are those of the paper's experiments; paper:B is its rule for rates: the default, and the default divided and multiplied
by 2, 3, .. (B-1)/2, for B = 3 by 2. From B = 5 on these are B-2 values: the rule's factors of 1 are the default again.
Any number of them can be scheduled at once: epgt train CartPole-v1 --tune learning_rate=paper:7,ent_coef=0:0.01:0.02
What takes effect once per rollout is chosen once per rollout, and so is everything that is scheduled along with it.
A task's own defaults differ: epgt train TASK --algo X --print-config
";

fn table(algorithm: Algorithm) -> String {
    let settings = MethodSettings::of(algorithm);
    let method = settings.schedulable();
    let mut table = TextTable::new(&["name", "paper", "default", "takes effect", "values to try", "meaning"]);
    for (index, hyperparameter) in method.hyperparameters().iter().enumerate() {
        let symbol = match hyperparameter.symbol {
            "" => "-",
            symbol => symbol.trim_start_matches('\\'),
        };
        let effect = match hyperparameter.effect {
            Effect::Update => "every update",
            Effect::Rollout => "every rollout",
        };
        let star = if hyperparameter.from_paper { " *" } else { "" };
        table.row(&[
            hyperparameter.name,
            symbol,
            &method.get(index).to_string(),
            effect,
            &format!("{}{star}", hyperparameter.grid),
            hyperparameter.meaning,
        ]);
    }
    format!("{}\n{}", algorithm.name(), output::table(&table))
}

/// What is tuned and to which values: a rule such as `paper:7` does not say how many there are.
pub fn tuned(config: &Config) -> String {
    let written: Vec<String> = config
        .tune
        .iter()
        .map(|(name, grid)| format!("{name}={grid}"))
        .collect();
    match config.hyper_space() {
        Ok((space, _)) if config.run.scheduler != Scheduler::Fixed && !config.run.scheduler.is_rule() => {
            let values = |axis: &Axis| {
                axis.values
                    .iter()
                    .map(|&value| short(value))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let axes = space.axes().iter().zip(&written);
            axes.map(|(axis, written)| format!("{written}: {}", values(axis)))
                .collect::<Vec<_>>()
                .join("; ")
        }
        _ => written.join(","),
    }
}
