//! HOOF, hyperparameter optimisation on the fly (Paul, Kurin and Whiteson, 2019): the paper's first
//! sequential rival.
//!
//! At every update many candidate steps are tried on the rollout that is already there, and the best is taken:
//!
//! 1. Where hyperparameters of the loss or the optimiser are tuned, a few *loss candidates* are drawn uniformly from
//!    their ranges; each has its own gradient, clipped as usual. Without them there is the one gradient of the settings
//!    in force.
//! 2. The *direction* of a gradient g is what A2C's RMSprop would subtract at a rate of 1, with this gradient already
//!    in its running mean: `d = g / (sqrt(decay v + (1 - decay) g^2) + epsilon)`. It moves all weights, the value
//!    network's too.
//! 3. For each direction rates are drawn uniformly from [0, ub]. A candidate policy is `theta - rate d` (a falling
//!    schedule multiplies the rate, as it does for every scheduler).
//! 4. A candidate whose mean KL divergence from the policy that acted exceeds `max_kl` is rejected. The others are
//!    scored by weighted importance sampling: `sum_i w_i R_i / sum_i w_i`, with `w_i` the product over the T steps of
//!    environment i of the probability ratios, and `R_i` what that environment earned in the rollout.
//! 5. The best candidate is the update. When all were rejected nothing moves: the rate in force is 0, the other
//!    hyperparameters stay, and RMSprop takes in the gradient of the first loss candidate.
//! 6. ub shrinks when more than 80% were rejected and grows when none was.
//!
//! The grid of the learning rate is not looked at: ub is the range. The grids of other hyperparameters give theirs.

use epgt_nn::RmsProp;
use epgt_rng::Pcg64;

use crate::a2c::clipped_gradient;
use crate::rule::Tuned;
use crate::update::Workspace;
use crate::{A2cSettings, ActorCritic, NotFinite, PgError, Rollout, Schedulable, UpdateStats};

/// ub stays between these, so that it can always come back.
const BOUNDS: (f64, f64) = (1e-9, 10.0);

epgt_settings::settings! {
    /// Settings of the scheduler `hoof`.
    pub struct HoofSettings {
        /// Learning rates that are tried at every update, for each loss candidate.
        pub rate_candidates: usize = 100;
        /// Combinations of the other tuned hyperparameters that are tried at every update, each with its own gradient.
        /// The time of an update grows with it.
        pub loss_candidates: usize = 5;
        /// Upper bound of the learning rates at the start.
        pub upper_bound: f64 = 0.01;
        /// Candidates whose mean KL divergence from the policy that acted is larger are rejected.
        pub max_kl: f64 = 0.03;
        /// Factor of the upper bound after an update for which too many were rejected.
        pub shrink: f64 = 0.8;
        /// Share of rejected candidates above which that are too many.
        pub shrink_above: f64 = 0.8;
        /// Factor of the upper bound after an update for which none was rejected.
        pub grow: f64 = 1.25;
        /// Whether what an environment earned is its discounted return with the value of where it was cut, instead of
        /// the sum of the rewards of its T steps. Trap: where every step has the same reward, such as in CartPole, the
        /// sum says nothing, and whichever candidate is not rejected may be taken.
        pub bootstrap: bool = false;
    }
}

impl HoofSettings {
    /// Refuses impossible values with one sentence.
    ///
    /// ```
    /// let settings = epgt_pg::HoofSettings { max_kl: -1.0, ..Default::default() };
    /// assert_eq!(settings.validate().unwrap_err().to_string(), "hoof.max_kl = -1 must be a number above 0");
    /// ```
    pub fn validate(&self) -> Result<(), PgError> {
        for (name, count) in [
            ("rate_candidates", self.rate_candidates),
            ("loss_candidates", self.loss_candidates),
        ] {
            if !(1..=1_000_000).contains(&count) {
                return Err(PgError::bounds(
                    format!("hoof.{name}"),
                    count as f64,
                    "lie between 1 and 1000000",
                ));
            }
        }
        for (name, number, most) in [
            ("upper_bound", self.upper_bound, BOUNDS.1),
            ("shrink", self.shrink, 1.0),
            ("shrink_above", self.shrink_above, 1.0),
        ] {
            if !(number > 0.0 && number <= most) {
                let must = format!("lie above 0 and at most {most}");
                return Err(PgError::bounds(format!("hoof.{name}"), number, must));
            }
        }
        if !(self.max_kl > 0.0 && self.max_kl.is_finite()) {
            return Err(PgError::bounds("hoof.max_kl", self.max_kl, "be a number above 0"));
        }
        if !(1.0..=100.0).contains(&self.grow) {
            return Err(PgError::bounds("hoof.grow", self.grow, "lie between 1 and 100"));
        }
        Ok(())
    }
}

