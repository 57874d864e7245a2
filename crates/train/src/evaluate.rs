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
        /// Stochastic in Atari's games, deterministic elsewhere. A game can wait for a button that a deterministic
        /// policy never presses, half an hour long; others judge by drawn actions there too.
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
    /// assert!(EvalActions::Auto.are_drawn(&find("PongNoFrameskip-v4")?));
    /// assert!(!EvalActions::Auto.are_drawn(&find("CartPole-v1")?));
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

/// Chooses the actions of judged episodes, each with a generator of its own: an episode is the same whatever is played
/// beside it.
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

/// What an evaluation plays.
///
/// ```
/// use epgt_train::EvalPlan;
/// let plan = EvalPlan { episodes: 20, ..EvalPlan::default() };
/// assert_eq!((plan.seed, plan.max_steps), (0, 27_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvalPlan {
    /// How many episodes.
    pub episodes: usize,
    /// Episode i is seeded `seed + i`.
    pub seed: u64,
    /// How actions are chosen.
    pub actions: EvalActions,
    /// Steps after which an episode that has not ended is cut, and counts with what it has earned.
    pub max_steps: u64,
}

impl Default for EvalPlan {
    fn default() -> Self {
        Self {
            episodes: 10,
            seed: 0,
            actions: EvalActions::Auto,
            max_steps: MAX_STEPS,
        }
    }
}

/// Steps of an evaluated episode where nothing else is said: as many as Atari's half hour has.
pub(crate) const MAX_STEPS: u64 = 27_000;

/// Raw returns and lengths of evaluation episodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Undiscounted raw return of each episode.
    pub returns: Vec<f64>,
    /// Steps of each episode.
    pub lengths: Vec<u32>,
    /// Episodes that were cut because they did not end.
    pub cut: usize,
}

impl Evaluation {
    /// Mean return.
    pub fn mean_return(&self) -> f64 {
        self.returns.iter().sum::<f64>() / self.returns.len() as f64
    }

    /// Mean length.
    pub fn mean_length(&self) -> f64 {
        self.steps() as f64 / self.lengths.len() as f64
    }

    /// Steps of all episodes.
    pub fn steps(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }

    /// One sentence on episodes that were cut; `None` where all have ended.
    ///
    /// ```
    /// let evaluation = epgt_train::Evaluation { returns: vec![1.0; 3], lengths: vec![100; 3], cut: 2 };
    /// let sentence = evaluation.cut_sentence(100).unwrap();
    /// assert!(sentence.starts_with("2 of 3 evaluated episodes had not ended after 100 steps"));
    /// ```
    pub fn cut_sentence(&self, max_steps: u64) -> Option<String> {
        let (cut, all) = (self.cut, self.returns.len());
        (cut > 0).then(|| {
            format!(
                "{cut} of {all} evaluated episodes had not ended after {max_steps} steps and count with what they had earned by then"
            )
        })
    }
}

