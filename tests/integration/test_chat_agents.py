"""Messages to agents from a chat: whom they are for, their files, and what is said to them.

Over the kit alone. That each service brings them is shown in `tests/contract`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.chat import agents as words
from chatbridge.channels.chat.callback_data import MeantFor, NeverMind, TakeBack, TellAgent, encode
from chatbridge.channels.chat.incoming import Incoming
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.notices import ONLY_TEXT
from chatbridge.channels.chat.poll_loop import FIRST_PAUSE
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import MAX_TEXT, OwnerMessage, Way
from chatbridge.core.model import Agent, CallName, Notice, Project
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.inbox import CLAUDE, SHOP, TEXT
from tests.fakes.memory_chat import ROOM, TOO_LARGE, Deed, MemoryDesk, Sendable, running_memory

WEB = Project(key="/code/web", name="web")
CODEX = Agent(client="codex", name="Codex")
WAITS = "gets it with its next step."


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[MemoryDesk]:
    """Ada's own."""
    async with running_memory(tmp_path) as found:
        yield found


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[MemoryDesk]:
    async with running_memory(tmp_path, private=False) as found:
        yield found


def connect(
    chat: MemoryDesk, project: Project = SHOP, agent: Agent = CLAUDE, link: str = "link"
) -> ConnectedAgent:
    return chat.desk.inbox.messages.agents.seen(link, project, agent)


def leave(chat: MemoryDesk, agent: ConnectedAgent) -> None:
    chat.desk.inbox.messages.agents.closed(agent.link)


def plain(text: str) -> str:
    """Without the signs that keep names apart."""
    return text.replace("\u2068", "").replace("\u2069", "")


def said(chat: MemoryDesk) -> list[str]:
    """What the bot has answered, but for what becomes of messages."""
    return [text for text in chat.said if WAITS not in text]


def sent(chat: MemoryDesk) -> list[tuple[str, str]]:
    """What waits, and for whom."""
    return [(each.link, each.text) for each in chat.desk.inbox.messages.waiting()]


def only(chat: MemoryDesk) -> OwnerMessage:
    (message,) = chat.desk.inbox.messages.waiting()
    return message


def content(path: str) -> bytes:
    return Path(path).read_bytes()


async def shown(chat: MemoryDesk, notice: Notice) -> Incoming:
    """The message of a notice."""
    await chat.desk.shown_on(notice)
    there = chat.channel.chat.messages.items()
    return chat.bots(next(name for name, it in there if notice.message in it.text))


# ── whom it is for ────────────────────────────────────────────────────────────────────────────────


async def test_the_only_agent_is_told_to_the_letter(chat: MemoryDesk) -> None:
    connect(chat)
    message = await chat.send(text="/tell  use tabs:\n\n\tif  x:\n\t\ty")
    assert sent(chat) == [("link", "use tabs:\n\n\tif  x:\n\t\ty")]
    told = only(chat)
    assert (told.by.name, told.by.channel, told.surface) == ("ada", "memory", f"memory:{ROOM}")
    at = WrittenAt.from_text(told.reply_to)
    assert at == WrittenAt(room=ROOM, message=message.id, root=message.id)
    assert (chat.taken, said(chat)) == ([message.id], [])


async def test_a_name_picks_among_several_and_is_no_part_of_the_message(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, CODEX, link="other")
    await chat.send(text="/tell web use\ttabs")
    assert sent(chat) == [("other", "use\ttabs")]


async def test_with_one_agent_its_name_is_part_of_the_message(chat: MemoryDesk) -> None:
    connect(chat, WEB)
    await chat.send(text="/tell web sockets are slow")
    assert sent(chat) == [("link", "web sockets are slow")]


async def test_with_several_and_no_name_a_tap_says_which(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, CODEX, link="other")
    asked = await chat.send(text="/tell use tabs")
    assert (sent(chat), chat.taken) == ([], [])
    assert "Which agent is this for?" in said(chat)[-1]
    assert "use tabs" in said(chat)[-1]
    assert await chat.press("web", about=asked) == ""
    assert sent(chat) == [("other", "use tabs")]
    assert (chat.taken, said(chat)) == ([asked.id], [])  # the question has gone


async def test_neither_sends_nothing(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, link="other")
    asked = await chat.send(text="/tell use tabs")
    await chat.press("Neither", about=asked)
    assert (sent(chat), said(chat)) == ([], [])


async def test_a_second_tap_does_not_send_it_twice(chat: MemoryDesk) -> None:
    shop, web = connect(chat), connect(chat, WEB, link="other")
    asked = await chat.send(text="/tell use tabs")
    name = next(name for name, it in chat.channel.chat.messages.items() if it.answers == asked.id)
    question = chat.bots(name, replied=asked)
    await chat.press("web", about=asked)
    for agent in (web, shop):
        assert await chat.tap_data(question, MeantFor(agent=agent.key)) == words.SENT_ALREADY
    assert sent(chat) == [("other", "use tabs")]


