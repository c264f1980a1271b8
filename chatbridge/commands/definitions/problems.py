"""Problems of definition files: the place, what was found, what is accepted, how to mend it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from chatbridge.core.text import encodable, one_line, shortened

Where = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""

VALUE_LENGTH = 60
PATH_LENGTH = 200
TEXT_LENGTH = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One of a file. `kind` is a stable short word for programs."""

    file: Path
    line: int | None
    """None: it is not about a line."""
    column: int | None = None
    path: str
    """`subcommands[1].options[0].type`; empty: the whole file."""
    kind: str
    found: str
    accepted: str
    mend: str

    def text(self) -> str:
        """Two lines for people."""
        place = one_line(str(self.file)) + (f":{self.line}" if self.line else "")
        about = f"{self.path}: " if self.path else ""
        return (
            f"{place}: {about}{self.found} ({self.kind})\n  accepted: {self.accepted}; {self.mend}"
        )

    def as_json(self) -> dict[str, str | int | None]:
        return {
            "file": encodable(str(self.file)),
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "kind": self.kind,
            "found": self.found,
            "accepted": self.accepted,
            "mend": self.mend,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem by its place in what the file says, before its line is known."""

    where: Where
    kind: str
    found: str
    accepted: str
    mend: str

    def in_file(self, file: Path, line: int | None = None, column: int | None = None) -> Problem:
        return Problem(
            file=file,
            line=line,
            column=column,
            path=path_text(self.where),
            kind=self.kind,
            found=safe(self.found),
            accepted=safe(self.accepted),
            mend=safe(self.mend),
        )


class Unusable(Exception):
    """Nothing in the file can be used. `position` is the place in its text, where there is one."""

    def __init__(
        self, kind: str, found: str, accepted: str, mend: str, *, position: int = 0
    ) -> None:
        super().__init__(found)
        self.finding, self.position = Finding((), kind, found, accepted, mend), position


def path_text(where: Where) -> str:
    text = ""
    for part in where:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return safe(text, PATH_LENGTH)


def safe(text: str, limit: int = TEXT_LENGTH) -> str:
    """As one short line that can be written anywhere: a file may say anything."""
    # Cut before it is looked over, because a value may be as long as its file.
    return shortened(one_line(encodable(shortened(text, limit))), limit)


def shown(value: Any) -> str:
    """What a file says somewhere, as its writer will recognise it."""
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, str):
        return json.dumps(safe(value, VALUE_LENGTH), ensure_ascii=False)
    return shortened(json.dumps(value), VALUE_LENGTH)


def listed(values: Iterable[Any]) -> str:
    return safe(", ".join(shown(value) for value in values))


def meant(given: object, known: Iterable[str]) -> str | None:
    """Which of the known ones somebody probably wanted to write."""
    if not isinstance(given, str):
        return None
    by_letters = {_letters(each): each for each in known}
    close = get_close_matches(_letters(given[:VALUE_LENGTH]), by_letters, n=1, cutoff=0.65)
    return by_letters[close[0]] if close else None


def _letters(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace("$", "").lower()
