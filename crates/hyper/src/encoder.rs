//! From hyper-state to memory key (paper, A.3).
//!
//! `vae`: the encoder phi is a tanh network d_s -> d_s/4 -> 2h whose halves are the mean and the log-variance of a latent
//! normal; the decoder omega is h -> d_s/4 -> d_s with a sigmoid output. Every few updates one Adam step lowers
//! |omega(z) - sigmoid(s)|^2 + KL on a batch of recent hyper-states, and its gradient also reaches the projections C. The
//! target is squashed because a sigmoid cannot reach a standardised feature, and detached as the paper says. The key is
//! the latent mean. `random`: the same encoder, never trained. `clock`: no network, the key is the training's progress.
//!
//! Keys of older encoders stay in the memory as they are (the paper ignores this); [`Encoder::drift`] measures by how much
//! the keys of recent hyper-states have moved since they were made.

use std::borrow::Cow;

use epgt_nn::{Activation, Adam, Mlp, Parameters, TensorShape};
use epgt_rng::Pcg64;
use serde::{Deserialize, Serialize};

use crate::TrainingContext;
use crate::settings::{EncoderKind, HyperSettings};
use crate::state::{Projection, Standardiser};

/// Makes memory keys from training contexts.
///
/// ```
/// use epgt_hyper::{Encoder, HyperSettings, TrainingContext};
/// use epgt_nn::Parameters;
/// let mut policy = Parameters::new();
/// policy.add("weight", 8, 4);
/// let mut encoder = Encoder::new(&HyperSettings::paper(), policy.shapes(), 0);
/// let context = TrainingContext { update: 0, progress: 0.0, parameters: &policy };
/// assert_eq!(encoder.key(&context).len(), 32);
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
}

/// Buffers of a training step.
#[derive(Clone, Debug, Default)]
struct Batch {
    features: Vec<f32>,
    targets: Vec<f32>,
    noise: Vec<f32>,
    latent: Vec<f32>,
    output_gradient: Vec<f32>,
    latent_gradient: Vec<f32>,
    feature_gradient: Vec<f32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct EncoderState {
    standard: Standardiser,
    /// Gradients n = 2..N_order, latest first.
    older: Vec<Vec<f32>>,
    adam: Option<Adam>,
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

/// An encoder's part of a checkpoint; the networks only where they are trained. It borrows while saving: a trained encoder is the
/// largest thing in memory.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedEncoder<'a> {
    state: Cow<'a, EncoderState>,
    networks: Option<Cow<'a, [f32]>>,
}

impl Encoder {
    /// An encoder for training contexts with tensors of these shapes.
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
        let adam = trained.then(|| Adam::new(parameters.len(), 0.9, 0.999, 1e-8));
        let key_dim = if kind == EncoderKind::Clock { 1 } else { h };
        Self {
            kind,
            features: vec![0.0; size],
            batch: Batch::default(),
            state: EncoderState {
                standard: Standardiser::new(size),
                older: vec![vec![0.0; projection.parameters()]; settings.order.saturating_sub(1)],
                adam,
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
        }
    }

    /// Numbers in a key: h, or 1 for the clock.
    pub fn key_dim(&self) -> usize {
        self.state.key.len()
    }

    /// The key of the current training context.
    pub fn key(&mut self, context: &TrainingContext<'_>) -> &[f32] {
        let Some(phi) = &mut self.phi else {
            self.state.key[0] = context.progress as f32;
            return &self.state.key;
        };
        let sources = sources(context, &self.state.older, self.projection.order());
        self.projection.project(&self.parameters, sources, &mut self.features);
        self.state.standard.learn(&self.features);
        self.state.standard.apply(&mut self.features);
        let latent = phi.forward(&self.parameters, &self.features, 1);
        self.state.key.copy_from_slice(&latent[..self.settings.key_dim]);
        &self.state.key
    }

