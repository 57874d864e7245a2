//! Deep Q-learning as the hyper-agent: the parametric rival of episodic control (paper, B.3).
//!
//! Value and target networks are 3-layer ReLU networks with 64 hidden units. The hyper-reward is sparse: G at the last
//! decision of an update phase, 0 at the others, which bootstrap from the next decision's key. One gradient step on 32
//! replayed transitions at every policy update; the target network is copied every T_q updates.

use std::borrow::Cow;

use epgt_nn::{Activation, Adam, Mlp, Parameters};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::costs::Watch;
use crate::decision::Decision;
use crate::encoder::Encoder;
use crate::error::HyperError;
use crate::insight::Insight;
use crate::mind::{Mind, Need, SavedMind, Update, keep_up};
use crate::moment::Seen;
use crate::scheduler::{About, Purpose, Scheduler};
use crate::settings::HyperSettings;

/// The scheduler `dqn`.
#[derive(Clone, Copy, Debug)]
pub struct DeepQ;

impl Scheduler for DeepQ {
    fn about(&self) -> About {
        About {
            name: "dqn",
            help: "Deep Q-learning on the same hyper-state, hyper-action and hyper-reward.",
            does: "takes the choice that a network, trained on earlier decisions, rates best in the present moment",
            encodes: true,
            ..About::BLANK
        }
    }

    fn mind(&self, purpose: &Purpose<'_>) -> Box<dyn Mind> {
        let encoder = Encoder::new(purpose.settings, purpose.shapes, purpose.seed);
        Box::new(Keyed {
            dqn: Dqn::new(purpose.settings, encoder.key_dim(), purpose.groups, purpose.seed),
            encoder,
        })
    }
}

/// Keys, and a value network for all groups.
#[derive(Debug)]
struct Keyed {
    encoder: Encoder,
    dqn: Dqn,
}

impl Mind for Keyed {
    fn look(&mut self, seen: &Seen<'_>, need: Need, q: &mut [f32]) -> Option<Vec<f32>> {
        let key = self.encoder.key(seen).to_vec();
        self.encoder.remember(seen, true);
        if need.values {
            let mut watch = Watch::start();
            self.dqn.read(&key, q);
            watch.lap(&mut self.encoder.costs_mut().reading);
        }
        Some(key)
    }

    fn update(&mut self, seen: &Seen<'_>, update: Update) {
        let mut watch = Watch::start();
        self.dqn.learn();
        watch.lap(&mut self.encoder.costs_mut().training);
        keep_up(&mut self.encoder, &self.dqn.settings, seen, update);
    }

    fn learn(&mut self, decision: &Decision, options: &[usize], last_of_phase: bool) {
        let Some(key) = &decision.key else { return };
        let mut watch = Watch::start();
        let reward = if last_of_phase { decision.hyper_return } else { 0.0 };
        self.dqn.push(key, options, reward, last_of_phase);
        watch.lap(&mut self.encoder.costs_mut().writing);
    }

    fn tell(&self, insight: &mut Insight) {
        insight.memory = self.dqn.len();
        insight.dqn_loss = self.dqn.loss();
        self.encoder.tell(insight);
    }

    fn not_finite(&self) -> Option<&'static str> {
        let diverged = self.dqn.loss().is_some_and(|loss| !loss.is_finite());
        let sentence = "the loss of dqn is not finite; lower hyper.dqn_learning_rate";
        self.encoder.not_finite().or(diverged.then_some(sentence))
    }

    fn encoder(&self) -> Option<&Encoder> {
        Some(&self.encoder)
    }

    fn encoder_mut(&mut self) -> Option<&mut Encoder> {
        Some(&mut self.encoder)
    }

    fn save(&self) -> SavedMind<'_> {
        SavedMind::Dqn(Box::new(self.encoder.save()), Box::new(Cow::Borrowed(self.dqn.save())))
    }

    fn restore(&mut self, saved: SavedMind<'_>) -> Result<(), HyperError> {
        let SavedMind::Dqn(encoder, dqn) = saved else {
            return Err(HyperError::OtherScheduler);
        };
        self.encoder.restore(*encoder)?;
        self.dqn.restore(dqn.into_owned())
    }
}

