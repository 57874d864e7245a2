"""Steps the real Gymnasium and prints what it returned, for the tests of this crate.

Reads one JSON object per line: {"id", "options", "seed", "actions"}; writes one per line: {"task", "observations", "rewards",
"ends"}. A request {"id", "seed", "episodes"} is answered with the "returns" and "lengths" of so many episodes of a
random policy.
Numbers travel as the hexadecimal digits of their big-endian bits, so that nothing is rounded on the way; observations
are single or double precision, as the task has them. An ended
episode is followed by a reset without seed, whose observation comes next. An end is 1 (terminated) + 2 (truncated).
"""

import json
import os
import sys
import tempfile

import gymnasium
import numpy as np


def play(id, options, seed, actions):
    """The answer to one request; `options` are texts, and `actions` holds one row of float32 per step."""
    keywords = {name: value(text) for name, text in options}
    env = gymnasium.make(id, disable_env_checker=True, **keywords)
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    observations, rewards, ends = [env.reset(seed=seed)[0]], [], []
    for action in actions.reshape(-1, 1 if discrete else env.action_space.shape[0]):
        observation, reward, terminated, truncated, _ = env.step(int(action[0]) if discrete else action.copy())
        observations.append(observation)
        rewards.append(reward)
        ends.append(str(terminated + 2 * truncated))
        if terminated or truncated:
            observations.append(env.reset()[0])
    assert all(observation.dtype == env.observation_space.dtype for observation in observations)
    return {
        "task": describe(env),
        "observations": digits(np.concatenate(observations), env.observation_space.dtype.newbyteorder(">")),
        "rewards": digits(rewards, ">f8"),
        "ends": "".join(ends),
    }


def random_episodes(id, seed, episodes):
    """Returns and lengths of episodes whose actions are drawn at random.

    Each is the first one of a new environment, because ours begin in a new world, and Gymnasium's walker keeps its
    world. There the contacts come in another order, and a walk may part from that in a new world; what was measured of
    that is told in src/box2d/mod.rs.
    """
    rng = np.random.default_rng(seed)
    returns, lengths = [], []
    for episode in range(episodes):
        env = gymnasium.make(id, disable_env_checker=True)
        env.action_space.seed(int(rng.integers(1 << 32)))
        env.reset(seed=seed + episode)
        total, length, done = 0.0, 0, False
        while not done:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, length, done = total + float(reward), length + 1, terminated or truncated
        returns.append(total)
        lengths.append(length)
    return {"returns": returns, "lengths": lengths}


def value(text):
    """What Python would have in the place of an option's text."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        return text
    return tuple(parsed) if isinstance(parsed, list) else parsed


def describe(env):
    """What the task promises: bounds, number of choices, limit and threshold."""
    observation, action = env.observation_space, env.action_space
    discrete = isinstance(action, gymnasium.spaces.Discrete)
    return {
        "observation": digits([observation.low, observation.high], ">f4"),
        "action": int(action.n) if discrete else digits([action.low, action.high], ">f4"),
        "max_episode_steps": env.spec.max_episode_steps,
        "reward_threshold": env.spec.reward_threshold,
    }


def digits(numbers, kind):
    return np.asarray(numbers).astype(kind).tobytes().hex()


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "episodes" in request:
            print(json.dumps(random_episodes(**request)), flush=True)
            continue
        actions = np.frombuffer(bytes.fromhex(request["actions"]), ">f4").astype(np.float32)
        print(json.dumps(play(request["id"], request["options"], request["seed"], actions)), flush=True)


if __name__ == "__main__":
    # MuJoCo writes a log file where it runs.
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        main()
        os.chdir("/")
