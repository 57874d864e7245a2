//! `epgt hyperparameters`: what a hyper-agent can schedule, method by method.

use epgt_pg::{Algorithm, Effect, MethodSettings};
use epgt_report::text_table::TextTable;
use epgt_settings::Value;

use crate::Done;
use crate::args::HyperparametersArgs;
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
    output::print(&format!("{}\n{NOTES}", tables.join("\n")))?;
    Ok(Done::Completely)
}

const NOTES: &str = "\
Values marked * are those of the paper's experiments; paper:B is its rule for rates: the default divided and multiplied.
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
    format!("{}\n{}", algorithm.name(), table.plain())
}