    /// Keeps the hyper-state for training, with the key that [`key`](Self::key) has just made of it, if it has.
    pub fn remember(&mut self, context: &TrainingContext<'_>, keyed: bool) {
        if self.kind != EncoderKind::Vae {
            return;
        }
        let state = &mut self.state;
        if state.recent.len() < self.settings.encoder_buffer {
            state.recent.push(Snapshot {
                sources: Vec::with_capacity(self.projection.parameters() * (self.projection.order() + 1)),
                key: None,
            });
        }
        let snapshot = &mut state.recent[state.next_recent];
        snapshot.sources.clear();
        for source in sources(context, &state.older, self.projection.order()) {
            snapshot.sources.extend_from_slice(source);
        }
        snapshot.key = keyed.then(|| state.key.clone());
        state.next_recent = (state.next_recent + 1) % self.settings.encoder_buffer;
    }

    /// Ages the gradients: the context's last gradient becomes the one before. Call it once per update, at the end.
    pub fn age(&mut self, context: &TrainingContext<'_>) {
        if let Some(oldest) = self.state.older.pop() {
            self.state.older.insert(0, oldest);
            if self.phi.is_some() {
                self.state.older[0].copy_from_slice(context.parameters.gradients());
            }
        }
    }

    /// How many updates before a decision [`age`](Self::age) must have been called for its hyper-state to be whole.
    pub fn memory_of_gradients(&self) -> u64 {
        self.state.older.len() as u64
    }

    /// One gradient step of the VAE on a batch of remembered hyper-states; does nothing for the other kinds.
    pub fn train(&mut self) {
        if self.omega.is_none() || self.state.recent.is_empty() {
            return;
        }
        self.loss_and_gradients();
        if let Some(adam) = &mut self.state.adam {
            let (values, gradients) = self.parameters.split_mut();
            adam.step(values, gradients, self.settings.encoder_learning_rate);
        }
    }

    /// The loss on a fresh batch, |omega(z) - sigmoid(s)|^2 + KL as a mean over the batch, and its gradient.
    fn loss_and_gradients(&mut self) -> f32 {
        let state = &mut self.state;
        let (Some(phi), Some(omega)) = (&mut self.phi, &mut self.omega) else {
            return 0.0;
        };
        let (batch, h, size) = (self.settings.encoder_batch, self.settings.key_dim, self.features.len());
        let share = 1.0 / batch as f32;
        let chosen: Vec<&Snapshot> = (0..batch)
            .map(|_| &state.recent[state.rng.below(state.recent.len() as u64) as usize])
            .collect();

        let b = &mut self.batch;
        b.features.resize(batch * size, 0.0);
        for (snapshot, features) in chosen.iter().zip(b.features.chunks_exact_mut(size)) {
            let sources = snapshot.sources.chunks_exact(self.projection.parameters());
            self.projection.project(&self.parameters, sources, features);
            state.standard.apply(features);
        }
        b.targets.clone_from(&b.features);
        epgt_nn::kernel::sigmoid(&mut b.targets);

        let encoded = phi.forward(&self.parameters, &b.features, batch);
        b.noise.clear();
        b.noise
            .extend((0..batch * h).map(|_| state.rng.standard_normal() as f32));
        b.latent.clear();
        for (row, noise) in encoded.chunks_exact(2 * h).zip(b.noise.chunks_exact(h)) {
            let (mean, log_variance) = row.split_at(h);
            b.latent.extend(
                mean.iter()
                    .zip(log_variance)
                    .zip(noise)
                    .map(|((m, v), e)| m + (0.5 * v).exp() * e),
            );
        }
        state.drift = mean_distance(
            chosen
                .iter()
                .zip(encoded.chunks_exact(2 * h))
                .filter_map(|(snapshot, row)| snapshot.key.as_ref().map(|key| (key.as_slice(), &row[..h]))),
        );

        let decoded = omega.forward(&self.parameters, &b.latent, batch);
        b.output_gradient.clear();
        b.output_gradient
            .extend(decoded.iter().zip(&b.targets).map(|(x, t)| 2.0 * (x - t) * share));
        let error: f32 = decoded.iter().zip(&b.targets).map(|(x, t)| (x - t) * (x - t)).sum();
        state.reconstruction_loss = Some(error * share);

        let from_decoder = omega.backward_to_input(&mut self.parameters, &b.output_gradient);
        b.latent_gradient.clear();
        let mut divergence = 0.0;
        let rows = encoded_rows(phi.output(), h)
            .zip(from_decoder.chunks_exact(h))
            .zip(b.noise.chunks_exact(h));
        for (((mean, log_variance), gradient), noise) in rows {
            // KL = (mean^2 + exp(log-variance) - log-variance - 1) / 2, summed.
            divergence += mean
                .iter()
                .zip(log_variance)
                .map(|(m, v)| 0.5 * (m * m + v.exp() - v - 1.0))
                .sum::<f32>();
            b.latent_gradient
                .extend(gradient.iter().zip(mean).map(|(g, m)| g + m * share));
            b.latent_gradient.extend(
                gradient
                    .iter()
                    .zip(log_variance)
                    .zip(noise)
                    .map(|((g, v), e)| 0.5 * (g * e * (0.5 * v).exp() + (v.exp() - 1.0) * share)),
            );
        }
        b.feature_gradient.clear();
        let to_features = phi.backward_to_input(&mut self.parameters, &b.latent_gradient);
        b.feature_gradient.extend_from_slice(to_features);
        let rows = b
            .feature_gradient
            .chunks_exact_mut(size)
            .zip(b.features.chunks_exact(size));
        rows.for_each(|(gradient, features)| state.standard.backward(features, gradient));
        let sources: Vec<&[f32]> = chosen.iter().map(|snapshot| snapshot.sources.as_slice()).collect();
        self.projection
            .backward(&mut self.parameters, &sources, &b.feature_gradient);
        (error + divergence) * share
    }

