"""The scripts and the notebook that show what the package can do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from conftest import needs

PACKAGE = Path(__file__).parent.parent


def script(path: str) -> Any:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, PACKAGE / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs("torch")
@needs("gymnasium")
def test_a_training_loop_of_ones_own_learns_cartpole_on_the_vector_environments() -> None:
    import torch

    torch.set_num_threads(1)
    assert script("examples/ppo.py").train("CartPole-v1", 25_000, seed=1) > 150


@needs("torch")
@needs("gymnasium")
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_the_same_loop_learns_the_same_on_gymnasiums_own_vector_environments(mode: str) -> None:
    import gymnasium
    import torch
    from gymnasium.vector import AutoresetMode

    import epgt

    def theirs(task: str, n_envs: int) -> Any:
        makers = [lambda: gymnasium.make(task) for _ in range(n_envs)]
        return gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=AutoresetMode(mode))

    def ours(task: str, n_envs: int) -> Any:
        return epgt.make_vec(task, n_envs, autoreset_mode=mode)

    torch.set_num_threads(1)
    train = script("examples/ppo.py").train
    earned = [train("CartPole-v1", 8_000, seed=3, make_envs=make) for make in (ours, theirs)]
    assert earned[0] == earned[1] > 25


@needs("nbclient")
@needs("ipykernel")
@needs("matplotlib")
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_draws(elsewhere: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(PACKAGE / "notebooks" / "first_run.ipynb", as_version=4)
    # It is kept without what it has put out.
    assert all(not cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(elsewhere)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert not any(output.output_type == "error" for output in outputs)
