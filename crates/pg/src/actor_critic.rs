//! The agent: a policy network, a value network, and the distribution its actions are drawn from.
//!
//! All weights live in one [`Parameters`], so the optimiser, the hyper-state and a checkpoint see one flat vector with named
//! parts. A method needs only four verbs of it: [`ActorCritic::forward`] on a batch, the two outputs, and
//! [`ActorCritic::backward`] with the gradients of both.

use crate::ActionDistribution;
use epgt_envs::Space;
use epgt_nn::{Activation, Mlp, Parameters, TensorId};
use epgt_rng::Pcg64;

/// Gain of the orthogonal weights of hidden layers.
const HIDDEN_GAIN: f32 = std::f32::consts::SQRT_2;
/// Gain of the policy's last layer: small, so that the first policy is near uniform (or near zero mean).
const POLICY_GAIN: f32 = 0.01;
/// Gain of the value's last layer.
const VALUE_GAIN: f32 = 1.0;

epgt_settings::choice! {
    /// The non-linearity between layers.
    pub enum HiddenActivation {
        /// Hyperbolic tangent, the usual choice for vector observations.
        Tanh = "tanh",
        /// Rectifier.
        Relu = "relu",
    }
}

epgt_settings::settings! {
    /// Shape of the policy and value networks.
    pub struct PolicySettings {
        /// Widths of the hidden layers of the policy and of the value network, which share nothing. Use [64, 64] for MuJoCo
        /// tasks.
        pub hidden: Vec<usize> = vec![32, 32];
        /// The non-linearity between layers.
        pub activation: HiddenActivation = HiddenActivation::Tanh;
        /// Initial log standard deviation of continuous actions. 0 explores with a deviation of 1 in the task's own units, which
        /// is far too much where the actions are confined to something like [-0.4, 0.4]: lower it there.
        pub log_std_init: f32 = 0.0;
    }
}

impl PolicySettings {
    /// Refuses what no network can be built from, in one sentence.
    ///
    /// ```
    /// use epgt_pg::PolicySettings;
    /// let settings = PolicySettings { hidden: vec![32, 0], ..Default::default() };
    /// assert!(settings.validate().unwrap_err().contains("hidden"));
    /// ```
    pub fn validate(&self) -> Result<(), String> {
        if self.hidden.contains(&0) {
            return Err("hidden = 0 cannot be used: every hidden layer needs at least one unit".to_string());
        }
        if !self.log_std_init.is_finite() {
            return Err(format!(
                "log_std_init = {} cannot be used: a finite number is wanted",
                self.log_std_init
            ));
        }
        Ok(())
    }
}

/// Policy and value networks over vector observations, with all their weights.
///
/// Tensors are named `policy.0.weight`, `policy.0.bias`, ..., `value.0.weight`, ... and, for continuous actions,
/// `policy.log_std`.
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
    /// Observations to logits or means.
    pub policy: Mlp,
    /// Observations to values.
    pub value: Mlp,
    /// Log standard deviations, for continuous actions.
    pub log_std: Option<TensorId>,
    /// What the policy's outputs mean.
    pub distribution: ActionDistribution,
    observation_size: usize,
}

impl ActorCritic {
    /// Builds both networks with orthogonal weights. The settings must be valid ([`PolicySettings::validate`]).
    pub fn new(settings: &PolicySettings, observation_size: usize, actions: &Space, rng: &mut Pcg64) -> Self {
        let distribution = ActionDistribution::for_space(actions);
        let activation = match settings.activation {
            HiddenActivation::Tanh => Activation::Tanh,
            HiddenActivation::Relu => Activation::Relu,
        };
        let mut params = Parameters::new();
        let mut network = |name: &str, outputs: usize, gain: f32| {
            let mut sizes = vec![observation_size];
            sizes.extend(&settings.hidden);
            sizes.push(outputs);
            Mlp::new(
                &mut params,
                name,
                &sizes,
                activation,
                Activation::Identity,
                HIDDEN_GAIN,
                gain,
                rng,
            )
        };
        let policy = network("policy", distribution.outputs(), POLICY_GAIN);
        let value = network("value", 1, VALUE_GAIN);
        let log_std = match distribution.log_std_size() {
            0 => None,
            size => {
                let id = params.add("policy.log_std", 1, size);
                params.value_mut(id).fill(settings.log_std_init);
                Some(id)
            }
        };
        Self {
            params,
            policy,
            value,
            log_std,
            distribution,
            observation_size,
        }
    }

    /// Numbers in one observation.
    pub fn observation_size(&self) -> usize {
        self.observation_size
    }

    /// Log standard deviations of the policy; empty for discrete actions.
    pub fn log_std(&self) -> &[f32] {
        self.log_std.map_or(&[], |id| self.params.value(id))
    }

