"""Training on environments of Python, stepped in this process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs

import epgt

pytestmark = needs("gymnasium")


def corridor(**replaced: Any) -> Any:
    """An environment of nine cells whose last one is the exit; parts of it can be replaced."""
    import gymnasium
    from gymnasium import spaces

    class Corridor(gymnasium.Env[Any, Any]):
        observation_space = replaced.get("observations", spaces.Box(0.0, 1.0, (1,)))
        action_space = replaced.get("actions", spaces.Discrete(2))

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            super().reset(seed=seed)
            self.cell = int(self.np_random.integers(8))
            return self.seen(), {}

        def step(self, action: Any) -> Any:
            assert action in self.action_space, action
            replaced.get("act", lambda action: None)(action)
            self.cell = max(self.cell + (1 if np.sum(action) > 0 else -1), 0)
            over = self.cell >= 8
            return self.seen(), replaced.get("reward", 1.0 if over else -0.01), over, False, {}

        def seen(self) -> Any:
            return replaced["see"](self.cell) if "see" in replaced else np.array([self.cell / 8], np.float32)

    return Corridor()


def trained(make: Any, **settings: Any) -> epgt.Run:
    return epgt.train(
        make, **{"algo": "ppo", "steps": 2048, "n_envs": 4, "eval_episodes": 2, "eval_max_steps": 50} | settings
    )


def test_an_environment_of_gymnasium_trains_as_the_task_itself(elsewhere: Path) -> None:
    import gymnasium

    settings: dict[str, Any] = {
        "algo": "ppo",
        "steps": 4096,
        "n_envs": 4,
        "policy": {"hidden": [16]},
        "tune": {"learning_rate": [1e-4, 1e-3]},
        "n_steps": 64,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "learning_rate_schedule": "constant",
    }
    own = epgt.train("gym:CartPole-v1", **settings)
    run = epgt.train(lambda: gymnasium.make("CartPole-v1"), **settings)
    assert run.last_policy.task == "python:CartPole-v1"
    for name in ("rollout/ep_rew_mean", "train/loss"):
        if name in own.metrics:
            np.testing.assert_array_equal(run.metrics[name], own.metrics[name])
    state, other = run.last_policy.state_dict(), own.last_policy.state_dict()
    assert all((state[name] == other[name]).all() for name in other)


def test_an_environment_is_copied(elsewhere: Path) -> None:
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    made = trained(lambda: gymnasium.make("CartPole-v1"))
    copied = trained(env)
    assert copied.last_policy.sha256 == made.last_policy.sha256
    assert epgt.load(copied.directory, env=env).evaluate(2).mean_return > 0
    # It is still the caller's own.
    observation, _ = env.reset(seed=0)
    assert copied.policy.predict(observation) in env.action_space
    # What was changed about it is in the copies.
    short = gymnasium.wrappers.TimeLimit(corridor(), 3)
    assert trained(short).metrics["rollout/ep_len_mean"][-1] <= 3


def test_the_run_is_loaded_played_and_resumed_with_its_environment(elsewhere: Path) -> None:
    run = trained(corridor, directory="run")
    assert len(run.evaluate(3, max_steps=50).returns) == 3
    assert run.policy.predict(np.array([0.5], np.float32)) in (0, 1)
    assert run.policy.predict(np.array([[0.5], [0.1]], np.float32)).shape == (2,)
    again = epgt.load("run", env=corridor)
    assert list(again.evaluate(3, max_steps=50).returns) == list(run.evaluate(3, max_steps=50).returns)
    longer = epgt.resume("run", steps=4096, env=corridor)
    assert longer.result is not None and longer.result["steps"] == 4096
    with pytest.raises(epgt.EpgtError, match="env="):
        _ = epgt.load("run").policy
    with pytest.raises(epgt.EpgtError, match="env="):
        epgt.resume("run")


def test_spaces_of_many_kinds_are_rows(elsewhere: Path) -> None:
    from gymnasium import spaces

    kinds: list[tuple[Any, Any]] = [
        (spaces.Box(-1.0, 1.0, (2, 3)), lambda cell: np.full((2, 3), cell / 8)),
        (spaces.Discrete(9, start=1), lambda cell: min(cell, 8) + 1),
        (spaces.Dict(b=spaces.Discrete(9), a=spaces.Box(0, 9, (1,))), lambda cell: {"a": [cell], "b": min(cell, 8)}),
        (spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([9, 2])]), lambda cell: ([0, 1], [min(cell, 8), 1])),
        (spaces.Box(0, 255, (36, 36, 1), np.uint8), lambda cell: np.full((36, 36, 1), cell, np.uint8)),
    ]
    for space, see in kinds:
        make = lambda space=space, see=see: corridor(observations=space, see=see)
        run = trained(make, settings={"policy.conv_kernels": [8, 4, 1]})
        assert run.policy.predict(see(3)) in (0, 1)


def test_actions_of_many_kinds_are_of_their_space(elsewhere: Path) -> None:
    from gymnasium import spaces

    for space in (
        spaces.Discrete(2, start=0),
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(2),
        spaces.Box(-1.0, 1.0, (2, 2)),
        spaces.Box(-2, 2, (1,), np.int32),
    ):
        run = trained(lambda space=space: corridor(actions=space))
        action = run.policy.predict(np.array([0.5], np.float32))
        assert action in space, (space, action)


def test_what_the_environment_raises_is_raised_as_it_is(elsewhere: Path) -> None:
    calls = 0

    def act(action: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 300:
            raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError, match="in the middle") as caught:
        trained(lambda: corridor(act=act), directory="run")
    assert any("test_python_envs" in str(entry.path) for entry in caught.traceback)

    def fails() -> Any:
        raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        epgt.train(fails)


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"reward": float("nan")}, "reward is NaN"),
        ({"reward": "much"}, "could not convert"),
        ({"see": lambda cell: np.zeros(3, np.float32)}, "does not fit"),
        ({"see": lambda cell: np.array([np.inf])}, "observation is inf"),
        ({"see": lambda cell: None}, "does not fit"),
        ({"see": lambda cell: "here"}, "does not fit"),
    ],
)
def test_what_the_environment_should_not_return_is_refused(
    elsewhere: Path, replaced: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(epgt.EpgtError, match=sentence):
        trained(lambda: corridor(**replaced))


def test_what_makes_no_environment_is_refused(elsewhere: Path) -> None:
    from gymnasium import spaces

    locked = corridor()
    locked.lock = threading.Lock()
    with pytest.raises(epgt.InputError, match="cannot be copied .* give a function that makes one"):
        epgt.train(locked)
    with pytest.raises(epgt.InputError, match="neither the id of a task nor a function"):
        epgt.train(3)
    with pytest.raises(epgt.EnvError, match="returned a int, not a gymnasium.Env"):
        epgt.train(lambda: 3)
    with pytest.raises(epgt.EnvError, match="observations of Text cannot be used"):
        epgt.train(lambda: corridor(observations=spaces.Text(5)))
    with pytest.raises(epgt.EnvError, match="actions of Dict cannot be used"):
        epgt.train(lambda: corridor(actions=spaces.Dict(a=spaces.Discrete(2))))


def test_every_environment_that_was_made_is_closed(elsewhere: Path) -> None:
    made: list[Any] = []
    closed: list[Any] = []

    def make() -> Any:
        env = corridor()
        env.close = lambda: closed.append(env)
        made.append(env)
        return env

    trained(make).evaluate(2, max_steps=5)
    assert len(made) > 4 and {id(env) for env in closed} == {id(env) for env in made}


@needs("onnxruntime")
@needs("torch")
def test_several_choices_at_once_are_exported_too(elsewhere: Path) -> None:
    import onnxruntime
    import torch
    from gymnasium import spaces

    policy = trained(lambda: corridor(actions=spaces.MultiDiscrete([2, 3]))).policy
    rows = np.linspace(-2.0, 2.0, 50, dtype=np.float32)[:, None]
    expected = policy.predict(rows)
    policy.to_onnx("policy.onnx")
    (found,) = onnxruntime.InferenceSession("policy.onnx").run(None, {"observations": rows})
    assert (found == expected).mean() > 0.95
    with torch.no_grad():
        assert (policy.to_torch()(torch.from_numpy(rows)).numpy() == expected).mean() > 0.95
