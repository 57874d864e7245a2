//! One episode to look at: played as an evaluation plays it, with someone watching every step.

use epgt_envs::{Env, EnvError, Normalizer, RowShape, Rows, TaskSpec, TimeLimit};
use epgt_pg::ActorCritic;

use crate::evaluate::{EvalActions, Player};

/// Plays one episode and lets `see` look at the environment before the first step and
/// after each. Returns the episode's return.
///
/// The episode is that of [`evaluate`](crate::evaluate) with the same seed. Evaluations begin the next episode at once,
/// and would never show the last moment.
///
/// ```
/// use epgt_envs::{Normalizer, find};
/// use epgt_pg::{ActorCritic, PolicySettings};
/// use epgt_rng::Pcg64;
/// use epgt_train::{EvalActions, watch};
/// let task = find("CartPole-v1").unwrap();
/// let space = task.make().unwrap().action_space().clone();
/// let mut policy = ActorCritic::new(&PolicySettings::default(), 4, &space, &mut Pcg64::from_seed(0));
/// let normalizer = Normalizer::new(4, 1, true, true, 0.99);
/// let mut scenes = Vec::new();
/// let see = |env: &dyn epgt_envs::Env| scenes.extend(env.scene());
/// let earned = watch(&mut policy, &normalizer, &task, 0, EvalActions::Auto, see).unwrap();
/// assert_eq!(scenes.len() as f64, earned + 1.0);
/// ```
pub fn watch(
    policy: &mut ActorCritic,
    normalizer: &Normalizer,
    task: &TaskSpec,
    seed: u64,
    actions: EvalActions,
    mut see: impl FnMut(&dyn Env),
) -> Result<f64, EnvError> {
    let mut env = TimeLimit::new(task.make()?, task.max_episode_steps);
    // Numbers are written by the environment's steps, pixels where they are asked for.
    let shape = RowShape::from(env.observation_space());
    let mut observation = vec![0.0; shape.numbers()];
    let mut pixels = vec![0; shape.size() - shape.numbers()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut player = Player::new(actions, task, 1, seed);
    let mut episode_return = 0.0;
    env.reset(Some(seed), &mut observation)?;
    see(&env);
    loop {
        let seen = match shape {
            RowShape::Numbers(_) => {
                normalizer.apply(&mut observation);
                Rows::Numbers(&observation)
            }
            RowShape::Image(_) => {
                env.image(&mut pixels);
                Rows::Bytes(&pixels)
            }
        };
        player.act(policy, seen, 1, &mut action);
        env.action_space().clip(&mut action)?;
        let step = env.step(&action, &mut observation)?;
        episode_return += step.reward;
        see(&env);
        if step.terminated || step.truncated {
            return Ok(episode_return);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvalPlan, evaluate};
    use epgt_envs::{Space, find};
    use epgt_pg::PolicySettings;
    use epgt_rng::Pcg64;

    #[test]
    fn a_watched_episode_is_the_evaluated_one() {
        for (id, squash) in [
            ("Acrobot-v1", false),
            ("CartPole-v1", false),
            ("LunarLanderContinuous-v3", false),
            ("LunarLanderContinuous-v3", true),
            ("Pendulum-v1", true),
            ("PixelCatch-v0", false),
        ] {
            let task = find(id).unwrap();
            let settings = PolicySettings {
                squash,
                ..Default::default()
            };
            let env = task.make().unwrap();
            let shape = RowShape::from(env.observation_space());
            let mut rng = Pcg64::from_seed(3);
            let mut policy = ActorCritic::new(&settings, shape, env.action_space(), &mut rng);
            let normalizer = Normalizer::new(shape.numbers(), 1, true, true, 0.99);
            for actions in [EvalActions::Deterministic, EvalActions::Stochastic] {
                let mut play = |episodes, seed| {
                    let plan = EvalPlan {
                        episodes,
                        seed,
                        actions,
                        ..EvalPlan::default()
                    };
                    evaluate(&mut policy, &normalizer, &task, &plan, &mut |_| true)
                        .unwrap()
                        .unwrap()
                };
                let evaluated = play(1, 5);
                let two = play(2, 4);
                let mut seen = 0;
                let earned = watch(&mut policy, &normalizer, &task, 5, actions, |_| seen += 1).unwrap();
                assert_eq!(earned, evaluated.returns[0], "{id}");
                assert_eq!(seen, evaluated.lengths[0] + 1, "{id}");
                // The second of two side by side is the same; numbers may be rounded otherwise there, choices are not.
                if matches!(env.action_space(), Space::Discrete(_)) {
                    assert_eq!(two.returns[1], earned, "{id}");
                }
            }
        }
    }
}
