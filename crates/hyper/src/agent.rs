//! The hyper-agent: looks at the training context, picks the hyperparameters of the next update, learns from what the
//! updated policy earns (paper, Algorithm 1).
//!
//! Everything that the schedulers share is told here once: when a decision is due, who is asked, how it explores, and
//! when credit comes. What sets them apart, how they value hyper-actions and learn from hyper-returns, is their
//! [`Mind`].

use std::borrow::Cow;

use epgt_nn::{RemoteState, TensorShape};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::costs::Costs;
use crate::credit::{Credit, Reading, Verdict};
use crate::decision::{Choice, Decision};
use crate::encoder::Encoder;
use crate::error::HyperError;
use crate::insight::Insight;
use crate::memory::EpisodicMemory;
use crate::mind::{Mind, Need, SavedMind, Update, keeps_gradients};
use crate::moment::{Moment, Seen};
use crate::pick::{best_action, random_action};
use crate::plan::Plan;
use crate::scheduler::{About, Choosing, Purpose, Scheduler};
use crate::settings::{ActionValues, Hold, HyperSettings};
use crate::signal::Signal;
use crate::space::{Axis, HyperSpace};

/// Schedules hyperparameters of anything that is trained by gradients. Whoever trains calls [`choose`](Self::choose)
/// before every update and [`reward`](Self::reward) whenever it is known how good the result is.
///
/// ```
/// use epgt_hyper::*;
/// let axis = Axis::new("learning_rate", 7e-4, &Grid::Paper(5), true)?;
/// let space = HyperSpace::new(vec![axis], 100)?;
/// let shapes = TensorShape::in_a_row([("weight", 4, 4), ("bias", 1, 4)]);
/// let settings = HyperSettings::paper();
/// let mut agent = HyperAgent::new(&Epgt, settings, space, &shapes, Plan::of_updates(100), 0)?;
/// let (weights, gradients) = ([0.1; 20], [0.0; 20]);
/// let moment = Moment { update: 0, progress: 0.0, weights: &weights, gradients: &gradients };
/// let rate = agent.choose(&moment)[0];
/// assert!((3.5e-4..=1.4e-3).contains(&rate));
/// agent.reward(1.0);
///
/// let impossible = HyperSettings { write_rate: 2.0, ..HyperSettings::paper() };
/// let error = HyperAgent::new(&Epgt, impossible, HyperSpace::default(), &shapes, Plan::of_updates(100), 0).unwrap_err();
/// assert_eq!(error.to_string(), "write_rate = 2 must lie above 0 and at most 1");
/// # Ok::<(), HyperError>(())
/// ```
#[derive(Debug)]
pub struct HyperAgent {
    settings: HyperSettings,
    space: HyperSpace,
    about: About,
    mind: Box<dyn Mind>,
    /// Numbers of options that are valued apart ([`Scheduler::groups`]).
    groups: Vec<usize>,
    decides_once_per_rollout: bool,
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
    mind: SavedMind<'a>,
}

impl SavedAgent<'_> {
    /// The episodic memory, of the first group of options; `None` for a scheduler without one.
    pub fn memory(&self) -> Option<&EpisodicMemory> {
        self.mind.memory()
    }
}

impl HyperAgent {
    /// A hyper-agent for the training of tensors of these shapes, in a run as planned. Settings that no agent can work
    /// with are refused, and so is a hyper-space that the scheduler is not made for.
    pub fn new(
        scheduler: &dyn Scheduler,
        settings: HyperSettings,
        space: HyperSpace,
        shapes: &[TensorShape],
        plan: Plan,
        seed: u64,
    ) -> Result<Self, HyperError> {
        settings.validate()?;
        scheduler.check(&space)?;
        let groups = scheduler.groups(settings.action_values, &space);
        let values = scheduler.start(&space, &settings);
        let settings = HyperSettings {
            action_values: scheduler.action_values(settings.action_values),
            ..settings
        };
        let mind = scheduler.mind(&Purpose {
            settings: &settings,
            groups: &groups,
            shapes,
            plan,
            seed,
        });
        Ok(Self {
            about: scheduler.about(),
            mind,
            q: vec![0.0; groups.iter().sum()],
            groups,
            decides_once_per_rollout: plan.decides_once_per_rollout,
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
        })
    }

    /// What its scheduler says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The hyperparameters that are scheduled.
    pub fn space(&self) -> &HyperSpace {
        &self.space
    }

    /// The values in force, in the order of the hyper-space's axes.
    pub fn values(&self) -> &[f64] {
        &self.state.values
    }

