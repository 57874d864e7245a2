//! The two-phase loop: everything that learns, and how one iteration goes (paper, Algorithm 1).
//!
//! 1. Environment phase: the policy acts T steps in each of N environments.
//! 2. What the rollout earned is the hyper-agent's credit for the updates before it.
//! 3. Update phase: before every update step the hyper-agent looks at the training context and picks hyperparameters;
//!    the policy-gradient method makes the step with them.
//!
//! A [`Trainer`] knows nothing of files, signals or displays; [`Run`](crate::Run) owns those.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

use epgt_envs::{EnvError, Normalizer, Observations, RowShape, TaskSpec, VecEnv, ended_worker_cpu_seconds};
use epgt_hyper::{HyperAgent, Moment, Plan, Reading, SavedAgent};
use epgt_nn::Parameters;
use epgt_pg::{
    ActorCritic, Earned, HyperReward, Method, NoiseControl, NotFinite, Phase, Rollout, Rule, SavedMethod, collect,
    greedy_factor, noise_groups,
};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::error::{InitProblem, SetupError};
use crate::logs::{self, Metrics};
use crate::{Config, EvalPlan, Evaluation, Registry, RunSettings, best_policy, device, evaluate, policy_file};

/// Episodes over which the training score is averaged.
const SCORE_WINDOW: usize = 100;

/// What the statistics of a policy that is started from count for, in rows: they were made of more, and those of
/// another stage of training should still be able to move them.
const ROWS_OF_A_POLICY: f64 = 10_000.0;

/// Why training stopped before its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TrainError {
    /// The environment failed or gave something that is not a number.
    Environment(EnvError),
    /// The processor that the networks are on failed.
    Device(String),
    /// A loss or gradient was not finite.
    Diverged(NotFinite),
    /// The hyper-agent's own training was not finite.
    HyperAgentDiverged(&'static str),
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(error) => write!(f, "{error}"),
            Self::Diverged(error) => write!(f, "{error}"),
            Self::Device(sentence) => f.write_str(sentence),
            Self::HyperAgentDiverged(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for TrainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Environment(error) => Some(error),
            Self::Diverged(error) => Some(error),
            Self::Device(_) | Self::HyperAgentDiverged(_) => None,
        }
    }
}

impl From<EnvError> for TrainError {
    fn from(error: EnvError) -> Self {
        Self::Environment(error)
    }
}

impl From<NotFinite> for TrainError {
    fn from(error: NotFinite) -> Self {
        Self::Diverged(error)
    }
}

/// How far training has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Environment steps taken.
    pub steps: u64,
    /// Rollouts collected.
    pub rollouts: u64,
    /// Policy updates made.
    pub updates: u64,
    /// Episodes that ended and count.
    pub episodes: u64,
    /// Returns and lengths of the last hundred of them.
    recent: VecDeque<(f64, u32)>,
}

impl Counters {
    /// Mean return of the last hundred episodes; `None` before the first has ended.
    pub fn mean_return(&self) -> Option<f64> {
        let sum: f64 = self.recent.iter().map(|episode| episode.0).sum();
        (!self.recent.is_empty()).then(|| sum / self.recent.len() as f64)
    }

    /// Mean length of the last hundred episodes.
    pub fn mean_length(&self) -> Option<f64> {
        let sum: f64 = self.recent.iter().map(|episode| f64::from(episode.1)).sum();
        (!self.recent.is_empty()).then(|| sum / self.recent.len() as f64)
    }
}

