//! The agent: a policy network, a value network, and the distribution its actions are drawn from.
//!
//! All weights live in one [`Parameters`], so the optimiser, the hyper-state and a checkpoint see one flat vector with
//! named parts. A method needs only four verbs of it: [`ActorCritic::forward`] on a batch, the two outputs, and
//! [`ActorCritic::backward`] with the gradients of both. Whether the networks share hidden layers, and in which
//! unit actions are drawn before they go into the environment, is nobody else's business.

use std::ops::Range;

use crate::action_map::ActionMap;
use crate::noise::scale;
use crate::remote::Place;
use crate::trunk::{Network, Trunk};
use crate::{ActionDistribution, ActionUnit, PgError, PolicySettings};
use epgt_envs::{RowShape, Rows, Space};
use epgt_nn::{Activation, Cnn, Kfac, Linear, Mlp, Parameters, TensorId, TensorShape};
use epgt_rng::Pcg64;

/// Gain of the orthogonal weights of hidden layers.
const HIDDEN_GAIN: f32 = std::f32::consts::SQRT_2;
/// Gain of the policy's last layer: small, so that the first policy is near uniform (or near zero mean).
const POLICY_GAIN: f32 = 0.01;
/// Gain of the value's last layer.
const VALUE_GAIN: f32 = 1.0;

/// Policy and value networks with all their weights.
///
/// Tensors are named `policy.0.weight`, `policy.0.bias`, ..., `value.0.weight`, ... and, for continuous actions,
/// `policy.log_std`. Where hidden layers are shared, these are `trunk.0.weight`, ... and the other two networks have a
/// layer each. Networks on images always share theirs, `trunk.conv.0.weight`, ... and `trunk.dense.0.weight`, ...
///
/// ```
/// use epgt_envs::Space;
/// use epgt_pg::{ActorCritic, PolicySettings};
/// use epgt_rng::Pcg64;
/// let mut rng = Pcg64::from_seed(0);
/// let mut agent = ActorCritic::new(&PolicySettings::default(), 4, &Space::Discrete(2), &mut rng);
/// let (mut actions, mut log_probs, mut values) = ([0.0; 3], [0.0; 3], [0.0; 3]);
/// agent.act(&[0.1; 12], 3, &mut rng, &mut actions, &mut log_probs, &mut values);
/// assert!(actions.iter().all(|&action| action == 0.0 || action == 1.0));
/// assert!(log_probs.iter().all(|log_prob| (log_prob - 0.5f32.ln()).abs() < 0.1));
/// ```
#[derive(Clone)]
pub struct ActorCritic {
    /// Every weight and its gradient.
    pub params: Parameters,
    /// The shared hidden layers, where there are any.
    trunk: Option<Trunk>,
    /// Observations (or the trunk's features) to logits or means.
    pub policy: Mlp,
    /// Observations (or the trunk's features) to values.
    pub value: Mlp,
    /// Log standard deviations, for continuous actions.
    pub log_std: Option<TensorId>,
    /// What the policy's outputs mean.
    pub distribution: ActionDistribution,
    /// From draws to the task's actions, where they are not the same.
    map: Option<ActionMap>,
    /// Multipliers of the noise that each environment acts with; empty where all act alike.
    pub(crate) noise: Vec<f32>,
    /// Actions on their way to the task, of the largest batch seen.
    given: Vec<f32>,
    /// Where the networks are, where that is not here.
    pub(crate) place: Place,
    observation_size: usize,
    /// Which of the weights are the value network's.
    critic: Range<usize>,
}

