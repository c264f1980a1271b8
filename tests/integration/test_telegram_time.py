"""A card as time passes: soon, reminded, moved, timed out and answered all the same, left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.callback_data import Tap, encode
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, CallName, Person
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, data_of, read, running_telegram, waiting

MINUTE = 60.0
HOUR = 60 * MINUTE
WEB = Person(name="Ada", channel="web")


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    async with running_telegram(tmp_path, policy=Policy(max_timeout=2 * HOUR)) as telegram:
        yield telegram


def ends(ask: Ask) -> str:
    assert ask.deadline
    return clock_time(ask.deadline)


def reminders(telegram: Telegram) -> list[Card]:
    return [card for card in telegram.phone.messages if card.text.startswith("⏳")]


async def pass_until(telegram: Telegram, ask: Ask, *, left: float) -> None:
    """Let time pass until so much is left."""
    deadline = (await telegram.now(ask)).deadline
    assert deadline
    telegram.clock.advance(deadline - left - telegram.clock.time())


# ── soon, and the reminder ────────────────────────────────────────────────────────────────────────


async def test_the_last_line_becomes_bold_when_time_runs_out(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=5 * MINUTE)
    card = await telegram.card(ask)
    assert read(card).endswith(f"\nEnds {ends(ask)}")
    await pass_until(telegram, ask, left=MINUTE)
    card = await telegram.until(card, lambda card: "soon." in card.text)
    assert card.parts("bold")[-1] == f"Ends {ends(ask)}, soon."
    assert len(telegram.said()) == 1


async def test_a_reply_to_the_reminder_answers(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT, timeout=HOUR)
    await telegram.card(ask)
    telegram.clock.advance(15 * MINUTE)
    reminder = await telegram.sees("⏳")
    telegram.clock.advance(5)
    await telegram.say("sqlite", reply_to=reminder)
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


async def test_a_reminder_that_was_due_while_no_hub_was_there_comes_afterwards(
    tmp_path: Path,
) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        async with running_telegram(tmp_path, api=api, clock=clock) as telegram:
            ask = await telegram.desk.ask(CONFIRM, timeout=HOUR)
            await telegram.card(ask)
        clock.advance(55 * MINUTE)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=telegram.chat, phone=telegram.phone
        ) as again:
            assert not (await again.sees("⏳")).silent
            await again.desk.inbox.redraw(ask.id)
            await again.current(ask)
            assert len(reminders(again)) == 1


# ── more time ─────────────────────────────────────────────────────────────────────────────────────


async def test_more_time_can_be_had_up_to_the_latest_allowed(tmp_path: Path) -> None:
    policy = Policy(max_timeout=25 * MINUTE, nights=Nights(NightPolicy(reminders=())))
    async with running_telegram(tmp_path, policy=policy) as telegram:
        ask = await telegram.desk.ask(CONFIRM, timeout=5 * MINUTE)
        card = await telegram.step(ask, "More time…")
        back = clock_time(ask.created_at + 10 * MINUTE)
        assert card.rows == (("+15 min",), (f"Snooze until {back}",), ("‹ Back",))
        assert "For more time, raise max_timeout in config.toml." in card.text
        extend = next(key.data for key in card.keys if key.text == "+15 min")
        assert extend
        first = clock_time(ask.created_at + 20 * MINUTE)
        assert await telegram.press(card, extend) == f"Ends {first} now."
        assert await telegram.press(card, extend) == form.STALE.why, "the second of two taps"
        latest = clock_time(ask.created_at + 25 * MINUTE)
        card = await telegram.step(ask, "More time…")
        assert card.rows == ((f"Until {latest}",), (f"Snooze until {back}",), ("‹ Back",))
        assert await telegram.tap(card, "Until") == f"Ends {latest} now."
        card = await telegram.current(ask)
        assert card.rows == (("Yes", "No"), ("Ask back…", "Cancel…"))
        old = encode(Tap(ask_id=ask.id, question=0, action=form.Extend(minutes=15)))
        assert await telegram.press(card, old) == f"{latest} is the latest allowed."


async def test_what_was_drawn_for_another_ask_or_time_changes_nothing(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=HOUR)
    other = await telegram.desk.ask(SELECT, timeout=HOUR)
    card, minute = await telegram.card(ask), int(telegram.clock.time() // 60)
    before = [await telegram.now(each) for each in (ask, other)]
    for action, why in (
        (form.SnoozeUntil(step=0, until=minute - 1), "That time has passed."),
        (form.SnoozeUntil(step=7, until=minute + 60), form.STALE.why),
        (form.Snooze(step=0, minutes=10**9), "It can be snoozed for 7 days at most."),
        (form.ExtendUntil(step=0, until=10**12), "is the latest allowed."),
    ):
        tapped = encode(Tap(ask_id=ask.id, question=0, action=action))
        assert (await telegram.press(card, tapped)).endswith(why)
    assert [await telegram.now(each) for each in (ask, other)] == before
    named = encode(Tap(ask_id=ask.id, question=0, action=form.ShowNow(step=0)))[:22]
    for forged in ("m0.0.x", "N0.0.-5", "U0.0.1e3", "N0.00.60", "N0.0"):
        await telegram.press(card, named + forged)
    assert [await telegram.now(each) for each in (ask, other)] == before


async def test_a_snoozed_question_is_out_of_the_way_until_the_list_brings_it_back(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT, timeout=HOUR)
    card = await telegram.step(ask, "More time…", "Snooze 1 h")
    until = clock_time(telegram.clock.time() + HOUR)
    assert read(card) == (f"💤 Snoozed until {until}. It comes back then.\nshop-api: {TEXT.text}")
    assert card.rows == (("Show now",),)
    telegram.clock.advance(5)
    await telegram.say("words to nobody")
    await telegram.sees("Nothing is waiting.")
    assert (await telegram.now(ask)).open
    await telegram.say("/pending")
    listed = await telegram.sees("1 question is open")
    assert f"snoozed until {until}" in read(listed)
    await telegram.tap(listed, "1")
    await telegram.sees("Type your answer and send it.")
    back = await telegram.current(ask)
    assert back.id != card.id
    telegram.clock.advance(5)
    await telegram.say("feat: back again", reply_to=back)
    assert await telegram.answers(ask) == (Answer(values=("feat: back again",)),)


# ── too late ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_timed_out_ask_can_be_answered_anyway(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=5 * MINUTE)
    yes = data_of(await telegram.card(ask), 0)
    await telegram.desk.time_out(ask)
    card = await telegram.current(ask)
    assert read(card) == (
        "⌛ Not answered in time · shop-api\n\nDelete the old fixtures?\n\n"
        f"Ended {ends(ask)}. The agent was told that nobody answered."
    )
    assert card.rows == (("Answer anyway",),)
    assert await telegram.press(card, yes) == f"Timed out at {ends(ask)}."
    card = await telegram.step(ask, "Answer anyway")
    assert read(card).startswith("⌛ Late answer · shop-api\n\nDelete the old fixtures?")
    assert "The agent has moved on. Your answer is kept for it." in card.text
    assert card.rows == (("Yes", "No"),)
    assert await telegram.tap(card, "No") == "Kept: No"
    card = await telegram.current(ask)
    assert read(card).startswith(
        "✅ Answered · shop-api\n\nDelete the old fixtures?\nNo\n\nThe agent"
    )
    assert "Your answer is kept until" in read(card)
    assert card.rows == (("Discard",),)


async def test_a_late_form_takes_a_plain_text(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT, timeout=5 * MINUTE)
    await telegram.card(ask)
    await telegram.desk.time_out(ask)
    card = await telegram.step(ask, "Answer anyway")
    assert "Type your answer and send it." in card.text
    await telegram.sees(lambda card: card.force_reply is not None)
    telegram.clock.advance(5)
    await telegram.say("fix: better late")
    assert await telegram.answers(ask) == (Answer(values=("fix: better late",)),)


async def test_a_reply_to_a_timed_out_card_is_a_late_answer(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT, timeout=5 * MINUTE)
    await telegram.card(ask)
    await telegram.desk.time_out(ask)
    card = await telegram.current(ask)
    telegram.clock.advance(60)
    sent = await telegram.say("1", reply_to=card)
    assert await telegram.answers(ask) == (Answer(values=("PostgreSQL in Docker (recommended)",)),)
    assert read(await telegram.current(ask)).startswith("✅ Answered · shop-api")
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


async def test_a_reply_to_an_answered_card_says_how_it_ended(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    held = telegram.api.hold("editMessageText")
    await telegram.desk.inbox.put(ask.id, form.Choose(step=0, option=1), person=WEB)
    telegram.phone.say("1", reply_to=card)
    told = await telegram.sees("Already answered at")
    assert told.silent
    held.release()
    await telegram.dealt_with()
    telegram.clock.advance(60)
    await telegram.say("1", reply_to=await telegram.current(ask))
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)
    ended = [text for text in telegram.said() if text.startswith("Already answered at")]
    assert len(ended) == 2


async def test_the_prompt_goes_when_a_text_question_times_out(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT, timeout=5 * MINUTE)
    await telegram.card(ask)
    prompt = await telegram.sees("Your answer for")
    await telegram.desk.time_out(ask)
    await telegram.gone(prompt)


# ── left alone ────────────────────────────────────────────────────────────────────────────────────


async def test_the_card_says_when_the_agent_has_stopped_waiting_and_when_it_is_back(
    telegram: Telegram,
) -> None:
    orphaned = "The agent is not waiting now. An answer is kept for its next call."
    ask = await telegram.desk.ask(CONFIRM, timeout=HOUR)
    card = await telegram.card(ask)
    await telegram.desk.broker.waiting_calls.cancel(CallName(link="link", request="1"))
    telegram.clock.advance(121)
    card = await telegram.until(card, lambda card: orphaned in card.text)
    assert card.parts("italic") == (orphaned,)
    again = await telegram.desk.ask(CONFIRM, timeout=HOUR)
    assert again.id == ask.id
    await telegram.until(card, lambda card: orphaned not in card.text)
    assert len(telegram.said()) == 1


async def test_an_answer_for_an_agent_that_has_gone_is_kept_at_once(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=HOUR)
    await telegram.card(ask)
    await telegram.desk.broker.waiting_calls.cancel(CallName(link="link", request="1"))
    card = await telegram.step(ask, "Yes")
    assert read(card).startswith("✅ Answered · shop-api")


async def test_an_answer_that_was_kept_is_handed_over_with_the_next_identical_ask(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM, timeout=5 * MINUTE)
    await telegram.card(ask)
    await telegram.desk.time_out(ask)
    await telegram.step(ask, "Answer anyway", "Yes")
    await telegram.desk.broker.waiting_calls.delivered(CallName(link="link", request="1"))
    again = await telegram.desk.ask(CONFIRM)
    assert again.id == ask.id
    await telegram.desk.broker.waiting_calls.delivered(CallName(link="link", request="2"))
    card = await telegram.current(ask)
    assert read(card).startswith("✅ Answered · shop-api")
    at = clock_time(telegram.clock.time())
    assert read(card).endswith(f"delivered {at}")
    assert card.rows == ()
    assert len(telegram.said()) == 1


async def test_a_withdrawn_question_says_so(tmp_path: Path) -> None:
    async with running_telegram(tmp_path, policy=Policy(withdraw_on_cancel=True)) as telegram:
        ask = await telegram.desk.ask(CONFIRM)
        yes = data_of(await telegram.card(ask), 0)
        await telegram.desk.broker.waiting_calls.cancel(CallName(link="link", request="1"))
        card = await telegram.current(ask)
        assert read(card).startswith("🚫 Withdrawn · shop-api")
        assert card.rows == ()
        at = clock_time(telegram.clock.time())
        assert await telegram.press(card, yes) == f"Withdrawn at {at}."


async def test_a_declared_default_is_shown_from_the_start_and_ends_the_ask(
    tmp_path: Path,
) -> None:
    question = replace(SELECT, on_timeout=Answer(values=("SQLite",)))
    async with running_telegram(tmp_path, policy=Policy(declared_defaults=True)) as telegram:
        ask = await telegram.desk.ask(question)
        card = await telegram.card(ask)
        assert f"Used if nobody answers by {ends(ask)}: SQLite" in read(card)
        await telegram.desk.time_out(ask)
        card = await telegram.current(ask)
        assert "Used, as agreed beforehand: SQLite" in read(card)
        assert card.rows == ()
        await telegram.say("1", reply_to=card)
        await telegram.sees(f"Timed out at {ends(ask)}.")
        assert (await telegram.now(ask)).late is None


async def test_a_prompt_that_cannot_be_sent_does_not_leave_an_open_card_behind(
    telegram: Telegram,
) -> None:
    telegram.api.fail(
        "sendMessage", status=500, when=lambda params: "force_reply" in str(params), times=1
    )
    ask = await telegram.desk.ask(TEXT, timeout=HOUR)
    card = await telegram.sees("What should the commit say?")
    await waiting(telegram.api.until)(
        lambda api: any(call.status == 500 for call in api.calls("sendMessage"))
    )
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("fix",)),), person=WEB)
    await telegram.in_time(
        telegram.until(card, lambda card: "Answered in the web inbox" in card.text)
    )
