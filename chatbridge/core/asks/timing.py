"""When an open ask's card changes by itself, because its deadline comes near."""

from __future__ import annotations

from chatbridge.core.model import Ask

SOON_SHARE = 0.2
SOON_AT_MOST = 10 * 60.0
MORE_TIME_BEFORE = 15 * 60.0
REMIND_BEFORE = 10 * 60.0
REMIND_FROM = 30 * 60.0


def soon_at(ask: Ask) -> float | None:
    """From when on the card says that the time runs out."""
    return soon(created_at=ask.created_at, deadline=ask.deadline)


def soon(*, created_at: float, deadline: float | None) -> float | None:
    if deadline is None:
        return None
    return deadline - min((deadline - created_at) * SOON_SHARE, SOON_AT_MOST)


def more_time_at(ask: Ask) -> float | None:
    """From when on a chat's card offers more time."""
    return None if ask.deadline is None else ask.deadline - MORE_TIME_BEFORE


def remind_at(ask: Ask) -> float | None:
    """When a person who has not begun to answer is reminded; None for a short ask."""
    if ask.deadline is None or ask.deadline - ask.created_at < REMIND_FROM:
        return None
    return ask.deadline - REMIND_BEFORE


def turns(ask: Ask) -> tuple[float, ...]:
    """The times at which a card has to be drawn anew."""
    times = (more_time_at(ask), remind_at(ask), soon_at(ask))
    return tuple(sorted({t for t in times if t is not None and t > ask.created_at}))
