"""The schedulers of the package for anybody's training loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _epgt
from ._checks import NUMBERS, mapping, number, numbers, whole
from ._errors import ConfigError, InputError
from ._projection import Projector
from ._settings import text

MOST_ROWS = 64
"""The most rows that a tensor is seen as."""

Tensors = Any
"""An array, a tensor of PyTorch's, or several of them."""


class Scheduler:
    """Chooses hyperparameters while something is trained by gradients.

    `tune` has the values of each hyperparameter: a list, or a text such as `"log:1e-4..1e-2:5"` (five values evenly
    spaced in the logarithm). `start` says where each begins; where it does not, that is the middle of a list. `method`
    is who chooses: `epgt`, `random`, `bandit` and others (`epgt train --help`); `updates` is how many choices there
    will be, as far as that is known. The settings of the hyper-agent are keywords: `hold=20` keeps what was chosen for
    20 updates.

    Before every update `choose` is asked for the values, and whenever it is known how good the result is, `reward` is
    told.
    """

    def __init__(
        self,
        tune: Mapping[str, Sequence[float] | str],
        *,
        method: str = "epgt",
        seed: int = 0,
        updates: int = 10_000,
        start: Mapping[str, float] | None = None,
        **settings: object,
    ) -> None:
        if not isinstance(tune, Mapping) or not tune:
            raise ConfigError('nothing is scheduled; say what: tune={"lr": [1e-4, 3e-4, 1e-3]}')
        starts = dict(mapping("start", start))
        grids = [_grid(name, values, starts.pop(name, None)) for name, values in tune.items()]
        if starts:
            raise ConfigError(f"start says {', '.join(map(str, starts))}, which is not scheduled")
        self.names: tuple[str, ...] = tuple(tune)
        """The names of what is scheduled, in the order of `tune`."""
        self.updates = whole("updates", updates, 1)
        said = [(name, text(name, value)) for name, value in settings.items()]
        self._native = _epgt.NativeScheduler(grids, str(method), whole("seed", seed, 0), self.updates, said)
        self._shapes: list[tuple[int, ...]] | None = None
        # Where weights and gradients are put one after another: memory that is not new is written much sooner.
        self._buffers: list[NDArray[np.float32]] = []
        # There once tensors on another processor were given.
        self._projector: Projector | None = None

    def choose(self, weights: Tensors, gradients: Tensors = None, progress: float = 0.0) -> dict[str, float]:
        """The values of the next update.

        `weights` is what is trained, and `gradients` are those of the last update: arrays, or parameters of PyTorch's,
        whose own gradients are taken where no others are given. Before the first update there are none. `progress` is
        the share of the training that is done, from 0 to 1.
        """
        if not isinstance(progress, NUMBERS) or not 0 <= float(progress) <= 1:
            raise InputError(f"progress={progress!r} cannot be used; the share that is done is wanted, from 0 to 1")
        found = _listed(weights)
        shapes = [tuple(tensor.shape) for tensor in found]
        if self._shapes is None:
            self._begin(shapes)
        elif shapes != self._shapes:
            raise InputError(
                "the weights have other shapes than those of the first choice; make another scheduler for them"
            )
        # Most choices are kept for a while, and look at nothing.
        looks = self._native.looks()
        if self._projector is None and looks and any(map(_is_elsewhere, found)):
            described = self._native.projections()
            self._projector = None if described is None else Projector(described, found)
        if self._projector is not None:
            values = self._choose_elsewhere(self._projector, looks, found, gradients, float(progress))
        else:
            flat: list[NDArray[np.float32] | None] = [None, None]
            if looks:
                flat[1] = self._flat(1, self._gradients(found, gradients))
            if looks and self._native.looks_at_weights():
                flat[0] = self._flat(0, found)
            values = self._native.choose(flat[0], flat[1], float(progress))
        return dict(zip(self.names, values))

    def _choose_elsewhere(
        self, projector: Projector, looks: bool, weights: list[Any], gradients: Tensors, progress: float
    ) -> list[float]:
        """Chooses with a hyper-state that is computed where the tensors are."""
        features, norms, last = None, (0.0, 0.0), []
        if looks:
            last = self._gradients(weights, gradients)
            if self._native.looks_at_weights():
                features, norms = projector.features(weights, last)
        values, ages = self._native.choose_projected(features, norms, progress)
        if ages:
            projector.age(last)
        return values

    def reward(self, outcome: float) -> None:
        """Says how good the result of the last updates is, the more the better."""
        try:
            number = float(outcome)
        except (TypeError, ValueError) as error:
            raise InputError(f"the reward is of type {type(outcome).__name__}, but a number is wanted") from error
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise InputError(f"the reward is {number}, but a finite number of 32 bits is wanted")
        self._native.reward(number)

    @property
    def decisions(self) -> dict[str, NDArray[Any]]:
        """The latest decisions whose outcome is known, as columns: what was chosen, why, and what came of it."""
        return {name: np.array(column) for name, column in self._native.decisions().items()}

    def state_dict(self) -> dict[str, Any]:
        """Everything that decides what is chosen next, for `load_state_dict` of a scheduler that was made alike."""
        if self._projector is not None:
            self._native.keep_older(self._projector.older())
        return {"shapes": self._shapes, "agent": self._native.save()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        agent, shapes = mapping("the state", state).get("agent"), mapping("the state", state).get("shapes")
        if not isinstance(agent, bytes) or bool(agent) != isinstance(shapes, list):
            raise InputError("the state is not one of a scheduler")
        self._native.restore(agent)
        self._projector = None
        self._shapes = [tuple(shape) for shape in shapes] if agent and isinstance(shapes, list) else None

    def _begin(self, shapes: list[tuple[int, ...]]) -> None:
        if not sum(int(np.prod(shape)) for shape in shapes):
            raise InputError("there are no weights; give the arrays or parameters that are trained")
        self._native.begin([(f"tensor {i}", *_matrix(shape)) for i, shape in enumerate(shapes)])
        self._shapes = shapes

    def _flat(self, which: int, tensors: list[Any]) -> NDArray[np.float32]:
        """All numbers one after another, in the first buffer or the second."""
        arrays = [_array(tensor).ravel() for tensor in tensors]
        size = sum(array.size for array in arrays)
        if not self._buffers or self._buffers[0].size != size:
            self._buffers = [np.empty(size, np.float32) for _ in range(2)]
        with np.errstate(over="ignore"):
            return np.concatenate(arrays, out=self._buffers[which], casting="unsafe")

    def _gradients(self, weights: list[Any], gradients: Tensors) -> list[Any]:
        if gradients is None:
            own = [getattr(tensor, "grad", None) for tensor in weights]
            found = [_zeros(weight) if grad is None else grad for weight, grad in zip(weights, own)]
        else:
            found = _listed(gradients)
        if [tuple(tensor.shape) for tensor in found] != self._shapes:
            raise InputError("the gradients have other shapes than the weights")
        return found


def _grid(name: str, values: Sequence[float] | str, start: float | None) -> tuple[str, float, str]:
    """The name of a hyperparameter, where it begins, and its grid as text."""
    if isinstance(values, str):
        if start is None:
            raise ConfigError(f"{name} needs a value to start from: start={{{name!r}: ...}}")
        return name, number(name, start), values
    try:
        listed = sorted(number(name, value) for value in values)
    except TypeError as error:
        raise ConfigError(f"{name} is tuned to {values!r}; a list of numbers or a text is wanted") from error
    if not listed:
        raise ConfigError(f"{name} has no values to choose from")
    middle = listed[(len(listed) - 1) // 2] if start is None else number(name, start)
    return name, middle, ":".join(map(repr, listed))


def _listed(tensors: Tensors) -> list[Any]:
    """Arrays or tensors, one by one."""
    if hasattr(tensors, "shape"):
        tensors = [tensors]
    if isinstance(tensors, Mapping):
        tensors = tensors.values()
    if not isinstance(tensors, Iterable):
        raise InputError(f"arrays or parameters are wanted, and {type(tensors).__name__} was given")
    return [tensor if hasattr(tensor, "detach") else numbers("an array", tensor) for tensor in tensors]


def _is_elsewhere(tensor: Any) -> bool:
    """Whether a tensor is one of PyTorch's on another processor, from which nothing is copied that need not be."""
    return hasattr(tensor, "detach") and tensor.device.type != "cpu"


def _zeros(like: Any) -> Any:
    return like.detach().new_zeros(like.shape) if hasattr(like, "detach") else np.zeros(like.shape)


def _array(tensor: Any) -> NDArray[Any]:
    # NumPy does not have all of PyTorch's types.
    return tensor.detach().cpu().float().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """A tensor as the hyper-agent sees it: rows, each of which it projects to a few numbers.

    The first side has a row for each of its entries, and a vector is one row. What the hyper-agent costs grows with the
    square of the rows of all tensors, so of many as many are put into one as are needed to leave `MOST_ROWS`.
    """
    size = int(np.prod(shape))
    if len(shape) < 2 or not size:
        return 1, size
    rows = next(count for count in range(min(shape[0], MOST_ROWS), 0, -1) if shape[0] % count == 0)
    return rows, size // rows
