//! The networks of an agent on another processor, such as a GPU.
//!
//! Weights, gradients and the optimiser's state stay on that processor. Images go to it; outputs, norms and the
//! features of the hyper-state come back. Only a checkpoint reads everything.
//!
//! [`Remote`] is the networks. It hands out three parts: [`RemoteOptimiser`], and, where the processor has them,
//! [`RemoteKfac`] and [`RemoteState`].

use std::fmt::Debug;
use std::ops::Range;

use crate::Rates;

/// A buffer on the other processor that holds one number for every weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The weights.
    Weights,
    /// The gradient of the last backward pass, as it was clipped.
    Gradient,
}

/// A part of K-FAC's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KfacPart {
    /// The last step.
    Velocity,
    /// A part of a Kronecker factor of a layer.
    Factor {
        /// The layer's number.
        layer: usize,
        /// Whether the factor is that of the layer's inputs, or else of its outputs.
        of_inputs: bool,
        /// Which part of the factor.
        part: FactorPart,
    },
}

/// Parts of a Kronecker factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorPart {
    /// The running second moment.
    Moment,
    /// The moment's eigenvalues at the last decomposition.
    Values,
    /// The moment's eigenvectors at the last decomposition, one after another.
    Vectors,
}

/// What one step of Adam needs besides the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squares.
    pub beta2: f32,
    /// Added to the root.
    pub epsilon: f32,
    /// The learning rate over the correction of the mean.
    pub step_size: f32,
    /// What the root is multiplied by: 1 over the root of the correction of the squares.
    pub root_scale: f32,
}

/// What one step of RMSprop needs besides the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsPropStep {
    /// Decay of the mean of squares.
    pub decay: f32,
    /// Added to the root.
    pub epsilon: f32,
    /// The learning rate.
    pub learning_rate: f32,
}

/// Projections of rows to a few numbers: one matrix of `[dim, columns]` for every tensor of every source (weights, last
/// gradient, older gradients).
#[derive(Clone, Copy, Debug)]
pub struct Projections<'a> {
    /// Rows and columns of every tensor.
    pub tensors: &'a [(usize, usize)],
    /// Sources: 1 for the weights, and one for each gradient.
    pub sources: usize,
    /// Numbers that a row becomes.
    pub dim: usize,
    /// All matrices, by source, then by tensor.
    pub matrices: &'a [f32],
}

/// A dense layer with a tanh: its weight `[outputs, inputs]` and its bias.
#[derive(Clone, Copy, Debug)]
pub struct TanhLayer<'a> {
    /// Row by row.
    pub weight: &'a [f32],
    /// One number per output.
    pub bias: &'a [f32],
}

/// An agent's networks on another processor.
///
/// A failure on the processor is reported by [`Remote::fault`], not by the call that failed. After a failure the
/// processor does nothing, and outputs are zeros. The trainer asks for the fault once per step; code between the two
/// carries no errors.
pub trait Remote: Send + Debug {
    /// The name of the processor.
    fn name(&self) -> String;

    /// The first failure.
    fn fault(&self) -> Option<String>;

    /// Runs the networks on byte images.
    fn forward(&mut self, images: &[u8], batch: usize);

    /// Keeps the images of the last [`forward`](Self::forward) as rows `first`, `first + 1`, ... until they are
    /// overwritten.
    fn keep(&mut self, first: usize);

    /// Runs the networks on kept rows.
    fn forward_cached(&mut self, rows: &[u32]);

    /// Reads the outputs of a head for the last batch.
    fn read_outputs(&self, head: usize, out: &mut [f32]);

    /// Overwrites the gradient, given the gradients of every head's outputs, and `rest`, the gradient of the weights
    /// that belong to no layer.
    fn backward(&mut self, heads: &[&[f32]], rest: &[f32]);

    /// Scales the gradient to a norm of at most `max_norm`, as [`clip_gradient_norm`](crate::clip_gradient_norm);
    /// returns the norm before.
    fn clip(&mut self, max_norm: f32) -> f32;

    /// Reads a buffer.
    fn read(&self, buffer: Buffer, out: &mut [f32]);

    /// Overwrites a buffer.
    fn write(&mut self, buffer: Buffer, values: &[f32]);

