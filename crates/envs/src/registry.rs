//! Which tasks there are: versioned ids whose meaning never changes, and what a user wants to know of each.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use epgt_rng::Pcg64;

use crate::vec_env::Foreign;
use crate::{Env, EnvError, Options, RowShape, Space, TaskOption, TimeLimit, classic, families, pixels};

/// One line of a task's table: a number of the observation or action, or one choice of a discrete action.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub name: Cow<'static, str>,
    /// Its smallest value; for a choice, its index.
    pub low: f32,
    /// Its largest value; for a choice, its index.
    pub high: f32,
}

impl Entry {
    /// A number between two bounds.
    pub const fn between(name: &'static str, low: f32, high: f32) -> Self {
        Entry {
            name: Cow::Borrowed(name),
            low,
            high,
        }
    }

    /// A number between -bound and bound.
    pub const fn within(name: &'static str, bound: f32) -> Self {
        Entry::between(name, -bound, bound)
    }

    /// One choice of a discrete action.
    pub const fn choice(name: &'static str, index: u8) -> Self {
        Entry::between(name, index as f32, index as f32)
    }

    /// One line for each number of a space of numbers, with these names; none for other spaces.
    pub(crate) fn numbers(space: &Space, names: impl Iterator<Item = String>) -> Arc<[Entry]> {
        let Space::Box { low, high } = space else {
            return [].into();
        };
        let bounds = low.iter().zip(high).zip(names);
        let entry = |((&low, &high), name): ((&f32, &f32), String)| Entry {
            name: name.into(),
            low,
            high,
        };
        bounds.map(entry).collect()
    }

    /// One line for each choice, where each of several numbers has so many; the first choice of number k has the name
    /// `starts(k)`.
    pub(crate) fn choices(counts: &[usize], starts: impl Fn(usize) -> i64) -> Arc<[Entry]> {
        let name = |k: usize, choice: usize| match (counts.len(), starts(k).saturating_add(choice as i64)) {
            (1, value) => format!("choice {value}"),
            (_, value) => format!("number {k} is {value}"),
        };
        let all = counts.iter().enumerate();
        let all = all.flat_map(|(k, &count)| (0..count).map(move |choice| (k, choice)));
        let entry = |(k, choice)| Entry {
            name: name(k, choice).into(),
            low: choice as f32,
            high: choice as f32,
        };
        all.map(entry).collect()
    }
}

/// How a task makes one copy of itself with its options, without its time limit.
pub type Build = Arc<dyn Fn(&Options) -> Result<Box<dyn Env>, EnvError> + Send + Sync>;

/// How a task's description is brought up to date after its options have changed.
pub(crate) type Describe = fn(&mut TaskSpec) -> Result<(), EnvError>;

/// How N copies of a task are started that another process steps together.
pub(crate) type StartForeign = Arc<dyn Fn(&TaskSpec, usize) -> Result<Box<dyn Foreign>, EnvError> + Send + Sync>;

/// All that is known of a task before it is made: one that [`find`] knows, or one of your own ([`TaskSpec::new`]).
///
/// ```
/// let task = epgt_envs::find("Pendulum-v1")?;
/// assert_eq!(task.max_episode_steps, 200);
/// assert_eq!(task.action[0].name, "torque");
/// assert_eq!(task.action[0].high, 2.0);
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
#[derive(Clone)]
pub struct TaskSpec {
    /// Its name with its version.
    pub id: Cow<'static, str>,
    /// What is to be done, in one line.
    pub summary: Cow<'static, str>,
    /// The numbers of an observation; none where it is an image.
    pub observation: Arc<[Entry]>,
    /// Channels, height and width of an observation that is an image.
    pub image: Option<[usize; 3]>,
    /// The numbers of an action, or the choices of a discrete one.
    pub action: Arc<[Entry]>,
    /// What is rewarded, in one sentence.
    pub reward: Cow<'static, str>,
    /// Episodes are cut after so many steps; the largest number is no limit.
    pub max_episode_steps: u32,
    /// The mean episode return from which the task counts as solved, where that is agreed on.
    pub reward_threshold: Option<f64>,
    /// What can be chosen about it, and what was.
    pub options: Options,
    /// Makes one copy with these options, without its time limit.
    pub build: Build,
    /// After how many steps episodes were seen to be cut, once that was looked at.
    pub(crate) measured_limit: Arc<OnceLock<Option<u32>>>,
    /// Set where the description depends on the options.
    pub(crate) describe: Option<Describe>,
    /// Starts N copies together, where another process steps them.
    pub(crate) foreign: Option<StartForeign>,
    /// Set where the state of a copy cannot be saved.
    pub(crate) unsaved: bool,
    pub(crate) is_atari: bool,
    /// What random play and a human reach on average.
    pub(crate) human_scores: Option<(f64, f64)>,
}

