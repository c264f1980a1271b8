"""When a hub says that it is ready, nothing of it is still to be imported."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.channels.registry import channel_specs
from tests.fakes.program import ROOT

PARTS = ("channels", "core", "hub", "settings", "store", "tools")
BEFORE = {"hub/process/start.py", "hub/process/standalone.py", "hub/http/serving.py"}
"""What these import, they import before the hub is ready, or never."""
INDENTED = re.compile(r"^[ \t]+(?:from|import) ", re.MULTILINE)
READY = """
import sys
import chatbridge.hub.wiring.hub
from chatbridge.hub.wiring.hub import import_everything
import_everything(sys.argv[1:])
print(*sys.modules)
"""


def late(path: Path) -> Iterator[str]:
    """The modules of ours that a function in this file imports."""
    code = path.read_text(encoding="utf-8")
    if not INDENTED.search(code):
        return
    tree = ast.parse(code)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                elif isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)


@pytest.mark.process
def test_a_ready_hub_imports_nothing_of_ours_later() -> None:
    ready = subprocess.check_output(
        [sys.executable, "-c", READY, *(spec.module for spec in channel_specs())], text=True
    ).split()
    package = ROOT / "chatbridge"
    files = [file for part in PARTS for file in (package / part).rglob("*.py")]
    still = {
        f"{file.relative_to(package)}: {name}"
        for file in files
        if str(file.relative_to(package)) not in BEFORE
        for name in late(file)
        if name.startswith("chatbridge") and name not in ready
    }
    assert still == set()
