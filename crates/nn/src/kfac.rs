//! K-FAC: natural-gradient steps with Kronecker-factored curvature (Martens and Grosse, 2015), limited by a trust
//! region as in ACKTR (Wu et al., 2017, section 3).
//!
//! For a layer with inputs a (with a 1 appended, so that weight and bias are one matrix W of `[outputs, inputs + 1]`)
//! and pre-activation gradients g, the Fisher matrix of vec(W) is E[a a^T (x) g g^T]; K-FAC takes it for A (x) G with A
//! = E[a a^T] and G = E[g g^T], and ignores what couples different layers. Then F^-1 vec(V) = vec(G^-1 V A^-1), and two
//! small eigen-decompositions stand in for the inverse of a huge matrix:
//!
//! 1. [`observe`](Kfac::observe), after a backward pass of the gradients of *sampled* outputs: A and G follow the
//!    second moments of this batch, as running means with `decay`;
//! 2. every `inverse_interval` steps: A = Q_A S_A Q_A^T, G = Q_G S_G Q_G^T;
//! 3. [`step`](Kfac::step), after the backward pass of the loss: U = Q_G [ (Q_G^T V Q_A) / (s_G s_A^T + damping) ]
//!    Q_A^T for each layer's gradient V (damping in the eigenbasis, on the product of the eigenvalues);
//! 4. nu = min(step_size, sqrt(2 kl_clip / sum V.U)), so that the quadratic model of the KL divergence between the
//!    model before and after a step of nu U, nu^2 / 2 U.F U, is at most `kl_clip`;
//! 5. m = momentum m + (1 - momentum) nu U, W = W - m: an average of steps that each respect the trust region respects
//!    it.
//!
//! The running means are free of a bias towards their start: batches weigh 1, decay, decay^2, ... from the newest to
//! the oldest, divided by the sum of these. So the first batch counts for all at first, but not for longer than any
//! other.
//!
//! The Fisher matrix is an expectation over outputs drawn from the model's own distribution; observed targets give
//! another matrix. Drawing them, and the backward pass of their likelihood, is the caller's business: nothing here
//! knows what the outputs mean.

mod block;

use std::fmt;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::eigen::Eigen;
use crate::kernel::{Matrix, Pixel, dot, gemm};
use crate::linear::grow;
use crate::{Cnn, Conv, FactorPart, KfacPart, Linear, Parameters, RemoteKfac, TensorId};

use block::{Block, Factor};

/// The optimiser: hyperparameters, which may change from step to step, and its whole state, which can be saved.
///
/// It updates the layers and tensors that were added to it, and no others; several may share one [`Parameters`].
///
/// ```
/// use epgt_nn::{Activation, Kfac, Linear, Parameters};
/// use epgt_rng::Pcg64;
///
/// // The mean of a Gaussian of unit variance is a linear function of the input; the truth is 3 x + 1.
/// let mut params = Parameters::new();
/// let mut mean = Linear::new(&mut params, "mean", 1, 1, Activation::Identity);
/// let mut kfac = Kfac::new();
/// kfac.add_linear(&mean);
/// (kfac.step_size, kfac.kl_clip, kfac.momentum) = (1.0, 10.0, 0.0);
/// let mut rng = Pcg64::from_seed(0);
/// let inputs: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
/// for _ in 0..20 {
///     let error: Vec<f32> = mean.forward(&params, &inputs, 100).iter().zip(&inputs).map(|(y, x)| y - (3.0 * x + 1.0)).collect();
///     // An output drawn from the model differs from its mean by a standard normal number: the gradient of its likelihood.
///     let sampled: Vec<f32> = (0..100).map(|_| rng.standard_normal() as f32).collect();
///     mean.backward(&mut params, &sampled);
///     kfac.observe([&mean]);
///     // The loss is a mean over the batch.
///     mean.backward(&mut params, &error.iter().map(|e| e / 100.0).collect::<Vec<_>>());
///     kfac.step(&mut params).unwrap();
/// }
/// assert!((mean.forward(&params, &[2.0], 1)[0] - 7.0).abs() < 0.1);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kfac {
    /// Largest step along the natural gradient (eta).
    pub step_size: f32,
    /// Radius of the trust region: how much one step may change the model's distribution, as a predicted KL divergence
    /// (delta).
    pub kl_clip: f32,
    /// Added to the Fisher's eigenvalues. Must be positive unless all factors have full rank.
    pub damping: f32,
    /// How much of the last step is kept.
    pub momentum: f32,
    /// How slowly the factors follow: the share that a batch keeps when the next one comes.
    pub decay: f32,
    /// Steps from one eigen-decomposition to the next.
    pub inverse_interval: u32,
    blocks: Vec<Block>,
    known: Vec<Known>,
    /// The last step m, block after block, then the tensors of known Fisher.
    velocity: Vec<f32>,
    /// Steps since the eigen-decompositions; none before the first.
    age: Option<u32>,
    #[serde(skip)]
    scratch: Scratch,
}

