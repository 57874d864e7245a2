"""Policy-gradient training whose hyperparameters are scheduled while it trains.

    run = epgt.train("CartPole-v1", algo="ppo", steps=50_000, seed=0)
    run.evaluate().mean_return
    run.policy.predict(observation)

`docs/python.md` of the repository goes through all of it.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING

from . import _epgt
from ._errors import (
    ConfigError,
    EnvError,
    EpgtError,
    InputError,
    InternalError,
    MissingPackage,
    PolicyError,
    RunError,
    TrainingError,
)
from ._policy import Evaluation, Policy, load_policy
from ._run import Run, load, load_seeds, resume, resume_seeds, train
from ._scheduler import Scheduler

if TYPE_CHECKING:
    from gymnasium.vector import AutoresetMode

    from ._vector import Env, VectorEnv

__version__: str = _epgt.__version__

__all__ = [
    "ConfigError",
    "EnvError",
    "EpgtError",
    "Evaluation",
    "InputError",
    "InternalError",
    "MissingPackage",
    "Policy",
    "PolicyError",
    "Run",
    "RunError",
    "Scheduler",
    "TrainingError",
    "load",
    "load_policy",
    "load_seeds",
    "make",
    "make_vec",
    "resume",
    "resume_seeds",
    "tasks",
    "train",
]


def tasks() -> list[str]:
    """The ids of the tasks that the package has itself; `gym:ID` is any environment of Gymnasium's besides."""
    return _epgt.tasks()


def make_vec(
    task: str,
    num_envs: int = 1,
    *,
    autoreset_mode: str | AutoresetMode = "NextStep",
    threads: int | None = None,
    **options: object,
) -> VectorEnv:
    """Copies of a task on the package's own simulators, as a `gymnasium.vector.VectorEnv`.

    `options` are those of the task, such as `gravity=-3.0`. An episode that ends begins anew with the next step, or
    with `autoreset_mode="SameStep"` in the same. At most `threads` threads step the copies, or as many as the machine
    has cores, where that pays.
    """
    from ._vector import VectorEnv

    return VectorEnv(task, num_envs, autoreset_mode=autoreset_mode, threads=threads, **options)


def make(task: str, **options: object) -> Env:
    """One copy of a task on the package's own simulators, as a `gymnasium.Env`."""
    from ._vector import Env

    return Env(task, **options)


_epgt.set_up(getattr(_sys, "orig_argv", _sys.argv), _sys.executable)
