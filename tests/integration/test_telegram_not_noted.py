"""Cards that are there though nobody noted them, and replies that were written for another step:
what a night of faults found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.core import form
from chatbridge.core.model import Answer, Ask, Person
from tests.fakes.inbox import MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram_desk import Telegram, running_telegram


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    async with running_telegram(tmp_path) as telegram:
        yield telegram


async def _not_noted(telegram: Telegram) -> tuple[Ask, Card]:
    """An ask whose card is there, while the answer that says so got lost."""
    telegram.api.cut("sendMessage", after_effect=True)
    ask = await telegram.desk.ask(SELECT, timeout=1500)
    return ask, await telegram.sees("Which database")


async def test_a_card_that_is_answered_before_it_was_noted_says_so(telegram: Telegram) -> None:
    _, card = await _not_noted(telegram)
    assert await telegram.tap(card, "2 ·") == "Sent: SQLite"
    ended = await telegram.in_time(telegram.until(card, lambda card: not card.rows))
    assert "SQLite" in ended.text


async def test_a_card_that_is_replied_to_before_it_was_noted_says_so(telegram: Telegram) -> None:
    _, card = await _not_noted(telegram)
    await telegram.say("2", reply_to=card)
    ended = await telegram.in_time(telegram.until(card, lambda card: not card.rows))
    assert "SQLite" in ended.text


async def test_a_card_that_nobody_noted_before_its_ask_ended_says_so_when_touched(
    telegram: Telegram,
) -> None:
    ask, card = await _not_noted(telegram)
    ada = Person(name="Ada", channel="web")
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=ada)
    assert (await telegram.tap(card, "2 ·")).startswith("Already answered")
    ended = await telegram.in_time(telegram.until(card, lambda card: not card.rows))
    assert "SQLite" in ended.text


async def test_a_reply_of_the_second_in_which_the_card_moved_on_is_for_no_step(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT, MULTI)
    card = await telegram.card(ask)
    await telegram.say("the first", reply_to=card)
    await telegram.until(card, lambda card: "Unit tests" in str(card.rows))
    await telegram.card(await telegram.now(ask))
    await telegram.say("the same, written before that was seen", reply_to=card)
    await telegram.sees(form.STALE.why)
    assert (await telegram.now(ask)).draft.entries[1].text is None


async def test_a_second_reply_to_a_card_that_was_never_noted_is_for_the_step_that_it_shows(
    telegram: Telegram,
) -> None:
    telegram.api.cut("sendMessage", after_effect=True)
    ask = await telegram.desk.ask(TEXT, OPTIONAL)
    card = await telegram.sees(lambda card: bool(card.keys))
    telegram.phone.say("the first", reply_to=card)
    telegram.phone.say("the same again", reply_to=card)
    await telegram.dealt_with()
    entries = (await telegram.now(ask)).draft.entries
    assert (entries[0].text, entries[1].text) == ("the first", None)
