"""The folders of this machine and this user, as the environment names them."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line


@dataclass(frozen=True, slots=True)
class Places:
    home: Path
    environ: Mapping[str, str]
    mac: bool = sys.platform == "darwin"

    @property
    def config(self) -> Path:
        """Where programs keep their configuration. A relative path does not count."""
        given = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return given if given.is_absolute() else self.home / ".config"

    @property
    def electron(self) -> Path:
        """The same for programs such as VS Code."""
        return self.home / "Library/Application Support" if self.mac else self.config

    def moved(self, variable: str) -> Path | None:
        """The folder that a variable names, if it is set."""
        given = self.environ.get(variable, "").strip()
        return Path(os.path.abspath(given)) if given else None

    def shown(self, path: Path) -> str:
        """A path as people write it, in one visible line: a project can name its folders."""
        if self.home != Path("/") and path.is_relative_to(self.home):
            return one_line(f"~/{path.relative_to(self.home)}")
        return one_line(str(path))


def places(environ: Mapping[str, str] | None = None) -> Places:
    """:raises ChatbridgeError: nobody knows where the home folder is."""
    known = os.environ if environ is None else environ
    home = known.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not os.path.isabs(home):
        raise ChatbridgeError("Your home folder is not known. Set HOME to it, and try again.")
    return Places(Path(home), known)


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
