//! Foreign tasks in the registry: found by their prefix, described by a worker once all their options are known.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bridge::{Bridge, start};
use super::env::ForeignEnv;
use super::protocol::Description;
use super::python::python;
use crate::registry::StartForeign;
use crate::{Entry, EnvError, OptionValue, Options, Space, TaskOption, TaskSpec};

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
    /// The Python, the task and the options that the worker was asked about.
    asked: String,
    spaces: [Space; 2],
    observation: Arc<[Entry]>,
    image: Option<[usize; 3]>,
    action: Arc<[Entry]>,
    max_episode_steps: u32,
    measured_limit: Arc<OnceLock<Option<u32>>>,
    reward_threshold: Option<f64>,
}

/// What workers have said last, so that a task that is named again needs no other worker.
static KNOWN: Mutex<VecDeque<Known>> = Mutex::new(VecDeque::new());
/// How many answers are kept.
const MOST_KNOWN: usize = 32;

/// The foreign task with this id, which is not described yet; `None` where the id is of another kind.
pub(crate) fn find(id: &str) -> Option<TaskSpec> {
    let name = id.strip_prefix(PREFIX).filter(|name| !name.is_empty())?;
    let asked = id.to_string();
    let bare = TaskSpec::of(id.to_string(), DECLARED, move |options| {
        let known = known(&asked, options)?;
        Ok(Box::new(ForeignEnv::new(&asked, options, known.spaces)))
    });
    Some(TaskSpec {
        summary: format!("Gymnasium's {name}, in a Python worker.").into(),
        reward: "What the environment gives.".into(),
        options: Options::of(DECLARED).and_more(),
        describe: Some(describe),
        foreign: Some(started(None)),
        ..bare
    })
}

/// Fills in what a worker says of a foreign task with its options.
fn describe(task: &mut TaskSpec) -> Result<(), EnvError> {
    let known = known(&task.id, &task.options)?;
    task.observation = known.observation;
    task.image = known.image;
    task.action = known.action;
    task.max_episode_steps = known.max_episode_steps;
    task.measured_limit = known.measured_limit;
    task.reward_threshold = known.reward_threshold;
    task.foreign = Some(started(Some(known.spaces.clone())));
    let id = task.id.clone();
    task.build = Arc::new(move |options| Ok(Box::new(ForeignEnv::new(&id, options, known.spaces.clone()))));
    Ok(())
}

/// How the environments of a task are started, which must have the spaces that were described, if they were.
pub(crate) fn started(described: Option<[Space; 2]>) -> StartForeign {
    Arc::new(move |task, n| {
        let bridge = Bridge::new(&task.id, &task.options, described.as_ref(), n, &task.label(), false)?;
        Ok(Box::new(bridge))
    })
}

/// What a worker says of a task with these options; it is asked once.
fn known(id: &str, options: &Options) -> Result<Known, EnvError> {
    let asked = format!("{:?} {id} {:?}", python(), options.changed());
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| known.asked == asked) {
        return Ok(known.clone());
    }
    let (_, _, description) = start(id, options, 1, false)?;
    let known = Known::of(asked, &description);
    if all.len() == MOST_KNOWN {
        all.pop_front();
    }
    all.push_back(known.clone());
    Ok(known)
}

impl Known {
    fn of(asked: String, description: &Description) -> Self {
        let spaces = [description.observation_space(), description.action_space()];
        // Choices are named as the environment names them, which need not begin at 0.
        let starts = |k: usize| description.action.starts[k];
        let action = match &spaces[1] {
            Space::Discrete(n) => Entry::choices(&[*n], starts),
            Space::MultiDiscrete(counts) => Entry::choices(counts, starts),
            space => Entry::numbers(space, (0..).map(|k| format!("action[{k}]"))),
        };
        Known {
            asked,
            observation: Entry::numbers(&spaces[0], description.names.iter().map(|name| name.0.clone())),
            image: description.image,
            action,
            spaces,
            max_episode_steps: description.max_episode_steps.unwrap_or(u32::MAX),
            measured_limit: Arc::default(),
            reward_threshold: description.reward_threshold,
        }
    }
}