    /// Before an update: looks at the moment and answers with the values of that update.
    ///
    /// # Panics
    /// If a mind looks at weights or gradients that are not those of the shapes that it was made for.
    pub fn choose(&mut self, moment: &Moment<'_>) -> &[f64] {
        self.choose_seeing(&Seen::from(*moment))
    }

    /// [`choose`](Self::choose) where the networks are on another processor, which computes the hyper-state; the
    /// moment's weights and gradients may be old then.
    pub fn choose_remote(&mut self, moment: &Moment<'_>, remote: &dyn RemoteState) -> &[f64] {
        self.choose_seeing(&Seen {
            moment: *moment,
            remote: Some(remote),
        })
    }

    /// Whether the next choice looks at weights and gradients. Where it does not, the moment's may be empty: whoever has
    /// to bring them from elsewhere can leave that out. It holds for the schedulers of this crate.
    ///
    /// ```
    /// # use epgt_hyper::*;
    /// # let axis = Axis::new("rate", 1.0, &Grid::List(vec![0.5, 1.0, 2.0]), true)?;
    /// # let space = HyperSpace::new(vec![axis], 10)?;
    /// let shapes = TensorShape::in_a_row([("weight", 2, 2)]);
    /// let settings = HyperSettings { hold: Hold::Updates(50), ..Default::default() };
    /// let mut agent = HyperAgent::new(&Epgt, settings, space, &shapes, Plan::of_updates(100), 0)?;
    /// assert!(agent.looks());
    /// agent.choose(&Moment { update: 0, progress: 0.0, weights: &[0.5; 4], gradients: &[0.0; 4] });
    /// assert!(!agent.looks());
    /// # Ok::<(), HyperError>(())
    /// ```
    pub fn looks(&self) -> bool {
        let Some(encoder) = self.mind.encoder() else {
            return false;
        };
        self.decides() || keeps_gradients(encoder, &self.settings, self.state.hold_left)
    }

    /// Whether the next choice looks at weights. Where it does not, the moment's may be empty; gradients are looked at
    /// where [`looks`](Self::looks) says so: those before a decision are part of its hyper-state.
    pub fn looks_at_weights(&self) -> bool {
        // A trained encoder keeps whole hyper-states.
        self.looks() && (self.decides() || !self.reads_remote_state())
    }

    fn decides(&self) -> bool {
        let may_decide = self.state.first_after_rollout || !self.decides_once_per_rollout;
        self.state.hold_left == 0 && may_decide
    }

    fn choose_seeing(&mut self, seen: &Seen<'_>) -> &[f64] {
        let decides = self.decides();
        self.state.first_after_rollout = false;
        if decides {
            self.decide(seen);
            self.state.hold_left = match (self.about.choosing, self.settings.hold) {
                (Choosing::Adopted, _) => 1,
                (Choosing::Kept, _) | (_, Hold::Phase) => u64::MAX,
                (_, Hold::Updates(updates)) => updates,
            };
        }
        self.state.hold_left = self.state.hold_left.saturating_sub(1);
        self.state.updates_in_phase += 1;
        let update = Update {
            decided: decides,
            until_decision: self.state.hold_left + 1,
        };
        self.mind.update(seen, update);
        &self.state.values
    }

    /// Takes over values that someone else has decided: the rule of an update that was just made, or the population
    /// that this run is a member of. They are for the log and the next update.
    pub fn adopt(&mut self, values: impl Iterator<Item = f64>) {
        self.state.values.clear();
        self.state.values.extend(values);
        if let Some(decision) = self.state.pending.last_mut() {
            decision.values.clone_from(&self.state.values);
        }
    }

    /// After a phase of acting or testing: how good it was, the more the better. Closes the update phase when it is
    /// complete, and then every decision of the phase gets its hyper-return.
    pub fn reward(&mut self, outcome: f32) {
        self.reward_weighted(outcome, 1.0);
    }

