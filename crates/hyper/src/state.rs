//! The hyper-state: weights and last gradients, each row projected to a few numbers (paper, section "Hyper-state").
//!
//! For every tensor W_m^n (n = 0 the weights, n = 1..N_order the last gradients) the feature is s_m^n = vec(W_m^n
//! C_m^n). Weights and gradients differ by orders of magnitude and drift while training goes on, so each feature is
//! standardised with running statistics and clipped to [`CLIP`] standard deviations: otherwise the few largest would
//! decide every distance between keys.

use epgt_nn::{Parameters, TensorId, TensorShape};
use epgt_rng::Pcg64;
use pulp::Arch;
use serde::{Deserialize, Serialize};

/// Standard deviations beyond which a feature is cut.
pub const CLIP: f32 = 5.0;

/// The projections C_m^n of all tensors.
///
/// ```
/// use epgt_hyper::Projection;
/// use epgt_nn::Parameters;
/// let mut policy = Parameters::new();
/// policy.add("layer.weight", 32, 2); // 32 rows
/// policy.add("layer.bias", 1, 32); // a bias is one row
/// let mut matrices = Parameters::new();
/// let projection = Projection::new(policy.shapes(), 2, 4, &mut matrices, &mut epgt_rng::Pcg64::from_seed(0));
/// assert_eq!(projection.features(), (32 + 1) * 4 * 3); // rows, times d, times (N_order + 1)
/// ```
#[derive(Clone, Debug)]
pub struct Projection {
    shapes: Vec<TensorShape>,
    order: usize,
    dim: usize,
    /// C_m^n, stored transposed as `[d, columns]`, by n then m.
    matrices: Vec<TensorId>,
    features: usize,
    parameters: usize,
}

impl Projection {
    /// Random projections for tensors of these shapes; their matrices are added to `matrices`.
    ///
    /// Entries are normal with variance 1 / columns, so that a feature has the scale of a weight.
    pub fn new(shapes: &[TensorShape], order: usize, dim: usize, matrices: &mut Parameters, rng: &mut Pcg64) -> Self {
        let mut ids = Vec::new();
        for n in 0..=order {
            for shape in shapes {
                let id = matrices.add(&format!("projection.{n}.{}", shape.name), dim, shape.cols);
                let scale = 1.0 / (shape.cols as f64).sqrt();
                for entry in matrices.value_mut(id) {
                    *entry = (rng.standard_normal() * scale) as f32;
                }
                ids.push(id);
            }
        }
        let rows: usize = shapes.iter().map(|shape| shape.rows).sum();
        Self {
            shapes: shapes.to_vec(),
            order,
            dim,
            matrices: ids,
            features: rows * dim * (order + 1),
            parameters: shapes.iter().map(|shape| shape.rows * shape.cols).sum(),
        }
    }

    /// Numbers in a hyper-state, d_s.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Numbers in the weights (and in each gradient) that it looks at.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// N_order.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The matrices C_m^n among the parameters that they were added to.
    pub fn matrices(&self) -> &[TensorId] {
        &self.matrices
    }

    /// Rows and columns of every tensor.
    pub fn tensors(&self) -> Vec<(usize, usize)> {
        self.shapes.iter().map(|shape| (shape.rows, shape.cols)).collect()
    }

