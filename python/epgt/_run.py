"""Runs: training them, going on with them, and reading what they say."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _epgt
from ._checks import StrPath, mapping, number, path, whole
from ._errors import InputError, PolicyError, RunError
from ._optional import optional
from ._policy import Evaluation, Policy
from ._progress import Line, is_watched
from ._settings import said
from ._stepper import Factory, environment

if TYPE_CHECKING:
    import pandas

# A row of metrics by name, NaN where something was not measured, with the run's seed; False stops the training.
Callback = Callable[[dict[str, float]], object]
Columns = dict[str, NDArray[Any]]


class Run:
    """A run in its directory, finished or as far as it has come. `train`, `load` and `resume` return it."""

    def __init__(self, directory: StrPath, env: Factory | None = None) -> None:
        self.directory: Path = path("directory", directory)
        self.config: str = _epgt.config_text(self.directory)
        """The complete configuration, as TOML."""
        self._env = env

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    @property
    def result(self) -> dict[str, Any] | None:
        """The summary of a finished run; None where it has not finished."""
        file = self.directory / "result.json"
        if not file.exists():
            return None
        try:
            result: dict[str, Any] = json.loads(file.read_text())
        except ValueError as error:
            raise RunError(f"{file}: it is not the result of a run") from error
        return result

    @property
    def metrics(self) -> Columns:
        """The columns of `metrics.csv` by name; NaN where something was not measured."""
        return _columns(self.directory / "metrics.csv")

    @property
    def decisions(self) -> Columns:
        """The columns of `decisions.csv`: every decision of the hyper-agent, and what came of it."""
        return _columns(self.directory / "decisions.csv")

    def metrics_frame(self) -> pandas.DataFrame:
        """The metrics as a DataFrame of pandas."""
        return _frame(self.metrics)

    def decisions_frame(self) -> pandas.DataFrame:
        """The decisions as a DataFrame of pandas."""
        return _frame(self.decisions)

    @property
    def policy(self) -> Policy:
        """The best policy of the run, or the last one where no evaluation has kept one."""
        best = _epgt.best_policy(self.directory)
        return self.last_policy if best is None else Policy(best, self._env)

    @property
    def last_policy(self) -> Policy:
        """The latest policy of the run."""
        last = self.directory / "last.safetensors"
        if not last.exists():
            raise PolicyError(
                f"{self.directory} holds no policy yet; the first one is written with the first checkpoint"
            )
        return Policy(last, self._env)

    def evaluate(
        self,
        episodes: int = 10,
        *,
        seed: int = 0,
        deterministic: bool | None = None,
        max_steps: int | None = None,
    ) -> Evaluation:
        """Plays episodes with the policy; see `Policy.evaluate`."""
        return self.policy.evaluate(episodes, seed=seed, deterministic=deterministic, max_steps=max_steps)

    def resume(
        self,
        *,
        steps: int | None = None,
        values: Mapping[str, float] | None = None,
        callback: Callback | None = None,
        progress: bool | None = None,
        threads: int | None = None,
    ) -> Run:
        """Goes on with the run; see `resume`."""
        return _resume(self.directory, False, steps, values, callback, progress, threads, self._env)[0]


class _Watcher:
    """Is told by the extension module how a training goes, on the thread that called."""

    def __init__(self, callback: Callback | None, progress: bool | None) -> None:
        if callback is not None and not callable(callback):
            raise InputError(f"callback is of type {type(callback).__name__}; a function of a row of metrics is wanted")
        self._callback = callback
        self._shown = is_watched(sys.stderr) if progress is None else progress
        self._line: Line | None = None
        self._directories: list[str] = []

    def begin(self, directories: list[str]) -> None:
        self._directories = directories
        if self._shown:
            self._line = Line(len(directories), sys.stderr)
        self._tell("begin")

    def progress(self, run: int, progress: dict[str, Any]) -> None:
        if self._line is not None:
            self._line.update(run, progress)

    def metrics(self, run: int, row: dict[str, float]) -> bool:
        return self._callback is None or self._callback(row) is not False

    def train(self, train: Callable[[], list[Path]]) -> list[Path]:
        """Trains, and closes the line whatever happens."""
        try:
            return train()
        except KeyboardInterrupt:
            if self._line is not None and self._directories:
                self._line.close()
                self._line = None
                print(f"Stopped and saved in {self._directories[0]}; epgt.resume goes on with it.", file=sys.stderr)
            raise
        finally:
            if self._line is not None:
                self._line.close()
            if self._directories:
                self._tell("end")

    def _tell(self, method: str) -> None:
        """Tells a callback that wants to know it which runs begin or end."""
        told = getattr(self._callback, method, None)
        if callable(told):
            told([Run(directory) for directory in self._directories])


@overload
def train(
    task: str | Factory,
    *,
    algo: str | None = None,
    steps: float | None = None,
    seed: int | None = None,
    seeds: None = None,
    scheduler: str | None = None,
    tune: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    directory: StrPath | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    **more: object,
) -> Run: ...


@overload
def train(
    task: str | Factory,
    *,
    algo: str | None = None,
    steps: float | None = None,
    seed: int | None = None,
    seeds: int,
    scheduler: str | None = None,
    tune: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    directory: StrPath | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    **more: object,
) -> list[Run]: ...


def train(
    task: str | Factory,
    *,
    algo: str | None = None,
    steps: float | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    scheduler: str | None = None,
    tune: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    directory: StrPath | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    **more: object,
) -> Run | list[Run]:
    """Trains an agent and returns its run; with `seeds`, the runs of so many seeds, made side by side.

    `task` is the id of a task, or a function that makes an environment of Gymnasium's, or such an environment, of which
    copies are made. Every setting of the configuration is a keyword (`n_envs=16`, `ppo={"gamma": 0.9}`), or an entry of `settings` (`{"ppo.gamma": 0.9}`);
    `epgt train --help` lists them all. What is not said has the task's default.

    The run is kept in `directory`, or in a new one below `runs`; a run that is there is replaced only with `overwrite`.
    `callback` is called with every row of metrics, and stops the training where it returns False; where it has methods
    `begin` and `end`, they are given the runs before and afterwards. Ctrl-C and exceptions of the callback stop it too;
    the run saves itself and can be resumed. `progress` says whether a line on stderr tells
    how it goes; None is where somebody looks.
    """
    named = {"algo": algo, "steps": steps, "seed": seed, "scheduler": scheduler, "tune": tune}
    env, foreign, name = None, None, ""
    if isinstance(task, str):
        name = task
    else:
        env, foreign = task, environment(task)
        name = foreign.id
    every = [("task", "task", name)]
    every += said({key: value for key, value in named.items() if value is not None})
    every += said(more)
    every += said(mapping("settings", settings), how="settings[{key!r}]={value!r}")
    # A run goes on from other directories too.
    every = [(how, key, os.path.abspath(value) if key == "init" and value else value) for how, key, value in every]
    watcher = _Watcher(callback, progress)
    options: dict[str, Any] = {
        "directory": None if directory is None else path("directory", directory),
        "seeds": None if seeds is None else whole("seeds", seeds, 1, 1000),
        "overwrite": bool(overwrite),
        "threads": None if threads is None else whole("threads", threads, 1, 1024),
        "environment": foreign,
    }
    directories = watcher.train(lambda: _epgt.train(every, watcher, **options))
    runs = [Run(directory, env) for directory in directories]
    return runs[0] if seeds is None else runs


def load(directory: StrPath, *, env: Factory | None = None) -> Run:
    """The run in a directory. `env` makes the environment of a run that was trained on one of Python's."""
    return Run(directory, env)


