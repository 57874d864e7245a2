"""Environments of Python as the trainer steps them: rows of numbers, or the bytes of an image.

Observations become rows as for the tasks `gym:ID`: the keys of a Dict in their order, the parts of a Tuple one after
another, a choice as one number for each option (one-hot); an image has its channels first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _epgt
from ._errors import EnvError, InputError
from ._optional import optional


class Env(Protocol):
    """What of an environment of Gymnasium's is used."""

    def reset(self, *, seed: int | None = None) -> Any: ...

    def step(self, action: Any, /) -> Any: ...


Factory = Callable[[], Any] | Env
"""A function without arguments that makes an environment of Gymnasium's, or one that is copied."""


def factory(given: Factory) -> Callable[[], Any]:
    """A function that makes environments. Of one that is there it makes copies: several are stepped together."""
    gymnasium = optional("gymnasium", "an environment of Python")
    if isinstance(given, gymnasium.Env):
        return lambda: _copy(given)
    if not callable(given):
        raise InputError(f"{given!r} is neither the id of a task nor a function that makes an environment")
    return given


def environment(given: Factory) -> _epgt.Environment:
    """What the extension module needs to make and step copies of an environment."""
    make = factory(given)
    first = Stepper(make())
    first.close()
    return _epgt.Environment(lambda: Stepper(make()), first.name, first.limit)


def _copy(env: Any) -> Any:
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise InputError(
            f"the environment cannot be copied ({error}), and several copies are stepped together; give a function "
            "that makes one: lambda: gymnasium.make(...)"
        ) from error


class Stepper:
    """One environment. The extension module calls `reset` and `step`."""

    def __init__(self, env: Any) -> None:
        gymnasium = optional("gymnasium", "an environment of Python")
        if not isinstance(env, gymnasium.Env):
            raise EnvError(f"the function returned a {type(env).__name__}, not a gymnasium.Env")
        self._env = env
        self._rows, self._actions = Rows(env.observation_space), Actions(env.action_space)
        self.observations, self.actions = self._rows.described, self._actions.described
        spec = env.spec
        self.name = f"python:{type(env.unwrapped).__name__ if spec is None else spec.id}"
        self.limit: int | None = None if spec is None else spec.max_episode_steps

    def reset(self, seed: int | None) -> NDArray[Any]:
        # Gymnasium's seeds are those of NumPy, which are never negative.
        result = self._env.reset(seed=seed)
        if not isinstance(result, tuple) or len(result) != 2:
            raise EnvError("reset of the environment did not return two values: observation and info")
        return self._rows.row(result[0])

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[Any], float, bool, bool]:
        result = self._env.step(self._actions.of(action))
        if not isinstance(result, tuple) or len(result) != 5:
            raise EnvError(
                "step of the environment did not return five values: observation, reward, terminated, truncated and "
                "info"
            )
        observation, reward, terminated, truncated, _ = result
        try:
            return self._rows.row(observation), float(reward), bool(terminated), bool(truncated)
        except (TypeError, ValueError) as error:
            if isinstance(error, EnvError):
                raise
            raise EnvError(f"step of the environment returned what cannot be used: {error}") from error

    def close(self) -> None:
        self._env.close()


class Rows:
    """From the observations of a space to rows."""

    def __init__(self, space: Any) -> None:
        spaces = optional("gymnasium", "an environment of Python").spaces
        self.space = space
        is_image = isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) in (2, 3)
        self.described: dict[str, Any]
        if is_image:
            # The channels are the smaller of the first and the last side; of equal ones, the last.
            sides = space.shape if len(space.shape) == 3 else (*space.shape, 1)
            order = (0, 1, 2) if len(space.shape) == 3 and sides[0] < sides[2] else (2, 0, 1)

            def pixels(image: Any) -> Any:
                if image.dtype != np.uint8:
                    raise TypeError(f"an image of {image.dtype} is none of bytes")
                return image.reshape(sides).transpose(order).ravel()

            self._parts: list[Callable[[Any], Any]] = [pixels]
            self._dtype: Any = np.uint8
            self.described = {"kind": "image", "shape": tuple(int(sides[side]) for side in order)}
            return
        self._parts, bounds = [], []
        for part, low, high in _parts(space, spaces, lambda observation: observation):
            self._parts.append(part)
            bounds.append((low, high))
        if not sum(len(low) for low, _ in bounds):
            raise EnvError(f"the observations of {space} have no numbers")
        self._dtype = np.float32
        low, high = (np.concatenate([bound[side] for bound in bounds]).astype(np.float32) for side in (0, 1))
        self.described = {"kind": "box", "low": low, "high": high}

    def row(self, observation: Any) -> NDArray[Any]:
        """The row of an observation; what is not of the space's shape is refused."""
        try:
            parts = [part(observation) for part in self._parts]
            with np.errstate(over="ignore"):
                row: NDArray[Any] = np.concatenate(parts).astype(self._dtype)
            return row
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise EnvError(
                f"the environment returned an observation that does not fit {self.space}: {error}"
            ) from error