/// Everything that learns.
///
/// ```
/// use epgt_train::{Assignment, Config, Trainer};
/// let config = Config::build(&[Assignment::new("task", "CartPole-v1"), Assignment::new("steps", 2048)])?;
/// let mut trainer = Trainer::new(&config)?;
/// while !trainer.is_finished() {
///     trainer.iterate()?;
/// }
/// assert_eq!(trainer.counters.steps, 2048);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trainer {
    /// The policy and value networks.
    pub policy: ActorCritic,
    /// Running statistics of observations and rewards.
    pub normalizer: Normalizer,
    /// The hyper-agent.
    pub hyper: HyperAgent,
    /// The last rollout.
    pub rollout: Rollout,
    /// How far training has come.
    pub counters: Counters,
    /// The policy-gradient method.
    pub method: Box<dyn Method>,
    /// What scores the updates before a rollout.
    reward: HyperReward,
    task: TaskSpec,
    envs: VecEnv,
    rng: Pcg64,
    /// The method's index of each scheduled hyperparameter.
    scheduled: Vec<usize>,
    /// The budget in environment steps.
    steps: u64,
    /// Steps T of the shortest rollout that is played.
    shortest: usize,
    /// Environment steps at which the last update phase will have begun, and the most rows that its last update can
    /// take: together they say when training is at its last update.
    end: (u64, u64),
    gamma: f32,
    normalizes_rewards: bool,
    /// What moves the policy's noise besides the gradient, and the method's index of what is scheduled of it.
    noise_control: NoiseControl,
    noise: Option<usize>,
    /// The metrics at the checkpoint that it was restored from, until it has trained again.
    restored_metrics: Option<Metrics>,
    /// The columns of the metrics, where they are not all that there are.
    columns: Option<Vec<String>>,
}

/// A trainer's part of a checkpoint; it borrows while saving.
#[derive(Serialize, Deserialize)]
pub struct SavedTrainer<'a> {
    parameters: Cow<'a, Parameters>,
    method: SavedMethod<'a>,
    normalizer: Cow<'a, Normalizer>,
    pub(crate) hyper: SavedAgent<'a>,
    environments: Vec<u8>,
    observations: Observations,
    rng: Pcg64,
    counters: Cow<'a, Counters>,
    metrics: Metrics,
}

impl Trainer {
    /// Sets up a training run; the configuration must have been checked ([`Config::build`]).
    pub fn new(config: &Config) -> Result<Self, SetupError> {
        let mut trainer = Self::for_checkpoint(config)?;
        if !config.run.init.is_empty() {
            trainer.start_from(Path::new(&config.run.init), &config.registry)?;
        }
        Ok(trainer)
    }

    /// A trainer that a checkpoint is restored into: what the run once started from need not be there any more.
    pub(crate) fn for_checkpoint(config: &Config) -> Result<Self, SetupError> {
        let run = &config.run;
        let task = config.task()?;
        let (space, scheduled) = config.hyper_space()?;
        // Every purpose has a generator of its own, all determined by the one seed.
        let env_seed = Pcg64::for_purpose(run.seed, "environments", 0).next_u64() >> 1;
        let mut envs = VecEnv::new(&task, run.n_envs, env_seed)?;
        if run.staggered_starts {
            envs = envs.with_staggered_starts();
        }
        let (observation, action) = (RowShape::from(envs.observation_space()), envs.action_space().clone());
        let mut init = Pcg64::for_purpose(run.seed, "initialisation", 0);
        let mut policy = ActorCritic::new(&config.policy, observation, &action, &mut init);
        policy.set_noise(noise_groups(run.n_envs, config.noise_spread()));
        let gamma = config.method.gamma();
        let normalizes = (run.normalize_observations, run.normalize_rewards && !run.sign_rewards);
        let mut normalizer = Normalizer::new(observation.numbers(), run.n_envs, normalizes.0, normalizes.1, gamma);
        if run.sign_rewards {
            normalizer = normalizer.with_sign_rewards();
        }
        let plan = Plan {
            total_updates: config.total_updates(),
            updates_per_rollout: config.method.updates_per_rollout(run.n_envs),
            decides_once_per_rollout: config.schedules_rollouts(),
        };
        let mut method = config.method.method(&policy, run.seed);
        let remote = device::open(config, observation, &policy, &mut *method)?;
        if let Some((settings, tuned)) = config.rule()? {
            let rule = Rule::new(&settings, &*config.method, &tuned, run.seed);
            rule.and_then(|rule| method.follow(rule))?;
        }
        let hyper = HyperAgent::new(
            config.scheduler.of_agent(),
            config.hyper.clone(),
            space,
            policy.params.shapes(),
            plan,
            run.seed,
        );
        let mut trainer = Self {
            method,
            normalizer,
            hyper: hyper?,
            reward: config.registry.hyper_reward(config.reward.outcome.name())?,
            rollout: Rollout::new(config.method.n_steps(), run.n_envs, observation, action.size()),
            counters: Counters::default(),
            task,
            envs,
            rng: Pcg64::for_purpose(run.seed, "actions", 0),
            scheduled,
            steps: run.steps,
            shortest: config.shortest_rollout()?,
            end: config.end()?,
            gamma: gamma as f32,
            normalizes_rewards: normalizes.1,
            noise_control: run.noise_control,
            noise: config.method.index("noise").ok(),
            restored_metrics: None,
            columns: None,
            policy,
        };
        trainer.apply_hyper_action();
        if let Some(remote) = remote {
            trainer.move_to(remote)?;
        }
        Ok(trainer)
    }

