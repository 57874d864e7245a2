//! A moment of training: what a hyper-agent is shown before an update.

use epgt_nn::RemoteState;

/// What is known of training before an update. Nothing is copied unless a mind asks.
///
/// The weights and gradients are all numbers that are trained, one after another, in the order of the tensor shapes
/// that the hyper-agent was made for.
///
/// ```
/// use epgt_hyper::Moment;
/// let (weights, gradients) = ([0.5; 16], [0.0; 16]);
/// let moment = Moment { update: 0, progress: 0.0, weights: &weights, gradients: &gradients };
/// assert_eq!(moment.weights.len(), moment.gradients.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The number of the update, from 0.
    pub update: u64,
    /// Share of the training done: 0 at the first update, 1 at the last.
    pub progress: f64,
    /// The weights of all networks.
    pub weights: &'a [f32],
    /// The gradients of the last update; zeros before the first.
    pub gradients: &'a [f32],
}

/// A moment as a mind sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The moment. Where `remote` is given, its weights and gradients are those of some time ago.
    pub moment: Moment<'a>,
    /// What computes the hyper-state where the networks are, if they are on another processor.
    pub remote: Option<&'a dyn RemoteState>,
}

impl Seen<'_> {
    /// Norms of the weights and of the last gradient.
    pub fn norms(&self) -> (f32, f32) {
        match self.remote {
            Some(remote) => remote.norms(),
            None => (norm(self.moment.weights), norm(self.moment.gradients)),
        }
    }
}

impl<'a> From<Moment<'a>> for Seen<'a> {
    fn from(moment: Moment<'a>) -> Self {
        Self { moment, remote: None }
    }
}

fn norm(values: &[f32]) -> f32 {
    epgt_nn::kernel::dot(values, values).sqrt()
}
