//! One episode to look at: played as an evaluation plays it, with someone watching every step.
//!
//! It needs a policy, which this crate knows, and pixels, which `epgt-render` makes of what an environment shows, and is
//! needed by the program's videos and by pages that show a run while it trains: so it is here, above the one and below
//! the others.

use epgt_envs::{Env, EnvError, Normalizer, Picture, RowShape, Rows, TaskSpec, TimeLimit};
use epgt_pg::ActorCritic;
use epgt_render::{Image, draw_picture, picture_size};

use crate::evaluate::{EvalActions, MAX_STEPS, Player};

/// Which episode is filmed.
///
/// ```
/// let plan = epgt_train::FilmPlan { seed: 3, ..Default::default() };
/// assert_eq!((plan.seed, plan.max_steps), (3, 27_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilmPlan {
    /// The seed of the episode.
    pub seed: u64,
    /// How actions are chosen.
    pub actions: EvalActions,
    /// Steps after which an episode that has not ended is cut.
    pub max_steps: u64,
}

impl Default for FilmPlan {
    fn default() -> Self {
        Self {
            seed: 0,
            actions: EvalActions::Auto,
            max_steps: MAX_STEPS,
        }
    }
}

/// One moment of an episode. It is drawn only if it is asked for its picture.
pub struct Shot<'a> {
    /// Steps since the episode began.
    pub step: u64,
    /// Seconds since then, as the task counts them: its steps at its own speed (Gymnasium's `render_fps`).
    pub seconds: f64,
    /// Steps that a second has.
    pub steps_per_second: f64,
    /// What the episode has earned so far.
    pub episode_return: f64,
    /// Whether this is the last moment.
    pub over: bool,
    task: &'a TaskSpec,
    env: &'a mut dyn Env,
}

impl Shot<'_> {
    /// What is to be seen; [`EnvError::NoPicture`] where the environment shows nothing.
    pub fn picture(&mut self) -> Result<Picture, EnvError> {
        self.env.picture()?.ok_or_else(|| no_picture(self.task))
    }

    /// The same as pixels, in the largest size within these bounds that suits it.
    pub fn image(&mut self, width: usize, height: usize) -> Result<Image, EnvError> {
        let picture = self.picture()?;
        let (width, height) = picture_size(&picture, width, height);
        Ok(draw_picture(&picture, width, height))
    }
}

fn no_picture(task: &TaskSpec) -> EnvError {
    EnvError::NoPicture(format!("{} has no picture", task.id))
}

/// One copy of a task that can be looked at.
fn filmed(task: &TaskSpec) -> Result<Box<dyn Env>, EnvError> {
    let mut env = task.make()?;
    env.film();
    Ok(env)
}

/// Whether a task can be filmed: one copy is reset and looked at. [`EnvError::NoPicture`] where it shows nothing.
///
/// ```
/// let task = epgt_envs::find("CartPole-v1")?;
/// assert_eq!(epgt_train::can_be_filmed(&task), Ok(()));
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub fn can_be_filmed(task: &TaskSpec) -> Result<(), EnvError> {
    let mut env = filmed(task)?;
    let mut observation = vec![0.0; RowShape::from(env.observation_space()).numbers()];
    env.reset(Some(0), &mut observation)?;
    env.picture()?.map(drop).ok_or_else(|| no_picture(task))
}

