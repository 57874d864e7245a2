//! The agent's networks on another processor, where there is one: what it looks at goes there, what it says comes back.
//!
//! [`ActorCritic::params`] is then a copy that is as old as the last [`ActorCritic::fetch`].

use epgt_nn::{Kept, Kfac, KfacError, KfacStep, Optimiser, Parameters, Remote, clip_gradient_norm};

use crate::ActorCritic;

/// Heads of the networks there.
const POLICY: usize = 0;
const VALUE: usize = 1;

/// The networks there, and their outputs for the last batch.
pub(crate) struct Far {
    remote: Box<dyn Remote>,
    policy: Vec<f32>,
    value: Vec<f32>,
    /// Policy outputs of a row.
    outputs: usize,
}

impl Far {
    /// The networks' outputs for images.
    pub fn look(&mut self, images: &[u8], batch: usize) {
        self.remote.look(images, batch);
        self.listen(batch);
    }

    fn look_again(&mut self, rows: &[u32]) {
        self.remote.look_again(rows);
        self.listen(rows.len());
    }

    fn listen(&mut self, batch: usize) {
        self.policy.resize(batch * self.outputs, 0.0);
        self.value.resize(batch, 0.0);
        self.remote.outputs(POLICY, &mut self.policy);
        self.remote.outputs(VALUE, &mut self.value);
    }

    pub fn backward(&mut self, policy_gradient: &[f32], log_std_gradient: &[f32], value_gradient: &[f32]) {
        self.remote
            .backward(&[policy_gradient, value_gradient], log_std_gradient);
    }
}

/// Where the networks are. A copy of an agent is always here, with the weights of its last [`ActorCritic::fetch`].
#[derive(Default)]
pub(crate) struct Place(pub Option<Far>);

impl Clone for Place {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl ActorCritic {
    /// Moves the networks to another processor, which must have been made for them.
    pub fn move_to(&mut self, remote: Box<dyn Remote>) {
        self.place.0 = Some(Far {
            remote,
            policy: Vec::new(),
            value: Vec::new(),
            outputs: self.distribution.outputs(),
        });
        self.send();
    }

    /// The processor that the networks are on, where it is another.
    pub fn remote(&self) -> Option<&dyn Remote> {
        self.place.0.as_ref().map(|far| &*far.remote)
    }

    /// The processor that the networks are on, to give it something.
    pub fn remote_mut(&mut self) -> Option<&mut dyn Remote> {
        match &mut self.place.0 {
            Some(far) => Some(&mut *far.remote),
            None => None,
        }
    }

    /// Brings `params` up to date with the networks, wherever they are.
    pub fn fetch(&mut self) {
        if let Some(far) = &self.place.0 {
            fetch(&*far.remote, &mut self.params);
        }
    }

    /// Gives `params` to the networks, wherever they are.
    pub fn send(&mut self) {
        if let Some(far) = &mut self.place.0 {
            far.remote.write(Kept::Weights, self.params.values());
            far.remote.write(Kept::Gradient, self.params.gradients());
        }
    }

    /// Logits or means of the last batch.
    pub fn policy_output(&self) -> &[f32] {
        match &self.place.0 {
            Some(far) => &far.policy,
            None => self.policy.output(),
        }
    }

    /// Values of the last batch.
    pub fn value_output(&self) -> &[f32] {
        match &self.place.0 {
            Some(far) => &far.value,
            None => self.value.output(),
        }
    }

    /// Keeps what was looked at last as rows of the rollout, from `first` on. Here the rollout itself keeps them.
    pub(crate) fn keep(&mut self, first: usize) {
        if let Some(far) = &mut self.place.0 {
            far.remote.keep(first);
        }
    }

    /// Whether the rollout's observations are kept elsewhere.
    pub(crate) fn is_far(&self) -> bool {
        self.place.0.is_some()
    }

    /// Runs both networks on rows of the rollout: on what is kept of them elsewhere, or on `observations`, which are those rows.
    pub(crate) fn look_again<'a>(&mut self, observations: impl Into<epgt_envs::Rows<'a>>, rows: &[u32]) {
        match &mut self.place.0 {
            Some(far) => far.look_again(rows),
            None => self.forward(observations, rows.len()),
        }
    }

    /// Clips the whole gradient; returns its norm before.
    pub(crate) fn clip(&mut self, max_norm: f32) -> f32 {
        match &mut self.place.0 {
            Some(far) => far.remote.clip(max_norm),
            None => clip_gradient_norm(self.params.gradients_mut(), max_norm),
        }
    }

    /// One step of the optimiser against the gradient.
    pub(crate) fn descend(&mut self, optimiser: &mut impl Optimiser, learning_rate: f32) {
        match &mut self.place.0 {
            Some(far) => {
                optimiser.step_there(&mut *far.remote, learning_rate);
                // The deviations are looked at here.
                if self.log_std.is_some() {
                    far.remote.read(Kept::Weights, self.params.values_mut());
                }
            }
            None => {
                let (values, gradients) = self.params.split_mut();
                optimiser.step(values, gradients, learning_rate);
            }
        }
    }

    /// One step of K-FAC against the gradient.
    pub(crate) fn descend_naturally(&mut self, kfac: &mut Kfac) -> Result<KfacStep, KfacError> {
        match &mut self.place.0 {
            Some(far) => {
                let step = kfac.step_there(&mut *far.remote)?;
                if self.log_std.is_some() {
                    far.remote.read(Kept::Weights, self.params.values_mut());
                }
                Ok(step)
            }
            None => kfac.step(&mut self.params),
        }
    }

    /// The first tensor whose gradient is not finite, by name.
    pub(crate) fn first_not_finite_gradient(&mut self) -> Option<&str> {
        self.fetch();
        self.params.first_not_finite_gradient()
    }
}

fn fetch(remote: &dyn Remote, params: &mut Parameters) {
    remote.read(Kept::Weights, params.values_mut());
    remote.read(Kept::Gradient, params.gradients_mut());
}
