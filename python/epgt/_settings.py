"""Settings as Python says them, made into the names and texts of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ._errors import ConfigError

# How it was said, its name in the configuration, and its value as text.
Said = tuple[str, str, str]


def said(settings: Mapping[str, object], how: str = "{key}={value!r}") -> Iterator[Said]:
    """The settings of a mapping. A mapping inside of it is a section: `ppo={"gamma": 0.9}` is `ppo.gamma`."""
    for key, value in settings.items():
        if not isinstance(key, str):
            raise ConfigError(f"the names of settings are texts, and {key!r} is none")
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield how.format(key=f"{key}.{name}", value=inner), f"{key}.{name}", text(f"{key}.{name}", inner)
        else:
            yield how.format(key=key, value=value), key, text(key, value)


def text(key: str, value: object) -> str:
    """The text of a value: None is `auto`, and a list has brackets."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None:
        return "auto"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return str(value)
    if isinstance(value, (list, tuple, range)):
        return f"[{', '.join(text(key, item) for item in value)}]"
    raise ConfigError(f"{key} is of type {type(value).__name__}; a number, a text, a list of them or None is wanted")
