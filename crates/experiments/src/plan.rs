//! The experiment file: which methods are compared, on which tasks and seeds, and where each run goes.
//!
//! ```toml
//! description = "What this is to show"
//! seeds = 10                    # first_seed, first_seed + 1, ...
//! first_seed = 0
//! score = "return_last_100"     # or "best_evaluation", "best_checkpoint", "auc", "human_normalised"
//! statistic = "mean"            # or "median": what the table puts first
//! costs = true                  # also print what the runs cost
//! reference = "fixed"           # with groups: the one whose best method counts as 1; or several, ["fixed", "others"]
//! threshold = 450               # also tell after how many steps the training return reached it
//!
//! [settings]                    # of all runs, as in a configuration file
//! steps = 20_000
//! hyper.update_phase = 10
//!
//! [[task]]
//! task = "MountainCarContinuous-v0"
//! zero = -33                    # with groups: the score that counts as 0, such as random play's; 0 where it is not said
//!
//! [[method]]
//! name = "fixed min"
//! group = "fixed"               # optional
//! scheduler = "fixed"
//! hyper.fixed_at = "min"
//! ```
//!
//! Later layers win: `[settings]`, then the task's own, then the method's. A layer that says what is tuned replaces
//! what the layers below it tune.

use std::path::{Path, PathBuf};

use epgt_settings::{UnknownName, choice};
use epgt_train::{Assignment, BestBy, Config};
use toml::Table;

use crate::cell::Cell;
use crate::error::PlanError;
use crate::layers::{distinct, file_name, layer, overlay, plain, slug, tables, take};
use crate::measure::Measure;

choice! {
    /// What of the seeds' scores the table puts first, and what the sentence below it goes by.
    pub enum Statistic {
        /// The mean.
        Mean = "mean",
        /// The median.
        Median = "median",
    }
}

/// A checked experiment.
pub struct Plan {
    /// The file's name without its ending.
    pub name: String,
    /// The file's text, so that a report can show what produced it.
    pub text: String,
    /// What it is to show, in its own words.
    pub description: String,
    /// What methods are compared by.
    pub score: Measure,
    /// What of the seeds' scores the table puts first.
    pub statistic: Statistic,
    /// Whether what the runs cost is printed as well.
    pub costs: bool,
    /// What all steps were multiplied by; 1 is the experiment itself.
    pub scale: f64,
    /// The ids of the tasks.
    pub tasks: Vec<String>,
    /// The methods that are compared.
    pub methods: Vec<Method>,
    /// The groups whose best method the others are measured against; none where groups are not compared.
    pub reference: Vec<String>,
    /// By task: the score that counts as 0 where groups are compared.
    pub zeros: Vec<f64>,
    /// The training return whose first reaching is told in steps.
    pub threshold: Option<f64>,
    /// The first of the seeds, which follow each other.
    pub first_seed: u64,
    /// How many seeds there are.
    pub seeds: u64,
    /// By task, then method: what its runs do, but for the seed.
    configs: Vec<Config>,
    /// By task, then method: why its runs cannot be made with this scale, where they cannot.
    refused: Vec<Option<PlanError>>,
}

/// One of the compared methods.
pub struct Method {
    /// Its name, which no other method of the experiment has.
    pub name: String,
    /// The group that it is compared with as a whole.
    pub group: Option<String>,
}

