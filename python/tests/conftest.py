"""What several tests share. They use the package that is installed, never the files beside them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import epgt

COMMAND = Path(sys.executable).with_name("epgt")


def needs(package: str) -> pytest.MarkDecorator:
    """Skips a test, with the reason, where a package is not installed."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"the package {package} is not installed")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the working one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def cart(tmp_path_factory: pytest.TempPathFactory) -> epgt.Run:
    """A short finished run of PPO."""
    tune = {"learning_rate": [1e-4, 1e-3]}
    directory = tmp_path_factory.mktemp("runs") / "cart"
    return epgt.train("CartPole-v1", algo="ppo", scheduler="epgt", steps=8192, tune=tune, directory=directory)


@pytest.fixture(scope="session")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> epgt.Run:
    """A short finished run with continuous actions."""
    return epgt.train("Pendulum-v1", algo="a2c", steps=4096, directory=tmp_path_factory.mktemp("runs") / "pendulum")
