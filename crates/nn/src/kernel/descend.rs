//! A dense layer's way back and its optimiser's step in one pass over the weight.
//!
//! A wide layer does not fit in the caches, so its training is bound by memory traffic. At a batch of 8 the weight's
//! gradient is a product of rank 8, cheaper to make than to store: here a block of rows is read once, gives its share
//! of the input gradient, gets its own gradient in registers, and is written back updated.

use pulp::{Arch, Simd, WithSimd};

/// What a pass of [`descend`] reads and changes, for a weight `[m, n]` and a batch of rows.
pub struct Descent<'a> {
    /// Gradient of the pre-activations, `[batch, m]`.
    pub delta: &'a [f32],
    /// Inputs of the layer, `[batch, n]`.
    pub input: &'a [f32],
    /// Gradient of the inputs, `[batch, n]`, with the weight as it was before the step; overwritten.
    pub input_gradient: &'a mut [f32],
    /// The weight `[m, n]`.
    pub weight: &'a mut [f32],
    /// Running mean of its gradient, `[m, n]`.
    pub mean: &'a mut [f32],
    /// Step size of each row of the weight; the step of an entry is the product of its row's and its column's.
    pub row_rates: &'a [f32],
    /// Step size of each column of the weight.
    pub column_rates: &'a [f32],
    /// How much of the running mean is kept.
    pub beta1: f32,
}

/// For G = delta^T input: `mean = beta1 mean + (1 - beta1) G`, `weight[i, j] -= row_rates[i] column_rates[j] mean[i,
/// j]`, and `input_gradient` = delta weight with the weight before that.
///
/// ```
/// use epgt_nn::kernel::{Descent, descend};
///
/// let (mut weight, mut mean, mut input_gradient) = ([10.0, 20.0], [0.0, 0.0], [0.0, 0.0]);
/// descend(Descent {
///     delta: &[2.0],
///     input: &[3.0, 4.0],
///     input_gradient: &mut input_gradient,
///     weight: &mut weight,
///     mean: &mut mean,
///     row_rates: &[0.1],
///     column_rates: &[1.0, 2.0],
///     beta1: 0.5,
/// });
/// assert_eq!((input_gradient, mean), ([20.0, 40.0], [3.0, 4.0]));
/// assert_eq!(weight, [10.0 - 0.1 * 3.0, 20.0 - 0.2 * 4.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn descend(pass: Descent<'_>) {
    let (m, n) = (pass.row_rates.len(), pass.column_rates.len());
    assert!(m > 0 && n > 0, "a layer has inputs and outputs");
    let batch = pass.delta.len() / m;
    assert_eq!(pass.delta.len(), batch * m, "delta must be batch by outputs");
    assert_eq!(pass.input.len(), batch * n, "input must be batch by inputs");
    assert_eq!(pass.input_gradient.len(), batch * n, "one gradient for each input");
    assert_eq!(pass.weight.len(), m * n, "weight must be outputs by inputs");
    assert_eq!(pass.mean.len(), m * n, "one mean for each weight");
    Arch::new().dispatch(pass);
}

impl WithSimd for Descent<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.input_gradient.fill(0.0);
        let m = self.row_rates.len();
        let mut row = 0;
        while super::many_registers::<S>() && row + 8 <= m {
            self.rows::<S, 8>(simd, row);
            row += 8;
        }
        while row + 4 <= m {
            self.rows::<S, 4>(simd, row);
            row += 4;
        }
        while row < m {
            self.rows::<S, 1>(simd, row);
            row += 1;
        }
    }
}

impl Descent<'_> {
    /// Rows `first..first + R` of the weight, a vector of columns at a time.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, simd: S, first: usize) {
        let (n, lanes) = (self.column_rates.len(), S::F32_LANES);
        let mut column = 0;
        while column + lanes <= n {
            self.block::<S, R>(simd, first, column, lanes);
            column += lanes;
        }
        if column < n {
            self.block::<S, R>(simd, first, column, n - column);
        }
    }

    /// `R` rows of `width` columns, at most a vector: weights and their gradients stay in registers while the batch
    /// goes by.
    #[inline(always)]
    fn block<S: Simd, const R: usize>(&mut self, simd: S, first: usize, column: usize, width: usize) {
        let (m, n) = (self.row_rates.len(), self.column_rates.len());
        let zero = simd.splat_f32s(0.0);
        let (mut weights, mut gradients) = ([zero; R], [zero; R]);
        for (r, weights) in weights.iter_mut().enumerate() {
            *weights = load(simd, &self.weight[(first + r) * n + column..][..width]);
        }
        let inputs = self.input.chunks_exact(n).zip(self.input_gradient.chunks_exact_mut(n));
        for (delta, (x, dx)) in self.delta.chunks_exact(m).zip(inputs) {
            let delta = &delta[first..][..R];
            let dx = &mut dx[column..][..width];
            let x = load(simd, &x[column..][..width]);
            // Two sums, so that an addition need not wait for the one before.
            let mut sums = [load(simd, dx), zero];
            for r in 0..R {
                let d = simd.splat_f32s(delta[r]);
                gradients[r] = simd.mul_add_f32s(d, x, gradients[r]);
                sums[r % 2] = simd.mul_add_f32s(d, weights[r], sums[r % 2]);
            }
            store(simd, dx, simd.add_f32s(sums[0], sums[1]));
        }
        let (beta1, rest1) = (simd.splat_f32s(self.beta1), simd.splat_f32s(1.0 - self.beta1));
        let column_rates = load(simd, &self.column_rates[column..][..width]);
        for r in 0..R {
            let start = (first + r) * n + column;
            let mean = &mut self.mean[start..][..width];
            let new = simd.mul_add_f32s(beta1, load(simd, mean), simd.mul_f32s(rest1, gradients[r]));
            store(simd, mean, new);
            let rate = simd.mul_f32s(simd.splat_f32s(-self.row_rates[first + r]), column_rates);
            store(
                simd,
                &mut self.weight[start..][..width],
                simd.mul_add_f32s(rate, new, weights[r]),
            );
        }
    }
}

/// One vector, or part of one.
#[inline(always)]
fn load<S: Simd>(simd: S, part: &[f32]) -> S::f32s {
    match part.len() < S::F32_LANES {
        true => simd.partial_load_f32s(part),
        false => S::as_simd_f32s(part).0[0],
    }
}

#[inline(always)]
fn store<S: Simd>(simd: S, part: &mut [f32], vector: S::f32s) {
    match part.len() < S::F32_LANES {
        true => simd.partial_store_f32s(part, vector),
        false => S::as_mut_simd_f32s(part).0[0] = vector,
    }
}
