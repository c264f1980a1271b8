"""Messages whose encryption key is missing: tried again when keys come, also after a restart, and
answered with one polite hint a day if none does."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import KW_ONLY, asdict, dataclass, field

from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent
from chatbridge.channels.matrix.inbound.replies import Replies
from chatbridge.channels.matrix.render import notices
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater, StoreError, TokenRejected
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader

log = logging.getLogger(__name__)

GRACE = 10.0
"""Keys come on another way than messages, and may take a moment longer."""
KEPT, KEPT_FOR = 20, DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    event: str
    at: float
    """Since when, by the hub's clock."""
    ask: str | None = None
    """What it was for: a reply or a thread is not encrypted. None where that says nothing."""
    step: int | None = None


_read = reader(list[Held])


@dataclass(slots=True)
class Unreadable:
    api: Api
    inbox: AskActions
    _: KW_ONLY
    clock: Clock
    replies: Replies
    take: Callable[[RoomEvent, Held, ChannelState], Awaitable[None]]
    """Deals with a message that can be read after all, and commits the note with the effect."""
    _held: dict[str, dict[str, Held]] = field(default_factory=dict, init=False)
    """By room and event."""

    async def recall(self, room: str) -> None:
        """What an earlier hub could not read."""
        note = await self.inbox.note("matrix", f"unreadable:{room}")
        known = _read(note.value) or [] if note is not None else []
        self._held[room] = {each.event: each for each in known if self._is_recent(each)}
        for event in self._held[room]:
            if found := await self.api.event(room, event):
                self.replies.spawn(self._hint(found))

    async def hold(self, event: RoomEvent, *, ask: Ask | None) -> None:
        step = ask.draft.step if ask else None
        new = Held(event=event.id, at=self.clock.time(), ask=ask.id if ask else None, step=step)
        known = [each for each in self._held.get(event.room, {}).values() if self._is_recent(each)]
        held = {each.event: each for each in [*known, new][-KEPT:]}
        self._held[event.room] = held
        await self.inbox.remember(self._noted(event.room, held.values()))
        self.replies.spawn(self._hint(event))

    def coming(self, events: Iterable[RoomEvent]) -> None:
        """These are dealt with anew: the last hub crashed before it noted that they were read."""
        for event in events:
            self._held.get(event.room, {}).pop(event.id, None)

    async def try_again(self) -> None:
        """A key may have come."""
        for room, held in self._held.items():
            for each in list(held.values()):
                event = await self.api.event(room, each.event)
                if event is not None and event.unreadable:
                    continue
                left = self._noted(room, [other for other in held.values() if other is not each])
                try:
                    if event is not None:
                        await self.take(event, each, left)
                except (RetryLater, StoreError, TokenRejected):
                    raise
                except Exception:
                    # It would fail again whenever keys come, and at every start.
                    log.exception("matrix: event %s was passed over", each.event)
                held.pop(each.event, None)
                await self.inbox.remember(left)

    async def _hint(self, event: RoomEvent) -> None:
        await self.clock.sleep(GRACE)
        key, now = f"hinted:{event.room}", self.clock.time()
        last = await self.inbox.note("matrix", key)
        is_held = event.id in self._held.get(event.room, {})
        if is_held and (last is None or now - last.at >= DAY):
            await self.inbox.remember(ChannelState(channel="matrix", key=key, value="", at=now))
            self.replies.say(notices.undecryptable(), to=event)

    def _is_recent(self, held: Held) -> bool:
        return self.clock.time() - held.at < KEPT_FOR

    def _noted(self, room: str, held: Iterable[Held]) -> ChannelState:
        key, value = f"unreadable:{room}", json.dumps([asdict(each) for each in held])
        return ChannelState(channel="matrix", key=key, value=value, at=self.clock.time())
