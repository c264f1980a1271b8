"""The queue of updates: what waits for the bot, who polls for it, and what has been confirmed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram.chats import CHANCE
from tests.fakes.telegram.replies import Later, Refusal, Reply, refused, result

KEPT = 24 * 3600
MAX_POLL = 50
_FUTURE = 10  # an offset further ahead than this is taken for one of another sequence
_UNASKED = ("chat_member", "message_reaction", "message_reaction_count")
OTHER_POLLER = (
    "Conflict: terminated by other getUpdates request; "
    "make sure that only one bot instance is running"
)
WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    id: int
    kind: str
    body: dict[str, Any]
    at: float


@dataclass(slots=True, kw_only=True)
class _Poll:
    offset: int
    limit: int
    later: Later
    loop: asyncio.AbstractEventLoop
    timer: asyncio.TimerHandle | None = None


class Updates:
    """Only used under the service's lock. Every change notifies who waits on it."""

    def __init__(self, *, now: Callable[[], float], lock: threading.Condition) -> None:
        self._now = now
        self._lock = lock
        self._changed = lock.notify_all
        self._next = CHANCE.randrange(10_000_000, 500_000_000)
        self._queue: list[Update] = []
        self._poll: _Poll | None = None
        self._previous: tuple[int, float] | None = None
        self._allowed: tuple[str, ...] | None = None
        self.webhook = ""
        self.rival = False
        """Whether another program polls, too."""
        self.holds_back = True
        """Whether an empty answer waits for something, as long as it is asked to."""
        self.monotonic = time.monotonic
        """The time in which who asks again and again is slowed down."""
        self._gathering = False
        self.polls = 0
        """How many polls have begun."""
        self.confirmed: set[int] = set()

    @property
    def polling(self) -> bool:
        return self._poll is not None

    @property
    def pending(self) -> tuple[Update, ...]:
        oldest = self._now() - KEPT
        self._queue = [update for update in self._queue if update.at >= oldest]
        return tuple(self._queue)

    def add(self, kind: str, body: dict[str, Any]) -> int | None:
        """Queue an update; its id, or None if the bot does not want this kind."""
        wanted = self._allowed
        if (kind in _UNASKED) if wanted is None else (kind not in wanted):
            return None
        return self.add_raw({kind: body}, kind)

    def add_raw(self, body: dict[str, Any], kind: str = "") -> int:
        """Queue whatever it is, under an id of its own unless it brings one."""
        update_id = int(body.get("update_id", self._next))
        self._next = update_id + 1
        self._queue.append(
            Update(id=update_id, kind=kind, body={"update_id": update_id, **body}, at=self._now())
        )
        self._wake()
        return update_id

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Hand out what comes meanwhile at once, as the service does with what comes within a
        millisecond or two."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
            self._wake()

    def restart_ids(self, at: int | None = None) -> None:
        """Let ids go on elsewhere, as after a week without updates."""
        self._next = CHANCE.randrange(10_000_000, 500_000_000) if at is None else at

    def clear(self) -> None:
        self._queue.clear()

    def end_polls(self, error: Refusal) -> None:
        poll, self._poll = self._poll, None
        if poll is not None:
            self._settle(poll, refused(error))

    def get(
        self, *, offset: int, limit: int, timeout: float, allowed: Sequence[str] | None
    ) -> list[dict[str, Any]] | Later:
        """One getUpdates call, in the server's loop."""
        self.polls += 1
        if self.webhook:
            raise Refusal(409, WEBHOOK_ACTIVE)
        if allowed is not None:
            self._allowed = tuple(allowed) or None
        if self.rival:
            raise Refusal(409, OTHER_POLLER)
        limit, timeout = self._slowed(offset, limit, min(timeout, MAX_POLL))
        found = self._take(offset, limit)
        if found or timeout <= 0 or not self.holds_back:
            return found
        self.end_polls(Refusal(409, OTHER_POLLER))
        loop = asyncio.get_running_loop()
        poll = _Poll(offset=offset, limit=limit, later=Later(), loop=loop)
        poll.timer = loop.call_later(timeout, self._expire, poll)
        poll.later.abandoned = lambda: self._forget(poll)
        self._poll = poll
        self._changed()
        return poll.later

    def _slowed(self, offset: int, limit: int, timeout: float) -> tuple[int, float]:
        """The service slows down who asks for the same again and again."""
        now, previous = self.monotonic(), self._previous
        self._previous = (offset, now)
        if previous is not None and previous[0] == offset:
            if now < previous[1] + 3.0:
                timeout = max(timeout, 3.0)
            if now < previous[1] + 0.5:
                limit = 1
        return limit, timeout

    def _take(self, offset: int, limit: int) -> list[dict[str, Any]]:
        pending = self.pending
        if offset < 0:
            self._confirm(pending[:offset])
        elif 0 < offset <= self._next + _FUTURE:
            self._confirm([update for update in pending if update.id < offset])
        return [update.body for update in self._queue[:limit]]

    def _confirm(self, done: Sequence[Update]) -> None:
        if done:
            ids = {update.id for update in done}
            self._queue = [update for update in self._queue if update.id not in ids]
            self.confirmed |= ids
            self._changed()

    def _wake(self) -> None:
        poll = self._poll
        if poll is not None and self._queue and not self._gathering:
            self._poll = None
            self._settle(poll, result(self._take(poll.offset, poll.limit)))

    def _expire(self, poll: _Poll) -> None:
        with self._lock:
            if self._poll is poll:
                self._poll = None
                poll.later.settle(result([]))

    def _forget(self, poll: _Poll) -> None:
        with self._lock:
            if self._poll is poll:
                self._poll = None
                self._stop_timer(poll)
                self._changed()

    def _settle(self, poll: _Poll, reply: Reply) -> None:
        poll.later.settle(reply)
        self._stop_timer(poll)

    def _stop_timer(self, poll: _Poll) -> None:
        # This may be a person's thread, and timers belong to the server's.
        if poll.timer is not None:
            poll.loop.call_soon_threadsafe(poll.timer.cancel)
