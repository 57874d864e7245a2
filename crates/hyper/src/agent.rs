//! The hyper-agent: looks at the training context, picks the hyperparameters of the next update, learns from what the
//! updated policy earns (paper, Algorithm 1).
//!
//! Everything that the schedulers share is told here once: when a decision is due, who is asked, how it explores, and when
//! credit comes. What sets them apart, how they value hyper-actions and learn from hyper-returns, is their [`Mind`].

use std::borrow::Cow;

use epgt_nn::{Parameters, RemoteState, TensorShape};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::costs::Costs;
use crate::credit::{Credit, Outcome, Verdict};
use crate::decision::{Choice, Decision};
use crate::encoder::Encoder;
use crate::insight::Insight;
use crate::mind::{Mind, SavedMind};
use crate::pick::{best_action, random_action};
use crate::plan::Plan;
use crate::settings::{ActionValues, FixedAt, Hold, HyperSettings, Scheduler};
use crate::signal::Signal;
use crate::space::{Axis, HyperSpace};

/// What the hyper-agent is shown before every policy update. Nothing is copied unless it asks.
#[derive(Clone, Copy, Debug)]
pub struct TrainingContext<'a> {
    /// The number of the policy update, from 0.
    pub update: u64,
    /// Share of the training done: 0 at the first update, 1 at the last.
    pub progress: f64,
    /// The networks' weights and the gradients of the last update, as named tensors. Where `remote` is given they are those of
    /// some time ago, and only their names and sizes are looked at.
    pub parameters: &'a Parameters,
    /// The hyper-state on the other processor that the networks are on, where they are on one.
    pub remote: Option<&'a dyn RemoteState>,
}

/// Schedules hyperparameters. The trainer calls [`choose`](Self::choose) before every policy update and
/// [`reward`](Self::reward) after every environment phase, and nothing else.
///
/// ```
/// use epgt_hyper::*;
/// use epgt_nn::Parameters;
/// let axis = Axis::new("learning_rate", 7e-4, &Grid::Paper(5), true)?;
/// let space = HyperSpace::new(vec![axis], 100)?;
/// let mut networks = Parameters::new();
/// networks.add("weight", 4, 4);
/// let settings = HyperSettings::paper();
/// let mut agent = HyperAgent::new(Scheduler::Epgt, settings, space, networks.shapes(), Plan::of_updates(100), 0);
/// let context = TrainingContext { update: 0, progress: 0.0, parameters: &networks, remote: None };
/// let rate = agent.choose(&context)[0];
/// assert!((3.5e-4..=1.4e-3).contains(&rate));
/// agent.reward(&Outcome { discounted: 1.0, reward_rate: 0.1, episode: None });
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct HyperAgent {
    settings: HyperSettings,
    space: HyperSpace,
    pub(crate) mind: Mind,
    /// Numbers of options that are valued apart ([`Scheduler::groups`]).
    groups: Vec<usize>,
    decides_once_per_rollout: bool,
    /// Whether the method's update decides, and this agent only keeps its values ([`HyperAgent::adopt`]).
    by_rule: bool,
    /// Q of every option, group after group.
    q: Vec<f32>,
    state: AgentState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AgentState {
    rng: Pcg64,
    action: usize,
    values: Vec<f64>,
    epsilon: f32,
    decisions: u64,
    updates_in_phase: u64,
    /// Updates for which the current hyper-action is still kept.
    hold_left: u64,
    /// Whether no update has followed the last rollout yet.
    first_after_rollout: bool,
    /// Decisions that wait for their hyper-return.
    pending: Vec<Decision>,
    /// Decisions that have it and wait to be logged.
    finished: Vec<Decision>,
    credit: Credit,
    signal: Signal,
    verdict: Option<Verdict>,
}

/// A hyper-agent's part of a checkpoint; it borrows while saving.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAgent<'a> {
    state: Cow<'a, AgentState>,
    pub(crate) mind: SavedMind<'a>,
}

impl HyperAgent {
    /// A hyper-agent for networks with tensors of these shapes, in a run as planned.
    pub fn new(
        scheduler: Scheduler,
        settings: HyperSettings,
        space: HyperSpace,
        shapes: &[TensorShape],
        plan: Plan,
        seed: u64,
    ) -> Self {
        let groups = scheduler.groups(settings.action_values, &space);
        let settings = HyperSettings {
            action_values: scheduler.action_values(settings.action_values),
            ..settings
        };
        let mind = Mind::new(scheduler, &settings, &groups, shapes, plan, seed);
        let values = match (scheduler, settings.fixed_at) {
            (Scheduler::Fixed, FixedAt::Min) => space.axes().iter().map(|axis| axis.values[0]).collect(),
            (Scheduler::Fixed, FixedAt::Max) => space
                .axes()
                .iter()
                .map(|axis| axis.values[axis.values.len() - 1])
                .collect(),
            _ => space.axes().iter().map(|axis| axis.default).collect(),
        };
        Self {
            q: vec![0.0; groups.iter().sum()],
            groups,
            decides_once_per_rollout: plan.decides_once_per_rollout,
            by_rule: scheduler.is_rule(),
            mind,
            state: AgentState {
                rng: Pcg64::for_purpose(seed, "hyper-agent", 0),
                action: space.default_action(),
                values,
                epsilon: settings.epsilon_start,
                decisions: 0,
                updates_in_phase: 0,
                hold_left: 0,
                first_after_rollout: true,
                pending: Vec::new(),
                finished: Vec::new(),
                credit: Credit::default(),
                signal: Signal::new(&space),
                verdict: None,
            },
            settings,
            space,
        }
    }

