//! Evaluation of a policy on environments of its own, with frozen normalisation: training never notices.

use epgt_envs::{EnvError, Normalizer, Observations, RowShape, Rows, RowsMut, StepRow, TaskSpec, VecEnv};
use epgt_pg::ActorCritic;
use epgt_rng::Pcg64;
use epgt_settings::choice;

/// Environments that are evaluated side by side.
const SIDE_BY_SIDE: usize = 16;

choice! {
    /// How actions are chosen where a policy is judged.
    pub enum EvalActions {
        /// Stochastic in Atari's games, deterministic elsewhere. A game can wait for a button that a deterministic policy never
        /// presses, half an hour long; others judge by drawn actions there too.
        Auto = "auto",
        /// The policy's most likely ones.
        Deterministic = "deterministic",
        /// Drawn as in training.
        Stochastic = "stochastic",
    }
}

impl EvalActions {
    /// Whether a task's actions are drawn.
    ///
    /// ```
    /// use epgt_envs::find;
    /// use epgt_train::EvalActions;
    /// assert!(EvalActions::Auto.are_drawn(find("PongNoFrameskip-v4")?));
    /// assert!(!EvalActions::Auto.are_drawn(find("CartPole-v1")?));
    /// # Ok::<(), epgt_envs::EnvError>(())
    /// ```
    pub fn are_drawn(self, task: &TaskSpec) -> bool {
        match self {
            Self::Auto => task.is_atari(),
            Self::Deterministic => false,
            Self::Stochastic => true,
        }
    }
}

/// Chooses the actions of judged episodes, each with a generator of its own: an episode is the same whatever is played beside it.
pub(crate) struct Player {
    /// Empty where the most likely actions are taken.
    rngs: Vec<Pcg64>,
}

impl Player {
    /// For `n` episodes, of which the first is seeded `seed`.
    pub fn new(actions: EvalActions, task: &TaskSpec, n: usize, seed: u64) -> Self {
        let rng = |i: usize| Pcg64::for_purpose(seed.wrapping_add(i as u64), "actions of an evaluation", 0);
        Self {
            rngs: (0..if actions.are_drawn(task) { n } else { 0 }).map(rng).collect(),
        }
    }

    /// One action for each of `n` observations.
    pub fn act<'a>(
        &mut self,
        policy: &mut ActorCritic,
        observations: impl Into<Rows<'a>>,
        n: usize,
        actions: &mut [f32],
    ) {
        match self.rngs.is_empty() {
            true => policy.act_greedy(observations, n, actions),
            false => policy.act_drawn(observations, &mut self.rngs, actions),
        }
    }
}

/// Raw returns and lengths of evaluation episodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Undiscounted raw return of each episode.
    pub returns: Vec<f64>,
    /// Steps of each episode.
    pub lengths: Vec<u32>,
}

impl Evaluation {
    /// Mean return.
    pub fn mean_return(&self) -> f64 {
        self.returns.iter().sum::<f64>() / self.returns.len() as f64
    }

    /// Mean length.
    pub fn mean_length(&self) -> f64 {
        self.lengths.iter().map(|&length| f64::from(length)).sum::<f64>() / self.lengths.len() as f64
    }
}

/// Plays `episodes` episodes. Episode i is seeded `seed + i`.
///
/// ```
/// use epgt_envs::{Normalizer, find};
/// use epgt_pg::{ActorCritic, PolicySettings};
/// use epgt_rng::Pcg64;
/// use epgt_train::EvalActions;
/// let task = find("CartPole-v1").unwrap();
/// let space = task.make().unwrap().action_space().clone();
/// let mut policy = ActorCritic::new(&PolicySettings::default(), 4, &space, &mut Pcg64::from_seed(0));
/// let normalizer = Normalizer::new(4, 1, true, true, 0.99);
/// let evaluation = epgt_train::evaluate(&mut policy, &normalizer, task, 20, 0, EvalActions::Auto).unwrap();
/// assert_eq!(evaluation.returns.len(), 20);
/// ```
pub fn evaluate(
    policy: &mut ActorCritic,
    normalizer: &Normalizer,
    task: &TaskSpec,
    episodes: usize,
    seed: u64,
    actions: EvalActions,
) -> Result<Evaluation, EnvError> {
    let mut result = Evaluation::default();
    // Each group plays exactly one episode per environment: counting the first to finish would favour short ones.
    for first in (0..episodes).step_by(SIDE_BY_SIDE) {
        let n = SIDE_BY_SIDE.min(episodes - first);
        let seed = seed.wrapping_add(first as u64);
        let mut envs = VecEnv::new(task, n, seed)?;
        let mut player = Player::new(actions, task, n, seed);
        let (shape, action_size) = (RowShape::from(envs.observation_space()), envs.action_space().size());
        let mut observations = Observations::new(shape, n);
        let mut chosen = vec![0.0; n * action_size];
        let (mut rewards, mut terminated, mut truncated) = (vec![0.0; n], vec![false; n], vec![false; n]);
        let mut played = vec![None; n];
        envs.reset(&mut observations)?;
        while played.iter().any(Option::is_none) {
            if let RowsMut::Numbers(rows) = observations.all_mut() {
                rows.chunks_exact_mut(shape.size())
                    .for_each(|row| normalizer.apply(row));
            }
            player.act(policy, &observations, n, &mut chosen);
            let out = StepRow {
                observations: (&mut observations).into(),
                rewards: &mut rewards,
                terminated: &mut terminated,
                truncated: &mut truncated,
            };
            envs.step(&chosen, out)?;
            for episode in envs.finished() {
                played[episode.env].get_or_insert((episode.episode_return, episode.length));
            }
        }
        for (episode_return, length) in played.into_iter().flatten() {
            result.returns.push(episode_return);
            result.lengths.push(length);
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use epgt_envs::find;
    use epgt_pg::PolicySettings;
    use epgt_rng::Pcg64;

    #[test]
    fn a_squashed_policy_is_evaluated_as_it_acts_in_training() {
        let task = find("Pendulum-v1").unwrap();
        let mut env = task.make().unwrap();
        let settings = PolicySettings {
            squash: true,
            ..Default::default()
        };
        let mut policy = ActorCritic::new(&settings, 3, env.action_space(), &mut Pcg64::from_seed(2));
        policy.params.values_mut().iter_mut().for_each(|x| *x = 5.0 * *x + 0.1);
        let normalizer = Normalizer::new(3, 1, false, false, 0.99);
        let evaluated = evaluate(&mut policy, &normalizer, task, 1, 9, EvalActions::Auto).unwrap();

        // What training does with a draw, here with the mean.
        let mut observation = [0.0; 3];
        let mut earned = 0.0;
        env.reset(Some(9), &mut observation).unwrap();
        for _ in 0..task.max_episode_steps {
            policy.forward(&observation, 1);
            let mean = policy.policy.output().to_vec();
            let torque = policy.for_task(&mean).to_vec();
            assert!(torque[0].abs() <= 2.0);
            earned += env.step(&torque, &mut observation).unwrap().reward;
        }
        assert_eq!(evaluated.returns, [earned]);
    }
}
