"""Packages that are imported when they are asked for."""

from __future__ import annotations

import importlib
from types import ModuleType

from ._errors import MissingPackage


def optional(name: str, purpose: str) -> ModuleType:
    """The package of this name, or one sentence that says what it is needed for."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise MissingPackage(f"{purpose} needs the package {package}: pip install {package}") from error
