//! `epgt hyperparameters`: what a hyper-agent can schedule, method by method.

use epgt_hyper::Axis;
use epgt_pg::{Effect, MethodSettings};
use epgt_report::text_table::TextTable;
use epgt_train::{Config, Registry};

use crate::Done;
use crate::args::HyperparametersArgs;
use crate::explain::short;
use crate::output;

/// Lists what can be scheduled, for one method or for all.
pub fn run(args: &HyperparametersArgs) -> Result<Done, String> {
    let registry = Registry::builtin();
    let methods = match &args.algo {
        Some(name) => vec![
            registry
                .method(name)
                .map_err(|error| format!("--algo {name}: {error}"))?,
        ],
        None => registry.methods().to_vec(),
    };
    let tables: Vec<String> = methods.iter().map(|method| table(&**method)).collect();
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

fn table(method: &dyn MethodSettings) -> String {
    let mut table = TextTable::new(&["name", "paper", "default", "takes effect", "values to try", "meaning"]);
    let (settled, open): (Vec<_>, Vec<_>) = method
        .hyperparameters()
        .iter()
        .enumerate()
        .partition(|(_, hyperparameter)| hyperparameter.settled);
    for &(index, hyperparameter) in open.iter().chain(&settled) {
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
    let names: Vec<&str> = settled.iter().map(|(_, hyperparameter)| hyperparameter.name).collect();
    let last = match names.is_empty() {
        true => String::new(),
        false => output::filled(&format!(
            "With the one setting for every task, nothing was won by choosing these for each task by itself: {}.\n",
            names.join(", ")
        )),
    };
    format!("{}\n{}{last}", method.name(), output::table(&table))
}

/// What is tuned and to which values: a rule such as `paper:7` does not say how many there are.
pub fn tuned(config: &Config) -> String {
    let written: Vec<String> = config
        .tune
        .iter()
        .map(|(name, grid)| format!("{name}={grid}"))
        .collect();
    match config.hyper_space() {
        Ok((space, _)) if !config.scheduler.is_fixed() && !config.scheduler.is_rule() => {
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