    /// Starts from a trained policy, a file or the best one of a run, instead of random weights: networks and
    /// normalisation are the policy's, the optimiser has seen nothing.
    fn start_from(&mut self, path: &Path, registry: &Registry) -> Result<(), SetupError> {
        let refusal = |problem| SetupError::Init {
            path: path.to_path_buf(),
            problem,
        };
        let file = match path.is_dir() {
            true => best_policy(path)?.ok_or_else(|| refusal(InitProblem::NoPolicy))?,
            false => path.to_path_buf(),
        };
        let policy = policy_file::read_in(&file, registry)?;
        let normalizes = policy.normalizer.normalizes_observations();
        if normalizes != self.normalizer.normalizes_observations() {
            return Err(refusal(InitProblem::Normalization(normalizes)));
        }
        let networks = self.policy.restore(policy.networks.params);
        networks.map_err(|error| refusal(InitProblem::Networks(error)))?;
        self.normalizer
            .start_from(&policy.normalizer, policy.return_variance, ROWS_OF_A_POLICY);
        Ok(())
    }

    /// Lets up to `threads` threads step the environments, where they are slow enough for that to pay. Results do not
    /// depend on it, so it is not part of the configuration.
    pub fn use_threads(&mut self, threads: usize) {
        self.envs.use_threads(threads);
    }

