"""One question in a private chat: what the card shows, what its buttons do, and what is left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.callback_data import Tap, encode
from chatbridge.channels.chat.keyboard import OFF, ON
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, CallName, Option, Person, Status
from tests.fakes.inbox import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, data_of, read, running_telegram

WEB = Person(name="Ada", channel="web")
TEN = replace(MULTI, options=tuple(Option(label=f"Check {i}") for i in range(10)))


def at_now(telegram: Telegram) -> str:
    return clock_time(telegram.clock.time())


# ── answering ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_select_is_answered_with_one_tap_and_becomes_a_summary(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    assert read(card).startswith("❓ shop-api · Claude Code\n\nWhich database")
    assert card.rows == (
        ("1 · PostgreSQL in Docker",),
        ("2 · SQLite",),
        ("Other…",),
        ("More time…", "Ask back…", "Cancel…"),
    )
    assert not card.silent
    assert await telegram.tap(card, "2 ·") == "Sent: SQLite"
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)
    ended = await telegram.current(ask)
    assert ended.id == card.id
    assert ended.rows == ()
    assert read(ended) == (
        "✅ Answered · shop-api\n\nWhich database should the integration tests use?\nSQLite\n\n"
        f"You answered here, {at_now(telegram)} · on its way"
    )


async def test_the_summary_says_that_the_agent_has_it_only_once_it_has(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    assert (await telegram.card(ask)).rows[0] == ("Yes", "No")
    card = await telegram.step(ask, "Yes")
    assert read(card).endswith("on its way")
    await telegram.desk.broker.waiting_calls.delivered(CallName(link="link", request="1"))
    card = await telegram.current(ask)
    assert read(card).endswith("delivered")


async def test_an_answer_that_no_agent_took_is_kept_and_can_be_discarded(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.step(ask, "No")
    telegram.clock.advance(6)
    card = await telegram.until(card, lambda card: "kept until" in card.text)
    assert "Your answer is kept until " in card.text
    assert card.rows == (("Discard",),)
    assert await telegram.tap(card, "Discard") == "Discarded."
    card = await telegram.current(ask)
    assert read(card).startswith("🚫 Discarded · shop-api")
    assert card.rows == ()


async def test_discarding_what_the_agent_has_got_meanwhile_says_so(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.step(ask, "No")
    telegram.clock.advance(6)
    card = await telegram.until(card, lambda card: "kept until" in card.text)
    discard = data_of(card, 0)
    await telegram.desk.broker.waiting_calls.delivered(CallName(link="link", request="1"))
    assert (await telegram.press(card, discard)).startswith("Already answered at")
    assert not (await telegram.now(ask)).discarded


async def test_a_multi_select_shows_what_is_picked_and_ends_with_done(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI)
    card = await telegram.card(ask)
    assert "Choose one or more, then Done." in card.text
    assert await telegram.tap(card, "Done (0)") == form.NONE_PICKED.why
    card = await telegram.step(ask, f"{OFF} Load test", f"{OFF} Unit tests")
    picked = [key.text for key in card.keys if key.style == "success"]
    assert picked == [f"{ON} Unit tests", f"{ON} Load test"]
    assert card.keys[-4].text == "Done (2)"
    assert card.keys[-4].style == "primary"
    card = await telegram.step(ask, f"{ON} Unit tests")
    assert await telegram.tap(card, "Done (1)") == "Sent: Load test"
    assert await telegram.answers(ask) == (Answer(values=("Load test",)),)


async def test_ten_toggles_tapped_without_waiting_for_the_card_all_count(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEN)
    card = await telegram.card(ask)
    held = telegram.api.hold("editMessageText", times=1)
    taps = [telegram.phone.tap(card, f"{OFF} Check {i}") for i in range(10)]
    toasts = [await asyncio.to_thread(tap.answered) for tap in taps]
    assert toasts == [""] * 10
    held.release()
    card = await telegram.current(ask)
    assert [key.text[0] for key in card.keys[:10]] == [ON[0]] * 10
    assert await telegram.tap(card, "Done (10)") != ""
    assert (await telegram.answers(ask))[0].values == tuple(f"Check {i}" for i in range(10))


async def test_a_toggle_drawn_earlier_sets_the_state_that_it_showed(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI)
    first = await telegram.card(ask)
    on = data_of(first, 0)
    for _ in range(3):
        await telegram.press(first, on)
    assert (await telegram.now(ask)).draft.entries[0].picked == (0,)
    second = await telegram.current(ask)
    off = data_of(second, 0)
    await telegram.press(second, off)
    await telegram.press(second, off)
    assert (await telegram.now(ask)).draft.entries[0].picked == ()


async def test_an_optional_text_can_be_skipped(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(OPTIONAL)
    assert await telegram.tap(await telegram.card(ask), "Skip") == "Sent."
    assert await telegram.answers(ask) == (Answer(),)


# ── Other… ────────────────────────────────────────────────────────────────────────────────────────


async def test_other_asks_for_a_text_and_leads_back_to_the_options(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Other…")
    assert "Write your own answer." in card.text
    assert card.rows == (("‹ Back to the options",),)
    prompt = await telegram.sees("Your answer for")
    assert prompt.force_reply == "Your answer"
    assert prompt.silent
    assert prompt.reply_to == card.id
    card = await telegram.step(ask, "‹ Back")
    assert card.rows[0] == ("1 · PostgreSQL in Docker",)
    await telegram.gone(prompt)


async def test_a_text_after_other_is_the_answer(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    await telegram.step(ask, "Other…")
    prompt = await telegram.sees("Your answer for")
    sent = await telegram.say("2", reply_to=prompt)
    assert await telegram.answers(ask) == (Answer(custom_text="2"),)
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))
    await telegram.gone(prompt)
    assert "\n2\n" in read(await telegram.current(ask))


async def test_the_other_of_a_multi_select_joins_what_is_picked(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI)
    await telegram.step(ask, f"{OFF} Unit tests", "Other…")
    await telegram.say("And the linter", reply_to=await telegram.sees("Your answer for"))
    card = await telegram.current(ask)
    dropped = f"{ON} Other: And the linter"
    assert (dropped,) in card.rows
    card = await telegram.step(ask, dropped)
    assert ("Other…",) in card.rows
    await telegram.step(ask, "Other…")
    await telegram.say("All of them", reply_to=await telegram.sees("Your answer for"))
    await telegram.step(ask, "Done (2)")
    assert await telegram.answers(ask) == (
        Answer(values=("Unit tests",), custom_text="All of them"),
    )


# ── Cancel… ───────────────────────────────────────────────────────────────────────────────────────


async def test_cancel_asks_first_and_can_be_taken_back(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Cancel…")
    assert "Cancel this question?" in card.text
    assert "Send a reason as text, or:" in card.text
    assert card.rows == (("‹ Keep it open",), ("Cancel without a reason",))
    card = await telegram.step(ask, "‹ Keep")
    assert "Cancel this question?" not in card.text
    assert (await telegram.now(ask)).open


async def test_cancelled_without_a_reason(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Cancel…")
    assert await telegram.tap(card, "Cancel without") == "Cancelled."
    card = await telegram.current(ask)
    assert read(card).startswith("🚫 Cancelled · shop-api")
    assert read(card).endswith(f"You cancelled it here, {at_now(telegram)} · the agent was told")
    assert card.rows == ()


@pytest.mark.parametrize("replies", [True, False], ids=["a reply", "a plain text"])
async def test_a_text_on_the_cancel_screen_is_the_reason(telegram: Telegram, replies: bool) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.step(ask, "Cancel…")
    telegram.clock.advance(2)
    sent = await telegram.say("Not today", reply_to=card if replies else None)
    ended = await telegram.now(ask)
    assert ended.status is Status.CANCELLED
    assert ended.outcome
    assert ended.outcome.reason == "Not today"
    assert "The agent was told: “Not today”" in read(await telegram.current(ask))
    await telegram.until(sent, lambda sent: sent.reactions == ("👍",))


# ── taps that come too late, or from elsewhere ────────────────────────────────────────────────────


async def test_an_answer_from_the_web_inbox_retires_the_card(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    choose = data_of(card, 0)
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=WEB)
    card = await telegram.current(ask)
    assert read(card).startswith("✅ Answered · shop-api")
    assert f"Answered in the web inbox, {at_now(telegram)}" in read(card)
    assert card.rows == ()
    assert await telegram.press(card, choose) == f"Already answered at {at_now(telegram)}."
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)


@pytest.mark.parametrize("button", ["Write answer…", "Other…", "More time…", "Cancel…"])
async def test_every_button_of_an_ended_ask_says_how_it_ended(
    telegram: Telegram, button: str
) -> None:
    other = await telegram.desk.ask(TEXT, title="Another one that waits for text")
    await telegram.card(other)
    ask = await telegram.desk.ask(SELECT if button == "Other…" else TEXT)
    card = await telegram.card(ask)
    data = next(key.data for key in card.keys if key.text == button)
    assert data
    await telegram.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=WEB)
    ended = await telegram.current(ask)
    assert await telegram.press(ended, data) == f"Already answered at {at_now(telegram)}."
    assert await telegram.current(ask) == ended


async def test_a_tap_for_an_ask_that_is_unknown_here_says_so(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    foreign = encode(
        Tap(
            ask_id="0b2c5f1e-8a34-4d6b-9f10-3c5d7e9a1b2c",
            question=0,
            action=form.Choose(step=0, option=0),
        )
    )
    assert await telegram.press(card, foreign) == "This question is no longer here."
    assert await telegram.press(card, "garbage") == "This question is no longer here."
    assert (await telegram.now(ask)).open


async def test_a_tap_of_another_question_with_the_same_step_is_refused(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM, CONFIRM)
    card = await telegram.card(ask)
    forged = encode(Tap(ask_id=ask.id, question=1, action=form.Choose(step=0, option=0)))
    assert await telegram.press(card, forged) == form.STALE.why
    assert (await telegram.now(ask)).draft == ask.draft


# ── a card that is not where it should be ─────────────────────────────────────────────────────────


async def test_a_deleted_card_is_posted_again_with_the_next_change(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(MULTI)
    first = await telegram.card(ask)
    on = data_of(first, 1)
    telegram.phone.delete(first)
    await telegram.press(first, on)
    second = await telegram.current(ask)
    assert second.id != first.id
    assert f"{ON} Contract tests" in [key.text for key in second.keys]
    assert not second.silent
    await telegram.step(ask, "Done (1)")
    assert await telegram.answers(ask) == (Answer(values=("Contract tests",)),)


async def _twice(telegram: Telegram) -> tuple[Ask, Card, Card]:
    """An ask whose card was sent twice, because the answer to the first got lost."""
    telegram.api.cut("sendMessage", after_effect=True)
    ask = await telegram.desk.ask(MULTI, timeout=1500)
    second = await telegram.in_time(telegram.card(ask))
    first = next(card for card in telegram.phone.messages if card.from_bot)
    assert first.id < second.id
    return ask, first, second


async def test_a_card_that_was_sent_twice_works_on_both(telegram: Telegram) -> None:
    ask, first, second = await _twice(telegram)
    assert await telegram.tap(first, f"{OFF} Unit tests") == ""
    await telegram.gone(first)
    assert await telegram.tap(second, f"{OFF} Load test") == ""
    await telegram.step(ask, "Done (2)")
    assert (await telegram.answers(ask))[0].values == ("Unit tests", "Load test")


async def test_a_reply_to_the_stray_card_is_understood(telegram: Telegram) -> None:
    ask, first, second = await _twice(telegram)
    await telegram.say("1, 3", reply_to=first)
    card = await telegram.until(second, lambda card: "Done (2)" in str(card.rows))
    assert f"{ON} Load test" in [key.text for key in card.keys]
    assert (await telegram.now(ask)).draft.entries[0].picked == (0, 2)


async def test_an_older_server_gets_every_card_as_plain_text(tmp_path: Path) -> None:
    with BotApi.running(times=False) as api:
        async with running_telegram(tmp_path, api=api) as telegram:
            ask = await telegram.desk.ask(SELECT)
            card = await telegram.card(ask)
            assert not card.entities
            assert read(card).startswith("❓ shop-api · Claude Code\n\nWhich database")
            assert "Ends " in card.text
            assert await telegram.tap(card, "2 ·") == "Sent: SQLite"
            card = await telegram.current(ask)
            assert read(card).startswith("✅ Answered · shop-api")
            assert card.rows == ()


async def test_act_buttons_of_no_use_any_more_do_nothing(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.card(ask)
    discard = encode(Tap(ask_id=ask.id, question=0, action=AskAction.DISCARD))
    await telegram.press(card, discard)
    assert await telegram.now(ask) == ask
