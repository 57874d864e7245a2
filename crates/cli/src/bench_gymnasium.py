"""Steps a Gymnasium environment with random actions and prints what the fastest of a few passes cost, as JSON.

Arguments: the task, the steps of a pass, the number of passes, and a seed.
"""

import json
import os
import sys
import tempfile
import time

import gymnasium


def measure(task, steps, seed):
    """CPU seconds of so many steps and of the resets between them, and how many of these there were."""
    env = gymnasium.make(task, disable_env_checker=True)
    env.action_space.seed(seed)
    actions = [env.action_space.sample() for _ in range(steps)]
    env.reset(seed=seed)
    resets, reset_seconds, begun = 0, 0.0, time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            before = time.process_time()
            env.reset()
            resets, reset_seconds = resets + 1, reset_seconds + time.process_time() - before
    return {
        "steps": steps,
        "step_seconds": time.process_time() - begun - reset_seconds,
        "resets": resets,
        "reset_seconds": reset_seconds,
    }


if __name__ == "__main__":
    task, steps, passes, seed = sys.argv[1], *map(int, sys.argv[2:])
    # MuJoCo writes a log file where it runs.
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        costs = [measure(task, steps, seed) for _ in range(passes)]
        os.chdir("/")
    best = min(costs, key=lambda cost: cost["step_seconds"] + cost["reset_seconds"])
    print(json.dumps({**best, "versions": f"Gymnasium {gymnasium.__version__}, Python {sys.version.split()[0]}"}))
