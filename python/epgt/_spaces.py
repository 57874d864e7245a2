"""Spaces of Gymnasium's, of what the extension module says of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._optional import optional

if TYPE_CHECKING:
    import gymnasium


def space(described: dict[str, Any]) -> gymnasium.Space[Any]:
    """The space that is described."""
    spaces = optional("gymnasium.spaces", "a vector environment")
    made: gymnasium.Space[Any]
    if described["kind"] == "discrete":
        made = spaces.Discrete(described["counts"][0])
    elif described["kind"] == "multi-discrete":
        made = spaces.MultiDiscrete(described["counts"])
    elif described["kind"] == "image":
        made = spaces.Box(0, 255, described["shape"], np.uint8)
    else:
        made = spaces.Box(described["low"], described["high"], dtype=np.float32)
    return made
