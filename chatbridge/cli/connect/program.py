"""The command that a client is told to start: this chatbridge, by its whole path."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    command: str
    args: tuple[str, ...]


def program(
    *, called: str | None = None, python: str | None = None, path: str | None = None
) -> Program:
    """How this installation is started. A link to it on PATH is better than the file in its own
    folder, because it outlives upgrades.

    :param called: as what this process was started; None: as it was
    :param python: the interpreter; None: this one
    :param path: where to look for the link; None: PATH
    """
    python = os.path.abspath(python or sys.executable)
    called = sys.argv[0] if called is None else called
    given = os.path.abspath(called) if os.path.basename(called) == "chatbridge" else ""
    beside = os.path.join(os.path.dirname(python), "chatbridge")
    ours = next((it for it in (beside, given) if _runs(it)), None)
    linked = shutil.which("chatbridge", path=path)
    if linked and os.path.isabs(linked) and (ours is None or os.path.samefile(linked, ours)):
        ours = linked
    if ours is None:
        return Program(python, ("-m", "chatbridge", "mcp"))
    return Program(ours, ("mcp",))


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
