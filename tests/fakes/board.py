"""A chat service in memory: a board that everybody reads, where notes can have buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from chatbridge.channels.chat.document import Rows
from tests.fakes.clock import StillClock


@dataclass(slots=True, kw_only=True)
class Note:
    id: str
    by: str
    text: str
    rows: Rows = ()
    reply_to: str | None = None
    silent: bool = True
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Somebody has written a note, or tapped a button of one."""

    number: int
    person: str
    note: Note
    data: str | None = None
    """What the button carries; None: it is a note of this person's."""
    told: asyncio.Future[str] = field(default_factory=asyncio.Future)
    """What pops up for who tapped."""


class Board:
    def __init__(self, clock: StillClock) -> None:
        self.notes: dict[str, Note] = {}
        self._clock = clock
        self._events: list[Event] = []
        self._ids = count(1)
        self._happened = asyncio.Event()

    def post(
        self,
        by: str,
        text: str,
        rows: Rows = (),
        *,
        reply_to: str | None = None,
        silent: bool = True,
    ) -> Note:
        note = Note(
            id=f"n{next(self._ids)}",
            by=by,
            text=text,
            rows=rows,
            reply_to=reply_to,
            silent=silent,
            at=self._clock.time(),
        )
        self.notes[note.id] = note
        return note

    def tap(self, person: str, note: Note, data: str) -> Event:
        return self._add(Event(number=len(self._events) + 1, person=person, note=note, data=data))

    def say(self, person: str, text: str, *, reply_to: str | None = None) -> Event:
        note = self.post(person, text, reply_to=reply_to)
        return self._add(Event(number=len(self._events) + 1, person=person, note=note))

    async def events(self, after: int, *, wait: bool) -> Sequence[Event]:
        while wait and len(self._events) <= after:
            self._happened.clear()
            await self._happened.wait()
        return self._events[after:]

    def _add(self, event: Event) -> Event:
        self._events.append(event)
        self._happened.set()
        return event