impl Plan {
    /// Checks the text of an experiment file, all of whose runs get `scale` times their steps.
    pub fn parse(name: String, text: String, scale: f64) -> Result<Self, PlanError> {
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(""));
            let line = before.matches('\n').count() + 1;
            let message = error.message().to_string();
            PlanError::Toml { line, message }
        })?;
        let description = take(&mut table, "description")?.unwrap_or_default();
        let seeds = take(&mut table, "seeds")?.unwrap_or(1);
        let first_seed: u64 = take(&mut table, "first_seed")?.unwrap_or(0);
        let score = take(&mut table, "score")?.unwrap_or(Measure::Final);
        let statistic = take(&mut table, "statistic")?.unwrap_or(Statistic::Mean);
        let costs = take(&mut table, "costs")?.unwrap_or(false);
        let reference = match table.remove("reference") {
            Some(toml::Value::Array(names)) => names.iter().map(plain).collect(),
            Some(name) => vec![plain(&name)],
            None => Vec::new(),
        };
        let threshold = take(&mut table, "threshold")?;
        let common = match table.remove("settings") {
            Some(toml::Value::Table(settings)) => layer(&settings, &["task", "seed"])?,
            None => Vec::new(),
            Some(_) => return Err(PlanError::SettingsNoSection),
        };
        Config::lay(&common).map_err(|error| PlanError::Settings(Box::new(error.into())))?;
        let (mut tasks, mut zeros) = (Vec::new(), Vec::new());
        for mut entry in tables(&mut table, "task")? {
            let task: String = take(&mut entry, "task")?.ok_or(PlanError::TaskWithoutId)?;
            zeros.push(take(&mut entry, "zero")?.unwrap_or(0.0));
            let own = layer(&entry, &["seed"]).map_err(|problem| PlanError::Task {
                task: task.clone(),
                problem: Box::new(problem),
            })?;
            tasks.push((task, own));
        }
        let mut methods = Vec::new();
        for mut entry in tables(&mut table, "method")? {
            let name: String = take(&mut entry, "name")?.ok_or(PlanError::MethodWithoutName)?;
            let group = take(&mut entry, "group")?;
            let own = layer(&entry, &["task", "seed"]).map_err(|problem| PlanError::Method {
                method: name.clone(),
                problem: Box::new(problem),
            })?;
            methods.push((Method { name, group }, own));
        }
        if let Some(key) = table.keys().next() {
            let known = [
                "description",
                "seeds",
                "first_seed",
                "score",
                "statistic",
                "costs",
                "reference",
                "threshold",
                "settings",
                "task",
                "method",
            ];
            return Err(UnknownName::new("key", key, &known).into());
        }
        if seeds == 0 {
            return Err(PlanError::NoSeeds);
        }
        if first_seed.checked_add(seeds).is_none() {
            let first = first_seed;
            return Err(PlanError::NoRoomForSeeds { first, seeds });
        }
        distinct("task", tasks.iter().map(|(task, _)| task.as_str()))?;
        distinct("method", methods.iter().map(|(method, _)| method.name.as_str()))?;
        let groups: Vec<&str> = methods
            .iter()
            .filter_map(|(method, _)| method.group.as_deref())
            .collect();
        if let Some(reference) = reference.iter().find(|reference| !groups.contains(&reference.as_str())) {
            return Err(UnknownName::new("group", reference, &groups).into());
        }

        let (mut configs, mut refused) = (Vec::new(), Vec::new());
        for (task, of_task) in &tasks {
            for (method, of_method) in &methods {
                let mut assignments = common.clone();
                overlay(&mut assignments, &[Assignment::new("task", task)]);
                overlay(&mut assignments, of_task);
                overlay(&mut assignments, of_method);
                let told = |problem: PlanError| PlanError::Run {
                    method: method.name.clone(),
                    task: task.clone(),
                    problem: Box::new(problem),
                };
                let whole = Config::build(&assignments)
                    .map_err(PlanError::from)
                    .and_then(|config| scorable(score, config))
                    .map_err(told)?;
                // A budget that is too small when it is scaled matters to whoever makes that run, and to nobody else.
                let (config, problem) = match scaled(&whole, assignments, scale) {
                    Ok(config) => (config, None),
                    Err(error) => (whole, Some(told(error))),
                };
                configs.push(config);
                refused.push(problem);
            }
        }
        Ok(Self {
            name,
            text,
            description,
            score,
            statistic,
            costs,
            scale,
            tasks: tasks.into_iter().map(|(task, _)| task).collect(),
            methods: methods.into_iter().map(|(method, _)| method).collect(),
            reference,
            zeros,
            threshold,
            first_seed,
            seeds,
            configs,
            refused,
        })
    }

    /// What its runs do on a task with a method, but for the seed.
    pub fn config(&self, task: usize, method: usize) -> &Config {
        &self.configs[task * self.methods.len() + method]
    }

    /// All runs of the experiment.
    pub fn runs(&self) -> u64 {
        self.configs.len() as u64 * self.seeds
    }

    /// Where the runs go unless the user says otherwise: scaled ones never beside the others.
    pub fn usual_place(&self) -> PathBuf {
        let place = Path::new("runs");
        match self.scale == 1.0 {
            true => place.join(&self.name),
            false => place.join(format!("{}-scale-{}", self.name, self.scale)),
        }
    }

    /// The name, and that it is scaled where it is.
    pub fn title(&self) -> String {
        match self.scale == 1.0 {
            true => self.name.clone(),
            false => format!("{} (scaled: {} times the steps)", self.name, self.scale),
        }
    }

    /// All runs below a directory: by task, then method, then seed.
    pub fn cells(&self, out: &Path) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (i, base) in self.configs.iter().enumerate() {
            let (task, method) = (i / self.methods.len(), i % self.methods.len());
            let parent = out
                .join(file_name(&self.tasks[task]))
                .join(slug(&self.methods[method].name));
            for seed in self.first_seed..self.first_seed + self.seeds {
                let mut config = base.clone();
                config.run.seed = seed;
                cells.push(Cell {
                    refused: self.refused[i].clone(),
                    task,
                    method,
                    directory: parent.join(format!("seed-{seed}")),
                    config,
                });
            }
        }
        cells
    }
}

