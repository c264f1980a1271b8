"""When a card rings that is no message in a chat: a notification, or a page that is open.

The rules are those of chats (`core.nights`), for services that cannot tell a silent message from a
loud one by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from chatbridge.core.model import Ask, Priority
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import ONE_RING_SECONDS, Sound
from chatbridge.core.ports import Clock


class Alert(IntEnum):
    SILENT = 0
    RINGS = 1
    URGENT = 2


@dataclass(slots=True, kw_only=True)
class Bell:
    """When a card rings: as in a chat, and only for what has come `since` then."""

    nights: Nights
    clock: Clock
    since: float = float("-inf")
    _rang_at: float = float("-inf")
    """For one that came by the clock: those that come with it make no sound."""

    def alert(self, ask: Ask) -> Alert:
        """How loudly it comes, or comes back, now."""
        attention, now = ask.attention, self.clock.time()
        sound = self.nights.sound(ask, now=now)
        if sound is Sound.ONCE and abs(now - self._rang_at) < ONE_RING_SECONDS:
            return Alert.SILENT
        came = attention.reminded_at if attention.raised else None
        if sound not in (Sound.ONCE, Sound.LOUD) or (came or ask.created_at) < self.since:
            return Alert.SILENT
        return Alert.URGENT if attention.priority is Priority.URGENT else Alert.RINGS

    def rang(self, ask: Ask) -> None:
        """Call it once it has."""
        now = self.clock.time()
        if self.nights.sound(ask, now=now) is Sound.ONCE:
            self._rang_at = now
