//! Adam for wide layers: the second moment is kept by row and by column instead of by entry.
//!
//! Adam reads and writes two moments for every weight, takes a root and divides. For networks that are trained on a few
//! rows at a time that is most of the work. Here the mean of squared gradients of a tensor is the product of one vector
//! over its rows and one over its columns (Shazeer and Stern, 2018, "Adafactor"), so that a step size is a product too;
//! and the weights' gradients are never stored ([`descend`](crate::kernel::descend)). For a tensor of one row, such as
//! a bias, the product is exact and this is Adam.

use serde::{Deserialize, Serialize};

use crate::kernel::{self, Descent};
use crate::linear::grow;
use crate::{Activation, Parameters, TensorId, TensorShape};

/// Adam with a factored second moment. With r and c the running means of g^2 + epsilon^2 over a tensor's columns and
/// rows, freed of their bias by c2 = 1 - beta2^t: v_ij = r_i c_j / mean(r), and w = w - lr (m / c1) / sqrt(v / c2).
///
/// ```
/// use epgt_nn::{FactoredAdam, Parameters};
/// let mut params = Parameters::new();
/// let bias = params.add("bias", 1, 2);
/// let mut adam = FactoredAdam::new(params.shapes(), 0.9, 0.999, 1e-8);
/// params.gradient_mut(bias).copy_from_slice(&[0.5, -30.0]);
/// adam.begin_step(0.01);
/// adam.step_tensor(&mut params, bias);
/// assert!((params.value(bias)[0] + 0.01).abs() < 1e-6 && (params.value(bias)[1] - 0.01).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FactoredAdam {
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    steps: u64,
    step_size: f32,
    /// sqrt(c2).
    root_scale: f32,
    /// Running means of all gradients, at the places of the parameters.
    mean: Vec<f32>,
    tensors: Vec<Squares>,
    #[serde(skip)]
    scratch: Scratch,
}

/// The second moment of one tensor: running means of squared gradients.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Squares {
    offset: usize,
    rows: Vec<f32>,
    columns: Vec<f32>,
}

/// Buffers of a step.
#[derive(Clone, Debug, Default)]
struct Scratch {
    row_rates: Vec<f32>,
    column_rates: Vec<f32>,
    gram: Vec<f32>,
    product: Vec<f32>,
    zeros: Vec<f32>,
}

impl FactoredAdam {
    /// For tensors of these shapes.
    pub fn new(shapes: &[TensorShape], beta1: f32, beta2: f32, epsilon: f32) -> Self {
        let squares = |shape: &TensorShape| Squares {
            offset: shape.offset,
            rows: vec![0.0; shape.rows],
            columns: vec![0.0; shape.cols],
        };
        Self {
            beta1,
            beta2,
            epsilon,
            steps: 0,
            step_size: 0.0,
            root_scale: 0.0,
            mean: vec![0.0; shapes.iter().map(|shape| shape.rows * shape.cols).sum()],
            tensors: shapes.iter().map(squares).collect(),
            scratch: Scratch::default(),
        }
    }

