"""Files of people on their way from Telegram: what is fetched of them, and what goes wrong."""

from __future__ import annotations

import asyncio
import traceback
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from telegram import Message

from chatbridge.channels.telegram.client.api import GONE, NOT_OVER_HTTP, Api
from chatbridge.channels.telegram.client.attached import FETCHED, Attached, attached
from chatbridge.channels.telegram.client.uploads import FILES
from chatbridge.core.errors import AttachmentError, RetryLater
from tests.fakes.clock import StillClock
from tests.fakes.sample_files import png
from tests.fakes.telegram.chats import Document
from tests.fakes.telegram.people import Phone, file
from tests.fakes.telegram.server import BotApi

MB = 1 << 20
PDF = file(bytes(range(256)) * 1000, name="report.pdf", kind="application/pdf")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def telegram(clock: StillClock) -> Iterator[BotApi]:
    with BotApi.running(clock=clock) as telegram:
        yield telegram


@pytest.fixture
async def api(telegram: BotApi) -> AsyncIterator[Api]:
    async with api_of(telegram) as api:
        yield api


@pytest.fixture
def phone(telegram: BotApi) -> Phone:
    ada = telegram.person("Ada")
    return telegram.private(ada).phone(ada)


@asynccontextmanager
async def api_of(telegram: BotApi, *, patience: float = 10.0) -> AsyncIterator[Api]:
    token, base = telegram.token, telegram.address
    async with Api(token, base=base, hint="telegram.token", patience=patience) as api:
        await api.me()
        yield api


async def fetched(api: Api, sent: Document) -> bytes:
    return b"".join([piece async for piece in api.fetch(sent.id)])


# ── fetching ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_is_fetched_whole(telegram: BotApi, api: Api, phone: Phone) -> None:
    phone.send(PDF)

    assert await fetched(api, PDF) == PDF.content
    assert telegram.fetched == 1


async def test_a_file_that_is_too_large_is_not_fetched(
    telegram: BotApi, api: Api, phone: Phone
) -> None:
    large = file(bytes(FETCHED + 1))
    phone.send(large)

    with pytest.raises(AttachmentError) as refused:
        await fetched(api, large)

    assert str(refused.value) == FILES.too_large
    assert telegram.fetched == 0


async def test_a_file_that_is_gone_has_to_be_sent_again(
    telegram: BotApi, api: Api, phone: Phone
) -> None:
    phone.send(PDF)
    telegram.fail("file", status=404, description="Not Found")

    for sent in (PDF, file(b"never sent")):
        with pytest.raises(AttachmentError) as refused:
            await fetched(api, sent)
        assert str(refused.value) == GONE
    assert await fetched(api, PDF) == PDF.content


async def test_a_path_on_the_servers_own_disk_is_never_read(
    telegram: BotApi, api: Api, phone: Phone, tmp_path: Path
) -> None:
    phone.send(PDF)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    telegram.rewrite(
        "getFile", lambda body: body.replace(b'"file_path":"', f'"file_path":"{secret}'.encode())
    )
    exact = f'{{"ok":true,"result":{{"file_id":"f","file_unique_id":"u","file_path":"{secret}"}}}}'
    telegram.answer_with("getFile", exact.encode())
    telegram.serve_locally("/var/lib/telegram-bot-api/")

    for _ in range(2):
        with pytest.raises(AttachmentError) as refused:
            await fetched(api, PDF)
        assert str(refused.value) == NOT_OVER_HTTP
    assert telegram.fetched == 0


@pytest.mark.parametrize("fault", ["cut", "cut off", "gateway", "busy", "revoked", "no JSON"])
async def test_a_file_that_cannot_be_fetched_now_comes_later_and_no_error_has_the_token(
    telegram: BotApi, api: Api, phone: Phone, fault: str
) -> None:
    phone.send(PDF)
    match fault:
        case "cut":
            telegram.cut("file", after_effect=False)
        case "cut off":
            telegram.cut_off("file", after=100_000)
        case "gateway":
            telegram.fail("file", status=502)
        case "busy":
            telegram.fail("file", status=429)
        case "revoked":
            telegram.fail("file", status=401)
        case "no JSON":
            telegram.garble("getFile")

    with pytest.raises(RetryLater) as later:
        await fetched(api, PDF)

    said = "".join(traceback.format_exception(later.value))
    assert telegram.token.partition(":")[2] not in said
    assert await fetched(api, PDF) == PDF.content


