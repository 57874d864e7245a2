//! The promises that every environment keeps, tried out.

use crate::{Env, EnvError, Space, Step};
use epgt_rng::Pcg64;

/// Steps that are tried; enough for a few episodes of most tasks.
const STEPS: usize = 600;

/// Tries an environment out and names the first promise that it breaks.
///
/// Checked: the spaces make sense; observations lie in theirs and rewards are finite; a seed decides everything that
/// follows; a restored state goes on exactly as the saved one; an action that is no choice is refused.
///
/// ```
/// let mut env = epgt_envs::make("Acrobot-v1")?;
/// epgt_envs::check(&mut *env)?;
/// # Ok::<(), epgt_envs::EnvError>(())
/// ```
pub fn check(env: &mut dyn Env) -> Result<(), EnvError> {
    check_space(env.observation_space(), "observation")?;
    check_space(env.action_space(), "action")?;
    let first = play(env, Some(7), STEPS)?;
    if play(env, Some(7), STEPS)? != first {
        return broken("the same seed and actions gave two different episodes");
    }
    if play(env, Some(8), STEPS)? == first {
        return broken("two different seeds gave the same episodes, so the seed is not used");
    }
    let saved = env.save();
    let continued = play(env, None, STEPS)?;
    env.restore(&saved)?;
    if play(env, None, STEPS)? != continued {
        return broken("a restored state did not go on as the saved one, so save leaves something out");
    }
    if env.restore(&[&saved[..], &[0]].concat()).is_ok() {
        return broken("bytes that are no saved state were restored");
    }
    check_wrong_action(env)
}

fn broken(text: &str) -> Result<(), EnvError> {
    Err(EnvError::BrokenPromise(text.into()))
}

pub(crate) fn check_space(space: &Space, name: &str) -> Result<(), EnvError> {
    let sensible = match space {
        Space::Discrete(n) => *n > 0,
        Space::MultiDiscrete(counts) => counts.iter().all(|&n| n > 0),
        Space::Box { low, high } => {
            !low.is_empty() && low.len() == high.len() && low.iter().zip(high).all(|(low, high)| low <= high)
        }
        Space::Image { .. } => space.size() > 0 && name == "observation",
    };
    if sensible {
        Ok(())
    } else {
        broken(&format!(
            "the {name} space {space:?} is empty or has its bounds the wrong way round"
        ))
    }
}

fn check_wrong_action(env: &mut dyn Env) -> Result<(), EnvError> {
    let mut observation = vec![0.0; env.observation_space().size()];
    let wrong = match env.action_space() {
        Space::Discrete(n) => vec![*n as f32],
        Space::MultiDiscrete(counts) => counts.iter().map(|&n| n as f32).collect(),
        _ => vec![f32::NAN; env.action_space().size()],
    };
    env.reset(Some(7), &mut observation)?;
    match env.step(&wrong, &mut observation) {
        Err(EnvError::InvalidAction(_)) => Ok(()),
        _ => broken(&format!("the action {wrong:?} was not refused as an invalid action")),
    }
}

/// All observations and steps of a number of random actions, always the same ones, over as many episodes as it takes.
fn play(env: &mut dyn Env, seed: Option<u64>, steps: usize) -> Result<(Vec<f32>, Vec<Step>), EnvError> {
    let mut rng = Pcg64::from_seed(99);
    let mut action = vec![0.0; env.action_space().size()];
    let mut observation = vec![0.0; env.observation_space().size()];
    let mut seen = (Vec::new(), Vec::new());
    env.reset(seed, &mut observation)?;
    check_observation(env, &observation, 0)?;
    seen.0.extend(&observation);
    for number in 1..=steps {
        env.action_space().sample(&mut rng, &mut action);
        let step = env.step(&action, &mut observation)?;
        check_observation(env, &observation, number)?;
        if !step.reward.is_finite() {
            broken(&format!("the reward of step {number} is {}", step.reward))?;
        }
        seen.0.extend(&observation);
        seen.1.push(step);
        if step.terminated || step.truncated {
            env.reset(None, &mut observation)?;
            check_observation(env, &observation, number)?;
            seen.0.extend(&observation);
        }
    }
    Ok(seen)
}

fn check_observation(env: &dyn Env, observation: &[f32], step: usize) -> Result<(), EnvError> {
    if let image @ Space::Image { .. } = env.observation_space() {
        let mut pixels = vec![0; image.size()];
        env.image(&mut pixels);
        if pixels
            .iter()
            .zip(observation)
            .any(|(&byte, &number)| f32::from(byte) != number)
        {
            return broken(&format!(
                "the image of step {step} has other pixels as bytes than as numbers"
            ));
        }
    }
    if env.observation_space().contains(observation) {
        return Ok(());
    }
    broken(&format!(
        "the observation {observation:?} of step {step} is not in the observation space"
    ))
}
