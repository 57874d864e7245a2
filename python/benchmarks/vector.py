"""Steps per second of the package's vector environments beside Gymnasium's own and beside the program's stepping
without Python, with random actions, all in one run.

python python/benchmarks/vector.py [SECONDS]

Beside Gymnasium's the clock on the wall counts, on as many threads as there are cores, and of what is measured in turns
the median. Beside the program (`epgt bench TASK --simulator-only`) both have a process and one thread, and the time of
the processor counts, of the fastest of twenty passes each: a busy machine only ever adds time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import epgt

CASES = [("CartPole-v1", 64), ("Pendulum-v1", 64), ("LunarLander-v3", 16), ("HalfCheetah-v5", 16), ("Ant-v5", 16)]
ROUNDS = 5
ACTIONS = 512
"""Rows of random actions, which are drawn beforehand: they are not what is measured."""
PASSES = 4
"""How often it is measured beside the program in each round."""
ALONE = "--alone"
"""The argument of a process that measures the package alone."""


def speed(envs: Any, seconds: float) -> float:
    """Environment steps per second."""
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(ACTIONS)]
    steps, begun = 0, time.perf_counter()
    for action in cycle(actions):
        envs.step(action)
        steps += envs.num_envs
        if steps % (64 * envs.num_envs) == 0 and time.perf_counter() - begun >= seconds:
            break
    return steps / (time.perf_counter() - begun)


def speed_on_one_thread(task: str, n: int) -> float:
    """Environment steps per second of the processor, in one pass."""
    envs = epgt.make_vec(task, n, threads=1)
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(ACTIONS)]
    begun = time.thread_time()
    for action in actions:
        envs.step(action)
    return float(ACTIONS * n / (time.thread_time() - begun))


def told_by(*command: str | Path) -> Any:
    """What a process prints that does nothing else."""
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def beside_the_program(task: str, n: int) -> tuple[float, float]:
    """Environment steps per second of the processor: of the package, and where the program steps by itself."""
    program, size = Path(sys.executable).with_name("epgt"), ("--n-envs", str(n), "--steps", str(ACTIONS * n))
    ours = told_by(sys.executable, __file__, ALONE, task, str(n))
    bare = told_by(program, "bench", task, "--simulator-only", *size)
    return ours, bare["steps"] / bare["cpu_seconds"]


def main() -> None:
    if sys.argv[1:2] == [ALONE]:
        print(speed_on_one_thread(sys.argv[2], int(sys.argv[3])))
        return
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
        share = seconds / ROUNDS
        # In turns, so that what else the machine does falls on all of them.
        rounds, bare = [], []
        for _ in range(ROUNDS):
            rounds.append([speed(envs, share) for envs in (own, *others)])
            bare += [beside_the_program(task, n) for _ in range(PASSES)]
        own_speed, sync, asynchronous = np.median(rounds, axis=0)
        python, rust = np.max(bare, axis=0)
        ratios = f"{own_speed / sync:>7.1f} {own_speed / asynchronous:>8.1f} {python / rust:>8.2f}"
        print(f"{task:<16} {n:>6} {own_speed:>12,.0f} {sync:>10,.0f} {asynchronous:>10,.0f} {ratios}", flush=True)
        for envs in (own, *others):
            envs.close()


if __name__ == "__main__":
    main()
