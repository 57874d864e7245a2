//! Texts of which a shell knows the usual ones: it proposes them, and any other is taken as well, so that whoever reads
//! the text can say which name is nearest to a misspelt one.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use epgt_settings::Value;
use epgt_train::{Device, Preset, Registry};

/// A text for which these are proposed.
#[derive(Clone)]
pub struct Proposed(Vec<&'static str>);

impl TypedValueParser for Proposed {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, text: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

pub fn task() -> Proposed {
    Proposed(epgt_envs::tasks().iter().map(|task| &*task.id).collect())
}

pub fn algorithm() -> Proposed {
    Proposed(Registry::builtin().method_names())
}

pub fn scheduler() -> Proposed {
    Proposed(Registry::builtin().scheduler_names())
}

/// The methods' names.
pub fn methods() -> String {
    Registry::builtin().method_names().join(", ")
}

/// One sentence on who can schedule.
pub fn schedulers() -> String {
    let names = |populations: bool| {
        let registry = Registry::builtin();
        let all = registry.schedulers().iter();
        let some = all.filter(|scheduler| scheduler.population().is_some() == populations);
        some.map(|scheduler| scheduler.name()).collect::<Vec<_>>().join(", ")
    };
    let (single, populations) = (names(false), names(true));
    format!("Who schedules the hyperparameters: {single}; or several runs side by side: {populations}")
}

pub fn preset() -> Proposed {
    Proposed(Preset::CHOICES.to_vec())
}

pub fn device() -> Proposed {
    Proposed(Device::CHOICES.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_proposed_is_taken_too() {
        let command = Command::new("epgt").arg(Arg::new("algo").value_parser(algorithm()));
        let matches = command.try_get_matches_from(["epgt", "ppoo"]).unwrap();
        assert_eq!(matches.get_one::<String>("algo").unwrap(), "ppoo");
    }
}