    /// The hyperparameters that are scheduled.
    pub fn space(&self) -> &HyperSpace {
        &self.space
    }

    /// The values in force, in the order of the hyper-space's axes.
    pub fn values(&self) -> &[f64] {
        &self.state.values
    }

    /// Before an update step: looks at the training context and answers with the values of the next update.
    pub fn choose(&mut self, context: &TrainingContext<'_>) -> &[f64] {
        let may_decide = self.state.first_after_rollout || !self.decides_once_per_rollout;
        let decides = self.state.hold_left == 0 && may_decide;
        self.state.first_after_rollout = false;
        if decides {
            self.decide(context);
            self.state.hold_left = match (&self.mind, self.settings.hold) {
                _ if self.by_rule => 1,
                (Mind::Fixed, _) | (_, Hold::Phase) => u64::MAX,
                (_, Hold::Updates(updates)) => updates,
            };
        }
        self.state.hold_left = self.state.hold_left.saturating_sub(1);
        self.state.updates_in_phase += 1;
        let until_decision = self.state.hold_left + 1;
        self.mind
            .learn_between_decisions(context, &self.settings, decides, until_decision);
        &self.state.values
    }

    /// Takes over values that someone else has decided: the rule of an update that was just made, or the population that this run is a
    /// member of. They are for the log and the next update.
    pub fn adopt(&mut self, values: impl Iterator<Item = f64>) {
        self.state.values.clear();
        self.state.values.extend(values);
        if let Some(decision) = self.state.pending.last_mut() {
            decision.values.clone_from(&self.state.values);
        }
    }

    /// After an environment phase: what the rollout earned. Closes the update phase when it is complete, and then every
    /// decision of the phase gets its hyper-return.
    pub fn reward(&mut self, outcome: &Outcome) {
        let state = &mut self.state;
        state.first_after_rollout = true;
        state.credit.add(outcome);
        let complete = match self.settings.hold {
            Hold::Updates(updates) if !self.by_rule => self.settings.update_phase.max(updates),
            _ => self.settings.update_phase,
        };
        // The very first rollout comes before any update: it is what the first phase improves on.
        if state.updates_in_phase > 0 && state.updates_in_phase < complete {
            return;
        }
        let verdict = state.credit.close(&self.settings);
        state.verdict = Some(verdict);
        state.updates_in_phase = 0;
        if !matches!(self.mind, Mind::Fixed) {
            state.hold_left = 0;
        }
        let mut pending = std::mem::take(&mut state.pending);
        let last = pending.len().saturating_sub(1);
        for (i, mut decision) in pending.drain(..).enumerate() {
            decision.outcome = verdict.outcome;
            decision.hyper_return = verdict.hyper_return;
            decision.improvement = verdict.improvement;
            if !matches!(decision.choice, Choice::Fixed | Choice::Rule) {
                self.state
                    .signal
                    .record(&self.space, decision.action, verdict.improvement);
                let options: Vec<usize> = (0..self.value_groups())
                    .map(|group| self.option(decision.action, group))
                    .collect();
                self.mind.learn(&decision, &options, i == last, &self.settings);
            }
            self.state.finished.push(decision);
        }
        self.state.pending = pending;
    }

