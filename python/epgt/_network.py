"""The networks of a policy in PyTorch's shapes, for PyTorch and ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _epgt

CLIP = 10.0
"""Normalised observations lie within plus and minus this."""
EPSILON = 1e-8
"""What is added to a variance before its root is taken."""


class Network:
    """The layers of a policy by name, and what is between them.

    `trunk.conv.i` are convolutions, `trunk.dense.i` or `trunk.i` the layers that policy and value share, `policy.i` and
    `value.i` their own; each has a `weight` and a `bias`.
    """

    def __init__(self, native: _epgt.NativePolicy) -> None:
        networks: dict[str, Any] = native.networks
        self.observed: dict[str, Any] = native.observation_space
        self.done: dict[str, Any] = native.action_space
        self.activation: str = networks["activation"]
        self.squash: bool = networks["squash"]
        self.in_range: bool = networks["action_unit"] == "range"
        self.kernels: list[int] = networks["conv_kernels"]
        self.strides: list[int] = networks["conv_strides"]
        self.normalization = native.normalization()
        self.tensors = self._in_torch_shapes(native.tensors())

    def unit(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The middle and half of the range of continuous actions: an action is middle + half * output.

        Of a number without finite bounds the middle is 0 and half is 1.
        """
        low, high = self.done["low"], self.done["high"]
        bounded = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(bounded, low, np.float32(-1)), np.where(bounded, high, np.float32(1))
        half, other = np.float32(0.5) * high, np.float32(0.5) * low
        return half + other, half - other

    @property
    def is_image(self) -> bool:
        return bool(self.observed["kind"] == "image")

    def layers(self, name: str) -> list[str]:
        """The names of the layers of a part, from input to output."""
        count = sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in self.tensors)
        return [f"{name}.{i}" for i in range(count) if f"{name}.{i}.weight" in self.tensors]

    @property
    def trunk(self) -> list[str]:
        """The names of the dense layers that policy and value share."""
        return self.layers("trunk.dense") if self.is_image else self.layers("trunk")

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Every array by its name; the statistics of the normalisation are among them."""
        state: dict[str, NDArray[Any]] = dict(self.tensors)
        if self.normalization is not None:
            state["normalizer.observation_mean"], state["normalizer.observation_variance"] = self.normalization
        return state

    def _in_torch_shapes(self, tensors: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        """The program keeps the channels of what convolutions put out last, and biases as rows."""
        shaped = {name: tensor if name.endswith(".weight") else tensor[0] for name, tensor in tensors.items()}
        if not self.is_image:
            return shaped
        channels, height, width = self.observed["shape"]
        for i, (kernel, stride) in enumerate(zip(self.kernels, self.strides)):
            name = f"trunk.conv.{i}.weight"
            weight = shaped[name]
            if i == 0:
                weight = weight.reshape(len(weight), channels, kernel, kernel)
            else:
                weight = weight.reshape(len(weight), kernel, kernel, channels).transpose(0, 3, 1, 2)
            shaped[name] = np.ascontiguousarray(weight)
            channels, height, width = len(weight), (height - kernel) // stride + 1, (width - kernel) // stride + 1
        dense = shaped["trunk.dense.0.weight"]
        dense = dense.reshape(len(dense), height, width, channels).transpose(0, 3, 1, 2)
        shaped["trunk.dense.0.weight"] = np.ascontiguousarray(dense.reshape(len(dense), -1))
        return shaped
