"""The time to a score on one core: the program with nothing tuned, beside Stable-Baselines3's PPO with the settings
that RL Zoo tuned for each task.

python python/benchmarks/time_to_score.py [--tasks CartPole-v1 ..] [--seeds 0 ..] [--side both] [--epgt epgt]

It needs stable-baselines3, gymnasium, torch, and mujoco, imageio, packaging, box2d and pygame-ce for the tasks; with
`--side epgt` none of them. A score is the mean raw return of the last 100 training episodes, and it is reached when
that is first at least the number in TASKS. Stable-Baselines3 is looked at after every step, by what its Monitor says
below VecNormalize, and stops there. The program is looked at after every rollout and its update, by
`rollout/ep_rew_mean` of its metrics.csv. It runs as `fixed` (PPO, constant hyperparameters, no evaluations) and as
`named` (only the task is named, so the method, the hyper-agent and the evaluations are the defaults); both are told
the seed, one thread, and as many steps as the other side has.

Everything is pinned to one core, in turns, each training in a process of its own. Stable-Baselines3's seconds are those
of `learn`, so its imports and the making of networks and environments do not count. The program's are those of all of
its process: the wall time is what it writes itself (`time/time_elapsed`) and what it took to start, and the CPU time is
what its process had used by then, which is looked up every 2 ms.

What is measured replaces what the file of `--out` has of the same task, side and seed; the table is of all in the file.
A ratio is Stable-Baselines3's CPU seconds by the program's; `>` and `<` where one of the two ended without the score.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

TASKS = {  # The score, and the steps that a run has at most, which are RL Zoo's.
    "CartPole-v1": (475, 100_000),
    "LunarLander-v3": (200, 1_000_000),
    "Hopper-v4": (2300, 1_000_000),
    "HalfCheetah-v4": (5000, 1_000_000),
    "Walker2d-v4": (3000, 1_000_000),
}
EPISODES = 100
WIDE = {"log_std_init": -2, "ortho_init": False, "net_arch": {"pi": [256, 256], "vf": [256, 256]}}  # with ReLU
# hyperparams/ppo.yml of DLR-RM/rl-baselines3-zoo at 22e3ff2. What is not said is Stable-Baselines3's
# default, and a rate or clip range in a list falls linearly to 0.
ZOO: dict[str, dict[str, Any]] = {
    "CartPole-v1": {
        "n_envs": 8, "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20,
        "ent_coef": 0.0, "learning_rate": [0.001], "clip_range": [0.2],
    },
    "LunarLander-v3": {
        "n_envs": 16, "n_steps": 1024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999, "n_epochs": 4,
        "ent_coef": 0.01,
    },
    "Hopper-v4": {
        "normalize": True, "n_envs": 1, "n_steps": 512, "batch_size": 32, "gae_lambda": 0.99, "gamma": 0.999,
        "n_epochs": 5, "ent_coef": 0.00229519, "learning_rate": 9.80828e-05, "clip_range": 0.2, "max_grad_norm": 0.7,
        "vf_coef": 0.835671, "policy_kwargs": WIDE,
    },
    "HalfCheetah-v4": {
        "normalize": True, "n_envs": 1, "n_steps": 512, "batch_size": 64, "gae_lambda": 0.92, "gamma": 0.98,
        "n_epochs": 20, "ent_coef": 0.000401762, "learning_rate": 2.0633e-05, "clip_range": 0.1, "max_grad_norm": 0.8,
        "vf_coef": 0.58096, "policy_kwargs": WIDE,
    },
    "Walker2d-v4": {
        "normalize": True, "n_envs": 1, "n_steps": 512, "batch_size": 32, "gae_lambda": 0.95, "gamma": 0.99,
        "n_epochs": 20, "ent_coef": 0.000585045, "learning_rate": 5.05041e-05, "clip_range": 0.1, "max_grad_norm": 1,
        "vf_coef": 0.871923,
    },
}  # fmt: skip


def train_sb3(task: str, seed: int) -> dict[str, Any]:
    """Trains Stable-Baselines3 in this process until the score or the last step."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    class UntilScore(BaseCallback):
        returns: deque[float] = deque(maxlen=EPISODES)
        reached = False

        def mean(self) -> float:
            return sum(self.returns) / max(len(self.returns), 1)

        def _on_step(self) -> bool:
            ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            self.returns.extend(ended)
            self.reached = bool(ended) and len(self.returns) == EPISODES and self.mean() >= score
            return not self.reached

    score, steps = TASKS[task]
    torch.set_num_threads(1)
    settings = dict(ZOO[task])
    for name, value in settings.items():
        if isinstance(value, list):
            settings[name] = lambda left, start=value[0]: left * start
    if "policy_kwargs" in settings:
        settings["policy_kwargs"] = {**WIDE, "activation_fn": torch.nn.ReLU}
    # As RL Zoo has it: by default there are pictures, and LunarLander then simulates the sparks of its engines.
    envs = make_vec_env(task, settings.pop("n_envs"), seed=seed, env_kwargs={"render_mode": None})
    if settings.pop("normalize", False):
        envs = VecNormalize(envs, gamma=settings["gamma"])
    model = PPO("MlpPolicy", envs, seed=seed, device="cpu", **settings)
    watch = UntilScore()
    cpu, wall = time.process_time(), time.monotonic()
    model.learn(steps, callback=watch)
    found = {"cpu": time.process_time() - cpu, "wall": time.monotonic() - wall, "steps": model.num_timesteps}
    return {**found, "reached": watch.reached, "score": watch.mean(), "algo": "ppo"}


