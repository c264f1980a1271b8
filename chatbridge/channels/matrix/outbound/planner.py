"""What has to be done next so that a room shows an ask as it is. Pure.

One deed at a time: each is noted before the next, so that a crash, a rate limit or a newer state of
the ask is never further away than one request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.keyboard import reactions
from chatbridge.channels.matrix.outbound.card_messages import Part, Place, Seed
from chatbridge.channels.matrix.render.card import (
    draw_card,
    draw_past,
    draw_reminder,
    draw_root,
    pages_of,
)
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.asks.deadlines import remind_at
from chatbridge.core.cards.card import Card
from chatbridge.core.model import Ask, new_draft

NO_REMINDER = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A new message for the step that is to be answered now: the root, or one in its thread."""

    drawing: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPage:
    """One of the messages that show what is to be read before it can be allowed."""

    number: int
    drawing: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    part: Part
    drawing: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSeed:
    part: Part
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSeed:
    part: Part
    seed: Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Remind:
    drawing: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeReminder:
    event: str


Deed = Send | SendPage | Edit | AddSeed | TakeSeed | Remind | TakeReminder


def next_deed(ask: Ask, card: Card, place: Place | None, seen: Seen) -> Deed | None:
    return next(_deeds(ask, card, place, seen), None)


def _deeds(ask: Ask, card: Card, place: Place | None, seen: Seen) -> Iterator[Deed]:
    """In the order of what a person waits for most."""
    if place is None:
        yield Send(drawing=draw_card(card, seen))
        return
    yield from _pages(card, place)  # above the buttons, and before them
    now = current(card, place)
    if card.view is not None and now is None:
        yield Send(drawing=draw_card(card, seen))
    if now is None:
        yield from _edit(place.root, _root(card, seen))
    else:
        yield from _edit(now, draw_card(card, seen))
        yield from _missing_seeds(card, now, seen)
        if now is not place.root:
            yield from _edit(place.root, _root(card, seen))
    for part in place.parts[1:]:
        if part is not now:
            yield from _edit(part, draw_past(ask, view=part.view, at=part.at))
    for part in place.parts:
        wanted = (
            {each.emoji for each in reactions(card)} if part is now and seen.reactions else set()
        )
        for seed in part.seeds:
            if seed.emoji not in wanted:
                yield TakeSeed(part=part, seed=seed)
    yield from _reminder(ask, card, place, seen)


def missing_pages(card: Card, place: Place | None) -> bool:
    return card.approval and len(pages_of(card)) > (len(place.pages) if place else 0)


def _pages(card: Card, place: Place) -> Iterator[SendPage]:
    for number, drawing in enumerate(pages_of(card)):
        if number >= len(place.pages):
            yield SendPage(number=number, drawing=drawing)


def current(card: Card, place: Place) -> Part | None:
    """The message that is to be answered now, if it is out."""
    newest = place.newest
    return newest if card.view is not None and newest.step == card.step else None


def _root(card: Card, seen: Seen) -> Words:
    return draw_card(card, seen) if card.view is None else draw_root(card, seen)


def _edit(part: Part, drawing: Words) -> Iterator[Edit]:
    if part.shows != digest(drawing):
        yield Edit(part=part, drawing=drawing)


def _missing_seeds(card: Card, part: Part, seen: Seen) -> Iterator[AddSeed]:
    there = {seed.emoji for seed in part.seeds}
    for each in reactions(card) if seen.reactions else ():
        if each.emoji not in there:
            yield AddSeed(part=part, emoji=each.emoji)


def _reminder(ask: Ask, card: Card, place: Place, seen: Seen) -> Iterator[Deed]:
    due = remind_at(ask)
    to_remind = ask.open and due is not None and due <= seen.now
    if place.reminder and not to_remind:
        yield TakeReminder(event=place.reminder)
    untouched = ask.draft == new_draft(ask.questions)
    if place.reminder is None and to_remind and untouched:
        yield Remind(drawing=draw_reminder(card, seen))


def too_late_to_remind(ask: Ask, *, now: float) -> bool:
    """A card that is posted when its reminder is due needs none."""
    due = remind_at(ask)
    return due is not None and due <= now


def digest(drawing: Words) -> str:
    return hashlib.sha256(f"{drawing.body}\0{drawing.html}".encode()).hexdigest()[:16]
