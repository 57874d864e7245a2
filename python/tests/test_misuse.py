"""Whatever the package is given, it answers with an exception of its own, in one sentence, and goes on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs

import epgt

CALLS = 1000


def junk(rng: random.Random) -> Any:
    """Something that hardly anybody wants."""
    made: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.choice([True, False]),
        lambda: rng.choice([0, 1, -1, 2, 7, 2**31, 2**63, -(2**70), 10**30]),
        lambda: rng.choice([0.0, -0.5, 1.5, 1e-300, 1e39, 1e308, float("nan"), float("inf"), -float("inf")]),
        lambda: rng.choice(["", "CartPole-v1", "\0", "a\nb", "é", "nan", "1e400", "../..", "x" * 5000, "[1, 2"]),
        lambda: [junk(rng) for _ in range(rng.randrange(4))],
        lambda: {rng.choice(["a", "lr", "", 3]): junk(rng) for _ in range(rng.randrange(3))},
        lambda: np.zeros(
            rng.choice([(), (0,), (4,), (2, 4), (3, 0), (1, 1, 1)]),
            rng.choice(["f4", "f8", "i8", "u1", "?", "c8", "O", "U3", "M8[s]"]),
        ),
        lambda: np.full(4, rng.choice([np.nan, np.inf, 1e30])),
        lambda: rng.choice([object(), b"bytes", 1j, set(), range(3), Path("."), ...]),
        lambda: lambda *args: rng.choice([None, 3, "a"]),
    ]
    return rng.choice(made)()


@needs("gymnasium")
def test_a_thousand_misuses_are_refused(elsewhere: Path, cart: epgt.Run) -> None:
    rng = random.Random(0)
    policy, file = cart.policy, cart.directory / "last.safetensors"

    def envs() -> Any:
        made = epgt.make_vec("CartPole-v1", 2)
        made.reset(seed=0)
        return made

    def scheduler() -> epgt.Scheduler:
        return epgt.Scheduler({"lr": [0.1, 0.2]})

    def train_settings() -> dict[str, Any]:
        names = [
            "algo",
            "seed",
            "scheduler",
            "tune",
            "settings",
            "n_envs",
            "gamma",
            "policy",
            "env",
            "callback",
            "threads",
            "directory",
            "seeds",
            "init",
            "nonsense",
        ]
        return {name: junk(rng) for name in rng.sample(names, rng.randrange(1, 3))}

    calls: list[Callable[[], Any]] = [
        lambda: epgt.train(junk(rng), steps=2000),
        lambda: epgt.train("CartPole-v1", **{"steps": 2000, "n_envs": 2, "overwrite": True} | train_settings()),
        lambda: epgt.load(junk(rng)),
        lambda: epgt.load_seeds(junk(rng)),
        lambda: epgt.resume(junk(rng), steps=junk(rng)),
        lambda: cart.resume(values=junk(rng)),
        lambda: cart.resume(values={"gamma": junk(rng)}),
        lambda: epgt.load_policy(junk(rng)),
        lambda: epgt.load_policy(file, env=junk(rng)),
        lambda: policy.predict(junk(rng)),
        lambda: policy.seed(junk(rng)),
        lambda: policy.evaluate(junk(rng), seed=junk(rng), max_steps=10),
        lambda: epgt.make_vec(junk(rng), junk(rng)),
        lambda: epgt.make_vec("CartPole-v1", 2, **{rng.choice(["threads", "autoreset_mode", "g"]): junk(rng)}),
        lambda: envs().step(junk(rng)),
        lambda: envs().reset(seed=junk(rng), options=junk(rng)),
        lambda: epgt.Scheduler(junk(rng)),
        lambda: epgt.Scheduler(
            {"lr": junk(rng)}, **{rng.choice(["method", "seed", "updates", "start", "hold", "x"]): junk(rng)}
        ),
        lambda: scheduler().choose(junk(rng), junk(rng), junk(rng)),
        lambda: scheduler().reward(junk(rng)),
        lambda: scheduler().load_state_dict(junk(rng)),
        lambda: scheduler().load_state_dict({"shapes": junk(rng), "agent": junk(rng)}),
    ]
    assert misused(rng, calls, CALLS) > CALLS / 2


def misused(rng: random.Random, calls: list[Callable[[], Any]], count: int) -> int:
    """Makes some of these calls; returns how many were refused."""
    refused = 0
    for number in range(count):
        try:
            rng.choice(calls)()
        except epgt.InternalError as error:
            pytest.fail(f"call {number}: {error}")
        except epgt.EpgtError as error:
            refused += 1
            assert str(error).strip() and len(str(error)) < 12_000, number
        except Exception as error:
            pytest.fail(f"call {number} raised {type(error).__name__}: {error}")
    return refused


def settings(rng: random.Random, *names: str) -> dict[str, Any]:
    return {name: junk(rng) for name in rng.sample(names, rng.randrange(1, 3))}


@needs("torch")
def test_misuses_of_the_optimisers_scheduler_are_refused() -> None:
    import torch

    from epgt.torch import HyperScheduler

    rng = random.Random(1)
    weight = torch.nn.Parameter(torch.zeros(3, 2))

    def made(**more: Any) -> HyperScheduler:
        optimizer = torch.optim.SGD([weight], lr=0.1)
        return HyperScheduler(optimizer, **{"tune": {"lr": [0.1, 0.2]}, "updates": 9} | more)

    calls: list[Callable[[], Any]] = [
        lambda: HyperScheduler(junk(rng), {"lr": [0.1]}, updates=3),
        lambda: made(tune=junk(rng)),
        lambda: made(tune={"lr": junk(rng)}),
        lambda: made(**settings(rng, "updates", "start", "method", "hold", "seed", "nonsense")),
        lambda: made().step(junk(rng)),
        lambda: made().load_state_dict(junk(rng)),
        lambda: made().load_state_dict({"scheduler": junk(rng), "last_epoch": junk(rng), "values": junk(rng)}),
    ]
    assert misused(rng, calls, 200) > 100


@needs("stable_baselines3")
def test_misuses_of_what_is_for_stable_baselines_are_refused() -> None:
    import epgt.sb3

    rng = random.Random(2)
    names = ("step_control", "target_divergence", "critic_learning_rate", "reward", "method", "seed", "hold", "x")
    kinds = ("learning_rate", "gamma", "n_epochs", "clip_range", "n_steps", "lr")

    def stepped() -> Any:
        envs = epgt.sb3.make_vec("CartPole-v1", 2)
        envs.reset()
        return envs.step(junk(rng))

    calls: list[Callable[[], Any]] = [
        lambda: epgt.sb3.Callback(junk(rng)),
        lambda: epgt.sb3.Callback({rng.choice(kinds): junk(rng)}),
        lambda: epgt.sb3.Callback({"gamma": [0.9, 0.99]}, **settings(rng, *names)),
        lambda: epgt.sb3.Callback({"gamma": [0.9, 0.99]}).load_state_dict(junk(rng)),
        lambda: epgt.sb3.make_vec(junk(rng), junk(rng)),
        lambda: epgt.sb3.make_vec("CartPole-v1", 2, **settings(rng, "seed", "threads", "gravity")),
        stepped,
    ]
    assert misused(rng, calls, 200) > 100


@needs("lightning")
@needs("transformers")
def test_misuses_of_what_is_for_training_loops_are_refused() -> None:
    import epgt.lightning
    import epgt.transformers

    rng = random.Random(3)
    calls: list[Callable[[], Any]] = [
        lambda: epgt.lightning.Callback(junk(rng)),
        lambda: epgt.lightning.Callback({"lr": [0.1]}, **settings(rng, "monitor", "mode")),
        lambda: epgt.transformers.Callback(junk(rng)),
        lambda: epgt.transformers.Callback({"lr": [0.1]}, **settings(rng, "metric", "mode")),
    ]
    assert misused(rng, calls, 100) > 50


@needs("ray")
def test_misuses_of_what_is_for_ray_are_refused(elsewhere: Path) -> None:
    import epgt.ray

    rng = random.Random(4)
    names = ("jobs", "scale", "only")
    refused = {"only": "seed=nobody"}
    calls: list[Callable[[], Any]] = [
        lambda: epgt.ray.run_experiment(junk(rng), "out", **refused),
        lambda: epgt.ray.run_experiment("cartpole", "out", **refused | settings(rng, *names) | refused),
        lambda: epgt.ray.Trainable(config={"task": junk(rng), "steps": junk(rng)}).cleanup(),
        lambda: epgt.ray.Trainable(config={"task": "CartPole-v1", "iteration_steps": junk(rng)}).cleanup(),
        lambda: epgt.ray.Trainable(config={"task": "CartPole-v1"}).load_checkpoint(junk(rng)),
    ]
    assert misused(rng, calls, 60) > 30