    /// One sentence if the hyper-agent's own networks have diverged.
    pub fn not_finite(&self) -> Option<&'static str> {
        self.mind.not_finite()
    }

    /// Hands over the decisions whose outcome is known, for the log.
    pub fn take_decisions(&mut self) -> impl Iterator<Item = Decision> + '_ {
        self.state.finished.drain(..)
    }

    /// What the agent would like logged, plotted and explained.
    pub fn insight(&self) -> Insight {
        let encoder = self.mind.encoder();
        let axes = 0..self.space.axes().len();
        Insight {
            epsilon: self.state.epsilon,
            decisions: self.state.decisions,
            memory: self.mind.memory_size(),
            reconstruction_loss: encoder.and_then(Encoder::reconstruction_loss),
            key_drift: encoder.and_then(Encoder::drift),
            dqn_loss: self.mind.dqn_loss(),
            f_statistic: self.state.signal.f_statistic(),
            correlations: axes.map(|axis| self.state.signal.correlation(axis)).collect(),
            verdict: self.state.verdict,
        }
    }

    /// What scheduling has cost since this agent was made, part by part; `None` for schedulers without a context, whose cost is
    /// too small to be timed. It is not part of a checkpoint.
    pub fn costs(&self) -> Option<&Costs> {
        self.mind.costs()
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedAgent<'_> {
        SavedAgent {
            state: Cow::Borrowed(&self.state),
            mind: self.mind.save(),
        }
    }

    /// Continues from a checkpoint of an agent with the same settings.
    pub fn restore(&mut self, saved: SavedAgent<'_>) -> Result<(), String> {
        if saved.state.values.len() != self.state.values.len() {
            return Err("the checkpoint schedules other hyperparameters".to_string());
        }
        let within = |(axis, &value): (&Axis, &f64)| {
            let (low, high) = (axis.values[0], axis.values[axis.values.len() - 1]);
            (low.min(axis.default)..=high.max(axis.default)).contains(&value)
        };
        let axes = self.space.axes().iter();
        // A rule inside of the update has bounds of its own.
        let in_bounds = self.by_rule || axes.zip(&saved.state.values).all(within);
        if !in_bounds || saved.state.action >= self.space.len() {
            return Err("the checkpoint has values in force that are not among those that are scheduled".to_string());
        }
        self.mind.restore(saved.mind)?;
        self.state = saved.state.into_owned();
        Ok(())
    }

    fn decide(&mut self, context: &TrainingContext<'_>) {
        let number = self.state.decisions;
        self.state.decisions += 1;
        self.state.epsilon = match self.mind.chooses() {
            true => 0.0,
            false => epsilon(&self.settings, context.progress),
        };
        let written = (number + 1).is_multiple_of(self.settings.write_interval);
        let choice = match &self.mind {
            _ if self.by_rule => Choice::Rule,
            Mind::Fixed => Choice::Fixed,
            Mind::Random => Choice::Random,
            mind if mind.chooses() => Choice::Own,
            _ if self.state.rng.next_f64() < f64::from(self.state.epsilon) => Choice::Random,
            _ => Choice::Greedy,
        };
        let greedy = matches!(choice, Choice::Greedy | Choice::Own);
        let key = self
            .mind
            .look(context, greedy, written, self.settings.neighbours, &mut self.q);
        if !matches!(choice, Choice::Fixed | Choice::Rule) {
            self.state.action = match choice {
                Choice::Greedy => best_action(
                    &self.space,
                    self.state.action,
                    &self.settings,
                    &self.q,
                    &mut self.state.rng,
                ),
                Choice::Own => self
                    .mind
                    .choose(&self.space, self.state.action, &self.q, &mut self.state.rng),
                _ => random_action(&self.space, self.state.action, self.settings.moves, &mut self.state.rng),
            };
            let (space, state) = (&self.space, &mut self.state);
            state.values.clear();
            state.values.extend(space.values(state.action));
        }
        let neighbours = match greedy {
            true => self.mind.neighbours(self.option(self.state.action, 0)),
            false => Vec::new(),
        };
        let norms = match (&key, context.remote) {
            (Some(_), Some(remote)) => remote.norms(),
            (Some(_), None) => (norm(context.parameters.values()), norm(context.parameters.gradients())),
            (None, _) => (0.0, 0.0),
        };
        self.state.pending.push(Decision {
            decision: number,
            update: context.update,
            epsilon: self.state.epsilon,
            choice,
            action: self.state.action,
            values: self.state.values.clone(),
            norms,
            q: if greedy { self.q.clone() } else { Vec::new() },
            q_chosen: greedy.then(|| self.q_of(self.state.action)),
            neighbours,
            memory: self.mind.memory_size(),
            key,
            written,
            outcome: f32::NAN,
            hyper_return: f32::NAN,
            improvement: f32::NAN,
        });
    }

    /// Groups of hyperparameter values: one, or one per hyperparameter.
    fn value_groups(&self) -> usize {
        match self.settings.action_values {
            ActionValues::Joint => 1,
            ActionValues::Factored => self.space.axes().len(),
        }
    }

    /// The option of a joint hyper-action in a group.
    fn option(&self, action: usize, group: usize) -> usize {
        match self.settings.action_values {
            ActionValues::Joint => action,
            ActionValues::Factored => self.space.index(action, group),
        }
    }

    /// Q of a joint hyper-action: its own, or the mean over hyperparameters.
    fn q_of(&self, action: usize) -> f32 {
        let (mut first, mut sum) = (0, 0.0);
        for (group, &size) in self.groups[..self.value_groups()].iter().enumerate() {
            sum += self.q[first + self.option(action, group)];
            first += size;
        }
        sum / self.value_groups().max(1) as f32
    }
}

/// The share of random choices: linear from `epsilon_start` to exactly 0 at `epsilon_zero_at` of the training.
fn epsilon(settings: &HyperSettings, progress: f64) -> f32 {
    let left = 1.0 - progress / f64::from(settings.epsilon_zero_at);
    settings.epsilon_start * left.max(0.0) as f32
}

fn norm(values: &[f32]) -> f32 {
    epgt_nn::kernel::dot(values, values).sqrt()
}
