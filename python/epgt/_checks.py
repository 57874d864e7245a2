"""Arguments that are checked before the extension module is given them."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._errors import ConfigError, InputError

StrPath = Union[str, "os.PathLike[str]"]
NUMBERS = (int, float, np.integer, np.floating)
MOST = 2**63 - 1
"""The largest whole number that is taken."""


def whole(name: str, value: object, least: int, most: int = MOST) -> int:
    """A whole number between bounds: an `int`, or one of NumPy's, and no bool."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
        if least <= number <= most and not isinstance(value, bool):
            return number
    except TypeError:
        pass
    wanted = f"from {least} up" if most == MOST else f"from {least} to {most}"
    raise InputError(f"{name}={value!r} cannot be used; a whole number {wanted} is wanted")


def number(name: str, value: object) -> float:
    """A finite number, and no bool."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS) or not np.isfinite(float(value)):
        raise ConfigError(f"{name} = {value!r} cannot be used: a finite number is wanted")
    return float(value)


def path(name: str, value: StrPath) -> Path:
    """A path that the system can have."""
    try:
        if "\0" not in (text := os.fspath(value)):
            return Path(text)
    except TypeError:
        pass
    raise InputError(f"{name}={value!r} cannot be used; a path is wanted")


def mapping(name: str, value: object) -> Mapping[Any, Any]:
    """A dictionary; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is of type {type(value).__name__}; a dictionary is wanted")
    return value


def numbers(name: str, value: object, kinds: str = "fiub") -> NDArray[Any]:
    """An array of numbers; `kinds` are those of NumPy's that are taken."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0, object)
    if found.dtype.kind not in kinds:
        wanted = "numbers are" if "f" in kinds else "whole numbers are"
        raise InputError(f"{name} cannot be used: {wanted} wanted, and they are of type {found.dtype}")
    return found