    /// Squared reconstruction error of the last training batch, per hyper-state.
    pub fn reconstruction_loss(&self) -> Option<f32> {
        self.state.reconstruction_loss
    }

    /// Mean distance between the keys that recent hyper-states had when they were made and the keys they would get now.
    pub fn drift(&self) -> Option<f32> {
        self.state.drift
    }

    /// What a checkpoint must hold.
    pub fn save(&self) -> SavedEncoder<'_> {
        SavedEncoder {
            state: Cow::Borrowed(&self.state),
            networks: self.omega.is_some().then(|| Cow::Borrowed(self.parameters.values())),
        }
    }

    /// Continues from a checkpoint of an encoder with the same settings and shapes.
    pub fn restore(&mut self, saved: SavedEncoder<'_>) -> Result<(), String> {
        let networks = saved
            .networks
            .as_ref()
            .map_or(self.parameters.len(), |values| values.len());
        if saved.state.standard.features() != self.features.len() || networks != self.parameters.len() {
            return Err("the checkpoint's encoder was made for networks of another shape".to_string());
        }
        if let Some(values) = &saved.networks {
            self.parameters.values_mut().copy_from_slice(values);
        }
        self.state = saved.state.into_owned();
        Ok(())
    }
}

/// Weights, last gradient, older gradients: the sources of a hyper-state.
fn sources<'a>(context: &TrainingContext<'a>, older: &'a [Vec<f32>], order: usize) -> impl Iterator<Item = &'a [f32]> {
    let parameters = context.parameters;
    let last = (order > 0).then(|| parameters.gradients());
    [parameters.values()]
        .into_iter()
        .chain(last)
        .chain(older.iter().map(Vec::as_slice))
}

/// The (mean, log-variance) halves of every row.
fn encoded_rows(encoded: &[f32], h: usize) -> impl Iterator<Item = (&[f32], &[f32])> {
    encoded.chunks_exact(2 * h).map(move |row| row.split_at(h))
}