async def test_a_tap_for_an_agent_that_has_left_sends_nothing(chat: MemoryDesk) -> None:
    connect(chat)
    web = connect(chat, WEB, link="other")
    asked = await chat.send(text="/tell use tabs")
    leave(chat, web)
    assert await chat.press("web", about=asked) == words.GONE
    assert sent(chat) == []
    assert await chat.press("shop-api", about=asked) == ""
    assert sent(chat) == [("link", "use tabs")]


async def test_the_name_of_an_agent_that_has_left_is_not_told_to_another(chat: MemoryDesk) -> None:
    connect(chat)
    leave(chat, connect(chat, WEB, link="other"))
    await chat.send(text="/tell web use tabs")
    assert sent(chat) == []
    assert plain(said(chat)[-1]) == "web is no longer connected. Nothing was sent."


async def test_nobody_there_is_said(chat: MemoryDesk) -> None:
    await chat.send(text="/tell use tabs")
    assert said(chat) == ["No agent is connected. Nothing was sent."]


# ── replies ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_reply_goes_to_another_agent_of_the_same_project_only(chat: MemoryDesk) -> None:
    first = connect(chat)
    notice = await shown(chat, await chat.desk.notify("I have finished."))
    connect(chat, WEB, link="other")
    leave(chat, first)
    await chat.send(text="now the tests", to=notice)
    assert (sent(chat), said(chat)[-1]) == ([], words.GONE)
    connect(chat, SHOP, CODEX, link="next")
    await chat.send(text="now the tests", to=notice)
    assert sent(chat) == [("next", "now the tests")]
    connect(chat, SHOP, CLAUDE, link="third")
    await chat.send(text="and the docs", to=notice)
    assert len(sent(chat)) == 1
    assert "Which agent is this for?" in said(chat)[-1]


async def test_a_reply_to_what_has_become_of_a_message_is_for_the_same_agent(
    chat: MemoryDesk,
) -> None:
    connect(chat)
    connect(chat, WEB, link="other")
    status = await status_of(chat, await told(chat, "/tell shop-api use tabs"))
    await chat.send(text="in the tests, too", to=status)
    assert sent(chat)[1:] == [("link", "in the tests, too")]


async def told(chat: MemoryDesk, text: str) -> OwnerMessage:
    await chat.send(text=text)
    return chat.desk.inbox.messages.waiting()[-1]


async def status_of(chat: MemoryDesk, message: OwnerMessage) -> Incoming:
    """The message of the bot's that says what has become of this one."""
    surface = chat.channel.chat.name
    async with asyncio.timeout(20):
        while True:
            for name, posted in [*chat.channel.chat.messages.items()]:
                noted = await chat.desk.inbox.message_at(name, surface=surface)
                if WAITS in posted.text and noted is not None and noted.id == message.id:
                    return chat.bots(name)
            await asyncio.sleep(0.005)


async def test_a_reply_in_a_group_that_is_not_to_the_bot_is_no_message(group: MemoryDesk) -> None:
    connect(group)
    await group.send(text="use tabs", to=Incoming(room=ROOM, id="bobs"))
    await group.send(text="use tabs")
    assert (sent(group), said(group)) == ([], [])


# ── the list, and its buttons ─────────────────────────────────────────────────────────────────────


async def test_agents_lists_who_is_connected_and_what_waits(chat: MemoryDesk) -> None:
    since = clock_time(connect(chat).since)
    chat.clock.advance(60)
    later = clock_time(connect(chat, WEB, CODEX, link="other").since)
    await chat.desk.ask(TEXT)
    await chat.send(text="/tell web use tabs")
    await chat.send(text="/agents")
    listed = next(it for it in chat.channel.chat.messages.values() if "2 agents" in it.text)
    _, _, shop, web = plain(listed.text).split("\n")
    assert (
        shop == f"1. shop-api · Claude Code · since {since} · last seen {since} · 1 open question"
    )
    assert web == f"2. web · Codex · since {later} · last seen {later} · 1 message waits"
    labels = [key.text for row in listed.rows for key in row]
    assert labels == ["Tell shop-api", "Tell web"]


async def test_a_reply_to_the_prompt_is_for_its_agent(chat: MemoryDesk) -> None:
    connect(chat)
    web = connect(chat, WEB, CODEX, link="other")
    listed = await chat.send(text="/agents")
    assert await chat.tap_data(listed, TellAgent(agent=web.key)) == ""
    name, prompt = [*chat.channel.chat.messages.items()][-1]
    assert plain(prompt.text) == "Reply to this message with what web should be told."
    await chat.send(text="use tabs", to=chat.bots(name))
    assert sent(chat) == [("other", "use tabs")]
    assert await chat.tap_data(chat.bots(name), NeverMind(agent=web.key)) == ""
    assert name not in chat.channel.chat.messages


