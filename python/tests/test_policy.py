"""Policies: acting, and what they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import needs

import epgt


def observations(policy: epgt.Policy, n: int) -> np.ndarray:
    """Rows that lie inside and outside of what was seen in training."""
    rng = np.random.default_rng(0)
    if len(policy.observation_shape) == 3:
        return rng.integers(0, 256, (n, *policy.observation_shape), dtype=np.uint8)
    return (3.0 * rng.standard_normal((n, *policy.observation_shape))).astype(np.float32)


@pytest.fixture(scope="session", params=["discrete", "box", "range", "squashed", "shared", "image"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> epgt.Policy:
    """A policy of every shape of networks."""
    task, settings = {
        "discrete": ("CartPole-v1", {}),
        "box": ("Pendulum-v1", {"policy": {"hidden": [16], "value_hidden": [8, 8], "activation": "elu"}}),
        "range": ("Pendulum-v1", {"policy": {"action_unit": "range", "log_std_init": "auto"}}),
        "squashed": (
            "Pendulum-v1",
            {"policy": {"squash": True, "activation": "leaky-relu"}, "normalize_observations": False},
        ),
        "shared": ("Acrobot-v1", {"policy": {"shared": True, "hidden": [24, 16], "activation": "relu"}}),
        "image": (
            "PixelCatch-v0",
            {"policy": {"conv_channels": [4, 6], "conv_kernels": [4, 3], "conv_strides": [2, 2], "image_hidden": [32]}},
        ),
    }[request.param]
    directory = tmp_path_factory.mktemp("policies") / request.param
    return epgt.train(task, algo="a2c", steps=3000, eval_interval=0, directory=directory, settings=settings).policy


def test_one_observation_and_a_batch_get_the_same_actions(policy: epgt.Policy) -> None:
    rows = observations(policy, 7)
    batch = policy.predict(rows)
    assert len(batch) == 7
    for row, action in zip(rows, batch):
        np.testing.assert_allclose(policy.predict(row), action, atol=1e-6)
    assert len(policy.predict(rows[:0])) == 0


def test_a_discrete_action_is_a_number_and_others_are_arrays(cart: epgt.Run, pendulum: epgt.Run) -> None:
    action = cart.policy.predict([0.0, 0.1, 0.0, -0.1])
    assert action.dtype == np.int64 and action.shape == () and action in (0, 1)
    torque = pendulum.policy.predict(np.array([1.0, 0.0, 0.5]))
    assert torque.dtype == np.float32 and torque.shape == (1,) and -2 <= torque[0] <= 2


def test_drawn_actions_are_those_of_the_seed(pendulum: epgt.Run) -> None:
    policy, row = pendulum.policy, np.array([1.0, 0.0, 0.5])
    policy.seed(4)
    drawn = [policy.predict(row, deterministic=False)[0] for _ in range(5)]
    policy.seed(4)
    assert [policy.predict(row, deterministic=False)[0] for _ in range(5)] == drawn
    # Draws beyond the bounds are clipped to them, and then alike.
    assert len(set(drawn)) > 1


@needs("gymnasium")
def test_predict_plays_the_episode_that_evaluate_plays(cart: epgt.Run) -> None:
    import gymnasium

    policy, env = cart.policy, gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=11)
    earned, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy.predict(observation))
        earned, over = earned + float(reward), terminated or truncated
    assert earned == policy.evaluate(1, seed=11).returns[0]


def test_a_file_is_loaded_by_its_path(cart: epgt.Run) -> None:
    policy = epgt.load_policy(cart.directory / "last.safetensors")
    assert cart.result is not None and policy.sha256 == cart.result["policy_sha256"]
    assert repr(policy) == "Policy('CartPole-v1', observations of shape (4,))"


def test_what_cannot_be_observed_is_refused(cart: epgt.Run) -> None:
    policy = cart.policy
    for observation, sentence in [
        ([0.0, 1.0], r"shape \(2,\); \(4,\) is wanted, or \('n', 4\) for a batch"),
        (3.0, r"shape \(\)"),
        (np.zeros((2, 3, 4)), "shape"),
        ([0.0, float("nan"), 0.0, 0.0], "entry 1 of observation 0 is NaN"),
        ([[0.0] * 4, [0.0, 0.0, 1e39, 0.0]], "entry 2 of observation 1 is inf"),
        (["a", "b", "c", "d"], "numbers are wanted"),
        ([None] * 4, "numbers are wanted"),
        ([1j] * 4, "numbers are wanted"),
    ]:
        with pytest.raises(epgt.InputError, match=sentence):
            policy.predict(observation)
    with pytest.raises(epgt.InputError, match="seed=-1 cannot be used"):
        policy.seed(-1)


def test_what_is_no_policy_is_refused(cart: epgt.Run, tmp_path: Path) -> None:
    with pytest.raises(epgt.PolicyError, match="cannot read .*none"):
        epgt.load_policy(tmp_path / "none")
    data = bytearray((cart.directory / "last.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "altered").write_bytes(data)
    with pytest.raises(epgt.PolicyError, match="altered after it was written"):
        epgt.load_policy(tmp_path / "altered")


def test_state_dict_computes_what_predict_does(cart: epgt.Run) -> None:
    state, rows = cart.policy.state_dict(), observations(cart.policy, 50)
    mean, variance = state["normalizer.observation_mean"], state["normalizer.observation_variance"]
    features = np.clip((rows - mean) / np.sqrt(variance + 1e-8), -10, 10)
    layers = sum(name.startswith("policy.") and name.endswith("weight") for name in state)
    for i in range(layers):
        features = features @ state[f"policy.{i}.weight"].T + state[f"policy.{i}.bias"]
        features = np.tanh(features) if i < layers - 1 else features
    assert (features.argmax(1) == cart.policy.predict(rows)).mean() > 0.95


@needs("torch")
def test_the_module_of_pytorch_gives_the_same_actions(policy: epgt.Policy) -> None:
    import torch

    module, rows = policy.to_torch(), observations(policy, 200)
    with torch.no_grad():
        actions = module(torch.from_numpy(rows)).numpy()
    agree(policy.predict(rows), actions)


@needs("torch")
def test_the_module_loads_the_state_dict(policy: epgt.Policy) -> None:
    import torch

    module = policy.to_torch()
    state = {name: torch.from_numpy(array) for name, array in policy.state_dict().items()}
    assert set(state) == set(module.state_dict())
    module.load_state_dict(state)


@needs("onnxruntime")
def test_the_onnx_model_gives_the_same_actions(policy: epgt.Policy, tmp_path: Path) -> None:
    import onnxruntime

    policy.to_onnx(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx", providers=["CPUExecutionProvider"])
    for n in (1, 200):
        rows = observations(policy, n)
        (actions,) = session.run(None, {"observations": rows})
        agree(policy.predict(rows), actions)


def agree(expected: np.ndarray, found: np.ndarray) -> None:
    """Equal to 1e-6; of discrete actions, those whose logits tie in the last digits may differ."""
    assert found.shape == expected.shape
    if expected.dtype == np.int64:
        assert (found == expected).mean() >= 0.99
    else:
        np.testing.assert_allclose(found, expected, atol=1e-6)
