"""Policies: acting, evaluating, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _epgt
from ._checks import StrPath, numbers, path, whole
from ._errors import EnvError, InputError
from ._stepper import Actions, Factory, Rows, environment, factory

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Evaluation:
    """Episodes that were played to see what a policy is worth."""

    returns: NDArray[np.float64]
    """The sum of the raw rewards of each episode."""
    lengths: NDArray[np.uint32]
    """The steps of each episode."""
    cut: int
    """Episodes that had not ended after `max_steps` steps; they count with what they had earned by then."""

    @property
    def mean_return(self) -> float:
        """The mean of the returns."""
        return float(self.returns.mean())

    @property
    def std_return(self) -> float:
        """The standard deviation of the returns."""
        return float(self.returns.std())


class Policy:
    """A trained policy with its normalisation: observations are given as the environment returns them."""

    def __init__(self, file: StrPath, env: Factory | None = None) -> None:
        self._native = _epgt.NativePolicy(path("file", file), None if env is None else environment(env))
        self._observed: dict[str, Any] = self._native.observation_space
        self._done: dict[str, Any] = self._native.action_space
        # What is observed and done in an environment of Python's has shapes of its own.
        self._own = None if env is None else _Own(env)

    def __repr__(self) -> str:
        return f"Policy({self.task!r}, observations of shape {self.observation_shape})"

    @property
    def task(self) -> str:
        """The task that it was trained for, with the options that are not the defaults."""
        return self._native.task

    @property
    def sha256(self) -> str | None:
        """What identifies it: the `policy_sha256` of its run; None for files of early versions."""
        return self._native.sha256

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        if self._observed["kind"] == "image":
            shape: tuple[int, ...] = tuple(self._observed["shape"])
            return shape
        return (len(self._observed["low"] if self._observed["kind"] == "box" else self._observed["counts"]),)

    def predict(self, observation: ArrayLike, *, deterministic: bool = True) -> Any:
        """The action for one observation, or the actions for a batch of them.

        A discrete action is an `int64`, or an array of them for a batch; other actions are arrays, one row each for a
        batch. With `deterministic=False` actions are drawn as in training, from a generator that `seed` sets.
        """
        if self._own is not None:
            return self._own.predict(self._native, observation, deterministic)
        found = numbers("the observation", observation)
        single = found.shape == self.observation_shape
        if not single and found.shape[1:] != self.observation_shape:
            raise InputError(
                f"the observation has shape {found.shape}; {self.observation_shape} is wanted, "
                f"or {('n', *self.observation_shape)} for a batch"
            )
        n = 1 if single else len(found)
        rows = found.reshape(n, int(np.prod(self.observation_shape)))
        if self._observed["kind"] == "image":
            if rows.dtype != np.uint8:
                raise InputError(f"the observation is an image of {rows.dtype}, but uint8 is wanted")
        else:
            # What is too large becomes infinite, and is refused with its place.
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32)
        actions: NDArray[Any] = self._native.act(rows, deterministic)
        if self._done["kind"] == "discrete":
            actions = actions[:, 0].astype(np.int64)
        elif self._done["kind"] == "multi-discrete":
            actions = actions.astype(np.int64)
        return actions[0] if single else actions

    def seed(self, seed: int) -> None:
        """Has the draws of `predict(..., deterministic=False)` begin anew."""
        self._native.seed(whole("seed", seed, 0))

    def evaluate(
        self,
        episodes: int = 10,
        *,
        seed: int = 0,
        deterministic: bool | None = None,
        max_steps: int | None = None,
    ) -> Evaluation:
        """Plays episodes of its task, the i-th seeded `seed + i`.

        Actions are the most likely ones, or drawn with `deterministic=False`; None is drawn in Atari's games and the
        most likely elsewhere. An episode that has not ended after `max_steps` steps is cut.
        """
        returns, lengths, cut = self._native.evaluate(
            episodes=whole("episodes", episodes, 1, 100_000),
            seed=whole("seed", seed, 0),
            deterministic=deterministic,
            max_steps=None if max_steps is None else whole("max_steps", max_steps, 1),
        )
        return Evaluation(returns, lengths, cut)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Every array by the name and in the shape that the module of `to_torch` has it; see `docs/python.md`."""
        from ._network import Network

        return Network(self._native).state_dict()

    def to_torch(self) -> torch.nn.Module:
        """A module of PyTorch's that gives the same actions: `module(observations)` for a batch.

        It returns the deterministic actions; `module.logits(observations)` returns what they are made of.
        """
        from ._network import Network
        from .torch import PolicyModule

        return PolicyModule(Network(self._native))

    def to_onnx(self, file: StrPath) -> None:
        """Writes an ONNX model with the input `observations` and the output `actions`, for any number of rows."""
        from ._network import Network
        from ._onnx import model

        path("file", file).write_bytes(model(Network(self._native)))


class _Own:
    """The spaces of an environment of Python's."""

    def __init__(self, env: Factory) -> None:
        made = factory(env)()
        self._rows, self._actions = Rows(made.observation_space), Actions(made.action_space)
        made.close()

    def predict(self, native: _epgt.NativePolicy, observation: Any, deterministic: bool) -> Any:
        """The action for one observation, or for an array of them where the space is one of arrays."""
        shape = getattr(self._rows.space, "shape", None)
        single = not isinstance(observation, np.ndarray) or shape is None or observation.shape[1:] != shape
        observations = [observation] if single else list(observation)
        try:
            rows = [self._rows.row(observation) for observation in observations]
        except EnvError as error:
            raise InputError(f"the observation does not fit {self._rows.space}") from error
        empty = np.empty((0, *self._rows.described.get("low", np.empty(0)).shape), np.float32)
        actions = [self._actions.of(row) for row in native.act(np.stack(rows) if rows else empty, deterministic)]
        return actions[0] if single else np.array(actions)


def load_policy(file: StrPath, *, env: Factory | None = None) -> Policy:
    """The policy in a file. `env` makes the environment of one that was trained on an environment of Python's."""
    return Policy(file, env)