impl fmt::Debug for TaskSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TaskSpec").field(&self.label()).finish()
    }
}

impl TaskSpec {
    /// A task of your own: its id, and how one copy of it is made.
    ///
    /// What it observes and does is read from one copy. Episodes have no limit until
    /// [`with_max_episode_steps`](TaskSpec::with_max_episode_steps) gives them one.
    ///
    /// ```
    /// use epgt_envs::{TaskSpec, VecEnv, classic::Pendulum};
    /// let task = TaskSpec::new("MyPendulum-v0", Pendulum::new).with_max_episode_steps(100);
    /// assert_eq!(task.observation[2].name, "observation 2");
    /// assert_eq!(task.action[0].high, 2.0);
    /// assert_eq!(VecEnv::new(&task, 4, 0)?.n(), 4);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn new<E: Env + 'static>(
        id: impl Into<Cow<'static, str>>,
        make: impl Fn() -> E + Send + Sync + 'static,
    ) -> Self {
        let (first, build) = (make(), move |_: &Options| Ok(Box::new(make()) as Box<dyn Env>));
        let mut task = TaskSpec::of(id, [], build);
        task.describe_as(&first);
        task
    }

    /// A task of your own that takes options, or whose copies cannot always be made.
    ///
    /// What it observes and does is read from one copy, here and again when [`TaskSpec::with`] has changed the options.
    ///
    /// ```
    /// use epgt_envs::{OptionValue, TaskOption, TaskSpec, make};
    /// let tilted = TaskOption::new("tilted", OptionValue::Flag(false), "Whether the ground is tilted");
    /// let task = TaskSpec::configurable("Slope-v0", [tilted], |options| match options.flag("tilted") {
    ///     true => make("MountainCar-v0"),
    ///     false => make("CartPole-v1"),
    /// })?;
    /// assert_eq!(task.observation.len(), 4);
    /// assert_eq!(task.with([("tilted", "true")])?.observation.len(), 2);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn configurable(
        id: impl Into<Cow<'static, str>>,
        declared: impl Into<Arc<[TaskOption]>>,
        build: impl Fn(&Options) -> Result<Box<dyn Env>, EnvError> + Send + Sync + 'static,
    ) -> Result<Self, EnvError> {
        let mut task = TaskSpec {
            describe: Some(|task| {
                let first = task.make()?;
                task.describe_as(&*first);
                Ok(())
            }),
            ..TaskSpec::of(id, declared, build)
        };
        task.describe()?;
        Ok(task)
    }

    /// A task of which nothing is told yet but how it is made.
    pub(crate) fn of(
        id: impl Into<Cow<'static, str>>,
        declared: impl Into<Arc<[TaskOption]>>,
        build: impl Fn(&Options) -> Result<Box<dyn Env>, EnvError> + Send + Sync + 'static,
    ) -> Self {
        TaskSpec {
            id: id.into(),
            summary: "".into(),
            observation: [].into(),
            image: None,
            action: [].into(),
            reward: "".into(),
            max_episode_steps: u32::MAX,
            reward_threshold: None,
            options: Options::of(declared),
            build: Arc::new(build),
            measured_limit: Arc::default(),
            describe: None,
            foreign: None,
            unsaved: false,
            is_atari: false,
            human_scores: None,
        }
    }

    /// Describes what this copy observes and does.
    fn describe_as(&mut self, env: &dyn Env) {
        let named = |what| (0..).map(move |k| format!("{what} {k}"));
        let (observed, done) = (env.observation_space(), env.action_space());
        self.observation = match observed {
            // A choice is observed as its number.
            Space::Discrete(n) => Entry::numbers(&Space::up_to(&[*n]), named("observation")),
            Space::MultiDiscrete(counts) => Entry::numbers(&Space::up_to(counts), named("observation")),
            numbers => Entry::numbers(numbers, named("observation")),
        };
        self.action = match done {
            Space::Discrete(n) => Entry::choices(&[*n], |_| 0),
            Space::MultiDiscrete(counts) => Entry::choices(counts, |_| 0),
            numbers => Entry::numbers(numbers, named("action")),
        };
        self.image = match *observed {
            Space::Image {
                channels,
                height,
                width,
            } => Some([channels, height, width]),
            _ => None,
        };
    }

    fn describe(&mut self) -> Result<(), EnvError> {
        self.describe.map_or(Ok(()), |describe| describe(self))
    }

    /// The same task with a summary: what is to be done, in one line.
    pub fn with_summary(mut self, summary: impl Into<Cow<'static, str>>) -> Self {
        self.summary = summary.into();
        self
    }

    /// The same task with a sentence on what is rewarded.
    pub fn with_reward(mut self, reward: impl Into<Cow<'static, str>>) -> Self {
        self.reward = reward.into();
        self
    }

    /// The same task whose episodes are cut after so many steps.
    pub fn with_max_episode_steps(mut self, steps: u32) -> Self {
        self.max_episode_steps = steps;
        self
    }

    /// The same task that counts as solved from this mean episode return on.
    pub fn with_reward_threshold(mut self, threshold: f64) -> Self {
        self.reward_threshold = Some(threshold);
        self
    }

    /// The same task whose copies cannot save their state: they begin anew where a run is resumed.
    ///
    /// ```
    /// use epgt_envs::{TaskSpec, VecEnv, classic::Pendulum};
    /// let task = TaskSpec::new("MyPendulum-v0", Pendulum::new).with_unsaved_state();
    /// assert!(VecEnv::new(&task, 2, 0)?.begins_anew());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn with_unsaved_state(mut self) -> Self {
        self.unsaved = true;
        self
    }

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
        let mut task = TaskSpec {
            measured_limit: Arc::default(),
            ..self.clone()
        };
        for (name, text) in options {
            task.options.set(&task.id, name.as_ref(), text.as_ref())?;
        }
        task.describe()?;
        Ok(task)
    }

    /// After how many steps episodes are cut: the task's limit or, where it tells none, what its environment was seen to do
    /// within [`TRIAL_STEPS`](Self::TRIAL_STEPS) steps of random play. `None` where nothing was cut.
    ///
    /// ```
    /// use epgt_envs::{Env, TaskSpec, TimeLimit, classic::Pendulum};
    /// let task = TaskSpec::configurable("Own-v0", [], |_| Ok(Box::new(TimeLimit::new(Box::new(Pendulum::new()), 60))))?;
    /// assert_eq!((task.max_episode_steps, task.episode_limit()), (u32::MAX, Some(60)));
    /// assert_eq!(TaskSpec::new("Endless-v0", Pendulum::new).episode_limit(), None);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn episode_limit(&self) -> Option<u32> {
        match self.max_episode_steps {
            // An environment that fails here says so where it is trained.
            u32::MAX => *self.measured_limit.get_or_init(|| self.measure_limit().unwrap_or(None)),
            limit => Some(limit),
        }
    }

    /// Steps of random play after which [`episode_limit`](Self::episode_limit) no longer waits for an episode to be cut.
    pub const TRIAL_STEPS: u32 = 2000;

    fn measure_limit(&self) -> Result<Option<u32>, EnvError> {
        let (mut env, mut rng) = (self.make()?, Pcg64::from_seed(0));
        let mut observation = vec![0.0; env.observation_space().size()];
        let mut action = vec![0.0; env.action_space().size()];
        env.reset(Some(0), &mut observation)?;
        let mut length = 0;
        for _ in 0..Self::TRIAL_STEPS {
            env.action_space().sample(&mut rng, &mut action);
            let step = env.step(&action, &mut observation)?;
            length += 1;
            if step.truncated {
                return Ok(Some(length));
            }
            if step.terminated {
                env.reset(None, &mut observation)?;
                length = 0;
            }
        }
        Ok(None)
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
        self.foreign.is_some()
    }

    /// Whether it is a game of Atari's.
    ///
    /// ```
    /// assert!(epgt_envs::find("ALE/Pong-v5")?.is_atari());
    /// assert!(!epgt_envs::find("CartPole-v1")?.is_atari());
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn is_atari(&self) -> bool {
        self.is_atari
    }

    /// A score between that of random play, which is 0, and that of a human, which is 1 (Mnih et al. 2015); `None`
    /// where the task has no such scores.
    ///
    /// ```
    /// let pong = epgt_envs::find("PongNoFrameskip-v4")?;
    /// assert_eq!(pong.human_normalised(9.3), Some(1.0));
    /// assert_eq!(pong.human_normalised(-20.7), Some(0.0));
    /// assert_eq!(epgt_envs::find("CartPole-v1")?.human_normalised(500.0), None);
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn human_normalised(&self, score: f64) -> Option<f64> {
        let (random, human) = self.human_scores?;
        Some((score - random) / (human - random))
    }

    /// What an observation holds; options can make it longer, and what was made says so
    /// ([`VecEnv::observation_space`](crate::VecEnv::observation_space)).
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
    let mut tasks = [classic::tasks(), pixels::tasks()].concat();
    #[cfg(feature = "box2d")]
    tasks.extend(crate::box2d::tasks());
    #[cfg(feature = "mujoco")]
    tasks.extend(crate::mujoco::tasks());
    tasks.sort_by(|one, other| one.id.cmp(&other.id));
    tasks
});

