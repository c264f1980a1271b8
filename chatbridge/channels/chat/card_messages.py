"""Which messages an ask has in a chat. It is stored as text, as the place of a post.

Where a channel has threads each step of the form is a part of its own, in the thread of the first;
elsewhere there is one part, which shows every step.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from chatbridge.core.model import View
from chatbridge.core.stored_json import reader

OVER, FOLDED = -1, -2
"""Steps of parts that are not answered any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotReaction:
    """A reaction of the bot's own: a button."""

    emoji: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A message that showed, or shows, one step of the form."""

    event: str
    """Its id; empty if the service has not said it."""
    step: int
    """`OVER` if a message further down has taken its place, `FOLDED` if the root has."""
    view: View = View.QUESTION
    at: int = 0
    """The question that it was drawn for."""
    shows: object = None
    """What it says now, as `ChatSurface.digest` returns it; None if that is not known. Stored if
    it is text."""
    seeds: tuple[BotReaction, ...] = ()

    @property
    def emojis(self) -> tuple[str, ...]:
        return tuple(seed.emoji for seed in self.seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A message that opens the person's keyboard for one step of the form."""

    id: str
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFiles:
    """What became of an ask's files, which come once, before its first card."""

    missing: tuple[str, ...] = ()
    """Digests of those that could not be sent."""
    shrunk: bool = False
    """Some are shown smaller than they are."""


ALL_SENT = SentFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMessages:
    room: str
    parts: tuple[Part, ...]
    """The root of the thread first."""
    raised: int = 0
    """How often the ask had been brought to the bottom when this card was posted."""
    raising: int = 0
    """The number for which a new card is being sent."""
    pages: tuple[str, ...] = ()
    """What goes with the card and is out: pages or files."""
    files: SentFiles = ALL_SENT
    topic: str | None = None
    """Where in the chat it is, if the chat is divided."""
    since: float = 0.0
    """Since when the card shows its step, by the service's clock."""
    again: bool = False
    """The card was posted again because taps may have been lost, and nobody has moved on since."""
    prompt: Prompt | None = None
    old: tuple[str, ...] = ()
    """Messages that this card has taken the place of, while they are still there."""
    above: str = ""
    """A message that this card continues, while it does not say so yet."""

    @property
    def root(self) -> Part:
        return self.parts[0]

    @property
    def before(self) -> str:
        """What comes after the root: of a card that was posted further down, the root before."""
        return self.parts[1].event if len(self.parts) > 1 else ""

    @property
    def newest(self) -> Part:
        """The one that is answered."""
        return next((part for part in reversed(self.parts) if part.step >= 0), self.root)

    def folded(self, *, step: int) -> CardMessages:
        """With the root as the one that is answered, at this step."""
        later = (
            part if part.step == OVER else replace(part, step=FOLDED) for part in self.parts[1:]
        )
        return replace(self, parts=(replace(self.root, step=step), *later))

    @property
    def messages(self) -> tuple[str, ...]:
        """All that go once another card takes the place of this one."""
        prompt = self.prompt.id if self.prompt else ""
        return (*filter(None, (self.root.event, prompt, self.above)), *self.old)

    def continued(self, card: Part, *, since: float) -> CardMessages:
        """With a card further down that goes on from this one."""
        old = tuple(each for each in self.messages if each != self.root.event)
        later = replace(self, parts=(card,), since=since, prompt=None, old=old, again=False)
        return replace(later, above=self.root.event)

    def part(self, event: str) -> Part | None:
        return next((part for part in self.parts if part.event == event), None)

    def __getitem__(self, event: str) -> Part:
        return next(part for part in self.parts if part.event == event)

    def having(self, part: Part) -> CardMessages:
        """With this part in place of the one of the same event, or added to the others."""
        if self.part(part.event) is None:
            return replace(self, parts=(*self.parts, part))
        parts = tuple(part if each.event == part.event else each for each in self.parts)
        return replace(self, parts=parts)

    def without(self, removed: list[str]) -> tuple[CardMessages | None, tuple[Part, ...]]:
        """What is left of it; if the root is gone, only parts that others take the place of."""
        if not removed:
            return self, ()
        parts = tuple(part for part in self.parts if part.event not in removed)
        if self.root.event in removed:
            return None, tuple(replace(part, step=OVER) for part in parts)
        return replace(self, parts=parts), ()


_read = reader(CardMessages)


def to_text(place: CardMessages) -> str:
    parts = (
        part if isinstance(part.shows, str) else replace(part, shows=None) for part in place.parts
    )
    stored = asdict(replace(place, parts=tuple(parts)))
    return json.dumps(stored, separators=(",", ":"), ensure_ascii=False)


def from_text(text: str) -> CardMessages | None:
    """None also for a place without a message that shows something."""
    place = _read(text)
    if place is None or all(part.step == OVER for part in place.parts):
        return None
    return place
