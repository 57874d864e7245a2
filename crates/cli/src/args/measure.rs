//! The measures under the names that a command line has for them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use epgt_experiments::Measure;

/// Each measure's name and meaning.
const MEASURES: [(Measure, &str, &str); 5] = [
    (
        Measure::Final,
        "final",
        "Mean return of the last hundred training episodes",
    ),
    (
        Measure::Checkpoint,
        "checkpoint",
        "Mean return of the best policy, played once training was over",
    ),
    (Measure::Evaluation, "evaluation", "The best evaluation during training"),
    (
        Measure::Area,
        "area",
        "Area under the learning curve, as a mean return over training",
    ),
    (
        Measure::Human,
        "human",
        "The final score between random play (0) and a human (1), for games that have both",
    ),
];

/// Takes one of these names.
pub fn measure() -> impl TypedValueParser<Value = Measure> {
    let values = MEASURES.map(|(_, name, meaning)| PossibleValue::new(name).help(meaning));
    PossibleValuesParser::new(values).map(|given| {
        let known = MEASURES.iter().find(|(_, name, _)| *name == given);
        known.map_or(Measure::Final, |(measure, ..)| *measure)
    })
}
