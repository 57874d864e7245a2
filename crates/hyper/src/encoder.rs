//! From hyper-state to memory key (paper, A.3).
//!
//! `vae`: the encoder phi is a tanh network d_s -> d_s/4 -> 2h whose halves are the mean and the log-variance of a
//! latent normal; the decoder omega is h -> d_s/4 -> d_s with a sigmoid output. Every few updates one Adam step lowers
//! |omega(z) - sigmoid(s)|^2 + KL on a batch of recent hyper-states, and its gradient also reaches the projections C. The
//! target is squashed because a sigmoid cannot reach a standardised feature, and detached as the paper says. The key is
//! the latent mean. `random`: the same encoder, never trained. `clock`: no network, the key is the training's progress.
//!
//! Keys of older encoders stay in the memory as they are (the paper ignores this); [`Encoder::drift`] measures by how
//! much the keys of recent hyper-states have moved since they were made.

mod pace;
mod training;

use std::borrow::Cow;

use epgt_nn::{Activation, FactoredAdam, Mlp, Parameters, Projections, RemoteState, TanhLayer, TensorShape};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::costs::{Costs, Watch};
use crate::error::HyperError;
use crate::insight::Insight;
use crate::moment::Seen;
use crate::settings::{EncoderKind, HyperSettings};
use crate::state::{Projection, Standardiser};
use pace::Pace;
use training::Batch;

/// Makes memory keys from moments of training.
///
/// ```
/// use epgt_hyper::{Encoder, HyperSettings, Moment};
/// use epgt_nn::Parameters;
/// let mut policy = Parameters::new();
/// policy.add("weight", 8, 4);
/// let mut encoder = Encoder::new(&HyperSettings::paper(), policy.shapes(), 0);
/// let (weights, gradients) = (policy.values(), policy.gradients());
/// let moment = Moment { update: 0, progress: 0.0, weights, gradients };
/// assert_eq!(encoder.key(&moment.into()).len(), 32);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    kind: EncoderKind,
    projection: Projection,
    /// C, phi and omega.
    parameters: Parameters,
    phi: Option<Mlp>,
    omega: Option<Mlp>,
    features: Vec<f32>,
    batch: Batch,
    /// What changes and must survive a checkpoint.
    state: EncoderState,
    settings: HyperSettings,
    costs: Costs,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct EncoderState {
    standard: Standardiser,
    /// Gradients n = 2..N_order, latest first.
    older: Vec<Vec<f32>>,
    adam: Option<FactoredAdam>,
    pace: Pace,
    recent: Vec<Snapshot>,
    next_recent: usize,
    rng: Pcg64,
    reconstruction_loss: Option<f32>,
    drift: Option<f32>,
    key: Vec<f32>,
}

/// A hyper-state as it was: the weights and gradients themselves, since C is trained too.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Snapshot {
    sources: Vec<f32>,
    /// The key it had when it was made, if one was made.
    key: Option<Vec<f32>>,
}

/// An encoder's part of a checkpoint; the networks only where they are trained. It borrows while saving: a trained
/// encoder is the largest thing in memory.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedEncoder<'a> {
    state: Cow<'a, EncoderState>,
    networks: Option<Cow<'a, [f32]>>,
}

