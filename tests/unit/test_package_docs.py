"""A package's docstring is the map of its modules, and every module says what it is for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.fakes.program import ROOT

PACKAGE = ROOT / "chatbridge"
BEGINS = re.compile(r'"""[^"\s]')
PACKAGES = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))
ENTRY = re.compile(r"^(?: {4})?(\w+): \S.*$", re.MULTILINE)
"""The formatter removes the indentation where all lines after the first have it."""


def docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")), clean=False) or ""


def contents(package: Path) -> list[str]:
    """The names of the modules and sub-packages in this folder."""
    modules = [file.stem for file in package.glob("*.py") if file.name != "__init__.py"]
    return sorted([*modules, *(file.parent.name for file in package.glob("*/__init__.py"))])


@pytest.mark.parametrize(
    "package",
    PACKAGES,
    ids=lambda package: str(package.relative_to(ROOT)),
)
def test_a_package_lists_its_modules_and_nothing_else(package: Path) -> None:
    assert sorted(ENTRY.findall(docstring(package / "__init__.py"))) == contents(package)


def test_every_module_has_a_docstring() -> None:
    without = [file for file in PACKAGE.rglob("*.py") if not BEGINS.match(file.read_text("utf-8"))]
    assert without == []
