"""Who may answer, and what everybody else gets: nothing."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.channels.chat import notices
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Status
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, data_of, read, running_telegram, waiting
from tests.telegram_html import write

ANONYMOUS = 1_087_968_824
"""Telegram's own account for admins who hide behind their group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A group of Ada and Bob, who may answer, and Eve, who may not."""

    telegram: Telegram
    bob: Phone
    eve: Phone


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada, bob, eve = (api.person(name) for name in ("Ada", "Bob", "Eve"))
        group = api.group("team", ada, bob, eve)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada), allowed=[bob]
        ) as telegram:
            yield Team(telegram=telegram, bob=group.phone(bob), eve=group.phone(eve))


def ignored(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [it.getMessage() for it in caplog.records if "was ignored" in it.getMessage()]


# ── several who may ───────────────────────────────────────────────────────────────────────────────


async def test_the_first_answer_wins_and_the_summary_says_whose_it_was(team: Team) -> None:
    telegram = team.telegram
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    postgres, sqlite = card.keys[0].data, card.keys[1].data
    assert postgres
    assert sqlite
    assert await telegram.press(card, sqlite, phone=team.bob) == "Sent: SQLite"
    at = clock_time(telegram.clock.time())
    assert await telegram.press(card, postgres) == f"Already answered at {at}."
    assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)
    card = await telegram.current(ask)
    assert read(card).startswith("✅ Answered · shop-api")
    assert f"Bob answered, {at} · on its way" in read(card)
    assert card.rows == ()


async def test_a_form_can_be_filled_by_two(team: Team) -> None:
    telegram = team.telegram
    ask = await telegram.desk.ask(CONFIRM, SELECT)
    await telegram.step(ask, "Yes")
    card = await telegram.current(ask)
    await telegram.tap(card, "2 ·", phone=team.bob)
    review = await telegram.current(ask)
    assert "Nothing has been sent yet.\nLast change: Bob\n" in read(review)
    await telegram.tap(review, "Send answers")
    assert [answer.values for answer in await telegram.answers(ask)] == [("yes",), ("SQLite",)]


