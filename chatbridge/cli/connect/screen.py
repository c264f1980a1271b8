"""How connecting talks to a person: the diff, the question, one line for each thing done."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from chatbridge.cli.connect.change import Change
from chatbridge.cli.ui.running import colourful, say

_GREEN, _RED, _CYAN, _DIM, _PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def show_diffs(changes: Iterable[Change]) -> None:
    for change in changes:
        for line in change.diff().splitlines():
            print(_coloured(line))
        print()


def show_summaries(changes: Iterable[Change]) -> None:
    for change in changes:
        print(f"  {change.summary()}")


def agreed(*, yes: bool, again: str) -> int | None:
    """Whether to write: None, or the exit code if not."""
    if yes:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"Nothing was written: nobody is there to ask. To write it: {again}")
        return 2
    try:
        answer = input("Write these? [Y/n] ").strip().lower()
    except (EOFError, KeyboardInterrupt):
        print()
        answer = "n"
    if answer in ("", "y", "yes"):
        return None
    print("Nothing was written.")
    return 1


def fitting(text: str) -> str:
    """A line that does not run over the terminal's edge, with its sign before it."""
    if not sys.stdout.isatty():
        return text
    room = shutil.get_terminal_size().columns - len("✓ ")
    return text if len(text) <= room else f"{text[: room - 1]}…"


def done(text: str) -> None:
    print(f"{_painted('✓', _GREEN)} {text}")


def remark(sign: str, text: str) -> None:
    colour = {"✗": _RED, "✓": _GREEN}.get(sign, _DIM)
    print(f"{_painted(sign, colour)} {text}")


def _coloured(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return _painted(line, _CYAN if line.startswith("@@") else _DIM)
    return _painted(line, {"+": _GREEN, "-": _RED}.get(line[:1], ""))


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}" if colour and colourful() else text
