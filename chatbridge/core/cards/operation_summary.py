"""Summaries of ended operations for all channels, and cleaning of their output."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.model import OperationEnd
from chatbridge.core.text import one_line, visible

LINES, CHARACTERS = 12, 3_000  # Limits of the output that is shown after a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSummary:
    """All texts are visible and not escaped. Only `tail` has more than one line."""

    glyph: str
    title: str
    word: str
    how: str
    tail: str


def summarize_operation(end: OperationEnd) -> OperationSummary:
    took, how = format_duration(end.took), one_line(for_people(end.how))
    return OperationSummary(
        glyph="✅" if end.succeeded else "❌",
        title=one_line(for_people(end.title)),
        word="finished" if end.succeeded else "failed",
        how=f"{how} after {took}" if how else took,
        tail="" if end.succeeded else last_lines(end.tail, LINES, characters=CHARACTERS),
    )


def output_name(operation_id: str) -> str:
    """Name of the file with the whole output."""
    return f"output-{operation_id[:8]}.txt"


CHUNK_BYTES = 256 * 1024

_SEQUENCE = (
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # colours, the cursor, erasing
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles, links' addresses
    r"|[ -/]+[0-~]|[0-~])"  # character sets and single commands
)
_IN_TEXT, _IN_BYTES = re.compile(_SEQUENCE), re.compile(_SEQUENCE.encode())


def for_people(text: str) -> str:
    """Remove escape sequences and overwritten text, and make hidden characters visible."""
    plain = _IN_TEXT.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:  # for instance of a progress bar
        versions = (reversed(line.split("\r")) for line in plain.split("\n"))
        plain = "\n".join(next((v for v in each if v.strip()), "") for each in versions)
    return visible(plain)


def last_lines(text: str, most: int, *, characters: int) -> str:
    """Return the last lines of the output without surrounding blank lines. Long ones are cut at the
    beginning, because the end says what went wrong."""
    found = "\n".join(for_people(text).rstrip().split("\n")[-most:]).lstrip("\n")
    return found if len(found) <= characters else "…" + found[1 - characters :].lstrip("\n")


def strip_escapes(content: bytes) -> bytes:
    """Remove escape sequences from the whole output, in chunks, so that other threads can run."""
    if b"\x1b" not in content:
        return content
    found, at = [], 0
    while at < len(content):
        end = content.rfind(b"\n", at, at + CHUNK_BYTES) + 1 or at + CHUNK_BYTES
        found.append(_IN_BYTES.sub(b"", content[at:end]))
        at = end
    return b"".join(found)
