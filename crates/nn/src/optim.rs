//! Optimisers with PyTorch's definitions, each one fused pass over flat slices.
//!
//! The learning rate is an argument, and the other hyperparameters are public fields, because all of them may be
//! scheduled from update to update.

use std::ops::Range;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::{AdamStep, Optimiser, RemoteOptimiser, RmsPropStep, dot};

/// The learning rates of a step: one for all weights, or another one for a part of them.
///
/// ```
/// use epgt_nn::{Optimiser, Rates, RmsProp};
/// let mut rms = RmsProp::new(3, 0.99, 1e-5);
/// let mut w = [1.0; 3];
/// let rates = Rates { all: 0.01, apart: Some((1..2, 0.0)) };
/// Optimiser::step(&mut rms, &mut w, &[0.5; 3], &rates);
/// assert!(w[1] == 1.0 && w[0] == w[2] && (w[0] - 0.9).abs() < 1e-4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The rate of all weights, but for those apart.
    pub all: f32,
    /// A part of the weights, and its rate.
    pub apart: Option<(Range<usize>, f32)>,
}

impl From<f32> for Rates {
    fn from(all: f32) -> Self {
        Self { all, apart: None }
    }
}

impl Rates {
    /// The parts of `len` weights that have one rate each.
    ///
    /// ```
    /// let rates = epgt_nn::Rates { all: 1.0, apart: Some((2..5, 3.0)) };
    /// let parts: Vec<_> = rates.parts(5).collect();
    /// assert_eq!(parts, [(0..2, 1.0), (2..5, 3.0)]);
    /// ```
    pub fn parts(&self, len: usize) -> impl Iterator<Item = (Range<usize>, f32)> + use<> {
        let (apart, rate) = self.apart.clone().unwrap_or((len..len, self.all));
        let (before, after) = ((0..apart.start, self.all), (apart.end..len, self.all));
        [before, (apart, rate), after]
            .into_iter()
            .filter(|(part, _)| !part.is_empty())
    }
}

/// Stochastic gradient descent: m = momentum m + g, w = w - lr m.
///
/// ```
/// let mut sgd = epgt_nn::Sgd::new(1, 0.9);
/// let mut w = [1.0];
/// sgd.step(&mut w, &[0.5], 0.1);
/// assert_eq!(w, [0.95]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sgd {
    /// How much of the last step's direction is kept.
    pub momentum: f32,
    direction: Vec<f32>,
}

impl Sgd {
    /// For `len` parameters; a momentum of 0 is plain gradient descent.
    pub fn new(len: usize, momentum: f32) -> Self {
        Self {
            momentum,
            direction: vec![0.0; len],
        }
    }

    /// One step against the gradients.
    ///
    /// # Panics
    /// If the slices are not as long as the state.
    pub fn step(&mut self, values: &mut [f32], gradients: &[f32], learning_rate: f32) {
        check(values, gradients, self.direction.len());
        let (momentum, direction) = (self.momentum, &mut self.direction[..]);
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((w, &g), m) in values.iter_mut().zip(gradients).zip(direction) {
                    *m = momentum.mul_add(*m, g);
                    *w = (-learning_rate).mul_add(*m, *w);
                }
            },
        );
    }
}

/// RMSprop: v = decay v + (1 - decay) g^2, w = w - lr g / (sqrt(v) + epsilon).
///
/// ```
/// let mut rms = epgt_nn::RmsProp::new(1, 0.99, 1e-5);
/// let mut w = [1.0];
/// rms.step(&mut w, &[0.5], 0.01);
/// assert!((w[0] - 0.9).abs() < 1e-4);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RmsProp {
    /// How slowly the mean of squared gradients follows (PyTorch's `alpha`).
    pub decay: f32,
    /// Added to the root, outside of it.
    pub epsilon: f32,
    square: Vec<f32>,
}

impl RmsProp {
    /// For `len` parameters.
    pub fn new(len: usize, decay: f32, epsilon: f32) -> Self {
        Self {
            decay,
            epsilon,
            square: vec![0.0; len],
        }
    }

