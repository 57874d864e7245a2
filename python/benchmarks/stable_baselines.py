"""Stable-Baselines3's PPO from learning rates that are ten times too low, right and ten times too high: plain, and with
the steps of `epgt.sb3.Callback(step_control="divergence")`, for which SB3's rate decides nothing.

python python/benchmarks/stable_baselines.py [--seeds 5] [--jobs 1] [--out results.jsonl]

A score is the mean return of 20 episodes that the last policy plays deterministically. What is in the file is not made
again; the table of their means over the seeds, with 95% bootstrap intervals, is printed in the end.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

RATE = 3e-4
TASKS = {"CartPole-v1": (16_000, {}), "Pendulum-v1": (60_000, {"gamma": 0.9})}
WAYS = {"plain": (0.1, 1.0, 10.0), "divergence": (1.0,)}


def score(case: tuple[str, str, float, int]) -> float:
    """Trains once and plays."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    import epgt.sb3

    task, way, times, seed = case
    torch.set_num_threads(1)
    steps, settings = TASKS[task]
    envs = epgt.sb3.make_vec(task, 8, threads=1)
    model = PPO("MlpPolicy", envs, n_steps=256, learning_rate=times * RATE, seed=seed, device="cpu", **settings)
    callback = epgt.sb3.Callback(step_control="divergence") if way == "divergence" else None
    model.learn(steps, callback=callback)
    played = epgt.sb3.make_vec(task, 4, seed=10_000 + seed, threads=1)
    returns, _ = evaluate_policy(model, played, n_eval_episodes=20)
    return float(returns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("stable_baselines.jsonl"))
    arguments = parser.parse_args()
    done = {}
    if arguments.out.exists():
        done = {tuple(case): found for case, found in map(json.loads, arguments.out.read_text().splitlines())}
    seeds = range(arguments.seeds)
    cases = [(task, way, times, seed) for seed, task, way in product(seeds, TASKS, WAYS) for times in WAYS[way]]
    missing = [case for case in cases if case not in done]
    with ProcessPoolExecutor(arguments.jobs) as pool, arguments.out.open("a") as out:
        for case, found in zip(missing, pool.map(score, missing)):
            done[case] = found
            out.write(json.dumps([case, found]) + os.linesep)
            out.flush()
    print("| task | steps | x0.1 | x1 | x10 |\n| --- | --- | --- | --- | --- |")
    for task, way in product(TASKS, WAYS):
        cells = []
        for times in (0.1, 1.0, 10.0):
            known = times if times in WAYS[way] else 10.0
            scores = np.array([done[task, way, known, seed] for seed in seeds])
            drawn = np.random.default_rng(0).choice(scores, (10_000, len(scores))).mean(1)
            low, high = np.percentile(drawn, [2.5, 97.5])
            cells.append(f"{scores.mean():.0f} [{low:.0f}, {high:.0f}]")
        print(f"| {task} | {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
