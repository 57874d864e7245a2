"""The hyper-state of tensors of PyTorch's that are on another processor, computed where they are.

Only what comes out is copied: a few numbers for each row of a tensor, of the weights, the last gradients and those
before. It is what the program computes of arrays (`crates/hyper/src/state.rs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Described = tuple[list[tuple[int, int]], int, int, NDArray[np.float32], list[NDArray[np.float32]]]


class Projector:
    """Projects weights and gradients to the features of a hyper-state."""

    def __init__(self, described: Described, like: list[Any]) -> None:
        import torch

        self._torch: Any = torch
        self._tensors, sources, dim, matrices, older = described
        self._sources = sources
        numbers = torch.from_numpy(matrices)
        self._matrices: list[list[Any]] = []
        start = 0
        for _ in range(sources):
            self._matrices.append([])
            for (_, cols), tensor in zip(self._tensors, like):
                matrix = numbers[start : start + dim * cols].reshape(dim, cols)
                self._matrices[-1].append(matrix.to(tensor.device).t())
                start += dim * cols
        self._older = [self._split(torch.from_numpy(gradients), like) for gradients in older]

    def features(self, weights: list[Any], gradients: list[Any]) -> tuple[NDArray[np.float32], tuple[float, float]]:
        """The features of this moment, and the norms of weights and gradients."""
        sources = [weights, gradients, *self._older][: self._sources]
        parts = [
            self._numbers(tensor, matrix).reshape(rows, cols) @ matrix
            for source, matrices in zip(sources, self._matrices)
            for tensor, matrix, (rows, cols) in zip(source, matrices, self._tensors)
        ]
        norms = [self._norm(source) for source in (weights, gradients)]
        device = parts[0].device
        every = self._torch.cat([part.reshape(-1).to(device) for part in (*parts, *norms)]).cpu().numpy()
        return every[:-2], (float(every[-2]), float(every[-1]))

    def age(self, gradients: list[Any]) -> None:
        """Makes these gradients the first of the older ones."""
        if self._older:
            kept = [self._numbers(gradient, like).clone() for gradient, like in zip(gradients, self._matrices[0])]
            self._older = [kept, *self._older[:-1]]

    def older(self) -> list[NDArray[np.float32]]:
        """The older gradients, as arrays."""
        return [self._torch.cat([part.reshape(-1).cpu() for part in source]).numpy() for source in self._older]

    def _numbers(self, tensor: Any, like: Any) -> Any:
        """The numbers of a tensor, or of an array, where another tensor is."""
        return self._torch.as_tensor(tensor).detach().to(like.device, self._torch.float32)

    def _norm(self, source: list[Any]) -> Any:
        numbers = (self._numbers(tensor, like) for tensor, like in zip(source, self._matrices[0]))
        norms = [self._torch.linalg.vector_norm(each) for each in numbers]
        together = self._torch.stack([norm.to(norms[0].device) for norm in norms])
        return self._torch.linalg.vector_norm(together).reshape(1)

    def _split(self, flat: Any, like: list[Any]) -> list[Any]:
        parts = self._torch.split(flat, [tensor.numel() for tensor in like])
        return [part.reshape(tensor.shape).to(tensor.device) for part, tensor in zip(parts, like)]