/// A tensor whose Fisher is the same known number for each of its numbers, and couples none of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    tensor: TensorId,
    len: usize,
    fisher: f32,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    eigen: Eigen,
    /// Input rows with a 1 appended.
    rows: Vec<f32>,
    /// A block of a convolution's patches.
    patches: Vec<f32>,
    /// The natural gradient U, laid out like the velocity.
    direction: Vec<f32>,
    /// Products on the way to a block's direction.
    product: Vec<f32>,
}

/// A step could not be made, because a number is not finite; the parameters were not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KfacError {
    /// The second moments of the layer with this weight are not finite.
    Factors(TensorId),
    /// The natural gradient is not finite.
    Direction,
}

impl fmt::Display for KfacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factors(_) => write!(f, "the K-FAC factors of a layer are not finite: lower the step size"),
            Self::Direction => write!(
                f,
                "the natural gradient is not finite: raise the damping or lower the step size"
            ),
        }
    }
}

impl std::error::Error for KfacError {}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KfacStep {
    /// nu, the factor of the natural gradient: `step_size` unless the trust region made it smaller.
    pub scale: f32,
    /// Predicted KL divergence of a step of that scale without momentum, at most `kl_clip`.
    pub kl: f32,
}

impl Default for Kfac {
    fn default() -> Self {
        Self {
            step_size: 0.25,
            kl_clip: 0.001,
            damping: 0.01,
            momentum: 0.9,
            decay: 0.99,
            inverse_interval: 10,
            blocks: Vec::new(),
            known: Vec::new(),
            velocity: Vec::new(),
            age: None,
            scratch: Scratch::default(),
        }
    }
}

impl Kfac {
    /// Nothing to update yet; the hyperparameters are ACKTR's.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a dense layer; returns its number.
    pub fn add_linear(&mut self, layer: &Linear) -> usize {
        self.add_block(layer.weight(), layer.bias(), layer.inputs(), layer.outputs())
    }

    /// Adds a convolution, whose rows are its patches; returns its number.
    pub fn add_conv(&mut self, layer: &Conv) -> usize {
        self.add_block(layer.weight(), layer.bias(), layer.window().patch(), layer.outputs())
    }

    /// Adds any layer that multiplies rows of `inputs` numbers by a weight of `[outputs, inputs]` and adds a bias;
    /// returns its number.
    ///
    /// # Panics
    /// If a tensor with a known Fisher was added before.
    pub fn add_block(&mut self, weight: TensorId, bias: TensorId, inputs: usize, outputs: usize) -> usize {
        assert!(self.known.is_empty(), "layers come before tensors of known Fisher");
        self.blocks.push(Block {
            weight,
            bias,
            input: Factor::new(inputs + 1),
            output: Factor::new(outputs),
            mass: 0.0,
        });
        self.velocity.resize(self.velocity.len() + (inputs + 1) * outputs, 0.0);
        self.blocks.len() - 1
    }

    /// Adds a tensor of `len` numbers that belongs to no layer and whose Fisher is known exactly: `fisher` times the
    /// identity. The log standard deviations of a diagonal Gaussian have 2, whatever they are.
    pub fn add_known(&mut self, tensor: TensorId, len: usize, fisher: f32) {
        self.known.push(Known { tensor, len, fisher });
        self.velocity.resize(self.velocity.len() + len, 0.0);
    }