    /// Samples an action for each of `n` observations; writes its log-probability and the observation's value.
    pub fn act(
        &mut self,
        observations: &[f32],
        n: usize,
        rng: &mut Pcg64,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        self.forward(observations, n);
        self.distribution
            .sample(self.policy.output(), self.log_std(), rng, actions, log_probs);
        values.copy_from_slice(self.value.output());
    }

    /// The likeliest action for each of `n` observations: what evaluation and a deployed policy use.
    pub fn act_greedy(&mut self, observations: &[f32], n: usize, actions: &mut [f32]) {
        let outputs = self.policy.forward(&self.params, observations, n);
        self.distribution.mode(outputs, actions);
    }

    /// Values of `n` observations.
    pub fn values_of(&mut self, observations: &[f32], n: usize, values: &mut [f32]) {
        values.copy_from_slice(self.value.forward(&self.params, observations, n));
    }

    /// Runs both networks on a batch; the results are `policy.output()` and `value.output()`.
    pub fn forward(&mut self, observations: &[f32], batch: usize) {
        self.policy.forward(&self.params, observations, batch);
        self.value.forward(&self.params, observations, batch);
    }

    /// Pushes the gradients of the last forward's outputs back; overwrites every gradient in `params`.
    pub fn backward(&mut self, policy_gradient: &[f32], log_std_gradient: &[f32], value_gradient: &[f32]) {
        self.policy.backward(&mut self.params, policy_gradient);
        self.value.backward(&mut self.params, value_gradient);
        if let Some(id) = self.log_std {
            self.params.gradient_mut(id).copy_from_slice(log_std_gradient);
        }
    }

    /// Takes over saved parameters, or says why they are not of this network.
    pub fn restore(&mut self, saved: Parameters) -> Result<(), String> {
        for (own, other) in self.params.tensors().zip(saved.tensors()) {
            if (own.name, own.rows, own.cols) != (other.name, other.rows, other.cols) {
                return Err(format!(
                    "the saved policy has {} of {}x{} where {} of {}x{} is wanted; use the settings it was trained with",
                    other.name, other.rows, other.cols, own.name, own.rows, own.cols
                ));
            }
        }
        if saved.len() != self.params.len() {
            return Err(format!(
                "the saved policy has {} parameters where {} are wanted; use the settings it was trained with",
                saved.len(),
                self.params.len()
            ));
        }
        self.params = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(actions: &Space, hidden: Vec<usize>) -> ActorCritic {
        let settings = PolicySettings {
            hidden,
            log_std_init: -1.0,
            ..Default::default()
        };
        ActorCritic::new(&settings, 3, actions, &mut Pcg64::from_seed(7))
    }

    fn cube(dim: usize) -> Space {
        Space::Box {
            low: vec![-1.0; dim],
            high: vec![1.0; dim],
        }
    }

    #[test]
    fn tensors_are_named_after_their_network_and_layer() {
        let agent = agent(&cube(2), vec![5]);
        let shapes: Vec<_> = agent.params.tensors().map(|t| (t.name, t.rows, t.cols)).collect();
        assert_eq!(
            shapes,
            [
                ("policy.0.weight", 5, 3),
                ("policy.0.bias", 1, 5),
                ("policy.1.weight", 2, 5),
                ("policy.1.bias", 1, 2),
                ("value.0.weight", 5, 3),
                ("value.0.bias", 1, 5),
                ("value.1.weight", 1, 5),
                ("value.1.bias", 1, 1),
                ("policy.log_std", 1, 2),
            ]
        );
        assert_eq!(agent.log_std(), [-1.0, -1.0]);
    }

    #[test]
    fn the_first_policy_is_near_uniform() {
        let mut agent = agent(&Space::Discrete(4), vec![16, 16]);
        agent.forward(&[1.0, -2.0, 3.0], 1);
        assert!(agent.policy.output().iter().all(|logit| logit.abs() < 0.1));
    }

    #[test]
    fn acting_greedily_gives_the_mean_of_a_gaussian_policy() {
        let mut agent = agent(&cube(2), vec![8]);
        let mut actions = [0.0; 4];
        agent.act_greedy(&[0.5; 6], 2, &mut actions);
        assert_eq!(&actions, agent.policy.output());
    }

    #[test]
    fn parameters_of_another_shape_are_refused_by_name() {
        let mut narrow = agent(&cube(2), vec![5]);
        let wide = agent(&cube(2), vec![6]);
        let error = narrow.restore(wide.params).unwrap_err();
        assert!(
            error.contains("policy.0.weight of 6x3 where policy.0.weight of 5x3"),
            "{error}"
        );
        let same = agent(&cube(2), vec![5]);
        assert_eq!(narrow.restore(same.params), Ok(()));
    }
}
