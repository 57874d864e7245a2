//! Linear combinations of the rows of a matrix, which are both gradients of a dense layer and, with the weight
//! transposed, its forward pass: no inner products, so nothing to sum across a vector.

use pulp::{Arch, Simd, WithSimd};

use super::dense::{activate, check};
use crate::Activation;

/// `out[i, ..] = sum over k of factors(i, k) * rows[k, ..]`, where `factors(i, k) = factors[i * strides.0 + k *
/// strides.1]`.
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
    start_from(Start::Zeros, factors, strides, rows, n, out);
}

/// [`combine()`] that adds to what `out` holds: the weight gradient of rows that come block by block.
///
/// ```
/// use epgt_nn::kernel::add_combined;
///
/// let mut out = [1.0; 2];
/// add_combined(&[2.0, 3.0], (2, 1), &[1.0, 10.0, 100.0, 1000.0], 2, &mut out);
/// assert_eq!(out, [303.0, 3021.0]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn add_combined(factors: &[f32], strides: (usize, usize), rows: &[f32], n: usize, out: &mut [f32]) {
    start_from(Start::Out, factors, strides, rows, n, out);
}

fn start_from(start: Start<'_>, factors: &[f32], strides: (usize, usize), rows: &[f32], n: usize, out: &mut [f32]) {
    assert!(n > 0, "rows must not be empty");
    let (k, m) = (rows.len() / n, out.len() / n);
    assert_eq!(rows.len(), k * n, "rows must be whole");
    assert_eq!(out.len(), m * n, "out must be whole rows");
    if k == 0 || m == 0 {
        if let Start::Zeros = start {
            out.fill(0.0);
        }
        return;
    }
    assert!(
        (m - 1) * strides.0 + (k - 1) * strides.1 < factors.len(),
        "the factors end outside of their slice"
    );
    Arch::new().dispatch(Combine {
        start,
        factors,
        strides,
        rows,
        n,
        out,
    });
}

/// [`affine`](super::affine) with the weight given column by column (`transposed [n, m]`), for batches that pay for
/// [`transpose()`](super::transpose()).
///
/// ```
/// use epgt_nn::{Activation, kernel::affine_transposed};
///
/// let mut output = [0.0; 2];
/// affine_transposed(&[1.0, 2.0, 3.0, 4.0], &[10.0, 1.0], &[0.5], Activation::Identity, &mut output);
/// assert_eq!(output, [12.5, 34.5]);
/// ```
///
/// # Panics
/// If the sizes do not fit each other.
pub fn affine_transposed(input: &[f32], transposed: &[f32], bias: &[f32], activation: Activation, output: &mut [f32]) {
    let inputs = check(input, transposed, bias, output);
    let combine = Combine {
        start: Start::Row(bias),
        factors: input,
        strides: (inputs, 1),
        rows: transposed,
        n: bias.len(),
        out: output,
    };
    Arch::new().dispatch(CombineAndActivate(combine, activation));
}

struct CombineAndActivate<'a>(Combine<'a>, Activation);

impl WithSimd for CombineAndActivate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.0.all(simd);
        activate(self.1, self.0.out);
    }
}

/// What a row of `out` starts from.
#[derive(Clone, Copy)]
enum Start<'a> {
    Zeros,
    Row(&'a [f32]),
    /// What it holds.
    Out,
}

struct Combine<'a> {
    start: Start<'a>,
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
        self.all(simd);
    }
}

impl Combine<'_> {
    #[inline(always)]
    fn all<S: Simd>(&mut self, simd: S) {
        let (n, lanes) = (self.n, S::F32_LANES);
        let mut column = 0;
        while super::many_registers::<S>() && column + 4 * lanes <= n {
            self.panel::<S, 4>(simd, column, 4 * lanes);
            column += 4 * lanes;
        }
        while column + 2 * lanes <= n {
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
    fn block<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, i: usize, column: usize, width: usize) {
        let (n, partial) = (self.n, width < S::F32_LANES);
        let mut first = [simd.splat_f32s(0.0); V];
        if let Start::Row(start) = self.start {
            load(simd, &start[column..column + width], &mut first);
        }
        let mut sums = [first; R];
        if let Start::Out = self.start {
            for (r, sums) in sums.iter_mut().enumerate() {
                load(simd, &self.out[(i + r) * n + column..][..width], sums);
            }
        }
        for (k, row) in self.rows.chunks_exact(n).enumerate() {
            let mut vectors = [simd.splat_f32s(0.0); V];
            load(simd, &row[column..column + width], &mut vectors);
            for (r, sums) in sums.iter_mut().enumerate() {
                let factor = self.factors[(i + r) * self.strides.0 + k * self.strides.1];
                let factor = simd.splat_f32s(factor);
                for (sum, &x) in sums.iter_mut().zip(&vectors) {
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

/// Loads whole vectors, or one that `part` does not fill.
#[inline(always)]
fn load<S: Simd, const V: usize>(simd: S, part: &[f32], vectors: &mut [S::f32s; V]) {
    if part.len() < S::F32_LANES {
        vectors[0] = simd.partial_load_f32s(part);
    } else {
        vectors.copy_from_slice(S::as_simd_f32s(part).0);
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