async def test_a_reply_to_the_prompt_of_an_agent_that_has_left_is_told(chat: MemoryDesk) -> None:
    web = connect(chat, WEB)
    prompt = Incoming(room=ROOM, id="p", ours=True, buttons=(f"n:{web.key}",))
    leave(chat, web)
    connect(chat, link="other")
    await chat.send(text="use tabs", to=prompt)
    assert (sent(chat), said(chat)[-1]) == ([], words.GONE)
    assert await chat.tap_data(prompt, TellAgent(agent=web.key)) == words.GONE


async def test_a_reply_to_a_list_of_several_is_for_none_of_them(chat: MemoryDesk) -> None:
    keys = [connect(chat).key, connect(chat, WEB, link="other").key]
    listed = Incoming(room=ROOM, id="l", ours=True, buttons=tuple(f"t:{key}" for key in keys))
    await chat.send(text="use tabs", to=listed)
    assert sent(chat) == []
    listed = Incoming(room=ROOM, id="l", ours=True, buttons=(f"t:{keys[1]}",))
    await chat.send(text="use tabs", to=listed)
    assert sent(chat) == [("other", "use tabs")]


async def test_a_prompt_that_the_bot_has_not_sent_means_nothing(chat: MemoryDesk) -> None:
    key = connect(chat).key
    connect(chat, WEB, link="other")
    forged = Incoming(room=ROOM, id="p", buttons=(f"n:{key}",))
    await chat.send(text="use tabs", to=forged)
    assert sent(chat) == []
    await chat.send(text="/tell use tabs", to=forged)
    assert sent(chat) == []
    assert "Which agent is this for?" in said(chat)[-1]


# ── taking back ───────────────────────────────────────────────────────────────────────────────────


async def test_a_waiting_message_is_taken_back_with_words(chat: MemoryDesk) -> None:
    connect(chat)
    status = await status_of(chat, await told(chat, "/tell use tabs"))
    await chat.send(text="Take back", to=status)
    assert (sent(chat), said(chat)) == ([], [])


async def test_what_is_on_its_way_is_not_taken_back(chat: MemoryDesk) -> None:
    connect(chat)
    message = await told(chat, "/tell use tabs")
    call = CallName(link="link", request="7")
    messages = chat.desk.inbox.messages
    await messages.hand_over(call, link="link", project=SHOP, way=Way.RESULT)
    status = await status_of(chat, message)
    assert "on its way" in await chat.tap_data(status, TakeBack(message_id=message.id))
    await messages.delivered(call)
    assert "Delivered" in await chat.tap_data(status, TakeBack(message_id=message.id))


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


async def test_the_files_of_a_message_go_along(chat: MemoryDesk) -> None:
    connect(chat)
    photo = Sendable()
    message = await chat.send(photo, text="/tell like this")
    (attachment,) = only(chat).attachments
    path = chat.desk.files.path(attachment) or ""
    assert content(path) == photo.content
    assert only(chat).id in path
    assert (only(chat).text, chat.taken) == ("like this", [message.id])


async def test_a_file_is_fetched_only_once_it_is_known_whom_it_is_for(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, link="other")
    photo = Sendable()
    asked = await chat.send(photo, text="/tell")
    assert photo.fetches == 0
    await chat.press("web", about=asked)
    assert (photo.fetches, only(chat).link, only(chat).text) == (1, "other", "")


async def test_files_that_cannot_be_taken_are_told_and_nothing_is_sent(chat: MemoryDesk) -> None:
    connect(chat)
    await chat.send(Sendable(content=b"x" * 2_000, size=2_000), text="/tell like this")
    await chat.send(Sendable(fails=OSError("cut")), text="/tell like this")
    await chat.send(*(Sendable() for _ in range(6)), text="/tell like these")
    too_large, lost, too_many = said(chat)
    assert too_large == TOO_LARGE
    assert "Send it again" in lost
    assert "Send fewer" in too_many
    assert sent(chat) == []


async def test_without_a_place_for_files_only_words_are_sent(chat: MemoryDesk) -> None:
    connect(chat)
    chat.desk.inbox.attachments = None
    await chat.send(Sendable(), text="/tell like this")
    assert (sent(chat), said(chat)) == ([], [words.NO_FILES])
    assert words.NO_FILES != ONLY_TEXT


async def test_a_voice_message_is_sent_as_a_recording(chat: MemoryDesk) -> None:
    connect(chat)
    notice = await shown(chat, await chat.desk.notify("I have finished."))
    await chat.send(Sendable(name="voice.ogg", voice=True), to=notice)
    assert len(only(chat).attachments) == 1
    assert said(chat) == [words.AS_RECORDING]


