//! Meta-gradients (Xu, van Hasselt and Silver, 2018, as the paper uses them for rates): the paper's second
//! sequential rival, its TMG.
//!
//! A2C's update made of the weights theta the weights `theta'(eta) = theta - alpha P c(g) g`, where eta are
//! hyperparameters: the learning rate alpha, and gamma and lambda, which shape the gradient g. P is RMSprop's diagonal
//! `1 / (sqrt(v) + epsilon)`, held constant, and c the clipping factor. The policy at theta' then collects a rollout,
//! and that rollout's objective `J(theta') = mean(A' log pi(a'|s'))`, the policy-gradient objective with advantages by
//! the *configured* gamma and lambda, tells how to change eta:
//!
//! `dJ/deta = grad J(theta') . dtheta'/deta`, with `dtheta'/dalpha = -P c g`, and `dtheta'/dlambda = -alpha P d(c
//! g)/dlambda`, where `dg/dlambda` is the loss's gradient with the exact derivatives of the advantages and value
//! targets in their place, and the clipping is differentiated through; gamma alike.
//!
//! As in that work the dependence of theta on earlier values of eta is cut off. What differs: a step is taken in `ln
//! alpha`, and in the logit of gamma and lambda, and each meta-gradient is divided by its running root mean square, so
//! that one step size fits hyperparameters and tasks of any scale. The grid of `--tune` gives the bounds; the start is
//! the setting's own value.

use epgt_nn::{Adam, RmsProp, dot};
use serde::{Deserialize, Serialize};

use crate::a2c::{Loss, evaluate};
use crate::rule::Tuned;
use crate::update::Workspace;
use crate::{A2cSettings, ActorCritic, PgError, Rollout, Schedulable, losses};

epgt_settings::settings! {
    /// Settings of the scheduler `meta-gradient`.
    #[derive(Copy)]
    pub struct MetaGradientSettings {
        /// How far one update moves the logarithm of the learning rate, and the logit of gamma and gae_lambda, by a
        /// meta-gradient of usual size.
        @ "\\beta"
        pub rate: f64 = 0.01;
        /// Decay of the running mean of squared meta-gradients, whose root is their usual size.
        pub decay: f64 = 0.99;
    }
}

impl MetaGradientSettings {
    /// Refuses impossible values with one sentence.
    ///
    /// ```
    /// let settings = epgt_pg::MetaGradientSettings { rate: f64::NAN, ..Default::default() };
    /// assert_eq!(settings.validate().unwrap_err().to_string(), "meta.rate = NaN must be a number from 0 to 10");
    /// ```
    pub fn validate(&self) -> Result<(), PgError> {
        for (name, number, most) in [("rate", self.rate, 10.0), ("decay", self.decay, 0.999_999)] {
            if !(0.0..=most).contains(&number) {
                let must = format!("be a number from 0 to {most}");
                return Err(PgError::bounds(format!("meta.{name}"), number, must));
            }
        }
        Ok(())
    }
}

/// What of an update a hyperparameter changes, and how it is written as a number without bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Rate,
    Gamma,
    Lambda,
}

/// A hyperparameter on its way.
#[derive(Clone, Copy, Debug)]
struct Course {
    tuned: Tuned,
    role: Role,
    name: &'static str,
}

impl Course {
    /// Its bounds, kept off the ends where logarithm and logit are infinite.
    fn bounds(&self) -> (f64, f64) {
        let (least, most) = match self.role {
            Role::Rate => (1e-12, 10.0),
            Role::Gamma | Role::Lambda => (1e-4, 0.99999),
        };
        let low = self.tuned.low.clamp(least, most);
        (low, self.tuned.high.clamp(low, most))
    }

    /// ln of a rate, logit of gamma and lambda.
    fn coordinate(&self, value: f64) -> f64 {
        match self.role {
            Role::Rate => value.ln(),
            Role::Gamma | Role::Lambda => (value / (1.0 - value)).ln(),
        }
    }

    fn value(&self, coordinate: f64) -> f64 {
        match self.role {
            Role::Rate => coordinate.exp(),
            Role::Gamma | Role::Lambda => 1.0 / (1.0 + (-coordinate).exp()),
        }
    }

