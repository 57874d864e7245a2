//! The agent's networks on another processor: observations go to it, outputs come back.
//!
//! [`ActorCritic::params`] is then a copy that is as old as the last [`ActorCritic::fetch`]. This file alone knows
//! where the networks are; methods call `forward_cached`, `clip` and `descend`.

use epgt_nn::{
    Buffer, Kfac, KfacError, KfacStep, Optimiser, Parameters, Rates, Remote, RemoteKfac, clip_gradient_norm,
};

use crate::ActorCritic;

/// Heads of the networks.
const POLICY: usize = 0;
const VALUE: usize = 1;

/// The networks on another processor, and their outputs for the last batch.
pub(crate) struct RemoteNetworks {
    remote: Box<dyn Remote>,
    policy: Vec<f32>,
    value: Vec<f32>,
    /// Policy outputs of a row.
    outputs: usize,
}

impl RemoteNetworks {
    /// Runs the networks on images.
    pub fn forward(&mut self, images: &[u8], batch: usize) {
        self.remote.forward(images, batch);
        self.read_outputs(batch);
    }

    fn forward_cached(&mut self, rows: &[u32]) {
        self.remote.forward_cached(rows);
        self.read_outputs(rows.len());
    }

    fn read_outputs(&mut self, batch: usize) {
        self.policy.resize(batch * self.outputs, 0.0);
        self.value.resize(batch, 0.0);
        self.remote.read_outputs(POLICY, &mut self.policy);
        self.remote.read_outputs(VALUE, &mut self.value);
    }

    pub fn backward(&mut self, policy_gradient: &[f32], log_std_gradient: &[f32], value_gradient: &[f32]) {
        self.remote
            .backward(&[policy_gradient, value_gradient], log_std_gradient);
    }
}

/// Where the networks are. A copy of an agent is always on this processor, with the weights of the last
/// [`ActorCritic::fetch`].
#[derive(Default)]
pub(crate) struct Place(pub Option<RemoteNetworks>);

impl Clone for Place {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl ActorCritic {
    /// Moves the networks to another processor, which must have been made for networks of this shape.
    pub fn move_to(&mut self, remote: Box<dyn Remote>) {
        self.place.0 = Some(RemoteNetworks {
            remote,
            policy: Vec::new(),
            value: Vec::new(),
            outputs: self.distribution.outputs(),
        });
        self.send();
    }

    /// The other processor that the networks are on, if they are on one.
    pub fn remote(&self) -> Option<&dyn Remote> {
        self.place.0.as_ref().map(|networks| &*networks.remote)
    }

    /// The other processor that the networks are on, to change something on it.
    pub fn remote_mut(&mut self) -> Option<&mut dyn Remote> {
        match &mut self.place.0 {
            Some(networks) => Some(&mut *networks.remote),
            None => None,
        }
    }

    /// Reads `params` from the other processor, if the networks are on one.
    pub fn fetch(&mut self) {
        if let Some(networks) = &self.place.0 {
            fetch(&*networks.remote, &mut self.params);
        }
    }

    /// Writes `params` to the other processor, if the networks are on one.
    pub fn send(&mut self) {
        if let Some(networks) = &mut self.place.0 {
            networks.remote.write(Buffer::Weights, self.params.values());
            networks.remote.write(Buffer::Gradient, self.params.gradients());
        }
    }

    /// Logits or means of the last batch.
    pub fn policy_output(&self) -> &[f32] {
        match &self.place.0 {
            Some(networks) => &networks.policy,
            None => self.policy.output(),
        }
    }

    /// The same, to change them.
    pub(crate) fn policy_output_mut(&mut self) -> &mut [f32] {
        match &mut self.place.0 {
            Some(networks) => &mut networks.policy,
            None => self.policy.output_mut(),
        }
    }

    /// Values of the last batch.
    pub fn value_output(&self) -> &[f32] {
        match &self.place.0 {
            Some(networks) => &networks.value,
            None => self.value.output(),
        }
    }

    /// Keeps the images of the last forward pass on the other processor, as rows of the rollout from `first` on. On
    /// this processor the rollout itself keeps them.
    pub fn keep(&mut self, first: usize) {
        if let Some(networks) = &mut self.place.0 {
            networks.remote.keep(first);
        }
    }

    /// Whether the networks, and the rollout's observations, are on another processor.
    pub fn is_remote(&self) -> bool {
        self.place.0.is_some()
    }

    /// Runs both networks on rows of the rollout: on the rows that the other processor keeps, or on `observations`,
    /// which are those rows.
    pub fn forward_cached<'a>(&mut self, observations: impl Into<epgt_envs::Rows<'a>>, rows: &[u32]) {
        match &mut self.place.0 {
            Some(networks) => networks.forward_cached(rows),
            None => self.forward(observations, rows.len()),
        }
        self.temper(rows.iter().map(|&row| row as usize));
    }

    /// Clips the whole gradient; returns its norm before.
    pub fn clip(&mut self, max_norm: f32) -> f32 {
        match &mut self.place.0 {
            Some(networks) => networks.remote.clip(max_norm),
            None => clip_gradient_norm(self.params.gradients_mut(), max_norm),
        }
    }

    /// One step of the optimiser against the gradient, with one learning rate, or with another for some weights.
    pub fn descend(&mut self, optimiser: &mut impl Optimiser, rates: impl Into<Rates>) {
        let rates = rates.into();
        match &mut self.place.0 {
            Some(networks) => {
                optimiser.step_remote(networks.remote.optimiser(), &rates);
                self.fetch_log_std();
            }
            None => {
                let (values, gradients) = self.params.split_mut();
                optimiser.step(values, gradients, &rates);
            }
        }
    }

    /// One step of K-FAC against the gradient.
    ///
    /// # Panics
    /// If the networks are on a processor without K-FAC.
    pub fn descend_naturally(&mut self, kfac: &mut Kfac) -> Result<KfacStep, KfacError> {
        if !self.is_remote() {
            return kfac.step(&mut self.params);
        }
        let step = kfac.step_remote(self.remote_kfac())?;
        self.fetch_log_std();
        Ok(step)
    }

    /// K-FAC on the other processor.
    ///
    /// # Panics
    /// If the networks are not on another processor, or it has no K-FAC.
    pub(crate) fn remote_kfac(&mut self) -> &mut dyn RemoteKfac {
        let kfac = self.remote_mut().and_then(|remote| remote.kfac());
        kfac.expect("ACKTR's networks are only moved to a processor with K-FAC")
    }

    /// Reads the weights from the other processor where the log standard deviations, which are used on this one, are
    /// among them.
    fn fetch_log_std(&mut self) {
        if let (Some(networks), Some(_)) = (&self.place.0, self.log_std) {
            networks.remote.read(Buffer::Weights, self.params.values_mut());
        }
    }

    /// The first tensor whose gradient is not finite, by name.
    pub fn first_not_finite_gradient(&mut self) -> Option<&str> {
        self.fetch();
        self.params.first_not_finite_gradient()
    }
}

fn fetch(remote: &dyn Remote, params: &mut Parameters) {
    remote.read(Buffer::Weights, params.values_mut());
    remote.read(Buffer::Gradient, params.gradients_mut());
}
