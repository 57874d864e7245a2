//! The experiments that come with the program, and how one is found: a file on the disk before one of the program.

use std::fs;
use std::path::Path;

use epgt_settings::UnknownName;

use crate::error::PlanError;
use crate::plan::Plan;

/// Where experiments are looked for by name.
const FOLDER: &str = "experiments";

/// Names and texts of the files in this package's folder `experiments`.
macro_rules! included {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../experiments/", $name, ".toml")))),+]
    };
}

/// The experiments that are part of the program, so that it finds them wherever it is run.
const INCLUDED: &[(&str, &str)] = included! {
    "ablation-encoder"
    "ablation-k"
    "ablation-max"
    "ablation-order"
    "ablation-write-k"
    "acktr-cartpole"
    "acktr-halfcheetah"
    "atari-acktr"
    "atari-ppo"
    "cartpole"
    "classic-control"
    "cost"
    "defaults-classic"
    "defaults-simulators"
    "encoder-interval"
    "exploration"
    "mujoco-6"
    "one-setting-a2c"
    "one-setting-acktr"
    "one-setting"
    "paper-one-setting"
    "parallel"
    "ppo-box2d"
    "ppo-mujoco"
    "ppo-reference"
    "sensitivity"
    "sequential"
    "signal-simulators"
    "signal"
    "tuning-free-a2c-simulators"
    "tuning-free-a2c"
    "tuning-free-one-setting-a2c"
    "tuning-free-one-setting-ppo"
    "tuning-free-ppo-simulators"
    "tuning-free-ppo"
    "why-episodic"
};

/// Reads and checks an experiment: a path, or a name in `./experiments` or among those of the program.
pub fn read(given: &Path, scale: f64) -> Result<Plan, PlanError> {
    if !(scale > 0.0 && scale <= 1000.0) {
        return Err(PlanError::Scale(scale));
    }
    if given.is_file() {
        return from_file(given, scale);
    }
    let name = given.to_string_lossy();
    let name = name.strip_suffix(".toml").unwrap_or(&name);
    let path = Path::new(FOLDER).join(format!("{name}.toml"));
    if path.is_file() {
        return from_file(&path, scale);
    }
    match INCLUDED.iter().find(|(included, _)| *included == name) {
        Some((_, text)) => Plan::parse(name.to_string(), text.to_string(), scale),
        None => {
            let known = names();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(UnknownName::new("experiment", name, &known).into())
        }
    }
}

fn from_file(path: &Path, scale: f64) -> Result<Plan, PlanError> {
    let text = fs::read_to_string(path).map_err(|error| PlanError::Unreadable {
        path: path.to_path_buf(),
        problem: error.to_string(),
    })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Plan::parse(name, text, scale).map_err(|problem| PlanError::File {
        path: path.to_path_buf(),
        problem: Box::new(problem),
    })
}

/// The names that can be given, in order.
pub fn names() -> Vec<String> {
    let files = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .filter_map(|file| {
            file.file_name()
                .to_string_lossy()
                .strip_suffix(".toml")
                .map(String::from)
        })
        .collect();
    names.extend(INCLUDED.iter().map(|(name, _)| name.to_string()));
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_experiments_is_part_of_the_program_and_can_be_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let included: Vec<String> = INCLUDED.iter().map(|(name, _)| format!("{name}.toml")).collect();
        assert_eq!(files, included);
        for (name, _) in INCLUDED {
            let plan = read(Path::new(name), 1.0).unwrap();
            assert!(plan.description.contains('.') && plan.runs() > 0, "{name}");
        }
    }

    #[test]
    fn the_defaults_of_every_simulated_task_are_measured() {
        let plan = read(Path::new("defaults-simulators"), 1.0).unwrap();
        let classic = read(Path::new("defaults-classic"), 1.0).unwrap();
        let mut measured: Vec<&str> = plan.tasks.iter().chain(&classic.tasks).map(String::as_str).collect();
        measured.sort_unstable();
        // Version 2 of the lander is version 3 under its old name, and the task of pixels is there for a quick check.
        let known = epgt_envs::tasks()
            .iter()
            .filter(|task| task.image.is_none())
            .map(|task| &*task.id);
        assert_eq!(measured, known.filter(|id| !id.ends_with("-v2")).collect::<Vec<_>>());
    }
}
