//! Tables of the ziggurat that turns 64 random bits into a standard normal number.
//!
//! The half bell f(x) = exp(-x^2/2) is covered by 256 layers of equal area V; R is where the lowest one begins
//! its tail. Layer i ends at x_i, with x_255 = R and f(x_i) = V / x_(i+1) + f(x_(i+1)) upwards from there
//! (Marsaglia and Tsang, *The Ziggurat Method for Generating Random Variables*, 2000). A 52-bit integer times
//! `width[i]` is a point of layer i; below `inside[i]` it is under the bell for certain, and that is the case
//! in 99 of 100 draws.

use std::sync::LazyLock;

/// Where the tail begins.
pub(crate) const R: f64 = 3.654_152_885_361_009;
/// 1 / R, as NumPy writes it.
pub(crate) const INVERSE_R: f64 = 0.273_661_237_329_758_3;
/// The area of a layer. The exact one is 3 units in the last place higher; NumPy's tables are made from this.
const V: f64 = 0.004_928_673_233_974_652;
const TWO_52: f64 = (1u64 << 52) as f64;

/// The tables, index = layer; layer 0 is the lowest, with the tail.
pub(crate) struct Tables {
    /// Integers below this are under the bell.
    pub(crate) inside: [u64; 256],
    /// Width of the layer divided by 2^52.
    pub(crate) width: [f64; 256],
    /// f at the layer's end.
    pub(crate) height: [f64; 256],
}

/// Computed once, at the first normal number of the process.
pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(tables);

fn tables() -> Tables {
    let bell = |x: f64| (-0.5 * x * x).exp();
    let mut inside = [0; 256];
    let mut width = [0.0; 256];
    let mut height = [1.0; 256];
    let mut outer = R;
    height[255] = bell(R);
    width[255] = R / TWO_52;
    let base = V / height[255];
    width[0] = base / TWO_52;
    inside[0] = threshold(R, base);
    for layer in (1..255).rev() {
        let x = (-2.0 * (V / outer + height[layer + 1]).ln()).sqrt();
        inside[layer + 1] = threshold(x, outer);
        width[layer] = x / TWO_52;
        height[layer] = bell(x);
        if layer == 38 {
            // The exponential that NumPy's tables were made with rounded up here, and only here.
            height[layer] = height[layer].next_up();
        }
        outer = x;
    }
    Tables { inside, width, height }
}

fn threshold(inner: f64, outer: f64) -> u64 {
    (inner / outer * TWO_52).round_ties_even() as u64
}