impl Encoder {
    /// An encoder for tensors of these shapes.
    pub fn new(settings: &HyperSettings, shapes: &[TensorShape], seed: u64) -> Self {
        let mut rng = Pcg64::for_purpose(seed, "encoder", 0);
        let kind = settings.encoder;
        let mut parameters = Parameters::new();
        let shapes = if kind == EncoderKind::Clock { &[] } else { shapes };
        let projection = Projection::new(shapes, settings.order, settings.state_dim, &mut parameters, &mut rng);
        let (size, h) = (projection.features(), settings.key_dim);
        let middle = (size / 4).max(1);
        let mut network = |name, sizes: [usize; 3], output| {
            Mlp::uniform(&mut parameters, name, &sizes, Activation::Tanh, output, &mut rng)
        };
        let phi = (kind != EncoderKind::Clock).then(|| network("phi", [size, middle, 2 * h], Activation::Tanh));
        let trained = kind == EncoderKind::Vae;
        let omega = trained.then(|| network("omega", [h, middle, size], Activation::Sigmoid));
        let adam = trained.then(|| FactoredAdam::new(parameters.shapes(), 0.9, 0.999, 1e-8));
        let key_dim = if kind == EncoderKind::Clock { 1 } else { h };
        Self {
            kind,
            features: vec![0.0; size],
            batch: Batch::default(),
            state: EncoderState {
                standard: Standardiser::new(size),
                older: vec![vec![0.0; projection.parameters()]; settings.order.saturating_sub(1)],
                adam,
                pace: Pace::new(settings),
                recent: Vec::new(),
                next_recent: 0,
                rng,
                reconstruction_loss: None,
                drift: None,
                key: vec![0.0; key_dim],
            },
            projection,
            parameters,
            phi,
            omega,
            settings: settings.clone(),
            costs: Costs::default(),
        }
    }

    /// Numbers in a key: h, or 1 for the clock.
    pub fn key_dim(&self) -> usize {
        self.state.key.len()
    }

    /// The key of the present moment.
    pub fn key(&mut self, seen: &Seen<'_>) -> &[f32] {
        let Some(phi) = &mut self.phi else {
            self.state.key[0] = seen.moment.progress as f32;
            return &self.state.key;
        };
        let mut watch = Watch::start();
        match seen.remote {
            Some(remote) => remote.project(&mut self.features),
            None => {
                let sources = sources(seen, &self.state.older, self.projection.order());
                self.projection.project(&self.parameters, sources, &mut self.features);
            }
        }
        self.state.standard.learn(&self.features);
        self.state.standard.apply(&mut self.features);
        watch.lap(&mut self.costs.projecting);
        match seen.remote {
            Some(remote) => remote.encode(&self.features, &mut self.state.key),
            None => {
                let latent = phi.forward(&self.parameters, &self.features, 1);
                self.state.key.copy_from_slice(&latent[..self.settings.key_dim]);
            }
        }
        watch.lap(&mut self.costs.encoding);
        &self.state.key
    }

    /// Keeps the hyper-state for training, with the key that [`key`](Self::key) has just made of it, if it has.
    pub fn remember(&mut self, seen: &Seen<'_>, keyed: bool) {
        if self.kind != EncoderKind::Vae {
            return;
        }
        let mut watch = Watch::start();
        let state = &mut self.state;
        if state.recent.len() < self.settings.encoder_buffer {
            state.recent.push(Snapshot {
                sources: Vec::with_capacity(self.projection.parameters() * (self.projection.order() + 1)),
                key: None,
            });
        }
        let snapshot = &mut state.recent[state.next_recent];
        snapshot.sources.clear();
        for source in sources(seen, &state.older, self.projection.order()) {
            snapshot.sources.extend_from_slice(source);
        }
        snapshot.key = keyed.then(|| state.key.clone());
        state.next_recent = (state.next_recent + 1) % self.settings.encoder_buffer;
        watch.lap(&mut self.costs.training);
    }

    /// Whether the encoder is to be trained before policy update `update`. Ask once per update.
    pub fn training_is_due(&mut self, update: u64) -> bool {
        self.kind == EncoderKind::Vae && self.state.pace.is_due(update)
    }

    /// Ages the gradients: the last gradient becomes the one before. Call it once per update, at the end.
    pub fn age(&mut self, seen: &Seen<'_>) {
        let mut watch = Watch::start();
        if self.phi.is_none() {
            return;
        }
        if let Some(remote) = seen.remote {
            remote.age();
        } else if let Some(oldest) = self.state.older.pop() {
            self.state.older.insert(0, oldest);
            self.state.older[0].copy_from_slice(seen.moment.gradients);
        }
        watch.lap(&mut self.costs.projecting);
    }

