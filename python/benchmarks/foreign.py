"""Three environments that the program has never seen, in odd units (`foreign_tasks.py`): what PPO's one setting reaches beside the best of a
grid of learning rates, discounts and deviations that is made for each of them.

python python/benchmarks/foreign.py [--epgt epgt] [--seeds 5] [--jobs 1] [--out foreign]

A score is the mean return of the last 100 training episodes. The grid's best is picked on seeds from 100 on, and then made again, as
everything that is reported, on seeds from 0 on; what is in the directory is not made again. Scores are counted from random play's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import foreign_tasks
import numpy as np

TASKS = {"reach": 100_000, "tank": 200_000, "sail": 200_000}
PICKED_ON = (100, 101)
# As who tunes by hand would: rates, discounts, and deviations in units of the range; all else is PPO's one setting.
GRID = {
    " ".join(values): [
        "--set=ppo.step_control=rate",
        f"--set=ppo.learning_rate={values[0]}",
        f"--set=ppo.gamma={values[1]}",
        f"--set=policy.log_std_init={values[2]}",
    ]
    for values in product(("1e-4", "3e-4", "1e-3"), ("0.9", "0.99", "0.999"), ("-1.0", "0.0"))
}
DEFAULT: list[str] = []


def score(program: str, out: Path, task: str, name: str, settings: list[str], seed: int) -> float:
    """The score of one run."""
    directory = out / task / name.replace(" ", "_") / str(seed)
    result = directory / "result.json"
    if not result.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        here = str(Path(__file__).parent)
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        command = [program, "train", f"gym:foreign_tasks:{task}", "--algo=ppo", "--scheduler=fixed", "--threads=1", "-q"]
        command += [f"--steps={TASKS[task]}", f"--seed={seed}", "--set=eval_interval=0", f"--out={directory}", "--force", *settings]
        ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(ended.stderr)
    return float(json.loads(result.read_text())["return_last_100"])


def random_play(task: str) -> float:
    """The mean return of ten episodes with random actions."""
    env = getattr(foreign_tasks, task)()
    env.action_space.seed(0)
    returns = []
    for seed in range(10):
        env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epgt", default="epgt")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("foreign"))
    arguments = parser.parse_args()
    print("| task | random play | best of the grid | its setting | one setting | share |\n| --- | --- | --- | --- | --- | --- |")
    with ThreadPoolExecutor(arguments.jobs) as pool:

        def mean(task: str, name: str, settings: list[str], seeds: range | tuple[int, ...]) -> float:
            jobs = [pool.submit(score, arguments.epgt, arguments.out, task, name, settings, seed) for seed in seeds]
            return float(np.mean([job.result() for job in jobs]))

        for task in TASKS:
            best = max(GRID, key=lambda name: mean(task, name, GRID[name], PICKED_ON))
            tuned = mean(task, best, GRID[best], range(arguments.seeds))
            ours = mean(task, "one setting", DEFAULT, range(arguments.seeds))
            zero = random_play(task)
            share = (ours - zero) / (tuned - zero)
            print(f"| {task} | {zero:.4g} | {tuned:.4g} | {best} | {ours:.4g} | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
