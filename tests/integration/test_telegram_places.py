"""Where cards go: topics, several chats, and groups that become supergroups."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from chatbridge.core.model import Answer, Ask, Person, Project
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import CONFIRM, SELECT, TEXT, more_time
from tests.fakes.telegram.people import Chat
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, read, running_telegram, waiting

WEB = Person(name="Ada", channel="web")
DOCS = Project(key="/code/docs-site", name="docs-site")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def api(clock: StillClock) -> Iterator[BotApi]:
    with BotApi.running(clock=clock, topics_enabled=True) as api:
        yield api


@asynccontextmanager
async def hub(
    folder: Path, api: BotApi, clock: StillClock, chat: Chat, *, topics: bool = False
) -> AsyncIterator[Telegram]:
    """One hub after the other on the same database; Ada is in the chat."""
    ada = next(person for person in api.service.people.values() if person.name == "Ada")
    async with running_telegram(
        folder, api=api, clock=clock, chat=chat, phone=chat.phone(ada), topics=topics
    ) as telegram:
        yield telegram


# ── topics ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["a forum", "a private chat"])
def forum(request: pytest.FixtureRequest, api: BotApi) -> Chat:
    ada = api.person("Ada")
    if request.param == "a forum":
        return api.group("team", ada, forum=True)
    return api.private(ada, topics=True)


async def test_each_project_has_a_topic_that_a_restart_keeps(
    tmp_path: Path, api: BotApi, clock: StillClock, forum: Chat
) -> None:
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        shop = await telegram.card(await telegram.desk.ask(SELECT))
        docs = await telegram.card(await telegram.desk.ask(CONFIRM, project=DOCS))
        assert {shop.thread, docs.thread} == set(forum.topics)
        assert sorted(forum.topics.values()) == ["docs-site", "shop-api"]
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        ask = await telegram.desk.ask(TEXT)
        card = await telegram.card(ask)
        assert card.thread == shop.thread
        assert len(forum.topics) == 2
        await telegram.say("fix: it", reply_to=card)
        assert await telegram.answers(ask) == (Answer(values=("fix: it",)),)


async def test_what_goes_with_a_card_goes_to_its_topic(
    tmp_path: Path, api: BotApi, clock: StillClock, forum: Chat
) -> None:
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        log = await telegram.desk.files.text("build.log", "red")
        ask = await telegram.desk.ask(SELECT, attachments=(log,))
        card = await telegram.step(ask, "Other…")
        file = await telegram.sees(lambda message: message.document is not None)
        assert file.thread == card.thread
        prompt = await telegram.sees("our answer for")
        assert prompt.thread == card.thread
        assert prompt.thread is not None
        await telegram.say("MariaDB", reply_to=prompt)
        assert await telegram.answers(ask) == (Answer(custom_text="MariaDB"),)


async def test_what_people_say_in_a_topic_that_the_bot_opened_is_not_for_the_bot(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    forum = api.group("team", api.person("Ada"), forum=True, privacy=False)
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        ask = await telegram.desk.ask(TEXT)
        card = await telegram.card(ask)
        clock.advance(5)
        before = telegram.said()
        await telegram.say("lunch?", thread=card.thread)
        assert (await telegram.now(ask)).open
        assert telegram.said() == before


async def test_a_deleted_topic_is_not_made_again(
    tmp_path: Path, api: BotApi, clock: StillClock, forum: Chat
) -> None:
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        lost = await telegram.desk.ask(SELECT)
        await telegram.card(lost)
        (thread,) = forum.topics
        forum.delete_topic(thread)
        ask = await telegram.desk.ask(TEXT)
        card = await telegram.card(ask)
        assert card.thread is None
        if telegram.phone.person.id == forum.id:
            assert (await telegram.sees("Your answer for")).thread is None
        else:
            await telegram.step(ask, "Write answer…")
            assert (await telegram.sees("your answer for")).thread is None
        await more_time(telegram.desk.inbox, lost.id, person=OWNER)
        card = await telegram.current(lost)
        assert card.thread is None
        await telegram.step(lost, "2 ·")
        assert await telegram.answers(lost) == (Answer(values=("SQLite",)),)
    async with hub(tmp_path, api, clock, forum, topics=True) as telegram:
        card = await telegram.card(await telegram.desk.ask(CONFIRM))
        assert card.thread is None
        assert forum.topics == {}
        assert api.calls("sendMessage")[-1].status == 200
        assert sum(call.status == 400 for call in api.calls("sendMessage")) == 1


async def test_without_the_setting_there_are_no_topics(
    tmp_path: Path, api: BotApi, clock: StillClock, forum: Chat
) -> None:
    async with hub(tmp_path, api, clock, forum) as telegram:
        card = await telegram.card(await telegram.desk.ask(SELECT))
        assert card.thread is None
        assert forum.topics == {}


async def test_a_group_without_topics_gets_its_cards_all_the_same(
    tmp_path: Path, api: BotApi, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    group = api.group("team", api.person("Ada"))
    async with hub(tmp_path, api, clock, group, topics=True) as telegram:
        for question in (SELECT, CONFIRM, TEXT):
            card = await telegram.card(await telegram.desk.ask(question))
            assert card.thread is None
    assert caplog.text.count("has no topics") == 1
    assert len(api.calls("createForumTopic")) == 1


async def test_a_group_that_gets_topics_by_becoming_a_supergroup_gets_one_for_the_project(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada = api.person("Ada")
    group = api.group("team", ada)
    async with hub(tmp_path, api, clock, group, topics=True) as telegram:
        before = await telegram.card(await telegram.desk.ask(SELECT))
        assert before.thread is None
        new = group.migrate()
        api.service.chats[new.id].forum = True
        after = await telegram.card(await telegram.desk.ask(CONFIRM), phone=new.phone(ada))
        assert after.thread in new.topics


async def test_a_card_whose_group_moves_while_it_is_being_posted_is_in_the_new_ones_topic(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada = api.person("Ada")
    group = api.group("team", ada)
    async with hub(tmp_path, api, clock, group, topics=True) as telegram:
        held = api.hold("createForumTopic", after_effect=True)
        ask = await telegram.desk.ask(SELECT)
        await waiting(held.arrived)()
        new = group.migrate()
        api.service.chats[new.id].forum = True
        await telegram.dealt_with()
        held.release()
        card = await telegram.card(ask, phone=new.phone(ada))
        assert card.thread in new.topics
        assert len(telegram.said(new.phone(ada))) == 1


# ── several chats ─────────────────────────────────────────────────────────────────────────────────


async def test_one_answer_retires_the_cards_of_all_chats(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada = api.person("Ada")
    mine, group = api.private(ada), api.group("team", ada)
    async with running_telegram(
        tmp_path,
        api=api,
        clock=clock,
        chat=mine,
        phone=mine.phone(ada),
        chats=[mine.id, group.id],
    ) as telegram:
        ask = await telegram.desk.ask(SELECT)
        await telegram.card(ask)
        there = await telegram.card(ask, surface=1, phone=group.phone(ada))
        await telegram.tap(there, "2 ·", phone=group.phone(ada))
        here = await telegram.current(ask)
        assert here.rows == ()
        assert "Ada answered, " in read(here)
        assert "You answered here" not in read(here)
        there = await telegram.current(ask, surface=1, phone=group.phone(ada))
        assert there.rows == ()
        assert read(there).startswith("✅ Answered · shop-api")


async def test_the_prompt_of_other_opens_only_where_it_was_tapped(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada, bob = api.person("Ada"), api.person("Bob")
    hers, his = api.private(ada), api.private(bob)
    async with running_telegram(
        tmp_path,
        api=api,
        clock=clock,
        chat=hers,
        phone=hers.phone(ada),
        chats=[hers.id, his.id],
        allowed=[bob],
    ) as telegram:
        ask = await telegram.desk.ask(SELECT)
        await telegram.card(ask, surface=1, phone=his.phone(bob))
        await telegram.tap(await telegram.card(ask), "Other…")
        await telegram.sees(lambda card: card.force_reply is not None)
        await telegram.current(ask, surface=1, phone=his.phone(bob))
        assert [card for card in his.phone(bob).messages if card.force_reply is not None] == []


async def test_a_chat_that_refuses_the_bot_does_not_hold_up_the_other(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada = api.person("Ada")
    mine, group = api.private(ada), api.group("team", ada)
    group.kick_bot()
    async with running_telegram(
        tmp_path,
        api=api,
        clock=clock,
        chat=mine,
        phone=mine.phone(ada),
        chats=[group.id, mine.id],
    ) as telegram:
        ask = await telegram.desk.ask(SELECT)
        card = await telegram.card(ask, surface=1)
        await telegram.tap(card, "2 ·")
        assert read(await telegram.current(ask, surface=1)).startswith("✅ Answered")
        assert "403" in (telegram.channel.trouble or "")


# ── a group that becomes a supergroup ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("told", [True, False], ids=["told by Telegram", "seen by an error"])
async def test_open_cards_follow_a_group_that_becomes_a_supergroup(
    tmp_path: Path, api: BotApi, clock: StillClock, told: bool
) -> None:
    ada = api.person("Ada")
    group = api.group("team", ada)
    async with hub(tmp_path, api, clock, group) as telegram:
        ask, other = await telegram.desk.ask(SELECT), await telegram.desk.ask(CONFIRM)
        ended = await telegram.desk.ask(TEXT)
        for each in (ask, other, ended):
            await telegram.card(each)
        await telegram.desk.inbox.cancel(ended.id, reason=None, person=WEB)
        await telegram.current(ended)
        if told:
            new = group.migrate()
        else:
            held = api.hold("getUpdates", times=100)
            api.raw_update({})
            await waiting(held.arrived)()
            new = group.migrate()
            await more_time(telegram.desk.inbox, ask.id, person=OWNER)
        phone = new.phone(ada)
        for words in ("Which database", "Delete the old fixtures?"):
            await waiting(phone.sees)(words)
        if not told:
            held.release()
        await telegram.dealt_with()
        card = await telegram.current(ask, phone=phone)
        await telegram.current(other, phone=phone)
        assert len(telegram.said(phone)) == 2
        assert await telegram.tap(card, "2 ·", phone=phone) == "Sent: SQLite"
        card = await telegram.current(ask, phone=phone)
        assert read(card).startswith("✅ Answered · shop-api")
    async with hub(tmp_path, api, clock, group) as telegram:
        late = await telegram.desk.ask(TEXT)
        card = await telegram.card(late, phone=phone)
        await telegram.say("fix: it", reply_to=card, phone=phone)
        assert await telegram.answers(late) == (Answer(values=("fix: it",)),)
        card = await telegram.current(other, phone=phone)
        assert await telegram.tap(card, "Yes", phone=phone) == "Sent: Yes"


async def test_a_new_ask_finds_the_supergroup_by_itself(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    ada = api.person("Ada")
    group = api.group("team", ada)
    new = group.migrate()
    async with hub(tmp_path, api, clock, group) as telegram:
        ask = await telegram.desk.ask(SELECT)
        card = await telegram.card(ask, phone=new.phone(ada))
        assert len(telegram.said(new.phone(ada))) == 1
        assert await telegram.tap(card, "1 ·", phone=new.phone(ada)) != ""


# ── places that this version cannot read ──────────────────────────────────────────────────────────

UNREADABLE = ["", "nonsense", "[]", "{}", '{"chat": "elsewhere", "card": null}', "[" * 100_000]


def garble(folder: Path, ask: Ask, place: str) -> None:
    with closing(sqlite3.connect(folder / "chatbridge.db")) as database, database:
        database.execute(
            "UPDATE posts SET place = ? WHERE ask = (SELECT seq FROM asks WHERE id = ?)",
            (place, ask.id),
        )


@pytest.mark.parametrize("place", UNREADABLE)
async def test_a_card_is_posted_again_if_it_cannot_be_read_where_it_is(
    tmp_path: Path, api: BotApi, clock: StillClock, place: str
) -> None:
    chat = api.private(api.person("Ada"))
    async with hub(tmp_path, api, clock, chat) as telegram:
        ask = await telegram.desk.ask(SELECT)
        old = await telegram.card(ask)
    garble(tmp_path, ask, place)
    async with hub(tmp_path, api, clock, chat) as telegram:
        new = await telegram.sees(lambda card: "Which database" in card.text and card.id != old.id)
        assert await telegram.tap(new, "2 · SQLite") == "Sent: SQLite"
        assert await telegram.answers(ask) == (Answer(values=("SQLite",)),)
        # Whoever taps on the old one is told, and it goes.
        assert "answered" in (await telegram.tap(old, "1 · ")).lower()
        await telegram.gone(old)


async def test_a_question_that_cannot_be_shown_costs_no_other_its_answer(
    tmp_path: Path, api: BotApi, clock: StillClock
) -> None:
    chat = api.private(api.person("Ada"))
    async with hub(tmp_path, api, clock, chat) as telegram:
        lost = await telegram.desk.ask(SELECT, title="Lost")
        await telegram.card(lost)
        text = await telegram.desk.ask(TEXT, title="Text")
        await telegram.card(text)
    garble(tmp_path, lost, "nonsense")
    clock.advance(10.0)
    held = api.hold("sendMessage", when=lambda params: "Lost" in params["text"], times=10)
    async with hub(tmp_path, api, clock, chat) as telegram:
        # Something may have been asked there that nobody knows of, so the bot asks back.
        await telegram.say("fix: a typo")
        asked = await telegram.sees(lambda it: any(key.text == "Use it" for key in it.keys))
        assert await telegram.tap(asked, "Use it") == "Sent: fix: a typo"
        assert await telegram.answers(text) == (Answer(values=("fix: a typo",)),)
        held.release()
        await telegram.sees("Lost")