fn mean_distance<'a>(pairs: impl Iterator<Item = (&'a [f32], &'a [f32])>) -> Option<f32> {
    let (mut count, mut total) = (0.0, 0.0);
    for (a, b) in pairs {
        count += 1.0;
        total += a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
    }
    (count > 0.0).then(|| total / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks whose weights and gradients wander, watched by a VAE for a while.
    fn watched(updates: u64, settings: &HyperSettings) -> (Encoder, Parameters) {
        let mut rng = Pcg64::from_seed(5);
        let mut networks = Parameters::new();
        networks.add("weight", 6, 5);
        networks.add("bias", 1, 6);
        let mut encoder = Encoder::new(settings, networks.shapes(), 0);
        for update in 0..updates {
            networks
                .values_mut()
                .iter_mut()
                .for_each(|w| *w += 0.1 * rng.standard_normal() as f32);
            networks
                .gradients_mut()
                .iter_mut()
                .for_each(|g| *g = 1e-3 * rng.standard_normal() as f32);
            let context = TrainingContext {
                update,
                progress: 0.0,
                parameters: &networks,
            };
            encoder.key(&context);
            encoder.remember(&context, true);
            encoder.age(&context);
        }
        (encoder, networks)
    }

    #[test]
    fn the_vaes_gradient_matches_finite_differences_down_to_the_projections() {
        let settings = HyperSettings {
            key_dim: 3,
            state_dim: 2,
            encoder_batch: 4,
            ..HyperSettings::paper()
        };
        let (mut encoder, _) = watched(30, &settings);
        let rng = encoder.state.rng.clone();
        let mut targets_moved = 0;
        encoder.loss_and_gradients();
        let gradients = encoder.parameters.gradients().to_vec();
        let projections = encoder
            .parameters
            .shapes()
            .iter()
            .filter(|s| s.name.starts_with("projection"));
        let of_projections: usize = projections.map(|s| s.rows * s.cols).sum();
        let targets = encoder.batch.targets.clone();
        for i in (0..encoder.parameters.len()).step_by(7) {
            let mut loss_at = |shift: f32| {
                encoder.parameters.values_mut()[i] += shift;
                encoder.state.rng = rng.clone();
                let mut loss = encoder.loss_and_gradients();
                encoder.parameters.values_mut()[i] -= shift;
                // The target is detached: take out what its own movement added.
                let output = encoder.omega.as_ref().unwrap().output();
                for ((x, moved), fixed) in output.iter().zip(&encoder.batch.targets).zip(&targets) {
                    loss += ((x - fixed) * (x - fixed) - (x - moved) * (x - moved)) / 4.0;
                    targets_moved += usize::from(moved != fixed);
                }
                loss
            };
            let step = 0.01;
            let numeric = (loss_at(step) - loss_at(-step)) / (2.0 * step);
            let error = (numeric - gradients[i]).abs();
            assert!(
                error < 2e-3 + 0.02 * numeric.abs(),
                "{i}: {} against {numeric}",
                gradients[i]
            );
        }
        assert!(
            of_projections > 7 && targets_moved > 0,
            "the projections were among those checked"
        );
    }

    #[test]
    fn training_lowers_the_reconstruction_error_and_moves_the_keys() {
        let (mut encoder, _) = watched(60, &HyperSettings::paper());
        let mut mean_loss = |steps: usize| {
            let loss = |_| {
                encoder.train();
                encoder.reconstruction_loss().unwrap()
            };
            (0..steps).map(loss).sum::<f32>() / steps as f32
        };
        let first = mean_loss(10);
        mean_loss(500);
        let last = mean_loss(10);
        assert!(last < 0.85 * first, "{first} to {last}");
        assert!((0.01..2.0).contains(&encoder.drift().unwrap()));
    }

    #[test]
    fn the_random_encoder_stays_as_it_was_born() {
        let settings = HyperSettings {
            encoder: EncoderKind::Random,
            ..HyperSettings::paper()
        };
        let (mut encoder, networks) = watched(20, &settings);
        let before = encoder.parameters.values().to_vec();
        encoder.train();
        assert_eq!(encoder.parameters.values(), before);
        let context = TrainingContext {
            update: 20,
            progress: 0.5,
            parameters: &networks,
        };
        assert!(encoder.key(&context).iter().all(|x| x.abs() <= 1.0));
    }

    #[test]
    fn the_clock_knows_only_the_time() {
        let settings = HyperSettings {
            encoder: EncoderKind::Clock,
            ..HyperSettings::paper()
        };
        let (mut encoder, networks) = watched(5, &settings);
        let context = TrainingContext {
            update: 20,
            progress: 0.25,
            parameters: &networks,
        };
        assert_eq!(encoder.key(&context), [0.25]);
    }
}
