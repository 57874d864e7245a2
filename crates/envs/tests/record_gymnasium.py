"""Records trajectories and running statistics of Gymnasium for tests/recorded.rs.

    python crates/envs/tests/record_gymnasium.py
"""

import json
import pathlib

import gymnasium
import numpy as np
from gymnasium.wrappers.utils import RunningMeanStd
from gymnasium_steps import digits, play

STEPS = 1000
TASKS = ["Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]


def random_actions(id, seed):
    """Uniform actions; those of a box also go beyond its bounds."""
    rng = np.random.default_rng(seed)
    space = gymnasium.make(id).action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return rng.integers(space.n, size=STEPS).astype(np.float32)
    return rng.uniform(1.2 * space.low, 1.2 * space.high, size=(STEPS, 1)).astype(np.float32)


def trajectory(id, seed):
    actions = random_actions(id, seed + 1000)
    return {"id": id, "seed": seed, "actions": digits(actions, ">f4"), **play(id, seed, actions)}


def normalizer(seed, envs, size, steps=50, gamma=0.97):
    """What normalised rows look like, by Gymnasium's own running statistics."""
    rng = np.random.default_rng(seed)
    observations, returns = RunningMeanStd(shape=(size,)), RunningMeanStd(shape=())
    running = np.zeros(envs)
    record = {"envs": envs, "size": size, "gamma": gamma, "steps": []}
    for _ in range(steps):
        rows = (rng.normal(size=(envs, size)) * [0.1, 3.0, 50.0][:size] + 2.0).astype(np.float32)
        rewards = (rng.normal(size=envs) - 1.0).astype(np.float32)
        done = rng.random(envs) < 0.1
        observations.update(rows.astype(np.float64))
        normalised = np.clip((rows - observations.mean) / np.sqrt(observations.var + 1e-8), -10, 10)
        running = running * gamma + rewards
        returns.update(running)
        scaled = np.clip(rewards / np.sqrt(returns.var + 1e-8), -10, 10)
        running = np.where(done, 0.0, running)
        record["steps"].append(
            {
                "rows": digits(rows, ">f4"),
                "rewards": digits(rewards, ">f4"),
                "done": "".join(str(int(end)) for end in done),
                "normalised_rows": digits(normalised, ">f8"),
                "normalised_rewards": digits(scaled, ">f8"),
            }
        )
    return record


data = {
    "gymnasium": gymnasium.__version__,
    "numpy": np.__version__,
    "trajectories": [trajectory(id, seed) for seed, id in enumerate(TASKS)],
    "normalizers": [normalizer(0, 1, 2), normalizer(1, 4, 3)],
}
path = pathlib.Path(__file__).parent / "data" / "gymnasium.json"
path.write_text(json.dumps(data, indent=0) + "\n")
