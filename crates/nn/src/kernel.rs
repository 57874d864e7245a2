//! The inner loops: everything that must be fast is here, the rest of the crate is bookkeeping.
//!
//! Each public function picks the machine's vector instructions at run time, once per call (through `pulp`), so one
//! program is fast on old and new processors. Layers are done by direct loops over row-major slices ([`affine`],
//! [`combine()`]), which beat a packing product at every batch that a layer of this project sees; products of other
//! shapes (Kronecker factors, random projections) have [`gemm()`], a safe door to the crate of that name.
//! All of it runs on one thread, and the same inputs give the same bits on every run of a machine.

mod activation;
mod combine;
mod dense;
mod descend;
mod matrix;
mod patches;
mod transpose;

pub(crate) use activation::{elu_rows, leaky_relu_rows, relu_rows, sigmoid_rows, tanh_rows};
pub use activation::{
    scale_by_elu_slope, scale_by_leaky_relu_slope, scale_by_relu_slope, scale_by_sigmoid_slope, scale_by_tanh_slope,
    sigmoid, tanh,
};
pub use combine::{add_combined, affine_transposed, column_sums, combine};
pub use dense::affine;
pub use descend::{Descent, descend};
pub use matrix::{Matrix, gemm};
pub use patches::{Pixel, Window, gather_patches, scatter_patches};
pub use transpose::transpose;

use pulp::{Arch, Simd, WithSimd};

/// Whether 16 sums and their operands fit in registers: AVX-512 has 32 of them, AVX2 has 16. With too few, the sums go
/// to memory and back at each step: 1640 -> 410 -> 64 at batch 8 then takes 325 us with AVX2, not 185.
#[inline(always)]
const fn many_registers<S: Simd>() -> bool {
    S::F32_LANES >= 16
}

/// The inner product of two slices of the same length.
///
/// ```
/// assert_eq!(epgt_nn::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    struct Dot<'a>(&'a [f32], &'a [f32]);
    impl WithSimd for Dot<'_> {
        type Output = f32;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f32 {
            let (a, a_tail) = S::as_simd_f32s(self.0);
            let (b, b_tail) = S::as_simd_f32s(self.1);
            let mut sums = [simd.splat_f32s(0.0); 4];
            let (a4, a_rest) = a.as_chunks::<4>();
            let (b4, b_rest) = b.as_chunks::<4>();
            for (a, b) in a4.iter().zip(b4) {
                for i in 0..4 {
                    sums[i] = simd.mul_add_f32s(a[i], b[i], sums[i]);
                }
            }
            for (&a, &b) in a_rest.iter().zip(b_rest) {
                sums[0] = simd.mul_add_f32s(a, b, sums[0]);
            }
            if !a_tail.is_empty() {
                let (a, b) = (simd.partial_load_f32s(a_tail), simd.partial_load_f32s(b_tail));
                sums[1] = simd.mul_add_f32s(a, b, sums[1]);
            }
            let (left, right) = (simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
            simd.reduce_sum_f32s(simd.add_f32s(left, right))
        }
    }
    assert_eq!(a.len(), b.len(), "dot needs slices of one length");
    Arch::new().dispatch(Dot(a, b))
}

/// Whether no number of the slice is NaN or infinite.
///
/// ```
/// assert!(!epgt_nn::kernel::all_finite(&[0.0, f32::NAN]));
/// ```
pub fn all_finite(data: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    Arch::new().dispatch(
        #[inline(always)]
        || {
            // No early exit inside a block: that is what lets the compiler vectorise it.
            data.chunks(4096).all(|block| {
                !block
                    .iter()
                    .fold(false, |bad, x| bad | (x.to_bits() & EXPONENT == EXPONENT))
            })
        },
    )
}