const HIDDEN: usize = 64;

/// Value network, target network and replay.
///
/// Where values are factored, each hyperparameter has its own slice of outputs and its own maximum; `groups` are their
/// sizes.
#[derive(Clone, Debug)]
pub struct Dqn {
    groups: Vec<usize>,
    network: Mlp,
    batch: Batch,
    state: DqnState,
    settings: HyperSettings,
}

#[derive(Clone, Debug, Default)]
struct Batch {
    keys: Vec<f32>,
    next_keys: Vec<f32>,
    gradient: Vec<f32>,
    chosen: Vec<usize>,
}

/// What changes and must survive a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DqnState {
    value: Parameters,
    target: Parameters,
    adam: Adam,
    replay: Replay,
    updates: u64,
    rng: Pcg64,
    loss: Option<f32>,
}

/// Transitions in the order they were lived, so that the next key is the next entry's: half the memory of storing both.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Replay {
    keys: Vec<f32>,
    /// One option per group.
    options: Vec<u32>,
    rewards: Vec<f32>,
    terminal: Vec<bool>,
    next: usize,
}

impl Dqn {
    /// A fresh learner for keys of `key_dim` numbers.
    ///
    /// ```
    /// use epgt_hyper::{Dqn, HyperSettings};
    /// let mut dqn = Dqn::new(&HyperSettings::paper(), 2, &[3], 0);
    /// dqn.push(&[0.0, 1.0], &[2], 5.0, true);
    /// dqn.learn();
    /// let mut q = [0.0; 3];
    /// dqn.read(&[0.0, 1.0], &mut q);
    /// ```
    pub fn new(settings: &HyperSettings, key_dim: usize, groups: &[usize], seed: u64) -> Self {
        let mut rng = Pcg64::for_purpose(seed, "dqn", 0);
        let mut value = Parameters::new();
        let outputs: usize = groups.iter().sum();
        let sizes = [key_dim, HIDDEN, HIDDEN, outputs];
        let network = Mlp::uniform(
            &mut value,
            "q",
            &sizes,
            Activation::Relu,
            Activation::Identity,
            &mut rng,
        );
        Self {
            groups: groups.to_vec(),
            network,
            batch: Batch::default(),
            state: DqnState {
                target: value.clone(),
                adam: Adam::new(value.len(), 0.9, 0.999, 1e-8),
                value,
                replay: Replay::default(),
                updates: 0,
                rng,
                loss: None,
            },
            settings: settings.clone(),
        }
    }

    /// Writes Q(key, .) for all groups, one after another.
    pub fn read(&mut self, key: &[f32], q: &mut [f32]) {
        q.copy_from_slice(self.network.forward(&self.state.value, key, 1));
    }

    /// Adds a transition; the oldest leaves when the replay is full.
    pub fn push(&mut self, key: &[f32], options: &[usize], reward: f32, terminal: bool) {
        let replay = &mut self.state.replay;
        let slot = replay.next;
        let options = options.iter().map(|&option| option as u32);
        if slot == replay.rewards.len() {
            replay.keys.extend_from_slice(key);
            replay.options.extend(options);
            replay.rewards.push(reward);
            replay.terminal.push(terminal);
        } else {
            replay.keys[slot * key.len()..][..key.len()].copy_from_slice(key);
            let groups = self.groups.len();
            replay.options[slot * groups..][..groups]
                .iter_mut()
                .zip(options)
                .for_each(|(old, new)| *old = new);
            replay.rewards[slot] = reward;
            replay.terminal[slot] = terminal;
        }
        replay.next = (slot + 1) % self.settings.dqn_replay;
    }

