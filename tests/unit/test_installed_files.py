"""What is installed, and what it says to people, names nothing that only the sources have."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.cli.config_file import EXAMPLE, TEMPLATE
from tests.fakes.program import ROOT

PACKAGE = ROOT / "chatbridge"
ONLY_IN_THE_SOURCES = re.compile(
    r"\bdocs/|(?<!HEAD:)README|\.example\.toml|\bmake (?:demo|test|quick)\b"
)
FILES = sorted(
    Path(folder) / name
    for folder, _, names in os.walk(PACKAGE, followlinks=True)
    for name in names
    if not folder.endswith("__pycache__")
)
PERHAPS = re.compile(r"docs/|README|\.example|make ")
"""In whatever has to be parsed; a long text may go on in the next line."""
DATA = [file for file in FILES if file.suffix != ".py"]


def texts(tree: ast.AST) -> Iterator[str]:
    """All but those that stand alone: docstrings are for who reads the code."""
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


@pytest.mark.parametrize("file", DATA, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_file_of_the_package_names_nothing_that_only_the_sources_have(file: Path) -> None:
    assert ONLY_IN_THE_SOURCES.findall(file.read_text(encoding="utf-8", errors="ignore")) == []


def test_no_message_and_no_help_names_what_only_the_sources_have() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in FILES
        if file.suffix == ".py" and PERHAPS.search(code := file.read_text(encoding="utf-8"))
        for text in texts(ast.parse(code))
        if ONLY_IN_THE_SOURCES.search(text)
    ]
    assert found == []


def test_a_new_settings_file_names_the_installed_explanation_of_every_key() -> None:
    assert EXAMPLE in FILES
    assert str(EXAMPLE) in TEMPLATE
