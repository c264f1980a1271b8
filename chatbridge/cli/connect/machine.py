"""This machine: where its user's programs keep their files, and how this chatbridge is started."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbridge import extras
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line
from chatbridge.system.platform import MACOS


@dataclass(frozen=True, slots=True)
class UserFolders:
    home: Path
    environ: Mapping[str, str]
    mac: bool = MACOS

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

    def display_path(self, path: Path) -> str:
        """In one visible line: a project can name its folders."""
        return one_line(display_path(path, home=str(self.home)))


def user_folders(environ: Mapping[str, str] | None = None) -> UserFolders:
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
    return UserFolders(Path(home), known)


@dataclass(frozen=True, slots=True)
class Program:
    command: str
    args: tuple[str, ...]
    """The last one is `mcp`."""

    def instead(self, word: str) -> tuple[str, ...]:
        """The words of another command of this chatbridge."""
        return (self.command, *self.args[:-1], word)


def program(
    *, called: str | None = None, python: str | None = None, path: str | None = None
) -> Program:
    """How this installation is started. A link to it on PATH is better than the file in its own
    folder, because it outlives upgrades; what uvx runs has neither. `called`: as what this process
    was started."""
    if extras.is_temporary():
        words = extras.uvx_command()
        return Program(words[0], (*words[1:], "mcp"))
    python = os.path.abspath(python or sys.executable)
    called = sys.argv[0] if called is None else called
    given = os.path.abspath(called) if os.path.basename(called) == "chatbridge" else ""
    beside = os.path.join(os.path.dirname(python), "chatbridge")
    candidates = (it for it in (beside, given) if os.path.isfile(it) and os.access(it, os.X_OK))
    ours = next(candidates, None)
    linked = shutil.which("chatbridge", path=path)
    if linked and os.path.isabs(linked) and (ours is None or os.path.samefile(linked, ours)):
        ours = linked
    if ours is None:
        return Program(python, ("-m", "chatbridge", "mcp"))
    return Program(ours, ("mcp",))
