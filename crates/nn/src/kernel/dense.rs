//! Products of small row-major matrices without packing, for layers whose weights fit in the caches.
//!
//! Two shapes suffice for a dense layer. [`affine`] takes inner products of rows (forward); [`combine`] takes linear
//! combinations of rows (both gradients). Each keeps a block of results in registers.

use pulp::{Arch, Simd, WithSimd};

use super::{relu_rows, sigmoid_rows, tanh_rows};
use crate::Activation;

/// `output = activation(input weight^T + bias)` for `input [batch, n]`, `weight [m, n]`, `bias [m]`, `output [batch, m]`.
///
/// A row's result does not depend on the other rows of the batch.
///
/// ```
/// use epgt_nn::{Activation, kernel::affine};
///
/// let mut output = [0.0; 2];
/// affine(&[1.0, 2.0, 3.0, 4.0], &[10.0, 1.0], &[0.5], Activation::Identity, &mut output);
/// assert_eq!(output, [12.5, 34.5]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn affine(
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    activation: Activation,
    output: &mut [f32],
) {
    assert!(
        !bias.is_empty() && !weight.is_empty(),
        "a layer has inputs and outputs"
    );
    let inputs = weight.len() / bias.len();
    assert_eq!(
        weight.len(),
        inputs * bias.len(),
        "weight must be outputs by inputs"
    );
    assert_eq!(input.len() % inputs, 0, "input must be whole rows");
    assert_eq!(
        output.len(),
        input.len() / inputs * bias.len(),
        "output must be batch by outputs"
    );
    Arch::new().dispatch(Affine {
        input,
        weight,
        bias,
        activation,
        output,
    });
}

struct Affine<'a> {
    input: &'a [f32],
    weight: &'a [f32],
    bias: &'a [f32],
    activation: Activation,
    output: &'a mut [f32],
}

impl WithSimd for Affine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            input,
            weight,
            bias,
            activation,
            output,
        } = self;
        let outputs = bias.len();
        let inputs = weight.len() / outputs;
        let mut x4 = input.chunks_exact(4 * inputs);
        let mut y4 = output.chunks_exact_mut(4 * outputs);
        for (x, y) in (&mut x4).zip(&mut y4) {
            rows::<S, 4>(simd, x, weight, bias, y);
        }
        let x1 = x4.remainder().chunks_exact(inputs);
        for (x, y) in x1.zip(y4.into_remainder().chunks_exact_mut(outputs)) {
            rows::<S, 1>(simd, x, weight, bias, y);
        }
        activate(activation, output);
    }
}

/// Applies the activation in place, inside a dispatch.
#[inline(always)]
fn activate(activation: Activation, x: &mut [f32]) {
    match activation {
        Activation::Identity => {}
        Activation::Tanh => tanh_rows(x),
        Activation::Relu => relu_rows(x),
        Activation::Sigmoid => sigmoid_rows(x),
    }
}

/// `B` rows of the batch against all rows of the weight, four at a time.
#[inline(always)]
fn rows<S: Simd, const B: usize>(simd: S, x: &[f32], weight: &[f32], bias: &[f32], y: &mut [f32]) {
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    let x: [&[f32]; B] = std::array::from_fn(|b| &x[b * inputs..(b + 1) * inputs]);
    let whole = outputs / 4 * 4;
    for o in (0..whole).step_by(4) {
        let w: [&[f32]; 4] =
            std::array::from_fn(|r| &weight[(o + r) * inputs..(o + r + 1) * inputs]);
        let sums = inner_products(simd, x, w);
        for b in 0..B {
            for r in 0..4 {
                y[b * outputs + o + r] = sums[b][r] + bias[o + r];
            }
        }
    }
    for o in whole..outputs {
        let sums = inner_products(simd, x, [&weight[o * inputs..(o + 1) * inputs]]);
        for b in 0..B {
            y[b * outputs + o] = sums[b][0] + bias[o];
        }
    }
}

/// All `B * R` inner products of two groups of rows of one length. Each is summed in the same order whatever `B` and
/// `R` are.
#[inline(always)]
fn inner_products<S: Simd, const B: usize, const R: usize>(
    simd: S,
    x: [&[f32]; B],
    w: [&[f32]; R],
) -> [[f32; R]; B] {
    let x = x.map(|row| S::as_simd_f32s(row));
    let w = w.map(|row| S::as_simd_f32s(row));
    let mut sums = [[simd.splat_f32s(0.0); R]; B];
    for i in 0..x[0].0.len() {
        let w: [S::f32s; R] = std::array::from_fn(|r| w[r].0[i]);
        for b in 0..B {
            let x = x[b].0[i];
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x, w[r], sums[b][r]);
            }
        }
    }
    if !x[0].1.is_empty() {
        let w: [S::f32s; R] = std::array::from_fn(|r| simd.partial_load_f32s(w[r].1));
        for b in 0..B {
            let x = simd.partial_load_f32s(x[b].1);
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x, w[r], sums[b][r]);
            }
        }
    }
    sums.map(|row| row.map(|sum| simd.reduce_sum_f32s(sum)))
}