    /// One gradient step of the squared temporal-difference error, once there is a batch to draw.
    pub fn learn(&mut self) {
        let batch = self.settings.dqn_batch;
        let state = &mut self.state;
        state.updates += 1;
        if state.updates.is_multiple_of(self.settings.dqn_target_interval) {
            state.target.values_mut().copy_from_slice(state.value.values());
        }
        let stored = state.replay.rewards.len();
        if stored < batch {
            return;
        }
        let b = &mut self.batch;
        let key_dim = state.replay.keys.len() / stored;
        b.chosen.clear();
        b.keys.clear();
        b.next_keys.clear();
        for _ in 0..batch {
            let slot = state.rng.below(stored as u64) as usize;
            let following = (slot + 1) % stored;
            b.chosen.push(slot);
            b.keys
                .extend_from_slice(&state.replay.keys[slot * key_dim..][..key_dim]);
            b.next_keys
                .extend_from_slice(&state.replay.keys[following * key_dim..][..key_dim]);
        }
        let outputs: usize = self.groups.iter().sum();
        let next_q = self.network.forward(&state.target, &b.next_keys, batch);
        // The gradient's buffer first holds the targets of the options taken.
        b.gradient.clear();
        b.gradient.resize(batch * outputs, 0.0);
        for (row, &slot) in b.chosen.iter().enumerate() {
            let mut first = row * outputs;
            for (group, &size) in self.groups.iter().enumerate() {
                let best = next_q[first..first + size]
                    .iter()
                    .copied()
                    .fold(f32::NEG_INFINITY, f32::max);
                let future = if state.replay.terminal[slot] {
                    0.0
                } else {
                    self.settings.dqn_discount * best
                };
                let option = state.replay.options[slot * self.groups.len() + group] as usize;
                b.gradient[first + option] = state.replay.rewards[slot] + future;
                first += size;
            }
        }
        let q = self.network.forward(&state.value, &b.keys, batch);
        let mut loss = 0.0;
        for (row, &slot) in b.chosen.iter().enumerate() {
            let mut first = row * outputs;
            for (group, &size) in self.groups.iter().enumerate() {
                let option = state.replay.options[slot * self.groups.len() + group] as usize;
                let error = q[first + option] - b.gradient[first + option];
                b.gradient[first + option] = 2.0 * error / batch as f32;
                loss += error * error / batch as f32;
                first += size;
            }
        }
        state.loss = Some(loss);
        self.network.backward(&mut state.value, &b.gradient);
        let (values, gradients) = state.value.split_mut();
        state.adam.step(values, gradients, self.settings.dqn_learning_rate);
    }

    /// Transitions stored.
    pub fn len(&self) -> usize {
        self.state.replay.rewards.len()
    }

    /// Whether no transition is stored yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Squared error of the last batch.
    pub fn loss(&self) -> Option<f32> {
        self.state.loss
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> &DqnState {
        &self.state
    }

    /// Continues from a checkpoint of a learner of the same shape.
    pub fn restore(&mut self, state: DqnState) -> Result<(), HyperError> {
        let shapes = self.state.value.shapes();
        if state.value.shapes() != shapes || state.target.shapes() != shapes {
            return Err(HyperError::OtherValueNetwork);
        }
        self.state = state;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_which_action_pays_in_which_context_and_bootstraps_between() {
        let settings = HyperSettings {
            dqn_learning_rate: 3e-3,
            ..HyperSettings::paper()
        };
        let mut dqn = Dqn::new(&settings, 1, &[2], 0);
        // From key -1 action 0 leads, unpaid, to key +1, where action 1 pays 1 and ends the phase; all else pays 0.
        let mut rng = Pcg64::from_seed(3);
        for _ in 0..3000 {
            let (a, b) = (rng.below(2) as usize, rng.below(2) as usize);
            dqn.push(&[-1.0], &[a], 0.0, a == 1);
            if a == 0 {
                dqn.push(&[1.0], &[b], if b == 1 { 1.0 } else { 0.0 }, true);
            }
            dqn.learn();
        }
        let mut q = [0.0; 2];
        dqn.read(&[1.0], &mut q);
        assert!((q[1] - 1.0).abs() < 0.1 && q[0].abs() < 0.1, "{q:?}");
        dqn.read(&[-1.0], &mut q);
        assert!((q[0] - 0.99).abs() < 0.1 && q[1].abs() < 0.1, "{q:?}");
    }
}
