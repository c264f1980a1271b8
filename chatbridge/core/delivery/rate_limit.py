"""How fast a surface may be written to: a short burst at once, then a steady rate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """In seconds: what one new message and one edit cost, and how much may be spent ahead."""

    message: float = 0.0
    edit: float = 0.0
    burst: float = 0.0


class Meter:
    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._paid_until = float("-inf")

    def pause(self, now: float) -> float:
        """How long to wait before the next message or edit."""
        return max(0.0, self._paid_until - now)

    def spend(self, now: float, *, edit: bool) -> None:
        cost = self._pace.edit if edit else self._pace.message
        self._paid_until = max(self._paid_until, now - self._pace.burst) + cost