# ── what may go wrong ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["/tell", "/tell   ", "/tell\n\n", "/tell \t\u2003"])
async def test_without_words_the_bot_says_how(chat: MemoryDesk, text: str) -> None:
    connect(chat)
    await chat.send(text=text)
    assert sent(chat) == []
    assert said(chat) == ["Write it in the same message: /tell use tabs"]


async def test_a_name_without_words_says_how_too(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, link="other")
    await chat.send(text="/tell web")
    assert sent(chat) == []
    assert "Write it in the same message" in said(chat)[-1]


async def test_what_is_too_long_is_refused_and_what_just_fits_is_taken(chat: MemoryDesk) -> None:
    connect(chat)
    await chat.send(text="/tell " + "x" * 2 * MAX_TEXT)
    assert (sent(chat), chat.taken) == ([], [])
    assert "too long" in said(chat)[-1]
    await chat.send(text="/tell " + "x" * MAX_TEXT)
    assert sent(chat) == [("link", "x" * MAX_TEXT)]


async def test_control_characters_and_lone_surrogates_do_no_harm(chat: MemoryDesk) -> None:
    connect(chat)
    connect(chat, WEB, link="other")
    asked = await chat.send(text="/tell \x1b[2J\u202eabc\ud83d\x00")
    assert "\x1b" not in said(chat)[-1]
    await chat.press("web", about=asked)
    assert "abc" in only(chat).text


async def test_a_text_that_only_looks_like_the_command_is_none(chat: MemoryDesk) -> None:
    connect(chat)
    await chat.send(text="/telling use tabs")
    await chat.send(text="tell it to use tabs")
    assert sent(chat) == []


async def test_what_is_no_message_is_not_marked_as_taken(chat: MemoryDesk) -> None:
    connect(chat)
    command = Incoming(room=ROOM, id="", text="/tell use tabs", at=9e9)
    chat._do(Deed(by="ada", message=command))
    await chat.dealt_with()
    assert (sent(chat), chat.taken) == ([("link", "use tabs")], [])


@pytest.mark.parametrize("text", ["/tell use tabs", "/tell web use tabs"])
async def test_somebody_elses_words_are_asked_about(chat: MemoryDesk, text: str) -> None:
    connect(chat)
    if "web" in text:
        connect(chat, WEB, link="other")
    forwarded = Incoming(room=ROOM, id="f", text=text, at=9e9, quoted=True)
    chat._do(Deed(by="ada", message=forwarded))
    await chat.dealt_with()
    assert sent(chat) == []
    assert "Which agent is this for?" in said(chat)[-1]


async def test_somebody_elses_words_in_a_reply_are_asked_about(chat: MemoryDesk) -> None:
    shop = connect(chat)
    prompt = Incoming(
        room=ROOM, id="p", ours=True, buttons=(encode(NeverMind(agent=shop.key)),), at=9e9
    )
    of_a_bot = Incoming(room=ROOM, id="f", text="use tabs", at=9e9, quoted=True, replied=prompt)
    chat._do(Deed(by="ada", message=of_a_bot))
    await chat.dealt_with()
    assert sent(chat) == []
    assert "Which agent is this for?" in said(chat)[-1]


# ── written while no hub was there ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "sent_at_once"), [("/tell shop-api use tabs", True), ("/tell use tabs", False)]
)
async def test_what_was_written_before_the_start_counts_if_it_names_its_agent(
    tmp_path: Path, text: str, sent_at_once: bool
) -> None:
    clock = StillClock()
    async with running_memory(tmp_path, clock=clock) as chat:
        connect(chat)
        old = Incoming(room=ROOM, id="old", text=text, at=clock.time() - 600)
        chat._do(Deed(by="ada", message=old))
        await chat.dealt_with()
        if not sent_at_once:
            assert sent(chat) == []
            assert "Which agent is this for?" in said(chat)[-1]
            await chat.press("shop-api", about=old)
        assert sent(chat) == [("link", "use tabs")]


# ── exactly once ──────────────────────────────────────────────────────────────────────────────────


async def test_a_message_is_stored_with_the_cursor_in_one_commit(
    chat: MemoryDesk, tmp_path: Path
) -> None:
    connect(chat)
    async with failing(tmp_path, "notes"):
        await chat.begin(text="/tell use tabs")
        async with asyncio.timeout(20):
            await chat.clock.until_asleep(FIRST_PAUSE)
        assert await chat.desk.inbox.sent_messages(limit=5) == []
    chat.clock.advance(60)
    await chat.dealt_with()
    assert sent(chat) == [("link", "use tabs")]