/// Plays the episodes of a plan. `watch` is told after every step how many have ended, and says whether to go on;
/// `None` is returned where it says no.
///
/// ```
/// use epgt_envs::{Normalizer, find};
/// use epgt_pg::{ActorCritic, PolicySettings};
/// use epgt_rng::Pcg64;
/// use epgt_train::EvalPlan;
/// let task = find("CartPole-v1").unwrap();
/// let space = task.make().unwrap().action_space().clone();
/// let mut policy = ActorCritic::new(&PolicySettings::default(), 4, &space, &mut Pcg64::from_seed(0));
/// let normalizer = Normalizer::new(4, 1, true, true, 0.99);
/// let plan = EvalPlan { episodes: 20, ..EvalPlan::default() };
/// let evaluation = epgt_train::evaluate(&mut policy, &normalizer, &task, &plan, &mut |_| true).unwrap();
/// assert_eq!(evaluation.unwrap().returns.len(), 20);
/// let stopped = epgt_train::evaluate(&mut policy, &normalizer, &task, &plan, &mut |_| false).unwrap();
/// assert_eq!(stopped, None);
/// ```
pub fn evaluate(
    policy: &mut ActorCritic,
    normalizer: &Normalizer,
    task: &TaskSpec,
    plan: &EvalPlan,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Evaluation>, EnvError> {
    let mut result = Evaluation::default();
    // Each group plays exactly one episode per environment: counting the first to finish would favour short ones.
    for first in (0..plan.episodes).step_by(SIDE_BY_SIDE) {
        let n = SIDE_BY_SIDE.min(plan.episodes - first);
        let seed = plan.seed.wrapping_add(first as u64);
        let mut envs = VecEnv::new(task, n, seed)?;
        let mut player = Player::new(plan.actions, task, n, seed);
        let (shape, action_size) = (RowShape::from(envs.observation_space()), envs.action_space().size());
        let mut observations = Observations::new(shape, n);
        let mut chosen = vec![0.0; n * action_size];
        let (mut rewards, mut terminated, mut truncated) = (vec![0.0; n], vec![false; n], vec![false; n]);
        let (mut played, mut earned) = (vec![None; n], vec![0.0; n]);
        let (mut ended, mut steps) = (0, 0);
        envs.reset(&mut observations)?;
        while ended < n && steps < plan.max_steps {
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
            steps += 1;
            for (earned, &reward) in earned.iter_mut().zip(&rewards) {
                *earned += f64::from(reward);
            }
            for episode in envs.finished() {
                if played[episode.env].is_none() {
                    played[episode.env] = Some((episode.episode_return, episode.length));
                    ended += 1;
                }
            }
            if !watch(first + ended) {
                return Ok(None);
            }
        }
        result.cut += n - ended;
        for (played, earned) in played.into_iter().zip(earned) {
            let (episode_return, length) = played.unwrap_or((earned, steps as u32));
            result.returns.push(episode_return);
            result.lengths.push(length);
        }
    }
    Ok(Some(result))
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
        let plan = EvalPlan {
            episodes: 1,
            seed: 9,
            ..EvalPlan::default()
        };
        let evaluated = evaluate(&mut policy, &normalizer, &task, &plan, &mut |_| true)
            .unwrap()
            .unwrap();

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

    /// A policy that leaves the pendulum hanging, whose episodes all last 200 steps.
    fn pendulum() -> (TaskSpec, ActorCritic, Normalizer) {
        let task = find("Pendulum-v1").unwrap();
        let space = task.make().unwrap().action_space().clone();
        let policy = ActorCritic::new(&PolicySettings::default(), 3, &space, &mut Pcg64::from_seed(2));
        (task, policy, Normalizer::new(3, 1, false, false, 0.99))
    }

    #[test]
    fn an_episode_that_does_not_end_is_cut_and_counts_with_what_it_earned() {
        let (task, mut policy, normalizer) = pendulum();
        let mut play = |max_steps| {
            let plan = EvalPlan {
                episodes: 18,
                max_steps,
                ..EvalPlan::default()
            };
            evaluate(&mut policy, &normalizer, &task, &plan, &mut |_| true)
                .unwrap()
                .unwrap()
        };
        let whole = play(200);
        assert_eq!((whole.cut, whole.steps()), (0, 18 * 200));
        let cut = play(150);
        assert_eq!((cut.cut, cut.steps()), (18, 18 * 150));
        // Every step of the pendulum costs something.
        assert!(
            cut.returns
                .iter()
                .zip(&whole.returns)
                .all(|(cut, whole)| whole < cut && *cut < 0.0)
        );
    }

    #[test]
    fn whoever_watches_an_evaluation_sees_the_episodes_end_and_can_stop_it_at_any_step() {
        let (task, mut policy, normalizer) = pendulum();
        let plan = EvalPlan {
            episodes: 18,
            ..EvalPlan::default()
        };
        let mut seen = Vec::new();
        let mut watch = |ended| {
            seen.push(ended);
            seen.len() < 250
        };
        assert_eq!(
            evaluate(&mut policy, &normalizer, &task, &plan, &mut watch).unwrap(),
            None
        );
        assert_eq!((seen[198], seen[199], seen[249]), (0, 16, 16));
    }
}