def measure_sb3(task: str, seed: int) -> dict[str, Any]:
    """Trains Stable-Baselines3 in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(train_sb3, task, seed).result()


def measure_epgt(program: str, task: str, seed: int, said: list[str]) -> dict[str, Any]:
    """Trains with the program to the last step, and finds in its metrics when the score was reached."""
    score, steps = TASKS[task]
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        command = [program, "train", task, *said, "--threads", "1", "--seed", str(seed), "--steps", str(steps)]
        command += ["--set", "log_interval=1", "--out", str(run), "-q", "--json"]
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        clock = ~process.pid << 3 | 2  # Linux's clock of the CPU time of that process
        used = []
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            used.append((time.monotonic() - start, time.clock_gettime(clock)))
            time.sleep(0.002)
        wall, cpu = time.monotonic() - start, ended[2].ru_utime + ended[2].ru_stime
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed")
        result = json.loads((run / "result.json").read_text())
        with (run / "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
    for row in rows:
        steps, mean = int(row["time/total_timesteps"]), float(row["rollout/ep_rew_mean"] or "-inf")
        # The metrics count no episodes: there are 100 where their mean length times 100 fits into the steps.
        if mean >= score and steps >= EPISODES * float(row["rollout/ep_len_mean"]):
            then = wall - result["wall_seconds"] + float(row["time/time_elapsed"])
            found = {"cpu": next((cpu for at, cpu in used if at >= then), cpu), "wall": then, "steps": steps}
            return {**found, "reached": True, "score": mean, "algo": result["algo"]}
    found = {"cpu": cpu, "wall": wall, "steps": result["steps"], "reached": False}
    return {**found, "score": result["return_last_100"], "algo": result["algo"]}


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    seconds = f"{found['cpu']:.3g} s (wall {found['wall']:.3g})"
    if found["reached"]:
        return f"{seconds}, {found['steps'] / 1000:.0f}k steps"
    return f"not in {found['steps'] / 1e6:.3g}M steps: {seconds}, ended at {found['score']:.0f}"


def ratio(sb3: dict[str, Any] | None, ours: dict[str, Any] | None) -> str:
    if sb3 is None or ours is None or not (sb3["reached"] or ours["reached"]):
        return ""
    sign = ("" if sb3["reached"] else "> ") if ours["reached"] else "< "
    return f"{sign}{sb3['cpu'] / ours['cpu']:.3g}"


def table(results: dict[str, dict[str, Any]]) -> None:
    print("| task | score | seed | SB3, RL Zoo's PPO | `fixed` | `named` | SB3 / `fixed` | SB3 / `named` |")
    print("| --- | ---: | ---: | --- | --- | --- | ---: | ---: |")
    seeds = {int(key.split()[2]) for key in results}
    for task, seed in ((task, seed) for task in TASKS for seed in sorted(seeds)):
        sb3, fixed, named = (results.get(f"{task} {side} {seed}") for side in ("sb3", "fixed", "named"))
        if sb3 or fixed or named:
            method = f" ({named['algo'].upper()})" if named and named["algo"] != "ppo" else ""
            cells = [cell(sb3), cell(fixed), cell(named) + method, ratio(sb3, fixed), ratio(sb3, named)]
            print(f"| {task} | {TASKS[task][0]} | {seed} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS)[:4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--side", choices=("sb3", "epgt", "both"), default="both")
    parser.add_argument("--epgt", default="epgt", help="the program")
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("time_to_score.json"))
    given = parser.parse_args()
    os.sched_setaffinity(0, {given.core})
    results = json.loads(given.out.read_text()) if given.out.exists() else {}

    def keep(task: str, side: str, seed: int, found: dict[str, Any]) -> None:
        results[f"{task} {side} {seed}"] = found
        given.out.write_text(json.dumps(results, indent=1))

    for task in given.tasks:
        for seed in given.seeds:
            if given.side != "epgt":
                keep(task, "sb3", seed, measure_sb3(task, seed))
            if given.side != "sb3":
                fixed = ["--algo", "ppo", "--scheduler", "fixed", "--set", "eval_interval=0"]
                keep(task, "fixed", seed, measure_epgt(given.epgt, task, seed, fixed))
                keep(task, "named", seed, measure_epgt(given.epgt, task, seed, []))
    table(results)


if __name__ == "__main__":
    main()
