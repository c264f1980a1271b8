"""Findings as a person reads them: one line each, wrapped, with what to do below."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from chatbridge.cli.ui.running import columns, prints_colours, wrapped
from chatbridge.cli.ui.wording import counted

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding

SIGNS = {"ok": "✓", "remark": "!", "problem": "✗"}
COLOURS = {"ok": "\x1b[32m", "remark": "\x1b[33m", "problem": "\x1b[31m"}
NAME = 17
MARGIN = " " * (NAME + 2)
NARROWEST, NARROW, WIDEST = 44, 60, 100


class Screen:
    """Findings as they come; on a terminal also what is waited for."""

    def __init__(self) -> None:
        live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._clear = "\r\x1b[K" if live else ""

    def waiting(self, name: str) -> None:
        if self._clear:
            print(f"{self._clear}… {name}", end="", flush=True)

    def show(self, finding: Finding) -> None:
        print(self._clear, end="")
        draw([finding])
        sys.stdout.flush()

    def end(self, found: Sequence[Finding], *, night: bool) -> None:
        print(f"{self._clear}\n{summed_up(found, night=night)}", end="")


def draw(findings: Iterable[Finding]) -> None:
    width, colour = columns(), prints_colours()
    for finding in findings:
        sys.stdout.write(drawn(finding, width=width, colour=colour))


def drawn(finding: Finding, *, width: int, colour: bool = False) -> str:
    """With a line break at its end."""
    width = min(max(width, NARROWEST), WIDEST)
    sign = SIGNS[finding.mark]
    if colour:
        sign = f"{COLOURS[finding.mark]}{sign}\x1b[0m"
    margin = MARGIN
    if width < NARROW and max(map(len, finding.what.split()), default=0) > width - len(margin):
        margin = "    "  # the whole width for a path that would be broken beside the name
    first, *rest = _lines(finding.what, width - len(margin))
    # A name that is longer than its column keeps one space behind it.
    begin = f"{finding.name:<{NAME - 1}} " if margin is MARGIN else f"{finding.name}\n{margin}"
    lines = [f"{sign} {begin}{first}", *(margin + line for line in rest)]
    for fix in finding.fix:
        begun, *more = _lines(fix, width - len(margin) - 2)
        lines += [f"{margin}→ {begun}", *(f"{margin}  {line}" for line in more)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def summed_up(findings: Sequence[Finding], *, night: bool = False) -> str:
    words = {"problem": "problem", "remark": "warning"}
    numbers = {word: sum(f.mark == mark for f in findings) for mark, word in words.items()}
    said = ", ".join(counted(number, word) for word, number in numbers.items() if number)
    if not said:
        return "All is well. Good night.\n" if night else "All is well.\n"
    return f"{said}.\n" if night else f"{said}. Details: chatbridge doctor --json\n"


def _lines(text: str, width: int) -> list[str]:
    # Addresses, paths and commands stay whole: they are there to be copied.
    return wrapped(text, width) or [""]
