"""One entry of the journal: a question, its answer, and when it was given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from chatbridge.core.text import encodable


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    timestamp: str
    """UTC with milliseconds and Z; so texts are in the order of their times."""
    question: str
    answer: str

    @classmethod
    def of(cls, *, at: float, question: str, answer: str) -> Self:
        return cls(timestamp=stamp(at), question=encodable(question), answer=encodable(answer))


def stamp(at: float) -> str:
    return _text(datetime.fromtimestamp(at, UTC))


def canonical(time: str) -> str | None:
    """A time as somebody wrote it, in our form; None if it is none. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(time.strip().removesuffix("UTC").strip())
        return _text(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
