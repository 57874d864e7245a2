"""The types: of the package, of its stubs against the module itself, and of the snippets in the documents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needs
from test_docs import DOCUMENTS, PACKAGE, snippets

pytestmark = needs("mypy")


def check(*arguments: str | Path) -> None:
    ended = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True)
    if ended.returncode != 0:
        pytest.fail(ended.stdout + ended.stderr)


def test_the_package_and_the_snippets_are_typed_strictly(tmp_path: Path) -> None:
    files = []
    for document in DOCUMENTS:
        files.append(tmp_path / f"{document.stem}_{document.parent.name}.py")
        files[-1].write_text("\n".join(code for _, code in snippets(document)))
    check("mypy", "--config-file", PACKAGE / "pyproject.toml", PACKAGE / "epgt")
    check("mypy", "--config-file", PACKAGE / "pyproject.toml", *files)


def test_the_stubs_say_what_the_module_has() -> None:
    check("mypy.stubtest", "epgt._epgt", "--mypy-config-file", PACKAGE / "pyproject.toml")
