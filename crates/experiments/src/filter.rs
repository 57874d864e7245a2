//! `--only`: which of an experiment's runs are meant.

use epgt_settings::UnknownName;

use crate::cell::Cell;
use crate::error::PlanError;
use crate::plan::Plan;

/// A filter; a list that is empty lets everything through.
#[derive(Debug, Default, PartialEq)]
pub struct Filter {
    tasks: Vec<usize>,
    methods: Vec<usize>,
    seeds: Vec<u64>,
}

impl Filter {
    /// Whether it takes more than one cell, or the only one that there is.
    pub fn takes_some(&self, plan: &Plan) -> bool {
        plan.runs() == 1 || (self.tasks.len(), self.methods.len(), self.seeds.len()) != (1, 1, 1)
    }

    /// Reads `task=A,task=B,method=x,seed=0,seed=2-4`; names are those of the plan.
    pub fn parse(text: &str, plan: &Plan) -> Result<Self, PlanError> {
        let mut filter = Self::default();
        let tasks: Vec<&str> = plan.tasks.iter().map(String::as_str).collect();
        let methods: Vec<&str> = plan.methods.iter().map(|method| method.name.as_str()).collect();
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| PlanError::FilterPart(part.to_string()))?;
            let value = value.trim();
            match key.trim() {
                "task" => filter.tasks.push(index("task", value, &tasks)?),
                "method" => filter.methods.push(index("method", value, &methods)?),
                "seed" => filter.seeds.extend(seeds(value, plan)?),
                other => return Err(PlanError::FilterKey(other.to_string())),
            }
        }
        Ok(filter)
    }

    /// Whether a run is meant.
    pub fn takes(&self, cell: &Cell) -> bool {
        let meant = |list: &[usize], index: usize| list.is_empty() || list.contains(&index);
        let seed = self.seeds.is_empty() || self.seeds.contains(&cell.config.run.seed);
        meant(&self.tasks, cell.task) && meant(&self.methods, cell.method) && seed
    }

    /// Whether any run of a method on a task may be meant.
    pub fn takes_row(&self, task: usize, method: usize) -> bool {
        let meant = |list: &[usize], index: usize| list.is_empty() || list.contains(&index);
        meant(&self.tasks, task) && meant(&self.methods, method)
    }
}

fn index(what: &'static str, name: &str, known: &[&str]) -> Result<usize, PlanError> {
    let position = known.iter().position(|candidate| *candidate == name);
    position.ok_or_else(|| UnknownName::new(what, name, known).into())
}

/// `3`, or `0-4` for five of them.
fn seeds(text: &str, plan: &Plan) -> Result<std::ops::RangeInclusive<u64>, PlanError> {
    let number = |text: &str| {
        let number = text.trim().parse::<u64>();
        number.map_err(|_| PlanError::FilterSeed(text.to_string()))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    let (lowest, highest) = (plan.first_seed, plan.first_seed + plan.seeds - 1);
    if first > last || first < lowest || last > highest {
        let text = text.to_string();
        return Err(PlanError::FilterSeeds { text, lowest, highest });
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn plan() -> Plan {
        let text = "seeds = 6\nfirst_seed = 10\n[settings]\nsteps = 2000\n[[task]]\ntask = \"CartPole-v1\"\n\
                    [[task]]\ntask = \"Acrobot-v1\"\n[[method]]\nname = \"fixed\"\n[[method]]\nname = \"epgt paper\"\n";
        Plan::parse("test".to_string(), text.to_string(), 1.0).unwrap()
    }

    fn meant(text: &str) -> Vec<(usize, usize, u64)> {
        let plan = plan();
        let filter = Filter::parse(text, &plan).unwrap();
        let cells = plan.cells(Path::new("out"));
        let meant = cells.iter().filter(|cell| filter.takes(cell));
        meant
            .map(|cell| (cell.task, cell.method, cell.config.run.seed))
            .collect()
    }

    #[test]
    fn values_of_one_key_add_up_and_keys_narrow_down() {
        assert_eq!(meant("task=Acrobot-v1,method=epgt paper,seed=11"), [(1, 1, 11)]);
        assert_eq!(meant("method=fixed,seed=12-13,seed=15,task=CartPole-v1").len(), 3);
        assert_eq!(meant("task=CartPole-v1,task=Acrobot-v1,seed=10").len(), 4);
        assert_eq!(meant("seed=10-15").len(), 24);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_nearest_name() {
        let refused = |text: &str| Filter::parse(text, &plan()).unwrap_err().to_string();
        assert_eq!(
            refused("task=CartPol-v1"),
            "unknown task 'CartPol-v1'; did you mean 'CartPole-v1'?"
        );
        assert_eq!(
            refused("method=epgt papr"),
            "unknown method 'epgt papr'; did you mean 'epgt paper'?"
        );
        assert_eq!(
            refused("metod=fixed"),
            "unknown filter 'metod'; did you mean 'method'? (in --only)"
        );
        assert!(refused("fixed").contains("'fixed' in --only should be task=NAME"));
        assert!(refused("seed=ten").contains("should be a whole number"));
        assert!(refused("seed=9").contains("not among the experiment's seeds, 10 to 15"));
        assert!(refused("seed=12-11").contains("not among"));
    }
}