    /// One evaluation of the present policy; see [`evaluate`]. It has a seed of its own at every update of a run.
    pub fn evaluate(
        &mut self,
        run: &RunSettings,
        episodes: usize,
        watch: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Evaluation>, EnvError> {
        let plan = EvalPlan {
            episodes,
            seed: Pcg64::for_purpose(run.seed, "evaluation", self.counters.updates).next_u64() >> 1,
            actions: run.eval_actions,
            max_steps: run.eval_max_steps,
        };
        evaluate(&mut self.policy, &self.normalizer, &self.task, &plan, watch)
    }

    /// What `clock`, the CPU time of the thread that trains or of the process, shows, with that of the Python workers
    /// added. Only differences mean something, since a thread may have ended the workers of earlier runs.
    pub fn cpu_seconds(&self, clock: fn() -> f64) -> f64 {
        clock() + ended_worker_cpu_seconds() + self.envs.worker_cpu_seconds()
    }

    /// A score as a share of the way from random play to a human's (0 to 1), where the task has such scores.
    pub fn human_normalised(&self, score: Option<f64>) -> Option<f64> {
        self.task.human_normalised(score?)
    }

    /// Whether the budget is spent: not even the shortest rollout fits into what is left of it.
    pub fn is_finished(&self) -> bool {
        self.left() < self.shortest as u64
    }

    /// Steps that are left to each environment.
    fn left(&self) -> u64 {
        self.steps.saturating_sub(self.counters.steps) / self.rollout.n as u64
    }

    /// One environment phase and the update phase that follows it.
    pub fn iterate(&mut self) -> Result<(), TrainError> {
        self.restored_metrics = None;
        // Where the length is scheduled, a rollout that does not fit into the budget ends with it.
        let chosen = self.method.settings().n_steps();
        let steps = match self.is_finished() {
            true => chosen,
            false => chosen.min(usize::try_from(self.left()).unwrap_or(chosen)),
        };
        self.rollout.set_steps(steps);
        self.change_noise();
        collect(
            &mut self.rollout,
            &mut self.envs,
            &mut self.normalizer,
            &mut self.policy,
            &mut self.rng,
        )?;
        self.check_device()?;
        self.count_episodes();
        let (outcome, weight) = self.reward.score(&self.earned());
        self.hyper.reward_weighted(outcome, weight);

        let remaining = 1.0 - self.counters.steps as f64 / self.steps as f64;
        self.method.set_remaining(remaining);
        loop {
            let reads_remote = self.reads_remote_state();
            if !reads_remote {
                self.policy.fetch();
            }
            let moment = Moment {
                update: self.counters.updates,
                progress: self.progress(),
                weights: self.policy.params.values(),
                gradients: self.policy.params.gradients(),
            };
            let remote = self.policy.remote().filter(|_| reads_remote);
            match remote.and_then(|remote| remote.state()) {
                Some(state) => self.hyper.choose_remote(&moment, state),
                None => self.hyper.choose(&moment),
            };
            self.apply_hyper_action();
            if let Some(sentence) = self.hyper.not_finite() {
                return Err(TrainError::HyperAgentDiverged(sentence));
            }
            let phase = self.method.step(&mut self.policy, &mut self.rollout)?;
            if self.method.rule().is_some() {
                self.hyper
                    .adopt(self.scheduled.iter().map(|&index| self.method.settings().get(index)));
            }
            self.counters.updates += 1;
            self.check_device()?;
            if phase == Phase::Over {
                break;
            }
        }
        self.follow_noise();
        self.counters.rollouts += 1;
        self.counters.steps += self.rollout.batch_size() as u64;
        Ok(())
    }

    /// Changes the policy's noise as the value in force says, before a rollout.
    fn change_noise(&mut self) {
        let factor = self.noise.map_or(1.0, |index| self.method.settings().get(index));
        self.rollout.widened = factor.ln() as f32;
        self.policy.widen(factor.powf(100.0 * self.rollout_share()));
    }

    /// Moves the policy's noise to where more was earned in the rollout, where that is wanted.
    fn follow_noise(&mut self) {
        if self.noise_control == NoiseControl::Greedy
            && let Some(comparison) = self.rollout.noise_comparison(self.gamma)
        {
            self.policy.widen(greedy_factor(comparison, self.rollout_share()));
        }
    }

    /// The share of the training that the rollout is.
    fn rollout_share(&self) -> f64 {
        self.rollout.batch_size() as f64 / self.steps.max(1) as f64
    }

    /// Puts other values of the scheduled hyperparameters in force, from the next update or rollout on. For a member of
    /// a population, whose scheduler is `fixed`.
    pub fn keep(&mut self, values: &[f64]) {
        self.hyper.adopt(values.iter().copied());
        self.apply_hyper_action();
    }

    /// Puts other values of the method's hyperparameters in force, by name, from the next update or rollout on; those
    /// that are scheduled are kept where the scheduler is `fixed`.
    pub(crate) fn set(&mut self, values: &[(String, f64)]) {
        let mut kept = self.hyper.values().to_vec();
        for (name, value) in values {
            let Ok(index) = self.method.settings().index(name) else {
                continue;
            };
            match self.scheduled.iter().position(|&scheduled| scheduled == index) {
                Some(place) => kept[place] = *value,
                None => self.method.settings_mut().set(index, *value),
            }
        }
        if !values.is_empty() {
            self.keep(&kept);
        }
    }

    /// Takes over another's networks, optimiser, normalisation and counters, and so its score. Environments, generators
    /// and the values in force stay its own.
    pub fn adopt(&mut self, other: &Self) -> Result<(), SetupError> {
        self.policy.params.clone_from(&other.policy.params);
        self.method.adopt(other.method.save())?;
        self.normalizer.adopt(&other.normalizer);
        self.counters.clone_from(&other.counters);
        Ok(())
    }

    /// Gives the hyper-agent's values to the method.
    fn apply_hyper_action(&mut self) {
        for (&index, &value) in self.scheduled.iter().zip(self.hyper.values()) {
            self.method.settings_mut().set(index, value);
        }
    }

    /// Share of the training that is done: 0 at the first update step, 1 at the last. Counted in rows that updates have
    /// been through, over all epochs, because the number of update steps is not known beforehand when minibatches are
    /// scheduled.
    fn progress(&self) -> f64 {
        let epochs = self.method.settings().epochs() as u64;
        let done = self.counters.steps * epochs + self.method.rows_done();
        let rows = self.rollout.batch_size() as u64;
        let last = (self.end.0 + rows) * epochs - self.end.1.min(rows);
        (done as f64 / last.max(1) as f64).min(1.0)
    }

    /// What the rollout earned, in raw reward.
    fn earned(&self) -> Earned<'_> {
        let value_scale = match self.normalizes_rewards {
            true => (self.normalizer.return_variance() + 1e-8).sqrt() as f32,
            false => 1.0,
        };
        Earned {
            rollout: &self.rollout,
            gamma: self.gamma,
            value_scale,
        }
    }