    /// Writes the features of `sources`: the flat weights, then the flat gradients, latest first.
    pub fn project<'a>(&self, matrices: &Parameters, sources: impl Iterator<Item = &'a [f32]>, features: &mut [f32]) {
        let mut features = features.chunks_exact_mut(self.dim);
        let mut ids = self.matrices.iter();
        Arch::new().dispatch(|| {
            for source in sources {
                for (shape, &id) in self.shapes.iter().zip(&mut ids) {
                    let matrix = matrices.value(id);
                    let tensor = &source[shape.offset..][..shape.rows * shape.cols];
                    for (row, feature) in tensor.chunks_exact(shape.cols).zip(&mut features) {
                        let fours = feature.chunks_exact_mut(4).zip(matrix.chunks_exact(4 * shape.cols));
                        for (out, columns) in fours {
                            let column = |i| &columns[i * shape.cols..][..shape.cols];
                            out.copy_from_slice(&dots(row, [column(0), column(1), column(2), column(3)]));
                        }
                        let rest = self.dim / 4 * 4;
                        let columns = matrix[rest * shape.cols..].chunks_exact(shape.cols);
                        for (out, column) in feature[rest..].iter_mut().zip(columns) {
                            [*out] = dots(row, [column]);
                        }
                    }
                }
            }
        });
    }

    /// Writes the gradient of every C_m^n for a batch of hyper-states: the sum of W^T times the features' gradient.
    ///
    /// `snapshots` are flat sources one after another, `gradients` holds one row of features per snapshot.
    pub fn backward(&self, matrices: &mut Parameters, snapshots: &[&[f32]], gradients: &[f32]) {
        for (slot, &id) in self.matrices.iter().enumerate() {
            matrices.gradient_mut(id).fill(0.0);
            let (n, shape) = (slot / self.shapes.len(), &self.shapes[slot % self.shapes.len()]);
            let first = self.first_feature(slot);
            let into = matrices.gradient_mut(id);
            Arch::new().dispatch(|| {
                for (snapshot, gradient) in snapshots.iter().zip(gradients.chunks_exact(self.features)) {
                    let start = n * self.parameters + shape.offset;
                    let tensor = &snapshot[start..][..shape.rows * shape.cols];
                    let rows = gradient[first..].chunks_exact(self.dim);
                    for (row, gradient) in tensor.chunks_exact(shape.cols).zip(rows) {
                        for (into, &g) in into.chunks_exact_mut(shape.cols).zip(gradient) {
                            for (into, &w) in into.iter_mut().zip(row) {
                                *into += g * w;
                            }
                        }
                    }
                }
            });
        }
    }

    fn first_feature(&self, slot: usize) -> usize {
        let rows = |shapes: &[TensorShape]| shapes.iter().map(|shape| shape.rows).sum::<usize>();
        let (n, m) = (slot / self.shapes.len(), slot % self.shapes.len());
        (n * rows(&self.shapes) + rows(&self.shapes[..m])) * self.dim
    }
}

/// Dot products of a row with columns of its length, each in eight independent sums, so that it vectorises. Four take
/// half of the time that they take one by one: a sum waits for itself and not for the others.
#[inline(always)]
fn dots<const N: usize>(row: &[f32], columns: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0.0f32; 8]; N];
    let mut parts = columns.map(|column| column.chunks_exact(8));
    let of_row = row.chunks_exact(8);
    let tail = of_row.remainder();
    for row in of_row {
        for (sums, part) in sums.iter_mut().zip(&mut parts) {
            let Some(part) = part.next() else { break };
            for lane in 0..8 {
                sums[lane] += row[lane] * part[lane];
            }
        }
    }
    std::array::from_fn(|i| {
        let tail: f32 = tail.iter().zip(parts[i].remainder()).map(|(a, b)| a * b).sum();
        tail + sums[i].iter().sum::<f32>()
    })
}

/// Running mean and variance of every feature (Welford's recurrence).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardiser {
    count: f32,
    mean: Vec<f32>,
    /// Sum of squared deviations.
    spread: Vec<f32>,
}

impl Standardiser {
    /// No features seen.
    pub fn new(features: usize) -> Self {
        Self {
            count: 0.0,
            mean: vec![0.0; features],
            spread: vec![0.0; features],
        }
    }

    /// Numbers in a hyper-state.
    pub fn features(&self) -> usize {
        self.mean.len()
    }

    /// Learns from one hyper-state.
    pub fn learn(&mut self, features: &[f32]) {
        self.count += 1.0;
        let share = 1.0 / self.count;
        Arch::new().dispatch(|| {
            for ((&x, mean), spread) in features.iter().zip(&mut self.mean).zip(&mut self.spread) {
                let before = x - *mean;
                *mean += before * share;
                *spread += before * (x - *mean);
            }
        });
    }

    /// Standardises and clips in place.
    pub fn apply(&self, features: &mut [f32]) {
        let share = self.share();
        Arch::new().dispatch(|| {
            for ((x, mean), &spread) in features.iter_mut().zip(&self.mean).zip(&self.spread) {
                *x = ((*x - mean) * scale(spread, share)).clamp(-CLIP, CLIP);
            }
        });
    }

    /// Writes 1 / standard deviation of every feature, for a batch that needs them more than once.
    pub fn scales(&self, scales: &mut Vec<f32>) {
        let share = self.share();
        scales.resize(self.spread.len(), 0.0);
        Arch::new().dispatch(|| {
            for (out, &spread) in scales.iter_mut().zip(&self.spread) {
                *out = scale(spread, share);
            }
        });
    }

    /// [`apply`](Self::apply) with the [`scales`](Self::scales) at hand.
    pub fn apply_scaled(&self, scales: &[f32], features: &mut [f32]) {
        Arch::new().dispatch(|| {
            for ((x, mean), scale) in features.iter_mut().zip(&self.mean).zip(scales) {
                *x = ((*x - mean) * scale).clamp(-CLIP, CLIP);
            }
        });
    }

