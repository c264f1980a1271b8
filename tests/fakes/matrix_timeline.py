"""A Matrix room as a client shows it: messages with their edits and reactions, out of raw events.

No network and no keys: what cannot be read yet is put in its place once it can.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """What a person sees now: the last edit, and the reactions that nobody took back."""

    event_id: str
    sender: str
    body: str
    html: str | None
    msgtype: str
    """Empty where there is no content: redacted, or without the key to read it."""
    edits: int
    """How often the sender has edited it. Edits by others are none."""
    thread: str | None
    """The thread's root."""
    in_reply_to: str | None
    falls_back: bool
    """The reply is only there for clients without threads."""
    mentions: tuple[str, ...]
    reactions: dict[str, list[str]]
    """Who reacted, by key, in the order of the reactions."""
    redacted: bool
    encrypted: bool
    readable: bool
    content: Event
    """As it is shown: the last edit's."""
    original: Event
    """As it was sent."""


@dataclass(slots=True)
class Timeline:
    events: list[Event] = field(default_factory=list)
    """Raw, in the room's order. A decrypted event stands for the one that came."""
    state: dict[tuple[str, str], Event] = field(default_factory=dict)
    """Contents, by type and state key."""
    _places: dict[str, int] = field(default_factory=dict)
    _encrypted: set[str] = field(default_factory=set)

    def add(self, events: Iterable[Event], *, encrypted: Iterable[str] = ()) -> None:
        self._encrypted.update(encrypted)
        for event in events:
            if event["event_id"] in self._places:
                continue
            self._places[event["event_id"]] = len(self.events)
            self.events.append(event)
            self.learn(event)

    def learn(self, event: Event) -> None:
        """State may also come without a place in the timeline."""
        if "state_key" in event:
            self.state[event["type"], event["state_key"]] = event["content"]

    def decrypted(self, event: Event) -> None:
        """The key came after the event."""
        self.events[self._places[event["event_id"]]] = event

    def messages(self) -> list[Message]:
        gone = {_redacts(event) for event in self.events if event["type"] == "m.room.redaction"}
        gone |= {
            event["event_id"]
            for event in self.events
            if "redacted_because" in event.get("unsigned", {})
        }
        edits: dict[str, list[Event]] = {}
        reactions: dict[str, list[Event]] = {}
        shown: list[Event] = []
        for event in self.events:
            relation = _relation(event)
            kind, target = relation.get("rel_type"), relation.get("event_id", "")
            if event["type"] == "m.reaction":
                if event["event_id"] not in gone and kind == "m.annotation":
                    reactions.setdefault(target, []).append(event)
            elif event["type"] not in ("m.room.message", "m.room.encrypted"):
                continue
            elif kind == "m.replace":
                if event["event_id"] not in gone:
                    edits.setdefault(target, []).append(event)
            else:
                shown.append(event)
        return [
            self._message(
                event,
                [edit for edit in edits.get(event["event_id"], ()) if _replaces(edit, event)],
                reactions.get(event["event_id"], []),
                redacted=event["event_id"] in gone,
            )
            for event in shown
        ]

    def _message(
        self, event: Event, edits: list[Event], reactions: list[Event], *, redacted: bool
    ) -> Message:
        original: Event = {} if redacted else event["content"]
        content: Event = original
        if edits and not redacted:
            content = edits[-1]["content"]["m.new_content"]
        relation = {} if redacted else _relation(event)
        reactors: dict[str, list[str]] = {}
        for reaction in reactions:
            reactors.setdefault(_relation(reaction)["key"], []).append(reaction["sender"])
        return Message(
            event_id=event["event_id"],
            sender=event["sender"],
            body=content.get("body", ""),
            html=content.get("formatted_body"),
            msgtype=content.get("msgtype", ""),
            edits=len(edits),
            thread=relation["event_id"] if relation.get("rel_type") == "m.thread" else None,
            in_reply_to=relation.get("m.in_reply_to", {}).get("event_id"),
            falls_back=bool(relation.get("is_falling_back", False)),
            mentions=tuple(content.get("m.mentions", {}).get("user_ids", ())),
            reactions=reactors,
            redacted=redacted,
            encrypted=event["event_id"] in self._encrypted,
            readable=event["type"] != "m.room.encrypted" and not redacted,
            content=content,
            original=original,
        )


def _relation(event: Event) -> Event:
    relation = event["content"].get("m.relates_to")
    return relation if isinstance(relation, dict) else {}


def _redacts(event: Event) -> str:
    """The content has it since room version 11."""
    redacts: str = event["content"].get("redacts") or event.get("redacts", "")
    return redacts


def _replaces(edit: Event, event: Event) -> bool:
    return edit["sender"] == event["sender"] and "m.new_content" in edit["content"]