/// HOOF at work: the bound of its rates, and buffers that no candidate allocates.
#[derive(Clone)]
pub struct Hoof {
    /// Its settings.
    pub settings: HoofSettings,
    /// ub, the largest rate of the next candidates.
    pub upper_bound: f64,
    pub(crate) rng: Pcg64,
    /// What gives every loss candidate a gradient of its own.
    loss: Vec<Tuned>,
    tunes_rate: bool,
    /// The configured discount, for `bootstrap`.
    gamma: f32,
    /// Of the last update: the share of rejected candidates, and the estimate of the one that was taken.
    rejected: Option<f64>,
    estimate: Option<f64>,
    // The weights before the update, and the gradient and direction of a loss candidate.
    start: Vec<f32>,
    gradient: Vec<f32>,
    direction: Vec<f32>,
    // The policy that acted: its outputs, log-stds and log-probabilities.
    outputs: Vec<f32>,
    log_std: Vec<f32>,
    log_probs: Vec<f32>,
    // Of a candidate: divergences and log-probabilities by row, log-weights by environment.
    divergences: Vec<f32>,
    new_log_probs: Vec<f32>,
    entropies: Vec<f32>,
    log_weights: Vec<f64>,
    /// What every environment earned.
    earned: Vec<f64>,
}

/// The best candidate so far.
struct Best {
    estimate: f64,
    settings: A2cSettings,
    stats: UpdateStats,
}

impl Hoof {
    /// HOOF for an A2C with these settings; all of `tuned` must take effect at every update.
    pub fn new(settings: HoofSettings, a2c: &A2cSettings, tuned: &[Tuned], rng: Pcg64) -> Self {
        let is_rate = |tuned: &Tuned| a2c.hyperparameters()[tuned.index].name == "learning_rate";
        Self {
            upper_bound: settings.upper_bound,
            settings,
            rng,
            loss: tuned.iter().filter(|tuned| !is_rate(tuned)).copied().collect(),
            tunes_rate: tuned.iter().any(is_rate),
            gamma: a2c.gamma as f32,
            rejected: None,
            estimate: None,
            start: Vec::new(),
            gradient: Vec::new(),
            direction: Vec::new(),
            outputs: Vec::new(),
            log_std: Vec::new(),
            log_probs: Vec::new(),
            divergences: Vec::new(),
            new_log_probs: Vec::new(),
            entropies: Vec::new(),
            log_weights: Vec::new(),
            earned: Vec::new(),
        }
    }

    /// Upper bound, share of rejected candidates, and estimate of the one taken.
    pub(crate) fn metrics(&self) -> Vec<(String, Option<f64>)> {
        vec![
            ("hoof/upper_bound".to_string(), Some(self.upper_bound)),
            ("hoof/rejected".to_string(), self.rejected),
            ("hoof/estimate".to_string(), self.estimate),
        ]
    }

    /// Tries the candidates. Leaves the best one's values in `settings` and its clipped gradient in `agent.params`, for
    /// the optimiser to step with; the weights are as they were. `share` is what a schedule multiplies rates by.
    pub(crate) fn choose(
        &mut self,
        settings: &mut A2cSettings,
        share: f64,
        optimiser: &mut RmsProp,
        work: &mut Workspace,
        agent: &mut ActorCritic,
        rollout: &mut Rollout,
    ) -> Result<UpdateStats, NotFinite> {
        let losses = if self.loss.is_empty() {
            1
        } else {
            self.settings.loss_candidates
        };
        let rates = if self.tunes_rate {
            self.settings.rate_candidates
        } else {
            1
        };
        self.earn(rollout);
        self.start.clear();
        self.start.extend_from_slice(agent.params.values());
        self.direction.resize(self.start.len(), 0.0);
        self.gradient.resize(self.start.len(), 0.0);
        let (mut best, mut first): (Option<Best>, Option<UpdateStats>) = (None, None);
        let mut rejected = 0;
        for _ in 0..losses {
            let mut candidate = *settings;
            for tuned in &self.loss {
                candidate.set(tuned.index, self.rng.uniform(tuned.low, tuned.high));
            }
            let stats = clipped_gradient(&candidate, work, agent, rollout)?;
            optimiser.decay = candidate.rms_prop_decay as f32;
            let gradients = agent.params.gradients();
            optimiser.precondition(gradients, gradients, &mut self.direction);
            self.keep_policy(work, agent);
            let mut is_better = first.is_none();
            for _ in 0..rates {
                if self.tunes_rate {
                    candidate.learning_rate = self.rng.uniform(0.0, self.upper_bound);
                }
                let step = (candidate.learning_rate * share) as f32;
                match self.try_step(step, agent, rollout) {
                    None => rejected += 1,
                    Some(estimate) if best.as_ref().is_none_or(|best| estimate > best.estimate) => {
                        is_better = true;
                        best = Some(Best {
                            estimate,
                            settings: candidate,
                            stats,
                        });
                    }
                    Some(_) => {}
                }
            }
            agent.params.values_mut().copy_from_slice(&self.start);
            if is_better {
                self.gradient.copy_from_slice(agent.params.gradients());
            }
            first.get_or_insert(stats);
        }
        agent.params.gradients_mut().copy_from_slice(&self.gradient);
        self.adjust(rejected, losses * rates);
        self.estimate = best.as_ref().map(|best| best.estimate);
        let stats = match best {
            Some(best) => {
                *settings = best.settings;
                best.stats
            }
            None => {
                settings.learning_rate = 0.0;
                first.unwrap_or_default()
            }
        };
        if losses > 1 {
            // The rollout is left with the advantages of what was taken.
            rollout.compute_advantages(settings.gamma as f32, settings.gae_lambda as f32);
        }
        Ok(stats)
    }

