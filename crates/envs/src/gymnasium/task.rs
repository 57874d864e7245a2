//! Foreign tasks in the registry: found by their prefix, described by a worker once all their options are known.

use std::sync::{Mutex, PoisonError};

use super::bridge::start;
use super::env::ForeignEnv;
use super::protocol::Description;
use crate::{Entry, Env, EnvError, OptionValue, Options, Space, TaskOption, TaskSpec};

/// What the ids of foreign tasks begin with.
pub(super) const PREFIX: &str = "gym:";

/// What every foreign task takes besides its own keyword arguments; `import` can be no keyword argument of Python's.
const DECLARED: &[TaskOption] = &[
    TaskOption::new(
        "import",
        OptionValue::Text(""),
        "Modules that are imported before the environment is made, separated by commas (--import)",
    ),
    TaskOption::new(
        "bridge_timeout",
        OptionValue::Count(60),
        "Seconds that the worker may take for an answer: to start, to reset, to step",
    ),
];

/// What is known of a foreign task with its options.
#[derive(Clone)]
struct Known {
    label: String,
    observation_space: Space,
    action_space: Space,
    observation: &'static [Entry],
    image: Option<[usize; 3]>,
    action: &'static [Entry],
    max_episode_steps: u32,
    reward_threshold: Option<f64>,
}

/// The tasks that were named so far; they live as long as the program, like all others.
static FOUND: Mutex<Vec<&'static TaskSpec>> = Mutex::new(Vec::new());
/// What workers have said of them.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The foreign task with this id, which is not described yet; `None` where the id is of another kind.
pub(crate) fn find(id: &str) -> Option<&'static TaskSpec> {
    let name = id.strip_prefix(PREFIX).filter(|name| !name.is_empty())?;
    Some(remembered(id, |id| TaskSpec {
        id,
        summary: String::leak(format!("Gymnasium's {name}, in a Python worker.")),
        observation: &[],
        image: None,
        action: &[],
        reward: "What the environment gives.",
        max_episode_steps: u32::MAX,
        reward_threshold: None,
        options: Options::foreign(id, DECLARED),
        build,
    }))
}

/// The task of a worker with this id, made at its first mention.
pub(crate) fn remembered(id: &str, make: impl FnOnce(&'static str) -> TaskSpec) -> &'static TaskSpec {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(task) = found.iter().find(|task| task.id == id) {
        return task;
    }
    let task: &'static TaskSpec = Box::leak(Box::new(make(String::leak(id.to_string()))));
    found.push(task);
    task
}

/// Fills in what a worker says of a foreign task with its options; it is asked once.
pub(crate) fn describe(task: &mut TaskSpec) -> Result<(), EnvError> {
    let known = known(&task.options)?;
    task.observation = known.observation;
    task.image = known.image;
    task.action = known.action;
    task.max_episode_steps = known.max_episode_steps;
    task.reward_threshold = known.reward_threshold;
    Ok(())
}

fn build(options: &Options) -> Result<Box<dyn Env>, EnvError> {
    let known = known(options)?;
    Ok(Box::new(ForeignEnv::new(
        options,
        known.observation_space,
        known.action_space,
    )))
}

fn known(options: &Options) -> Result<Known, EnvError> {
    let label = label(options);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| known.label == label) {
        return Ok(known.clone());
    }
    let (_, _, description) = start(options, 1)?;
    let known = Known::of(label, &description);
    all.push(known.clone());
    Ok(known)
}

/// The spaces of observations and actions that a worker has described for this task and these options, if one has.
pub(super) fn described(options: &Options) -> Option<(Space, Space)> {
    let label = label(options);
    let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().find(|known| known.label == label)?;
    Some((known.observation_space.clone(), known.action_space.clone()))
}

fn label(options: &Options) -> String {
    format!("{:?} {:?}", options.foreign, options.changed())
}

impl Known {
    fn of(label: String, description: &Description) -> Self {
        let (observation_space, action_space) = (description.observation_space(), description.action_space());
        let name = |text: String| -> &'static str { text.leak() };
        let table = |space: &Space, names: &mut dyn Iterator<Item = String>| -> &'static [Entry] {
            let Space::Box { low, high } = space else { return &[] };
            let bounds = low.iter().zip(high).zip(names);
            let entries = bounds.map(|((&low, &high), text)| Entry::between(name(text), low, high));
            Vec::leak(entries.collect())
        };
        let choices = |counts: &[usize]| -> &'static [Entry] {
            // Named as the environment names them, which need not begin at 0.
            let part = |k: usize, choice: usize| match (
                counts.len(),
                description.action.starts[k].saturating_add(choice as i64),
            ) {
                (1, value) => format!("choice {value}"),
                (_, value) => format!("number {k} is {value}"),
            };
            let all = counts.iter().enumerate();
            let entries = all.flat_map(|(k, &count)| {
                (0..count).map(move |choice| {
                    let value = choice as f32;
                    Entry::between(name(part(k, choice)), value, value)
                })
            });
            Vec::leak(entries.collect())
        };
        let action = match &action_space {
            Space::Discrete(n) => choices(&[*n]),
            Space::MultiDiscrete(counts) => choices(counts),
            space => table(space, &mut (0..).map(|k| format!("action[{k}]"))),
        };
        Known {
            label,
            observation: table(
                &observation_space,
                &mut description.names.iter().map(|name| name.0.clone()),
            ),
            image: description.image,
            action,
            observation_space,
            action_space,
            max_episode_steps: description.max_episode_steps.unwrap_or(u32::MAX),
            reward_threshold: description.reward_threshold,
        }
    }
}
