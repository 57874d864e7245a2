"""Trainings that are logged elsewhere: to TensorBoard's tab of hyperparameters, Weights & Biases, and MLflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs

import epgt
import epgt.loggers
from epgt.loggers import settings_of

pytestmark = pytest.mark.filterwarnings("ignore")

SHORT: dict[str, Any] = {"steps": 4000, "log_interval": 1000, "eval_interval": 0, "defaults": "task"}


def test_a_callback_is_told_of_the_runs_before_and_afterwards(elsewhere: Path) -> None:
    told: list[Any] = []

    class Watches:
        def begin(self, runs: list[epgt.Run]) -> None:
            told.append([run.result for run in runs])

        def __call__(self, row: dict[str, float]) -> bool:
            told.append(row["seed"])
            return row["seed"] == 0

        def end(self, runs: list[epgt.Run]) -> None:
            told.append([run.result is not None for run in runs])

    epgt.train("CartPole-v1", callback=Watches(), directory="run", **SHORT)
    assert told == [[None], 0.0, 0.0, 0.0, 0.0, [True]]
    told.clear()
    epgt.train("CartPole-v1", seed=1, callback=Watches(), directory="stopped", **SHORT)
    assert told == [[None], 1.0, [False]]


def test_the_settings_of_a_run_have_names_and_types(cart: epgt.Run) -> None:
    settings = settings_of(cart.config)
    assert settings["task"] == "CartPole-v1" and settings["steps"] == 8192 and settings["ppo.gamma"] == 0.99
    assert settings["ppo.normalize_advantage"] is True and settings["tune.learning_rate"] == "0.0001:0.001"


@needs("wandb")
def test_weights_and_biases_has_settings_metrics_and_result(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    monkeypatch.setenv("WANDB_SILENT", "true")
    logged: list[Any] = []
    begun = wandb.init

    def init(**options: Any) -> Any:
        run = begun(**options)
        log = run.log
        run.log = lambda metrics, step: (logged.append((run.config["seed"], step, metrics)), log(metrics, step=step))
        finish = run.finish
        run.finish = lambda exit_code: (ended.append((exit_code, dict(run.summary))), finish(exit_code=exit_code))
        runs.append(run)
        return run

    runs: list[Any] = []
    ended: list[Any] = []
    monkeypatch.setattr(wandb, "init", init)
    logger = epgt.loggers.Wandb(project="carts", mode="offline", dir=str(elsewhere))
    made = epgt.train("CartPole-v1", seeds=2, callback=logger, directory="two", **SHORT)
    assert sorted((seed, step) for seed, step, _ in logged) == [(i, 1000 * (k + 1)) for i in (0, 1) for k in range(4)]
    for i, run in enumerate(made):
        there = next(run for run in runs if run.config["seed"] == i)
        assert there.config["task"] == "CartPole-v1" and there.name == f"seed-{i}"
        rows = [metrics["rollout/ep_rew_mean"] for seed, _, metrics in logged if seed == i]
        np.testing.assert_allclose(rows, run.metrics["rollout/ep_rew_mean"], rtol=1e-6)
        assert ended[i][0] == 0 and ended[i][1]["policy_sha256"] == run.result["policy_sha256"]
    # What is to be sent later is on the disk.
    assert len(list(elsewhere.glob("wandb/offline-run-*/*.wandb"))) == 2


@needs("mlflow")
def test_mlflow_has_settings_metrics_and_result(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (elsewhere / "mlruns").as_uri()
    logger = epgt.loggers.Mlflow("carts", tracking_uri=store)
    made = epgt.train("CartPole-v1", callback=logger, directory="run", **SHORT)
    epgt.train("CartPole-v1", seed=1, callback=Stops(logger), directory="stopped", **SHORT)
    client = MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("carts")
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert {name: run.info.status for name, run in found.items()} == {"run": "FINISHED", "stopped": "KILLED"}
    there = found["run"]
    assert there.data.params["task"] == "CartPole-v1" and there.data.params["a2c.gamma"] == "0.99"
    assert there.data.tags["policy_sha256"] == made.result["policy_sha256"]
    history = client.get_metric_history(there.info.run_id, "rollout/ep_rew_mean")
    assert [metric.step for metric in history] == [1000, 2000, 3000, 4000]
    np.testing.assert_allclose([metric.value for metric in history], made.metrics["rollout/ep_rew_mean"], rtol=1e-6)


class Stops:
    """Stops after the first row."""

    def __init__(self, logger: Any) -> None:
        self.begin, self.end, self._log = logger.begin, logger.end, logger

    def __call__(self, row: dict[str, float]) -> bool:
        self._log(row)
        return False


@needs("tensorboard")
def test_tensorboard_compares_runs_by_their_hyperparameters(elsewhere: Path) -> None:
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

    for gamma in (0.9, 0.99):
        epgt.train("CartPole-v1", directory=f"runs/{gamma}", settings={"a2c.gamma": gamma}, **SHORT)
    runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory("runs")
    runs.Reload()
    provider = data_provider.MultiplexerDataProvider(runs, "runs")
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider, logdir="runs"))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=9,
        col_params=[api_pb2.ColParams(metric=api_pb2.MetricName(tag="rollout/ep_rew_mean"))],
        allowed_statuses=[api_pb2.STATUS_UNKNOWN],
        aggregation_type=1,
    )
    listed = list_session_groups.Handler(RequestContext(), context, "", request).run().session_groups
    found = {group.hparams["gamma"].number_value: group for group in listed}
    assert sorted(found) == [0.9, 0.99]
    for gamma, group in found.items():
        last = epgt.load(f"runs/{gamma}").metrics["rollout/ep_rew_mean"][-1]
        assert group.metric_values[0].value == pytest.approx(last, rel=1e-5)
        assert group.hparams["task"].string_value == "CartPole-v1"
    assert json.loads(Path("runs/0.9/result.json").read_text())["steps"] == 4000


def test_a_logger_without_its_package_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(epgt.MissingPackage, match="pip install wandb"):
        epgt.loggers.Wandb()