def _parts(space: Any, spaces: Any, find: Callable[[Any], Any]) -> list[tuple[Callable[[Any], Any], Any, Any]]:
    """For each part of an observation: how its numbers are made of the whole, and their bounds."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        keys = sorted(space.spaces) if isinstance(space, spaces.Dict) else range(len(space.spaces))

        def inner(key: Any) -> Callable[[Any], Any]:
            return lambda observation: find(observation)[key]

        return [part for key in keys for part in _parts(space.spaces[key], spaces, inner(key))]
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):

        def flat(observation: Any) -> NDArray[Any]:
            found = np.asarray(find(observation))
            if found.dtype.kind not in "fiub":
                raise TypeError(f"{found.dtype} is no type of numbers")
            row: NDArray[Any] = found.reshape(space.shape).ravel()
            return row

        binary = isinstance(space, spaces.MultiBinary)
        low, high = (np.zeros(space.shape), np.ones(space.shape)) if binary else (space.low, space.high)
        return [(flat, low.ravel(), high.ravel())]
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        counts = np.ravel(space.n if isinstance(space, spaces.Discrete) else space.nvec).astype(np.int64)
        starts, first = np.ravel(space.start).astype(np.int64), np.concatenate(([0], np.cumsum(counts)[:-1]))

        def hot(observation: Any) -> NDArray[np.float32]:
            chosen = np.ravel(find(observation)).astype(np.int64).reshape(len(counts)) - starts
            if ((chosen < 0) | (chosen >= counts)).any():
                raise ValueError(f"{find(observation)} is outside of it")
            row = np.zeros(counts.sum(), np.float32)
            row[first + chosen] = 1.0
            return row

        return [(hot, np.zeros(counts.sum()), np.ones(counts.sum()))]
    raise EnvError(
        f"observations of {type(space).__name__} cannot be used: Box, Discrete, MultiDiscrete, MultiBinary, and Dict "
        "and Tuple of them can"
    )


class Actions:
    """From rows to the actions of a space."""

    def __init__(self, space: Any) -> None:
        spaces = optional("gymnasium", "an environment of Python").spaces
        self._space, self._start = space, 0
        self.described: dict[str, Any]
        if isinstance(space, spaces.Discrete):
            self._start = int(space.start)
            self.described = {"kind": "discrete", "counts": [int(space.n)]}
        elif isinstance(space, spaces.MultiDiscrete):
            self._start = space.start
            self.described = {"kind": "multi-discrete", "counts": [int(n) for n in space.nvec.ravel()]}
        elif isinstance(space, spaces.MultiBinary):
            self.described = {"kind": "multi-discrete", "counts": [2] * int(np.prod(space.shape))}
        elif isinstance(space, spaces.Box):
            low, high = (bound.ravel().astype(np.float32) for bound in (space.low, space.high))
            self.described = {"kind": "box", "low": low, "high": high}
        else:
            raise EnvError(
                f"actions of {type(space).__name__} cannot be used: Discrete, MultiDiscrete, MultiBinary and Box can"
            )

    def of(self, row: NDArray[np.float32]) -> Any:
        """The action of a row."""
        if self.described["kind"] == "discrete":
            return np.int64(row[0]) + self._start
        shaped = row.reshape(self._space.shape)
        if self.described["kind"] == "multi-discrete":
            return shaped.astype(self._space.dtype) + self._start
        whole = np.issubdtype(self._space.dtype, np.integer)
        return np.clip(np.rint(shaped) if whole else shaped, self._space.low, self._space.high).astype(
            self._space.dtype
        )
