//! One layer's curvature: two Kronecker factors and what they are made from.

use serde::{Deserialize, Serialize};

use crate::TensorId;
use crate::eigen::Eigen;
use crate::kernel::{Matrix, gemm};
use crate::linear::grow;

/// A layer's weight and bias with their two Kronecker factors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub weight: TensorId,
    pub bias: TensorId,
    /// A, of inputs + 1 rows.
    pub input: Factor,
    /// G, of as many rows as outputs.
    pub output: Factor,
    /// Sum of the batches' weights: 1 + decay + decay^2 + ...
    pub mass: f32,
}

/// A running second moment and its last eigen-decomposition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Factor {
    moment: Vec<f32>,
    pub values: Vec<f32>,
    /// One eigenvector per row: Q^T.
    vectors: Vec<f32>,
}

impl Block {
    /// Takes one more batch into account; returns its share in the running means.
    pub fn begin(&mut self, decay: f32) -> f32 {
        self.mass = decay.mul_add(self.mass, 1.0);
        1.0 / self.mass
    }

    /// moments = keep * moments + new * those of some rows of a batch that has so many examples and rows.
    pub fn see(
        &mut self,
        (inputs, gradients): (&[f32], &[f32]),
        keep: f32,
        new: f32,
        (examples, count): (usize, usize),
        rows: &mut Vec<f32>,
    ) {
        let n = self.input.size();
        let rows = grow(rows, inputs.len() / (n - 1) * n);
        for (row, input) in rows.chunks_exact_mut(n).zip(inputs.chunks_exact(n - 1)) {
            row[..n - 1].copy_from_slice(input);
            row[n - 1] = 1.0;
        }
        self.input.follow(rows, keep, new / examples as f32);
        self.output.follow(gradients, keep, new / count as f32);
    }
}

impl Factor {
    pub fn new(size: usize) -> Self {
        Self {
            moment: vec![0.0; size * size],
            values: vec![0.0; size],
            vectors: vec![0.0; size * size],
        }
    }

    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// moment = keep moment + scale * rows^T rows.
    pub fn follow(&mut self, rows: &[f32], keep: f32, scale: f32) {
        let rows = Matrix::row_major(rows, rows.len() / self.size(), self.size());
        gemm(&mut self.moment, keep, scale, rows.transposed(), rows);
    }

    /// Its moment, eigenvalues and eigenvectors.
    pub fn parts_mut(&mut self) -> [&mut Vec<f32>; 3] {
        [&mut self.moment, &mut self.values, &mut self.vectors]
    }

    /// Second moments have no negative eigenvalues; what rounding makes negative is 0.
    pub fn decompose(&mut self, eigen: &mut Eigen) -> bool {
        let done = eigen.decompose(&self.moment, &mut self.values, &mut self.vectors);
        self.values.iter_mut().for_each(|value| *value = value.max(0.0));
        done
    }

    /// Q^T.
    pub fn basis(&self) -> Matrix<'_> {
        Matrix::row_major(&self.vectors, self.size(), self.size())
    }
}