/// A configuration with `scale` times the steps, and the same share of them between two rows, evaluations,
/// checkpoints and exchanges.
fn scaled(config: &Config, mut assignments: Vec<Assignment>, scale: f64) -> Result<Config, PlanError> {
    if scale == 1.0 {
        return Ok(config.clone());
    }
    let run = &config.run;
    let times = |steps: u64| ((steps as f64 * scale).round() as u64).max(1);
    assignments.push(Assignment::new("steps", times(run.steps)));
    let intervals = [
        ("log_interval", run.log_interval),
        ("eval_interval", run.eval_interval),
        ("checkpoint_interval", run.checkpoint_interval),
    ];
    for (key, interval) in intervals {
        if let Some(steps) = interval.filter(|steps| *steps > 0) {
            assignments.push(Assignment::new(key, times(steps)));
        }
    }
    if config.scheduler.population().is_some() {
        assignments.push(Assignment::new("population.ready", times(config.population.ready)));
    }
    Config::build(&assignments).map_err(|error| PlanError::Scaled {
        scale,
        problem: Box::new(error.into()),
    })
}

/// Refuses runs that would end without the score they are compared by.
fn scorable(score: Measure, config: Config) -> Result<Config, PlanError> {
    let run = &config.run;
    let needs = match score {
        Measure::Evaluation if run.eval_interval == Some(0) => "eval_interval above 0",
        Measure::Checkpoint if run.final_episodes == 0 => "final_episodes above 0",
        Measure::Checkpoint if run.best_by == BestBy::Evaluation && run.eval_interval == Some(0) => {
            "best_by = \"training\", or eval_interval above 0"
        }
        Measure::Human if config.task().map_err(PlanError::from)?.human_normalised(0.0).is_none() => {
            "a task with a human's score, such as PongNoFrameskip-v4"
        }
        _ => return Ok(config),
    };
    Err(PlanError::NoScore { measure: score, needs })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "seeds = 2\n[settings]\ndefaults = \"task\"\nsteps = 2000\ntune.gamma = \"0.9:0.99\"\n[[task]]\ntask = \"CartPole-v1\"\n";

    fn plan(methods: &str) -> Result<Plan, PlanError> {
        Plan::parse("test".to_string(), format!("{HEAD}{methods}"), 1.0)
    }

    #[test]
    fn later_layers_win_and_replace_what_is_tuned() {
        let plan = plan(
            "[[method]]\nname = \"a\"\nsteps = 4000\n[[method]]\nname = \"b\"\ntune.learning_rate = \"paper:3\"\n\
             [method.hyper]\nhold = 7\n",
        )
        .unwrap();
        let cells = plan.cells(Path::new("out"));
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[1].directory, Path::new("out/CartPole-v1/a/seed-1"));
        assert_eq!((cells[1].config.run.steps, cells[1].config.run.seed), (4000, 1));
        assert_eq!(cells[0].config.tune[0].0, "gamma");
        assert_eq!((cells[2].config.run.steps, cells[2].config.tune.len()), (2000, 1));
        assert_eq!(cells[2].config.tune[0].0, "learning_rate");
        assert_eq!(cells[2].config.hyper.hold, epgt_hyper::Hold::Updates(7));
    }

    #[test]
    fn what_cannot_be_run_is_refused_in_one_sentence() {
        let refused = |methods: &str| plan(methods).err().unwrap().to_string();
        assert_eq!(refused(""), "nothing to run: add a [[method]]");
        assert_eq!(
            refused("[[method]]\nname = \"a\"\nhyper.holdd = 3\n"),
            "method 'a' on CartPole-v1: unknown setting 'hyper.holdd'; did you mean 'hyper.hold'?"
        );
        assert!(refused("[[methods]]\nname = \"a\"\n").contains("nothing to run"));
        assert!(refused("[[method]]\nname = \"a\"\n[metod]\n").contains("did you mean 'method'?"));
        assert!(refused("[[method]]\nname = \"a\"\nseed = 3\n").contains("use seeds and first_seed"));
        assert!(refused("[[method]]\nname = \"a b\"\n[[method]]\nname = \"A-b\"\n").contains("cannot be told apart"));
        assert!(refused("[[method]]\nname = \n").contains("line 9 is not valid TOML"));
    }

    #[test]
    fn a_scaled_plan_has_its_share_of_all_steps_and_a_place_of_its_own() {
        let methods = "[[method]]\nname = \"a\"\nlog_interval = 500\neval_interval = 0\n";
        let scaled = |scale| Plan::parse("test".to_string(), format!("{HEAD}{methods}"), scale);
        let plan = scaled(0.1).unwrap();
        let run = &plan.config(0, 0).run;
        assert_eq!(
            (run.steps, run.log_interval, run.eval_interval),
            (200, Some(50), Some(0))
        );
        assert_eq!(plan.usual_place(), Path::new("runs/test-scale-0.1"));
        assert_eq!(plan.title(), "test (scaled: 0.1 times the steps)");
        assert_eq!(scaled(1.0).unwrap().usual_place(), Path::new("runs/test"));
    }

    #[test]
    fn only_the_runs_that_a_scale_leaves_too_short_are_refused() {
        let methods = "[[method]]\nname = \"a\"\n[[method]]\nname = \"b\"\nsteps = 2_000_000\n";
        let plan = Plan::parse("test".to_string(), format!("{HEAD}{methods}"), 1e-3).unwrap();
        let cells = plan.cells(Path::new("out"));
        let refused = cells[0].refused.as_ref().unwrap().to_string();
        assert!(
            refused.contains("method 'a' on CartPole-v1: with --scale 0.001, steps = 2 is less than one rollout"),
            "{refused}"
        );
        assert_eq!((cells[2].refused.as_ref(), cells[2].config.run.steps), (None, 2000));
    }

    #[test]
    fn runs_that_would_end_without_a_score_are_refused() {
        let with = |score: &str, method: &str| {
            let text = format!("score = \"{score}\"\n{HEAD}[[method]]\nname = \"a\"\n{method}\n");
            Plan::parse("test".to_string(), text, 1.0).err()
        };
        let needs = |score: &str, method: &str, words: &str| {
            let refused = with(score, method).unwrap().to_string();
            assert!(refused.ends_with(words), "{refused}");
        };
        needs("best_evaluation", "eval_interval = 0", "needs eval_interval above 0");
        needs("best_checkpoint", "", "needs final_episodes above 0");
        needs("human_normalised", "", "such as PongNoFrameskip-v4");
        needs(
            "best_checkpoint",
            "final_episodes = 9\neval_interval = 0",
            "eval_interval above 0",
        );
        assert_eq!(
            with(
                "best_checkpoint",
                "final_episodes = 9\nbest_by = \"training\"\neval_interval = 0"
            ),
            None
        );
        assert_eq!(with("auc", "eval_interval = 0"), None);
    }
}
