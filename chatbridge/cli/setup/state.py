"""What the steps of a set-up share: where it writes, what it has kept, and secrets from files."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from chatbridge.cli.config_file import change, config_file
from chatbridge.cli.hub.stop import restart_hub
from chatbridge.core.errors import SettingsError
from chatbridge.durations import seconds
from chatbridge.settings import Settings, load

Work = Callable[[], None]
LARGEST_SECRET = 4096
TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{30,}")


@dataclass(slots=True, kw_only=True)
class Setup:
    path: Path
    settings: Settings
    """As they were at the start."""
    kept: list[str] = field(default_factory=list)

    @classmethod
    def here(cls) -> Setup:
        """:raises ChatbridgeError: the settings that are there cannot be used."""
        path = config_file()
        return cls(path=path, settings=load(path))

    def keeps(self, what: str) -> None:
        """Something is written, and counts whatever happens next."""
        self.kept.append(what)

    @property
    def summary(self) -> str:
        return f"Kept: {', '.join(self.kept)}." if self.kept else "Nothing was changed."

    def save_wait(self, wait: str) -> None:
        """How long an agent waits if it does not say. Twice that at most: there must be room for
        "+15 min" on a card."""
        longest = 2 * float(str(seconds(wait)))
        units = (("h", 3600), ("m", 60), ("s", 1))
        unit, length = next(it for it in units if it[1] == 1 or longest % it[1] == 0)
        most = f"{longest / length:.0f}{unit}"
        change(self.path, {("default_timeout",): wait, ("max_timeout",): most})
        self.keeps("how long agents wait")
        restart_hub(start=False)


def first_problem(error: ValidationError) -> str:
    """Without the value: it may be a token in the wrong place."""
    return error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")


def read_secret(file: str) -> str:
    """The secret in this file; `-` is standard input.
    :raises SettingsError: without what is in it."""
    try:
        if file == "-":
            found = sys.stdin.read(LARGEST_SECRET)
        else:
            with Path(file).open(encoding="utf-8") as opened:
                found = opened.read(LARGEST_SECRET)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SettingsError(f"{name_of(file)} cannot be read: {why}") from None
    if not found.strip():
        raise SettingsError(f"{name_of(file)} is empty")
    return found.rstrip("\r\n")


def name_of(file: str) -> str:
    """Not what somebody may have given instead of a file's name: a token."""
    if file == "-":
        return "standard input"
    return "what was given as a file" if TOKEN.search("".join(file.split())) else file
