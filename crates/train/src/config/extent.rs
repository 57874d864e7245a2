//! What a configuration amounts to: the hyper-space, the rollouts and updates of the run, and the memory it takes.

use epgt_envs::RowShape;
use epgt_hyper::{Axis, EncoderKind, Grid, HyperSpace};
use epgt_pg::{Effect, Kind, MethodSettings, RuleSettings, Tuned};

use super::{Config, ConfigError, MOST_GIGABYTES};
use crate::scheduler::{RuleKind, Scheduler};

impl Config {
    /// The hyper-space that `[tune]` describes, with each axis' index among the method's hyperparameters.
    pub fn hyper_space(&self) -> Result<(HyperSpace, Vec<usize>), ConfigError> {
        let mut axes = Vec::new();
        let mut indices = Vec::new();
        let method = &*self.method;
        for (name, grid) in &self.tune {
            let index = method.index(name)?;
            let hyperparameter = &method.hyperparameters()[index];
            let default = method.get(index);
            let rate = hyperparameter.kind == Kind::LearningRateLike;
            let axis = Axis::new(name, default, &Grid::parse(grid)?, rate)?;
            for &value in &axis.values {
                hyperparameter.validate(value).map_err(|error| {
                    // Where a rule made the value, the rule is told.
                    match grid.starts_with(char::is_alphabetic) {
                        true => ConfigError::Grid {
                            name: name.clone(),
                            grid: grid.clone(),
                            error: Box::new(error),
                        },
                        false => ConfigError::Tuned(error),
                    }
                })?;
            }
            axes.push(axis);
            indices.push(index);
        }
        let space = HyperSpace::new(axes, self.hyper.max_actions)?;
        self.scheduler.of_agent().check(&space)?;
        Ok((space, indices))
    }

    /// The rule inside of the method's update, where the scheduler is one, with what it may change: the ends of a grid
    /// are bounds.
    pub fn rule(&self) -> Result<Option<(RuleSettings, Vec<Tuned>)>, ConfigError> {
        let (space, indices) = self.hyper_space()?;
        let settings = match self.scheduler {
            Scheduler::Rule(RuleKind::Hoof) => RuleSettings::Hoof(self.hoof.clone()),
            Scheduler::Rule(RuleKind::MetaGradient) => RuleSettings::MetaGradient(self.meta),
            _ => return Ok(None),
        };
        let axes = space.axes().iter().zip(indices);
        let tuned = axes.map(|(axis, index)| Tuned {
            index,
            low: axis.values[0],
            high: axis.values[axis.values.len() - 1],
        });
        Ok(Some((settings, tuned.collect())))
    }

    /// Environment steps of one rollout.
    pub fn rollout_steps(&self) -> u64 {
        (self.run.n_envs as u64).saturating_mul(self.method.n_steps() as u64)
    }

    /// Rollouts of the whole run, where their length is not scheduled.
    pub fn rollouts(&self) -> u64 {
        self.run.steps / self.rollout_steps()
    }

    /// Environment steps of the whole run: those of its whole rollouts. Where their length is scheduled it is the
    /// budget, of which less than one of the shortest rollouts may be left.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let settings = [("task", "CartPole-v1"), ("n_envs", "8"), ("a2c.n_steps", "5"), ("steps", "1999")];
    /// let config = Config::build(&settings.map(|(key, value)| Assignment::new(key, value)))?;
    /// assert_eq!(config.total_steps(), 1960);
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn total_steps(&self) -> u64 {
        match self.tune.iter().any(|(name, _)| name == "n_steps") {
            true => self.run.steps,
            false => self.rollouts() * self.rollout_steps(),
        }
    }

    /// Steps T of the shortest rollout of the run: of what is left of the budget less is not played.
    pub(crate) fn shortest_rollout(&self) -> Result<usize, ConfigError> {
        let (space, _) = self.hyper_space()?;
        let axis = space.axes().iter().find(|axis| axis.name == "n_steps");
        let scheduled = axis.map(|axis| axis.values[0] as usize);
        Ok(scheduled.map_or(self.method.n_steps(), |steps| steps.min(self.method.n_steps())))
    }

    /// Policy updates of the whole run, where nothing that is scheduled changes their number.
    pub fn total_updates(&self) -> u64 {
        self.rollouts()
            .saturating_mul(self.method.updates_per_rollout(self.run.n_envs))
    }

    /// What says how long steps are, and what falls over training, as sentences of a line each; empty where there is
    /// nothing to say.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let falling = [("task", "CartPole-v1"), ("step_control", "rate"), ("learning_rate_schedule", "linear")];
    /// let config = Config::build(&falling.map(|(key, value)| Assignment::new(key, value)))?;
    /// assert!(config.schedule_sentence().starts_with("In force is learning_rate times the share of training that is left"));
    /// # Ok::<(), epgt_train::ConfigError>(())
    /// ```
    pub fn schedule_sentence(&self) -> String {
        let falling = match self.method.falling().as_slice() {
            [] => None,
            names => Some(format!(
                "In force is {} times the share of training that is left, which falls from 1 to 0; what is scheduled is \
                 multiplied alike.",
                names.join(", ")
            )),
        };
        let sentences: Vec<String> = self.method.step_sentence().into_iter().chain(falling).collect();
        sentences.join("\n")
    }

    /// Environment steps at which the last update phase begins, at the earliest, and the most rows that one of its
    /// updates takes.
    pub(crate) fn end(&self) -> Result<(u64, u64), ConfigError> {
        let (space, _) = self.hyper_space()?;
        let largest = |name: &str| {
            let axis = space.axes().iter().find(|axis| axis.name == name);
            axis.and_then(|axis| axis.values.last()).map(|&value| value as u64)
        };
        let n = self.run.n_envs as u64;
        let start = match largest("n_steps") {
            Some(steps) => self.run.steps.saturating_sub(2 * n * steps),
            None => (self.rollouts() - 1) * self.rollout_steps(),
        };
        let rows = largest("batch_size").or(self.method.minibatch());
        Ok((start, rows.unwrap_or(u64::MAX)))
    }

