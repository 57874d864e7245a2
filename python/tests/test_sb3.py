"""Stable-Baselines3 on the package's simulators, and its hyperparameters scheduled by the package."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import needs

pytestmark = needs("stable_baselines3")


def make(kind: str = "PPO", task: str = "CartPole-v1", **settings: Any) -> Any:
    import stable_baselines3 as sb3
    import torch

    import epgt.sb3

    torch.set_num_threads(1)
    settings = {"n_steps": 32, "batch_size": 32, "n_epochs": 2} | settings if kind == "PPO" else settings
    return getattr(sb3, kind)("MlpPolicy", epgt.sb3.make_vec(task, 4), seed=0, device="cpu", **settings)


class Seen:
    """What the optimiser has at the moment of each of its steps."""

    def __init__(self, model: Any) -> None:
        self.groups: list[list[dict[str, Any]]] = []
        model.policy.optimizer.register_step_pre_hook(self)

    def __call__(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.groups.append([dict(group) for group in optimizer.param_groups])

    def rates(self) -> list[float]:
        return [groups[0]["lr"] for groups in self.groups]


def seen_by(callback: Any) -> list[Seen]:
    """What the optimiser has at its steps once the callback has done what it does before them."""
    started: Any = callback._on_training_start
    seen: list[Seen] = []
    callback._on_training_start = lambda: (started(), seen.append(Seen(callback.model)))[0]
    return seen


def test_ppo_and_a2c_learn_on_the_packages_simulators() -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    import epgt.sb3

    model = make("PPO", n_steps=256, batch_size=64, n_epochs=10, learning_rate=1e-3).learn(8192)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        returns, _ = evaluate_policy(model, epgt.sb3.make_vec("CartPole-v1", 2, seed=5), n_eval_episodes=10)
    assert returns > 150
    assert len(model.ep_info_buffer) > 0
    continuous = make("A2C", "Pendulum-v1").learn(2000)
    assert continuous.num_timesteps == 2000


def test_the_environments_are_those_of_a_dummy_vector_of_gymnasiums() -> None:
    import gymnasium
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    import epgt.sb3

    check_env(epgt.make("CartPole-v1"))
    for task in ("CartPole-v1", "Pendulum-v1"):
        own = epgt.sb3.make_vec(task, 3, seed=4)
        other = DummyVecEnv([lambda: Monitor(gymnasium.make(task))] * 3)
        other.seed(4)
        np.testing.assert_allclose(own.reset(), other.reset(), atol=1e-6)
        ended = 0
        for _ in range(210):
            actions = np.array([own.action_space.sample() for _ in range(3)])
            mine, theirs = own.step(actions), other.step(actions)
            np.testing.assert_allclose(mine[0], theirs[0], atol=1e-4)
            np.testing.assert_allclose(mine[1], theirs[1], atol=1e-4)
            assert mine[1].dtype == theirs[1].dtype and (mine[2] == theirs[2]).all()
            for i in np.flatnonzero(mine[2]):
                ended += 1
                assert mine[3][i]["TimeLimit.truncated"] == theirs[3][i]["TimeLimit.truncated"]
                kept = mine[3][i]["terminal_observation"], theirs[3][i]["terminal_observation"]
                np.testing.assert_allclose(*kept, atol=1e-4)
                assert mine[3][i]["episode"]["l"] == theirs[3][i]["episode"]["l"]
                assert mine[3][i]["episode"]["r"] == pytest.approx(theirs[3][i]["episode"]["r"], abs=1e-2)
        assert ended > 0
        assert own.env_is_wrapped(Monitor) == [True] * 3 and own.get_attr("render_mode") == [None] * 3
        with pytest.raises(AttributeError):
            own.env_method("gravity")
        own.close()


def test_a_scheduled_rate_is_in_the_optimiser_when_it_steps() -> None:
    import epgt.sb3

    model = make("PPO", learning_rate=1e-3)
    callback = epgt.sb3.Callback({"learning_rate": [1e-4, 1e-3, 1e-2]}, method="random", seed=1)
    seen = Seen(model)
    model.learn(128 * 12, callback=callback)
    per_rollout = np.array(seen.rates()).reshape(12, -1)
    assert per_rollout.shape[1] == 2 * 128 // 32
    assert (per_rollout == per_rollout[:, :1]).all()
    assert len(set(per_rollout[:, 0])) > 1
    assert per_rollout[-1, 0] == callback.values["learning_rate"]
    told = callback.scheduler.decisions["learning_rate"]
    assert list(told) == list(per_rollout[: len(told), 0])


def test_everything_that_is_scheduled_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    import epgt.sb3

    model = make("PPO", clip_range_vf=0.2, max_grad_norm=0.5)
    grid = {
        "clip_range": [0.1, 0.2, 0.3],
        "clip_range_vf": [0.1, 0.2],
        "ent_coef": [0.0, 0.01],
        "vf_coef": [0.25, 0.5],
        "max_grad_norm": [0.3, 0.5],
        "n_epochs": [1, 2, 3],
        "batch_size": [32, 64],
        "eps": [1e-5, 1e-8],
    }
    clipped, clipping = [], torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *args: (clipped.append(args[1]), clipping(*args))[1])
    steps: list[tuple[dict[str, float], int]] = []
    callback = epgt.sb3.Callback(grid, method="random", seed=3, max_actions=10_000)
    seen, train = Seen(model), model.train

    def watched() -> None:
        before = len(seen.groups)
        clipped.clear()
        train()
        chosen = callback.values
        made = len(seen.groups) - before
        assert made == chosen["n_epochs"] * 128 // chosen["batch_size"]
        assert set(clipped) == {chosen["max_grad_norm"]}
        assert {groups[0]["eps"] for groups in seen.groups[before:]} == {chosen["eps"]}
        assert model.logger.name_to_value["train/clip_range"] == chosen["clip_range"]
        assert model.logger.name_to_value["train/clip_range_vf"] == chosen["clip_range_vf"]
        assert (model.ent_coef, model.vf_coef) == (chosen["ent_coef"], chosen["vf_coef"])
        steps.append((chosen, made))

    monkeypatch.setattr(model, "train", watched)
    model.learn(128 * 10, callback=callback)
    assert len({made for _, made in steps}) > 2
    assert len({chosen["clip_range"] for chosen, _ in steps}) > 1


@pytest.mark.parametrize("kind", ["PPO", "A2C"])
def test_a_scheduled_discount_makes_the_advantages_of_its_own_rollout(kind: str) -> None:
    import epgt.sb3

    # Episodes are cut after 200 steps: there the value of what would have followed is added, discounted.
    model = make(kind, "Pendulum-v1", gamma=0.99, n_steps=256)
    grid = {"gamma": [0.5, 0.99], "gae_lambda": [0.5, 0.95]}
    callback = epgt.sb3.Callback(grid, method="random", seed=2)
    checked: list[dict[str, float]] = []

    def check() -> None:
        buffer, chosen = model.rollout_buffer, callback.values
        gamma, lam = chosen["gamma"], chosen["gae_lambda"]
        last = callback.locals["values"].flatten().numpy()
        cuts = {(step, env): seen for step, env, seen in callback._cuts}
        rewards = np.array(raw, np.float64)
        assert len(cuts) > 0
        for (step, env), seen in cuts.items():
            value = model.policy.predict_values(model.policy.obs_to_tensor(seen[None])[0])
            rewards[step, env] += gamma * value.item()
        advantage = np.zeros(4)
        for step in reversed(range(len(rewards))):
            ends = callback.locals["dones"] if step == len(rewards) - 1 else buffer.episode_starts[step + 1]
            following = last if step == len(rewards) - 1 else buffer.values[step + 1]
            error = rewards[step] + gamma * following * (1.0 - ends) - buffer.values[step]
            advantage = error + gamma * lam * (1.0 - ends) * advantage
            np.testing.assert_allclose(buffer.advantages[step], advantage, rtol=1e-3, atol=2e-3)
        checked.append(chosen)

    raw: list[Any] = []
    ended, stepped, begun = callback._on_rollout_end, callback._on_step, callback._on_rollout_start
    callback._on_rollout_start = lambda: (raw.clear(), begun())[1]
    callback._on_step = lambda: (raw.append(np.array(callback.locals["rewards"])), stepped())[1]
    callback._on_rollout_end = lambda: (ended(), check())[1]
    model.learn(1024 * 6, callback=callback)
    assert {chosen["gamma"] for chosen in checked} == {0.5, 0.99}


def test_by_divergence_policy_and_critic_have_a_rate_each_and_a_phase_ends_for_the_policy() -> None:
    import epgt.sb3

    model = make("PPO", learning_rate=3e-3, n_steps=128, n_epochs=4)
    whole = model.policy.optimizer.param_groups
    callback = epgt.sb3.Callback(step_control="divergence")
    seen = seen_by(callback)
    model.learn(512 * 6, callback=callback)
    names = {id(weight): name for name, weight in model.policy.named_parameters()}
    assert len(seen[0].groups) == 6 * 64 and seen[0].rates()[0] == 1e-4
    for own, critic in seen[0].groups:
        assert all("value" in names[id(weight)] for weight in critic["params"])
        assert not any("value" in names[id(weight)] for weight in own["params"])
        assert len(own["params"]) + len(critic["params"]) == len(names)
        assert critic["lr"] == 1e-3 and own["lr"] <= 1e-2
    assert len(set(seen[0].rates())) > 3
    assert model.policy.optimizer.param_groups is whole and len(whole) == 1
    # A target that every step misses by far ends each phase after its first steps; the critic goes on.
    callback = epgt.sb3.Callback(step_control="divergence", target_divergence=1e-7)
    seen = seen_by(callback)
    model.learn(512, callback=callback)
    assert seen[0].rates()[0] > 0 and seen[0].rates()[-1] == 0
    assert {critic["lr"] for _, critic in seen[0].groups} == {1e-3}


def divergence_by_hand(before: Any, after: Any, rows: Any) -> float:
    import torch

    with torch.no_grad():
        old, new = (policy.get_distribution(rows).distribution for policy in (before, after))
        parts = torch.distributions.kl_divergence(old, new)
    return float(parts.reshape(len(rows), -1).sum(1).mean())


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_a_step_of_a2c_beyond_eight_targets_is_taken_back_to_that(task: str) -> None:
    import copy

    import epgt.sb3

    model = make("A2C", task, n_steps=32)
    callback = epgt.sb3.Callback(step_control="divergence", target_divergence=1e-5)
    found: list[tuple[float, float]] = []
    train = model.train

    def watched() -> None:
        before = copy.deepcopy(model.policy)
        rows = model.policy.obs_to_tensor(model.rollout_buffer.observations.reshape(128, -1))[0]
        train()
        found.append((divergence_by_hand(before, model.policy, rows), callback._steps.divergence))

    model.train = watched
    model.learn(128 * 5, callback=callback)
    taken_back = [kept for kept, made in found if made > 8e-5]
    assert taken_back, found
    # The divergence goes with the square of the step: to first order what is kept is eight targets.
    assert np.median(taken_back) == pytest.approx(8e-5, rel=0.25)
    for kept, made in found:
        assert made > 8e-5 or kept == pytest.approx(made, rel=1e-2, abs=1e-9)


def test_a_policy_of_a2c_never_moves_faster_than_its_critic() -> None:
    import epgt.sb3

    callback = epgt.sb3.Callback(step_control="divergence", target_divergence=1.0, critic_learning_rate=2e-4)
    seen = seen_by(callback)
    make("A2C", n_steps=32, learning_rate=1.0).learn(128 * 5, callback=callback)
    policy, critic = seen[-1].groups[-1][:2]
    assert policy["lr"] == critic["lr"] == pytest.approx(2e-4)


def test_the_divergence_of_a_phase_is_what_was_aimed_at_in_the_end() -> None:
    import epgt.sb3

    model = make("PPO", n_steps=128)
    callback = epgt.sb3.Callback(step_control="divergence", target_divergence=0.002)
    found, ended = [], callback._end_phase
    callback._end_phase = lambda: (ended(), found.append(callback._steps.divergence))[0]
    model.learn(512 * 24, callback=callback)
    # What is held is the mean of the logarithm.
    assert np.exp(np.mean(np.log(found[-12:]))) == pytest.approx(0.002, rel=0.5)


@pytest.mark.parametrize("kind", ["PPO", "A2C"])
def test_by_divergence_the_models_own_rate_decides_nothing(kind: str) -> None:
    import epgt.sb3

    learned = []
    for rate in (1e-6, 3e-4, 1.0):
        model = make(kind, learning_rate=rate)
        model.learn(128 * 4, callback=epgt.sb3.Callback(step_control="divergence"))
        learned.append(np.concatenate([weight.detach().numpy().ravel() for weight in model.policy.parameters()]))
    assert (learned[0] == learned[1]).all() and (learned[1] == learned[2]).all()


def test_a_schedule_of_the_models_own_is_the_critics_by_divergence() -> None:
    import epgt.sb3

    model = make("PPO", learning_rate=lambda left: 1e-3 * left)
    callback = epgt.sb3.Callback(step_control="divergence", critic_learning_rate=0.01)
    seen = seen_by(callback)
    model.learn(128 * 4, callback=callback)
    rates = [groups[1]["lr"] for groups in seen[0].groups]
    assert rates[0] == pytest.approx(0.01 * 0.75) and rates[-1] == pytest.approx(0.0)


def test_shared_layers_move_with_the_policy() -> None:
    from stable_baselines3 import PPO

    import epgt.sb3
    from epgt._sb3_steps import critic_parameters

    settings = {"n_steps": 32, "batch_size": 32, "device": "cpu"}
    model = PPO(
        "CnnPolicy", epgt.sb3.make_vec("PixelCatch-v0", 2), policy_kwargs={"normalize_images": True}, **settings
    )
    model.learn(64)
    own = critic_parameters(model)
    critic = {name for name, weight in model.policy.named_parameters() if id(weight) in own}
    assert critic and all(name.startswith(("value_net", "mlp_extractor.value")) for name in critic)


@pytest.mark.parametrize("kind", ["PPO", "A2C"])
def test_what_a_model_saves_holds_the_callback(kind: str, tmp_path: Path) -> None:
    import epgt.sb3

    tune = {"ent_coef": [0.0, 0.01, 0.02], "step": [0.7, 1.0, 1.4]}
    model = make(kind, n_steps=32)

    def callback() -> Any:
        return epgt.sb3.Callback(tune, step_control="divergence", method="epgt", hold=2)

    first = callback()
    model.learn(128 * 7, callback=first)
    model.save(tmp_path / "model")
    second = callback()
    loaded = type(model).load(tmp_path / "model", env=epgt.sb3.make_vec("CartPole-v1", 4), device="cpu")
    assert loaded.epgt_state == first.state_dict()
    started, found = second._on_training_start, []
    second._on_training_start = lambda: (started(), found.append(second.state_dict()))[0]
    loaded.learn(128 * 3, callback=second, reset_num_timesteps=False)
    assert found == [first.state_dict()]
    assert second._choices == 10 and loaded.num_timesteps == 128 * 10
    # A training that begins anew has nothing to do with it.
    third = callback()
    loaded.epgt_state = first.state_dict()
    loaded.learn(128, callback=third)
    assert third._choices == 1
    with pytest.raises(epgt.InputError, match="made otherwise"):
        epgt.sb3.Callback({"gamma": [0.9, 0.99]}).load_state_dict(first.state_dict())


def test_what_cannot_be_scheduled_is_refused_in_a_sentence() -> None:
    import epgt.sb3

    for refused, words in [
        (lambda: epgt.sb3.Callback(), "nothing is scheduled"),
        (lambda: epgt.sb3.Callback({"n_steps": [16, 32]}), "its buffer once"),
        (lambda: epgt.sb3.Callback({"step": [1.0, 2.0]}), "step decides nothing"),
        (lambda: epgt.sb3.Callback({"gamma": [0.9, 1.5]}), "gamma = 1.5"),
        (lambda: epgt.sb3.Callback({"n_epochs": [1.5, 2]}), "n_epochs = 1.5"),
        (lambda: epgt.sb3.Callback({"gamma": [0.9, 0.99]}, step_control="kl"), "step_control='kl'"),
        (lambda: epgt.sb3.Callback({"learning_rate": [1e-3]}, step_control="divergence"), "schedule step"),
        (lambda: epgt.sb3.Callback({"gamma": [0.9, 0.99]}, target_divergence=0.1), "decides nothing"),
        (lambda: epgt.sb3.Callback(step_control="divergence", target_divergence=float("nan")), "target_divergence"),
        (lambda: epgt.sb3.Callback({"gamma": [0.9, 0.99]}, methd="random"), "methd"),
        (lambda: make("A2C").learn(64, callback=epgt.sb3.Callback({"clip_range": [0.1]})), "A2C has no number"),
        (lambda: make().learn(64, callback=epgt.sb3.Callback({"nonsense": [0.1]})), "PPO has no number nonsense"),
        (lambda: make().learn(64, callback=epgt.sb3.Callback({"clip_range_vf": [0.1]})), "no number clip_range_vf"),
    ]:
        with pytest.raises(epgt.EpgtError, match=words):
            refused()


def test_an_exception_leaves_a_model_that_learns_on() -> None:
    import epgt.sb3

    model = make()

    def fails(model: Any) -> float:
        raise ZeroDivisionError("on purpose")

    callback = epgt.sb3.Callback({"gamma": [0.9, 0.99]}, step_control="divergence", reward=fails)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        model.learn(1000, callback=callback)
    # The hooks of the first are gone with the second, and so are those with its end.
    model.learn(256, callback=epgt.sb3.Callback(step_control="divergence"))
    assert not model.policy.optimizer._optimizer_step_pre_hooks
    assert "evaluate_actions" not in vars(model.policy) and "get" not in vars(model.rollout_buffer)
    model.learn(256)
