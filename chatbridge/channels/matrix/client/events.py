"""Events of a homeserver, checked: whatever people, bridges and newer servers put into one, here it
has the form that the rest of the channel expects, or is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbridge.safe_json import value_at

CARD = "chatbridge.card"
"""Key in our own messages of the ask and step that they show. Only the bot's own are believed."""

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
    is_fresh: bool = True
    """Not what the homeserver has kept for who asks again: there may be more by now."""


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
    name, sender, kind = (_text(value_at(source, key)) for key in ("event_id", "sender", "type"))
    content = value_at(source, "content")
    if name is None or sender is None or kind is None or not isinstance(content, dict):
        return None
    state_key, sent_at = value_at(source, "state_key"), value_at(source, "origin_server_ts")
    return RoomEvent(
        id=name,
        room=room,
        sender=sender,
        type=kind,
        content=content,
        at=sent_at / 1000.0 if type(sent_at) is int and abs(sent_at) <= LATEST else 0.0,
        state_key=state_key if isinstance(state_key, str) else None,
        # It is in the event itself up to room version 10, in its content from version 11 on.
        redacts=_event_id(content.get("redacts")) or _event_id(value_at(source, "redacts")),
        redacted=value_at(source, "unsigned", "redacted_because") is not None,
        still_in=value_at(source, "unsigned", "prev_content", "membership") == "join",
        unreadable=unreadable,
    )


def relation(content: Mapping[str, Any]) -> Relation:
    found = content.get("m.relates_to")
    return Relation(
        kind=_text(value_at(found, "rel_type")),
        event=_event_id(value_at(found, "event_id")),
        key=_text(value_at(found, "key")),
        reply_to=_event_id(value_at(found, "m.in_reply_to", "event_id")),
        falling_back=value_at(found, "is_falling_back") is True,
    )


def mark(content: Mapping[str, Any]) -> Mark | None:
    found = content.get(CARD)
    ask_id, step = _text(value_at(found, "ask")), value_at(found, "step")
    return Mark(ask_id=ask_id, step=step) if ask_id and type(step) is int else None


def marked(made: Mark) -> dict[str, Any]:
    return {CARD: {"ask": made.ask_id, "step": made.step}}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _event_id(value: object) -> str | None:
    """What people put there becomes a part of addresses that the bot asks for."""
    found = _text(value)
    return found if found and found.startswith("$") and len(found) <= LONGEST_ID else None