    fn count_episodes(&mut self) {
        for episode in self.rollout.episodes.iter().filter(|episode| episode.counted) {
            self.counters.episodes += 1;
            if self.counters.recent.len() == SCORE_WINDOW {
                self.counters.recent.pop_front();
            }
            self.counters.recent.push_back((episode.episode_return, episode.length));
        }
    }

    /// What is told of the last phase.
    pub(crate) fn metrics(&self) -> Metrics {
        self.restored_metrics.clone().unwrap_or_else(|| {
            let mut row = logs::of_training(self);
            if let Some(columns) = &self.columns {
                row.retain(|(name, _)| columns.contains(name));
            }
            row
        })
    }

    /// Everything that a checkpoint must hold for training to go on as if nothing had happened.
    pub fn save(&self) -> SavedTrainer<'_> {
        SavedTrainer {
            parameters: Cow::Borrowed(&self.policy.params),
            method: self.method.save(),
            normalizer: Cow::Borrowed(&self.normalizer),
            hyper: self.hyper.save(),
            environments: self.envs.save(),
            observations: self.rollout.last_observations().into(),
            rng: self.rng.clone(),
            counters: Cow::Borrowed(&self.counters),
            metrics: self.metrics(),
        }
    }

    /// Goes on from a checkpoint of a trainer with the same configuration.
    pub fn restore(&mut self, saved: SavedTrainer<'_>) -> Result<(), SetupError> {
        let fits = saved.observations.is_like(&self.rollout.last_observations().into());
        if !fits {
            return Err(SetupError::OtherEnvironments);
        }
        self.policy.restore(saved.parameters.into_owned())?;
        let reading = match self.reward.name() {
            "discounted" => Reading::First,
            "reward-rate" => Reading::Second,
            _ => Reading::Weighted,
        };
        self.hyper.restore(saved.hyper, reading)?;
        self.envs.restore(&saved.environments)?;
        self.method.restore(saved.method)?;
        // A run keeps the columns that it began with: an older program may have had fewer.
        let known: Vec<String> = logs::of_training(self).into_iter().map(|(name, _)| name).collect();
        let columns: Vec<String> = saved.metrics.iter().map(|(name, _)| name.clone()).collect();
        let mut rest = known.iter();
        if !columns.iter().all(|name| rest.any(|known| known == name)) {
            return Err(SetupError::OtherMetrics);
        }
        self.columns = (columns.len() < known.len()).then_some(columns);
        self.apply_hyper_action();
        self.normalizer = saved.normalizer.into_owned();
        if !self.envs.begins_anew() {
            self.rollout.resume_from(&saved.observations);
        }
        self.rng = saved.rng;
        self.counters = saved.counters.into_owned();
        self.restored_metrics = Some(saved.metrics);
        self.send()
    }
}
