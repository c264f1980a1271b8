"""A text beside the cards is for what the chat showed when it was written, whatever was true in the
hub by then and whatever its clock says; and who may not have noticed a change is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbridge.channels.chat.card_visibility import DOUBTED, UNNOTICED
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Person, Question
from chatbridge.core.policy import HOUR
from tests.fakes.clock import StillClock
from tests.fakes.inbox import COMMAND, CONFIRM, OPTIONAL, TEXT
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram

WEB = Person(name="Ada", channel="web")


async def two_open(telegram: Telegram) -> tuple[Ask, Ask]:
    """Questions whose cards are older than what is written now."""
    asks = await telegram.desk.ask(TEXT), await telegram.desk.ask(OPTIONAL)
    for ask in asks:
        await telegram.card(ask)
    telegram.clock.advance(5)
    return asks


async def is_asked_about(telegram: Telegram, text: str) -> None:
    sent = await telegram.say(text)
    about = await telegram.sees(lambda card: card.reply_to == sent.id)
    assert about.rows == (("Use it", "No"),)


async def answer_elsewhere(telegram: Telegram, ask: Ask) -> None:
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("done",)),), person=WEB)


async def test_a_card_that_still_asks_though_its_ask_has_ended_may_be_meant(
    telegram: Telegram,
) -> None:
    ask, other = await two_open(telegram)
    held = telegram.api.hold("editMessageText")
    await answer_elsewhere(telegram, other)
    telegram.clock.advance(2 * UNNOTICED)
    await is_asked_about(telegram, "for the other")
    assert (await telegram.now(ask)).open
    held.release()


async def test_who_may_not_have_noticed_that_a_question_has_ended_is_asked_for_a_minute(
    telegram: Telegram,
) -> None:
    ask, other = await two_open(telegram)
    await answer_elsewhere(telegram, other)
    await telegram.current(other)
    telegram.clock.advance(UNNOTICED)
    await is_asked_about(telegram, "for the other")
    assert (await telegram.now(ask)).open
    telegram.clock.advance(1)
    await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


async def test_who_has_ended_a_question_here_can_write_for_the_next_at_once(
    telegram: Telegram,
) -> None:
    ask, other = await two_open(telegram)
    await telegram.say("done", reply_to=await telegram.card(other))
    await telegram.answers(other)
    await telegram.current(other)
    telegram.clock.advance(1)
    await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


async def test_who_fills_in_a_form_here_is_not_asked(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT, CONFIRM, OPTIONAL)
    await telegram.card(ask)
    telegram.clock.advance(1)
    await telegram.say("fix: it")
    await telegram.current(ask)
    await telegram.step(ask, "Yes")
    telegram.clock.advance(1)
    await telegram.say("no more")
    await telegram.current(ask)
    assert [entry.text for entry in (await telegram.now(ask)).draft.entries] == [
        "fix: it",
        None,
        "no more",
    ]


async def test_who_may_not_have_noticed_that_a_form_has_moved_on_is_asked_for_a_minute(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, TEXT)
    await telegram.card(ask)
    await telegram.desk.inbox.put(ask.id, form.Choose(step=0, option=0), person=WEB)
    await telegram.current(ask)
    telegram.clock.advance(UNNOTICED)
    await is_asked_about(telegram, "yes, do")
    telegram.clock.advance(1)
    await telegram.say("fix: it")
    assert (await telegram.now(ask)).draft.entries[1].text == "fix: it"


@pytest.mark.parametrize("beside", [CONFIRM, COMMAND], ids=["confirm", "approval"])
async def test_a_card_that_takes_no_text_is_not_meant_when_it_ends(
    telegram: Telegram, beside: Question
) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(beside)
    for each in (ask, other):
        await telegram.card(each)
    await telegram.desk.inbox.put(other.id, form.Choose(step=0, option=0), person=WEB)
    await telegram.current(other)
    telegram.clock.advance(5)
    await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


@pytest.mark.parametrize("shown", [True, False], ids=["shown", "not yet shown"])
@pytest.mark.parametrize("closes", [True, False], ids=["closed", "moved on"])
async def test_a_late_form_that_changes_elsewhere_may_be_meant(
    telegram: Telegram, closes: bool, shown: bool
) -> None:
    late = await telegram.desk.ask(OPTIONAL, CONFIRM)
    await telegram.card(late)
    await telegram.desk.time_out(late)
    await telegram.current(late)
    ask = await telegram.desk.ask(TEXT, timeout=HOUR)
    await telegram.card(ask)
    await telegram.step(late, "Answer anyway")
    telegram.clock.advance(2 * UNNOTICED)
    step = (await telegram.now(late)).draft.step
    event = form.Cancel(step=step) if closes else form.Skip(step=step)
    held = None if shown else telegram.api.hold("editMessageText")
    await telegram.desk.inbox.put(late.id, event, person=WEB)
    if held is None:
        await telegram.current(late)
    telegram.clock.advance(5)
    await is_asked_about(telegram, "for the late one")
    assert (await telegram.now(ask)).open
    if held is not None:
        held.release()


async def test_a_card_may_be_meant_before_anybody_heard_that_it_arrived(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    held = telegram.api.hold("sendMessage", after_effect=True)
    other = await telegram.desk.ask(OPTIONAL)
    await telegram.sees(OPTIONAL.text)
    await answer_elsewhere(telegram, other)
    telegram.clock.advance(5)
    await is_asked_about(telegram, "for the other")
    assert (await telegram.now(ask)).open
    held.release()


async def test_a_card_of_which_nobody_ever_heard_may_be_meant_for_some_minutes(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT, timeout=HOUR)
    await telegram.card(ask)
    telegram.api.cut("sendMessage", after_effect=True)
    other = await telegram.desk.ask(OPTIONAL)
    await telegram.sees(OPTIONAL.text)
    await telegram.clock.until_asleep(1)  # after the failure
    await answer_elsewhere(telegram, other)
    telegram.clock.advance(DOUBTED - 1)
    await is_asked_about(telegram, "for the other")
    assert (await telegram.now(ask)).open
    telegram.clock.advance(1)
    await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


@pytest.mark.parametrize("shown", [True, False], ids=["shown", "not yet shown"])
async def test_a_step_of_which_nobody_heard_may_be_meant_though_its_ask_has_ended(
    telegram: Telegram, shown: bool
) -> None:
    ask, other = await telegram.desk.ask(TEXT), await telegram.desk.ask(CONFIRM, OPTIONAL)
    for each in (ask, other):
        await telegram.card(each)
    telegram.api.cut("editMessageText", after_effect=True)
    await telegram.desk.inbox.put(other.id, form.Choose(step=0, option=0), person=WEB)
    await telegram.clock.until_asleep(1)  # after the failure
    telegram.clock.advance(0.5)
    answers = (Answer(values=("yes",)), Answer(values=("done",)))
    await telegram.desk.inbox.answer(other.id, answers, person=WEB)
    if shown:
        telegram.clock.advance(1)
        await telegram.current(other)
        telegram.clock.advance(5)
    await is_asked_about(telegram, "for the other")
    assert (await telegram.now(ask)).open


@pytest.mark.parametrize("next_step", [CONFIRM, TEXT], ids=["confirm", "text"])
async def test_a_card_of_which_nobody_heard_may_be_meant_though_another_shows_the_next_step(
    telegram: Telegram, next_step: Question
) -> None:
    ask = await telegram.desk.ask(TEXT) if next_step is CONFIRM else None
    if ask is not None:
        await telegram.card(ask)
    telegram.api.cut("sendMessage", after_effect=True)
    form_ask = await telegram.desk.ask(OPTIONAL, next_step)
    await telegram.sees(OPTIONAL.text)
    await telegram.clock.until_asleep(1)  # after the failure
    await telegram.desk.inbox.put(form_ask.id, form.Skip(step=0), person=WEB)
    telegram.clock.advance(1)
    await telegram.current(form_ask)
    telegram.clock.advance(5)
    await is_asked_about(telegram, "for the first question")
    for each in filter(None, (ask, form_ask)):
        assert (await telegram.now(each)).open
    assert (await telegram.now(form_ask)).draft.entries[1].text is None


async def test_a_deleted_card_is_not_meant(telegram: Telegram) -> None:
    ask, other = await two_open(telegram)
    telegram.phone.delete(await telegram.card(other))
    await answer_elsewhere(telegram, other)
    while await telegram.desk.inbox.behind(surface=telegram.channel.surfaces[0].name):
        await telegram.dealt_with()
    await telegram.say("fix: it")
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


async def test_a_hub_whose_clock_is_behind_knows_what_was_written_before_the_end(
    tmp_path: Path,
) -> None:
    with BotApi.running(clock=(theirs := StillClock())) as api:
        clock = StillClock(theirs.time() - 7200)
        async with running_telegram(tmp_path, api=api, clock=clock) as telegram:
            ask, other = await two_open(telegram)
            theirs.advance(5)
            held = await telegram.out_of_reach()
            sent = telegram.phone.say("for the other")
            theirs.advance(5)
            await answer_elsewhere(telegram, other)
            await telegram.current(other)
            held.release()
            await telegram.sees(lambda card: card.reply_to == sent.id)
            assert (await telegram.now(ask)).open
