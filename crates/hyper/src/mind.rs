//! What sets the schedulers apart: how they value hyper-actions, and how they learn from hyper-returns.
//!
//! Values are kept in *groups*: one group with all joint hyper-actions, or, where values are factored, one group per
//! hyperparameter. A hyper-action is one *option* in every group.

use std::borrow::Cow;

use epgt_nn::TensorShape;
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::agent::{SavedAgent, TrainingContext};
use crate::bandit::Bandit;
use crate::costs::{Costs, Watch};
use crate::decision::Decision;
use crate::dqn::{Dqn, DqnState};
use crate::encoder::{Encoder, SavedEncoder};
use crate::lrrl::{self, Lrrl};
use crate::memory::{EpisodicMemory, Neighbour, Writing};
use crate::plan::Plan;
use crate::settings::{EncoderKind, Hold, HyperSettings, Scheduler};
use crate::space::HyperSpace;
use crate::ultho::Ultho;

/// The valuing part of a scheduler.
#[derive(Debug)]
pub enum Mind {
    /// Keeps what it was given.
    Fixed,
    /// Values nothing.
    Random,
    /// One bandit per group.
    Bandit(Vec<Bandit>),
    /// Keys, and one memory per group.
    Episodic(Box<Encoder>, Vec<EpisodicMemory>),
    /// Keys, and a value network for all groups.
    Dqn(Box<Encoder>, Box<Dqn>),
    /// Probabilities.
    Lrrl(Lrrl),
    /// Confidence bounds.
    Ultho(Ultho),
}

