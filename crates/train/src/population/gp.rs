//! Gaussian-process regression for `pb2`: the posterior of a function of (time, point), and the kernel that explains
//! what was seen best.
//!
//! The kernel is the time-varying squared exponential (PB2, eq. 6):
//! k((t, x), (t', x')) = variance * (1 - epsilon)^(|t - t'| / 2) * exp(-|x - x'|^2 / (2 lengthscale^2)),
//! and every observation has independent normal noise.

use std::f64::consts::PI;

/// The kernel's parameters and the variance of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Variance of the function at one point.
    pub variance: f64,
    /// Distance over which it varies.
    pub lengthscale: f64,
    /// How much of it is forgotten in a unit of time, from 0 to 1.
    pub epsilon: f64,
    /// Variance of the noise.
    pub noise: f64,
}

impl Kernel {
    /// Covariance of two rows, each a time and then a point; noise is not in it.
    fn covariance(&self, a: &[f64], b: &[f64]) -> f64 {
        let apart = (a[0] - b[0]).abs();
        let square: f64 = a[1..].iter().zip(&b[1..]).map(|(a, b)| (a - b) * (a - b)).sum();
        self.variance
            * (1.0 - self.epsilon).powf(0.5 * apart)
            * (-0.5 * square / (self.lengthscale * self.lengthscale)).exp()
    }
}

/// A Gaussian process that has seen something.
///
/// ```
/// use epgt_train::population::{GaussianProcess, Kernel};
/// let kernel = Kernel { variance: 1.0, lengthscale: 0.5, epsilon: 0.1, noise: 1e-6 };
/// let rows = [0.0, 0.2, 0.0, 0.8]; // two rows of (time, x)
/// let process = GaussianProcess::new(kernel, 2, rows.to_vec(), &[1.0, -1.0]).unwrap();
/// let (mean, variance) = process.posterior(&[0.0, 0.2]);
/// assert!((mean - 1.0).abs() < 1e-4 && variance < 1e-4);
/// ```
#[derive(Clone, Debug)]
pub struct GaussianProcess {
    kernel: Kernel,
    width: usize,
    rows: Vec<f64>,
    /// Lower Cholesky factor of the covariance of the observations, row by row.
    factor: Vec<f64>,
    /// That covariance's inverse times the observations.
    weights: Vec<f64>,
    log_likelihood: f64,
}

impl GaussianProcess {
    /// Conditions on observations `y` at `rows` of `width` numbers; `None` where the covariance is numerically
    /// singular.
    ///
    /// # Panics
    /// If there is not one row for every observation.
    pub fn new(kernel: Kernel, width: usize, rows: Vec<f64>, y: &[f64]) -> Option<Self> {
        assert_eq!(rows.len(), width * y.len(), "one row for every observation");
        let n = y.len();
        let mut factor = covariances(&kernel, width, &rows);
        cholesky(&mut factor, n)?;
        let mut weights = y.to_vec();
        solve_lower(&factor, &mut weights);
        let fit: f64 = weights.iter().map(|x| x * x).sum();
        let log_likelihood = -0.5 * fit - half_log_determinant(&factor, n) - 0.5 * n as f64 * (2.0 * PI).ln();
        solve_upper(&factor, &mut weights);
        Some(Self {
            kernel,
            width,
            rows,
            factor,
            weights,
            log_likelihood,
        })
    }

    /// Mean and variance of the function at a row.
    pub fn posterior(&self, row: &[f64]) -> (f64, f64) {
        let others = self.rows.chunks_exact(self.width);
        let mut covariance: Vec<f64> = others.map(|other| self.kernel.covariance(row, other)).collect();
        let mean = covariance.iter().zip(&self.weights).map(|(k, w)| k * w).sum();
        solve_lower(&self.factor, &mut covariance);
        let explained: f64 = covariance.iter().map(|x| x * x).sum();
        (mean, (self.kernel.variance - explained).max(0.0))
    }

    /// Logarithm of the density of the observations.
    pub fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }
}

