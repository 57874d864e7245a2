//! What the methods' updates share: from the networks' outputs to a clipped gradient, and what an update reports.

use std::fmt;

use epgt_envs::Rows;
use epgt_nn::Kfac;
use serde::Serialize;

use crate::ActorCritic;
use crate::noise::scale;

epgt_settings::choice! {
    /// How a base value changes over training. What a hyper-agent chooses is multiplied by the schedule's current
    /// share.
    pub enum Schedule {
        /// Not at all.
        Constant = "constant",
        /// Falls in a straight line to 0 at the end, once per rollout.
        Linear = "linear",
    }
}

impl Schedule {
    /// What the base value is multiplied by when `remaining` of the training is left (1 at the start).
    ///
    /// ```
    /// use epgt_pg::Schedule;
    /// assert_eq!((Schedule::Constant.share(0.25), Schedule::Linear.share(0.25)), (1.0, 0.25));
    /// ```
    pub fn share(self, remaining: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Linear => remaining,
        }
    }

    /// The names, where what they name falls over training.
    pub fn falling(self, names: &[&'static str]) -> Vec<&'static str> {
        match self {
            Self::Constant => Vec::new(),
            Self::Linear => names.to_vec(),
        }
    }
}

/// Whether an update phase goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Another update step of this rollout follows.
    GoesOn,
    /// The next rollout is wanted.
    Over,
}

/// What the updates of a phase did, as means over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UpdateStats {
    /// The policy's loss: `-mean(A log pi)`, or PPO's clipped surrogate.
    pub policy_loss: f32,
    /// `mean((V - R)^2)`, before `vf_coef`.
    pub value_loss: f32,
    /// Mean entropy of the policy.
    pub entropy: f32,
    /// Norm of the gradient before clipping.
    pub grad_norm: f32,
    /// Estimate of the divergence from the policy that acted; PPO only.
    pub approx_kl: Option<f32>,
    /// Share of the steps whose probability ratio was clipped; PPO only.
    pub clip_fraction: Option<f32>,
    /// Share of the natural gradient that the trust region let through; ACKTR only.
    pub trust_scale: Option<f32>,
    /// How far the phase should move the policy, where that is set: the mean divergence KL(old || new).
    pub target_divergence: Option<f32>,
    /// How far the phase moved it, over the rollout's rows; where a step was shortened, before that.
    pub divergence: Option<f32>,
}

impl UpdateStats {
    /// Makes the mean over `before` steps the mean over one more.
    pub(crate) fn take_in(&mut self, step: &Self, before: usize) {
        let weight = 1.0 / (before + 1) as f32;
        let mean = |mean: &mut f32, new: f32| *mean += weight * (new - *mean);
        mean(&mut self.policy_loss, step.policy_loss);
        mean(&mut self.value_loss, step.value_loss);
        mean(&mut self.entropy, step.entropy);
        mean(&mut self.grad_norm, step.grad_norm);
        for (old, new) in [
            (&mut self.approx_kl, step.approx_kl),
            (&mut self.clip_fraction, step.clip_fraction),
        ] {
            if let Some(new) = new {
                mean(old.get_or_insert(new), new);
            }
        }
    }
}

/// Training ran into a number that is not finite; the parameters are those of the last good update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// Where it was first seen: `loss/policy`, `gradient of policy.1.weight`, ...
    pub place: String,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not finite: training has diverged; lower learning_rate, or normalise observations and rewards",
            self.place
        )
    }
}

impl std::error::Error for NotFinite {}

/// The number, or where it was not one.
pub fn finite(place: &str, number: f32) -> Result<f32, NotFinite> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(NotFinite {
            place: place.to_string(),
        }),
    }
}

/// Buffers between the outputs of a batch and their gradients; they grow to the largest batch and then stay.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Log-probabilities of the actions.
    pub log_probs: Vec<f32>,
    /// Entropies of the policy.
    pub entropies: Vec<f32>,
    /// The loss's gradient with respect to the log-probabilities.
    pub log_prob_gradient: Vec<f32>,
    /// The same with respect to the entropies.
    pub entropy_gradient: Vec<f32>,
    /// The same with respect to the values.
    pub value_gradient: Vec<f32>,
    policy_gradient: Vec<f32>,
    log_std_gradient: Vec<f32>,
    /// What the outputs of each row were divided by, where environments act with noise of their own.
    noise: Vec<f32>,
    /// 0, 1, 2, ...: the rows of a whole rollout.
    all: Vec<u32>,
}

