//! What a configuration amounts to: the hyper-space, the rollouts and updates of the run, and the memory it takes.

use epgt_envs::RowShape;
use epgt_hyper::{Axis, EncoderKind, Grid, HyperSpace, Scheduler};
use epgt_pg::{Effect, Kind, RuleSettings, Tuned};

use super::Config;

impl Config {
    /// The hyper-space that `[tune]` describes, with each axis' index among the method's hyperparameters.
    pub fn hyper_space(&self) -> Result<(HyperSpace, Vec<usize>), String> {
        let mut axes = Vec::new();
        let mut indices = Vec::new();
        let method = self.method.schedulable();
        for (name, grid) in &self.tune {
            let index = method.index(name)?;
            let hyperparameter = &method.hyperparameters()[index];
            let default = method.get(index);
            let rate = hyperparameter.kind == Kind::LearningRateLike;
            let axis = Axis::new(name, default, &Grid::parse(grid)?, rate)?;
            for &value in &axis.values {
                hyperparameter.validate(value)?;
            }
            axes.push(axis);
            indices.push(index);
        }
        let space = HyperSpace::new(axes, self.hyper.max_actions)?;
        self.run.scheduler.check(&space)?;
        Ok((space, indices))
    }

    /// The rule inside of the method's update, where the scheduler is one, with what it may change: the ends of a grid are bounds.
    pub fn rule(&self) -> Result<Option<(RuleSettings, Vec<Tuned>)>, String> {
        let (space, indices) = self.hyper_space()?;
        let settings = match self.run.scheduler {
            Scheduler::Hoof => RuleSettings::Hoof(self.hoof.clone()),
            Scheduler::MetaGradient => RuleSettings::MetaGradient(self.meta),
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

    /// Policy updates of the whole run, where nothing that is scheduled changes their number.
    pub fn total_updates(&self) -> u64 {
        self.rollouts()
            .saturating_mul(self.method.updates_per_rollout(self.run.n_envs))
    }

    /// One sentence on the schedules of the method; empty where it has none.
    ///
    /// ```
    /// use epgt_train::{Assignment, Config};
    /// let falling = [("task", "CartPole-v1"), ("learning_rate_schedule", "linear")];
    /// let config = Config::build(&falling.map(|(key, value)| Assignment::new(key, value)))?;
    /// assert!(config.schedule_sentence().starts_with("In force is learning_rate times the share of training that is left"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn schedule_sentence(&self) -> String {
        match self.method.falling().as_slice() {
            [] => String::new(),
            names => format!(
                "In force is {} times the share of training that is left, which falls from 1 to 0; what is scheduled is \
                 multiplied alike.",
                names.join(", ")
            ),
        }
    }

    /// Environment steps at which the last update phase begins, at the earliest, and the most rows that one of its updates
    /// takes.
    pub(crate) fn end(&self) -> Result<(u64, u64), String> {
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
        let method = self.method.schedulable();
        let effect = |name: &str| method.index(name).map(|index| method.hyperparameters()[index].effect);
        self.tune.iter().any(|(name, _)| effect(name) == Ok(Effect::Rollout))
    }

    /// Refuses settings whose buffers no usual machine can hold, instead of running out of memory later. Counts numbers of
    /// the rollout, the networks with their optimisers, and the hyper-agent's encoder, roughly but in full.
    pub(super) fn check_memory(&self) -> Result<(), String> {
        const MOST_GIGABYTES: f64 = 16.0;
        let task = self.task()?;
        let (observation, action) = (task.observed(), task.action.len());
        // Four pixels take as much as one number.
        let row = match observation {
            RowShape::Numbers(size) => size as f64,
            RowShape::Image(_) => observation.size() as f64 / 4.0,
        };
        let rollout = self.rollout_steps() as f64 * (row + action as f64 + 10.0);
        let (weights, rows) = self.policy.size(observation, action);
        let hyper = &self.hyper;
        let orders = hyper.order as f64 + 1.0;
        let features = rows * hyper.state_dim as f64 * orders;
        let latent = hyper.key_dim as f64;
        let (batch, buffer) = (hyper.encoder_batch as f64, hyper.encoder_buffer as f64);
        let encoder = features / 4.0 * (features + 2.0 * latent);
        let encoder = match (self.run.scheduler, hyper.encoder) {
            (Scheduler::Epgt | Scheduler::Dqn, EncoderKind::Vae) => {
                8.0 * encoder + buffer * weights * orders + 4.0 * batch * features
            }
            (Scheduler::Epgt | Scheduler::Dqn, EncoderKind::Random) => 2.0 * encoder + weights * orders,
            _ => 0.0,
        };
        let actions = self.hyper_space()?.0.len() as f64;
        let search = (actions + 1.0) * 2.0 * hyper.neighbours.max(hyper.write_neighbours) as f64;
        let members = self.population.members(self)? as f64;
        let gigabytes = 4e-9 * members * (rollout + 3.0 * weights + encoder + search + 64.0 * hyper.dqn_batch as f64);
        match gigabytes <= MOST_GIGABYTES {
            true => Ok(()),
            false => Err(format!(
                "these settings need about {gigabytes:.0} GB, more than the {MOST_GIGABYTES} GB that are accepted; lower n_envs, \
                 n_steps, policy.hidden or the sizes in the hyper and population sections"
            )),
        }
    }
}
