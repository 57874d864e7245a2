"""Callbacks that log a training elsewhere: to Weights & Biases, and to MLflow.

    epgt.train("CartPole-v1", callback=epgt.loggers.Wandb(project="carts", mode="offline"))

Each run of the package is a run there, with its settings, every row of its metrics, and its result; several seeds are
several runs. The packages are imported where they are asked for.
"""

from __future__ import annotations

import math
from typing import Any

from ._optional import optional
from ._run import Run

__all__ = ["Mlflow", "Wandb"]

STEPS = "time/total_timesteps"
RESULTS = ("return_last_100", "best_evaluation", "policy_sha256", "steps")
"""What of a result is logged."""


class _Logger:
    """What the loggers have in common: which run there belongs to which run here."""

    def __init__(self) -> None:
        self._open: dict[int, Any] = {}

    def begin(self, runs: list[Run]) -> None:
        """Begins a run there for each run here."""
        for run in runs:
            settings = settings_of(run.config)
            self._open[int(settings["seed"])] = self._start(run, settings)

    def __call__(self, row: dict[str, float]) -> None:
        """Logs a row of metrics; what was not measured is left out."""
        measured = {name: value for name, value in row.items() if not math.isnan(value) and name != "seed"}
        self._log(self._open[int(row["seed"])], measured, int(row[STEPS]))

    def end(self, runs: list[Run]) -> None:
        """Ends the runs there; those that have no result were stopped."""
        for run in runs:
            there = self._open.pop(int(settings_of(run.config)["seed"]), None)
            if there is not None:
                result = run.result
                self._finish(there, None if result is None else {name: result.get(name) for name in RESULTS})

    def _start(self, run: Run, settings: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _log(self, there: Any, metrics: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def _finish(self, there: Any, result: dict[str, Any] | None) -> None:
        raise NotImplementedError


class Wandb(_Logger):
    """Logs to Weights & Biases; keywords are those of `wandb.init`."""

    def __init__(self, **init: Any) -> None:
        super().__init__()
        self._wandb: Any = optional("wandb", "epgt.loggers.Wandb")
        self._init = init

    def _start(self, run: Run, settings: dict[str, Any]) -> Any:
        named = {"name": run.directory.name, "reinit": "create_new", **self._init}
        return self._wandb.init(config={**settings, **dict(named.pop("config", {}))}, **named)

    def _log(self, there: Any, metrics: dict[str, float], step: int) -> None:
        there.log(metrics, step=step)

    def _finish(self, there: Any, result: dict[str, Any] | None) -> None:
        for name, value in (result or {}).items():
            there.summary[name] = value
        there.finish(exit_code=1 if result is None else 0)


class Mlflow(_Logger):
    """Logs to MLflow: to the experiment of this name, in the store at `tracking_uri`, or where MLflow is set to."""

    def __init__(self, experiment: str = "epgt", *, tracking_uri: str | None = None) -> None:
        super().__init__()
        self._mlflow: Any = optional("mlflow", "epgt.loggers.Mlflow")
        self._client = self._mlflow.MlflowClient(tracking_uri=tracking_uri)
        found = self._client.get_experiment_by_name(experiment)
        self._experiment = self._client.create_experiment(experiment) if found is None else found.experiment_id

    def _start(self, run: Run, settings: dict[str, Any]) -> str:
        there: str = self._client.create_run(self._experiment, run_name=run.directory.name).info.run_id
        params = [self._mlflow.entities.Param(name, str(value)) for name, value in settings.items()]
        # MLflow takes a hundred at a time.
        for first in range(0, len(params), 100):
            self._client.log_batch(there, params=params[first : first + 100])
        return there

    def _log(self, there: str, metrics: dict[str, float], step: int) -> None:
        now = self._mlflow.utils.time.get_current_time_millis()
        rows = [self._mlflow.entities.Metric(name, value, now, step) for name, value in metrics.items()]
        self._client.log_batch(there, metrics=rows)

    def _finish(self, there: str, result: dict[str, Any] | None) -> None:
        for name, value in (result or {}).items():
            self._client.set_tag(there, name, str(value))
        self._client.set_terminated(there, "KILLED" if result is None else "FINISHED")


def settings_of(config: str) -> dict[str, Any]:
    """The settings of a configuration by their names, with the section before those that are in one."""
    found: dict[str, Any] = {}
    section = ""
    for line in config.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif not line.startswith("#") and " = " in line:
            name, literal = line.split(" = ", 1)
            found[section + name] = _value(literal)
    return found


def _value(literal: str) -> Any:
    if literal in ("true", "false"):
        return literal == "true"
    for kind in (int, float):
        try:
            return kind(literal)
        except ValueError:
            pass
    return literal.strip('"')
