"""Which reactions a card is seeded with, and what a person's reaction stands for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from chatbridge.core.asks import transitions
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import is_shortcut, normal, reaction_for, reactions
from chatbridge.core.model import Ask, Outcome, Status
from tests import strategies as some
from tests.matrix_asks import card, go
from tests.telegram_asks import NOW, ask, confirm, select, text
from tests.telegram_strategies import approvals

CHECKS = select("Which checks?", "Unit tests", "Load test", multi=True, required=False)
FORM = ask(confirm("Sure?"), CHECKS, text("Why?", required=False))
SECOND = go(FORM, form.Choose(step=0, option=0))
THIRD = go(SECOND, form.Skip(step=0))


def seeds(shown: Ask) -> str:
    return " ".join(key.emoji for key in reactions(card(shown)))


@pytest.mark.parametrize(
    ("shown", "emoji"),
    [
        (ask(select("Which?", "a", "b", "c")), "1️⃣ 2️⃣ 3️⃣ ❔ ❌"),
        (FORM, "👍 👎 ❔ ❌"),
        (SECOND, "1️⃣ 2️⃣ ✅ ⏭️ ↩️ ❔ ❌"),
        (THIRD, "⏭️ ↩️ ❔ ❌"),
        (ask(text("Why?")), "❔ ❌"),
        (go(THIRD, form.Skip(step=0)), "✅ ↩️ ❔ ❌"),
        (go(FORM, form.AskCancel(step=0)), "✅ ↩️"),
        (go(FORM, form.AskExplain(step=0)), "✅ 🔁 ↩️"),
        (go(SECOND, form.Other(step=0)), "↩️"),
    ],
)
def test_each_screen_is_seeded_with_what_applies_in_order(shown: Ask, emoji: str) -> None:
    assert seeds(shown) == emoji


def test_at_most_ten_options_are_seeded() -> None:
    shown = ask(select("Which?", *(f"option {i}" for i in range(12))))
    assert seeds(shown) == "1️⃣ 2️⃣ 3️⃣ 4️⃣ 5️⃣ 6️⃣ 7️⃣ 8️⃣ 9️⃣ 🔟 ❔ ❌"
    tenth = reaction_for(card(shown), "🔟")
    assert tenth is not None
    assert tenth.action == form.Choose(step=0, option=9)


def test_an_ended_card_has_no_reactions() -> None:
    for status in set(Status) - {Status.OPEN}:
        ended = replace(FORM, status=status, outcome=Outcome(at=NOW), kept=True)
        assert reactions(card(ended)) == ()
        assert reaction_for(card(ended), "👍") is None


@pytest.mark.parametrize("emoji", ["👍", "👍🏽", "👍\ufe0f", "👍🏿\ufe0e"])
def test_skin_tones_and_variation_selectors_do_not_matter(emoji: str) -> None:
    key = reaction_for(card(FORM), emoji)
    assert key is not None
    assert key.action == form.Choose(step=0, option=0)
    assert normal(emoji) == "👍"


@pytest.mark.parametrize("emoji", ["1⃣", "1️⃣"])
def test_a_number_is_known_with_and_without_its_selector(emoji: str) -> None:
    assert reaction_for(card(SECOND), emoji) == reactions(card(SECOND))[0]


@pytest.mark.parametrize("emoji", ["", "1", "🎉", "3️⃣", "👍"])
def test_other_reactions_stand_for_nothing(emoji: str) -> None:
    assert reaction_for(card(SECOND), emoji) is None


def test_a_reaction_on_an_option_that_is_picked_puts_it_on() -> None:
    picked = go(SECOND, form.Toggle(step=0, option=1, on=True))
    key = reaction_for(card(picked), "2️⃣")
    assert key is not None
    assert key.action == form.Toggle(step=1, option=1, on=True)


def test_the_check_mark_does_what_its_screen_is_for() -> None:
    review = go(THIRD, form.Skip(step=0))
    cancel = go(FORM, form.AskCancel(step=0))
    found = [reaction_for(card(shown), "✅") for shown in (SECOND, review, cancel)]
    assert [type(key.action) for key in found if key] == [form.Done, form.Submit, form.Cancel]


@given(some.asks() | approvals())
def test_every_key_is_different_and_does_something(shown: Ask) -> None:
    found = reactions(card(shown))
    assert len({normal(key.emoji) for key in found}) == len(found)
    for key in found:
        assert reaction_for(card(shown), normal(key.emoji)) == key
        assert is_shortcut(key.emoji)
        assert not isinstance(key.action, AskAction)
        step = transitions.apply_event(shown, key.action)
        missing = step is form.NONE_PICKED and isinstance(key.action, form.Done | form.Back)
        assert missing or not isinstance(step, form.Refused), (key, step)