impl Workspace {
    /// Runs the networks on the whole rollout; fills `log_probs` of the actions and `entropies`.
    pub fn forward_all(&mut self, agent: &mut ActorCritic, observations: Rows<'_>, actions: &[f32]) {
        let batch = actions.len() / agent.distribution.action_size();
        let mut all = std::mem::take(&mut self.all);
        all.extend(all.len() as u32..batch as u32);
        self.forward(agent, observations, &all[..batch], actions);
        self.all = all;
    }

    /// Runs the networks on some rows of the rollout, whose observations these are; fills `log_probs` of the actions
    /// and `entropies`.
    pub fn forward(&mut self, agent: &mut ActorCritic, observations: Rows<'_>, rows: &[u32], actions: &[f32]) {
        let batch = rows.len();
        for buffer in [
            &mut self.log_probs,
            &mut self.entropies,
            &mut self.log_prob_gradient,
            &mut self.entropy_gradient,
            &mut self.value_gradient,
        ] {
            buffer.resize(batch, 0.0);
        }
        self.policy_gradient.resize(batch * agent.distribution.outputs(), 0.0);
        self.log_std_gradient.resize(agent.distribution.log_std_size(), 0.0);
        agent.forward_cached(observations, rows);
        let noise = agent.noise();
        self.noise.clear();
        if !noise.is_empty() {
            self.noise
                .extend(rows.iter().map(|&row| noise[row as usize % noise.len()]));
        }
        agent.distribution.evaluate(
            agent.policy_output(),
            agent.log_std(),
            actions,
            &mut self.log_probs,
            &mut self.entropies,
        );
    }

    /// Pushes the three gradients back into the agent's, or names the first tensor whose gradient is not finite. Where
    /// the networks are on another processor, [`clip`] checks that.
    pub fn backward(&mut self, agent: &mut ActorCritic, actions: &[f32]) -> Result<(), NotFinite> {
        self.backward_to_outputs(agent, actions);
        agent.backward(&self.policy_gradient, &self.log_std_gradient, &self.value_gradient);
        match agent.is_remote() {
            true => Ok(()),
            false => finite_gradient(agent),
        }
    }

    /// [`backward`](Self::backward) of the gradients of sampled outputs, which K-FAC is shown.
    pub fn backward_observed(
        &mut self,
        agent: &mut ActorCritic,
        actions: &[f32],
        kfac: &mut Kfac,
    ) -> Result<(), NotFinite> {
        if !agent.is_remote() {
            self.backward(agent, actions)?;
            agent.show_to(kfac);
            return Ok(());
        }
        self.backward_to_outputs(agent, actions);
        kfac.observe_remote(
            agent.remote_kfac(),
            &[&self.policy_gradient, &self.value_gradient],
            &self.log_std_gradient,
        );
        Ok(())
    }

    /// From the gradients of log-probabilities and entropies to those of the policy's outputs and deviations.
    fn backward_to_outputs(&mut self, agent: &ActorCritic, actions: &[f32]) {
        agent.distribution.backward(
            (agent.policy_output(), agent.log_std()),
            actions,
            &self.log_prob_gradient,
            &self.entropy_gradient,
            &mut self.policy_gradient,
            &mut self.log_std_gradient,
        );
        let rows = self.policy_gradient.chunks_exact_mut(agent.distribution.outputs());
        for (row, noise) in rows.zip(&self.noise) {
            scale(row, 1.0 / noise);
        }
    }
}

/// Names the first tensor whose gradient is not finite, if there is one.
fn finite_gradient(agent: &mut ActorCritic) -> Result<(), NotFinite> {
    match agent.first_not_finite_gradient() {
        None => Ok(()),
        Some(tensor) => Err(NotFinite {
            place: format!("gradient of {tensor}"),
        }),
    }
}

/// Clips the whole gradient; returns its norm before.
pub fn clip(agent: &mut ActorCritic, max_norm: f64) -> Result<f32, NotFinite> {
    let norm = agent.clip(max_norm as f32);
    if agent.is_remote() && !norm.is_finite() {
        finite_gradient(agent)?;
    }
    finite("gradient norm", norm)
}

/// Shifts and scales to mean 0 and (unbiased) deviation 1, where there are at least two numbers.
pub fn normalize(advantages: &mut [f32]) {
    let count = advantages.len() as f32;
    if count < 2.0 {
        return;
    }
    let mean = advantages.iter().sum::<f32>() / count;
    let variance = advantages
        .iter()
        .map(|advantage| (advantage - mean).powi(2))
        .sum::<f32>()
        / (count - 1.0);
    let scale = 1.0 / (variance.sqrt() + 1e-8);
    for advantage in advantages {
        *advantage = (*advantage - mean) * scale;
    }
}
