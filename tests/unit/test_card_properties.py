"""What holds for every card of every ask."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from hypothesis import given

from chatbridge.core.asks import transitions
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction, Card, Role
from chatbridge.core.forms import form
from chatbridge.core.model import Ask
from tests import strategies as some
from tests.telegram_asks import later

SCRIPTS_NEED = "\u200c\u200d"
"""Stay where a script or an emoji needs them; `test_text` says where."""


def events(card: Card) -> Iterator[form.Event]:
    yield from (choice.action for choice in card.choices)
    yield from (line.edit for line in card.lines if line.edit)
    yield from (
        button.action for button in card.buttons if not isinstance(button.action, AskAction)
    )


def agent_texts(card: Card) -> Iterator[tuple[str, bool]]:
    """Every text of the card but what the person is typing, and whether it must be one line."""
    for line in (card.project, card.agent, card.label, card.title, card.placeholder, card.declared):
        yield line or "", True
    yield card.question, False
    for choice in card.choices:
        yield choice.label, True
        yield choice.description or "", False
    for shown in card.lines:
        yield shown.question, False
        yield shown.answer or "", False
    for button in card.buttons:
        yield button.label, True


@given(some.asks())
def test_every_button_on_a_card_does_something(ask: Ask) -> None:
    for event in events(build_card(ask, channel="web", later=later(ask))):
        step = transitions.apply_event(ask, event)
        # "Done (0)" and leaving an edit with nothing picked say what is missing.
        missing = step is form.NONE_PICKED and isinstance(event, form.Done | form.Back)
        assert missing or not isinstance(step, form.Refused), (event, step)


@given(some.asks())
def test_no_card_holds_a_character_that_turns_or_hides_text(ask: Ask) -> None:
    for text, one_line in agent_texts(build_card(ask, channel="web")):
        allowed = SCRIPTS_NEED if one_line else SCRIPTS_NEED + "\n\t"
        raw = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - set(allowed)
        assert not raw, text


@given(some.asks())
def test_a_card_has_one_button_of_each_kind_and_forward_only_for_the_open(ask: Ask) -> None:
    card = build_card(ask, channel="web", later=later(ask))
    roles = [button.role for button in card.buttons]
    assert len(roles) == len(set(roles))
    assert ask.open or not {Role.CANCEL, Role.LATER} & set(roles)
    assert (card.view is None) <= (not card.choices)
    assert 1 <= card.number <= card.count == len(ask.questions)
