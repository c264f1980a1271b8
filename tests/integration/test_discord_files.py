"""Files in Discord: what the bot sends, and what people send to it."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.incoming import Incoming
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.writer import MessageRejected, Outgoing
from chatbridge.channels.discord.api import Api, Me
from chatbridge.channels.discord.receiver import CANNOT_READ, Receiver
from chatbridge.channels.discord.render import FILE_BYTES
from chatbridge.channels.sockets.files import incoming
from chatbridge.core.errors import AttachmentError, ChatRefused, RetryLater
from chatbridge.digests import sha256_hex
from tests.fakes.clock import StillClock
from tests.fakes.discord.markdown import plain
from tests.fakes.discord.server import Discord
from tests.fakes.discord.world import ATTACH, Message
from tests.fakes.discord_desk import DiscordDesk, running_discord
from tests.fakes.inbox import TEXT
from tests.fakes.kept_files import FetchFault

PHOTO = b"\x89PNG" + bytes(200_000)
LARGE = 16 * 1024 * 1024
PICTURES = (
    File(name="a.png", content=PHOTO, type="image/png", caption="1 · **Sidebar**", size=(80, 60)),
    File(name="b.png", content=b"b", type="image/png", caption="2 · @everyone", size=(8, 6)),
)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DiscordDesk]:
    async with running_discord(tmp_path) as found:
        yield found


async def send(desk: DiscordDesk, *files: File, key: str = "1") -> Message:
    (chat,) = desk.channel.surfaces
    what = Upload(files)
    done = await chat.send(Outgoing(room=desk.room.id, what=what, key=("files", key)))
    return desk.room.messages[done.id]


async def taken(desk: DiscordDesk, message: Message) -> Incoming:
    """What the receiver makes of it."""
    api, bot = desk.channel._api, desk.discord.world.bot
    me = Me(id=bot.id, application=bot.id, name="bot")
    receiver = Receiver(desk.channel.reception(desk.desk.inbox), api=api, me=me)
    return receiver._incoming(await api.message(desk.room.id, message.id))


async def sent(desk: DiscordDesk, *files: tuple[str, bytes], **how: Any) -> Incoming:
    text = how.pop("text", "")
    return await taken(desk, desk.discord.say(desk.ada, desk.room, text, files=files, **how))


async def fetched(file: IncomingFile) -> bytes:
    async with asyncio.timeout(20):
        return b"".join([chunk async for chunk in file.read()])


# ── from the bot ──────────────────────────────────────────────────────────────────────────────────


async def test_pictures_are_one_message_with_their_captions(desk: DiscordDesk) -> None:
    message = await send(desk, *PICTURES)
    assert message.files == {"a.png": PHOTO, "b.png": b"b"}
    assert message.described == {"a.png": "1 · **Sidebar**", "b.png": "2 · @everyone"}
    assert plain(message.text) == "1 · **Sidebar**\n2 · @everyone"  # nothing in it is marked up
    assert not message.mention_everyone


async def test_a_file_is_read_from_its_path(desk: DiscordDesk, tmp_path: Path) -> None:
    (tmp_path / "digest").write_bytes(PHOTO)
    path = str(tmp_path / "digest")
    message = await send(desk, File(name="büild.log", path=path, caption="the log"))
    assert (message.files, message.text) == ({"büild.log": PHOTO}, "the log")


async def test_memory_does_not_grow_with_what_is_sent(tmp_path: Path) -> None:
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", LARGE)
    sizes: list[int] = []

    async def take(request: web.Request) -> web.Response:
        sizes.append(sum([len(chunk) async for chunk in request.content.iter_chunked(2**16)]))
        return web.json_response({"id": "1"})

    app = web.Application()
    app.router.add_post("/v10/channels/1/messages", take)
    files = [File(name=name, path=str(tmp_path / "large")) for name in ("a.bin", "b.bin")]
    async with TestServer(app) as server:
        base = str(server.make_url("")).rstrip("/")
        async with Api("token", base=base, hint="", patience=10.0) as api:
            tracemalloc.start()
            try:
                await api.send("1", {}, files=files)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert sizes[0] > 2 * LARGE
    assert peak < LARGE // 4


async def test_the_same_upload_after_a_lost_answer_is_the_same_message(desk: DiscordDesk) -> None:
    desk.discord.fault("POST", after_effect=True)
    with pytest.raises(RetryLater):
        await send(desk, *PICTURES)
    await send(desk, *PICTURES)
    assert sum(bool(message.files) for message in desk.room.messages.values()) == 1


async def test_a_long_caption_and_a_hostile_name_are_taken(desk: DiscordDesk) -> None:
    name = 'a"\r\nContent-Type: text/html\r\n\r\nb.png'
    message = await send(desk, File(name=name, content=b"x", caption="*🐙" * 2_000, size=(1, 1)))
    ((found, content),) = message.files.items()
    assert ("\n" in found, content) == (False, b"x")


async def test_ten_files_and_the_largest_are_taken_and_no_more(
    desk: DiscordDesk, tmp_path: Path
) -> None:
    many = [File(name=f"{i}.txt", content=b"a") for i in range(11)]
    assert len((await send(desk, *many[:10], key="10")).files) == 10
    with pytest.raises(MessageRejected, match="10 or fewer"):
        await send(desk, *many, key="11")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(FILE_BYTES)
    large = File(name="large.bin", path=str(tmp_path / "large"))
    assert len((await send(desk, large, key="large")).files["large.bin"]) == FILE_BYTES
    with pytest.raises(MessageRejected, match="files of this size"):
        await send(desk, large, large, key="two")  # of 25 MiB together
    with (tmp_path / "large").open("ab") as file:
        file.write(b"!")
    with pytest.raises(MessageRejected, match="files of this size"):
        await send(desk, large, key="larger")


@pytest.mark.parametrize("body", [{"message": "too large", "code": 40005}, None])
async def test_a_file_that_is_too_large_for_what_is_between_is_not_tried_again(
    desk: DiscordDesk, body: dict[str, Any] | None
) -> None:
    desk.discord.fault("POST", status=413, body=body)
    with pytest.raises(MessageRejected, match="files of this size"):
        await send(desk, PICTURES[0])


async def test_a_pause_that_discord_asks_for_is_kept(desk: DiscordDesk) -> None:
    body = {"message": "You are being rate limited.", "retry_after": 9.5, "global": False}
    desk.discord.fault("POST", status=429, body=body)
    with pytest.raises(RetryLater) as raised:
        await send(desk, *PICTURES)
    assert raised.value.after == 9.5


async def test_a_file_that_was_swept_or_may_not_be_sent_is_said(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        room = discord.world.channel(ada)
        async with running_discord(tmp_path, discord=discord, room=room, ada=ada) as desk:
            with pytest.raises(MessageRejected, match="cannot be read"):
                await send(desk, File(name="a", path=str(tmp_path / "gone")))
            room.allows &= ~ATTACH
            with pytest.raises(ChatRefused, match="attach files"):
                await send(desk, PICTURES[0])


# ── from a person ─────────────────────────────────────────────────────────────────────────────────


async def test_files_of_a_message_are_fetched_without_a_token_once_they_are_read(
    desk: DiscordDesk,
) -> None:
    message = await sent(desk, ("photo ü.png", PHOTO), ("notes.txt", b"hi"), text="look")
    assert (message.text, [(each.name, each.size) for each in message.files]) == (
        "look",
        [("photo ü.png", len(PHOTO)), ("notes.txt", 2)],
    )
    assert not any(each.voice for each in message.files)
    kept = desk.discord.world.kept
    before = kept.fetches.total()
    assert [await fetched(each) for each in message.files] == [PHOTO, b"hi"]
    assert kept.fetches.total() == before + 2
    assert set(kept.tokens) == {None}


async def test_a_voice_message_is_spoken(desk: DiscordDesk) -> None:
    (file,) = (await sent(desk, ("voice-message.ogg", b"voice"), voice=True)).files
    assert file.voice
    assert await fetched(file) == b"voice"


async def test_the_files_of_what_is_replied_to_can_be_fetched(desk: DiscordDesk) -> None:
    photo = desk.discord.say(desk.ada, desk.room, "", files=[("photo.png", PHOTO)])
    message = await taken(desk, desk.discord.say(desk.ada, desk.room, "this", reply_to=photo))
    assert message.replied is not None
    assert await fetched(message.replied.files[0]) == PHOTO


async def test_an_address_that_has_expired_is_told(desk: DiscordDesk) -> None:
    message = await sent(desk, ("photo.png", PHOTO))
    desk.clock.advance(25 * 3600)
    with pytest.raises(AttachmentError, match="Discord no longer has that file"):
        await fetched(message.files[0])


@pytest.mark.parametrize(
    "file",
    [
        {"filename": "a", "size": 1, "url": "https://evil.example/a"},
        {"filename": "a", "size": 1, "url": "http://cdn.discordapp.com/attachments/1/2/a"},
        {"filename": "a", "size": 1},
        None,
    ],
)
async def test_nothing_is_fetched_from_elsewhere(desk: DiscordDesk, file: object) -> None:
    (found,) = incoming([file], desk.channel._api.fetch, name="filename", is_voice=lambda _: False)
    with pytest.raises(AttachmentError, match="cannot get that file from Discord"):
        await fetched(found)


async def test_a_fetch_that_is_cut_off_can_be_tried_again(desk: DiscordDesk) -> None:
    message = await sent(desk, ("photo.png", PHOTO))
    desk.discord.world.kept.faults.append(FetchFault(cut=True))
    with pytest.raises(RetryLater):
        await fetched(message.files[0])
    assert await fetched(message.files[0]) == PHOTO


async def test_a_strangers_file_is_never_fetched_and_an_unread_one_is_said(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
        room = discord.world.channel(ada, eve)
        async with running_discord(tmp_path, discord=discord, room=room, ada=ada) as desk:
            card = await desk.card(await desk.desk.ask(TEXT))
            files = [("photo.png", PHOTO)]
            discord.say(eve, room, "", reply_to=card, files=files)
            discord.say(ada, room, "", reply_to=card, files=files, mention=False)
            await desk.dealt_with()
            assert not discord.world.kept.fetches
            assert (await discord.sees(room, CANNOT_READ[:20])).reply_to is not card


# ── as an answer ──────────────────────────────────────────────────────────────────────────────────


async def test_files_beside_the_cards_answer_the_only_question(desk: DiscordDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    await desk.card(ask)
    desk.clock.advance(2.0)
    files = [("photo.png", PHOTO), ("b.txt", b"b")]
    message = desk.discord.say(desk.ada, desk.room, "look", files=files)
    await desk.dealt_with()
    (answer,) = await desk.answers(ask)
    assert answer.values == ("look",)
    assert [each.name for each in answer.attachments] == ["photo.png", "b.txt"]
    assert [each.digest for each in answer.attachments] == [sha256_hex(PHOTO), sha256_hex(b"b")]
    await desk.discord.until(lambda: message.reactions)


async def test_a_photo_that_may_be_for_either_question_is_fetched_once_that_is_said(
    desk: DiscordDesk,
) -> None:
    asks = [await desk.desk.ask(replace(TEXT, text=text)) for text in ("The first?", "The second?")]
    for ask in asks:
        await desk.card(ask)
    desk.discord.say(desk.ada, desk.room, "", files=[("photo.png", PHOTO)])
    await desk.dealt_with()
    assert not desk.discord.world.kept.fetches
    desk.clock.advance(2.0)
    asked = await desk.discord.sees(desk.room, lambda it: bool(it.reply_to) and bool(it.keys))
    label = next(key["label"] for key in asked.keys if "second" in key["label"])
    await desk.tap(asked, label)
    (answer,) = await desk.answers(asks[1])
    assert [each.name for each in answer.attachments] == ["photo.png"]
    assert await desk.answers(asks[0]) == ()


async def test_in_a_channel_a_photo_with_the_mention_answers(tmp_path: Path) -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.user("Ada")
        room = discord.world.channel(ada)
        async with running_discord(tmp_path, discord=discord, room=room, ada=ada) as desk:
            ask = await desk.desk.ask(TEXT)
            card = await desk.card(ask)
            discord.say(ada, room, "", reply_to=card, files=[("photo.png", PHOTO)])
            await desk.dealt_with()
            (answer,) = await desk.answers(ask)
            assert [each.name for each in answer.attachments] == ["photo.png"]


async def test_who_sends_a_file_that_has_gone_is_told(desk: DiscordDesk) -> None:
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    desk.discord.world.kept.faults.append(FetchFault(status=404))
    message = desk.discord.say(desk.ada, desk.room, "", reply_to=card, files=[("a.png", PHOTO)])
    await desk.dealt_with()
    told = await desk.discord.sees(desk.room, "no longer has that file")
    assert told.reply_to is message
    assert await desk.answers(ask) == ()
