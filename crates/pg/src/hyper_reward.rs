//! What of a rollout scores the updates before it: one number, made where the rollout is.

use std::fmt;
use std::sync::Arc;

use crate::Rollout;

/// What an environment phase brought, in raw, un-normalised reward.
#[derive(Clone, Copy)]
pub struct Earned<'a> {
    /// The rollout.
    pub rollout: &'a Rollout,
    /// The configured discount. It is the same while gamma is scheduled: otherwise a hyper-agent could raise its own
    /// score by raising gamma.
    pub gamma: f32,
    /// What the critic's values are multiplied by to be raw rewards.
    pub value_scale: f32,
}

impl Earned<'_> {
    /// Mean over the rollout's steps of the discounted return, bootstrapped with the value at the cut (the paper's G).
    pub fn discounted(&self) -> f32 {
        self.rollout.discounted_return_mean(self.gamma, self.value_scale) as f32
    }

    /// Mean reward per environment step.
    pub fn reward_rate(&self) -> f32 {
        self.rollout.reward_rate() as f32
    }

    /// Mean undiscounted return of the episodes that ended, if any did.
    pub fn episode(&self) -> Option<f32> {
        self.rollout.mean_episode_return().map(|mean| mean as f32)
    }
}

type Scores = dyn Fn(&Earned<'_>) -> (f32, f32) + Send + Sync;

/// A way to score the updates before a rollout.
///
/// ```
/// use epgt_pg::HyperReward;
/// let finished = HyperReward::new("finished", "episodes that ended", |earned| earned.rollout.episodes.len() as f32);
/// assert_eq!(finished.name(), "finished");
/// ```
#[derive(Clone)]
pub struct HyperReward {
    name: String,
    meaning: String,
    scores: Arc<Scores>,
}

impl HyperReward {
    /// A score by this name; `meaning` says in a few words what it is.
    pub fn new(name: &str, meaning: &str, score: impl Fn(&Earned<'_>) -> f32 + Send + Sync + 'static) -> Self {
        Self::weighted(name, meaning, move |earned| (score(earned), 1.0))
    }

    /// The same, with how much the score of a rollout counts among those of an update phase; where all of them count
    /// nothing they count alike.
    pub fn weighted(
        name: &str,
        meaning: &str,
        scores: impl Fn(&Earned<'_>) -> (f32, f32) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_string(),
            meaning: meaning.to_string(),
            scores: Arc::new(scores),
        }
    }

    /// Mean discounted return of the rollout's steps, bootstrapped with the value function (the paper's G).
    pub fn discounted() -> Self {
        Self::new("discounted", "mean discounted return", |earned| earned.discounted())
    }

    /// Mean reward per environment step: only what was really earned.
    pub fn reward_rate() -> Self {
        Self::new("reward-rate", "mean reward per environment step", |earned| {
            earned.reward_rate()
        })
    }

    /// Mean return of the episodes that ended, or the discounted return where none did.
    pub fn episode() -> Self {
        Self::weighted(
            "episode",
            "mean return of the episodes that ended",
            |earned| match earned.episode() {
                Some(mean) => (mean, 1.0),
                None => (earned.discounted(), 0.0),
            },
        )
    }

    /// What groups of environments that act with less and with more noise say of the change of noise before the
    /// rollout: by how many standard errors more was earned in the direction in which it went.
    pub fn noise() -> Self {
        Self::new(
            "noise",
            "what environments with more noise earned beyond those with less, in the direction that was gone",
            |earned| {
                let comparison = earned.rollout.noise_comparison(earned.gamma).unwrap_or(0.0) as f32;
                match earned.rollout.widened {
                    wider if wider > 0.0 => comparison,
                    narrower if narrower < 0.0 => -comparison,
                    _ => 0.0,
                }
            },
        )
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a few words.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// The score of a rollout, and how much it counts.
    pub fn score(&self, earned: &Earned<'_>) -> (f32, f32) {
        (self.scores)(earned)
    }
}

impl fmt::Debug for HyperReward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HyperReward({})", self.name)
    }
}
