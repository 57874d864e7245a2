"""The benchmarks of python/benchmarks, on less: what they train is trained, what they measure is what they say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import COMMAND

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a benchmark by name."""

    def load(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize(
    ("name", "steps", "range_", "rewards"),
    [("reach", 20, 0.01, (1.0, 1000.0)), ("tank", 5000, 500.0, (1e-9, 0.1)), ("sail", 200, 500.0, (1e-3, 1000.0))],
)
def test_the_foreign_tasks_are_in_the_units_that_the_tables_say(
    benchmark: Any, name: str, steps: int, range_: float, rewards: tuple[float, float]
) -> None:
    from gymnasium.utils.env_checker import check_env

    tasks = benchmark("foreign_tasks")
    check_env(getattr(tasks, name.capitalize())(), skip_render_check=True)
    env = getattr(tasks, name)()
    assert env.spec.max_episode_steps == steps and float(env.action_space.high.max()) == np.float32(range_)
    env.action_space.seed(0)
    lengths, sizes = [], []
    for seed in range(3):
        env.reset(seed=seed)
        length, over = 0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            sizes.append(abs(float(reward)))
            length, over = length + 1, terminated or truncated
        lengths.append(length)
    assert max(lengths) <= steps and (name == "sail" or min(lengths) == steps)
    assert rewards[0] < np.median(sizes) < rewards[1]


def test_a_run_on_a_foreign_task_is_made_once(benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = benchmark("foreign")
    monkeypatch.setitem(foreign.TASKS, "reach", 4_000)
    arguments = (str(COMMAND), tmp_path, "reach", "one setting", foreign.DEFAULT, 0)
    score = foreign.score(*arguments)
    assert foreign.random_play("reach") < 0 and score < 0
    result = tmp_path / "reach" / "one_setting" / "0" / "result.json"
    result.write_text(json.dumps({"return_last_100": -1.5}))
    assert foreign.score(*arguments) == -1.5
    with pytest.raises(SystemExit, match="learning_rat"):
        foreign.score(str(COMMAND), tmp_path, "reach", "wrong", ["--set=ppo.learning_rat=1"], 0)


def test_the_time_to_a_score_is_that_of_the_first_rollout_that_has_it(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = benchmark("time_to_score")
    said = ["--algo", "ppo", "--scheduler", "fixed", "--set", "eval_interval=0"]

    def measured(score: float) -> dict[str, Any]:
        monkeypatch.setitem(timed.TASKS, "CartPole-v1", (score, 40_960))
        return dict(timed.measure_epgt(str(COMMAND), "CartPole-v1", 0, said))

    low, high, never = measured(30), measured(60), measured(1e9)
    assert low["reached"] and high["reached"] and not never["reached"]
    assert 30 <= low["score"] and 60 <= high["score"] < never["score"]
    assert low["steps"] < high["steps"] < never["steps"] == 40_960
    assert 0 < low["cpu"] <= high["cpu"] <= never["cpu"] and 0 < low["wall"] <= high["wall"] <= never["wall"]
    assert timed.ratio({**high, "cpu": 6.0}, {**low, "cpu": 2.0}) == "3"
    assert timed.ratio({**never, "cpu": 6.0}, {**low, "cpu": 2.0}) == "> 3"
    assert timed.ratio({**low, "cpu": 6.0}, {**never, "cpu": 2.0}) == "< 3"
    assert timed.ratio(never, never) == timed.ratio(None, low) == ""
