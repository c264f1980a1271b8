"""What comes from a homeserver, checked: events as this channel knows them.

Whatever people, bridges and newer servers put into an event, here it either has the form that the
rest of the channel expects, or it is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CARD = "chatbridge.card"
"""In the content of our own messages: which ask and which step they were drawn for. What a button's
data is elsewhere; only an event of the bot's own is believed."""

LONGEST_ID = 255
LATEST = 2**53
"""The largest number that an event may have in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvent:
    id: str
    room: str
    sender: str
    type: str
    content: Mapping[str, Any]
    at: float
    """By the clock of the sender's server."""
    state_key: str | None = None
    redacts: str | None = None
    redacted: bool = False
    still_in: bool = False
    """A member who was in the room before."""
    unreadable: bool = False
    """It is encrypted, and its key is not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    room: str
    events: tuple[RoomEvent, ...]
    limited: bool = False
    """There is more between what was read before and `events`, back from `start`."""
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invite:
    room: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One answer to a sync request; `next` is where the one after it begins."""

    next: str
    timelines: tuple[Timeline, ...] = ()
    invites: tuple[Invite, ...] = ()
    keys: bool = False
    """Keys may have come with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What an event is about: a reaction to one, an edit of one, in whose thread, in reply to."""

    kind: str | None = None
    event: str | None = None
    key: str | None = None
    reply_to: str | None = None
    falling_back: bool = False
    """The reply is only there for clients that show no threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    ask_id: str
    step: int


def event_from(source: object, *, room: str, unreadable: bool = False) -> RoomEvent | None:
    if not isinstance(source, Mapping):
        return None
    name, sender, kind = (_text(source.get(key)) for key in ("event_id", "sender", "type"))
    content = source.get("content")
    if name is None or sender is None or kind is None or not isinstance(content, Mapping):
        return None
    unsigned = source.get("unsigned")
    unsigned = unsigned if isinstance(unsigned, Mapping) else {}
    before = unsigned.get("prev_content")
    return RoomEvent(
        id=name,
        room=room,
        sender=sender,
        type=kind,
        content=content,
        at=_seconds(source.get("origin_server_ts")),
        state_key=_text(source.get("state_key"), empty=True),
        # It is in the event itself up to room version 10, in its content from version 11 on.
        redacts=_event_id(content.get("redacts")) or _event_id(source.get("redacts")),
        redacted="redacted_because" in unsigned,
        still_in=isinstance(before, Mapping) and before.get("membership") == "join",
        unreadable=unreadable,
    )


def relation(content: Mapping[str, Any]) -> Relation:
    found = content.get("m.relates_to")
    if not isinstance(found, Mapping):
        return Relation()
    reply = found.get("m.in_reply_to")
    return Relation(
        kind=_text(found.get("rel_type")),
        event=_event_id(found.get("event_id")),
        key=_text(found.get("key")),
        reply_to=_event_id(reply.get("event_id")) if isinstance(reply, Mapping) else None,
        falling_back=found.get("is_falling_back") is True,
    )


def mark(content: Mapping[str, Any]) -> Mark | None:
    found = content.get(CARD)
    if not isinstance(found, Mapping):
        return None
    ask_id, step = _text(found.get("ask")), found.get("step")
    if ask_id is None or type(step) is not int:
        return None
    return Mark(ask_id=ask_id, step=step)


def marked(made: Mark) -> dict[str, Any]:
    return {CARD: {"ask": made.ask_id, "step": made.step}}


def _text(value: object, *, empty: bool = False) -> str | None:
    return value if isinstance(value, str) and (value or empty) else None


def _event_id(value: object) -> str | None:
    """What people put there becomes a part of addresses that the bot asks for."""
    found = _text(value)
    return found if found and found.startswith("$") and len(found) <= LONGEST_ID else None


def _seconds(stamp: object) -> float:
    """Of a time in milliseconds; 0 for what is none."""
    return stamp / 1000.0 if type(stamp) is int and abs(stamp) <= LATEST else 0.0