    /// Begins a step, in which every tensor is then stepped once.
    pub fn begin_step(&mut self, learning_rate: f32) {
        self.steps += 1;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.steps as f64);
        self.step_size = (f64::from(learning_rate) / correction(self.beta1)) as f32;
        self.root_scale = correction(self.beta2).sqrt() as f32;
    }

    /// Steps a tensor against its stored gradient.
    ///
    /// # Panics
    /// If the tensor is not of the shapes that this was made for.
    pub fn step_tensor(&mut self, params: &mut Parameters, id: TensorId) {
        let squares = &self.tensors[id.index()];
        let (m, n) = (squares.rows.len(), squares.columns.len());
        let row_squares = grow(&mut self.scratch.row_rates, m);
        let column_squares = grow(&mut self.scratch.column_rates, n);
        column_squares.fill(0.0);
        for (row, sum) in params.gradient(id).chunks_exact(n).zip(row_squares) {
            *sum = row.iter().map(|g| g * g).sum();
            column_squares.iter_mut().zip(row).for_each(|(sum, g)| *sum += g * g);
        }
        self.rates(id);
        let (values, gradients) = params.split_mut();
        let range = self.tensors[id.index()].offset..;
        let values = values[range.clone()].chunks_exact_mut(n);
        let gradients = gradients[range.clone()].chunks_exact(n);
        let mean = self.mean[range].chunks_exact_mut(n);
        let (beta1, rest1) = (self.beta1, 1.0 - self.beta1);
        let columns = &self.scratch.column_rates[..n];
        for (((values, gradients), mean), rate) in values.zip(gradients).zip(mean).zip(&self.scratch.row_rates[..m]) {
            for (((w, g), m), column) in values.iter_mut().zip(gradients).zip(mean).zip(columns) {
                *m = beta1 * *m + rest1 * g;
                *w -= rate * column * *m;
            }
        }
    }

    /// Steps a layer's weight against the gradient delta^T input, which is not stored, and writes the gradient of the
    /// layer's inputs, delta weight, with the weight before the step.
    ///
    /// # Panics
    /// If the sizes do not fit each other.
    pub(crate) fn step_weight(
        &mut self,
        params: &mut Parameters,
        id: TensorId,
        delta: &[f32],
        input: &[f32],
        input_gradient: &mut [f32],
    ) {
        let squares = &self.tensors[id.index()];
        let (m, n) = (squares.rows.len(), squares.columns.len());
        let scratch = &mut self.scratch;
        let (gram, product, zeros) = (&mut scratch.gram, &mut scratch.product, &mut scratch.zeros);
        let mut sums = |a: &[f32], width, b: &[f32], sums: &mut [f32]| {
            let batch = a.len() / width;
            let gram = grow(gram, batch * batch);
            kernel::affine(a, a, grow(zeros, batch), Activation::Identity, gram);
            square_sums(gram, b, grow(product, b.len()), sums);
        };
        sums(input, n, delta, grow(&mut scratch.row_rates, m));
        sums(delta, m, input, grow(&mut scratch.column_rates, n));
        self.rates(id);
        let offset = self.tensors[id.index()].offset;
        kernel::descend(Descent {
            delta,
            input,
            input_gradient,
            weight: params.value_mut(id),
            mean: &mut self.mean[offset..][..m * n],
            row_rates: &self.scratch.row_rates[..m],
            column_rates: &self.scratch.column_rates[..n],
            beta1: self.beta1,
        });
    }

    /// Takes this step's sums of squares, which the scratch holds, into the second moment of a tensor, and puts the
    /// step sizes of its rows and columns in their place.
    fn rates(&mut self, id: TensorId) {
        let Squares { rows, columns, .. } = &mut self.tensors[id.index()];
        let row_rates = &mut self.scratch.row_rates[..rows.len()];
        let column_rates = &mut self.scratch.column_rates[..columns.len()];
        let (beta2, rest2, least) = (self.beta2, 1.0 - self.beta2, self.epsilon * self.epsilon);
        let learn = |squares: &mut [f32], sums: &[f32], terms: usize| {
            let share = 1.0 / terms as f32;
            for (square, sum) in squares.iter_mut().zip(sums) {
                *square = beta2 * *square + rest2 * (sum * share + least);
            }
        };
        learn(rows, row_rates, columns.len());
        learn(columns, column_rates, rows.len());
        let mean = rows.iter().sum::<f32>() / rows.len() as f32;
        let scale = self.step_size * self.root_scale * mean.sqrt();
        let rate = |scale: f32, rates: &mut [f32], squares: &[f32]| {
            for (rate, square) in rates.iter_mut().zip(squares) {
                *rate = scale / square.sqrt();
            }
        };
        rate(scale, row_rates, rows);
        rate(1.0, column_rates, columns);
    }

    /// The running means of all gradients, in the order of [`Parameters::values`]; after the first step they are the
    /// gradients times 1 - beta1.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }
}

/// `sums[j] = sum over i of (a^T b)[i, j]^2` without the product itself: it is b_j^T (a a^T) b_j, with `gram` = a a^T
/// of the batch.
///
/// Where the rows of the batch cancel, all that is left of it is rounding, and a sum that comes out too small, even
/// below 0, would make a step too large without limit. So it is taken to be at least what rounding can make of the
/// largest that it could be, the trace of `gram` times |b_j|^2.
fn square_sums(gram: &[f32], b: &[f32], product: &mut [f32], sums: &mut [f32]) {
    let (width, batch) = (sums.len(), b.len() / sums.len());
    kernel::combine(gram, (batch, 1), b, width, product);
    let trace: f32 = gram.iter().step_by(batch + 1).sum();
    let rounding = f32::EPSILON * trace;
    sums.fill(0.0);
    for (b, product) in b.chunks_exact(width).zip(product.chunks_exact(width)) {
        for ((sum, b), p) in sums.iter_mut().zip(b).zip(product) {
            *sum += b * p;
        }
    }
    let lengths = &mut product[..width];
    lengths.fill(0.0);
    for b in b.chunks_exact(width) {
        lengths.iter_mut().zip(b).for_each(|(length, b)| *length += b * b);
    }
    for (sum, length) in sums.iter_mut().zip(lengths) {
        *sum = sum.max(rounding * *length);
    }
}
