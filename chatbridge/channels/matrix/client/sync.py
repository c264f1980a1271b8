"""What is asked for in a sync, and the events and invitations in nio's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from nio.events import Event, MegolmEvent

from chatbridge.channels.matrix.client.events import Invite, RoomEvent, event_from

FILTER: dict[str, Any] = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "account_data": {"types": []},
        "ephemeral": {"types": []},
        "timeline": {"limit": 50},
    },
}
NO_ROOMS: dict[str, Any] = {
    **FILTER,
    "room": {**FILTER["room"], "timeline": {"types": []}, "state": {"types": []}},
}
"""Only what the bot is invited to."""


class Raw(Protocol):
    """What all of nio's events have."""

    source: dict[str, Any]


def events_of(raw: list[Any], room: str) -> tuple[RoomEvent, ...]:
    found = (event_of(each, room) for each in raw)
    return tuple(event for event in found if event is not None)


def event_of(raw: Raw | Event, room: str) -> RoomEvent | None:
    return event_from(raw.source, room=room, unreadable=isinstance(raw, MegolmEvent))


def invites_in(state: list[Any], room: str, user: str) -> Iterator[Invite]:
    for source in state:
        if source.get("type") == "m.room.member" and source.get("state_key") == user:
            sender = source.get("sender")
            if isinstance(sender, str):
                yield Invite(room=room, by=sender)
                return