    /// Turns the gradient of standardised features into that of the raw ones; clipped features pass none.
    pub fn backward(scales: &[f32], standardised: &[f32], gradient: &mut [f32]) {
        Arch::new().dispatch(|| {
            for ((g, x), scale) in gradient.iter_mut().zip(standardised).zip(scales) {
                *g = if x.abs() < CLIP { *g * scale } else { 0.0 };
            }
        });
    }

    fn share(&self) -> f32 {
        1.0 / self.count.max(1.0)
    }
}

/// 1 / standard deviation from a sum of squared deviations.
#[inline(always)]
fn scale(spread: f32, share: f32) -> f32 {
    1.0 / ((spread * share).sqrt() + 1e-8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tensors() -> (Parameters, Parameters, Projection) {
        let mut policy = Parameters::new();
        policy.add("w", 3, 10);
        policy.add("b", 1, 3);
        let mut rng = Pcg64::from_seed(1);
        for value in policy.values_mut() {
            *value = rng.standard_normal() as f32;
        }
        let mut matrices = Parameters::new();
        let projection = Projection::new(policy.shapes(), 1, 2, &mut matrices, &mut rng);
        (policy, matrices, projection)
    }

    #[test]
    fn a_feature_is_the_row_times_the_projection() {
        let (policy, matrices, projection) = two_tensors();
        let gradients: Vec<f32> = policy.values().iter().map(|x| 2.0 * x).collect();
        let mut features = vec![0.0; projection.features()];
        projection.project(&matrices, [policy.values(), &gradients].into_iter(), &mut features);
        // Second row of w, second column of its C: features are laid out row by row.
        let row = &policy.values()[10..20];
        let column = &matrices.value(projection.matrices[0])[10..20];
        let expected: f32 = row.iter().zip(column).map(|(a, b)| a * b).sum();
        assert!((features[3] - expected).abs() < 1e-5);
        // The gradient's bias row comes last.
        let column = &matrices.value(projection.matrices[3])[0..3];
        let expected: f32 = gradients[30..].iter().zip(column).map(|(a, b)| a * b).sum();
        assert!((features[14] - expected).abs() < 1e-5);
    }

    #[test]
    fn columns_that_are_taken_together_give_the_same_bits_as_one_by_one() {
        let mut rng = Pcg64::from_seed(3);
        let (cols, dim) = (37, 6);
        let row: Vec<f32> = (0..cols).map(|_| rng.standard_normal() as f32).collect();
        let mut matrices = Parameters::new();
        let shapes = TensorShape::in_a_row([("w", 1, cols)]);
        let projection = Projection::new(&shapes, 0, dim, &mut matrices, &mut rng);
        let mut features = vec![0.0; dim];
        projection.project(&matrices, [row.as_slice()].into_iter(), &mut features);
        let columns = matrices.value(projection.matrices[0]).chunks_exact(cols);
        let expected: Vec<f32> = columns.map(|column| dots(&row, [column])[0]).collect();
        assert_eq!(features, expected);
    }

    #[test]
    fn the_projections_gradient_matches_finite_differences() {
        let (policy, mut matrices, projection) = two_tensors();
        let snapshot: Vec<f32> = policy.values().iter().chain(policy.values()).copied().collect();
        let weights: Vec<f32> = (0..projection.features()).map(|i| (i as f32).sin()).collect();
        let loss = |matrices: &Parameters| -> f32 {
            let mut features = vec![0.0; projection.features()];
            projection.project(matrices, snapshot.chunks_exact(33), &mut features);
            features.iter().zip(&weights).map(|(a, b)| a * b).sum()
        };
        projection.backward(&mut matrices, &[&snapshot], &weights);
        let gradients = matrices.gradients().to_vec();
        for (i, &gradient) in gradients.iter().enumerate() {
            let mut shifted = matrices.clone();
            shifted.values_mut()[i] += 0.5;
            let up = loss(&shifted);
            shifted.values_mut()[i] -= 1.0;
            let numeric = up - loss(&shifted);
            assert!((gradient - numeric).abs() < 1e-3, "{i}: {gradient} against {numeric}");
        }
    }

    #[test]
    fn standardised_features_have_mean_zero_and_unit_variance() {
        let mut rng = Pcg64::from_seed(2);
        let mut standard = Standardiser::new(1);
        let xs: Vec<f32> = (0..1000).map(|_| (1e-4 * rng.standard_normal() + 3.0) as f32).collect();
        xs.iter().for_each(|&x| standard.learn(&[x]));
        let scaled: Vec<f32> = xs
            .iter()
            .map(|&x| {
                let mut x = [x];
                standard.apply(&mut x);
                x[0]
            })
            .collect();
        let mean = scaled.iter().sum::<f32>() / 1000.0;
        let variance = scaled.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 1000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