async def test_a_server_that_says_nothing_is_given_up(telegram: BotApi, phone: Phone) -> None:
    phone.send(PDF)
    held = telegram.hold("file")

    async with api_of(telegram, patience=0.1) as hasty:
        with pytest.raises(RetryLater, match="did not answer in time"):
            await fetched(hasty, PDF)
    held.release()


async def test_who_stops_reading_gives_the_connection_back(
    telegram: BotApi, api: Api, phone: Phone
) -> None:
    large = file(bytes(10 * MB))
    phone.send(large)

    for _ in range(20):
        pieces = api.fetch(large.id)
        await anext(pieces)
        await pieces.aclose()

    assert telegram.fetched == 20
    assert await fetched(api, large) == large.content


async def test_memory_does_not_grow_with_the_file_that_is_fetched() -> None:
    async def hand_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"getFile" in head:
            await reader.readuntil(b"file_id=f")
            told = b'{"ok":true,"result":{"file_id":"f","file_unique_id":"u","file_path":"a/b"}}'
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + told)
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(19 * 16):
                writer.write(bytes(MB // 16))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(hand_out, "127.0.0.1")
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, Api("1:a", base=base, hint="") as api:
        size = sum([len(piece) async for piece in api.fetch("f")])
        tracemalloc.start()
        try:
            async for piece in api.fetch("f"):
                size -= len(piece)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert size == 0
    assert most < 4 * MB


# ── what a message has ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("type", "name", "voice"),
    [
        ("photo", "photo.jpg", False),
        ("document", "given.bin", False),
        ("video", "given.bin", False),
        ("audio", "given.bin", False),
        ("animation", "given.bin", False),
        ("voice", "voice.ogg", True),
        ("video_note", "video.mp4", False),
        ("sticker", "sticker.webp", False),
    ],
)
async def test_every_kind_of_file_is_found(
    telegram: BotApi, api: Api, phone: Phone, type: str, name: str, voice: bool
) -> None:
    sent = file(png(640, 480), name="given.bin", kind="a/b", type=type)
    phone.send(sent)

    (update,) = await api.updates(offset=None, wait=0)

    assert update.message is not None
    found = attached(update.message)
    assert found == Attached(id=sent.id, name=name, size=len(sent.content), voice=voice)


def photo_of(*sizes: tuple[int, int | None]) -> Message:
    """With photos of this width and so many bytes."""
    photos = [
        {"file_id": str(width), "file_unique_id": "u", "width": width, "height": 1, "file_size": it}
        for width, it in sizes
    ]
    chat = {"id": 1, "type": "private"}
    made = Message.de_json({"message_id": 1, "date": 1, "chat": chat, "photo": photos})
    assert made is not None
    return made


def test_of_a_photo_the_largest_is_taken_that_can_be_fetched() -> None:
    sizes = ((90, 1_000), (1280, 300_000), (800, None))
    found = attached(photo_of(*sizes))
    assert found is not None
    assert found.id == "1280"
    found = attached(photo_of(*sizes, (9_000, FETCHED + 1)))
    assert found is not None
    assert found.id == "1280"
    found = attached(photo_of((9_000, FETCHED + 1)))
    assert found is not None
    assert found.id == "9000"  # so that its sender is told


@pytest.mark.parametrize(
    "wrong",
    [
        {"document": {"file_id": "f", "file_unique_id": "u", "file_name": ["x"]}},
        {"document": {"file_id": "f", "file_unique_id": "u", "file_size": "many"}},
        {"photo": [{"file_id": "f", "file_unique_id": "u", "width": "w", "height": {}}]},
        {"photo": {"file_id": "f"}},
        {"text": "x", "media_group_id": 7},
        {"caption": 7},
    ],
)
async def test_a_message_with_a_file_of_another_form_is_passed_over(
    telegram: BotApi, api: Api, phone: Phone, wrong: dict[str, object]
) -> None:
    person = phone.person.json()
    message = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "from": person}
    telegram.raw_update({"message": message | wrong})
    phone.say("after it")

    first, second = await api.updates(offset=None, wait=0)

    assert first.message is None
    assert second.message is not None
    assert second.message.text == "after it"
