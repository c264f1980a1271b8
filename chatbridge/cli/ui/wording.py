"""Others' texts, paths, numbers and times as commands print them."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Sequence

from chatbridge.core.text import isolated, one_line

LONGEST_CELL = 2_000
"""Characters of a text that are looked at. No terminal shows that many of a cell."""


def cell(text: str) -> str:
    """An agent's or a person's text as one visible line that cannot move the cursor, set colours,
    hide anything, or reverse the rest of its row."""
    line = one_line(text[:LONGEST_CELL])
    turning = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in line)
    return isolated(line) if turning else line


def display_path(path: str | os.PathLike[str], *, home: str | None = None) -> str:
    """A path as people write it: `~/notes`. `home`: where it is, if not where this user's is."""
    text = os.fspath(path)
    home = (home or os.path.expanduser("~")).rstrip("/")
    return f"~{text[len(home) :]}" if home and text.startswith(f"{home}/") else text


def counted(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def first_of(names: Sequence[str], *, most: int = 3) -> str:
    """`a, b, c and 2 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


SECONDS_SHOWN_BELOW = 600.0
HOUR, DAY = 3600, 86400


def seconds_of(stamp: str) -> float:
    """A time of the hub's JSON, in seconds since the epoch."""
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()


def time_of(at: float) -> str:
    """As cards write it."""
    from chatbridge.core.cards.phrases import format_time

    return format_time(at, now=time.time())


def left(deadline: float | None, *, now: float) -> str:
    """What is left of a question's time. Seconds only where they matter."""
    if deadline is None:
        return "no limit"
    rest = max(int(deadline - now), 0)
    if rest < SECONDS_SHOWN_BELOW:
        return f"{rest // 60}:{rest % 60:02}"
    if rest < HOUR:
        return f"{rest // 60} min"
    if rest < DAY:
        return f"{rest // HOUR} h {rest % HOUR // 60:02}"
    return f"{rest // DAY} d {rest % DAY // HOUR} h"


def lasted(seconds: float) -> str:
    """How long something has been so, roughly."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // 60} min"
    return f"{whole // HOUR} h" if whole < DAY else f"{whole // DAY} d"


def duration(seconds: float) -> str:
    """`1 h`, `90 min`, `45 s`: exactly, in the largest unit in which it is whole."""
    for unit, word in ((DAY, "d"), (HOUR, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:.0f} {word}"
    return f"{seconds:.0f} s"


def day(at: float) -> str:
    """Saturday 14 November 2026"""
    when = time.localtime(at)
    return time.strftime(f"%A {when.tm_mday} %B %Y", when)
