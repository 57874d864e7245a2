"""What works with PyTorch, which is imported with this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._checks import mapping, number, whole
from ._errors import ConfigError, InputError, MissingPackage
from ._network import CLIP, EPSILON, Network
from ._scheduler import Scheduler

try:
    import torch
    from torch import nn
except ImportError as error:
    raise MissingPackage("epgt.torch needs the package torch: pip install torch") from error

__all__ = ["HyperScheduler", "PolicyModule"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky-relu": nn.LeakyReLU,
}


class PolicyModule(nn.Module):
    """A policy as a module: observations as the environment returns them, normalised inside.

    `forward` returns the deterministic actions of a batch, `logits` what they are made of (logits, or means of
    continuous actions), `values` what the value network expects. Its `state_dict` has the names and shapes of
    `epgt.Policy.state_dict`.
    """

    trunk: Any
    normalizer: Any
    _low: torch.Tensor
    _high: torch.Tensor
    _middle: torch.Tensor
    _half: torch.Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._image = network.is_image
        self._normalizes = network.normalization is not None
        self._counts: list[int] | None = network.done.get("counts")
        self._single = network.done["kind"] == "discrete"
        self._squash, self._in_range = network.squash, network.in_range
        self._act = _ACTIVATIONS[network.activation]()
        state = {name: torch.from_numpy(array.copy()) for name, array in network.state_dict().items()}
        if self._image:
            self.trunk = nn.Module()
            self.trunk.conv = nn.ModuleList()
            for i, (kernel, stride) in enumerate(zip(network.kernels, network.strides)):
                outputs, inputs = state[f"trunk.conv.{i}.weight"].shape[:2]
                self.trunk.conv.append(nn.Conv2d(inputs, outputs, kernel, stride))
            self.trunk.dense = _dense(network.trunk, state)
        else:
            self.trunk = _dense(network.trunk, state)
        self.policy = _dense(network.layers("policy"), state)
        self.value = _dense(network.layers("value"), state)
        if "policy.log_std" in state:
            self.policy.register_parameter("log_std", nn.Parameter(state["policy.log_std"]))
        if self._normalizes:
            self.normalizer = nn.Module()
            for name in ("observation_mean", "observation_variance"):
                self.normalizer.register_buffer(name, state[f"normalizer.{name}"])
        if self._counts is None:
            middle, half = network.unit()
            sides = {"low": network.done["low"], "high": network.done["high"], "middle": middle, "half": half}
            for side, numbers in sides.items():
                self.register_buffer(f"_{side}", torch.from_numpy(numbers.copy()), persistent=False)
        self.load_state_dict(state)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        outputs = self.logits(observations)
        if self._counts is None:
            if self._squash:
                outputs = torch.tanh(outputs)
            if self._squash or self._in_range:
                outputs = self._middle + self._half * outputs
            return torch.maximum(torch.minimum(outputs, self._high), self._low)
        chosen = [part.argmax(-1) for part in torch.split(outputs, self._counts, -1)]
        return chosen[0] if self._single else torch.stack(chosen, -1)

    def logits(self, observations: torch.Tensor) -> torch.Tensor:
        """What the policy puts out for a batch of observations."""
        return self._head(self.policy, self._features(observations))

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        """What the value network expects for a batch of observations."""
        return self._head(self.value, self._features(observations))[:, 0]

    def _features(self, observations: torch.Tensor) -> torch.Tensor:
        features, dense = observations, self.trunk
        if self._image:
            features, dense = observations.to(torch.float32) / 255.0, self.trunk.dense
            for conv in self.trunk.conv:
                features = self._act(conv(features))
            features = features.flatten(1)
        elif self._normalizes:
            # In double precision, as the program does it.
            mean, variance = self.normalizer.observation_mean, self.normalizer.observation_variance
            features = (features.to(torch.float64) - mean) / torch.sqrt(variance + EPSILON)
            features = features.clamp(-CLIP, CLIP)
        features = features.to(torch.float32)
        for layer in dense:
            features = self._act(layer(features))
        return features

    def _head(self, layers: nn.ModuleList, features: torch.Tensor) -> torch.Tensor:
        for layer in layers[:-1]:
            features = self._act(layer(features))
        outputs: torch.Tensor = layers[-1](features)
        return outputs


def _dense(names: list[str], state: dict[str, torch.Tensor]) -> nn.ModuleList:
    """Layers of the shapes of these."""
    shapes = [state[f"{name}.weight"].shape for name in names]
    return nn.ModuleList([nn.Linear(inputs, outputs) for outputs, inputs in shapes])


class HyperScheduler:
    """Schedules the hyperparameters of an optimiser, with the methods of PyTorch's own schedulers.

    `tune` names entries of the optimiser's groups (`lr`, `weight_decay`, `momentum`, ...) with their values; each
    begins with the optimiser's own, or with that of `start`. `updates` is the number of steps of the whole training. `step` is called after the
    optimiser's own step and sets the values of the next one; it is told how good the result is whenever that is known,
    the more the better, for example the negative loss of validation. Other keywords are those of `epgt.Scheduler`.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        tune: Mapping[str, Sequence[float] | str],
        *,
        updates: int,
        start: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise InputError(f"an optimiser of PyTorch's is wanted, and {type(optimizer).__name__} was given")
        self.optimizer = optimizer
        said = mapping("start", start)
        self.start: dict[str, float] = {}
        """Where each begins."""
        for name in mapping("tune", tune):
            values = [group.get(name) for group in optimizer.param_groups]
            if not isinstance(values[0], (int, float)) or isinstance(values[0], bool):
                raise ConfigError(f"{type(optimizer).__name__} has no number {name} to schedule")
            self.start[name] = number(name, said.get(name, values[0]))
        self.scheduler = Scheduler(tune, updates=updates, start=self.start, **settings)
        self.last_epoch = 0
        """Steps that values were set for, as PyTorch's schedulers call it."""
        self._choose()

    def step(self, reward: float | torch.Tensor | None = None) -> None:
        """Sets the values of the next step of the optimiser. `reward` is how good the result of the last ones is."""
        if reward is not None:
            self.scheduler.reward(reward.item() if isinstance(reward, torch.Tensor) else reward)
        self._choose()

    def apply(self) -> None:
        """Puts the values in force again, where somebody else has changed the optimiser's."""
        self._put(self._values)

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything that decides what is chosen next, and the values in force."""
        return {"scheduler": self.scheduler.state_dict(), "last_epoch": self.last_epoch, "values": self.values}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes back what `state_dict` gave; the values in force then are in force again."""
        found = mapping("the state", state)
        values = found.get("values")
        if not isinstance(values, Mapping) or set(values) != set(self.start):
            raise InputError("the state is not one of a scheduler that was made like this one")
        values = {name: number(name, value) for name, value in values.items()}
        done = whole("last_epoch", found.get("last_epoch"), 0)
        self.scheduler.load_state_dict(mapping("the scheduler's state", found.get("scheduler")))
        self.last_epoch = done
        self._put(values)

    @property
    def values(self) -> dict[str, float]:
        """The values in force."""
        return dict(self._values)

    def _choose(self) -> None:
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        progress = min(self.last_epoch / max(self.scheduler.updates - 1, 1), 1.0)
        self._put(self.scheduler.choose(parameters, None, progress))
        self.last_epoch += 1

    def _put(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)
        for group in self.optimizer.param_groups:
            for name, value in values.items():
                # A whole number stays one: PyTorch refuses others where it wants them.
                group[name] = int(value) if isinstance(group[name], int) and value == int(value) else float(value)