def load_seeds(directory: StrPath, *, env: Factory | None = None) -> list[Run]:
    """The runs of several seeds, in their directory; those that have not begun are left out."""
    found = _epgt.seed_directories(path("directory", directory))
    return [Run(place, env) for place in found if place.exists()]


def resume(
    directory: StrPath,
    *,
    steps: int | None = None,
    values: Mapping[str, float] | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    env: Factory | None = None,
) -> Run:
    """Goes on with a run from its last checkpoint, to its end or to `steps` steps in all.

    A run that has finished is returned as it is, unless `steps` asks for more. What was stopped and resumed ends with
    the same bytes as what was not. `values` are other values of hyperparameters of the method, such as
    `{"gamma": 0.9}`, which hold from here on; those that the run schedules itself are refused.
    """
    return _resume(directory, False, steps, values, callback, progress, threads, env)[0]


def resume_seeds(
    directory: StrPath,
    *,
    steps: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    env: Factory | None = None,
) -> list[Run]:
    """Goes on with the runs of several seeds; see `resume`."""
    return _resume(directory, True, steps, None, callback, progress, threads, env)


def _resume(
    directory: StrPath,
    seeds: bool,
    steps: int | None,
    values: Mapping[str, float] | None,
    callback: Callback | None,
    progress: bool | None,
    threads: int | None,
    env: Factory | None,
) -> list[Run]:
    place = path("directory", directory)
    # A directory of the other kind is refused with a sentence that says so.
    if seeds:
        _epgt.seed_directories(place)
    else:
        _epgt.config_text(place)
    watcher = _Watcher(callback, progress)
    options: dict[str, Any] = {
        "seeds": seeds,
        "steps": None if steps is None else whole("steps", steps, 1),
        "values": [(str(name), number(str(name), value)) for name, value in mapping("values", values).items()],
        "threads": None if threads is None else whole("threads", threads, 1, 1024),
        "environment": None if env is None else environment(env),
    }
    directories = watcher.train(lambda: _epgt.resume(place, watcher, **options))
    return [Run(directory, env) for directory in directories]


def _columns(table: Path) -> Columns:
    columns = _epgt.columns(table)
    return {name: column if isinstance(column, np.ndarray) else np.array(column) for name, column in columns.items()}


def _frame(columns: Columns) -> pandas.DataFrame:
    return optional("pandas", "a DataFrame").DataFrame(columns)
