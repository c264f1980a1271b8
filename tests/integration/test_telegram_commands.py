"""The bot's commands, in a private chat and in a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.chat.commands import help_text
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Person, Project, QuietRule, Status
from chatbridge.core.nights.hours import NO_HOURS, Period, Switch
from chatbridge.core.nights.policy import NightPolicy
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CONFIRM, SELECT, TEXT, more_time
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram, waiting

WEB = Person(name="Ada", channel="web")
DOCS = Project(key="/code/docs-site", name="docs-site")


@pytest.fixture(params=["group", "forum"])
async def team(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Telegram]:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada = api.person("Ada")
        group = api.group("team", ada, privacy=False, forum=request.param == "forum")
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada)
        ) as telegram:
            yield telegram


async def test_the_menu_lists_the_commands(telegram: Telegram) -> None:
    await waiting(telegram.api.until)(lambda api: api.commands)
    assert [name for name, _ in telegram.api.commands] == [
        "pending",
        "history",
        "cancel",
        "agents",
        "tell",
        "quiet",
        "help",
    ]


# ── /pending ──────────────────────────────────────────────────────────────────────────────────────


async def test_pending_lists_what_is_open_and_shows_one_anew(telegram: Telegram) -> None:
    first = await telegram.desk.ask(SELECT, timeout=300)
    second = await telegram.desk.ask(CONFIRM, timeout=600, project=DOCS)
    old, other = await telegram.card(first), await telegram.card(second)
    await telegram.say("/pending")
    listed = await telegram.sees("questions are open")
    ends = clock_time(first.deadline or 0)
    assert listed.silent
    assert read(listed).splitlines()[:3] == [
        "2 questions are open",
        "",
        f"1. shop-api: Which database should the integration tests use? · ends {ends}",
    ]
    assert listed.rows == (("1", "2"),)
    assert await telegram.tap(listed, "1") == ""
    await telegram.gone(old)
    anew = await telegram.current(first)
    assert anew.id > listed.id
    assert anew.silent, "who asked for it is looking"
    assert anew.text == old.text
    assert not telegram.phone.now(other).deleted
    assert await telegram.tap(anew, "2 ·") == "Sent: SQLite"


async def test_a_card_that_is_shown_anew_takes_its_prompt_along(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    prompt = await telegram.sees("Your answer for")
    await telegram.say("/pending")
    await telegram.tap(await telegram.sees("1 question is open"), "1")
    await telegram.gone(prompt)
    card = await telegram.current(ask)
    again = await telegram.sees("Your answer for")
    assert again.reply_to == card.id
    telegram.clock.advance(1)
    await telegram.say("fix: it", reply_to=again)
    assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


async def test_showing_during_another_change_is_not_forgotten(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    old = await telegram.card(ask)
    await telegram.say("/pending")
    listed = await telegram.sees("1 question is open")
    held = telegram.api.hold("editMessageText")
    await more_time(telegram.desk.inbox, ask.id, person=OWNER)
    await asyncio.to_thread(held.arrived)
    await telegram.tap(listed, "1")
    held.release()
    await telegram.gone(old)
    assert (await telegram.current(ask)).id > listed.id


async def test_what_has_ended_is_not_shown_anew(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(CONFIRM)
    card = await telegram.card(ask)
    await telegram.say("/pending")
    listed = await telegram.sees("1 question is open")
    await telegram.desk.inbox.cancel(ask.id, reason=None, person=WEB)
    await telegram.current(ask)
    at = clock_time(telegram.clock.time())
    assert await telegram.tap(listed, "1") == f"Cancelled at {at}."
    assert (await telegram.current(ask)).id == card.id


async def test_with_nothing_open_pending_says_so(telegram: Telegram) -> None:
    await telegram.say("/pending")
    await telegram.sees("Nothing is waiting.")


# ── /history, /cancel, /help ──────────────────────────────────────────────────────────────────────


async def test_history_shows_how_the_last_ones_ended(telegram: Telegram) -> None:
    await telegram.say("/history")
    await telegram.sees("Nothing has ended yet.")
    for i in range(12):
        telegram.clock.advance(60)  # no agent takes it, so the one before is kept by then
        ask = await telegram.desk.ask(CONFIRM, title=f"Number {i}")
        answer = (Answer(values=("yes",)),)
        await telegram.desk.inbox.answer(ask.id, answer, person=WEB)
    await telegram.say("/history")
    listed = await telegram.sees("Answered: ")
    assert read(listed).count("✅ shop-api: Delete the old fixtures?\n") == 10
    last, first = (clock_time(telegram.clock.time() - ago * 60) for ago in (0, 9))
    assert f"Answered: Yes · {last}" in read(listed)
    assert f"Answered: Yes · {first}" in read(listed)
    assert listed.rows == ()


async def test_cancel_asks_about_the_only_open_one(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(SELECT)
    old = await telegram.card(ask)
    sent = await telegram.say("/cancel")
    await telegram.gone(old)
    card = await telegram.current(ask)
    assert card.id > sent.id
    assert "Cancel this question?" in card.text
    await telegram.say("/cancel")
    again = await telegram.current(ask)
    assert again.id > card.id
    await telegram.tap(again, "Cancel without")
    assert (await telegram.now(ask)).status is Status.CANCELLED


async def test_pending_and_cancel_show_what_is_held_until_quiet_hours_end(
    telegram: Telegram,
) -> None:
    nights, now = telegram.desk.inbox.nights, telegram.clock.time()
    nights.policy = NightPolicy(quiet=QuietRule(hours=NO_HOURS, hold=True))
    nights.switch = Switch(on=True, period=Period(now, now + 3600))
    ask = await telegram.desk.ask(SELECT, timeout=7200)
    await telegram.say("/cancel")
    card = await telegram.sees("Cancel this question?")
    assert card.silent
    await telegram.tap(card, "Cancel without")
    assert (await telegram.now(ask)).status is Status.CANCELLED
    await telegram.desk.ask(CONFIRM, timeout=7200)
    await telegram.say("/pending")
    await telegram.tap(await telegram.sees("question is open"), "1")
    assert (await telegram.sees("Ends 00:41")).silent


async def test_cancel_with_several_open_lists_them(telegram: Telegram) -> None:
    for question in (SELECT, CONFIRM):
        await telegram.card(await telegram.desk.ask(question))
    await telegram.say("/cancel")
    listed = await telegram.sees("2 questions are open")
    assert listed.rows == (("1", "2"),)


@pytest.mark.parametrize("command", ["/help", "/start", "/start p_7Q4K2MXD"])
async def test_start_and_help_say_what_can_be_done(telegram: Telegram, command: str) -> None:
    await telegram.say(command)
    told = await telegram.sees("Your agents' questions arrive here.")
    assert told.text == help_text("/", private=True, files=True)
    assert len(told.text.splitlines()) == 8


async def test_what_only_looks_like_a_command_is_a_text(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    telegram.clock.advance(5)
    await telegram.say("/usr/bin/env")
    assert await telegram.answers(ask) == (Answer(values=("/usr/bin/env",)),)


async def test_a_command_for_another_bot_is_no_answer(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    telegram.clock.advance(5)
    before = telegram.said()
    await telegram.say("/pending@some_other_bot")
    assert (await telegram.now(ask)).open
    assert telegram.said() == before


# ── in a group ────────────────────────────────────────────────────────────────────────────────────


async def test_commands_work_in_a_group_by_the_bots_name(team: Telegram) -> None:
    await team.say(f"/pending@{(team.api.bot.username or '').upper()}")
    await team.sees("Nothing is waiting.")
    await team.say("/help")
    assert (await team.sees("arrive here.")).text == help_text("/", private=False, files=True)


async def test_commands_for_other_bots_are_not_ours(team: Telegram) -> None:
    await team.say("/pending@some_other_bot")
    assert team.said() == []


async def test_commands_work_in_a_topic_and_are_answered_there(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada = api.person("Ada")
        forum = api.group("team", ada, forum=True)
        thread = forum.open_topic("off topic", ada)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=forum, phone=forum.phone(ada)
        ) as telegram:
            await telegram.say("/pending", thread=thread)
            told = await telegram.sees("Nothing is waiting.")
            assert told.thread == thread