    /// The steps of optimisers.
    fn optimiser(&mut self) -> &mut dyn RemoteOptimiser;

    /// K-FAC, if the processor has it. The first call may allocate its buffers.
    fn kfac(&mut self) -> Option<&mut dyn RemoteKfac> {
        None
    }

    /// The hyper-state, if the processor can compute it.
    fn state(&self) -> Option<&dyn RemoteState> {
        None
    }

    /// The hyper-state, to set it up.
    fn state_mut(&mut self) -> Option<&mut dyn RemoteState> {
        None
    }
}

/// Steps of optimisers, made where the networks are. `moment` is the number of a running mean, which has one number for
/// every weight: Adam's mean of gradients is 0 and its mean of squares 1; RMSprop's mean of squares is 0.
pub trait RemoteOptimiser {
    /// Makes a step of Adam with a part of the weights.
    fn adam(&mut self, step: AdamStep, part: Range<usize>);

    /// Makes a step of RMSprop with a part of the weights.
    fn rms_prop(&mut self, step: RmsPropStep, part: Range<usize>);

    /// Reads a running mean.
    fn read_moment(&self, moment: usize, out: &mut [f32]);

    /// Overwrites a running mean.
    fn write_moment(&mut self, moment: usize, values: &[f32]);
}

/// K-FAC's matrices, kept where the networks are.
pub trait RemoteKfac {
    /// [`Remote::backward`], which also moves the second moments: they become `1 - new` of themselves and `new` of this
    /// pass's.
    fn backward_observed(&mut self, heads: &[&[f32]], rest: &[f32], new: f32);

    /// Decomposes the second moments; returns whether that was possible.
    fn decompose(&mut self) -> bool;

    /// Computes the natural gradient, and returns its product with the gradient. The weights that belong to no layer
    /// have the Fisher
    /// `of_rest`.
    fn precondition(&mut self, damping: f32, of_rest: f32) -> f32;

    /// Makes a step: the velocity becomes `momentum` of itself and `share` of the natural gradient, and is subtracted
    /// from the weights.
    fn advance(&mut self, momentum: f32, share: f32);

    /// Reads a part of the state.
    fn read_part(&self, part: KfacPart, out: &mut [f32]);

    /// Overwrites a part of the state.
    fn write_part(&mut self, part: KfacPart, values: &[f32]);
}

/// The hyper-state, computed where weights and gradients are: only features and keys come back.
pub trait RemoteState: Debug {
    /// Sets the projections, the encoder's layers, and the gradients before the last, latest first.
    fn set(&mut self, projections: Projections<'_>, encoder: &[TanhLayer<'_>], older: &[Vec<f32>]);

    /// Writes every tensor's rows times their matrices.
    fn project(&self, features: &mut [f32]);

    /// Writes the encoder's first outputs for (standardised) features.
    fn encode(&self, features: &[f32], out: &mut [f32]);

    /// Makes the last gradient the first of the older ones.
    fn age(&self);

    /// The norms of the weights and of the last gradient.
    fn norms(&self) -> (f32, f32);

    /// Reads an older gradient; the latest has the number 0.
    fn read_older(&self, number: usize, out: &mut [f32]);
}

/// An optimiser that can also step on another processor.
pub trait Optimiser {
    /// Makes one step against the gradients.
    fn step(&mut self, values: &mut [f32], gradients: &[f32], rates: &Rates);

    /// Makes one step where the networks are.
    fn step_remote(&mut self, remote: &mut dyn RemoteOptimiser, rates: &Rates);

    /// The running means, in the order of [`RemoteOptimiser`].
    fn moments_mut(&mut self) -> Vec<&mut [f32]>;

    /// Reads the running means from the other processor.
    fn fetch(&mut self, remote: &dyn RemoteOptimiser) {
        for (i, moment) in self.moments_mut().into_iter().enumerate() {
            remote.read_moment(i, moment);
        }
    }

    /// Writes the running means to the other processor.
    fn send(&mut self, remote: &mut dyn RemoteOptimiser) {
        for (i, moment) in self.moments_mut().into_iter().enumerate() {
            remote.write_moment(i, moment);
        }
    }
}