/// Every task that is part of this crate, ordered by id.
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
/// The tasks `gym:ID` are those of a Python that has Gymnasium. What they observe and do is known once
/// [`TaskSpec::with`] has given them their options, because only then they can be made. Those of Atari are found by the
/// two forms of their ids; [`tasks`] does not list them. A task whose family was not compiled is refused with the name
/// of its feature.
///
/// ```
/// let error = epgt_envs::find("mountaincar-v0").unwrap_err();
/// assert_eq!(error.to_string(), "unknown task 'mountaincar-v0'; did you mean 'MountainCar-v0'?");
/// ```
pub fn find(id: &str) -> Result<TaskSpec, EnvError> {
    if id.len() > LONGEST_ID || id.chars().any(char::is_control) {
        return Err(EnvError::UnknownTask(format!(
            "unknown task '{}'; the id of a task has at most {LONGEST_ID} bytes, and none of them are control characters",
            epgt_settings::clean_line(id, 40)
        )));
    }
    families::check_compiled(id)?;
    #[cfg(feature = "gymnasium")]
    if let Some(task) = crate::gymnasium::find(id).or_else(|| crate::atari::find(id)) {
        return Ok(task);
    }
    if let Some(task) = tasks().iter().find(|task| task.id == id) {
        return Ok(task.clone());
    }
    #[cfg(feature = "gymnasium")]
    if let Some(meant) = crate::atari::suggest(id) {
        return Err(EnvError::UnknownTask(format!(
            "unknown task '{id}'; did you mean '{meant}'?"
        )));
    }
    let ids: Vec<_> = tasks().iter().map(|task| &*task.id).chain(families::absent()).collect();
    Err(EnvError::UnknownTask(epgt_settings::unknown("task", id, &ids)))
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
