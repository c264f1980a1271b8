"""Cards that are there though nobody noted them, and replies that were written for another step:
what a night of faults found."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from chatbridge.channels.chat.inbound import EARLY
from chatbridge.core.forms import approval_form, form
from chatbridge.core.model import Answer, Ask, Person
from tests.fakes.inbox import COMMAND, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram_desk import PATIENCE, Telegram


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


async def test_a_refusal_that_may_have_arrived_is_not_said_again(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(COMMAND)
    card = await telegram.card(ask)
    telegram.api.cut("sendMessage", after_effect=True)
    await telegram.say("yes, do", reply_to=card)
    await telegram.sees(approval_form.TAP_IT.why)
    telegram.api.heal()
    await telegram.say("/pending")
    await telegram.sees("1 question is open")
    assert telegram.said().count(approval_form.TAP_IT.why) == 1


# ── Telegram says ok, and not which message it is ─────────────────────────────────────────────────


def numbers_are_unknown(telegram: Telegram, *, times: int = 1000) -> None:
    for method in ("sendMessage", "sendDocument"):
        telegram.api.rewrite(method, lambda _body: b'{"ok": true}', times=times)


async def noted(telegram: Telegram, ask: Ask) -> None:
    (surface,) = telegram.channel.surfaces
    async with asyncio.timeout(PATIENCE):
        while True:
            post = await telegram.desk.inbox.post(ask.id, surface=surface.name)
            if post is not None and post.revision >= ask.revision:
                return
            await asyncio.sleep(0.002)


def sent(telegram: Telegram) -> int:
    return len(telegram.api.calls("sendMessage"))


async def test_a_card_without_a_number_is_edited_once_it_was_tapped(telegram: Telegram) -> None:
    numbers_are_unknown(telegram)
    ask = await telegram.desk.ask(SELECT, MULTI)
    card = await telegram.sees("Which database")
    await telegram.tap(card, "2 ·")
    card = await telegram.until(card, lambda card: "Unit tests" in str(card.rows))
    assert await telegram.current(ask) == card
    assert sent(telegram) == 1


async def test_a_reply_to_a_card_without_a_number_is_for_the_step_that_it_shows(
    telegram: Telegram,
) -> None:
    numbers_are_unknown(telegram, times=1)
    ask = await telegram.desk.ask(TEXT, OPTIONAL)
    card = await telegram.sees(lambda card: bool(card.keys))
    telegram.phone.say("the first", reply_to=card)
    telegram.phone.say("the same again", reply_to=card)
    await telegram.dealt_with()
    entries = (await telegram.now(ask)).draft.entries
    assert (entries[0].text, entries[1].text) == ("the first", None)
    assert (await telegram.current(ask)).id == card.id


async def test_a_card_without_a_number_whose_ask_ended_elsewhere_says_so_when_touched(
    telegram: Telegram,
) -> None:
    numbers_are_unknown(telegram)
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.sees("Which database")
    ada = Person(name="Ada", channel="web")
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=ada)
    assert (await telegram.tap(card, "2 ·")).startswith("Already answered")
    ended = await telegram.until(card, lambda card: not card.rows)
    assert "SQLite" in ended.text
    assert sent(telegram) == 1


async def test_the_next_question_comes_though_the_card_has_no_number_and_nobody_touched_it(
    telegram: Telegram,
) -> None:
    numbers_are_unknown(telegram)
    ask = await telegram.desk.ask(SELECT, MULTI)
    first = await telegram.sees("Which database")
    ada = Person(name="Ada", channel="web")
    await telegram.desk.inbox.put(ask.id, form.Choose(step=0, option=1), person=ada)
    second = await telegram.sees(lambda card: "Unit tests" in str(card.rows))
    assert second.id != first.id
    telegram.api.heal()
    await telegram.tap(second, next(key.text for key in second.keys if "Unit" in key.text))
    assert (await telegram.current(ask)).id == second.id
    await telegram.tap(first, "2 ·")
    await telegram.gone(first)
    assert sent(telegram) == 2


async def test_a_card_that_was_touched_before_it_lost_its_number_stays_one_card(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(SELECT, MULTI, TEXT)
    first = await telegram.step(ask, "2 ·")
    await telegram.say("/pending")
    listed = await telegram.sees("1 question is open")
    numbers_are_unknown(telegram)
    await telegram.tap(listed, "1")
    await telegram.gone(first)
    await noted(telegram, await telegram.now(ask))
    before = sent(telegram)
    for _ in range(3):
        await telegram.desk.inbox.redraw(ask.id)
        await noted(telegram, await telegram.now(ask))
    assert sent(telegram) == before


async def test_an_approval_without_numbers_can_be_allowed_once_all_of_it_is_out(
    telegram: Telegram,
) -> None:
    numbers_are_unknown(telegram)
    assert COMMAND.subject
    diff = "\n".join(f"+line {i}" for i in range(60))
    subject = replace(COMMAND.subject, code=diff, language="diff", folder=None, file="prod.tf")
    ask = await telegram.desk.ask(replace(COMMAND, subject=subject))
    card = await telegram.sees(lambda card: "Allow once" in str(card.rows))
    await noted(telegram, ask)
    telegram.clock.advance(2)
    assert await telegram.tap(card, "Allow once") == "Allowed once."
    await telegram.until(card, lambda card: not card.rows)
    assert sent(telegram) == 2
    assert len(telegram.api.calls("sendDocument")) == 1


async def test_an_approval_that_comes_again_without_a_number_cannot_be_allowed_at_once(
    telegram: Telegram,
) -> None:
    numbers_are_unknown(telegram)
    ask = await telegram.desk.ask(COMMAND)
    first = await telegram.sees("Run this command?")
    await noted(telegram, ask)
    telegram.clock.advance(2)
    await telegram.say("/pending")
    await telegram.tap(await telegram.sees("1 question is open"), "1")
    again = await telegram.sees(lambda card: "Allow once" in str(card.rows) and card.id != first.id)
    assert await telegram.tap(again, "Allow once") == EARLY
    telegram.clock.advance(2)
    assert await telegram.tap(again, "Allow once") == "Allowed once."


async def test_notices_without_numbers_come_once_each(telegram: Telegram) -> None:
    numbers_are_unknown(telegram)
    for i in range(6):
        await telegram.desk.notify(f"Step {i}.")
        await telegram.sees(f"Step {i}.")
    assert sent(telegram) == len(telegram.said()) == 6