    /// [`reward`](Self::reward) with an outcome that counts more or less than others of its update phase, where they
    /// are averaged ([`Credit::add`]).
    pub fn reward_weighted(&mut self, outcome: f32, weight: f32) {
        let state = &mut self.state;
        state.first_after_rollout = true;
        state.credit.add(outcome, weight);
        let complete = match self.settings.hold {
            Hold::Updates(updates) if self.about.choosing != Choosing::Adopted => {
                self.settings.update_phase.max(updates)
            }
            _ => self.settings.update_phase,
        };
        // The very first rollout comes before any update: it is what the first phase improves on.
        if state.updates_in_phase > 0 && state.updates_in_phase < complete {
            return;
        }
        let verdict = state.credit.close(&self.settings);
        state.verdict = Some(verdict);
        state.updates_in_phase = 0;
        if !matches!(self.about.choosing, Choosing::Kept | Choosing::Adopted) {
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
                self.mind.learn(&decision, &options, i == last);
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
        let axes = 0..self.space.axes().len();
        let mut insight = Insight {
            epsilon: self.state.epsilon,
            decisions: self.state.decisions,
            f_statistic: self.state.signal.f_statistic(),
            correlations: axes.map(|axis| self.state.signal.correlation(axis)).collect(),
            verdict: self.state.verdict,
            ..Insight::default()
        };
        self.mind.tell(&mut insight);
        insight
    }

    /// What scheduling has cost since this agent was made, part by part; `None` for schedulers without a context, whose
    /// cost is too small to be timed. It is not part of a checkpoint.
    pub fn costs(&self) -> Option<&Costs> {
        self.mind.encoder().map(Encoder::costs)
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedAgent<'_> {
        SavedAgent {
            state: Cow::Borrowed(&self.state),
            mind: self.mind.save(),
        }
    }

    /// Continues from a checkpoint of an agent with the same settings; `reading` says what was rewarded, for
    /// checkpoints of version 0.1.
    pub fn restore(&mut self, saved: SavedAgent<'_>, reading: Reading) -> Result<(), HyperError> {
        if saved.state.values.len() != self.state.values.len() {
            return Err(HyperError::OtherHyperparameters);
        }
        let within = |(axis, &value): (&Axis, &f64)| {
            let (low, high) = (axis.values[0], axis.values[axis.values.len() - 1]);
            (low.min(axis.default)..=high.max(axis.default)).contains(&value)
        };
        let axes = self.space.axes().iter();
        // Who decides elsewhere has bounds of their own.
        let in_bounds = self.about.choosing == Choosing::Adopted || axes.zip(&saved.state.values).all(within);
        if !in_bounds || saved.state.action >= self.space.len() {
            return Err(HyperError::OtherValues);
        }
        self.mind.restore(saved.mind)?;
        self.state = saved.state.into_owned();
        self.state.credit.read_as(reading);
        Ok(())
    }

    /// Whether it can read the hyper-state where the networks are. If not, weights and gradients must be fetched before
    /// every choice: a trained encoder learns from all of them.
    pub fn reads_remote_state(&self) -> bool {
        self.mind.encoder().is_none_or(Encoder::reads_remote_state)
    }

    /// Writes the projections, the encoder and the older gradients to the processor that the networks are on.
    pub fn send(&self, remote: &mut dyn RemoteState) {
        if let Some(encoder) = self.mind.encoder() {
            encoder.send(remote);
        }
    }

    /// Reads the older gradients from the processor that the networks are on, for a checkpoint.
    pub fn fetch(&mut self, remote: &dyn RemoteState) {
        if let Some(encoder) = self.mind.encoder_mut() {
            encoder.fetch(remote);
        }
    }

    fn decide(&mut self, seen: &Seen<'_>) {
        let number = self.state.decisions;
        self.state.decisions += 1;
        self.state.epsilon = match self.about.choosing {
            Choosing::Own => 0.0,
            _ => epsilon(&self.settings, seen.moment.progress),
        };
        let written = (number + 1).is_multiple_of(self.settings.write_interval);
        let choice = match self.about.choosing {
            Choosing::Adopted => Choice::Rule,
            Choosing::Kept => Choice::Fixed,
            Choosing::Random => Choice::Random,
            Choosing::Own => Choice::Own,
            Choosing::Greedy if self.state.rng.next_f64() < f64::from(self.state.epsilon) => Choice::Random,
            Choosing::Greedy => Choice::Greedy,
        };
        let greedy = matches!(choice, Choice::Greedy | Choice::Own);
        let need = Need {
            values: greedy,
            key: written,
        };
        let key = self.mind.look(seen, need, &mut self.q);
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
        let norms = key.as_ref().map_or((0.0, 0.0), |_| seen.norms());
        self.state.pending.push(Decision {
            decision: number,
            update: seen.moment.update,
            epsilon: self.state.epsilon,
            choice,
            action: self.state.action,
            values: self.state.values.clone(),
            norms,
            q: if greedy { self.q.clone() } else { Vec::new() },
            q_chosen: greedy.then(|| self.q_of(self.state.action)),
            neighbours,
            memory: self.memory_size(),
            key,
            written,
            outcome: f32::NAN,
            hyper_return: f32::NAN,
            improvement: f32::NAN,
        });
    }

    /// Tuples in the episodic memory, or transitions in the replay.
    fn memory_size(&self) -> usize {
        let mut insight = Insight::default();
        self.mind.tell(&mut insight);
        insight.memory
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
