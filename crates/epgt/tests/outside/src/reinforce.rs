//! REINFORCE with a learned baseline, as a method of somebody's own.

use epgt::envs::{decode_state, encode_state};
use epgt::nn::Adam;
use epgt::pg::update::{Workspace, clip, finite};
use epgt::pg::{
    ActorCritic, ENT_COEF, GAMMA, LEARNING_RATE, Method, MethodSettings, NotFinite, PgError, Phase, Rollout,
    SavedMethod, UpdateStats, losses, schedulable,
};

epgt::settings::settings! {
    /// Settings of REINFORCE.
    #[derive(Copy)]
    pub struct ReinforceSettings {
        /// Steps that every environment takes before an update.
        pub n_steps: usize = 32;
        /// Step size of Adam.
        pub learning_rate: f64 = 3e-3;
        /// Discount factor.
        pub gamma: f64 = 0.99;
        /// Weight of the entropy bonus.
        pub ent_coef: f64 = 0.01;
    }
}

schedulable!(ReinforceSettings {
    learning_rate: LEARNING_RATE,
    gamma: GAMMA,
    ent_coef: ENT_COEF,
});

impl MethodSettings for ReinforceSettings {
    fn name(&self) -> &'static str {
        "reinforce"
    }

    fn help(&self) -> &'static str {
        "REINFORCE with a learned baseline."
    }

    fn n_steps(&self) -> usize {
        self.n_steps
    }

    fn gamma(&self) -> f64 {
        self.gamma
    }

    fn boxed(&self) -> Box<dyn MethodSettings> {
        Box::new(*self)
    }

    fn method(&self, agent: &ActorCritic, _seed: u64) -> Box<dyn Method> {
        Box::new(Reinforce {
            settings: *self,
            optimiser: Adam::new(agent.params.len(), 0.9, 0.999, 1e-8),
            work: Workspace::default(),
            stats: UpdateStats::default(),
        })
    }
}

struct Reinforce {
    settings: ReinforceSettings,
    optimiser: Adam,
    work: Workspace,
    stats: UpdateStats,
}

impl Method for Reinforce {
    fn settings(&self) -> &dyn MethodSettings {
        &self.settings
    }

    fn settings_mut(&mut self) -> &mut dyn MethodSettings {
        &mut self.settings
    }

    fn learning_rate(&self) -> f64 {
        self.settings.learning_rate
    }

    fn set_remaining(&mut self, _: f64) {}

    fn step(&mut self, agent: &mut ActorCritic, rollout: &mut Rollout) -> Result<Phase, NotFinite> {
        let (settings, work) = (&self.settings, &mut self.work);
        rollout.compute_advantages(settings.gamma as f32, 1.0);
        work.forward_all(agent, rollout.batch_observations(), &rollout.actions);
        let policy_loss = losses::policy_gradient(&work.log_probs, &rollout.advantages, &mut work.log_prob_gradient);
        let entropy = losses::entropy_bonus(&work.entropies, settings.ent_coef as f32, &mut work.entropy_gradient);
        let value_loss = losses::squared_error(agent.value_output(), &rollout.returns, 0.5, &mut work.value_gradient);
        work.backward(agent, &rollout.actions)?;
        self.stats = UpdateStats {
            policy_loss: finite("loss/policy", policy_loss)?,
            value_loss: finite("loss/value", value_loss)?,
            entropy: finite("loss/entropy", entropy)?,
            grad_norm: clip(agent, 0.5)?,
            ..UpdateStats::default()
        };
        agent.descend(&mut self.optimiser, settings.learning_rate as f32);
        Ok(Phase::Over)
    }

    fn stats(&self) -> UpdateStats {
        self.stats
    }

    fn save(&self) -> SavedMethod<'_> {
        SavedMethod::other(encode_state(&self.optimiser))
    }

    fn restore(&mut self, saved: SavedMethod<'_>) -> Result<(), PgError> {
        self.adopt(saved)
    }

    fn adopt(&mut self, other: SavedMethod<'_>) -> Result<(), PgError> {
        self.optimiser = decode_state(&other.into_other()?).map_err(|_| PgError::OtherMethod)?;
        Ok(())
    }
}
