"""What of a question stands in its card, and what does not fit there: leaflets and files, sent
before or after the card, so that nothing an agent wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chatbridge.channels.chat.hints import DECLARED_LENGTH
from chatbridge.channels.chat.keyboard import label_of, needs_list
from chatbridge.channels.chat.outcome import PROJECT_LENGTH
from chatbridge.channels.telegram.render import approvals
from chatbridge.channels.telegram.render.html import (
    FOLDED_QUOTE,
    LIMIT,
    Run,
    Text,
    blocks,
    cut,
    joined,
    pieces,
    readable,
    to_html,
    units,
    width,
)
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card, Choice, Role
from chatbridge.core.model import Ask, Status, View
from chatbridge.core.text import clipped, isolated, one_line, shortened, visible

ROOM = 3_200
"""For question and options; the rest of Telegram's 4,096 is for the longest frame there can be."""
SHOWN = 300
"""How much of a question that does not fit the card repeats."""
OPTIONS_ROOM = 2_000
LEAFLETS_AT_MOST = 4
LEAFLET_ROOM = LIMIT - 100
"""Beside its first line."""
FOLDED_ABOVE = 120

_SHORTER = ((200, 120), (100, 0), (40, 0), (12, 0))
"""How much of labels and descriptions is shown beside a question that does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    leaflets: tuple[str, ...] = ()
    """HTML messages that come before the card."""
    before: tuple[File, ...] = ()
    after: tuple[File, ...] = ()
    questions: tuple[int, ...] = ()
    """Those whose cards refer to what was sent before them."""


# ── in the card ───────────────────────────────────────────────────────────────────────────────────


def body(card: Card, *, listed: bool, overflowed: bool) -> Text:
    """The question and, where they are `listed`, its options, as much as fits a card."""
    question = joined(blocks(card.question))
    if not overflowed:
        return joined((question, _options(card.choices) if listed else ()))
    above = (Run("The whole question is above.", ("i",)),)
    return joined((cut(question, SHOWN), above, _short_options(card.choices)))


def fits(card: Card) -> bool:
    """Whether the card can hold its question whole, in a private chat and in a group."""
    listed = needs_list(card, private=False)
    room = width(body(card, listed=listed, overflowed=False)) <= ROOM
    return room and not _declares_much(card)


def _declares_much(card: Card) -> bool:
    """Whether the declared default has to go along. It is the whole ask's: once is enough."""
    return card.number == 1 and units(card.declared or "") > DECLARED_LENGTH


def _options(choices: Sequence[Choice]) -> Text:
    return joined((_option(c, label_of(c), c.description) for c in choices), apart="\n")


def _option(choice: Choice, label: str, description: str | None) -> Text:
    first = Run(f"{choice.number}. {isolated(label)}", ("b",))
    recommended = (Run(" (recommended)"),) if choice.recommended else ()
    if not description or not description.strip():
        return (first, *recommended)
    if units(description) > FOLDED_ABOVE:
        # In a frame of its own: an agent's lines cannot pass for another option.
        said = Run(description.strip("\n"), (FOLDED_QUOTE,))
    else:
        said = Run(one_line(description))
    return (first, *recommended, Run("\n"), said)


def _short_options(choices: Sequence[Choice]) -> Text:
    found: Text = ()
    for label, description in _SHORTER:
        found = joined(
            (
                _option(
                    c,
                    clipped(label_of(c), label),
                    clipped(one_line(c.description), description)
                    if c.description and description
                    else None,
                )
                for c in choices
            ),
            apart="\n",
        )
        if width(found) <= OPTIONS_ROOM:
            return found
    return cut(found, OPTIONS_ROOM)


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────


def overflow(ask: Ask) -> Overflow:
    """What belongs to an ask beside its card, for all its questions; nothing for most asks."""
    if ask.approval:
        return _of_approval(ask)
    leaflets: list[str] = []
    before: list[File] = []
    after: list[File] = []
    questions: list[int] = []
    for i, question in enumerate(ask.questions):
        card = _card_of(ask, i)
        if fits(card):
            if blocks(card.question) != blocks(card.question, whole=True):
                after.append(_file(ask, i, visible(question.text)))
            continue
        questions.append(i)
        parts = _parts(card)
        if parts is None:
            before.append(_file(ask, i, "\n".join(_whole_as_text(card))))
        else:
            leaflets += _leaflets(ask, i, parts)
    return Overflow(
        leaflets=tuple(leaflets),
        before=tuple(before),
        after=tuple(after),
        questions=tuple(questions),
    )


def _of_approval(ask: Ask) -> Overflow:
    """All of what it is about: when somebody asks for it, or at once if no card can hold it. Until
    it is out, nothing can be allowed."""
    card = _card_of(ask, 0)
    if card.subject is None or card.button(Role.SHOW_ALL):
        return Overflow()
    if not ask.draft.whole and not approvals.is_cut(card):
        return Overflow()
    file = File(name=f"approval-{ask.id[:8]}.txt", content=approvals.whole(card).encode())
    return Overflow(after=(file,))


def _card_of(ask: Ask, question: int) -> Card:
    """The card that shows this question of the ask."""
    draft = replace(ask.draft, view=View.QUESTION, at=question)
    return build_card(replace(ask, status=Status.OPEN, draft=draft), channel="telegram")


def _parts(card: Card) -> Sequence[Text] | None:
    """All of it, cut for leaflets; None if those were too many."""
    whole = _whole(card)
    if width(whole) > LEAFLETS_AT_MOST * LEAFLET_ROOM:
        return None  # without cutting it: there may be much of it
    parts = pieces(whole, LEAFLET_ROOM)
    return parts if len(parts) <= LEAFLETS_AT_MOST else None


def _whole(card: Card) -> Text:
    declared: Text = ()
    if card.declared and _declares_much(card):
        declared = (Run("Used if nobody answers:\n", ("i",)), Run(card.declared))
    options = _options(card.choices) if needs_list(card, private=False) else ()
    return joined((*blocks(card.question, whole=True), options, declared))


def _whole_as_text(card: Card) -> Iterator[str]:
    yield card.question
    if needs_list(card, private=False):
        yield ""
        for choice in card.choices:
            recommended = " (recommended)" if choice.recommended else ""
            yield f"{choice.number}. {label_of(choice)}{recommended}"
            if choice.description:
                yield choice.description
    if _declares_much(card):
        yield f"\nUsed if nobody answers: {card.declared}"


def _leaflets(ask: Ask, question: int, parts: Sequence[Text]) -> Iterator[str]:
    project = isolated(shortened(one_line(ask.project.name), PROJECT_LENGTH))
    what = f"question {question + 1}" if len(ask.questions) > 1 else "the question"
    for i, part in enumerate(parts, 1):
        first = f"{i}/{len(parts)} of {what}" if len(parts) > 1 else what.capitalize()
        yield readable(to_html(joined(((Run(f"{first} for {project}", ("i",)),), part))))


def _file(ask: Ask, question: int, text: str) -> File:
    which = f"-{question + 1}" if len(ask.questions) > 1 else ""
    return File(name=f"question-{ask.id[:8]}{which}.txt", content=text.encode())
