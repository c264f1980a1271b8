"""What a card says of who is on it: who has taken it, to whom it was handed, and why others see it.
Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatbridge.core.cards.card import Choice, Part
from chatbridge.core.cards.markup import Name, Time
from chatbridge.core.cards.outcome_text import MAX_NAME_CHARACTERS, where
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Person
from chatbridge.core.people.sharing import Colleague

TO_WHOM = "Hand it over to whom?"
EVERYWHERE = "It could not be shown where its route leads, so it is shown everywhere."


def sharing_lines(ask: Ask) -> tuple[tuple[Part, ...], ...]:
    return tuple(_lines(ask)) if ask.open else ()


def _lines(ask: Ask) -> Iterator[tuple[Part, ...]]:
    attention = ask.attention
    if attention.second_line_at is not None:
        at = Time(attention.second_line_at)
        yield ("Nobody had answered by ", at, ", so the second line has it, too.")
    if attention.everywhere:
        yield (EVERYWHERE,)
    if attention.taken_by is not None:
        yield (*_who(attention.taken_by, "is on it"), ".")
    elif attention.handovers:
        last = attention.handovers[-1]
        to = Name(last.to, MAX_NAME_CHARACTERS)
        yield (*_who(last.by, "handed this to "), to, ".")


def _who(person: Person, did: str) -> tuple[Part, ...]:
    if person.name:
        return (Name(person.name, MAX_NAME_CHARACTERS), f" {did}")
    return (f"Somebody {where(person)} {did}",)


def colleague_choices(ask: Ask, colleagues: Sequence[Colleague]) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            number=number,
            label=colleague.name,
            description=None,
            recommended=False,
            picked=False,
            action=form.HandOver(step=ask.draft.step, to=colleague.key),
        )
        for number, colleague in enumerate(colleagues, 1)
    )
