"""Runs of the package on Ray: as trials of Tune's, and the runs of an experiment on a cluster that loses a node."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, needs

pytestmark = [needs("ray"), pytest.mark.filterwarnings("ignore")]

# Rollouts of 4 x 5 steps, of which every iteration has a whole number.
SPACE = {
    "task": "CartPole-v1",
    "defaults": "task",
    "steps": 8000,
    "iteration_steps": 2000,
    "n_envs": 4,
    "seed": 0,
    "eval_interval": 0,
}


def trainable(**config: Any) -> Any:
    import epgt.ray

    return epgt.ray.Trainable(config=SPACE | config)


@pytest.fixture
def tune(tmp_path: Path) -> Iterator[Any]:
    import ray
    from ray import tune

    # The snippets of the documents have begun one of their own.
    ray.shutdown()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield tune
    ray.shutdown()


def test_iterations_of_a_trial_make_the_run_that_is_trained_at_once(tmp_path: Path) -> None:
    import epgt

    trial = trainable(learning_rate=1e-3, algo="ppo", steps=8192, iteration_steps=2048)
    results = []
    while not results or not results[-1]["done"]:
        results.append(trial.train())
    assert [result["timesteps_total"] for result in results] == [2048, 4096, 6144, 8192]
    assert results[-1]["episode_return_mean"] > 0
    settings = {name: value for name, value in SPACE.items() if name not in ("task", "iteration_steps", "steps")}
    whole = epgt.train(
        "CartPole-v1",
        directory=tmp_path / "whole",
        steps=8192,
        algo="ppo",
        scheduler="fixed",
        step_control="rate",
        learning_rate=1e-3,
        log_interval=2048,
        **settings,
    )
    assert trial._run.result["policy_sha256"] == whole.result["policy_sha256"]
    place = trial._place
    trial.stop()
    assert not place.exists()


def test_a_restored_trial_goes_on_to_the_bit_and_with_other_values_where_it_has_them(tmp_path: Path) -> None:
    first = trainable(learning_rate=1e-3, algo="a2c")
    first.train()
    kept = tmp_path / "kept"
    kept.mkdir()
    first.save_checkpoint(str(kept))
    first.train()
    same, other = trainable(learning_rate=1e-3, algo="a2c"), trainable(learning_rate=0.1, algo="a2c")
    shas = []
    for trial in (same, other):
        trial.load_checkpoint(str(kept))
        assert trial._steps == 2000
        trial.train()
        shas.append(trial._run.last_policy.sha256)
    assert shas[0] == first._run.last_policy.sha256 != shas[1]
    rates = other._run.metrics["train/learning_rate"]
    assert rates[0] == pytest.approx(1e-3) and rates[-1] == pytest.approx(0.1)
    for trial in (first, same, other):
        trial.stop()


def test_a_reset_trial_begins_anew() -> None:
    import epgt

    trial = trainable()
    first = trial.train()
    assert trial.reset({**SPACE, "seed": 1})
    second = trial.train()
    assert (
        second["timesteps_total"] == first["timesteps_total"]
        and first["episode_return_mean"] != second["episode_return_mean"]
    )
    with pytest.raises(epgt.ConfigError, match="there is no task"):
        trial.reset_config({"steps": 100})
    trial.stop()


def test_population_based_training_puts_its_values_in_force_also_after_a_restore(tune: Any, tmp_path: Path) -> None:
    from ray.tune.schedulers import PopulationBasedTraining

    import epgt.ray

    mended = tmp_path / "mended"

    class Fails(epgt.ray.Trainable):
        """Fails in its fifth iteration until that is mended."""

        def step(self) -> dict[str, Any]:
            if self.iteration == 4 and not mended.exists():
                raise RuntimeError("on purpose")
            return super().step()

    pbt = PopulationBasedTraining(
        time_attr="training_iteration",
        perturbation_interval=1,
        quantile_fraction=0.5,
        hyperparam_mutations={"learning_rate": [1e-5, 1e-4, 1e-3, 1e-2]},
    )
    space = SPACE | {"algo": "a2c", "steps": 16_000, "learning_rate": tune.grid_search([1e-5, 1e-2])}
    tuner = tune.Tuner(
        Fails,
        param_space=space,
        tune_config=tune.TuneConfig(metric="episode_return_mean", mode="max", scheduler=pbt, reuse_actors=True),
        run_config=tune.RunConfig(
            name="pbt",
            storage_path=str(tmp_path),
            verbose=0,
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        ),
    )
    results = tuner.fit()
    assert len(results.errors) == 2
    assert exploited(results) > 0 and max(result.metrics["timesteps_total"] for result in results) == 8000
    before = {result.path: len(result.metrics_dataframe) for result in results}
    mended.touch()
    results = tune.Tuner.restore(str(tmp_path / "pbt"), Fails, resume_errored=True, param_space=space).fit()
    assert not results.errors and len(results) == 2
    exploited(results)
    for result in results:
        # It went on where it was.
        frame = result.metrics_dataframe
        assert len(frame) > before[result.path] and frame["training_iteration"].is_monotonic_increasing
    assert max(result.metrics["timesteps_total"] for result in results) == 16_000


def exploited(results: Any) -> int:
    """How many trials have had another rate than at first. What Tune says that a trial has is in force in every row."""
    changed = 0
    for result in results:
        frame = result.metrics_dataframe
        for _, row in frame.iterrows():
            assert row["train/learning_rate"] == pytest.approx(row["config/learning_rate"], rel=1e-4)
            assert row["timesteps_total"] == 2000 * row["training_iteration"]
        changed += frame["config/learning_rate"].nunique() > 1
    return changed


EXPERIMENT = """
seeds = 3
[settings]
steps = 800_000
n_envs = 8
log_interval = 100_000
checkpoint_interval = 50_000
eval_interval = 0
[[task]]
task = "CartPole-v1"
[[method]]
name = "fixed"
scheduler = "fixed"
[[method]]
name = "epgt"
scheduler = "epgt"
"""


def made(directory: Path) -> dict[str, tuple[str, bytes]]:
    """What of the runs below a directory does not depend on when they were made."""
    runs = {}
    for result in sorted(directory.glob("CartPole-v1/*/seed-*/result.json")):
        run = result.parent
        name = f"{run.parent.name}/{run.name}"
        runs[name] = (json.loads(result.read_text())["policy_sha256"], (run / "decisions.csv").read_bytes())
    return runs


def test_an_experiment_on_a_cluster_that_loses_a_node_is_the_same_to_the_bit(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    (tmp_path / "small.toml").write_text(EXPERIMENT)
    out = tmp_path / "out"
    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    try:
        others = [cluster.add_node(**node) for _ in range(2)]
        command = ["-m", "epgt.ray", "experiment", "run", "small.toml", "--address", cluster.address, "--out", "out"]
        process = subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(1200):
            begun = list(out.glob("CartPole-v1/*/seed-*/checkpoint.bin"))
            if len(begun) >= 3 or process.poll() is not None:
                break
            time.sleep(0.05)
        cluster.remove_node(others[0], allow_graceful=False)
        said, told = process.communicate(timeout=240)
    finally:
        cluster.shutdown()
    assert process.returncode == 0, told
    assert "6 of 6 runs done" in told and "fixed" in said
    # One of the runs was taken up again on another node.
    histories = [json.loads(file.read_text())["history"] for file in out.glob("CartPole-v1/*/seed-*/epgt.json")]
    assert max(map(len, histories)) == 2
    alone = [COMMAND, "experiment", "run", "small.toml", "--out", "alone", "-q"]
    subprocess.run(alone, cwd=tmp_path, check=True, capture_output=True)
    assert made(out) == made(tmp_path / "alone") and len(made(out)) == 6
    assert (out / "results.csv").exists()


def test_what_cannot_be_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    import epgt
    import epgt.ray

    for name, options, words in [
        ("cartpol", {}, "did you mean 'cartpole'"),
        ("cartpole", {"scale": float("nan")}, "scale"),
        ("cartpole", {"jobs": 0}, "jobs=0"),
        ("cartpole", {"only": "seed=x"}, "seed"),
        ("cartpole", {"only": 3}, "only=3"),
    ]:
        with pytest.raises(epgt.EpgtError, match=words):
            epgt.ray.run_experiment(name, tmp_path, **options)
    with pytest.raises(epgt.RunError, match="not a checkpoint"):
        trainable().load_checkpoint(str(tmp_path))
