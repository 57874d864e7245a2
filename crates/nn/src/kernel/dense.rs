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
pub fn affine(input: &[f32], weight: &[f32], bias: &[f32], activation: Activation, output: &mut [f32]) {
    check(input, weight, bias, output);
    Arch::new().dispatch(Affine {
        input,
        weight,
        bias,
        activation,
        output,
    });
}

/// The number of inputs, if all sizes fit each other.
pub(super) fn check(input: &[f32], weight: &[f32], bias: &[f32], output: &[f32]) -> usize {
    assert!(!bias.is_empty() && !weight.is_empty(), "a layer has inputs and outputs");
    let inputs = weight.len() / bias.len();
    assert_eq!(weight.len(), inputs * bias.len(), "weight must be outputs by inputs");
    assert_eq!(input.len() % inputs, 0, "input must be whole rows");
    assert_eq!(
        output.len(),
        input.len() / inputs * bias.len(),
        "output must be batch by outputs"
    );
    inputs
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
        let mut x2 = x4.remainder().chunks_exact(2 * inputs);
        let mut y2 = y4.into_remainder().chunks_exact_mut(2 * outputs);
        for (x, y) in (&mut x2).zip(&mut y2) {
            rows::<S, 2>(simd, x, weight, bias, y);
        }
        let x1 = x2.remainder().chunks_exact(inputs);
        for (x, y) in x1.zip(y2.into_remainder().chunks_exact_mut(outputs)) {
            rows::<S, 1>(simd, x, weight, bias, y);
        }
        activate(activation, output);
    }
}

/// Applies the activation in place, inside a dispatch.
#[inline(always)]
pub(super) fn activate(activation: Activation, x: &mut [f32]) {
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
    let mut xs = [x; B];
    for (b, row) in xs.iter_mut().enumerate() {
        *row = &x[b * inputs..][..inputs];
    }
    let blocks = weight.chunks_exact(4 * inputs);
    let rest = blocks.remainder();
    for (i, block) in blocks.enumerate() {
        let mut ws = [block; 4];
        for (r, row) in ws.iter_mut().enumerate() {
            *row = &block[r * inputs..][..inputs];
        }
        let sums = inner_products(simd, inputs, xs, ws);
        let bias = &bias[4 * i..][..4];
        for (b, sums) in sums.iter().enumerate() {
            let y = &mut y[b * outputs + 4 * i..][..4];
            for r in 0..4 {
                y[r] = sums[r] + bias[r];
            }
        }
    }
    for (w, o) in rest.chunks_exact(inputs).zip(outputs / 4 * 4..) {
        let sums = inner_products(simd, inputs, xs, [w]);
        for (b, sums) in sums.iter().enumerate() {
            y[b * outputs + o] = sums[0] + bias[o];
        }
    }
}

/// All `B * R` inner products of two groups of rows of one length. Each is summed in the same order whatever `B` and
/// `R` are.
///
/// Plain loops, no closures: a closure's body is not compiled for the vector instructions that `simd` stands for.
#[inline(always)]
fn inner_products<S: Simd, const B: usize, const R: usize>(
    simd: S,
    len: usize,
    x: [&[f32]; B],
    w: [&[f32]; R],
) -> [[f32; R]; B] {
    let mut totals = [[0.0_f32; R]; B];
    let zero = simd.splat_f32s(0.0);
    let whole = len / S::F32_LANES;
    let done = whole * S::F32_LANES;
    let scalar_tail = len - done <= SCALAR_TAIL;
    let mut sums = [[zero; R]; B];
    for i in 0..whole {
        let mut vectors = [zero; R];
        for r in 0..R {
            vectors[r] = S::as_simd_f32s(&w[r][..len]).0[i];
        }
        for b in 0..B {
            let x = S::as_simd_f32s(&x[b][..len]).0[i];
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x, vectors[r], sums[b][r]);
            }
        }
    }
    if !scalar_tail {
        let mut vectors = [zero; R];
        for r in 0..R {
            vectors[r] = simd.partial_load_f32s(&w[r][done..]);
        }
        for b in 0..B {
            let x = simd.partial_load_f32s(&x[b][done..]);
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x, vectors[r], sums[b][r]);
            }
        }
    }
    if len > SCALAR_TAIL {
        for b in 0..B {
            for r in 0..R {
                totals[b][r] = simd.reduce_sum_f32s(sums[b][r]);
            }
        }
    }
    if scalar_tail {
        for i in done..len {
            for b in 0..B {
                for r in 0..R {
                    totals[b][r] = x[b][i].mul_add(w[r][i], totals[b][r]);
                }
            }
        }
    }
    totals
}

/// Up to this many numbers after the last whole vector are added one by one: masked loads cost as much as three.
const SCALAR_TAIL: usize = 3;
