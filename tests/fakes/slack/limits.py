"""How often each method may be called: buckets that fill again by the workspace's clock.

From Slack's page about rate limits and the pages of the methods. That small bursts are allowed is
documented, how large they may be is not: here a method's burst is a minute's worth, and that of
messages what others have measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

TIER_3, TIER_4 = 50, 100
"""Calls a minute."""
A_MINUTE = {
    "apps.connections.open": TIER_3,
    "auth.test": 600,
    "chat.delete": TIER_3,
    "chat.postEphemeral": TIER_4,
    "chat.update": TIER_3,
    "conversations.history": TIER_3,
    "conversations.info": TIER_3,
    "conversations.open": TIER_3,
    "conversations.replies": TIER_3,
    "files.completeUploadExternal": TIER_4,
    "files.getUploadURLExternal": TIER_4,
    "reactions.add": TIER_3,
    "users.info": TIER_4,
    "views.open": TIER_4,
}
MESSAGES_BURST, MESSAGES_A_SECOND = 25.0, 1.0
"""In one conversation."""
ALL_MESSAGES_A_MINUTE = 300
"""In a workspace: "several hundred"."""
SEND = "chat.postMessage"
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Rate:
    burst: float
    a_second: float

    @classmethod
    def a_minute(cls, calls: int) -> Rate:
        return cls(calls, calls / 60)


@dataclass(slots=True)
class RateLimits:
    """Slack's patience with one app."""

    monotonic: Callable[[], float]
    on: bool = True
    refused: int = 0
    """How many calls got a 429 for it."""
    tighter: dict[str, Rate] = field(default_factory=dict)
    """What a test wants instead, by the method."""
    _left: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def pause(self, method: str, room: str) -> int | None:
        """The seconds of Retry-After if this call is one too many; else it is counted."""
        rates = {(method, ""): Rate.a_minute(A_MINUTE.get(method, TIER_3))}
        if method == SEND:
            rates = {
                (method, room): self.tighter.get(SEND, Rate(MESSAGES_BURST, MESSAGES_A_SECOND)),
                (method, ""): Rate.a_minute(ALL_MESSAGES_A_MINUTE),
            }
        elif method in self.tighter:
            rates = {(method, ""): self.tighter[method]}
        now = self.monotonic()
        left = {each: self._filled(each, rate, now) for each, rate in rates.items()}
        short = [
            (1.0 - left[each]) / rate.a_second
            for each, rate in rates.items()
            if left[each] < 1.0 - ROUNDING
        ]
        if self.on and short:
            self.refused += 1
            return max(1, math.ceil(max(short)))
        self._left |= {each: (amount - 1.0, now) for each, amount in left.items()}
        return None

    def _filled(self, bucket: tuple[str, str], rate: Rate, now: float) -> float:
        amount, at = self._left.get(bucket, (rate.burst, now))
        return min(rate.burst, max(0.0, amount) + (now - at) * rate.a_second)
