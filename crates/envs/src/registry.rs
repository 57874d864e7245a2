//! Which tasks there are: versioned ids whose meaning never changes, and what a user wants to know of each.

use std::sync::LazyLock;

use crate::{Env, EnvError, Options, RowShape, TimeLimit, atari, box2d, classic, gymnasium, mujoco, pixels};

/// One line of a task's table: a number of the observation or action, or one choice of a discrete action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub name: &'static str,
    /// Its smallest value; for a choice, its index.
    pub low: f32,
    /// Its largest value; for a choice, its index.
    pub high: f32,
}

impl Entry {
    /// A number between two bounds.
    pub(crate) const fn between(name: &'static str, low: f32, high: f32) -> Self {
        Entry { name, low, high }
    }

    /// A number between -bound and bound.
    pub(crate) const fn within(name: &'static str, bound: f32) -> Self {
        Entry {
            name,
            low: -bound,
            high: bound,
        }
    }

    /// One choice of a discrete action.
    pub(crate) const fn choice(name: &'static str, index: u8) -> Self {
        Entry {
            name,
            low: index as f32,
            high: index as f32,
        }
    }
}

/// All that is known of a task before it is made.
///
/// ```
/// let task = epgt_envs::find("Pendulum-v1")?;
/// assert_eq!(task.max_episode_steps, 200);
/// assert_eq!(task.action[0].name, "torque");
/// assert_eq!(task.action[0].high, 2.0);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// Its name with its version.
    pub id: &'static str,
    /// What is to be done, in one line.
    pub summary: &'static str,
    /// The numbers of an observation; none where it is an image.
    pub observation: &'static [Entry],
    /// Channels, height and width of an observation that is an image.
    pub image: Option<[usize; 3]>,
    /// The numbers of an action, or the choices of a discrete one.
    pub action: &'static [Entry],
    /// What is rewarded, in one sentence.
    pub reward: &'static str,
    /// Episodes are cut after so many steps; the largest number is no limit.
    pub max_episode_steps: u32,
    /// The mean episode return from which the task counts as solved, where that is agreed on.
    pub reward_threshold: Option<f64>,
    /// What can be chosen about it, and what was.
    pub options: Options,
    /// Makes one copy with these options, without its time limit.
    pub build: fn(&Options) -> Result<Box<dyn Env>, EnvError>,
}

impl TaskSpec {
    /// The same task with these options, each a name and a text.
    ///
    /// ```
    /// let moon = epgt_envs::find("LunarLander-v3")?.with([("gravity", "-1.6")])?;
    /// assert_eq!(moon.label(), "LunarLander-v3 (gravity = -1.6)");
    /// let error = moon.with([("gravitiy", "-1.6")]).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown option of LunarLander-v3 'gravitiy'; did you mean 'gravity'?");
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn with<N: AsRef<str>, T: AsRef<str>>(
        &self,
        options: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, EnvError> {
        let mut task = self.clone();
        for (name, text) in options {
            task.options.set(task.id, name.as_ref(), text.as_ref())?;
        }
        if let Some(action) = box2d::action(&task.options) {
            task.action = action;
        }
        if task.is_atari() {
            atari::describe(&mut task);
        } else if task.options.foreign.is_some() {
            gymnasium::describe(&mut task)?;
        }
        Ok(task)
    }

    /// One copy, without its time limit; fails where its simulator is missing.
    ///
    /// ```
    /// let env = epgt_envs::find("LunarLander-v3")?.with([("continuous", "true")])?.make()?;
    /// assert_eq!(env.action_space().size(), 2);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn make(&self) -> Result<Box<dyn Env>, EnvError> {
        (self.build)(&self.options)
    }

    /// Whether a worker beside this program steps it, so that its state cannot be saved.
    ///
    /// ```
    /// assert!(epgt_envs::find("gym:CartPole-v1")?.is_foreign());
    /// assert!(!epgt_envs::find("CartPole-v1")?.is_foreign());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn is_foreign(&self) -> bool {
        self.options.foreign.is_some()
    }

    /// What an observation holds; options can make it longer, and what was made says so ([`VecEnv::observation_space`](crate::VecEnv::observation_space)).
    ///
    /// ```
    /// assert_eq!(epgt_envs::find("CartPole-v1")?.observed(), epgt_envs::RowShape::Numbers(4));
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn observed(&self) -> RowShape {
        self.image
            .map_or(RowShape::Numbers(self.observation.len()), RowShape::Image)
    }

    /// Its id, with the options that are not the defaults.
    pub fn label(&self) -> String {
        let changed = self.options.changed();
        let listed: Vec<String> = changed
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        match listed.is_empty() {
            true => self.id.to_string(),
            false => format!("{} ({})", self.id, listed.join(", ")),
        }
    }
}

static TASKS: LazyLock<Vec<TaskSpec>> = LazyLock::new(|| {
    let mut tasks: Vec<TaskSpec> = classic::TASKS.to_vec();
    tasks.extend(box2d::tasks());
    tasks.extend(mujoco::tasks());
    tasks.extend(pixels::TASKS.to_vec());
    tasks.sort_by_key(|task| task.id);
    tasks
});

/// Every task, ordered by id.
///
/// ```
/// assert!(epgt_envs::tasks().iter().any(|task| task.id == "Acrobot-v1"));
/// ```
pub fn tasks() -> &'static [TaskSpec] {
    &TASKS
}

/// A task's id without its version.
///
/// ```
/// assert_eq!(epgt_envs::family("HalfCheetah-v5"), "HalfCheetah");
/// ```
pub fn family(id: &str) -> &str {
    id.split_once("-v").map_or(id, |(name, _)| name)
}

/// The most bytes of an id; a module and a class have room in it.
const LONGEST_ID: usize = 200;

/// The task with this id; the error names the nearest one.
///
/// The tasks `gym:ID` are those of a Python that has Gymnasium ([`gymnasium`]). What they observe and do is known once
/// [`TaskSpec::with`] has given them their options, because only then they can be made. Those of Atari ([`atari`]) are found by
/// the two forms of their ids; [`tasks`] does not list them.
///
/// ```
/// let error = epgt_envs::find("mountaincar-v0").unwrap_err();
/// assert_eq!(error.to_string(), "unknown task 'mountaincar-v0'; did you mean 'MountainCar-v0'?");
/// ```
pub fn find(id: &str) -> Result<&'static TaskSpec, EnvError> {
    if id.len() > LONGEST_ID || id.chars().any(char::is_control) {
        return Err(EnvError::UnknownTask(format!(
            "unknown task '{}'; the id of a task has at most {LONGEST_ID} bytes, and none of them are control characters",
            epgt_settings::clean_line(id, 40)
        )));
    }
    let own = || tasks().iter().find(|task| task.id == id);
    let found = gymnasium::find(id).or_else(|| atari::find(id)).or_else(own);
    found.ok_or_else(|| {
        if let Some(meant) = atari::suggest(id) {
            return EnvError::UnknownTask(format!("unknown task '{id}'; did you mean '{meant}'?"));
        }
        let ids: Vec<_> = tasks().iter().map(|task| task.id).collect();
        EnvError::UnknownTask(epgt_settings::unknown("task", id, &ids))
    })
}

/// One copy of a task, with its time limit.
///
/// ```
/// let env = epgt_envs::make("MountainCarContinuous-v0")?;
/// assert_eq!(env.observation_space().size(), 2);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub fn make(id: &str) -> Result<Box<dyn Env>, EnvError> {
    let task = find(id)?;
    Ok(Box::new(TimeLimit::new(task.make()?, task.max_episode_steps)))
}