    /// Moves ub by how many candidates were rejected.
    fn adjust(&mut self, rejected: usize, candidates: usize) {
        let share = rejected as f64 / candidates as f64;
        self.rejected = Some(share);
        if share > self.settings.shrink_above {
            self.upper_bound *= self.settings.shrink;
        } else if rejected == 0 {
            self.upper_bound *= self.settings.grow;
        }
        self.upper_bound = self.upper_bound.clamp(BOUNDS.0, BOUNDS.1);
    }

    /// What every environment earned in the rollout.
    fn earn(&mut self, rollout: &mut Rollout) {
        let n = rollout.n;
        self.earned.clear();
        if self.settings.bootstrap {
            rollout.compute_advantages(self.gamma, 1.0);
            self.earned.extend(rollout.returns[..n].iter().copied().map(f64::from));
            return;
        }
        self.earned.resize(n, 0.0);
        for rewards in rollout.raw_rewards.chunks_exact(n) {
            for (sum, &reward) in self.earned.iter_mut().zip(rewards) {
                *sum += f64::from(reward);
            }
        }
    }

    /// Keeps what the policy says before the update, and makes room for what a candidate says.
    fn keep_policy(&mut self, work: &Workspace, agent: &ActorCritic) {
        for (kept, now) in [
            (&mut self.outputs, agent.policy.output()),
            (&mut self.log_std, agent.log_std()),
            (&mut self.log_probs, &work.log_probs),
        ] {
            kept.clear();
            kept.extend_from_slice(now);
        }
        for buffer in [&mut self.divergences, &mut self.new_log_probs, &mut self.entropies] {
            buffer.resize(self.log_probs.len(), 0.0);
        }
    }

    /// Steps from the start along the direction; the estimate of what the policy there earns, or `None` where it is
    /// rejected.
    fn try_step(&mut self, step: f32, agent: &mut ActorCritic, rollout: &Rollout) -> Option<f64> {
        let moves = self.start.iter().zip(&self.direction);
        for (weight, (start, direction)) in agent.params.values_mut().iter_mut().zip(moves) {
            *weight = start - step * direction;
        }
        agent.forward_policy(rollout.batch_observations(), rollout.batch_size());
        agent.temper(0..rollout.batch_size());
        let new = (agent.policy.output(), agent.log_std());
        let old = (&self.outputs[..], &self.log_std[..]);
        agent.distribution.kl(old, new, &mut self.divergences);
        let divergence = self.divergences.iter().copied().map(f64::from).sum::<f64>() / self.divergences.len() as f64;
        if divergence.is_nan() || divergence > self.settings.max_kl {
            return None;
        }
        agent.distribution.evaluate(
            new.0,
            new.1,
            &rollout.actions,
            &mut self.new_log_probs,
            &mut self.entropies,
        );
        self.log_weights.clear();
        self.log_weights.resize(rollout.n, 0.0);
        let rows = self.new_log_probs.chunks_exact(rollout.n);
        for (new, old) in rows.zip(self.log_probs.chunks_exact(rollout.n)) {
            for (sum, (new, old)) in self.log_weights.iter_mut().zip(new.iter().zip(old)) {
                *sum += f64::from(new - old);
            }
        }
        let estimate = weighted_importance(&self.log_weights, &self.earned);
        estimate.is_finite().then_some(estimate)
    }
}

/// Weighted importance sampling: `sum_i w_i R_i / sum_i w_i`, from the logarithms of the weights.
///
/// ```
/// let estimate = epgt_pg::weighted_importance(&[3f64.ln(), 1f64.ln()], &[10.0, 2.0]);
/// assert!((estimate - 8.0).abs() < 1e-12);
/// ```
pub fn weighted_importance(log_weights: &[f64], returns: &[f64]) -> f64 {
    assert_eq!(log_weights.len(), returns.len(), "one weight per return");
    // Relative to the largest, so that no weight overflows; the factor cancels.
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (log_weight, earned) in log_weights.iter().zip(returns) {
        let weight = (log_weight - largest).exp();
        sum += weight * earned;
        weights += weight;
    }
    sum / weights
}

#[cfg(test)]
mod tests;