    /// One step against the gradients.
    ///
    /// # Panics
    /// If the slices are not as long as the state.
    pub fn step(&mut self, values: &mut [f32], gradients: &[f32], learning_rate: f32) {
        Optimiser::step(self, values, gradients, &learning_rate.into());
    }

    /// One step of some of the parameters alone; the running means of the others stay as they are.
    ///
    /// ```
    /// let mut rms = epgt_nn::RmsProp::new(2, 0.99, 1e-5);
    /// let mut w = [1.0; 2];
    /// rms.step_part(1..2, &mut w, &[0.5; 2], 0.01);
    /// assert!(w[0] == 1.0 && (w[1] - 0.9).abs() < 1e-4);
    /// ```
    ///
    /// # Panics
    /// If the slices do not have that part.
    pub fn step_part(&mut self, part: Range<usize>, values: &mut [f32], gradients: &[f32], learning_rate: f32) {
        let (decay, rest, epsilon) = (self.decay, 1.0 - self.decay, self.epsilon);
        let (values, gradients) = (&mut values[part.clone()], &gradients[part.clone()]);
        let square = &mut self.square[part];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((w, &g), v) in values.iter_mut().zip(gradients).zip(square) {
                    *v = decay.mul_add(*v, rest * g * g);
                    *w -= learning_rate * g / (v.sqrt() + epsilon);
                }
            },
        );
    }

    /// Divides `vector` by what the next [`step`](Self::step) with these gradients would divide them by, sqrt(v) +
    /// epsilon, and changes nothing. With the gradients themselves as the vector this is what that step would subtract
    /// at a rate of 1.
    ///
    /// ```
    /// let rms = epgt_nn::RmsProp::new(1, 0.99, 1e-5);
    /// let mut direction = [0.0];
    /// rms.precondition(&[0.5], &[0.5], &mut direction);
    /// assert!((direction[0] - 10.0).abs() < 0.01);
    /// ```
    ///
    /// # Panics
    /// If the slices are not as long as the state.
    pub fn precondition(&self, gradients: &[f32], vector: &[f32], into: &mut [f32]) {
        check(into, gradients, self.square.len());
        check(into, vector, self.square.len());
        let (decay, rest, epsilon) = (self.decay, 1.0 - self.decay, self.epsilon);
        let square = &self.square[..];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                let rows = into.iter_mut().zip(vector).zip(gradients).zip(square);
                for (((out, &x), &g), &v) in rows {
                    *out = x / (decay.mul_add(v, rest * g * g).sqrt() + epsilon);
                }
            },
        );
    }
}

/// Adam (Kingma and Ba, 2015): m and v are running means of g and g^2, freed of their bias towards 0 by
/// c1 = 1 - beta1^t and c2 = 1 - beta2^t; w = w - lr (m / c1) / (sqrt(v / c2) + epsilon).
///
/// ```
/// let mut adam = epgt_nn::Adam::new(1, 0.9, 0.999, 1e-8);
/// let mut w = [1.0];
/// adam.step(&mut w, &[0.5], 0.01);
/// assert!((w[0] - 0.99).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    /// How slowly the mean of gradients follows.
    pub beta1: f32,
    /// How slowly the mean of squared gradients follows.
    pub beta2: f32,
    /// Added to the root, outside of it.
    pub epsilon: f32,
    steps: u64,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Adam {
    /// For `len` parameters.
    pub fn new(len: usize, beta1: f32, beta2: f32, epsilon: f32) -> Self {
        Self {
            beta1,
            beta2,
            epsilon,
            steps: 0,
            mean: vec![0.0; len],
            square: vec![0.0; len],
        }
    }

    /// One step against the gradients.
    ///
    /// # Panics
    /// If the slices are not as long as the state.
    pub fn step(&mut self, values: &mut [f32], gradients: &[f32], learning_rate: f32) {
        Optimiser::step(self, values, gradients, &learning_rate.into());
    }

    fn step_part(&mut self, part: Range<usize>, values: &mut [f32], gradients: &[f32], step: AdamStep) {
        let AdamStep {
            beta1,
            beta2,
            epsilon,
            step_size,
            root_scale,
        } = step;
        let (rest1, rest2) = (1.0 - beta1, 1.0 - beta2);
        let (values, gradients) = (&mut values[part.clone()], &gradients[part.clone()]);
        let (mean, square) = (&mut self.mean[part.clone()], &mut self.square[part]);
        // The pass is bound by memory traffic (four streams in, three out), so everything is done in one.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (((w, &g), m), v) in values.iter_mut().zip(gradients).zip(mean).zip(square) {
                    *m = beta1.mul_add(*m, rest1 * g);
                    *v = beta2.mul_add(*v, rest2 * g * g);
                    *w -= step_size * *m / v.sqrt().mul_add(root_scale, epsilon);
                }
            },
        );
    }
}