impl ActorCritic {
    /// Builds the networks. The settings must be valid ([`PolicySettings::validate`]) and fit the actions
    /// ([`PolicySettings::validate_for`]).
    ///
    /// ```
    /// # use epgt_envs::{RowShape, Space};
    /// # use epgt_pg::{ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let settings = PolicySettings { image_hidden: vec![16], ..Default::default() };
    /// let mut agent = ActorCritic::new(&settings, RowShape::Image([1, 36, 36]), &Space::Discrete(3), &mut rng);
    /// let mut values = [0.0; 2];
    /// agent.values_of(&[255_u8; 2 * 36 * 36], 2, &mut values);
    /// assert_eq!(values[0], values[1]);
    /// ```
    pub fn new(settings: &PolicySettings, observation: impl Into<RowShape>, actions: &Space, rng: &mut Pcg64) -> Self {
        let observation = observation.into();
        let distribution = ActionDistribution::for_space(actions);
        let activation = settings.activation.of_layers();
        let mut params = Parameters::new();
        let image = image_trunk(settings, observation, &mut params, rng);
        let mut network = |name: &str, sizes: &[usize], output: Activation, gain: f32| match settings.ortho_init {
            true => Mlp::new(&mut params, name, sizes, activation, output, HIDDEN_GAIN, gain, rng),
            false => Mlp::uniform(&mut params, name, sizes, activation, output, rng),
        };
        let sizes = |hidden: &[usize], outputs: &[usize]| [&[observation.size()], hidden, outputs].concat();
        let (outputs, linear) = (distribution.outputs(), Activation::Identity);
        let dense = (image.is_none() && settings.shared)
            .then(|| network("trunk", &sizes(&settings.hidden, &[]), activation, HIDDEN_GAIN));
        let trunk = image
            .map(Network::Pixels)
            .or(dense.map(Network::Numbers))
            .map(Trunk::new);
        let features = trunk
            .as_ref()
            .and_then(|trunk| trunk.dense().last())
            .map(Linear::outputs);
        let (policy_sizes, value_sizes) = match features {
            Some(features) => (vec![features, outputs], vec![features, 1]),
            None => (
                sizes(&settings.hidden, &[outputs]),
                sizes(settings.value_widths(), &[1]),
            ),
        };
        let policy = network("policy", &policy_sizes, linear, POLICY_GAIN);
        let value = network("value", &value_sizes, linear, VALUE_GAIN);
        let of_critic = |shape: &&TensorShape| shape.name.starts_with("value.");
        let mut shapes = params.shapes().iter().filter(of_critic);
        let first = shapes.next().map_or(0..0, TensorShape::range);
        let critic = first.start..shapes.next_back().map_or(first.end, |shape| shape.range().end);
        let log_std = match distribution.log_std_size() {
            0 => None,
            size => {
                let id = params.add("policy.log_std", 1, size);
                params.value_mut(id).fill(settings.initial_log_std(size));
                Some(id)
            }
        };
        let map = match (settings.squash, settings.action_unit) {
            _ if log_std.is_none() => None,
            (true, _) => Some(ActionMap::squash(actions)),
            (false, ActionUnit::Range) => Some(ActionMap::to_range(actions)),
            (false, ActionUnit::Task) => None,
        };
        Self {
            params,
            trunk,
            policy,
            value,
            log_std,
            distribution,
            map,
            noise: Vec::new(),
            given: Vec::new(),
            place: Place::default(),
            observation_size: observation.size(),
            critic,
        }
    }

    /// Numbers or bytes in one observation.
    pub fn observation_size(&self) -> usize {
        self.observation_size
    }

    /// Log standard deviations of the policy; empty for discrete actions.
    pub fn log_std(&self) -> &[f32] {
        self.log_std.map_or(&[], |id| self.params.value(id))
    }

    /// Which of the weights are the critic's alone. Where layers are shared, these are its last layer's.
    ///
    /// ```
    /// # use epgt_pg::{ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let settings = PolicySettings { hidden: vec![8], shared: true, ..Default::default() };
    /// let agent = ActorCritic::new(&settings, 4, &epgt_envs::Space::Discrete(2), &mut rng);
    /// assert_eq!(agent.critic().len(), 8 + 1);
    /// ```
    pub fn critic(&self) -> Range<usize> {
        self.critic.clone()
    }

    /// Every dense layer: the shared ones, the policy's, the value's.
    ///
    /// ```
    /// # use epgt_pg::{ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let settings = PolicySettings { hidden: vec![16, 8], shared: true, ..Default::default() };
    /// let agent = ActorCritic::new(&settings, 4, &epgt_envs::Space::Discrete(2), &mut rng);
    /// let outputs: Vec<usize> = agent.layers().map(|layer| layer.outputs()).collect();
    /// assert_eq!(outputs, [16, 8, 2, 1]);
    /// ```
    pub fn layers(&self) -> impl Iterator<Item = &Linear> {
        let shared = self.trunk.iter().flat_map(|trunk| trunk.dense());
        shared.chain(self.policy.layers()).chain(self.value.layers())
    }

    /// Adds every layer to K-FAC.
    pub(crate) fn add_to(&self, kfac: &mut Kfac) {
        if let Some(trunk) = &self.trunk {
            trunk.add_convs(kfac);
        }
        for layer in self.layers() {
            kfac.add_linear(layer);
        }
    }

