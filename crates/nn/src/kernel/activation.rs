//! Activations over whole slices, and their slopes written in terms of the activation's output.
//!
//! The plain loops below are vectorised by the compiler inside `dispatch`. Every path of the crate uses the same
//! scalar formula, so a value does not depend on how it was batched.

use pulp::Arch;

/// Beyond this, the f32 nearest to tanh is 1 up to 2.3e-7.
const TANH_LIMIT: f32 = 8.0;

/// tanh(x) = x P(x^2) / Q(x^2) on [-8, 8], clamped outside: a rational minimax fit of the relative error (6.4e-9 before
/// rounding). In f32 both the absolute and the relative error are below 3.5e-7, and |tanh| never exceeds 1. NaN stays
/// NaN.
#[inline(always)]
fn tanh_scalar(x: f32) -> f32 {
    let x = if x > TANH_LIMIT { TANH_LIMIT } else { x };
    let x = if x < -TANH_LIMIT { -TANH_LIMIT } else { x };
    let u = x * x;
    let p = 1.523_047e-8_f32;
    let p = p.mul_add(u, 2.189_469_9e-5);
    let p = p.mul_add(u, 3.571_600_3e-3);
    let p = p.mul_add(u, 1.344_45e-1);
    let p = p.mul_add(u, 1.0);
    let q = 8.522_468e-7_f32;
    let q = q.mul_add(u, 3.411_295_7e-4);
    let q = q.mul_add(u, 2.616_445_2e-2);
    let q = q.mul_add(u, 4.677_782_7e-1);
    let q = q.mul_add(u, 1.0);
    x * p / q
}

/// sigmoid(x) = (1 + tanh(x / 2)) / 2, with an absolute error below 2e-7.
#[inline(always)]
fn sigmoid_scalar(x: f32) -> f32 {
    tanh_scalar(0.5 * x).mul_add(0.5, 0.5)
}

/// [`tanh`] for callers that have dispatched already.
#[inline(always)]
pub(crate) fn tanh_rows(x: &mut [f32]) {
    for x in x {
        *x = tanh_scalar(*x);
    }
}

/// [`sigmoid`] for callers that have dispatched already.
#[inline(always)]
pub(crate) fn sigmoid_rows(x: &mut [f32]) {
    for x in x {
        *x = sigmoid_scalar(*x);
    }
}

/// max(x, 0) for callers that have dispatched already; NaN stays NaN.
#[inline(always)]
pub(crate) fn relu_rows(x: &mut [f32]) {
    for x in x {
        *x = if *x < 0.0 { 0.0 } else { *x };
    }
}

/// What [`Activation::LeakyRelu`](crate::Activation::LeakyRelu) lets through of a negative number.
const LEAK: f32 = 0.01;

/// x, or exp(x) - 1 where x is negative, for callers that have dispatched already; NaN stays NaN. With t = tanh(x / 2),
/// exp(x) - 1 = 2 t / (1 - t), which loses nothing near 0; its relative error is below 5e-7, and it is never below -1.
#[inline(always)]
pub(crate) fn elu_rows(x: &mut [f32]) {
    for x in x {
        let t = tanh_scalar(0.5 * *x);
        *x = if *x < 0.0 { 2.0 * t / (1.0 - t) } else { *x };
    }
}

/// x, or a hundredth of it where x is negative, for callers that have dispatched already; NaN stays NaN.
#[inline(always)]
pub(crate) fn leaky_relu_rows(x: &mut [f32]) {
    for x in x {
        *x = if *x < 0.0 { LEAK * *x } else { *x };
    }
}

/// Replaces each number by its hyperbolic tangent, with an absolute and relative error below 3.5e-7.
///
/// ```
/// let mut x = [0.5];
/// epgt_nn::kernel::tanh(&mut x);
/// assert!((x[0] - 0.5_f32.tanh()).abs() < 1e-6);
/// ```
pub fn tanh(x: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || tanh_rows(x),
    );
}

/// Replaces each number by 1 / (1 + exp(-x)), with an absolute error below 2e-7.
///
/// ```
/// let mut x = [0.0];
/// epgt_nn::kernel::sigmoid(&mut x);
/// assert_eq!(x, [0.5]);
/// ```
pub fn sigmoid(x: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || sigmoid_rows(x),
    );
}

/// `out = gradient * (1 - output^2)`: the chain rule through `output = tanh(..)`.
///
/// ```
/// let mut out = [0.0];
/// epgt_nn::kernel::scale_by_tanh_slope(&[0.5], &[2.0], &mut out);
/// assert_eq!(out, [1.5]);
/// ```
pub fn scale_by_tanh_slope(output: &[f32], gradient: &[f32], out: &mut [f32]) {
    scale(output, gradient, out, |y, g| g * (-y).mul_add(y, 1.0));
}

/// `out = gradient * output * (1 - output)`: the chain rule through `output = sigmoid(..)`.
///
/// ```
/// let mut out = [0.0];
/// epgt_nn::kernel::scale_by_sigmoid_slope(&[0.5], &[2.0], &mut out);
/// assert_eq!(out, [0.5]);
/// ```
pub fn scale_by_sigmoid_slope(output: &[f32], gradient: &[f32], out: &mut [f32]) {
    scale(output, gradient, out, |y, g| g * (y * (1.0 - y)));
}

/// `out = gradient` where `output > 0`, else 0: the chain rule through `output = max(.., 0)`.
///
/// ```
/// let mut out = [0.0; 2];
/// epgt_nn::kernel::scale_by_relu_slope(&[0.5, 0.0], &[2.0, 2.0], &mut out);
/// assert_eq!(out, [2.0, 0.0]);
/// ```
pub fn scale_by_relu_slope(output: &[f32], gradient: &[f32], out: &mut [f32]) {
    scale(output, gradient, out, |y, g| if y > 0.0 { g } else { 0.0 });
}

/// `out = gradient` where `output > 0`, else `gradient * (1 + output)`: the chain rule through the exponential linear
/// unit.
///
/// ```
/// let mut out = [0.0; 2];
/// epgt_nn::kernel::scale_by_elu_slope(&[0.5, -0.5], &[2.0, 2.0], &mut out);
/// assert_eq!(out, [2.0, 1.0]);
/// ```
pub fn scale_by_elu_slope(output: &[f32], gradient: &[f32], out: &mut [f32]) {
    scale(output, gradient, out, |y, g| if y > 0.0 { g } else { g * (1.0 + y) });
}

/// `out = gradient` where `output > 0`, else a hundredth of it: the chain rule through the leaky rectifier.
///
/// ```
/// let mut out = [0.0; 2];
/// epgt_nn::kernel::scale_by_leaky_relu_slope(&[0.5, -0.5], &[2.0, 2.0], &mut out);
/// assert_eq!(out, [2.0, 0.02]);
/// ```
pub fn scale_by_leaky_relu_slope(output: &[f32], gradient: &[f32], out: &mut [f32]) {
    scale(output, gradient, out, |y, g| if y > 0.0 { g } else { LEAK * g });
}

#[inline(always)]
fn scale(output: &[f32], gradient: &[f32], out: &mut [f32], slope: impl Fn(f32, f32) -> f32) {
    assert_eq!(output.len(), gradient.len(), "one gradient for each output");
    assert_eq!(output.len(), out.len(), "one result for each output");
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for ((&y, &g), out) in output.iter().zip(gradient).zip(out) {
                *out = slope(y, g);
            }
        },
    );
}
