//! The networks of an agent on another processor, such as a GPU.
//!
//! Weights, the last gradients and the optimiser's state stay there. What crosses over is little: images on their way in, outputs and
//! their gradients, the features of the hyper-state; and everything, when a checkpoint is made.

use std::fmt::Debug;

/// Something that is kept on the other processor; where nothing else is said, one number for every weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The weights.
    Weights,
    /// The gradient of the last backward pass, as it was clipped.
    Gradient,
    /// A running mean of the optimiser: Adam's of gradients is 0, and its of squares 1; RMSprop's of squares is 0.
    Moment(usize),
    /// The gradient of an update before the last, latest first.
    Older(usize),
    /// The last step of K-FAC.
    Velocity,
    /// A part of the curvature of a layer: of its inputs, or else of its outputs.
    Curvature {
        /// The layer's number.
        layer: usize,
        /// Whether it is the inputs'.
        of_inputs: bool,
        /// Which part.
        part: CurvaturePart,
    },
}

/// Parts of a Kronecker factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurvaturePart {
    /// The running second moment.
    Moment,
    /// Its eigenvalues at the last decomposition.
    Values,
    /// Its eigenvectors then, one after another.
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

/// Projections of rows to a few numbers: of every source (weights, last gradient, older ones) and every tensor a matrix of
/// `[dim, columns]`, one after another.
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
/// Whatever fails there is told once, by [`Remote::fault`], and nothing more is done afterwards: outputs are then zeros. So nobody
/// between the trainer and the processor has to carry its errors.
pub trait Remote: Send + Debug {
    /// What the processor calls itself.
    fn name(&self) -> String;

    /// What went wrong there first.
    fn fault(&self) -> Option<String>;

    /// Runs the networks on byte images.
    fn look(&mut self, images: &[u8], batch: usize);

    /// Keeps the images of the last [`look`](Self::look), from row `first` on, until others take their place.
    fn keep(&mut self, first: usize);

    /// Runs the networks on rows that are kept.
    fn look_again(&mut self, rows: &[u32]);

    /// Reads the outputs of a head for the last batch.
    fn outputs(&self, head: usize, out: &mut [f32]);

    /// Overwrites the gradients, given those of every head's outputs, and those of the weights that no layer has.
    fn backward(&mut self, heads: &[&[f32]], rest: &[f32]);

    /// Scales the gradient to a norm of at most `max_norm`, as [`clip_gradient_norm`](crate::clip_gradient_norm); returns the norm
    /// before.
    fn clip(&mut self, max_norm: f32) -> f32;

    /// A step of Adam.
    fn adam(&mut self, step: AdamStep);

    /// A step of RMSprop.
    fn rms_prop(&mut self, step: RmsPropStep);

    /// [`backward`](Self::backward), and K-FAC's moments become `1 - new` of themselves and `new` of what this pass shows.
    fn backward_observed(&mut self, heads: &[&[f32]], rest: &[f32], new: f32);

    /// Decomposes K-FAC's moments; says whether that was possible.
    fn decompose(&mut self) -> bool;

    /// Makes the natural gradient, where the weights that no layer has have the Fisher `of_rest`; returns its product with the
    /// gradient.
    fn precondition(&mut self, damping: f32, of_rest: f32) -> f32;

    /// K-FAC's last step becomes `momentum` of itself and `share` of the natural gradient, and the weights go along it.
    fn advance(&mut self, momentum: f32, share: f32);

    /// Sets the projections, and how many gradients are kept.
    fn set_projections(&mut self, projections: Projections<'_>);

    /// Writes every tensor's rows times their matrices.
    fn project(&self, features: &mut [f32]);

    /// Sets the encoder, layer after layer.
    fn set_encoder(&mut self, layers: &[TanhLayer<'_>]);

    /// The encoder's outputs for (standardised) features; `out` may ask for the first few.
    fn encode(&self, features: &[f32], out: &mut [f32]);

    /// The last gradient becomes the one before.
    fn age(&self);

    /// Norms of the weights and of the last gradient.
    fn norms(&self) -> (f32, f32);

    /// Reads what is kept.
    fn read(&self, what: Kept, out: &mut [f32]);

    /// Overwrites what is kept.
    fn write(&mut self, what: Kept, values: &[f32]);
}

/// An optimiser that can also step where the networks are.
pub trait Optimiser {
    /// One step against the gradients.
    fn step(&mut self, values: &mut [f32], gradients: &[f32], learning_rate: f32);

    /// One step where the networks are.
    fn step_there(&mut self, remote: &mut dyn Remote, learning_rate: f32);

    /// Its running means, in the order of [`Kept::Moment`].
    fn moments_mut(&mut self) -> Vec<&mut [f32]>;

    /// Takes its running means over from where the networks are.
    fn fetch(&mut self, remote: &dyn Remote) {
        for (i, moment) in self.moments_mut().into_iter().enumerate() {
            remote.read(Kept::Moment(i), moment);
        }
    }

    /// Gives its running means to where the networks are.
    fn send(&mut self, remote: &mut dyn Remote) {
        for (i, moment) in self.moments_mut().into_iter().enumerate() {
            remote.write(Kept::Moment(i), moment);
        }
    }
}
