"""`chatbridge doctor`: the command, and findings as a person reads them: one line each, wrapped,
with what to do below. The checks are imported once they are needed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from chatbridge.cli.ui.running import colourful, command, flag
from chatbridge.cli.ui.wording import counted

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding

THREADS_END_WITHIN = 0.3
SIGNS = {"ok": "✓", "remark": "!", "problem": "✗"}
COLOURS = {"ok": "\x1b[32m", "remark": "\x1b[33m", "problem": "\x1b[31m"}
NAME = 17
MARGIN = " " * (NAME + 2)
NARROWEST, WIDEST = 44, 100


@command(
    "doctor",
    "Look at everything that chatbridge needs, and say what to do about what is "
    "not as it should be. Nothing is changed, and no hub is started. Exit code 1 if there is "
    "a problem.",
    flag("--json", help="all details, for programs"),
    flowing=True,
)
def _doctor(given: argparse.Namespace) -> int:
    import logging

    from chatbridge.cli.doctor.context import DoctorContext
    from chatbridge.cli.doctor.run import run

    # What libraries say of a connection that fails is said by the checks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    return run(DoctorContext.here(), as_json=given.json)


parser = _doctor.parser


def main(argv: list[str]) -> int:
    code = _doctor(argv)
    others = [it for it in threading.enumerate() if it is not threading.main_thread()]
    for thread in others:
        thread.join(THREADS_END_WITHIN)
    if any(thread.is_alive() and not thread.daemon for thread in others):
        # A resolver that waits for a dead network cannot be stopped, and holds the process.
        os._exit(code)
    return code


class Screen:
    """Findings as they come; on a terminal also what is waited for."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def waiting(self, name: str) -> None:
        if self._live:
            sys.stdout.write(f"\r\x1b[K… {name}")
            sys.stdout.flush()

    def show(self, finding: Finding) -> None:
        self._clear()
        draw([finding])
        sys.stdout.flush()

    def end(self, found: Sequence[Finding]) -> None:
        self._clear()
        sys.stdout.write(f"\n{summed_up(found)}")

    def _clear(self) -> None:
        if self._live:
            sys.stdout.write("\r\x1b[K")


def draw(findings: Iterable[Finding]) -> None:
    width, colour = shutil.get_terminal_size().columns, colourful()
    for finding in findings:
        sys.stdout.write(drawn(finding, width=width, colour=colour))


def drawn(finding: Finding, *, width: int, colour: bool = False) -> str:
    """With a line break at its end."""
    width = min(max(width, NARROWEST), WIDEST)
    sign = SIGNS[finding.mark]
    if colour:
        sign = f"{COLOURS[finding.mark]}{sign}\x1b[0m"
    first, *rest = _lines(finding.what, width - len(MARGIN))
    # A name that is longer than its column keeps one space behind it.
    lines = [f"{sign} {finding.name:<{NAME - 1}} {first}", *(MARGIN + line for line in rest)]
    for fix in finding.fix:
        begun, *more = _lines(fix, width - len(MARGIN) - 2)
        lines += [f"{MARGIN}→ {begun}", *(f"{MARGIN}  {line}" for line in more)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def summed_up(findings: Sequence[Finding]) -> str:
    numbers = {mark: sum(f.mark == mark for f in findings) for mark in ("problem", "remark")}
    said = ", ".join(counted(number, mark) for mark, number in numbers.items() if number)
    return f"{said}. Details: chatbridge doctor --json\n" if said else "All is well.\n"


def _lines(text: str, width: int) -> list[str]:
    # Addresses, paths and commands stay whole: they are there to be copied.
    found = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return found or [""]
