"""Messages whose encryption key is missing: tried again when keys come, also after a restart, and
answered with one polite hint a day if none does."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable

from chatbridge.channels.matrix import notices
from chatbridge.channels.matrix.api import Api
from chatbridge.channels.matrix.voice import Voice
from chatbridge.channels.matrix.wire import RoomEvent
from chatbridge.core.errors import RetryLater, StoreError, TokenRejected
from chatbridge.core.model import Note
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock, Inbox

log = logging.getLogger(__name__)

GRACE = 10.0
"""Keys come on another way than messages, and may take a moment longer."""
KEPT = 20


class Unreadable:
    def __init__(
        self,
        api: Api,
        inbox: Inbox,
        *,
        clock: Clock,
        voice: Voice,
        take: Callable[[RoomEvent, Note], Awaitable[None]],
    ) -> None:
        """`take` deals with a message that can be read after all; the note that it is given is
        committed together with an effect."""
        self._api = api
        self._inbox = inbox
        self._clock = clock
        self._voice = voice
        self._take = take
        self._held: dict[str, RoomEvent] = {}

    async def recall(self, room: str) -> None:
        """What an earlier hub could not read."""
        note = await self._inbox.note("matrix", f"unreadable:{room}")
        for event in json.loads(note.value) if note is not None else ():
            found = await self._api.event(room, event)
            if found is not None:
                self._held[found.id] = found
                self._voice.spawn(self._hint(found))

    async def hold(self, event: RoomEvent) -> None:
        self._held[event.id] = event
        while len(self._held) > KEPT:
            del self._held[next(iter(self._held))]
        await self._note(event.room)
        self._voice.spawn(self._hint(event))

    def coming(self, events: Iterable[str]) -> None:
        """What is about to be dealt with anew: the hub before this one did not live to say that it
        had been read."""
        for event in events:
            self._held.pop(event, None)

    async def try_again(self) -> None:
        """A key may have come."""
        for event in list(self._held.values()):
            found = await self._api.event(event.room, event.id)
            if found is not None and found.unreadable:
                continue
            if found is not None:
                await self._take_late(found)
            self._held.pop(event.id, None)
            await self._note(event.room)

    async def _take_late(self, event: RoomEvent) -> None:
        try:
            await self._take(event, self._without(event))
        except (RetryLater, StoreError, TokenRejected):
            raise
        except Exception:
            # It would fail again whenever keys come, and at every start.
            log.exception("matrix: event %s was passed over", event.id)

    async def _hint(self, event: RoomEvent) -> None:
        await self._clock.sleep(GRACE)
        key, now = f"hinted:{event.room}", self._clock.time()
        last = await self._inbox.note("matrix", key)
        if event.id in self._held and (last is None or now - last.at >= DAY):
            await self._inbox.remember(Note(channel="matrix", key=key, value="", at=now))
            self._voice.say(notices.undecryptable(), to=event)

    async def _note(self, room: str) -> None:
        await self._inbox.remember(self._noted(room, list(self._held)))

    def _without(self, event: RoomEvent) -> Note:
        return self._noted(event.room, [each for each in self._held if each != event.id])

    def _noted(self, room: str, events: list[str]) -> Note:
        held = [event for event in events if self._held[event].room == room]
        key, now = f"unreadable:{room}", self._clock.time()
        return Note(channel="matrix", key=key, value=json.dumps(held), at=now)
