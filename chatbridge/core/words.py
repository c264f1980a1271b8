"""Sentences about an ask that every channel says alike."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from chatbridge.core.model import Ask, Status

CLEAR_WITHOUT_A_DAY = 20 * 3600.0


def local_time(at: float) -> datetime:
    """That time in the hub's zone."""
    return datetime.fromtimestamp(at, UTC).astimezone()


def clock_time(at: float) -> str:
    return f"{local_time(at):%H:%M}"


def ended_sentence(ask: Ask, *, now: float) -> str:
    """Said to a person whose tap came after the end."""
    ended = ask.settled_at or ask.created_at
    day = f"{local_time(ended):%A} " if now - ended > CLEAR_WITHOUT_A_DAY else ""
    at = day + clock_time(ended)
    match ask.status:
        case Status.ANSWERED:
            return f"Already answered at {at}."
        case Status.CANCELLED:
            return f"Cancelled at {at}."
        case Status.TIMED_OUT:
            return f"Timed out at {at}."
        case Status.WITHDRAWN:
            return f"Withdrawn at {at}."
        case Status.OPEN:
            return "This question is open again."
        case _:
            assert_never(ask.status)
