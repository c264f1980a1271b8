"""What this process knows of the cards in one chat, beyond what is stored of them. The next process
goes without it: a card may be edited once more than needed, and a reminder is not sent again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Generic

from chatbridge.channels.chat.capabilities import T
from chatbridge.channels.chat.card_messages import CardMessages
from chatbridge.channels.chat.writer import Drawing
from chatbridge.core.model import Ask
from chatbridge.core.nights.policy import ONE_RING_SECONDS, Sound
from chatbridge.core.ports import Clock

TOO_QUICK_SECONDS = 1.0
"""Nobody can have read an approval so soon after its buttons appeared."""
MAX_TOUCHED = 100


@dataclass(slots=True, eq=False)
class CardMemory(Generic[T]):
    clock: Clock
    handle: Callable[[str, str], str]
    digest: Callable[[Drawing[T]], object]
    before: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Messages before a card that are out, while the card is not; by room and ask."""
    uploads: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """Likewise messages with files, by their keys."""
    _drawn: dict[str, tuple[str, Drawing[T]]] = field(default_factory=dict)
    """What was shown, and where: the same again needs no edit."""
    _fresh: dict[str, float] = field(default_factory=dict)
    """Since when an ask's card has had its present buttons."""
    _raising: dict[str, int] = field(default_factory=dict)
    """The number for which a new card of an ask is being sent."""
    _touched: dict[str, str] = field(default_factory=dict)
    """The cards that somebody has used lately, by their asks."""
    _coming: set[str] = field(default_factory=set)
    """Asks of which a card is on its way, or may be."""
    _rang_at: float = -inf
    """When a card rang for all that come by the clock like it."""

    def drawn(self, ask: Ask, room: str, message: str, drawing: Drawing[T]) -> None:
        handle, known = self.handle(room, message), self._drawn.get(ask.id)
        if known is None or known[0] != handle or known[1].rows != drawing.rows:
            self._fresh[ask.id] = self.clock.monotonic()
        self._drawn[ask.id] = handle, drawing

    def posting(self, ask: Ask) -> None:
        """What was used is another card than the one that comes now."""
        self._touched.pop(ask.id, None)
        self._coming.add(ask.id)

    def heard(self, sound: Sound) -> Sound:
        """How a card comes after those before it."""
        just_rang = abs(self.clock.time() - self._rang_at) < ONE_RING_SECONDS
        return Sound.SILENT if sound is Sound.ONCE and just_rang else sound

    def posted(self, ask: Ask, room: str, sound: Sound) -> None:
        """A new card is out, also one whose number is not known."""
        if sound is Sound.ONCE:
            self._rang_at = self.clock.time()
        self._fresh[ask.id] = self.clock.monotonic()
        self._coming.discard(ask.id)
        self.before.pop((room, ask.id), None)
        self.uploads.pop((room, ask.id), None)

    def touched(self, ask_id: str, message: str) -> None:
        """Somebody is using this card of an ask: it is the one, if nobody has said which."""
        self._touched[ask_id] = message
        while len(self._touched) > MAX_TOUCHED:
            del self._touched[next(iter(self._touched))]

    def forget(self, ask: Ask) -> None:
        for known in (self._raising, self._drawn, self._fresh):
            known.pop(ask.id, None)
        self._coming.discard(ask.id)

    def is_coming(self, ask: Ask) -> bool:
        """Whether a card that nobody knows yet may be the one that is being sent."""
        return ask.id in self._coming

    def has_posted(self, ask: Ask, room: str, message: str) -> bool:
        """Whether this is the ask's newest card, though that may not have been noted yet."""
        return ask.id in self._drawn and self._drawn[ask.id][0] == self.handle(room, message)

    def has_rows(self, ask: Ask, drawing: Drawing[T]) -> bool:
        """Whether its card has the buttons of this drawing."""
        return ask.id in self._drawn and self._drawn[ask.id][1].rows == drawing.rows

    def just_shown(self, ask: Ask) -> bool:
        """Whether the card has had its buttons for so short a time that nobody can have read it."""
        since = self._fresh.get(ask.id)
        return since is not None and self.clock.monotonic() - since < TOO_QUICK_SECONDS

    def recalled(self, ask: Ask, place: CardMessages) -> CardMessages:
        """With what is known here."""
        root, known = place.root, self._drawn.get(ask.id)
        if not root.event and self._touched.get(ask.id, "") not in place.messages:
            root = replace(root, event=self._touched.get(ask.id, ""))
        if root.shows is None and known and known[0] == self.handle(place.room, root.event):
            root = replace(root, shows=self.digest(known[1]))
        return place if root is place.root else replace(place, parts=(root, *place.parts[1:]))

    def raises(
        self, ask: Ask, place: CardMessages, *, raised: int, idempotent: bool
    ) -> tuple[CardMessages, bool]:
        """Whether a new card has to be posted at the bottom. Where a service would take it twice,
        it is noted before: what a hub that was killed may have sent is not sent again."""
        if not ask.open or place.raised >= raised:
            return place, False
        if idempotent:
            return replace(place, raising=raised), True
        if place.raising != raised:
            self._raising[ask.id] = raised
        elif self._raising.get(ask.id) != raised:
            return replace(place, raised=raised), False
        return place, True