/// A mind's part of a checkpoint; it borrows while saving.
#[derive(Debug, Serialize, Deserialize)]
pub enum SavedMind<'a> {
    Mindless,
    Bandit(Cow<'a, [Bandit]>),
    Episodic(Box<SavedEncoder<'a>>, Cow<'a, [EpisodicMemory]>),
    Dqn(Box<SavedEncoder<'a>>, Box<Cow<'a, DqnState>>),
    Lrrl(Cow<'a, Lrrl>),
    Ultho(Cow<'a, Ultho>),
}

impl SavedAgent<'_> {
    /// The episodic memory, of the first group of options; `None` for a scheduler without one.
    pub fn memory(&self) -> Option<&EpisodicMemory> {
        match &self.mind {
            SavedMind::Episodic(_, memories) => memories.first(),
            _ => None,
        }
    }
}

impl Mind {
    /// A fresh mind for `groups` of options.
    pub fn new(
        scheduler: Scheduler,
        settings: &HyperSettings,
        groups: &[usize],
        shapes: &[TensorShape],
        plan: Plan,
        seed: u64,
    ) -> Self {
        match scheduler {
            Scheduler::Fixed | Scheduler::Hoof | Scheduler::MetaGradient => Self::Fixed,
            // The members of a population keep what they were given until it gives them something else.
            Scheduler::Pbt | Scheduler::Pb2 | Scheduler::Grid | Scheduler::RandomSearch => Self::Fixed,
            Scheduler::Random => Self::Random,
            Scheduler::Bandit => Self::Bandit(groups.iter().map(|&size| Bandit::new(size)).collect()),
            Scheduler::Epgt => {
                let encoder = Encoder::new(settings, shapes, seed);
                let capacity = memory_capacity(settings, plan);
                let memory = |&size: &usize| EpisodicMemory::new(capacity, encoder.key_dim(), size);
                let memories = groups.iter().map(memory).collect();
                Self::Episodic(Box::new(encoder), memories)
            }
            Scheduler::Dqn => {
                let encoder = Encoder::new(settings, shapes, seed);
                let dqn = Dqn::new(settings, encoder.key_dim(), groups, seed);
                Self::Dqn(Box::new(encoder), Box::new(dqn))
            }
            Scheduler::Lrrl => Self::Lrrl(Lrrl::new(groups.iter().sum(), settings)),
            // The last group is that of the hyperparameters themselves.
            Scheduler::Ultho => Self::Ultho(Ultho::new(&groups[..groups.len() - 1], settings)),
        }
    }

    /// Whether it chooses by a rule of its own, instead of the best with a random choice now and then.
    pub fn chooses(&self) -> bool {
        matches!(self, Self::Lrrl(_) | Self::Ultho(_))
    }

    /// The next hyper-action by its own rule, from what it has written into `q`.
    ///
    /// # Panics
    /// If it has none.
    pub fn choose(&mut self, space: &HyperSpace, current: usize, q: &[f32], rng: &mut Pcg64) -> usize {
        match self {
            Self::Lrrl(_) => lrrl::draw(q, rng),
            Self::Ultho(ultho) if !space.axes().is_empty() => {
                let (cluster, arm) = ultho.pick(q, rng);
                let axes = 0..space.axes().len();
                space.action(axes.map(|axis| match axis == cluster {
                    true => arm,
                    false => space.index(current, axis),
                }))
            }
            Self::Ultho(_) => current,
            _ => unreachable!("only a mind that chooses is asked to"),
        }
    }

    /// Makes the key and reads Q of every option into `q`, as far as a decision needs them: a random choice that is not
    /// written needs neither.
    pub fn look(
        &mut self,
        context: &TrainingContext<'_>,
        greedy: bool,
        written: bool,
        neighbours: usize,
        q: &mut [f32],
    ) -> Option<Vec<f32>> {
        match self {
            Self::Fixed | Self::Random => None,
            Self::Lrrl(lrrl) => {
                lrrl.read(q);
                None
            }
            Self::Ultho(ultho) => {
                ultho.read(q);
                None
            }
            Self::Bandit(bandits) => {
                let mut rest = q;
                for bandit in bandits {
                    let (group, others) = rest.split_at_mut(bandit.len());
                    bandit.read(group);
                    rest = others;
                }
                None
            }
            Self::Episodic(encoder, memories) => {
                let needed = greedy || written;
                let key = needed.then(|| encoder.key(context).to_vec());
                encoder.remember(context, needed);
                if let (true, Some(key)) = (greedy, &key) {
                    let mut watch = Watch::start();
                    let mut rest = q;
                    for memory in memories {
                        let (group, others) = rest.split_at_mut(memory.n_actions());
                        memory.read(key, neighbours, group);
                        rest = others;
                    }
                    watch.lap(&mut encoder.costs_mut().reading);
                }
                key
            }
            Self::Dqn(encoder, dqn) => {
                let key = encoder.key(context).to_vec();
                encoder.remember(context, true);
                if greedy {
                    let mut watch = Watch::start();
                    dqn.read(&key, q);
                    watch.lap(&mut encoder.costs_mut().reading);
                }
                Some(key)
            }
        }
    }

    /// What goes on at every policy update: the encoder's and the value network's own training, and keeping gradients.
    ///
    /// `decided` says whether this update began with a decision, `until_decision` how many updates lie before the next.
    pub fn learn_between_decisions(
        &mut self,
        context: &TrainingContext<'_>,
        settings: &HyperSettings,
        decided: bool,
        until_decision: u64,
    ) {
        let encoder = match self {
            Self::Fixed | Self::Random | Self::Bandit(_) | Self::Lrrl(_) | Self::Ultho(_) => return,
            Self::Episodic(encoder, _) => encoder,
            Self::Dqn(encoder, dqn) => {
                let mut watch = Watch::start();
                dqn.learn();
                watch.lap(&mut encoder.costs_mut().training);
                encoder
            }
        };
        encoder.costs_mut().updates += 1;
        if encoder.training_is_due(context.update) {
            if !decided {
                encoder.remember(context, false);
            }
            encoder.train();
        }
        // With a long hold only the gradients just before the next decision will be looked at.
        if settings.encoder == EncoderKind::Vae
            || settings.hold == Hold::Phase
            || until_decision <= encoder.memory_of_gradients()
        {
            encoder.age(context);
        }
    }

    /// Learns from a decision that has got its hyper-return; `options` is what it chose in every group.
    pub fn learn(&mut self, decision: &Decision, options: &[usize], last_of_phase: bool, settings: &HyperSettings) {
        match (self, &decision.key) {
            (Self::Bandit(bandits), _) => {
                for (bandit, &option) in bandits.iter_mut().zip(options) {
                    bandit.learn(option, decision.hyper_return);
                }
            }
            (Self::Lrrl(lrrl), _) => {
                let probability = decision.q.get(decision.action).copied().unwrap_or(1.0);
                lrrl.learn(decision.action, probability, decision.outcome);
                if last_of_phase {
                    lrrl.close(decision.outcome);
                }
            }
            (Self::Ultho(ultho), _) => {
                if let Some(cluster) = ultho.settle() {
                    ultho.learn(cluster, options[cluster], decision.outcome);
                }
            }
            (Self::Episodic(encoder, memories), Some(key)) if decision.written => {
                let mut watch = Watch::start();
                let writing = Writing {
                    rule: settings.write_rule,
                    neighbours: settings.write_neighbours,
                    rate: settings.write_rate,
                };
                for (memory, &option) in memories.iter_mut().zip(options) {
                    memory.write(key, option, decision.hyper_return, decision.update, &writing);
                }
                watch.lap(&mut encoder.costs_mut().writing);
            }
            (Self::Dqn(encoder, dqn), Some(key)) => {
                let mut watch = Watch::start();
                let reward = if last_of_phase { decision.hyper_return } else { 0.0 };
                dqn.push(key, options, reward, last_of_phase);
                watch.lap(&mut encoder.costs_mut().writing);
            }
            _ => {}
        }
    }

    /// The remembered moments behind the last look, for an option of the first group.
    pub fn neighbours(&self, option: usize) -> Vec<Neighbour> {
        match self {
            Self::Episodic(_, memories) if !memories[0].is_empty() => memories[0].neighbours(option),
            _ => Vec::new(),
        }
    }

    /// Tuples in the episodic memory, or transitions in the replay.
    pub fn memory_size(&self) -> usize {
        match self {
            Self::Episodic(_, memories) => memories.first().map_or(0, EpisodicMemory::len),
            Self::Dqn(_, dqn) => dqn.len(),
            _ => 0,
        }
    }

    /// The encoder, where there is one.
    pub fn encoder(&self) -> Option<&Encoder> {
        match self {
            Self::Episodic(encoder, _) | Self::Dqn(encoder, _) => Some(encoder),
            _ => None,
        }
    }

    /// The encoder, to give it something.
    pub fn encoder_mut(&mut self) -> Option<&mut Encoder> {
        match self {
            Self::Episodic(encoder, _) | Self::Dqn(encoder, _) => Some(encoder),
            _ => None,
        }
    }

    /// What it has cost so far, where its parts take long enough to be timed.
    pub fn costs(&self) -> Option<&Costs> {
        self.encoder().map(Encoder::costs)
    }

    /// Where the mind's own training has left the realm of numbers, if it has.
    pub fn not_finite(&self) -> Option<&'static str> {
        let broken = |x: Option<f32>| x.is_some_and(|x| !x.is_finite());
        if broken(self.encoder().and_then(Encoder::reconstruction_loss)) {
            Some("the encoder's reconstruction loss is not finite; lower hyper.encoder_learning_rate")
        } else if broken(self.dqn_loss()) {
            Some("the loss of dqn is not finite; lower hyper.dqn_learning_rate")
        } else {
            None
        }
    }

    /// Squared error of the value network's last batch.
    pub fn dqn_loss(&self) -> Option<f32> {
        match self {
            Self::Dqn(_, dqn) => dqn.loss(),
            _ => None,
        }
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedMind<'_> {
        match self {
            Self::Fixed | Self::Random => SavedMind::Mindless,
            Self::Bandit(bandits) => SavedMind::Bandit(Cow::Borrowed(bandits)),
            Self::Episodic(encoder, memories) => SavedMind::Episodic(Box::new(encoder.save()), Cow::Borrowed(memories)),
            Self::Dqn(encoder, dqn) => SavedMind::Dqn(Box::new(encoder.save()), Box::new(Cow::Borrowed(dqn.save()))),
            Self::Lrrl(lrrl) => SavedMind::Lrrl(Cow::Borrowed(lrrl)),
            Self::Ultho(ultho) => SavedMind::Ultho(Cow::Borrowed(ultho)),
        }
    }

    /// Continues from a checkpoint of the same scheduler with the same settings.
    pub fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), String> {
        let all_like = match (&*self, &saved) {
            (Self::Bandit(own), SavedMind::Bandit(saved)) => {
                own.len() == saved.len() && saved.iter().zip(own).all(|(saved, own)| saved.is_like(own))
            }
            (Self::Episodic(_, own), SavedMind::Episodic(_, saved)) => {
                own.len() == saved.len() && saved.iter().zip(own).all(|(saved, own)| saved.is_like(own))
            }
            (Self::Lrrl(own), SavedMind::Lrrl(saved)) => saved.is_like(own),
            (Self::Ultho(own), SavedMind::Ultho(saved)) => saved.is_like(own),
            _ => true,
        };
        if !all_like {
            return Err("what the checkpoint remembers of hyper-actions does not fit the settings".to_string());
        }
        match (self, saved) {
            (Self::Fixed | Self::Random, SavedMind::Mindless) => {}
            (Self::Bandit(bandits), SavedMind::Bandit(saved)) => *bandits = saved.into_owned(),
            (Self::Episodic(encoder, memories), SavedMind::Episodic(saved, saved_memories)) => {
                encoder.restore(*saved)?;
                *memories = saved_memories.into_owned();
            }
            (Self::Dqn(encoder, dqn), SavedMind::Dqn(saved, saved_dqn)) => {
                encoder.restore(*saved)?;
                dqn.restore(saved_dqn.into_owned())?;
            }
            (Self::Lrrl(lrrl), SavedMind::Lrrl(saved)) => *lrrl = saved.into_owned(),
            (Self::Ultho(ultho), SavedMind::Ultho(saved)) => *ultho = saved.into_owned(),
            _ => return Err("the checkpoint was made by another scheduler".to_string()),
        }
        Ok(())
    }
}

/// N_mem: half of the tuples that the run will write, at most 10,000 (paper, B.2).
fn memory_capacity(settings: &HyperSettings, plan: Plan) -> usize {
    let writes = plan.total_updates / plan.updates_per_decision(settings) / settings.write_interval;
    settings.memory_size.unwrap_or(((writes / 2) as usize).clamp(1, 10_000))
}
