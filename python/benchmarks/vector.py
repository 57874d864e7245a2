"""Steps per second of the package's vector environments beside Gymnasium's own and beside the program's stepping
without Python, with random actions, all in one run.

python python/benchmarks/vector.py [SECONDS]

Beside Gymnasium's the clock on the wall counts, on as many threads as there are cores, and of what is measured in turns
the median. Beside the program (`epgt bench TASK --simulator-only`) both have one thread, and the time of the processor
counts, the best of each: what Python adds to a step is little, and a busy machine only ever adds more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import epgt

CASES = [("CartPole-v1", 64), ("Pendulum-v1", 64), ("LunarLander-v3", 16), ("HalfCheetah-v5", 16), ("Ant-v5", 16)]
ROUNDS = 5


def speed(envs: Any, seconds: float, clock: Any = time.perf_counter) -> float:
    """Environment steps per second. The actions are drawn beforehand: they are not what is measured."""
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(64)]
    for action in actions:
        envs.step(action)
    steps, begun = 0, clock()
    while clock() - begun < seconds:
        for action in actions:
            envs.step(action)
        steps += len(actions) * envs.num_envs
    return steps / (clock() - begun)


def speed_without_python(task: str, n: int, steps: int) -> float:
    """Environment steps per second of the processor where the program steps by itself."""
    program = Path(sys.executable).with_name("epgt")
    arguments = ["bench", task, "--simulator-only", "--n-envs", str(n), "--steps", str(steps)]
    told = json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout)
    return float(told["steps"] / told["cpu_seconds"])


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    print(f"{'task':<16} {'copies':>6} {'epgt':>12} {'sync':>10} {'async':>10} {'x sync':>7} {'x async':>8} {'of Rust':>8}")
    for task, n in CASES:
        makers = [lambda task=task: gymnasium.make(task) for _ in range(n)]
        try:
            own = epgt.make_vec(task, n)
            makers[0]().close()
        except (epgt.EpgtError, gymnasium.error.Error) as error:
            print(f"{task:<16} left out: {error}")
            continue
        others = gymnasium.vector.SyncVectorEnv(makers), gymnasium.vector.AsyncVectorEnv(makers)
        alone = epgt.make_vec(task, n, threads=1)
        share = seconds / ROUNDS
        # In turns, so that what else the machine does falls on all of them.
        rounds, bare = [], []
        for _ in range(ROUNDS):
            rounds.append([speed(envs, share) for envs in (own, *others)])
            one = speed(alone, share, time.process_time)
            bare.append((one, speed_without_python(task, n, int(one * share))))
        own_speed, sync, asynchronous = np.median(rounds, axis=0)
        python, rust = np.max(bare, axis=0)
        ratios = f"{own_speed / sync:>7.1f} {own_speed / asynchronous:>8.1f} {python / rust:>8.2f}"
        print(f"{task:<16} {n:>6} {own_speed:>12,.0f} {sync:>10,.0f} {asynchronous:>10,.0f} {ratios}", flush=True)
        for envs in (own, *others, alone):
            envs.close()


if __name__ == "__main__":
    main()
