"""The snippets of docs/python.md and of the package's README.md run as they stand there, in order, in one place."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent.parent
DOCUMENTS = [PACKAGE.parent / "docs" / "python.md", PACKAGE / "README.md"]


def snippets(document: Path) -> list[tuple[str, str]]:
    """The code of every block, and the package that it needs."""
    blocks = re.findall(r"^```python(?: needs=(\w+))?\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    return [(needs, code) for needs, code in blocks]


def optional() -> list[str]:
    return sorted({needs for document in DOCUMENTS for needs, _ in snippets(document) if needs})


@pytest.mark.parametrize("package", ["", *optional()])
def test_the_snippets_run(elsewhere: Path, package: str) -> None:
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")
    for document in DOCUMENTS:
        names: dict[str, Any] = {"__name__": "__main__"}
        ran = 0
        for needs, code in snippets(document):
            if needs in ("", package):
                exec(compile(code, f"{document.name}: {code.splitlines()[0]}", "exec"), names)
                ran += 1
        assert ran > 0


def test_the_readme_shows_the_first_snippet_of_the_document() -> None:
    first = next(code for needs, code in snippets(DOCUMENTS[0]) if not needs)
    assert first in [code for _, code in snippets(PACKAGE.parent / "README.md")]