    /// How the value moves with its coordinate.
    fn slope(&self, value: f64) -> f64 {
        match self.role {
            Role::Rate => value,
            Role::Gamma | Role::Lambda => value * (1.0 - value),
        }
    }
}

/// What of a [`MetaGradient`] a checkpoint must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetaState {
    /// ln or logit of every tuned hyperparameter.
    coordinates: Vec<f32>,
    /// The running squares of the meta-gradients; without momentum.
    squares: Adam,
    /// dtheta'/deta of the last update, `[tuned][parameters]`; empty before the first.
    trace: Vec<f32>,
}

/// Tuning by meta-gradients at work.
#[derive(Clone)]
pub struct MetaGradient {
    settings: MetaGradientSettings,
    courses: Vec<Course>,
    /// The objective's own gamma and lambda: those of the configuration.
    reference: Loss,
    pub(crate) state: MetaState,
    /// dJ/deta of the last update, in the units of the hyperparameters; NaN before there is one.
    gradients: Vec<f64>,
    steps: Vec<f32>,
    clipped: Vec<f32>,
    slopes: [Vec<f32>; 2],
}

impl MetaGradient {
    /// What it can differentiate by.
    pub const KNOWS: [&'static str; 3] = ["learning_rate", "gamma", "gae_lambda"];

    /// Meta-gradients for an A2C with these settings; `tuned` must be among [`MetaGradient::KNOWS`].
    pub fn new(settings: MetaGradientSettings, a2c: &A2cSettings, tuned: &[Tuned]) -> Self {
        let course = |&tuned: &Tuned| {
            let name = a2c.hyperparameters()[tuned.index].name;
            let role = match name {
                "learning_rate" => Role::Rate,
                "gamma" => Role::Gamma,
                _ => Role::Lambda,
            };
            Course { tuned, role, name }
        };
        let courses: Vec<Course> = tuned.iter().map(course).collect();
        let start = |course: &Course| {
            let (low, high) = course.bounds();
            course.coordinate(a2c.get(course.tuned.index).clamp(low, high)) as f32
        };
        Self {
            state: MetaState {
                coordinates: courses.iter().map(start).collect(),
                squares: Adam::new(courses.len(), 0.0, settings.decay as f32, 1e-12),
                trace: Vec::new(),
            },
            gradients: vec![f64::NAN; courses.len()],
            steps: vec![0.0; courses.len()],
            reference: Loss::from(*a2c),
            settings,
            courses,
            clipped: Vec::new(),
            slopes: Default::default(),
        }
    }

    /// The meta-gradient of every tuned hyperparameter.
    pub(crate) fn metrics(&self) -> Vec<(String, Option<f64>)> {
        let named = self.courses.iter().zip(&self.gradients);
        let metric = |(course, &gradient): (&Course, &f64)| {
            let name = format!("meta/gradient_{}", course.name);
            (name, gradient.is_finite().then_some(gradient))
        };
        named.map(metric).collect()
    }

    /// Goes on from a checkpoint of the same hyperparameters.
    pub(crate) fn restore(&mut self, saved: MetaState) -> Result<(), PgError> {
        if saved.coordinates.len() != self.courses.len() {
            return Err(PgError::OtherHyperparameters);
        }
        self.state = saved;
        Ok(())
    }

    /// Before an update: the rollout was collected by the weights that the last update made, so its objective says how
    /// that update's hyperparameters should have been. Moves them and leaves them in `settings`.
    pub(crate) fn learn(
        &mut self,
        settings: &mut A2cSettings,
        work: &mut Workspace,
        agent: &mut ActorCritic,
        rollout: &mut Rollout,
    ) {
        if self.state.trace.is_empty() {
            return;
        }
        evaluate(&self.reference, work, agent, rollout);
        losses::policy_gradient(&work.log_probs, &rollout.advantages, &mut work.log_prob_gradient);
        work.entropy_gradient.fill(0.0);
        work.value_gradient.fill(0.0);
        // Where the objective is not finite nothing is learned; the update's own gradient will tell what is wrong.
        let finite = work.backward(agent, &rollout.actions).is_ok();
        let by_course = self.state.trace.chunks_exact(agent.params.len());
        for (i, (course, trace)) in self.courses.iter().zip(by_course).enumerate() {
            // The loss is -J.
            let gradient = -f64::from(dot(agent.params.gradients(), trace));
            let usable = finite && gradient.is_finite();
            self.gradients[i] = if usable { gradient } else { f64::NAN };
            let slope = course.slope(settings.get(course.tuned.index));
            self.steps[i] = if usable { -(gradient * slope) as f32 } else { 0.0 };
        }
        let rate = self.settings.rate as f32;
        self.state.squares.step(&mut self.state.coordinates, &self.steps, rate);
        for (course, coordinate) in self.courses.iter().zip(&mut self.state.coordinates) {
            let (low, high) = course.bounds();
            let value = course.value(f64::from(*coordinate)).clamp(low, high);
            *coordinate = course.coordinate(value) as f32;
            settings.set(course.tuned.index, value);
        }
    }

    /// After the clipped gradient of an update was made, and before the optimiser's step with it: keeps how the weights
    /// after that step move with each hyperparameter. `norm` is the gradient's norm before clipping, `rate` the step
    /// size in force and `share` what a schedule multiplied it by.
    #[expect(clippy::too_many_arguments, reason = "the parts of an A2C and of its update")]
    pub(crate) fn remember(
        &mut self,
        settings: &A2cSettings,
        (rate, share): (f64, f64),
        norm: f32,
        optimiser: &RmsProp,
        work: &mut Workspace,
        agent: &mut ActorCritic,
        rollout: &Rollout,
    ) {
        let len = agent.params.len();
        self.clipped.clear();
        self.clipped.extend_from_slice(agent.params.gradients());
        self.state.trace.resize(len * self.courses.len(), 0.0);
        let [by_gamma, by_lambda] = &mut self.slopes;
        by_gamma.resize(rollout.batch_size(), 0.0);
        by_lambda.resize(rollout.batch_size(), 0.0);
        rollout.advantage_slopes(settings.gamma as f32, settings.gae_lambda as f32, by_gamma, by_lambda);
        for (course, trace) in self.courses.iter().zip(self.state.trace.chunks_exact_mut(len)) {
            let slopes = match course.role {
                Role::Rate => {
                    optimiser.precondition(&self.clipped, &self.clipped, trace);
                    scale(trace, -share as f32);
                    continue;
                }
                Role::Gamma => &self.slopes[0],
                Role::Lambda => &self.slopes[1],
            };
            // The loss's gradient with slopes in the place of advantages and targets; the value loss falls as targets
            // rise.
            losses::policy_gradient(&work.log_probs, slopes, &mut work.log_prob_gradient);
            work.entropy_gradient.fill(0.0);
            let weight = -2.0 * settings.vf_coef as f32 / slopes.len() as f32;
            for (gradient, slope) in work.value_gradient.iter_mut().zip(slopes) {
                *gradient = weight * slope;
            }
            if work.backward(agent, &rollout.actions).is_err() {
                trace.fill(0.0);
                continue;
            }
            clip_slope(
                agent.params.gradients_mut(),
                &self.clipped,
                norm,
                settings.max_grad_norm as f32,
            );
            optimiser.precondition(&self.clipped, agent.params.gradients(), trace);
            scale(trace, -rate as f32);
        }
        agent.params.gradients_mut().copy_from_slice(&self.clipped);
    }
}

fn scale(numbers: &mut [f32], factor: f32) {
    for x in numbers {
        *x *= factor;
    }
}

/// Turns the slope of a gradient into that of the clipped gradient, `c g` with `c = M / (|g| + 1e-6)` where that is
/// below 1: `d(c g) = c dg - c g (g . dg) / (|g| (|g| + 1e-6))`.
fn clip_slope(slope: &mut [f32], clipped: &[f32], norm: f32, max_norm: f32) {
    let factor = max_norm / (norm + 1e-6);
    if factor >= 1.0 {
        return;
    }
    let along = dot(clipped, slope) / (factor * norm * (norm + 1e-6));
    for (slope, clipped) in slope.iter_mut().zip(clipped) {
        *slope = factor * *slope - along * clipped;
    }
}

#[cfg(test)]
mod tests;
