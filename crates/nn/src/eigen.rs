//! Eigen-decomposition of symmetric matrices: a small door to the crate `faer`, with memory that is reused.

use std::mem::MaybeUninit;

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par};

/// Decomposes symmetric matrices on one thread, in double precision. Its memory grows to the largest matrix seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eigen {
    matrix: Vec<f64>,
    values: Vec<f64>,
    vectors: Vec<f64>,
    workspace: Vec<MaybeUninit<u8>>,
}

impl Eigen {
    /// Writes the eigenvalues of `matrix`, in ascending order, and its orthonormal eigenvectors, one after the other
    /// (so as the rows of a row-major matrix). Says whether that was possible: it is not if a number of the matrix is
    /// not finite.
    ///
    /// # Panics
    /// If the slices are not of `n` values and `n` by `n` numbers, for n > 0.
    pub(crate) fn decompose(&mut self, matrix: &[f32], values: &mut [f32], vectors: &mut [f32]) -> bool {
        let n = values.len();
        assert!(
            n > 0 && matrix.len() == n * n && vectors.len() == n * n,
            "a square matrix"
        );
        if !crate::kernel::all_finite(matrix) {
            return false;
        }
        self.matrix.clear();
        self.matrix.extend(matrix.iter().map(|&x| f64::from(x)));
        self.values.resize(n, 0.0);
        self.vectors.resize(n * n, 0.0);
        let params = Default::default();
        let need = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, params);
        let need = need.unaligned_bytes_required();
        if self.workspace.len() < need {
            self.workspace.resize(need, MaybeUninit::uninit());
        }
        let done = self_adjoint_evd(
            MatRef::from_column_major_slice(&self.matrix, n, n),
            DiagMut::from_slice_mut(&mut self.values),
            Some(MatMut::from_column_major_slice_mut(&mut self.vectors, n, n)),
            Par::Seq,
            MemStack::new(&mut self.workspace),
            params,
        );
        for (out, &x) in values.iter_mut().zip(&self.values) {
            *out = x as f32;
        }
        for (out, &x) in vectors.iter_mut().zip(&self.vectors) {
            *out = x as f32;
        }
        done.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Matrix, gemm};
    use epgt_rng::Pcg64;

    #[test]
    fn a_matrix_is_the_sum_of_its_eigenvectors_squares_times_its_eigenvalues() {
        let mut eigen = Eigen::default();
        // Fewer rows than columns leave eigenvalues of 0; the sizes straddle the solver's change of algorithm.
        for (n, rows) in [(1, 4), (2, 1), (18, 7), (65, 80), (7, 3), (200, 150)] {
            let mut rng = Pcg64::from_seed(n as u64);
            let data: Vec<f32> = (0..rows * n).map(|_| rng.standard_normal() as f32).collect();
            let view = Matrix::row_major(&data, rows, n);
            let mut matrix = vec![0.0; n * n];
            gemm(&mut matrix, 0.0, 1.0 / rows as f32, view.transposed(), view);
            let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
            assert!(eigen.decompose(&matrix, &mut values, &mut vectors));

            let mut scaled = vectors.clone();
            for (row, value) in scaled.chunks_exact_mut(n).zip(&values) {
                row.iter_mut().for_each(|x| *x *= value);
            }
            let q = Matrix::row_major(&vectors, n, n);
            let (mut again, mut unit) = (vec![0.0; n * n], vec![0.0; n * n]);
            gemm(&mut again, 0.0, 1.0, q.transposed(), Matrix::row_major(&scaled, n, n));
            gemm(&mut unit, 0.0, 1.0, q, q.transposed());
            assert!(values.is_sorted());
            for i in 0..n * n {
                assert!(
                    (again[i] - matrix[i]).abs() < 2e-5,
                    "{n}: {} is not {}",
                    again[i],
                    matrix[i]
                );
                let expected = if i / n == i % n { 1.0 } else { 0.0 };
                assert!((unit[i] - expected).abs() < 1e-5, "{n}: eigenvectors are orthonormal");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_finite_has_no_decomposition() {
        let (mut values, mut vectors) = ([0.0; 2], [0.0; 4]);
        assert!(!Eigen::default().decompose(&[1.0, f32::NAN, f32::NAN, 1.0], &mut values, &mut vectors));
    }
}
