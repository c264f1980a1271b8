"""An ask as it is to be shown in a chat now: its drawings, and what the planner is to bring about.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from chatbridge.channels.chat import approvals, long_questions
from chatbridge.channels.chat import card as cards
from chatbridge.channels.chat.capabilities import Capabilities, Seen, T
from chatbridge.channels.chat.card_messages import FOLDED, OVER, CardMessages, Part
from chatbridge.channels.chat.document import Upload
from chatbridge.channels.chat.planner import Wanted
from chatbridge.channels.chat.writer import Drawing
from chatbridge.core.cards.card import Card
from chatbridge.core.forms.emoji_shortcuts import reactions
from chatbridge.core.model import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRequest:
    """What a person wants of a card beside answering. It is not stored: they can tap again."""

    typing: tuple[int, str] | None = None
    """Who wants a prompt: id and name."""
    repost: bool = False
    """Post the card at the bottom and take the old one away."""
    again: bool = False
    """The same, because taps on the old card may have been lost."""
    leaves: int | None = None
    """Once the form has left this question, post the next one at the bottom; the old card says that
    it goes on there."""

    def continues(self, ask: Ask) -> bool:
        return self.leaves is not None and self.leaves != ask.draft.at


NO_REQUEST = CardRequest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(Generic[T]):
    ask: Ask
    card: Card
    seen: Seen
    can: Capabilities[T]
    drawing: Drawing[T]
    before: Sequence[Drawing[T] | Upload]
    """What comes before the card."""
    first: Sequence[Drawing[T] | Upload]
    """Pages that have to be there before the card is."""
    pages: Sequence[Drawing[T] | Upload]
    """What has to be read before something is allowed."""

    def wanted(self, digest: Callable[[Drawing[T]], object]) -> Wanted[Drawing[T]]:
        ask, card, seen, can = self.ask, self.card, self.seen, self.can

        def root() -> Drawing[T]:
            return Drawing(text=can.write(cards.thread_root(card, seen, can), now=seen.now))

        def past(part: Part) -> Drawing[T]:
            if part.step == OVER:
                left = cards.continued(card)
            elif part.step == FOLDED:
                left = cards.closed()
            else:
                left = cards.finished_step(ask, view=part.view, at=part.at)
            return Drawing(text=can.write(left, now=0.0))

        emojis = seen.reactions and not can.buttons and card.snoozed_until is None
        return Wanted(
            step=card.step if card.view is not None else None,
            card=lambda: self.drawing,
            root=root if can.threads else None,
            past=past if can.threads else None,
            digest=digest,
            reactions=tuple(each.emoji for each in reactions(card)) if emojis else (),
            pages=len(self.pages),
            prompt=seen.prompted,
        )


def draw_scene(
    ask: Ask, card: Card, seen: Seen, place: CardMessages | None, can: Capabilities[T]
) -> Scene[T]:
    """`seen` as far as it does not depend on what goes with the card."""
    more = long_questions.Overflow[T]()
    if card.view is not None:
        more = long_questions.overflow(ask, can)
    after = pages(card, can, more) if ask.open else []
    # Who has asked to see all of it may allow it only with all of it in sight.
    first = after if place is None and ask.draft.whole and not can.threads else []
    out = len(first) if place is None else len(place.pages)
    seen = replace(
        seen,
        overflowed=ask.draft.at in more.questions,
        unsent=ask.approval and out < len(after),
    )
    text, rows = cards.draw_card(card, seen, can)
    return Scene(
        ask=ask,
        card=card,
        seen=seen,
        can=can,
        drawing=Drawing(text=text, rows=rows),
        before=[*(Drawing(text=each) for each in more.leaflets), *map(Upload.of, more.before)],
        first=first,
        pages=after,
    )


def pages(
    card: Card, can: Capabilities[T], more: long_questions.Overflow[T]
) -> Sequence[Drawing[T] | Upload]:
    """What goes with a card and has to be read before it is allowed: files, or pages."""
    if can.continuations:
        return [*map(Upload.of, more.after)]
    return [Drawing(text=can.write(page, now=0.0)) for page in approvals.pages(card, can)]