    /// Lets the factors of all layers follow their last backward pass. That pass must have carried the gradient of each
    /// row's own log-likelihood of an output drawn from the model: not divided by the batch, as the gradient of a mean
    /// would be.
    ///
    /// # Panics
    /// If the layers are not those that were added, in that order.
    pub fn observe<'a>(&mut self, layers: impl IntoIterator<Item = &'a Linear>) {
        let mut count = 0;
        for layer in layers {
            self.observe_rows(count, layer.input(), layer.delta(), layer.batch());
            count += 1;
        }
        assert_eq!(count, self.blocks.len(), "every layer is observed");
    }

    /// Lets the factors of one layer follow rows of inputs and of the gradients of their pre-activations, of `examples`
    /// independent examples. A dense layer has one row per example. A convolution has one row per example and position,
    /// T of them: its weight's gradient is a sum over positions, so with the usual assumptions (Grosse and Martens,
    /// 2016: positions uncorrelated and alike) A is a mean over examples of sums over positions, and G a mean over
    /// both.
    ///
    /// # Panics
    /// If the rows do not fit the layer, or there are none.
    pub fn observe_rows(&mut self, layer: usize, inputs: &[f32], gradients: &[f32], examples: usize) {
        let block = &mut self.blocks[layer];
        let (m, n) = (block.output.size(), block.input.size());
        let count = gradients.len() / m;
        assert!(examples > 0 && count > 0, "there is something to observe");
        assert_eq!(gradients.len(), count * m, "whole rows of gradients");
        assert_eq!(inputs.len(), count * (n - 1), "as many rows of inputs as of gradients");

        let new = block.begin(self.decay);
        block.see(
            (inputs, gradients),
            1.0 - new,
            new,
            (examples, count),
            &mut self.scratch.rows,
        );
    }

    /// [`observe_rows`](Self::observe_rows) of a convolution's last passes over these images, without having all
    /// patches at once.
    ///
    /// # Panics
    /// If the convolution is not the layer that was added, or there are no images.
    pub fn observe_conv<P: Pixel>(&mut self, layer: usize, conv: &Conv, images: &[P]) {
        let block = &mut self.blocks[layer];
        assert!(
            block.weight == conv.weight() && conv.batch() > 0,
            "an added layer sees images"
        );
        let new = block.begin(self.decay);
        let counts = (conv.batch(), conv.output().len() / conv.outputs());
        let (mut keep, rows) = (1.0 - new, &mut self.scratch.rows);
        conv.each_block(images, &mut self.scratch.patches, |patches, delta| {
            block.see((patches, delta), keep, new, counts, rows);
            keep = 1.0;
        });
    }

    /// Lets the factors of all layers of a network on pixels follow its last passes. Its convolutions and then its
    /// dense layers were added one after another, from number `first` on; returns the number that follows.
    ///
    /// # Panics
    /// If they were not.
    pub fn observe_cnn(&mut self, first: usize, net: &Cnn) -> usize {
        let mut pixels = Some(net.pixels());
        let mut next = first;
        for (i, conv) in net.convs().iter().enumerate() {
            match pixels.take() {
                Some(pixels) => self.observe_conv(next, conv, pixels),
                None => self.observe_conv(next, conv, net.convs()[i - 1].output()),
            }
            next += 1;
        }
        for layer in net.dense().layers() {
            self.observe_rows(next, layer.input(), layer.delta(), layer.batch());
            next += 1;
        }
        next
    }

    /// One step against the gradients in `params`, which are left as they are.
    ///
    /// # Panics
    /// If a layer has not been observed yet, or `params` is not what the layers were added from.
    pub fn step(&mut self, params: &mut Parameters) -> Result<KfacStep, KfacError> {
        if self.age.is_none_or(|age| age >= self.inverse_interval) {
            self.decompose()?;
        }
        let slope = self.precondition(params);
        let step = self.within_region(slope)?;
        let direction = &self.scratch.direction[..self.velocity.len()];
        let (momentum, share) = (self.momentum, (1.0 - self.momentum) * step.scale);
        let velocity = &mut self.velocity[..];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (m, &u) in velocity.iter_mut().zip(direction) {
                    *m = momentum.mul_add(*m, share * u);
                }
            },
        );
        self.apply(params);
        self.age = self.age.map(|age| age + 1);
        Ok(step)
    }

    /// [`observe`](Self::observe) for networks on another processor, whose layers are those that were added: runs the
    /// backward pass of the gradients of *sampled* outputs there, and lets the factors follow it.
    pub fn observe_remote(&mut self, remote: &mut dyn RemoteKfac, heads: &[&[f32]], rest: &[f32]) {
        let mut new = 1.0;
        for block in &mut self.blocks {
            new = block.begin(self.decay);
        }
        remote.backward_observed(heads, rest, new);
    }

    /// [`step`](Self::step) for networks on another processor.
    pub fn step_remote(&mut self, remote: &mut dyn RemoteKfac) -> Result<KfacStep, KfacError> {
        if self.age.is_none_or(|age| age >= self.inverse_interval) {
            if !remote.decompose() {
                return Err(KfacError::Factors(self.blocks[0].weight));
            }
            self.age = Some(0);
        }
        let of_rest = self.known.first().map_or(1.0, |known| known.fisher);
        let slope = remote.precondition(self.damping, of_rest);
        let step = self.within_region(slope)?;
        remote.advance(self.momentum, (1.0 - self.momentum) * step.scale);
        self.age = self.age.map(|age| age + 1);
        Ok(step)
    }

    /// Reads the matrices from the other processor.
    pub fn fetch(&mut self, remote: &dyn RemoteKfac) {
        self.for_each_part(|part, numbers| remote.read_part(part, numbers));
    }

    /// Writes the matrices to the other processor.
    pub fn send(&mut self, remote: &mut dyn RemoteKfac) {
        self.for_each_part(|part, numbers| remote.write_part(part, numbers));
    }

    fn for_each_part(&mut self, mut visit: impl FnMut(KfacPart, &mut [f32])) {
        visit(KfacPart::Velocity, &mut self.velocity);
        let parts = [FactorPart::Moment, FactorPart::Values, FactorPart::Vectors];
        for (layer, block) in self.blocks.iter_mut().enumerate() {
            for (of_inputs, factor) in [(true, &mut block.input), (false, &mut block.output)] {
                for (part, numbers) in parts.into_iter().zip(factor.parts_mut()) {
                    visit(KfacPart::Factor { layer, of_inputs, part }, numbers);
                }
            }
        }
    }

    /// The step that the trust region allows, given V.U.
    fn within_region(&self, slope: f32) -> Result<KfacStep, KfacError> {
        if !slope.is_finite() {
            return Err(KfacError::Direction);
        }
        let limit = (2.0 * self.kl_clip / slope).sqrt();
        let scale = self.step_size.min(limit);
        Ok(KfacStep {
            scale,
            kl: 0.5 * scale * scale * slope,
        })
    }

    fn decompose(&mut self) -> Result<(), KfacError> {
        for block in &mut self.blocks {
            assert!(block.mass > 0.0, "layers are observed before the first step");
            let eigen = &mut self.scratch.eigen;
            if !(block.input.decompose(eigen) && block.output.decompose(eigen)) {
                return Err(KfacError::Factors(block.weight));
            }
        }
        self.age = Some(0);
        Ok(())
    }

    /// Writes the natural gradient U into the scratch; returns V.U, the squared length of the gradient V in the metric
    /// of the damped inverse Fisher.
    fn precondition(&mut self, params: &Parameters) -> f32 {
        let mut rest = grow(&mut self.scratch.direction, self.velocity.len());
        let mut slope = 0.0;
        for block in &self.blocks {
            let (m, n) = (block.output.size(), block.input.size());
            let direction;
            (direction, rest) = rest.split_at_mut(m * n);
            let product = grow(&mut self.scratch.product, m * n);
            let (weight, bias) = (params.gradient(block.weight), params.gradient(block.bias));
            for ((row, weight), &bias) in product.chunks_exact_mut(n).zip(weight.chunks_exact(n - 1)).zip(bias) {
                row[..n - 1].copy_from_slice(weight);
                row[n - 1] = bias;
            }
            let (qa, qg) = (block.input.basis(), block.output.basis());
            gemm(direction, 0.0, 1.0, qg, Matrix::row_major(product, m, n));
            gemm(product, 0.0, 1.0, Matrix::row_major(direction, m, n), qa.transposed());
            let rows = direction.chunks_exact_mut(n).zip(product.chunks_exact(n));
            for ((out, row), &s) in rows.zip(&block.output.values) {
                for ((out, x), value) in out.iter_mut().zip(row).zip(&block.input.values) {
                    *out = x / s.mul_add(*value, self.damping);
                }
            }
            slope += dot(product, direction);
            gemm(product, 0.0, 1.0, qg.transposed(), Matrix::row_major(direction, m, n));
            gemm(direction, 0.0, 1.0, Matrix::row_major(product, m, n), qa);
        }
        for known in &self.known {
            let direction;
            (direction, rest) = rest.split_at_mut(known.len);
            let gradient = params.gradient(known.tensor);
            for (out, x) in direction.iter_mut().zip(gradient) {
                *out = x / (known.fisher + self.damping);
            }
            slope += dot(gradient, direction);
        }
        slope
    }

    fn apply(&self, params: &mut Parameters) {
        let mut rest = &self.velocity[..];
        for block in &self.blocks {
            let (m, n) = (block.output.size(), block.input.size());
            let velocity;
            (velocity, rest) = rest.split_at(m * n);
            let weight = params.value_mut(block.weight);
            for (row, velocity) in weight.chunks_exact_mut(n - 1).zip(velocity.chunks_exact(n)) {
                row.iter_mut().zip(velocity).for_each(|(w, v)| *w -= v);
            }
            let bias = params.value_mut(block.bias).iter_mut();
            bias.zip(velocity.chunks_exact(n)).for_each(|(b, v)| *b -= v[n - 1]);
        }
        for known in &self.known {
            let velocity;
            (velocity, rest) = rest.split_at(known.len);
            let values = params.value_mut(known.tensor).iter_mut();
            values.zip(velocity).for_each(|(w, v)| *w -= v);
        }
    }
}
