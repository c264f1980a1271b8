"""What every channel says alike of an operation that has ended."""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.core.cards.phrases import spoken
from chatbridge.core.delivery.notice import OperationEnd
from chatbridge.core.terminal_output import for_people, last_lines
from chatbridge.core.text import one_line

LINES, CHARACTERS = 12, 3_000
"""How much of a failure's output is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """All of it is visible, and not escaped yet. Only `tail` has more than one line."""

    glyph: str
    title: str
    word: str
    how: str
    tail: str


def ended(end: OperationEnd) -> Ended:
    took, how = spoken(end.took), one_line(for_people(end.how))
    return Ended(
        glyph="✅" if end.succeeded else "❌",
        title=one_line(for_people(end.title)),
        word="finished" if end.succeeded else "failed",
        how=f"{how} after {took}" if how else took,
        tail="" if end.succeeded else last_lines(end.tail, LINES, characters=CHARACTERS),
    )


def output_name(operation_id: str) -> str:
    """What the file with its whole output is called."""
    return f"output-{operation_id[:8]}.txt"
