"""How large things may be, and how many of them in which time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.telegram.replies import too_many_requests

TEXT = 4096
SOURCE_BYTES = 1 << 15
CAPTION = 1024
ALBUM = 10
REQUEST_BYTES = 50 << 20
PHOTO_BYTES = 10 << 20
PHOTO_SIDES = 10_000
PHOTO_RATIO = 20
FETCHED_BYTES = 20 << 20
FETCHED_SECONDS = 3600.0
CALLBACK_DATA_BYTES = 64
BUTTONS = 100
BUTTONS_IN_A_ROW = 8
PLACEHOLDER = 64
CALLBACK_ANSWER = 200
QUERY_SECONDS = 60.0
DELETE_SECONDS = 48 * 3600
TOPIC_NAME = 128

EDIT_COST = 0.4
PRIVATE_BUCKET = 5.0
PRIVATE_PER_SECOND = 1.0
GROUP_PER_MINUTE = 20
ALL_PER_SECOND = 30
ROUNDING = 1e-6


@dataclass(slots=True)
class RateLimits:
    """The service's patience with one bot. Off until a test wants it."""

    monotonic: Callable[[], float]
    on: bool = False
    refused: int = 0
    """How many requests got a 429 for it."""
    _buckets: dict[int, tuple[float, float]] = field(default_factory=dict)
    _groups: dict[int, deque[float]] = field(default_factory=dict)
    _all: deque[float] = field(default_factory=deque)

    def spend(self, chat_id: int, *, private: bool, edit: bool, count: int = 1) -> None:
        """For so many messages at once. :raises Refusal: the chat, or the bot, has had enough for
        now."""
        if not self.on:
            return
        now = self.monotonic()
        seen = self._groups.setdefault(chat_id, deque())
        level, at = self._buckets.get(chat_id, (PRIVATE_BUCKET, now))
        level = min(PRIVATE_BUCKET, level + (now - at) * PRIVATE_PER_SECOND)
        cost = EDIT_COST if edit else min(float(count), PRIVATE_BUCKET)
        _forget(self._all, now - 1.0)
        _forget(seen, now - 60.0)
        wait = 0.0
        if len(self._all) >= ALL_PER_SECOND:
            wait = self._all[0] + 1.0 - now
        if private and level < cost - ROUNDING:
            wait = max(wait, (cost - level) / PRIVATE_PER_SECOND)
        if not private and len(seen) + count > GROUP_PER_MINUTE:
            wait = max(wait, seen[0] + 60.0 - now)
        if wait > 0:
            self.refused += 1
            raise too_many_requests(max(1, math.ceil(wait)))
        self._all.append(now)
        if private:
            self._buckets[chat_id] = (level - cost, now)
        else:
            seen.extend([now] * count)


def _forget(times: deque[float], until: float) -> None:
    while times and times[0] <= until:
        times.popleft()
