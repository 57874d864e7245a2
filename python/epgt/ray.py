"""What works with Ray, which is imported with this module.

`Trainable` is a run of the package for Ray Tune, with its schedulers and searches. `run_experiment`, and on a command
line `python -m epgt.ray experiment run NAME`, makes the runs of one of the program's experiments on a cluster.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _epgt
from ._checks import StrPath, number, path, whole
from ._errors import ConfigError, InputError, MissingPackage, RunError
from ._run import Run, resume, train

try:
    import ray
    from ray import tune
except ImportError as error:
    raise MissingPackage("epgt.ray needs the package ray: pip install 'ray[tune]'") from error

__all__ = ["Trainable", "run_experiment"]

SETTINGS = "settings.json"
"""The file of a checkpoint that says with which settings its run was made."""
BETWEEN_LOOKS = 1.0
"""Seconds after which a run that another process has is looked at again."""


class Trainable(tune.Trainable):
    """A run of the package as Ray Tune's: `tune.Tuner(epgt.ray.Trainable, param_space={"task": "CartPole-v1", ...})`.

    The parameters are those of `epgt.train`: the task, its settings by their names, and `iteration_steps`, the
    environment steps of an iteration (a tenth of all unless it is said). An iteration's result is the last row of
    metrics of the run, with `episode_return_mean` and `timesteps_total` as Tune names them.

    A checkpoint is the whole run. Restored with other values of the method's hyperparameters, as population-based
    training does it, the run goes on with those. The scheduler is `fixed` unless it is said, and whoever gives a
    `learning_rate` works with rates (`step_control`).
    """

    _steps: int
    _changed: dict[str, float]
    _run: Run | None

    def setup(self, config: dict[str, Any]) -> None:
        """Begins with these parameters; the run itself begins with the first iteration."""
        self._place = Path(tempfile.mkdtemp(prefix="epgt-"))
        self._begin(config)

    def step(self) -> dict[str, Any]:
        """Trains for an iteration."""
        last: dict[str, float] = {}
        # Rollouts may go beyond the end of an iteration; the next one ends where it would have ended anyway.
        stop_at = (self._steps // self._iteration_steps + 1) * self._iteration_steps

        def watch(row: dict[str, float]) -> bool:
            last.update(row)
            return row["time/total_timesteps"] < stop_at

        if (self._place / "run").exists():
            values, self._changed = self._changed, {}
            self._run = resume(
                self._place / "run", values=values, callback=watch, progress=False, threads=self._threads, env=self._env
            )
        else:
            self._run = train(
                self._task,
                directory=self._place / "run",
                callback=watch,
                progress=False,
                threads=self._threads,
                **self._settings,
            )
        result = self._run.result
        if last:
            self._steps = int(last["time/total_timesteps"])
        elif result is not None:
            self._steps = int(result["steps"])
        returns = last.get("rollout/ep_rew_mean", float("nan"))
        told = {"episode_return_mean": returns, "timesteps_total": self._steps, "done": result is not None}
        return {**last, **told}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Copies the run."""
        into = Path(checkpoint_dir)
        (into / SETTINGS).write_text(json.dumps({"settings": self._plain(), "steps": self._steps}))
        if (self._place / "run").exists():
            shutil.copytree(self._place / "run", into / "run", dirs_exist_ok=True)

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Takes over a run; it goes on with the values of this trial."""
        kept = path("checkpoint", checkpoint)
        try:
            said = json.loads((kept / SETTINGS).read_text())
        except (OSError, ValueError) as error:
            raise RunError(f"{kept} is not a checkpoint of epgt.ray.Trainable") from error
        self._remove_run()
        self._steps = int(said["steps"])
        if not (kept / "run").exists():
            return
        shutil.copytree(kept / "run", self._place / "run")
        before, now = said["settings"], self._plain()
        self._changed = {}
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                if name not in now:
                    raise ConfigError(
                        f"the run that goes on has {name} = {before[name]!r}, and this trial says nothing"
                    )
                self._changed[name] = number(name, now[name])

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Begins anew with other parameters; Tune restores a checkpoint afterwards where there is one."""
        self._remove_run()
        self._begin(new_config)
        return True

    def cleanup(self) -> None:
        """Removes the run from this node; Tune has its checkpoints."""
        shutil.rmtree(self._place, ignore_errors=True)

    def _begin(self, config: Mapping[str, Any]) -> None:
        said = dict(config)
        self._task = said.pop("task", None)
        if not isinstance(self._task, str) and not callable(self._task):
            raise ConfigError('there is no task; say which: param_space={"task": "CartPole-v1", ...}')
        self._env = None if isinstance(self._task, str) else self._task
        self._threads = said.pop("threads", 1)
        steps = said.get("steps", 100_000)
        said["steps"] = whole("steps", int(steps) if isinstance(steps, float) and steps.is_integer() else steps, 1)
        tenth = max(said["steps"] // 10, 1)
        self._iteration_steps = whole("iteration_steps", said.pop("iteration_steps", tenth), 1)
        if "learning_rate" in said:
            said.setdefault("step_control", "rate")
        said.setdefault("scheduler", "fixed")
        # A row of metrics is where a run can be stopped.
        said.setdefault("log_interval", self._iteration_steps)
        self._settings = said
        self._steps = 0
        self._changed = {}
        self._run = None

    def _plain(self) -> dict[str, Any]:
        """The settings as a file keeps them."""
        plain: dict[str, Any] = json.loads(json.dumps(self._settings, default=str))
        return plain

    def _remove_run(self) -> None:
        shutil.rmtree(self._place / "run", ignore_errors=True)


def run_experiment(
    name: StrPath,
    out: StrPath,
    *,
    address: str | None = None,
    jobs: int | None = None,
    scale: float = 1.0,
    only: str | None = None,
    quiet: bool = False,
) -> list[str]:
    """Makes the runs of an experiment that are missing, each as a task of Ray's; returns a sentence for each that
    failed.

    `out` is a directory that all nodes see, the same as for `epgt experiment run`, which may work on it as well. Every
    run keeps its checkpoints there: what a lost node was at is gone on with elsewhere, and what it had done since the
    last checkpoint is done again. The runs are the same to the bit wherever they are made. `jobs` is how many are made
    at a time, or as many as the cluster has cores; `scale` and `only` are those of the program.
    """
    place = Path(os.path.abspath(path("out", out)))
    jobs = None if jobs is None else whole("jobs", jobs, 1)
    if only is not None and not isinstance(only, str):
        raise InputError(f"only={only!r} cannot be used; a text such as 'seed=0-4' is wanted")
    scale = number("scale", scale)
    experiment = _epgt.experiment_text(path("name", name))
    cells = _epgt.experiment_cells(experiment, scale, place, only)
    missing = [(cell, directory) for cell, directory, is_done in cells if not is_done]
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    at_a_time = jobs or max(int(_resources().get("CPU", 1)), 1)
    task = ray.remote(num_cpus=1, max_retries=-1)(make_cell)
    pending: dict[Any, Path] = {}
    failures: list[str] = []
    done = len(cells) - len(missing)
    try:
        while missing or pending:
            while missing and len(pending) < at_a_time:
                cell, directory = missing.pop(0)
                pending[task.remote(experiment, scale, place, cell)] = directory
            for ended in ray.wait(list(pending), num_returns=1)[0]:
                directory = pending.pop(ended)
                failure = ray.get(ended)
                done += failure is None
                if failure is not None:
                    failures.append(f"{directory}: {failure}")
                if not quiet:
                    print(f"{done} of {len(cells)} runs done: {directory}", file=sys.stderr)
    except BaseException:
        # They save themselves.
        for task_at_work in pending:
            ray.cancel(task_at_work)
        raise
    return failures


def _resources() -> dict[str, float]:
    found: Any = ray
    resources: dict[str, float] = found.cluster_resources()
    return resources


def make_cell(experiment: tuple[str, str], scale: float, out: Path, cell: int) -> str | None:
    """Makes one run of an experiment on this node; returns why it failed, where it did."""
    while True:
        end, sentence = _epgt.make_cell(experiment, scale, out, cell)
        if end != "elsewhere":
            return sentence
        # A node that is given up may still be at it.
        time.sleep(BETWEEN_LOOKS)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m epgt.ray", description="Experiments on a cluster of Ray's.")
    commands = parser.add_subparsers(required=True, metavar="experiment")
    experiment = commands.add_parser("experiment", help="several methods on several tasks and seeds")
    run = experiment.add_subparsers(required=True, metavar="run").add_parser(
        "run", help="make the runs that are missing, and compare all"
    )
    run.add_argument("name", help="the experiment's name (see: epgt experiment list), or its TOML file")
    run.add_argument("--address", help="of the cluster, such as auto or HOST:PORT [default: a cluster of this machine]")
    run.add_argument("--out", required=True, help="where the runs are; all nodes see it")
    run.add_argument("--jobs", type=int, help="runs at a time [default: the cluster's cores]")
    run.add_argument("--scale", type=float, default=1.0, help="all runs with so many times their steps")
    run.add_argument("--only", help="only these runs: task=, method= and seed=")
    run.add_argument("--quiet", "-q", action="store_true", help="show no progress")
    given = parser.parse_args(arguments)
    options: dict[str, Any] = {"jobs": given.jobs, "scale": given.scale, "only": given.only, "quiet": given.quiet}
    try:
        failures = run_experiment(given.name, given.out, address=given.address, **options)
    except (ConfigError, InputError, RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped and saved; the same command goes on.", file=sys.stderr)
        return 130
    scaled = [] if given.scale == 1.0 else ["--scale", str(given.scale)]
    status = _epgt.command(["epgt", "experiment", "report", given.name, "--out", given.out, *scaled])
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else status


if __name__ == "__main__":
    from epgt.ray import main as of_package

    sys.exit(of_package(sys.argv[1:]))
