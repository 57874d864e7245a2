"""Steps per second of the package's vector environments beside Gymnasium's own, with random actions, all in one run.

python python/benchmarks/vector.py [SECONDS]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium
import numpy as np

import epgt

CASES = [("CartPole-v1", 64), ("Pendulum-v1", 64), ("LunarLander-v3", 16), ("HalfCheetah-v5", 16), ("Ant-v5", 16)]


def speed(envs: Any, seconds: float) -> float:
    """Environment steps per second. The actions are drawn beforehand: they are not what is measured."""
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(64)]
    for action in actions:
        envs.step(action)
    steps, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for action in actions:
            envs.step(action)
        steps += len(actions) * envs.num_envs
    return steps / (time.perf_counter() - begun)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(f"{'task':<16} {'copies':>6} {'epgt':>12} {'sync':>10} {'async':>10} {'x sync':>7} {'x async':>8}")
    for task, n in CASES:
        makers = [lambda task=task: gymnasium.make(task) for _ in range(n)]
        try:
            own = epgt.make_vec(task, n)
            makers[0]().close()
        except (epgt.EpgtError, gymnasium.error.Error) as error:
            print(f"{task:<16} left out: {error}")
            continue
        others = gymnasium.vector.SyncVectorEnv(makers), gymnasium.vector.AsyncVectorEnv(makers)
        # In turns, so that what else the machine does falls on all of them.
        rounds = [[speed(envs, seconds / 3) for envs in (own, *others)] for _ in range(3)]
        own_speed, sync, asynchronous = np.median(rounds, axis=0)
        ratios = f"{own_speed / sync:>7.1f} {own_speed / asynchronous:>8.1f}"
        print(f"{task:<16} {n:>6} {own_speed:>12,.0f} {sync:>10,.0f} {asynchronous:>10,.0f} {ratios}")
        for envs in (own, *others):
            envs.close()


if __name__ == "__main__":
    main()
