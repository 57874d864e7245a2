//! Orthogonal initialisation (Saxe et al., 2014), which keeps the length of signals through tanh layers.

use epgt_rng::Pcg64;

use crate::dot;

/// Fills `out [rows, cols]` with a random matrix whose rows (if there are no more rows than columns, else whose
/// columns) are orthonormal, times `gain`.
///
/// Gram-Schmidt on Gaussian vectors gives the Q of a QR decomposition whose R has a positive diagonal. So Q is uniform
/// over orthogonal matrices, which is the distribution of PyTorch's `orthogonal_`.
///
/// ```
/// let mut weight = [0.0; 6];
/// epgt_nn::orthogonal(2, 3, 2.0, &mut epgt_rng::Pcg64::from_seed(0), &mut weight);
/// assert!((epgt_nn::dot(&weight[..3], &weight[..3]) - 4.0).abs() < 1e-5);
/// assert!(epgt_nn::dot(&weight[..3], &weight[3..]).abs() < 1e-5);
/// ```
///
/// # Panics
/// If `out` does not hold `rows * cols` numbers.
pub fn orthogonal(rows: usize, cols: usize, gain: f32, rng: &mut Pcg64, out: &mut [f32]) {
    assert_eq!(out.len(), rows * cols, "out must be rows by columns");
    if rows <= cols {
        orthonormal_rows(cols, rng, out);
    } else {
        let mut transposed = vec![0.0; out.len()];
        orthonormal_rows(rows, rng, &mut transposed);
        for (i, row) in out.chunks_exact_mut(cols).enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x = transposed[j * rows + i];
            }
        }
    }
    for x in out {
        *x *= gain;
    }
}

/// Fills rows of length `n` (at most `n` of them) one after the other, each made orthogonal to those before it.
fn orthonormal_rows(n: usize, rng: &mut Pcg64, out: &mut [f32]) {
    for start in (0..out.len()).step_by(n.max(1)) {
        let (done, rest) = out.split_at_mut(start);
        let row = &mut rest[..n];
        loop {
            for x in row.iter_mut() {
                *x = rng.standard_normal() as f32;
            }
            normalise(row);
            // The second round removes what rounding left of the first ("twice is enough").
            for _ in 0..2 {
                for other in done.chunks_exact(n) {
                    let projection = dot(row, other);
                    row.iter_mut().zip(other).for_each(|(x, o)| *x -= projection * o);
                }
            }
            // A draw that lies in the span of the others, but for rounding, says nothing of direction: draw again.
            if dot(row, row) > 1e-6 {
                break;
            }
        }
        normalise(row);
    }
}

fn normalise(row: &mut [f32]) {
    let length = dot(row, row).sqrt();
    row.iter_mut().for_each(|x| *x /= length);
}