/// `out[i, ..] = sum over k of factors(i, k) * rows[k, ..]`, where `factors(i, k) = factors[i * strides.0 + k * strides.1]`.
///
/// `rows` is `[k, n]` and `out` is `[m, n]`, both row-major; `out` is overwritten. With `factors` the gradient of the
/// pre-activations `[batch, m]` this is the weight gradient (strides `(1, m)`, rows = inputs) and the input gradient
/// (strides `(m, 1)`, rows = weights).
///
/// ```
/// use epgt_nn::kernel::combine;
///
/// let mut out = [0.0; 2];
/// combine(&[2.0, 3.0], (2, 1), &[1.0, 10.0, 100.0, 1000.0], 2, &mut out);
/// assert_eq!(out, [302.0, 3020.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn combine(factors: &[f32], strides: (usize, usize), rows: &[f32], n: usize, out: &mut [f32]) {
    assert!(n > 0, "rows must not be empty");
    let (k, m) = (rows.len() / n, out.len() / n);
    assert_eq!(rows.len(), k * n, "rows must be whole");
    assert_eq!(out.len(), m * n, "out must be whole rows");
    if k == 0 || m == 0 {
        out.fill(0.0);
        return;
    }
    assert!(
        (m - 1) * strides.0 + (k - 1) * strides.1 < factors.len(),
        "the factors end outside of their slice"
    );
    Arch::new().dispatch(Combine {
        factors,
        strides,
        rows,
        n,
        out,
    });
}

struct Combine<'a> {
    factors: &'a [f32],
    strides: (usize, usize),
    rows: &'a [f32],
    n: usize,
    out: &'a mut [f32],
}

impl WithSimd for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (n, lanes) = (self.n, S::F32_LANES);
        let mut column = 0;
        while column + 4 * lanes <= n {
            self.panel::<S, 4>(simd, column, 4 * lanes);
            column += 4 * lanes;
        }
        if column + 2 * lanes <= n {
            self.panel::<S, 2>(simd, column, 2 * lanes);
            column += 2 * lanes;
        }
        if column + lanes <= n {
            self.panel::<S, 1>(simd, column, lanes);
            column += lanes;
        }
        if column < n {
            self.panel::<S, 1>(simd, column, n - column);
        }
    }
}

impl Combine<'_> {
    /// All rows of the columns `column..column + width`, which are `V` vectors (or part of one, if `V` is 1).
    #[inline(always)]
    fn panel<S: Simd, const V: usize>(&mut self, simd: S, column: usize, width: usize) {
        let m = self.out.len() / self.n;
        let whole = m / 4 * 4;
        for i in (0..whole).step_by(4) {
            self.block::<S, 4, V>(simd, i, column, width);
        }
        for i in whole..m {
            self.block::<S, 1, V>(simd, i, column, width);
        }
    }

    /// Rows `i..i + R` of a panel, summed in registers.
    #[inline(always)]
    fn block<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        i: usize,
        column: usize,
        width: usize,
    ) {
        let (n, partial) = (self.n, width < S::F32_LANES);
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (k, row) in self.rows.chunks_exact(n).enumerate() {
            let part = &row[column..column + width];
            let row: [S::f32s; V] = if partial {
                [simd.partial_load_f32s(part); V]
            } else {
                let vectors = S::as_simd_f32s(part).0;
                std::array::from_fn(|v| vectors[v])
            };
            for (r, sums) in sums.iter_mut().enumerate() {
                let factor = self.factors[(i + r) * self.strides.0 + k * self.strides.1];
                let factor = simd.splat_f32s(factor);
                for (sum, &x) in sums.iter_mut().zip(&row) {
                    *sum = simd.mul_add_f32s(factor, x, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let start = (i + r) * n + column;
            let out = &mut self.out[start..start + width];
            if partial {
                simd.partial_store_f32s(out, sums[0]);
            } else {
                S::as_mut_simd_f32s(out).0.copy_from_slice(sums);
            }
        }
    }
}

/// `out[j] = sum over the rows of x[.., j]`: the gradient of a bias.
///
/// ```
/// let mut out = [0.0; 2];
/// epgt_nn::kernel::column_sums(&[1.0, 2.0, 3.0, 4.0], &mut out);
/// assert_eq!(out, [4.0, 6.0]);
/// ```
///
/// # Panics
/// If `x` is not whole rows of `out`'s length.
pub fn column_sums(x: &[f32], out: &mut [f32]) {
    assert!(
        !out.is_empty() && x.len().is_multiple_of(out.len()),
        "x must be whole rows"
    );
    Arch::new().dispatch(
        #[inline(always)]
        || {
            out.fill(0.0);
            for row in x.chunks_exact(out.len()) {
                for (sum, x) in out.iter_mut().zip(row) {
                    *sum += x;
                }
            }
        },
    );
}