/// Plays one episode and hands out its moments, the first before the first step. `see` takes the pictures that it wants
/// and says whether to go on. Returns what the episode earned; `None` where `see` has stopped it.
///
/// The episode is that of [`evaluate`](crate::evaluate) with the same seed. Evaluations begin the next episode at once,
/// and would never show the last moment. Environments behind the bridge get a worker of their own that renders; those
/// that train never do.
///
/// ```
/// use epgt_envs::{Normalizer, find};
/// use epgt_pg::{ActorCritic, PolicySettings};
/// use epgt_rng::Pcg64;
/// use epgt_train::{FilmPlan, film};
/// let task = find("CartPole-v1").unwrap();
/// let space = task.make().unwrap().action_space().clone();
/// let mut policy = ActorCritic::new(&PolicySettings::default(), 4, &space, &mut Pcg64::from_seed(0));
/// let normalizer = Normalizer::new(4, 1, true, true, 0.99);
/// let mut frames = Vec::new();
/// let earned = film(&mut policy, &normalizer, &task, &FilmPlan::default(), &mut |shot| {
///     if shot.step % 2 == 0 || shot.over {
///         frames.push((shot.seconds, shot.image(300, 200)?));
///     }
///     Ok(true)
/// });
/// assert!(earned.unwrap() > Some(5.0));
/// assert_eq!((frames[1].0, frames[1].1.width()), (0.04, 300));
/// ```
pub fn film(
    policy: &mut ActorCritic,
    normalizer: &Normalizer,
    task: &TaskSpec,
    plan: &FilmPlan,
    see: &mut dyn FnMut(&mut Shot<'_>) -> Result<bool, EnvError>,
) -> Result<Option<f64>, EnvError> {
    let mut env = TimeLimit::new(filmed(task)?, task.max_episode_steps);
    // Numbers are written by the environment's steps, pixels where they are asked for.
    let shape = RowShape::from(env.observation_space());
    let mut observation = vec![0.0; shape.numbers()];
    let mut pixels = vec![0; shape.size() - shape.numbers()];
    let mut action = vec![0.0; env.action_space().size()];
    let mut player = Player::new(plan.actions, task, 1, plan.seed);
    let (mut step, mut episode_return, mut over) = (0, 0.0, plan.max_steps == 0);
    env.reset(Some(plan.seed), &mut observation)?;
    loop {
        let steps_per_second = env.steps_per_second();
        let mut shot = Shot {
            step,
            seconds: step as f64 / steps_per_second,
            steps_per_second,
            episode_return,
            over,
            task,
            env: &mut env,
        };
        if !see(&mut shot)? {
            return Ok(None);
        }
        if over {
            return Ok(Some(episode_return));
        }
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
        let outcome = env.step(&action, &mut observation)?;
        step += 1;
        episode_return += outcome.reward;
        over = outcome.terminated || outcome.truncated || step >= plan.max_steps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvalPlan, evaluate};
    use epgt_envs::{Space, find};
    use epgt_pg::PolicySettings;
    use epgt_rng::Pcg64;
    use epgt_testing::needs;

    #[test]
    fn a_filmed_episode_is_the_evaluated_one() {
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
                let mut seen = 0_u32;
                let plan = FilmPlan {
                    seed: 5,
                    actions,
                    ..Default::default()
                };
                let mut see = |shot: &mut Shot<'_>| {
                    assert_eq!((shot.step, shot.over), (u64::from(seen), seen == evaluated.lengths[0]));
                    seen += 1;
                    Ok(true)
                };
                let earned = film(&mut policy, &normalizer, &task, &plan, &mut see).unwrap();
                let earned = earned.expect("the whole episode");
                assert_eq!(earned, evaluated.returns[0], "{id}");
                assert_eq!(seen, evaluated.lengths[0] + 1, "{id}");
                // The second of two side by side is the same; numbers may be rounded otherwise there, choices are not.
                if matches!(env.action_space(), Space::Discrete(_)) {
                    assert_eq!(two.returns[1], earned, "{id}");
                }
            }
        }
    }

    /// A policy that has learned nothing.
    fn newborn(task: &TaskSpec) -> (ActorCritic, Normalizer) {
        let env = task.make().unwrap();
        let shape = RowShape::from(env.observation_space());
        let mut rng = Pcg64::from_seed(3);
        let policy = ActorCritic::new(&PolicySettings::default(), shape, env.action_space(), &mut rng);
        (policy, Normalizer::new(shape.numbers(), 1, true, true, 0.99))
    }

    /// The times and images of an episode, of which not more than 40 steps are played.
    fn filmed_frames(id: &str) -> Vec<(f64, Image)> {
        let task = find(id).unwrap();
        let (mut policy, normalizer) = newborn(&task);
        let plan = FilmPlan {
            max_steps: 40,
            ..Default::default()
        };
        let mut frames = Vec::new();
        let mut see = |shot: &mut Shot<'_>| {
            if shot.step.is_multiple_of(4) || shot.over {
                frames.push((shot.seconds, shot.image(160, 120)?));
            }
            Ok(true)
        };
        assert!(
            film(&mut policy, &normalizer, &task, &plan, &mut see)
                .unwrap()
                .is_some()
        );
        frames
    }

    #[track_caller]
    fn assert_filmed(id: &str, size: (usize, usize)) {
        let mut frames = filmed_frames(id);
        assert!(
            frames.is_sorted_by(|one, next| one.0 < next.0) && frames[0].0 == 0.0,
            "{id}"
        );
        assert!(
            frames.iter().all(|(_, image)| (image.width(), image.height()) == size),
            "{id}"
        );
        assert!(frames == filmed_frames(id), "{id}: the same pixels every time");
        frames.dedup_by(|one, other| one.1 == other.1);
        assert!(frames.len() > 2, "{id}: something moves");
    }

    #[test]
    fn an_episode_of_every_family_is_filmed() {
        assert_filmed("CartPole-v1", (160, 107));
        assert_filmed("LunarLander-v3", (160, 107));
        assert_filmed("BipedalWalker-v3", (160, 107));
        assert_filmed("PixelCatch-v0", (120, 120));
    }

    #[needs(mujoco)]
    #[test]
    fn an_episode_in_space_is_filmed() {
        assert_filmed("Hopper-v5", (160, 120));
    }

    #[test]
    fn whoever_sees_enough_stops_the_episode() {
        let task = find("Pendulum-v1").unwrap();
        let (mut policy, normalizer) = newborn(&task);
        let mut see = |shot: &mut Shot<'_>| Ok(shot.step < 7);
        let stopped = film(&mut policy, &normalizer, &task, &FilmPlan::default(), &mut see);
        assert_eq!(stopped, Ok(None));
    }
}
