//! The VAE's training: one Adam step on |omega(z) - sigmoid(s)|^2 + KL (paper, A.3).

use super::{Encoder, Snapshot};
use crate::costs::Watch;
use crate::state::Standardiser;

/// Buffers of a training step.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    features: Vec<f32>,
    targets: Vec<f32>,
    /// 1 / standard deviation of every feature.
    scales: Vec<f32>,
    noise: Vec<f32>,
    latent: Vec<f32>,
    output_gradient: Vec<f32>,
    latent_gradient: Vec<f32>,
    feature_gradient: Vec<f32>,
}

impl Encoder {
    /// One gradient step of the VAE on a batch of remembered hyper-states; does nothing for the other kinds.
    pub fn train(&mut self) {
        if self.omega.is_none() || self.state.recent.is_empty() {
            return;
        }
        let mut watch = Watch::start();
        self.descend();
        if let Some(loss) = self.state.reconstruction_loss {
            self.state.pace.learn(loss, &self.settings);
        }
        watch.lap(&mut self.costs.training);
    }

    /// The loss on a fresh batch, |omega(z) - sigmoid(s)|^2 + KL as a mean over the batch, and a step against its
    /// gradient.
    fn descend(&mut self) -> f32 {
        let state = &mut self.state;
        let (Some(phi), Some(omega), Some(adam)) = (&mut self.phi, &mut self.omega, &mut state.adam) else {
            return 0.0;
        };
        adam.begin_step(self.settings.encoder_learning_rate);
        let (batch, h, size) = (self.settings.encoder_batch, self.settings.key_dim, self.features.len());
        let share = 1.0 / batch as f32;
        let chosen: Vec<&Snapshot> = (0..batch)
            .map(|_| &state.recent[state.rng.below(state.recent.len() as u64) as usize])
            .collect();

        let b = &mut self.batch;
        b.features.resize(batch * size, 0.0);
        state.standard.scales(&mut b.scales);
        for (snapshot, features) in chosen.iter().zip(b.features.chunks_exact_mut(size)) {
            let sources = snapshot.sources.chunks_exact(self.projection.parameters());
            self.projection.project(&self.parameters, sources, features);
            state.standard.apply_scaled(&b.scales, features);
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

        let from_decoder = omega.descend(&mut self.parameters, &b.output_gradient, adam);
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
        let to_features = phi.descend(&mut self.parameters, &b.latent_gradient, adam);
        b.feature_gradient.extend_from_slice(to_features);
        let rows = b
            .feature_gradient
            .chunks_exact_mut(size)
            .zip(b.features.chunks_exact(size));
        rows.for_each(|(gradient, features)| Standardiser::backward(&b.scales, features, gradient));
        let sources: Vec<&[f32]> = chosen.iter().map(|snapshot| snapshot.sources.as_slice()).collect();
        self.projection
            .backward(&mut self.parameters, &sources, &b.feature_gradient);
        for &matrix in self.projection.matrices() {
            adam.step_tensor(&mut self.parameters, matrix);
        }
        (error + divergence) * share
    }
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
    use crate::moment::Moment;
    use crate::settings::{EncoderKind, HyperSettings};
    use epgt_nn::Parameters;
    use epgt_rng::Pcg64;

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
            let seen = Moment {
                update,
                progress: 0.0,
                weights: networks.values(),
                gradients: networks.gradients(),
            }
            .into();
            encoder.key(&seen);
            encoder.remember(&seen, true);
            encoder.age(&seen);
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
        let mut targets_moved = 0;
        let before = encoder.clone();
        encoder.descend();
        let mean = encoder.state.adam.as_ref().unwrap().mean();
        let gradients: Vec<f32> = mean.iter().map(|mean| mean / (1.0 - 0.9)).collect();
        let projections = encoder
            .parameters
            .shapes()
            .iter()
            .filter(|s| s.name.starts_with("projection"));
        let of_projections: usize = projections.map(|s| s.rows * s.cols).sum();
        let targets = encoder.batch.targets.clone();
        for i in (0..encoder.parameters.len()).step_by(7) {
            let mut loss_at = |shift: f32| {
                let mut encoder = before.clone();
                encoder.parameters.values_mut()[i] += shift;
                let mut loss = encoder.descend();
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
        let seen = Moment {
            update: 20,
            progress: 0.5,
            weights: networks.values(),
            gradients: networks.gradients(),
        }
        .into();
        assert!(encoder.key(&seen).iter().all(|x| x.abs() <= 1.0));
    }

    #[test]
    fn the_clock_knows_only_the_time() {
        let settings = HyperSettings {
            encoder: EncoderKind::Clock,
            ..HyperSettings::paper()
        };
        let (mut encoder, networks) = watched(5, &settings);
        let seen = Moment {
            update: 20,
            progress: 0.25,
            weights: networks.values(),
            gradients: networks.gradients(),
        }
        .into();
        assert_eq!(encoder.key(&seen), [0.25]);
    }
}
