//! The environment phase: the agent acts T steps in each of N environments (`G = Agent(pi)` of the paper's Algorithm
//! 1).

use crate::{ActorCritic, Rollout};
use epgt_envs::{EnvError, Normalizer, RowsMut, StepRow, VecEnv};
use epgt_rng::Pcg64;

/// Fills `rollout` with the next T steps of every environment.
///
/// The first call resets the environments; later ones go on from the last observations of the phase before. The
/// observations of truncated episodes are valued here, because the environment has moved on to the next episode by the
/// time of the update. See the crate's documentation for an example.
pub fn collect(
    rollout: &mut Rollout,
    envs: &mut VecEnv,
    normalizer: &mut Normalizer,
    agent: &mut ActorCritic,
    rng: &mut Pcg64,
) -> Result<(), EnvError> {
    let n = rollout.n;
    let observation = rollout.final_observation.len();
    let row = n * observation;
    let action_row = n * agent.distribution.action_size();
    assert_eq!(envs.n(), n, "a rollout is made for its number of environments");

    let output_row = n * agent.distribution.outputs();
    rollout.outputs.resize(rollout.steps * output_row, 0.0);
    rollout.log_std.clear();
    rollout.log_std.extend_from_slice(agent.log_std());
    rollout.noise.clear();
    rollout.noise.extend_from_slice(agent.noise());
    rollout.episodes.clear();
    rollout.final_values.fill(0.0);
    if rollout.started {
        let last = rollout.steps * row;
        rollout.observations.copy_within(last..last + row, 0);
    } else {
        envs.reset(rollout.observations.part_mut(0..row))?;
        observe(normalizer, rollout.observations.part_mut(0..row));
        rollout.started = true;
    }

    for t in 0..rollout.steps {
        let actions = &mut rollout.actions[t * action_row..][..action_row];
        let step = t * n..(t + 1) * n;
        let raw_rewards = &mut rollout.raw_rewards[step.clone()];
        let terminated = &mut rollout.terminated[step.clone()];
        let truncated = &mut rollout.truncated[step.clone()];

        let log_probs = &mut rollout.log_probs[step.clone()];
        let now = rollout.observations.part(t * row..(t + 1) * row);
        agent.act(now, n, rng, actions, log_probs, &mut rollout.values[step.clone()]);
        rollout.outputs[t * output_row..][..output_row].copy_from_slice(agent.policy_output());
        agent.keep(t * n);
        let out = StepRow {
            observations: rollout.observations.part_mut((t + 1) * row..(t + 2) * row),
            rewards: raw_rewards,
            terminated,
            truncated,
        };
        envs.step(agent.for_task(actions), out)?;
        normalizer.rewards(raw_rewards, terminated, truncated, &mut rollout.rewards[step]);
        observe(normalizer, rollout.observations.part_mut((t + 1) * row..(t + 2) * row));

        if envs.finished().is_empty() {
            continue;
        }
        rollout.episodes.extend_from_slice(envs.finished());
        for i in 0..n {
            if truncated[i] && !terminated[i] {
                let mut last = rollout.final_observation.all_mut();
                last.copy_from(envs.final_observation(i));
                if let RowsMut::Numbers(numbers) = last {
                    normalizer.apply(numbers);
                }
                let value = &mut rollout.final_values[t * n + i..][..1];
                agent.values_of(&rollout.final_observation, 1, value);
            }
        }
    }
    let last = rollout.steps;
    let observations = rollout.observations.part(last * row..(last + 1) * row);
    agent.values_of(observations, n, &mut rollout.values[last * n..]);
    Ok(())
}

/// Images are not normalised.
fn observe(normalizer: &mut Normalizer, rows: RowsMut<'_>) {
    if let RowsMut::Numbers(rows) = rows {
        normalizer.observe(rows);
    }
}