async def test_you_here_is_said_only_where_you_are_alone_with_the_bot(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada, bob = api.person("Ada"), api.person("Bob")
        mine, group, his = api.private(ada), api.group("team", ada, bob), api.private(bob)
        async with running_telegram(
            tmp_path,
            api=api,
            clock=clock,
            chat=mine,
            phone=mine.phone(ada),
            allowed=[bob],
            chats=[mine.id, group.id, his.id],
        ) as telegram:
            ask = await telegram.desk.ask(CONFIRM)
            await telegram.card(ask, surface=1, phone=group.phone(bob))
            await telegram.card(ask, surface=2, phone=his.phone(bob))
            await telegram.step(ask, "Yes")
            here = await telegram.current(ask)
            there = await telegram.current(ask, surface=1, phone=group.phone(bob))
            elsewhere = await telegram.current(ask, surface=2, phone=his.phone(bob))
            assert "You answered here, " in read(here)
            for card in (there, elsewhere):
                assert "Ada answered, " in read(card)
                assert read(card).startswith("✅ Answered · shop-api")
            assert (here.rows, there.rows, elsewhere.rows) == ((), (), ())


# ── strangers ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_stranger_in_the_group_gets_silence_in_every_way_in(
    team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    telegram = team.telegram
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    before = telegram.phone.messages
    for key in card.keys:
        assert key.data
        assert await telegram.press(card, key.data, phone=team.eve) == ""
    theirs = [
        await telegram.say("fix: evil", reply_to=card, phone=team.eve),
        await telegram.say("/pending", phone=team.eve),
        await telegram.say("/start p_7Q4K2MXD", phone=team.eve),
        await telegram.say("/cancel", phone=team.eve),
    ]
    assert await telegram.now(ask) == ask
    shown = [it for it in telegram.phone.messages if it.id not in {t.id for t in theirs}]
    assert shown == list(before)
    assert all(it.reactions == () for it in telegram.phone.messages)
    (line,) = ignored(caplog)
    assert str(team.eve.person.id) in line


async def test_a_stranger_in_a_chat_of_their_own_gets_silence(
    telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    eve = telegram.api.person("Eve")
    phone = telegram.api.private(eve).phone(eve)
    for text in ("hello", "/start", "/start p_7Q4K2MXD", "/pending", "/help"):
        await telegram.say(text, phone=phone)
    assert telegram.said(phone) == []
    (line,) = ignored(caplog)
    assert str(eve.id) in line


async def test_strangers_do_not_fill_the_log(
    telegram: Telegram, caplog: pytest.LogCaptureFixture
) -> None:
    eve, mallory = telegram.api.person("Eve"), telegram.api.person("Mallory")
    phones = [telegram.api.private(person).phone(person) for person in (eve, mallory)]
    for at_most in (1, 2, 2, 2):
        for phone in phones:
            await telegram.say("hello", phone=phone)
        assert len(ignored(caplog)) == at_most
        telegram.clock.advance(61)
    lines = ignored(caplog)
    assert len(lines) == 2
    assert str(eve.id) in lines[0]
    assert str(mallory.id) in lines[1]


async def test_a_stranger_with_a_button_of_ours_learns_nothing(telegram: Telegram) -> None:
    """Data of a card can be sent for any message, in any chat."""
    ask = await telegram.desk.ask(SELECT)
    card = await telegram.card(ask)
    eve = telegram.api.person("Eve")
    phone = telegram.api.private(eve).phone(eve)
    own = phone.say("something of mine")
    for key in card.keys:
        assert key.data
        assert await telegram.press(own, key.data, phone=phone) == ""
    assert await telegram.now(ask) == ask
    assert telegram.said(phone) == []


async def test_somebody_who_writes_as_the_group_is_nobody(
    team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    telegram = team.telegram
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    chat = {"id": telegram.chat.id, "type": "group", "title": "team"}
    bot = {"id": ANONYMOUS, "is_bot": True, "first_name": "Group"}
    replied = {"message_id": card.id, "date": card.date, "chat": chat, "text": card.text}
    replied["from"] = telegram.api.bot.json()
    for number, sender in enumerate(({"from": bot, "sender_chat": chat}, {"sender_chat": chat})):
        telegram.api.raw_update(
            {
                "message": {
                    "message_id": card.id + 100 + number,
                    "date": int(telegram.clock.time()) + 5,
                    "chat": chat,
                    "text": "fix: hidden",
                    "reply_to_message": replied,
                    **sender,
                }
            }
        )
    await telegram.dealt_with()
    assert await telegram.now(ask) == ask
    assert len(telegram.said()) == 1
    # Its number is everybody's: nobody should be told to put it into the allowlist.
    assert str(ANONYMOUS) not in caplog.text
    assert "the person 0 " not in caplog.text


async def test_a_channels_posts_are_not_read(telegram: Telegram) -> None:
    channel = {"id": -1001234567890, "type": "channel", "title": "news"}
    post = {"message_id": 5, "date": int(telegram.clock.time()), "chat": channel, "text": "hi"}
    telegram.api.raw_update({"channel_post": {**post, "sender_chat": channel}})
    await telegram.dealt_with()
    assert not telegram.api.calls("sendMessage")


async def test_an_allowed_person_in_a_chat_without_questions_is_told_how_to_get_them(
    tmp_path: Path,
) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada = api.person("Ada")
        mine, group = api.private(ada), api.group("team", ada)
        other = api.group("other", ada, privacy=False)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada)
        ) as telegram:
            ask = await telegram.desk.ask(CONFIRM)
            await telegram.card(ask)
            await telegram.say("/start", phone=mine.phone(ada))
            told = await waiting(mine.phone(ada).sees)("Questions do not arrive in this chat.")
            assert str(mine.id) in told.text
            assert told.html == write(notices.not_here(str(mine.id), "telegram.chat_id"), now=0.0)
            await telegram.say("lunch?", phone=other.phone(ada))
            await telegram.say("/start", phone=other.phone(ada))
            told = await waiting(other.phone(ada).sees)("Questions do not arrive in this chat.")
            assert str(other.id) in told.text
            assert len(telegram.said(other.phone(ada))) == 1


async def test_a_button_pressed_in_a_chat_without_questions_does_nothing(
    tmp_path: Path,
) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        ada = api.person("Ada")
        mine, group = api.private(ada), api.group("team", ada)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(ada)
        ) as telegram:
            ask = await telegram.desk.ask(CONFIRM)
            yes = data_of(await telegram.card(ask), 0)
            own = mine.phone(ada).say("x")
            assert await telegram.press(own, yes, phone=mine.phone(ada)) == ""
            assert await telegram.now(ask) == ask


async def test_an_empty_allowlist_means_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with running_telegram(tmp_path, nobody=True) as telegram:
        ask = await telegram.desk.ask(CONFIRM)
        card = await telegram.card(ask)
        assert await telegram.tap(card, "Yes") == ""
        await telegram.say("yes", reply_to=card)
        await telegram.say("/pending")
        assert (await telegram.now(ask)).status is Status.OPEN
        assert len(telegram.said()) == 1
        assert "telegram.allowed_users is empty" in (telegram.channel.trouble or "")
        (line,) = ignored(caplog)
        assert str(telegram.ada.id) in line


async def test_a_name_with_tricks_in_it_stays_in_its_place(tmp_path: Path) -> None:
    with BotApi.running(clock=(clock := StillClock())) as api:
        mallory = api.person("<b>\u202eadA</b>\n✅ Answered · nobody")
        group = api.group("team", mallory)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=group, phone=group.phone(mallory)
        ) as telegram:
            ask = await telegram.desk.ask(CONFIRM)
            card = await telegram.step(ask, "Yes")
            last = read(card).splitlines()[-1]
            assert last.startswith("<b>⟨U+202E⟩adA</b> ✅ Answered")
            assert "\u202e" not in card.text
