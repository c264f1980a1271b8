"""Pictures and files on their way to Telegram: as what they are sent, and what it refuses."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.writer import MessageRejected, Outgoing
from chatbridge.channels.telegram.client.api import Api, SentMessage
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import Project
from tests.fakes.clock import StillClock
from tests.fakes.sample_files import png
from tests.fakes.telegram.people import Card
from tests.fakes.telegram.people import Chat as Room
from tests.fakes.telegram.server import BotApi

MB = 1 << 20
LOG = File(name="build.log", content=b"red\n", type="text/x-log", caption="The last build")
NO_PICTURE = File(name="a.png", content=b"text", size=(10, 10))


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    with BotApi.running(clock=StillClock()) as telegram:
        yield telegram


@pytest.fixture
async def api(telegram: BotApi) -> AsyncIterator[Api]:
    async with Api(telegram.token, base=telegram.address, hint="telegram.token") as api:
        await api.me()
        yield api


@pytest.fixture
def room(telegram: BotApi) -> Room:
    return telegram.private(telegram.person("Ada"))


def shot(width: int = 640, height: int = 480, caption: str = "", *, more: bytes = b"") -> File:
    content = png(width, height) + more
    return File(
        name="shot.png", content=content, type="image/png", caption=caption, size=(width, height)
    )


def messages(telegram: BotApi, room: Room) -> tuple[Card, ...]:
    ada = telegram.service.people[room.id] if room.id > 0 else None
    return room.phone(ada or next(iter(telegram.service.people.values()))).messages


def sent_as(telegram: BotApi, room: Room) -> list[tuple[str, str]]:
    """The kind and the caption of each file in the chat."""
    there = messages(telegram, room)
    return [(it.document.type, it.text) for it in there if it.document]


def methods(telegram: BotApi) -> list[str]:
    return [it.method for it in telegram.requests if it.method.startswith("send")]


async def test_one_picture_is_a_photo_without_a_sound(
    telegram: BotApi, api: Api, room: Room
) -> None:
    first = await api.send(room.id, "before")

    sent = await api.send_files(room.id, [shot(caption="<b>1 · A</b>")], reply_to=first.id)

    (_, photo) = messages(telegram, room)
    assert methods(telegram)[1:] == ["sendPhoto"]
    assert photo.document
    assert (photo.document.type, photo.document.content) == ("photo", png(640, 480))
    assert (photo.id, photo.text, photo.silent) == (sent.id, "<b>1 · A</b>", True)
    assert photo.reply_to == first.id


async def test_several_pictures_are_an_album_with_a_caption_each(
    telegram: BotApi, api: Api, room: Room
) -> None:
    files = [shot(caption=f"{number} · Layout") for number in range(1, 11)]

    sent = await api.send_files(room.id, files)

    album = messages(telegram, room)
    assert methods(telegram) == ["sendMediaGroup"]
    assert sent_as(telegram, room) == [("photo", f"{it} · Layout") for it in range(1, 11)]
    assert len({it.album for it in album}) == 1
    assert all(it.silent for it in album)
    assert sent.id == album[0].id


async def test_a_file_keeps_its_name_type_and_bytes(
    telegram: BotApi, api: Api, room: Room, tmp_path: Path
) -> None:
    kept = tmp_path / "0a1b2c"
    kept.write_bytes(bytes(range(256)))

    await api.send_files(room.id, [File(name='a b"\r\n.bin', path=str(kept), type="x/y")])

    (message,) = messages(telegram, room)
    assert methods(telegram) == ["sendDocument"]
    assert message.document
    assert (message.document.kind, message.document.content) == ("x/y", bytes(range(256)))
    assert message.document.name == "a b%22%0D%0A.bin"  # nothing gets out of the header


async def test_several_files_are_an_album_of_documents(
    telegram: BotApi, api: Api, room: Room
) -> None:
    await api.send_files(room.id, [LOG, File(name="b.txt", content=b"b")])

    assert methods(telegram) == ["sendMediaGroup"]
    assert sent_as(telegram, room) == [("document", "The last build"), ("document", "")]


@pytest.mark.parametrize(
    "picture",
    [shot(9_000, 1_001), shot(2_100, 100), shot(10, 10, more=bytes(10 * MB)), NO_PICTURE],
    ids=["sides", "ratio", "bytes", "no picture"],
)
async def test_a_picture_that_telegram_does_not_show_is_refused_so_that_it_goes_as_a_file(
    telegram: BotApi, api: Api, room: Room, picture: File
) -> None:
    for files in ([picture], [shot(), picture]):
        with pytest.raises(Rejected):
            await api.send_files(room.id, files)
    await api.send_files(room.id, [replace(picture, size=None)])

    assert sent_as(telegram, room) == [("document", "")]


async def test_a_chat_that_takes_no_files_still_takes_texts(telegram: BotApi, api: Api) -> None:
    group = telegram.group("team", telegram.person("Ada"))
    group.forbid("photos")
    with pytest.raises(Rejected):
        await api.send_files(group.id, [shot()])
    await api.send_files(group.id, [LOG])
    group.forbid("documents")
    with pytest.raises(Rejected):
        await api.send_files(group.id, [LOG])

    await api.send(group.id, "text")


async def test_what_is_too_large_or_empty_or_gone_is_refused_for_good(
    api: Api, room: Room, tmp_path: Path
) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(51 * MB)

    for path in (huge, tmp_path / "gone"):
        with pytest.raises(MessageRejected):
            await api.send_files(room.id, [File(name="x", path=str(path), size=(1, 1))])
    with pytest.raises(Rejected):
        await api.send_files(room.id, [File(name="x")])


async def test_no_answer_to_an_upload_is_no_refusal(telegram: BotApi, api: Api, room: Room) -> None:
    telegram.cut("sendMediaGroup", after_effect=False)
    with pytest.raises(RetryLater):
        await api.send_files(room.id, [shot(), shot()])
    telegram.fail("sendPhoto", status=429, retry_after=7)
    with pytest.raises(RetryLater) as busy:
        await api.send_files(room.id, [shot()])
    assert busy.value.after == 7


@pytest.mark.parametrize(
    "answer",
    [b'{"ok":true,"result":[{"message_id":77,', b'{"ok":true,"result":[{"message_id":77}]}'],
)
async def test_an_album_that_telegram_says_is_sent_is_not_sent_again(
    telegram: BotApi, api: Api, room: Room, answer: bytes
) -> None:
    telegram.answer_with("sendMediaGroup", answer)

    assert await api.send_files(room.id, [shot(), shot()]) == SentMessage(id=77, at=None)


@pytest.mark.parametrize("answer", [b'{"ok":true,"result":[]}', b'{"ok":true,"result":{}}'])
async def test_an_album_without_a_number_is_sent_all_the_same(
    telegram: BotApi, api: Api, room: Room, answer: bytes
) -> None:
    telegram.answer_with("sendMediaGroup", answer)

    assert (await api.send_files(room.id, [shot(), shot()])).id == NO_NUMBER


async def test_an_album_goes_to_the_main_chat_if_its_topic_is_gone(
    telegram: BotApi, api: Api
) -> None:
    forum = telegram.group("team", telegram.person("Ada"), forum=True)
    chat = Chat(api, forum.id, clock=StillClock(), topics=False)
    shop, what = Project(key="/src/shop", name="shop"), Upload((shot(), shot()))
    new: Outgoing[Text] = Outgoing(room=str(forum.id), what=what, key=(), topic="99", project=shop)

    sent = await chat.send(new)

    album = messages(telegram, forum)
    assert (str(album[0].id), album[0].thread) == (sent.id, None)
    assert (sent.topic, len(album), chat.messages_after(sent.id)) == (None, 2, 1)


async def test_memory_does_not_grow_with_the_file_that_is_sent(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(40 * MB)
    taken = 0

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        head = await reader.readuntil(b"\r\n\r\n")
        left = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
        while left:
            piece = await reader.read(min(left, MB))
            left -= len(piece)
            taken += len(piece)
        body = b'{"ok":true,"result":{"message_id":7}}'
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1")
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Api("1:a", base=base, hint="") as api:
        await api.send_files(1, [LOG])
        tracemalloc.start()
        try:
            sent = await api.send_files(1, [File(name="large", path=str(large), type="x/y")])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (sent.id, taken > 40 * MB) == (7, True)
    assert most < 4 * MB
