//! Products of small row-major matrices without packing, for layers whose weights fit in the caches.
//!
//! Two shapes suffice for a dense layer. [`affine`] takes inner products of rows (forward); [`combine`] takes linear
//! combinations of rows (both gradients). Each keeps a block of results in registers.

use pulp::{Arch, Simd, WithSimd};

use super::{elu_rows, leaky_relu_rows, relu_rows, sigmoid_rows, tanh_rows};
use crate::Activation;

/// `output = activation(input weight^T + bias)` for `input [batch, n]`, `weight [m, n]`, `bias [m]`, `output [batch,
/// m]`.
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
    let inputs = check(input, weight, bias, output);
    Arch::new().dispatch(Affine {
        inputs,
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
    let batch = output.len() / bias.len();
    assert_eq!(output.len(), batch * bias.len(), "output must be batch by outputs");
    assert_eq!(input.len(), batch * inputs, "input must be batch by inputs");
    inputs
}

/// Weights in a block, which take 64 KiB: the batch's inputs lie beside it in the second-level cache.
const NEAR: usize = 16 * 1024;

struct Affine<'a> {
    inputs: usize,
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
            inputs,
            input,
            weight,
            bias,
            activation,
            output,
        } = self;
        // A block of the weight stays near while the whole batch goes by; one that does not fit there is fetched only
        // once.
        let (block, outputs) = ((NEAR / inputs).max(4) / 4 * 4, bias.len());
        let blocks = weight.chunks(block * inputs).zip(bias.chunks(block));
        for ((weight, bias), first) in blocks.zip((0..outputs).step_by(block)) {
            let (mut input, mut rest) = (input, &mut *output);
            while !rest.is_empty() {
                let y = &mut rest[first..];
                let rows = match input.len() / inputs {
                    4.. if super::many_registers::<S>() => rows::<S, 4>(simd, inputs, input, weight, bias, y, outputs),
                    2.. => rows::<S, 2>(simd, inputs, input, weight, bias, y, outputs),
                    _ => rows::<S, 1>(simd, inputs, input, weight, bias, y, outputs),
                };
                input = &input[rows * inputs..];
                rest = &mut rest[rows * outputs..];
            }
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
        Activation::Elu => elu_rows(x),
        Activation::LeakyRelu => leaky_relu_rows(x),
        Activation::Sigmoid => sigmoid_rows(x),
    }
}

/// The first `B` rows of the batch against all rows of the weight, four at a time. Rows of `y` begin `stride` apart.
/// Returns `B`.
#[inline(always)]
fn rows<S: Simd, const B: usize>(
    simd: S,
    inputs: usize,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    y: &mut [f32],
    stride: usize,
) -> usize {
    let outputs = bias.len();
    let mut group = [Row {
        whole: x,
        tail: simd.splat_f32s(0.0),
    }; B];
    for (b, row) in group.iter_mut().enumerate() {
        *row = Row::new(simd, &x[b * inputs..][..inputs]);
    }
    let blocks = weight.chunks_exact(4 * inputs);
    let rest = blocks.remainder();
    let whole = outputs - rest.len() / inputs;
    for (block, o) in blocks.zip((0..whole).step_by(4)) {
        let mut ws = [block; 4];
        for (r, row) in ws.iter_mut().enumerate() {
            *row = &block[r * inputs..][..inputs];
        }
        let sums = inner_products(simd, inputs, group, ws);
        let bias = &bias[o..][..4];
        for (b, sums) in sums.iter().enumerate() {
            let y = &mut y[b * stride + o..][..4];
            for r in 0..4 {
                y[r] = sums[r] + bias[r];
            }
        }
    }
    for (w, o) in rest.chunks_exact(inputs).zip(whole..outputs) {
        let sums = inner_products(simd, inputs, group, [w]);
        for (b, sums) in sums.iter().enumerate() {
            y[b * stride + o] = sums[0] + bias[o];
        }
    }
    B
}

/// A row of inputs, with what is left after its whole vectors made ready.
///
/// A masked load costs as much as several plain ones, so a weight's tail is loaded as its last whole vector, which
/// overlaps with the one before; in `tail`, the numbers that have been counted already are zeros. Only rows shorter
/// than a vector need the mask.
#[derive(Clone, Copy)]
struct Row<'a, S: Simd> {
    whole: &'a [f32],
    tail: S::f32s,
}

impl<'a, S: Simd> Row<'a, S> {
    #[inline(always)]
    fn new(simd: S, row: &'a [f32]) -> Self {
        let lanes = S::F32_LANES;
        let left = row.len() % lanes;
        let (whole, rest) = row.split_at(row.len() - left);
        let tail = if rest.is_empty() {
            simd.splat_f32s(0.0)
        } else if whole.is_empty() {
            simd.partial_load_f32s(rest)
        } else {
            let mut padded = [0.0_f32; 16];
            for (padded, x) in padded[lanes - left..lanes].iter_mut().zip(rest) {
                *padded = *x;
            }
            S::as_simd_f32s(&padded[..lanes]).0[0]
        };
        Self { whole, tail }
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
    x: [Row<'_, S>; B],
    w: [&[f32]; R],
) -> [[f32; R]; B] {
    let zero = simd.splat_f32s(0.0);
    let (whole, left) = (len / S::F32_LANES, len % S::F32_LANES);
    let mut sums = [[zero; R]; B];
    let mut vectors = [zero; R];
    for i in 0..whole {
        for r in 0..R {
            vectors[r] = S::as_simd_f32s(&w[r][..len]).0[i];
        }
        for b in 0..B {
            let x = S::as_simd_f32s(&x[b].whole[..len - left]).0[i];
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x, vectors[r], sums[b][r]);
            }
        }
    }
    if left > 0 {
        for r in 0..R {
            vectors[r] = if whole > 0 {
                S::as_simd_f32s(&w[r][len - S::F32_LANES..]).0[0]
            } else {
                simd.partial_load_f32s(w[r])
            };
        }
        for b in 0..B {
            for r in 0..R {
                sums[b][r] = simd.mul_add_f32s(x[b].tail, vectors[r], sums[b][r]);
            }
        }
    }
    let mut totals = [[0.0_f32; R]; B];
    for b in 0..B {
        for r in 0..R {
            totals[b][r] = simd.reduce_sum_f32s(sums[b][r]);
        }
    }
    totals
}
