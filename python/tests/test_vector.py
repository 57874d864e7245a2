"""The package's simulators as environments of Gymnasium's, against Gymnasium's own."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from conftest import needs

import epgt

pytestmark = needs("gymnasium")

CLASSIC = ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]


def same_trajectories(task: str, steps: int, atol: float, mode: str = "NextStep", **options: Any) -> int:
    """Steps both with the same seeds and actions; returns how many episodes have ended."""
    import gymnasium
    from gymnasium.vector import AutoresetMode

    n = 3
    own = epgt.make_vec(task, n, autoreset_mode=mode, **options)
    factories = [lambda: gymnasium.make(task, **options)] * n
    other = gymnasium.vector.SyncVectorEnv(factories, autoreset_mode=AutoresetMode(mode))
    assert own.metadata["autoreset_mode"] == other.metadata["autoreset_mode"]
    assert own.single_action_space == other.single_action_space
    assert own.observation_space.shape == other.observation_space.shape
    other.action_space.seed(5)
    np.testing.assert_allclose(own.reset(seed=7)[0], other.reset(seed=7)[0], atol=atol)
    ended = 0
    for step in range(steps):
        actions = other.action_space.sample()
        mine, theirs = own.step(actions), other.step(actions)
        np.testing.assert_allclose(mine[0], theirs[0], atol=atol, rtol=1e-5, err_msg=f"step {step}")
        np.testing.assert_allclose(mine[1], theirs[1], atol=atol, rtol=1e-5)
        assert (mine[2] == theirs[2]).all() and (mine[3] == theirs[3]).all()
        assert ("final_obs" in mine[4]) == ("final_obs" in theirs[4])
        over = np.flatnonzero(mine[2] | mine[3])
        ended += len(over)
        for i in over if mode == "SameStep" else []:
            np.testing.assert_allclose(mine[4]["final_obs"][i], theirs[4]["final_obs"][i], atol=atol, rtol=1e-5)
            assert mine[4]["_final_obs"][i] and mine[4]["_final_info"][i]
    own.close()
    other.close()
    return ended


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("task", CLASSIC)
def test_the_trajectories_are_gymnasiums(task: str, mode: str) -> None:
    ended = same_trajectories(task, 620 if task == "Acrobot-v1" else 450, 1e-5, mode)
    assert ended > 0 or task == "MountainCarContinuous-v0"


def test_options_of_the_task_are_keywords() -> None:
    same_trajectories("Pendulum-v1", 50, 1e-5, g=9.81)
    with pytest.raises(epgt.ConfigError, match="unknown option of Pendulum-v1 'gg'; did you mean 'g'?"):
        epgt.make_vec("Pendulum-v1", 2, gg=3)


@needs("Box2D")
def test_trajectories_of_box2d() -> None:
    assert same_trajectories("LunarLander-v3", 200, atol=1e-3) > 0


@needs("mujoco")
def test_trajectories_of_mujoco() -> None:
    try:
        epgt.make_vec("HalfCheetah-v5", 1)
    except epgt.EnvError as error:
        pytest.skip(str(error))
    same_trajectories("HalfCheetah-v5", 60, atol=1e-3)


def test_arrays_are_of_the_spaces_and_fresh() -> None:
    envs = epgt.make_vec("CartPole-v1", 4)
    first, infos = envs.reset(seed=1)
    assert infos == {} and first in envs.observation_space and first.flags.c_contiguous
    kept = first.copy()
    observations, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space and rewards.dtype == np.float64
    assert terminated.dtype == truncated.dtype == np.bool_
    assert (first == kept).all()


def test_images_are_bytes() -> None:
    envs = epgt.make_vec("PixelCatch-v0", 3)
    observations, _ = envs.reset(seed=0)
    assert observations.dtype == np.uint8 and observations.shape == (3, *envs.single_observation_space.shape)
    assert observations in envs.observation_space


def test_what_ends_is_told_in_the_infos() -> None:
    envs = epgt.make_vec("CartPole-v1", 5, autoreset_mode="SameStep")
    envs.reset(seed=0)
    earned = np.zeros(5)
    for _ in range(60):
        _, rewards, terminated, _, infos = envs.step(np.ones(5, np.int64))
        earned += rewards
        for i in np.flatnonzero(terminated):
            episode = infos["final_info"]["episode"]
            assert episode["r"][i] == episode["l"][i] == earned[i]
            earned[i] = 0.0
        assert "final_info" not in infos or (infos["_final_info"] == terminated).all()


def test_seeds_are_one_for_all_or_one_each_or_none() -> None:
    envs = epgt.make_vec("Pendulum-v1", 3)
    base = envs.reset(seed=4)[0]
    assert (envs.reset(seed=[4, 5, 6])[0] == base).all()
    assert (envs.reset(seed=[6, None, 4])[0][2] == base[0]).all()
    follows = envs.reset()[0]
    envs.reset(seed=[6, None, 4])
    assert (envs.reset()[0][[0, 2]] == follows[[0, 2]]).all()
    # Without any seed they begin somewhere.
    assert (epgt.make_vec("Pendulum-v1", 3).reset()[0] != epgt.make_vec("Pendulum-v1", 3).reset()[0]).any()


def test_wrappers_of_gymnasium_take_it() -> None:
    import gymnasium

    envs = gymnasium.wrappers.vector.NormalizeObservation(epgt.make_vec("CartPole-v1", 2))
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    observations, _ = envs.reset(seed=0)
    for _ in range(50):
        observations, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(observations).all()


def test_misuse_is_refused_in_a_sentence() -> None:
    envs = epgt.make_vec("CartPole-v1", 2)
    with pytest.raises(epgt.InputError, match="reset before they are stepped"):
        epgt.make_vec("CartPole-v1", 2).step([0, 1])
    envs.reset(seed=0)
    for actions in ([0], [[0, 1]], [0.0, 1.0], ["a", "b"], [None, None], 0):
        with pytest.raises(epgt.InputError, match="the actions"):
            envs.step(actions)
    with pytest.raises(
        epgt.InputError, match="environment 1: the action is 2, but this task takes the whole numbers 0 to 1"
    ):
        envs.step([0, 2])
    envs.step([0, 1])
    with pytest.raises(epgt.InputError, match="entry 0 of the action is NaN"):
        box = epgt.make_vec("Pendulum-v1", 1)
        box.reset()
        box.step([[float("nan")]])
    for seed in (-1, 1.5, "a", [1], [1, 2, 3], [1, "b"]):
        with pytest.raises(epgt.InputError):
            envs.reset(seed=seed)
    with pytest.raises(epgt.InputError, match="no options of reset"):
        envs.reset(options={"low": 0})
    with pytest.raises(epgt.InputError, match="autoreset_mode='Disabled' cannot be used"):
        epgt.make_vec("CartPole-v1", 1, autoreset_mode="Disabled")
    with pytest.raises(epgt.InputError, match="num_envs=0"):
        epgt.make_vec("CartPole-v1", 0)
    with pytest.raises(epgt.ConfigError, match="did you mean 'CartPole-v1'"):
        epgt.make_vec("CartPol-v1", 1)
    envs.close()
    envs.close()
    for use in (lambda: envs.step([0, 1]), lambda: envs.reset()):
        with pytest.raises(epgt.EnvError, match="closed"):
            use()


def test_a_fork_is_refused_instead_of_waited_for() -> None:
    envs = epgt.make_vec("CartPole-v1", 2)
    envs.reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            envs.step([0, 1])
        except epgt.EnvError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    envs.step([0, 1])


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1", "LunarLander-v3", "PixelCatch-v0"])
def test_one_environment_passes_gymnasiums_checker(task: str) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What it says of spaces is a matter of taste of the task itself, which is Gymnasium's.
        warnings.filterwarnings(
            "ignore",
            ".*(Box (observation|action) space|symmetric and normalized|`env.spec`|infinity|seen as an image).*",
        )
        check_env(epgt.make(task), skip_render_check=True)


def test_one_environment_ends_and_begins_as_gymnasiums() -> None:
    import gymnasium

    own, other = epgt.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    for seed in (3, None, None):
        np.testing.assert_allclose(own.reset(seed=seed)[0], other.reset(seed=seed)[0], atol=1e-6)
        over = False
        while not over:
            mine, theirs = own.step(1), other.step(1)
            np.testing.assert_allclose(mine[0], theirs[0], atol=1e-5)
            assert mine[1:4] == theirs[1:4]
            over = mine[2] or mine[3]
        with pytest.raises(epgt.EnvError, match="reset the environment"):
            own.step(1)