    /// Whether it can read the hyper-state where the networks are: a trained encoder keeps whole hyper-states on this
    /// processor.
    pub fn reads_remote_state(&self) -> bool {
        self.kind != EncoderKind::Vae
    }

    /// Writes the projections, the network and the older gradients to the processor that the networks are on.
    pub fn send(&self, remote: &mut dyn RemoteState) {
        let Some(phi) = self.phi.as_ref().filter(|_| self.reads_remote_state()) else {
            return;
        };
        let layers: Vec<TanhLayer<'_>> = phi
            .layers()
            .iter()
            .map(|layer| TanhLayer {
                weight: self.parameters.value(layer.weight()),
                bias: self.parameters.value(layer.bias()),
            })
            .collect();
        let projection = &self.projection;
        let matrices: Vec<f32> = projection
            .matrices()
            .iter()
            .flat_map(|&matrix| self.parameters.value(matrix).iter().copied())
            .collect();
        let projections = Projections {
            tensors: &projection.tensors(),
            sources: projection.order() + 1,
            dim: self.settings.state_dim,
            matrices: &matrices,
        };
        remote.set(projections, &layers, &self.state.older);
    }

    /// Reads the older gradients from the processor that the networks are on.
    pub fn fetch(&mut self, remote: &dyn RemoteState) {
        if self.phi.is_none() || !self.reads_remote_state() {
            return;
        }
        for (i, older) in self.state.older.iter_mut().enumerate() {
            remote.read_older(i, older);
        }
    }

    /// How many updates before a decision [`age`](Self::age) must have been called for its hyper-state to be whole.
    pub fn memory_of_gradients(&self) -> u64 {
        self.state.older.len() as u64
    }

    /// Squared reconstruction error of the last training batch, per hyper-state.
    pub fn reconstruction_loss(&self) -> Option<f32> {
        self.state.reconstruction_loss
    }

    /// Mean distance between the keys that recent hyper-states had when they were made and the keys they would get now.
    pub fn drift(&self) -> Option<f32> {
        self.state.drift
    }

    /// Adds what it would like logged and shown.
    pub(crate) fn tell(&self, insight: &mut Insight) {
        insight.reconstruction_loss = self.reconstruction_loss();
        insight.key_drift = self.drift();
    }

    /// One sentence where its own training is not finite any more.
    pub(crate) fn not_finite(&self) -> Option<&'static str> {
        let diverged = self.state.reconstruction_loss.is_some_and(|loss| !loss.is_finite());
        diverged.then_some("the encoder's reconstruction loss is not finite; lower hyper.encoder_learning_rate")
    }

    /// What it and the mind around it have cost so far.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The books, for what the mind around it does with keys.
    pub(crate) fn costs_mut(&mut self) -> &mut Costs {
        &mut self.costs
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedEncoder<'_> {
        SavedEncoder {
            state: Cow::Borrowed(&self.state),
            networks: self.omega.is_some().then(|| Cow::Borrowed(self.parameters.values())),
        }
    }

    /// Continues from a checkpoint of an encoder with the same settings and shapes.
    pub fn restore(&mut self, saved: SavedEncoder<'_>) -> Result<(), HyperError> {
        let networks = saved
            .networks
            .as_ref()
            .map_or(self.parameters.len(), |values| values.len());
        if saved.state.standard.features() != self.features.len() || networks != self.parameters.len() {
            return Err(HyperError::OtherEncoder);
        }
        if let Some(values) = &saved.networks {
            self.parameters.values_mut().copy_from_slice(values);
        }
        self.state = saved.state.into_owned();
        Ok(())
    }
}

/// Weights, last gradient, older gradients: the sources of a hyper-state.
fn sources<'a>(seen: &Seen<'a>, older: &'a [Vec<f32>], order: usize) -> impl Iterator<Item = &'a [f32]> {
    let last = (order > 0).then_some(seen.moment.gradients);
    [seen.moment.weights]
        .into_iter()
        .chain(last)
        .chain(older.iter().map(Vec::as_slice))
}
