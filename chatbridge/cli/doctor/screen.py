"""Findings as a person reads them: one line each, wrapped, with what to do below."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from chatbridge.channels.checks import Finding, Mark
from chatbridge.cli.ui.running import colourful
from chatbridge.cli.ui.wording import counted

SIGNS = {Mark.FINE: "✓", Mark.REMARK: "!", Mark.PROBLEM: "✗"}
COLOURS = {Mark.FINE: "\x1b[32m", Mark.REMARK: "\x1b[33m", Mark.PROBLEM: "\x1b[31m"}
PLAIN = "\x1b[0m"
NAME = 17
MARGIN = " " * (NAME + 2)
NARROWEST, WIDEST = 44, 100
DETAILS = "Details: chatbridge doctor --json"


class Screen:
    """Findings as they come; on a terminal also what is waited for."""

    def __init__(self) -> None:
        self._width = shutil.get_terminal_size((80, 24)).columns
        self._colour = colourful()
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def waiting(self, name: str) -> None:
        if self._live:
            sys.stdout.write(f"\r\x1b[K… {name}")
            sys.stdout.flush()

    def show(self, finding: Finding) -> None:
        self._clear()
        sys.stdout.write(drawn(finding, width=self._width, colour=self._colour))
        sys.stdout.flush()

    def end(self, found: Sequence[Finding]) -> None:
        self._clear()
        sys.stdout.write(f"\n{summed_up(found)}")

    def _clear(self) -> None:
        if self._live:
            sys.stdout.write("\r\x1b[K")


def drawn(finding: Finding, *, width: int, colour: bool = False) -> str:
    """With a line break at its end."""
    width = min(max(width, NARROWEST), WIDEST)
    sign = SIGNS[finding.mark]
    if colour:
        sign = f"{COLOURS[finding.mark]}{sign}{PLAIN}"
    first, *rest = _lines(finding.what, width - len(MARGIN))
    # A name that is longer than its column keeps one space behind it.
    lines = [f"{sign} {finding.name:<{NAME - 1}} {first}"]
    lines += [MARGIN + line for line in rest]
    for fix in finding.fix:
        begun, *more = _lines(fix, width - len(MARGIN) - 2)
        lines.append(f"{MARGIN}→ {begun}")
        lines += [f"{MARGIN}  {line}" for line in more]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def summed_up(findings: Sequence[Finding]) -> str:
    numbers = {mark: sum(f.mark is mark for f in findings) for mark in (Mark.PROBLEM, Mark.REMARK)}
    said = ", ".join(counted(number, str(mark)) for mark, number in numbers.items() if number)
    return f"{said}. {DETAILS}\n" if said else "All is well.\n"


def _lines(text: str, width: int) -> list[str]:
    # Addresses, paths and commands stay whole: they are there to be copied.
    found = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return found or [""]