/// The kernel with the largest likelihood of observations `y` (standardised) at `rows` in the unit cube.
///
/// Lengthscale, share of noise and epsilon are searched for, first over a coarse grid and then from its best point by
/// steps that halve; the variance that goes best with each of them is known in closed form. Nothing is random.
pub fn most_likely(width: usize, rows: &[f64], y: &[f64]) -> Kernel {
    // Of ln(lengthscale), ln(noise / variance) and the log-odds of epsilon; epsilon is at most one half, as in the
    // authors' code.
    let bounds = [
        (0.05f64.ln(), 3f64.ln()),
        (1e-3f64.ln(), 10f64.ln()),
        ((1e-3f64 / 0.999).ln(), 0.0),
    ];
    let score = |place: [f64; 3]| likelihood(width, rows, y, place).map_or(f64::NEG_INFINITY, |found| found.0);
    let mut best = ([0.3f64.ln(), 0.1f64.ln(), -2.0], f64::NEG_INFINITY);
    for lengthscale in [0.1, 0.2, 0.4, 0.8, 1.6f64] {
        for noise in [0.01, 0.1, 1.0f64] {
            for odds in [-5.0, -2.0, 0.0] {
                let place = [lengthscale.ln(), noise.ln(), odds];
                let found = score(place);
                if found > best.1 {
                    best = (place, found);
                }
            }
        }
    }
    let mut step = 0.4;
    while step > 0.02 {
        let from = best;
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut place = from.0;
                place[axis] = (place[axis] + sign * step).clamp(bounds[axis].0, bounds[axis].1);
                let found = score(place);
                if found > best.1 {
                    best = (place, found);
                }
            }
        }
        if best.0 == from.0 {
            step *= 0.5;
        }
    }
    likelihood(width, rows, y, best.0).map_or(kernel_at(best.0, 1.0), |found| found.1)
}

fn kernel_at([lengthscale, noise, odds]: [f64; 3], variance: f64) -> Kernel {
    Kernel {
        variance,
        lengthscale: lengthscale.exp(),
        epsilon: 1.0 / (1.0 + (-odds).exp()),
        noise: noise.exp() * variance,
    }
}

/// The log-likelihood at a place of the search with the variance that suits it best, and the kernel that this is.
fn likelihood(width: usize, rows: &[f64], y: &[f64], place: [f64; 3]) -> Option<(f64, Kernel)> {
    let n = y.len();
    let mut factor = covariances(&kernel_at(place, 1.0), width, rows);
    cholesky(&mut factor, n)?;
    let mut white = y.to_vec();
    solve_lower(&factor, &mut white);
    let fit: f64 = white.iter().map(|x| x * x).sum();
    // Observations are standardised: outside these bounds the variance means nothing.
    let variance = (fit / n as f64).clamp(1e-3, 1e3);
    let value = -0.5 * fit / variance - half_log_determinant(&factor, n) - 0.5 * n as f64 * (2.0 * PI * variance).ln();
    Some((value, kernel_at(place, variance)))
}

/// The covariance matrix of noisy observations.
fn covariances(kernel: &Kernel, width: usize, rows: &[f64]) -> Vec<f64> {
    let n = rows.len() / width;
    let mut matrix = vec![0.0; n * n];
    for (i, row) in rows.chunks_exact(width).enumerate() {
        for (j, other) in rows.chunks_exact(width).enumerate().take(i + 1) {
            matrix[i * n + j] = kernel.covariance(row, other);
        }
        matrix[i * n + i] += kernel.noise;
    }
    matrix
}

/// The lower Cholesky factor in place of a matrix of which only the lower half is read; `None` if it has none.
fn cholesky(matrix: &mut [f64], n: usize) -> Option<()> {
    for i in 0..n {
        let (above, rest) = matrix.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let other = &above[j * n..][..n];
            let done: f64 = row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - done) / other[j];
        }
        let done: f64 = row[..i].iter().map(|a| a * a).sum();
        let rest = row[i] - done;
        if !(rest > 1e-12 && rest.is_finite()) {
            return None;
        }
        row[i] = rest.sqrt();
    }
    Some(())
}

fn half_log_determinant(factor: &[f64], n: usize) -> f64 {
    (0..n).map(|i| factor[i * n + i].ln()).sum()
}

fn solve_lower(factor: &[f64], b: &mut [f64]) {
    let n = b.len();
    for i in 0..n {
        let row = &factor[i * n..][..n];
        let done: f64 = row[..i].iter().zip(&b[..i]).map(|(a, x)| a * x).sum();
        b[i] = (b[i] - done) / row[i];
    }
}

fn solve_upper(factor: &[f64], b: &mut [f64]) {
    let n = b.len();
    for i in (0..n).rev() {
        b[i] /= factor[i * n + i];
        let x = b[i];
        for (rest, a) in b[..i].iter_mut().zip(&factor[i * n..]) {
            *rest -= a * x;
        }
    }
}
