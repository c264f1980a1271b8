"""One file before and after, and how that looks to a person."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from chatbridge.cli.connect import files
from chatbridge.core.text import visible

WIDEST = 160
_SECRET = re.compile(
    r"""(?ix)
    (?P<name> (?:token|secret|passw|api_?key|authorization|credential) [\w-]* ["']? \s*[:=]\s* )
    (?P<value> "(?:[^"\\]|\\.)*" | '[^']*' | [^\s"'\#,}\]]+ )"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`before` None: the file is not there yet; `after` None: it goes."""

    path: Path
    shown: str
    """The path as people write it."""
    before: bytes | None
    after: bytes | None
    private: bool
    """Whether it is the person's own; else it is a project's."""
    base: Path
    """The client's folder, or the project's: it stays, even if it is empty then."""

    def diff(self) -> str:
        """A unified diff for the terminal: other servers' secrets hidden, long lines cut short."""
        before = "/dev/null" if self.before is None else self.shown
        after = "/dev/null" if self.after is None else self.shown
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.after), before, after, n=2, lineterm=""
        )
        return "\n".join(lines)

    def body(self) -> str:
        """The diff without its folder."""
        return f"{self.path.name}{self.diff().partition('@@')[2]}"

    def counts(self) -> tuple[int, int]:
        """How many lines come and how many go."""
        body = [line for line in self.diff().splitlines()[2:] if line[:1] in "+-"]
        added = sum(line.startswith("+") for line in body)
        return added, len(body) - added

    def backup(self) -> Path | None:
        """Where the copy of the old content goes."""
        if self.before is None or self.after is None:
            return None
        return files.next_backup(self.path, self.before)

    def summary(self) -> str:
        """`~/.codex/config.toml   + 4 lines   backup: config.toml.bak`."""
        if self.after is None:
            return f"{self.shown:<30}  removed: it held nothing else"
        added, gone = self.counts()
        parts = [f"{sign} {n}" for sign, n in (("+", added), ("-", gone)) if n]
        count = f"{' '.join(parts)} line{'' if added + gone == 1 else 's'}"
        copy = self.backup()
        note = f"backup: {copy.name}" if copy is not None else "new file"
        return f"{self.shown:<30}  {count:<14}  {note}"


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode(errors="replace").removeprefix("\ufeff")
    lines = text.split("\n")
    return [_shown(line) for line in (lines if lines[-1] else lines[:-1])]


def _shown(line: str) -> str:
    line = _SECRET.sub(r"\g<name>…", line.rstrip("\r"))
    return visible(line if len(line) <= WIDEST else f"{line[:WIDEST]}…")
