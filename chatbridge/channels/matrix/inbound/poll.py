"""The receiving loop: syncs, has each event dealt with, and only then syncs on.

Owns the cursor: the token of the last batch that was dealt with, and which events of the one after
it have been. An event that was dealt with never is again; one that was not comes again, after a
crash as after a full disk.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.errors import Rejected
from chatbridge.channels.matrix.client.events import Batch, Invite, RoomEvent, Timeline
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader

log = logging.getLogger(__name__)

WAIT = 30.0
"""For how many seconds the homeserver holds an empty answer back."""
FAR_BACK = 50
"""How many pages of missed events are read in a room at most."""
UNKNOWN_PLACE = ("M_INVALID_PARAM", "M_UNKNOWN", "M_UNKNOWN_POS")
TRIES = 10
"""How often an event is tried that fails for want of a connection."""


@dataclass(slots=True, kw_only=True)
class Cursor:
    since: str | None
    done: set[str] = field(default_factory=set)
    """Events after `since` that have been dealt with."""
    _listed: list[str] = field(init=False)
    """The same as JSON: after a long gap there are thousands, and they are needed for each."""

    def __post_init__(self) -> None:
        self._listed = [json.dumps(event) for event in self.done]

    def add(self, event: str) -> None:
        self.done.add(event)
        self._listed.append(json.dumps(event))

    def to_text(self, *more: str) -> str:
        listed = ",".join((*self._listed, *map(json.dumps, more)))
        return f'{{"since":{json.dumps(self.since)},"done":[{listed}]}}'


_read = reader(Cursor)


def _cursor_from(text: str) -> Cursor:
    return _read(text) or Cursor(since=None)


class Poll(PollLoop[Batch]):
    channel, tries = "matrix", TRIES

    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        clock: Clock,
        take: Callable[[RoomEvent, ChannelState], Awaitable[None]],
        coming: Callable[[Sequence[RoomEvent]], None],
        invited: Callable[[Invite], Awaitable[None]],
        after: Callable[[Batch], Awaitable[None]],
        given_up: Callable[[RoomEvent], None],
    ) -> None:
        """`take` deals with one event; `coming` is told of all those that it will be given next;
        `after` is called after each batch; `given_up` is told what could not be dealt with."""
        super().__init__(inbox, clock=clock, cursor_key=f"since:{api.user_id}")
        self._api = api
        self._take = take
        self._coming = coming
        self._invited = invited
        self._after = after
        self._given_up = given_up
        self._cursor = Cursor(since=None)
        self._held: Batch | None = None
        """The first one, until it is dealt with."""
        self._asked: str | None = None
        """From where it was read last, or tried to."""
        self._keys = True
        """Some may have come that nothing has been read with yet: also to the hub before this."""

    async def begin(self) -> None:
        """Find out where to read on, and how the rooms are. On the first start with an account,
        what was written until now is passed over; invitations count."""
        known = await self.stored_cursor()
        if known is not None:
            self._cursor = _cursor_from(known.value)
        try:
            batch = await self._api.sync(self._cursor.since, wait=0.0, full=True)
        except Rejected as error:
            if known is None or error.code not in UNKNOWN_PLACE:
                raise
            # Another server under the same name, or one that was restored from a backup.
            log.warning("matrix: what was written meanwhile is passed over (%s)", error)
            self._cursor = Cursor(since=None)
            batch = await self._api.sync(None, wait=0.0, full=True)
        await self._api.keep_keys()
        if self._cursor.since is None:
            batch = replace(batch, timelines=())
        # Who invited the bot may have been let in since.
        invites = dict.fromkeys((*batch.invites, *await self._api.invites()))
        self._held = replace(batch, invites=tuple(invites))

    async def read(self, *, wait: bool) -> Batch:
        if self._held is not None:
            return self._held
        since = self._cursor.since
        is_fresh, self._asked = since != self._asked, since
        batch = await self._api.sync(since, wait=WAIT if wait else 0.0)
        return replace(batch, is_fresh=is_fresh or batch.next == since)

    async def deal_with(self, batch: Batch) -> bool:
        await self._api.keep_keys()
        self._keys = self._keys or batch.keys
        try:
            await self._take_all(batch)
        except RetryLater:
            if self._cursor.since is not None:  # else it would be another first reading
                self._held = None  # so that a server that is away costs no event its tries
            raise
        self._held = None
        await self._after(replace(batch, keys=self._keys))
        self._keys = False
        return not batch.is_fresh or any(timeline.events for timeline in batch.timelines)

    async def _take_all(self, batch: Batch) -> None:
        for invite in batch.invites:
            try:
                await self._invited(invite)
            except Rejected as error:
                log.warning("matrix: the bot cannot go to %s: %s", invite.room, error)
            except RetryLater as error:
                if self.may_be_tried_again(invite.room):
                    raise
                log.warning("matrix: the bot cannot go to %s: %s", invite.room, error)
        for timeline in batch.timelines:
            done = self._cursor.done
            events = [event for event in await self._whole(timeline) if event.id not in done]
            self._coming(events)
            for event in events:
                await self._take_once(event)
                self._cursor.add(event.id)
        if batch.next != self._cursor.since:
            ahead = Cursor(since=batch.next)
            await self._inbox.remember(self.cursor(ahead.to_text()))
            self._cursor = ahead

    async def _whole(self, timeline: Timeline) -> tuple[RoomEvent, ...]:
        """With what the server left out, and without what was there before the bot."""
        events, since = timeline.events, self._cursor.since
        start = timeline.start if timeline.limited else None
        for pages in count():
            joined = [i for i, event in enumerate(events, 1) if self._is_our_join(event)]
            if joined:
                return events[joined[-1] :]
            if start is None or since is None:
                return events
            if pages == FAR_BACK:
                break
            try:
                page, start = await self._api.before(timeline.room, start, until=since)
            except (ChatRefused, Rejected) as error:
                log.warning("matrix: what was missed in %s is not read: %s", timeline.room, error)
                return events
            events = (*page, *events)
        log.warning("matrix: not everything that was missed in %s is read", timeline.room)
        return events

    def _is_our_join(self, event: RoomEvent) -> bool:
        """Not every change of the bot's name is one."""
        if event.type != "m.room.member" or event.state_key != self._api.user_id:
            return False
        return event.content.get("membership") == "join" and not event.still_in

    async def _take_once(self, event: RoomEvent) -> None:
        cursor = self.cursor(self._cursor.to_text(event.id))
        dealt_with = await self.process(
            event.id,
            partial(self._take, event, cursor),
            committed=lambda stored: event.id in _cursor_from(stored).done,
        )
        if not dealt_with:
            self._given_up(event)