impl Adam {
    /// The step that is counted, with a learning rate, free of the means' bias towards 0.
    fn step_with(&self, learning_rate: f32) -> AdamStep {
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.steps as f64);
        AdamStep {
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            step_size: (f64::from(learning_rate) / correction(self.beta1)) as f32,
            root_scale: correction(self.beta2).sqrt().recip() as f32,
        }
    }
}

impl Optimiser for Adam {
    fn step(&mut self, values: &mut [f32], gradients: &[f32], rates: &Rates) {
        check(values, gradients, self.mean.len());
        self.steps += 1;
        for (part, rate) in rates.parts(values.len()) {
            self.step_part(part, values, gradients, self.step_with(rate));
        }
    }

    fn step_remote(&mut self, remote: &mut dyn RemoteOptimiser, rates: &Rates) {
        self.steps += 1;
        for (part, rate) in rates.parts(self.mean.len()) {
            remote.adam(self.step_with(rate), part);
        }
    }

    fn moments_mut(&mut self) -> Vec<&mut [f32]> {
        vec![&mut self.mean, &mut self.square]
    }
}

impl Optimiser for RmsProp {
    fn step(&mut self, values: &mut [f32], gradients: &[f32], rates: &Rates) {
        check(values, gradients, self.square.len());
        for (part, rate) in rates.parts(values.len()) {
            self.step_part(part, values, gradients, rate);
        }
    }

    fn step_remote(&mut self, remote: &mut dyn RemoteOptimiser, rates: &Rates) {
        for (part, learning_rate) in rates.parts(self.square.len()) {
            let step = RmsPropStep {
                decay: self.decay,
                epsilon: self.epsilon,
                learning_rate,
            };
            remote.rms_prop(step, part);
        }
    }

    fn moments_mut(&mut self) -> Vec<&mut [f32]> {
        vec![&mut self.square]
    }
}

fn check(values: &[f32], gradients: &[f32], state: usize) {
    assert_eq!(values.len(), gradients.len(), "one gradient for each parameter");
    assert_eq!(
        values.len(),
        state,
        "the optimiser was made for another number of parameters"
    );
}

/// Scales the gradients down so that their Euclidean norm is at most `max_norm`; returns the norm before that.
///
/// As PyTorch's `clip_grad_norm_`: the factor is min(1, max_norm / (norm + 1e-6)).
///
/// ```
/// let mut gradients = [3.0, 4.0];
/// assert_eq!(epgt_nn::clip_gradient_norm(&mut gradients, 0.5), 5.0);
/// assert!((gradients[1] - 0.4).abs() < 1e-6);
/// ```
pub fn clip_gradient_norm(gradients: &mut [f32], max_norm: f32) -> f32 {
    let norm = dot(gradients, gradients).sqrt();
    let factor = max_norm / (norm + 1e-6);
    // Written so that a NaN norm scales as well: a poisoned gradient must not pass for a clipped one.
    if factor < 1.0 || factor.is_nan() {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for g in gradients {
                    *g *= factor;
                }
            },
        );
    }
    norm
}
