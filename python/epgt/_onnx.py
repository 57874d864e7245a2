"""ONNX models of policies, written without a package of ONNX's.

A model is a message of Protocol Buffers. `_field` writes the three kinds of fields that such a message needs; the
numbers are those of the fields in ONNX's own definition (onnx.proto), by which any reader finds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _epgt
from ._network import CLIP, EPSILON, Network

IR_VERSION, OPSET = 8, 17
"""What readers of 2022 and later understand."""
TYPES: dict[Any, int] = {np.dtype("float32"): 1, np.dtype("uint8"): 2, np.dtype("int64"): 7, np.dtype("float64"): 11}
"""The numbers of the types of tensors."""

Value = int | str | bytes


def _varint(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _field(number: int, value: Value) -> bytes:
    """A whole number, or the length and the bytes of a text or another message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    dims = b"".join(_field(1, side) for side in array.shape)
    data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return dims + _field(2, TYPES[array.dtype]) + _field(8, name) + _field(9, data)


def _value(name: str, dtype: Any, shape: tuple[int, ...]) -> bytes:
    """The name, the type and the shape of an input or output; any number of rows come first."""
    dims = _field(1, _field(2, "n")) + b"".join(_field(1, _field(1, side)) for side in shape)
    tensor = _field(1, TYPES[np.dtype(dtype)]) + _field(2, dims)
    return _field(1, name) + _field(2, _field(1, tensor))


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    return _field(1, name) + b"".join(_field(8, number) for number in value) + _field(20, 7)


class _Graph:
    """Nodes one after another, each of which takes what the ones before put out."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def constant(self, name: str, array: NDArray[Any]) -> str:
        self.constants.append(_tensor(name, array))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: int | list[int]) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
        node += b"".join(_field(5, _attribute(name, value)) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def layers(self, network: Network, names: list[str], current: str, last: bool) -> str:
        """Dense layers; with `last`, the last one has no activation."""
        for name in names:
            parts = (f"{name}.{part}" for part in ("weight", "bias"))
            inputs = (self.constant(part, network.tensors[part]) for part in parts)
            current = self.node("Gemm", current, *inputs, transB=1)
            if not (last and name == names[-1]):
                current = self.activation(network, current)
        return current

    def activation(self, network: Network, current: str) -> str:
        kind = {"tanh": "Tanh", "relu": "Relu", "elu": "Elu", "leaky-relu": "LeakyRelu"}[network.activation]
        return self.node(kind, current)


def model(network: Network) -> bytes:
    """The model of a policy's deterministic actions."""
    graph = _Graph()
    shape = tuple(network.observed["shape"]) if network.is_image else (len(network.observed["low"]),)
    current = _features(graph, network, "observations")
    current = graph.layers(network, network.trunk, current, last=False)
    current = graph.layers(network, network.layers("policy"), current, last=True)
    kind, size = _actions(graph, network, current)
    body = b"".join(_field(1, node) for node in graph.nodes) + _field(2, "policy")
    body += b"".join(_field(5, constant) for constant in graph.constants)
    body += _field(11, _value("observations", "uint8" if network.is_image else "float32", shape))
    body += _field(12, _value("actions", kind, size))
    opset = _field(1, "") + _field(2, OPSET)
    said = _field(2, "epgt") + _field(3, _epgt.__version__)
    return _field(1, IR_VERSION) + said + _field(7, body) + _field(8, opset)


def _features(graph: _Graph, network: Network, current: str) -> str:
    """Normalised observations, or what the convolutions make of an image."""
    if network.is_image:
        current = graph.node("Cast", current, to=TYPES[np.dtype("float32")])
        current = graph.node("Div", current, graph.constant("most", np.array(255.0, np.float32)))
        for i, (kernel, stride) in enumerate(zip(network.kernels, network.strides)):
            parts = (f"trunk.conv.{i}.{part}" for part in ("weight", "bias"))
            inputs = (graph.constant(name, network.tensors[name]) for name in parts)
            current = graph.node("Conv", current, *inputs, kernel_shape=[kernel, kernel], strides=[stride, stride])
            current = graph.activation(network, current)
        return graph.node("Flatten", current, axis=1)
    if network.normalization is not None:
        # In double precision, as the program does it.
        mean, variance = network.normalization
        current = graph.node("Cast", current, to=TYPES[np.dtype("float64")])
        current = graph.node("Sub", current, graph.constant("mean", mean))
        current = graph.node("Div", current, graph.constant("deviation", np.sqrt(variance + EPSILON)))
        bounds = (graph.constant(name, np.array(bound)) for name, bound in (("least", -CLIP), ("most", CLIP)))
        current = graph.node("Clip", current, *bounds)
        current = graph.node("Cast", current, to=TYPES[np.dtype("float32")])
    return current


def _actions(graph: _Graph, network: Network, current: str) -> tuple[str, tuple[int, ...]]:
    """Adds what makes actions of the policy's outputs; returns their type and shape."""
    if network.done["kind"] == "discrete":
        graph.node("ArgMax", current, output="actions", axis=1, keepdims=0)
        return "int64", ()
    if network.done["kind"] == "multi-discrete":
        counts: list[int] = list(network.done["counts"])
        ends = np.cumsum(counts)
        axis = graph.constant("axis", np.array([1]))
        parts = []
        for i, (count, end) in enumerate(zip(counts, ends)):
            bounds = (
                graph.constant(f"{side}_{i}", np.array([at])) for side, at in (("from", end - count), ("to", end))
            )
            part = graph.node("Slice", current, *bounds, axis)
            parts.append(graph.node("ArgMax", part, axis=1, keepdims=1))
        graph.node("Concat", *parts, output="actions", axis=1)
        return "int64", (len(counts),)
    low, high = network.done["low"], network.done["high"]
    if network.squash:
        current = graph.node("Tanh", current)
    if network.squash or network.in_range:
        middle, half = network.unit()
        current = graph.node("Mul", current, graph.constant("half", half))
        current = graph.node("Add", current, graph.constant("middle", middle))
    current = graph.node("Min", current, graph.constant("high", high))
    graph.node("Max", current, graph.constant("low", low), output="actions")
    return "float32", (len(low),)