    /// Shows K-FAC, to which this agent was added, the last passes of every layer.
    pub(crate) fn show_to(&self, kfac: &mut Kfac) {
        let shared = self.trunk.as_ref().map_or(0, |trunk| trunk.show_to(kfac));
        let own = self.policy.layers().iter().chain(self.value.layers());
        for (i, layer) in (shared..).zip(own) {
            kfac.observe_rows(i, layer.input(), layer.delta(), layer.batch());
        }
    }

    /// Samples an action for each of `n` observations; writes its log-probability and the observation's value. The
    /// actions are as drawn: the environment is given [`ActorCritic::for_task`] of them.
    pub fn act<'a>(
        &mut self,
        observations: impl Into<Rows<'a>>,
        n: usize,
        rng: &mut Pcg64,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        self.forward(observations, n);
        self.temper(0..n);
        self.distribution
            .sample(self.policy_output(), self.log_std(), rng, actions, log_probs);
        values.copy_from_slice(self.value_output());
    }

    /// What the environments are given for actions as drawn: with `squash`, `middle + half * tanh(drawn)` of the task's
    /// bounds, in units of the range `middle + half * drawn`, else the actions themselves; where environments act with
    /// noise of their own, that of `drawn` times its multiplier.
    ///
    /// Losses speak of the actions as drawn. The density of a mapped action is that of the draw divided by the slope of
    /// the map there, which no weight changes: it cancels in ratios of probabilities and in divergences, and has no
    /// gradient. Only the entropy is another; the one learned with is that before the map.
    ///
    /// ```
    /// # use epgt_pg::{ActorCritic, PolicySettings};
    /// # let mut rng = epgt_rng::Pcg64::from_seed(0);
    /// let torque = epgt_envs::Space::Box { low: vec![-2.0], high: vec![2.0] };
    /// let settings = PolicySettings { squash: true, ..Default::default() };
    /// let mut agent = ActorCritic::new(&settings, 3, &torque, &mut rng);
    /// assert!((agent.for_task(&[0.5])[0] - 2.0 * 0.5f32.tanh()).abs() < 1e-6);
    /// ```
    pub fn for_task<'a>(&'a mut self, drawn: &'a [f32]) -> &'a [f32] {
        let spreads = self.log_std.is_some() && !self.noise.is_empty();
        if self.map.is_none() && !spreads {
            return drawn;
        }
        self.given.clear();
        self.given.extend_from_slice(drawn);
        if spreads {
            let rows = self.given.chunks_exact_mut(self.distribution.action_size());
            for (row, &noise) in rows.zip(&self.noise) {
                scale(row, noise);
            }
        }
        if let Some(map) = &self.map {
            map.in_place(&mut self.given);
        }
        &self.given
    }

    /// The likeliest action for each of `n` observations, as the environment is given it: what evaluation and a
    /// deployed policy use. A squashed policy's is the squashed mean.
    pub fn act_greedy<'a>(&mut self, observations: impl Into<Rows<'a>>, n: usize, actions: &mut [f32]) {
        self.forward_policy(observations, n);
        self.distribution.mode(self.policy_output(), actions);
        if let Some(map) = &self.map {
            map.in_place(actions);
        }
    }

    /// An action drawn for each observation, as the environment is given it, with a generator of its own for each: what
    /// is drawn for one does not depend on how many others there are.
    pub fn act_drawn<'a>(&mut self, observations: impl Into<Rows<'a>>, rngs: &mut [Pcg64], actions: &mut [f32]) {
        self.forward_policy(observations, rngs.len());
        let (outputs, size) = (self.distribution.outputs(), actions.len() / rngs.len());
        let rows = self.policy_output().chunks_exact(outputs);
        for ((row, rng), action) in rows.zip(rngs).zip(actions.chunks_exact_mut(size)) {
            self.distribution.sample(row, self.log_std(), rng, action, &mut [0.0]);
        }
        if let Some(map) = &self.map {
            map.in_place(actions);
        }
    }

    /// Values of `n` observations.
    pub fn values_of<'a>(&mut self, observations: impl Into<Rows<'a>>, n: usize, values: &mut [f32]) {
        let observations = observations.into();
        match &mut self.place.0 {
            Some(networks) => networks.forward(observations.bytes(), n),
            None => {
                let features = features(&mut self.trunk, &self.params, observations, n);
                self.value.forward(&self.params, features, n);
            }
        }
        values.copy_from_slice(self.value_output());
    }

    /// Runs both networks on a batch; the results are [`policy_output`](Self::policy_output) and
    /// [`value_output`](Self::value_output).
    pub fn forward<'a>(&mut self, observations: impl Into<Rows<'a>>, batch: usize) {
        let observations = observations.into();
        if let Some(networks) = &mut self.place.0 {
            return networks.forward(observations.bytes(), batch);
        }
        let features = features(&mut self.trunk, &self.params, observations, batch);
        self.policy.forward(&self.params, features, batch);
        self.value.forward(&self.params, features, batch);
    }

    /// Runs the policy on a batch, and the value only where that costs nothing; the result is
    /// [`policy_output`](Self::policy_output).
    pub fn forward_policy<'a>(&mut self, observations: impl Into<Rows<'a>>, batch: usize) {
        if self.is_remote() {
            return self.forward(observations, batch);
        }
        let features = features(&mut self.trunk, &self.params, observations.into(), batch);
        self.policy.forward(&self.params, features, batch);
    }

    /// Pushes the gradients of the last forward's outputs back; overwrites every gradient in `params`.
    pub fn backward(&mut self, policy_gradient: &[f32], log_std_gradient: &[f32], value_gradient: &[f32]) {
        if let Some(networks) = &mut self.place.0 {
            return networks.backward(policy_gradient, log_std_gradient, value_gradient);
        }
        match &mut self.trunk {
            None => {
                self.policy.backward(&mut self.params, policy_gradient);
                self.value.backward(&mut self.params, value_gradient);
            }
            Some(trunk) => {
                let (policy, value) = (&mut self.policy, &mut self.value);
                trunk.backward(&mut self.params, (policy, policy_gradient), (value, value_gradient));
            }
        }
        if let Some(id) = self.log_std {
            self.params.gradient_mut(id).copy_from_slice(log_std_gradient);
        }
    }

    /// Whether the value has networks of its own, on this processor: then it can learn alone.
    pub(crate) fn critic_is_apart(&self) -> bool {
        self.trunk.is_none() && !self.is_remote()
    }

    /// Pushes the gradient of the values of the last [`values_of`](Self::values_of) back into the critic's weights
    /// alone.
    pub(crate) fn backward_value(&mut self, value_gradient: &[f32]) {
        self.value.backward(&mut self.params, value_gradient);
    }

    /// Takes over saved parameters, or says why they are not of this network.
    pub fn restore(&mut self, saved: Parameters) -> Result<(), PgError> {
        for (own, other) in self.params.shapes().iter().zip(saved.shapes()) {
            if own != other {
                return Err(PgError::OtherNetworks(format!(
                    "the saved policy has {} of {}x{} where {} of {}x{} is wanted; use the settings it was trained with",
                    other.name, other.rows, other.cols, own.name, own.rows, own.cols
                )));
            }
        }
        if saved.len() != self.params.len() || saved.shapes().len() != self.params.shapes().len() {
            return Err(PgError::OtherNetworks(format!(
                "the saved policy has {} parameters where {} are wanted; use the settings it was trained with",
                saved.len(),
                self.params.len()
            )));
        }
        self.params = saved;
        self.send();
        Ok(())
    }
}

/// What the policy and value networks look at: the observations themselves, or the shared layers' view of them.
fn features<'a>(trunk: &'a mut Option<Trunk>, params: &Parameters, observations: Rows<'a>, batch: usize) -> &'a [f32] {
    match trunk {
        None => observations.numbers(),
        Some(trunk) => trunk.forward(params, observations, batch),
    }
}

/// The layers that look at images, where observations are images.
fn image_trunk(
    settings: &PolicySettings,
    observation: RowShape,
    params: &mut Parameters,
    rng: &mut Pcg64,
) -> Option<Cnn> {
    let RowShape::Image(sides) = observation else {
        return None;
    };
    let (convs, hidden, relu) = (settings.convs(), &settings.image_hidden, Activation::Relu);
    Some(match settings.ortho_init {
        true => Cnn::new(params, "trunk", sides, &convs, hidden, relu, HIDDEN_GAIN, rng),
        false => Cnn::uniform(params, "trunk", sides, &convs, hidden, relu, rng),
    })
}

#[cfg(test)]
mod tests;
