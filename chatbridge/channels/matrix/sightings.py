"""What a room has shown, by the order of its timeline: which questions a message beside the cards
may be for."""

from __future__ import annotations

from chatbridge.channels.matrix.echoes import Echoes
from chatbridge.channels.matrix.poll import WAIT
from chatbridge.core.attention import UNNOTICED, Attention
from chatbridge.core.model import Ask
from chatbridge.core.ports import Clock

BATCHES = 2
"""After so many, what was asked for after a message was sent has been read: it came back, or never
will."""


class Sightings:
    """A message counts as written when all that was there before had been read: that is at most one
    wait too early, and no clock of a server is needed. Approvals do not count: nothing that is
    written beside their cards is for them."""

    def __init__(self, *, echoes: Echoes, clock: Clock) -> None:
        self.attention = Attention("matrix", unnoticed=UNNOTICED + WAIT)
        self._echoes = echoes
        self._clock = clock
        self._read_at = clock.monotonic()
        self._sent: dict[str, tuple[Ask, str | None, int]] = {}
        """Messages that show an ask as it is and have not come back: its viewer, and how many
        batches were read since."""

    def posted(self, ask: Ask, *, viewer: str | None) -> None:
        if not ask.approval:
            self.attention.shown(ask, at=self._read_at, viewer=viewer, new=True)

    def shown(self, ask: Ask, *, by: str, viewer: str | None) -> None:
        """Until this message is in the timeline, nobody can have read it."""
        if ask.approval:
            return
        self._echoes.sent(by)
        self._sent[by] = (ask, viewer, 0)
        if not self._echoes.is_ahead(by):
            self.came_back(by)

    def came_back(self, event: str) -> None:
        if event in self._sent:
            ask, viewer, _ = self._sent.pop(event)
            self.attention.shown(ask, at=self._read_at, viewer=viewer)

    def read_on(self) -> None:
        """A batch has been dealt with."""
        self._read_at = self._clock.monotonic()
        for event, (ask, viewer, batches) in list(self._sent.items()):
            self._sent[event] = (ask, viewer, batches + 1)
            if batches + 1 >= BATCHES:
                self._echoes.passed(event)
                self.came_back(event)

    def may_be_elsewhere(self, *, than: Ask) -> bool:
        """Whether who wrote what is read now may have meant another question than this one."""
        return self.attention.may_be_elsewhere(self._read_at, than=than.id)