    /// Whether something is scheduled that can only change from rollout to rollout.
    pub fn schedules_rollouts(&self) -> bool {
        let method = &*self.method;
        let effect = |name: &str| method.index(name).map(|index| method.hyperparameters()[index].effect);
        self.tune.iter().any(|(name, _)| effect(name) == Ok(Effect::Rollout))
    }

    /// Refuses a method's settings that the run cannot be made with, and those that something scheduled would lead to:
    /// what a hyper-agent or a population may choose passes the checks of what a user says. Each scheduled value is
    /// tried alone, and the outermost values of all together.
    pub(super) fn check_method(&self) -> Result<(), ConfigError> {
        let footprint = self.footprint()?;
        self.check_method_at(&*self.method, &footprint)?;
        let (space, indices) = self.hyper_space()?;
        let axes = || space.axes().iter().zip(&indices);
        for (axis, &index) in axes() {
            for &value in &axis.values {
                let mut method = self.method.clone();
                method.set(index, value);
                self.check_method_at(&*method, &footprint)
                    .map_err(|error| unschedulable(vec![(axis.name.clone(), value)], error))?;
            }
        }
        for corner in 0..1u64 << axes().count() {
            let mut method = self.method.clone();
            let mut values = Vec::new();
            for (i, (axis, &index)) in axes().enumerate() {
                let end = if corner >> i & 1 == 0 { 0 } else { axis.values.len() - 1 };
                method.set(index, axis.values[end]);
                values.push((axis.name.clone(), axis.values[end]));
            }
            self.check_method_at(&*method, &footprint)
                .map_err(|error| unschedulable(values, error))?;
        }
        Ok(())
    }

    /// Refuses settings of the method that do not go together with the run's.
    fn check_method_at(&self, method: &dyn MethodSettings, footprint: &Footprint) -> Result<(), ConfigError> {
        let run = &self.run;
        let section = self.method.name();
        method
            .validate()
            .map_err(|error| ConfigError::Method { section, error })?;
        let gigabytes = footprint.gigabytes(run.n_envs, method);
        if gigabytes > MOST_GIGABYTES {
            return Err(ConfigError::TooMuchMemory { gigabytes });
        }
        let rollout = (run.n_envs as u64).saturating_mul(method.n_steps() as u64);
        match run.steps >= rollout {
            true => Ok(()),
            false => Err(ConfigError::LessThanARollout {
                steps: run.steps,
                n_envs: run.n_envs,
                n_steps: method.n_steps(),
            }),
        }
    }

    /// The memory that the run takes: environments, rollouts, networks with their optimisers, and hyper-agents, roughly
    /// but in full.
    fn footprint(&self) -> Result<Footprint, ConfigError> {
        /// Numbers of a simulator's state, and of what is kept of its episode.
        const OF_AN_ENVIRONMENT: f64 = 50_000.0;
        let task = self.task()?;
        let (observation, action) = (task.observed(), task.action.len());
        // Four pixels take as much as one number.
        let row = match observation {
            RowShape::Numbers(size) => size as f64,
            RowShape::Image(_) => observation.size() as f64 / 4.0,
        };
        let size = self.policy.size(observation, action);
        let hyper = &self.hyper;
        let orders = hyper.order as f64 + 1.0;
        let features = size.rows * hyper.state_dim as f64 * orders;
        let latent = hyper.key_dim as f64;
        let (batch, buffer) = (hyper.encoder_batch as f64, hyper.encoder_buffer as f64);
        let encoder = features / 4.0 * (features + 2.0 * latent);
        let encoder = match (self.scheduler.about().encodes, hyper.encoder) {
            (true, EncoderKind::Vae) => 8.0 * encoder + buffer * size.weights * orders + 4.0 * batch * features,
            (true, EncoderKind::Random) => 2.0 * encoder + size.weights * orders,
            _ => 0.0,
        };
        let method = self.method.footprint(&size);
        let actions = self.hyper_space()?.0.len() as f64;
        let search = (actions + 1.0) * 2.0 * hyper.neighbours.max(hyper.write_neighbours) as f64;
        let agent = 3.0 * size.weights + method + encoder + search + 64.0 * hyper.dqn_batch as f64;
        Ok(Footprint {
            members: self.population.members(self)? as f64,
            constant: agent + self.run.n_envs as f64 * OF_AN_ENVIRONMENT,
            per_row: row + action as f64 + 20.0,
            per_updated_row: 2.0 * size.activations,
        })
    }
}

/// Why values cannot be scheduled.
fn unschedulable(values: Vec<(String, f64)>, error: ConfigError) -> ConfigError {
    ConfigError::Scheduled {
        values,
        error: Box::new(error),
    }
}

/// Numbers that each member of a run keeps.
struct Footprint {
    members: f64,
    constant: f64,
    /// For each row of a rollout.
    per_row: f64,
    /// For each row of an update: what the layers put out, and its gradient.
    per_updated_row: f64,
}

impl Footprint {
    fn gigabytes(&self, n_envs: usize, method: &dyn MethodSettings) -> f64 {
        let rows = n_envs as f64 * method.n_steps() as f64;
        let updated = method.minibatch().map_or(rows, |batch| rows.min(batch as f64));
        4e-9 * self.members * (self.constant + rows * self.per_row + updated * self.per_updated_row)
    }
}
