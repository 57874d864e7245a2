"""The package's own simulators as environments of Gymnasium's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _epgt
from ._checks import mapping, numbers, whole
from ._errors import EnvError, InputError, MissingPackage
from ._settings import text
from ._spaces import space

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingPackage("a vector environment needs the package gymnasium: pip install gymnasium") from error


class VectorEnv(gymnasium.vector.VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """Copies of a task that Rust steps together, with the meaning of Gymnasium's `SyncVectorEnv`.

    An episode that ends begins anew with the next step, as there, or with `AutoresetMode.SAME_STEP` in the same: then
    its last observation is in `infos["final_obs"]`, and its return and length are in `infos["final_info"]["episode"]`.
    Each call returns fresh arrays, which the simulators have written themselves.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        **options: object,
    ) -> None:
        if not isinstance(task, str):
            raise InputError(f"the id of a task is wanted, and {type(task).__name__} was given")
        modes = {"NextStep": AutoresetMode.NEXT_STEP, "SameStep": AutoresetMode.SAME_STEP}
        named = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        if not isinstance(named, str) or named not in modes:
            raise InputError(f"autoreset_mode={autoreset_mode!r} cannot be used; NextStep or SameStep is wanted")
        mode = modes[named]
        self.metadata: dict[str, Any] = {"autoreset_mode": mode, "render_modes": []}
        self._same_step = mode == AutoresetMode.SAME_STEP
        said = [(name, text(name, value)) for name, value in options.items()]
        threads = None if threads is None else whole("threads", threads, 1, 1024)
        self.num_envs = whole("num_envs", num_envs, 1, 100_000)
        self._native = _epgt.NativeVecEnv(task, self.num_envs, said, not self._same_step, threads)
        self.task: str = self._native.task
        self.single_observation_space = space(self._native.observation_space)
        self.single_action_space = space(self._native.action_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._observed = (self.num_envs, *(self.single_observation_space.shape or ()))
        self._acted = self.action_space.shape
        self._whole_actions = not isinstance(self.single_action_space, gymnasium.spaces.Box)
        self._is_seeded = False

    def __repr__(self) -> str:
        return f"VectorEnv({self.task!r}, num_envs={self.num_envs})"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begins an episode everywhere. Environment i is given `seed + i`, or `seed[i]`; without a seed it goes on with
        its own generator, which begins somewhere where none was ever given."""
        if mapping("options", options):
            raise InputError("the tasks of the package take no options of reset")
        seeds: list[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
            if not self._is_seeded:
                seeds = [int(drawn) for drawn in np.random.SeedSequence().generate_state(self.num_envs)]
        elif isinstance(seed, (int, np.integer)):
            seeds = [whole("seed", seed, 0, 2**62) + i for i in range(self.num_envs)]
        elif not isinstance(seed, Sequence) or isinstance(seed, str):
            raise InputError(f"seed={seed!r} cannot be used; a whole number, or one for each environment, is wanted")
        else:
            seeds = [None if one is None else whole("seed", one, 0, 2**62) for one in seed]
        observations = self._native.reset(seeds)
        self._is_seeded = True
        return observations.reshape(self._observed), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Acts once in every environment. Numbers outside of the bounds of an action are moved to them."""
        given = numbers("the actions", actions, "iu" if self._whole_actions else "fiu")
        if given.shape != self._acted:
            raise InputError(f"the actions have shape {given.shape}, but {self._acted} is wanted")
        rows = np.ascontiguousarray(given, np.float32).reshape(self.num_envs, -1)
        observations, rewards, terminated, truncated, finished = self._native.step(rows)
        infos = self._infos(finished) if finished and self._same_step else {}
        return observations.reshape(self._observed), rewards, terminated, truncated, infos

    def _infos(self, finished: list[tuple[int, float, int]]) -> dict[str, Any]:
        """What is known of the episodes that have ended, in the form of Gymnasium's own vector environments."""
        ended = np.zeros(self.num_envs, np.bool_)
        observations = np.full(self.num_envs, None, object)
        returns, lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        for env, earned, length in finished:
            ended[env] = True
            observations[env] = self._native.final_observation(env).reshape(self._observed[1:])
            returns[env], lengths[env] = earned, length
        episode = {"r": returns, "_r": ended.copy(), "l": lengths, "_l": ended.copy()}
        info = {"episode": episode, "_episode": ended.copy()}
        return {"final_obs": observations, "_final_obs": ended.copy(), "final_info": info, "_final_info": ended}

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the environments."""
        self._native.close()


class Env(gymnasium.Env[NDArray[Any], Any]):
    """One copy of a task that Rust steps, as a plain environment of Gymnasium's."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: str, **options: object) -> None:
        self._envs = VectorEnv(task, 1, autoreset_mode=AutoresetMode.SAME_STEP, threads=1, **options)
        self.observation_space = self._envs.single_observation_space
        self.action_space = self._envs.single_action_space
        self.render_mode = None
        # The first observation of the next episode, which the simulator has begun by itself.
        self._next: NDArray[Any] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        begun, self._next = self._next, None
        if begun is None or seed is not None or mapping("options", options):
            observations, _ = self._envs.reset(seed=seed, options=options)
            begun = observations[0]
        return begun, {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Acts once."""
        if self._next is not None:
            raise EnvError("the episode has ended; reset the environment before it is stepped again")
        observations, rewards, terminated, truncated, infos = self._envs.step(np.asarray(action)[None])
        observation = observations[0]
        if infos:
            self._next, observation = observation, infos["final_obs"][0]
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def close(self) -> None:
        """Ends the environment."""
        self._envs.close()
