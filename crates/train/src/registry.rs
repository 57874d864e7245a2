//! What a configuration can name: tasks, methods, schedulers and hyper-rewards, the program's own and those of the
//! crate that trains.

use std::fmt;
use std::sync::{Arc, LazyLock};

use epgt_envs::{EnvError, TaskSpec};
use epgt_pg::{A2cSettings, AcktrSettings, HyperReward, MethodSettings, PpoSettings};
use epgt_settings::UnknownName;

use crate::scheduler::Scheduler;

/// What can be named. A configuration keeps the one that it was built with
/// ([`Config::build_in`](crate::Config::build_in)), and so does whatever is made of it.
///
/// ```
/// use epgt_train::{Assignment, Config, HyperReward, Registry};
/// use std::sync::Arc;
/// let finished = HyperReward::new("finished", "episodes that ended", |earned| earned.rollout.episodes.len() as f32);
/// let registry = Arc::new(Registry::new().with_hyper_reward(finished));
/// let said = [("task", "CartPole-v1"), ("hyper.outcome", "finished")].map(|(key, value)| Assignment::new(key, value));
/// let config = Config::build_in(&registry, &said)?;
/// assert_eq!(config.reward.outcome.name(), "finished");
/// # Ok::<(), epgt_train::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    tasks: Vec<TaskSpec>,
    methods: Vec<Box<dyn MethodSettings>>,
    schedulers: Vec<Scheduler>,
    hyper_rewards: Vec<HyperReward>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// The program's own.
    pub fn new() -> Self {
        Self {
            tasks: Vec::new(),
            methods: vec![
                Box::new(A2cSettings::default()),
                Box::new(PpoSettings::default()),
                Box::new(AcktrSettings::default()),
            ],
            schedulers: Scheduler::builtin(),
            hyper_rewards: vec![
                HyperReward::discounted(),
                HyperReward::reward_rate(),
                HyperReward::episode(),
                HyperReward::noise(),
            ],
        }
    }

    /// The program's own, shared.
    pub fn builtin() -> Arc<Self> {
        static BUILTIN: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::new()));
        BUILTIN.clone()
    }

    /// With a task of one's own; it comes before one of the same id.
    pub fn with_task(mut self, task: TaskSpec) -> Self {
        self.tasks.insert(0, task);
        self
    }

    /// With a method of one's own: its settings as they are by default.
    pub fn with_method(mut self, settings: impl MethodSettings + 'static) -> Self {
        self.methods.insert(0, Box::new(settings));
        self
    }

    /// With a scheduler of one's own.
    pub fn with_scheduler(mut self, scheduler: impl epgt_hyper::Scheduler + 'static) -> Self {
        self.schedulers.insert(0, Scheduler::HyperAgent(Arc::new(scheduler)));
        self
    }

    /// With a hyper-reward of one's own.
    pub fn with_hyper_reward(mut self, reward: HyperReward) -> Self {
        self.hyper_rewards.insert(0, reward);
        self
    }

    /// The task with this id; the error names the nearest one.
    pub fn task(&self, id: &str) -> Result<TaskSpec, EnvError> {
        match self.tasks.iter().find(|task| task.id == id) {
            Some(task) => Ok(task.clone()),
            None => epgt_envs::find(id),
        }
    }

    /// The default settings of every method.
    pub fn methods(&self) -> &[Box<dyn MethodSettings>] {
        &self.methods
    }

    /// The default settings of the method with this name; the error names the nearest one.
    pub fn method(&self, name: &str) -> Result<Box<dyn MethodSettings>, UnknownName> {
        let found = self.methods.iter().find(|method| method.name() == name);
        found.cloned().ok_or_else(|| refusal(name, &self.method_names()))
    }

    /// Every scheduler.
    pub fn schedulers(&self) -> &[Scheduler] {
        &self.schedulers
    }

    /// The scheduler with this name; the error names the nearest one.
    pub fn scheduler(&self, name: &str) -> Result<Scheduler, UnknownName> {
        let found = self.schedulers.iter().find(|scheduler| scheduler.name() == name);
        found.cloned().ok_or_else(|| refusal(name, &self.scheduler_names()))
    }

    /// The hyper-reward with this name; the error names the nearest one.
    pub fn hyper_reward(&self, name: &str) -> Result<HyperReward, UnknownName> {
        let found = self.hyper_rewards.iter().find(|reward| reward.name() == name);
        found.cloned().ok_or_else(|| refusal(name, &self.hyper_reward_names()))
    }

    /// Names of the methods.
    pub fn method_names(&self) -> Vec<&'static str> {
        self.methods.iter().map(|method| method.name()).collect()
    }

    /// Names of the schedulers.
    pub fn scheduler_names(&self) -> Vec<&'static str> {
        self.schedulers.iter().map(|scheduler| scheduler.name()).collect()
    }

    /// Names of the hyper-rewards.
    pub fn hyper_reward_names(&self) -> Vec<&str> {
        self.hyper_rewards.iter().map(HyperReward::name).collect()
    }
}

fn refusal(name: &str, names: &[&str]) -> UnknownName {
    UnknownName::choice(name, names, &[])
}

/// Registries in which the same can be named are the same.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        let ids = |registry: &Self| {
            registry
                .tasks
                .iter()
                .map(|task| task.id.to_string())
                .collect::<Vec<_>>()
        };
        ids(self) == ids(other)
            && self.method_names() == other.method_names()
            && self.scheduler_names() == other.scheduler_names()
            && self.hyper_reward_names() == other.hyper_reward_names()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field(
                "tasks",
                &self.tasks.iter().map(|task| task.id.to_string()).collect::<Vec<_>>(),
            )
            .field("methods", &self.method_names())
            .field("schedulers", &self.scheduler_names())
            .field("hyper_rewards", &self.hyper_reward_names())
            .finish()
    }
}
