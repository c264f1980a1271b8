"""The test server's pictures and files, through python-telegram-bot's own Bot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import httpx
import pytest
from telegram import InputMediaDocument, InputMediaPhoto, Message
from telegram.error import BadRequest, NetworkError, RetryAfter

from tests.fakes.sample_files import png
from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import Document
from tests.fakes.telegram.conversation import Conversation, conversation
from tests.fakes.telegram.media import sides_of
from tests.fakes.telegram.people import file

SHOT = png(640, 480)
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b0801e0028001011100ffd9")


@pytest.fixture
async def here() -> AsyncIterator[Conversation]:
    async with conversation() as here:
        yield here


def pictures(count: int, content: bytes = SHOT, caption: str = "") -> list[InputMediaPhoto]:
    return [InputMediaPhoto(content, caption=caption, filename="a.png") for _ in range(count)]


async def got(here: Conversation, path: str) -> httpx.Response:
    async with httpx.AsyncClient(verify=False) as client:  # noqa: S501 - plain HTTP
        return await client.get(f"{here.telegram.address}/file/bot{here.telegram.token}/{path}")


async def path_of(here: Conversation, sent: Document) -> str:
    found = (await here.bot.get_file(sent.id)).file_path
    assert found is not None
    return found.partition(f"{here.telegram.token}/")[2]


@pytest.mark.parametrize(
    ("content", "sides"),
    [(SHOT, (640, 480)), (JPEG, (640, 480)), (b"GIF89a\x05\0\x07\0", (5, 7)), (b"text", None)],
)
def test_the_size_of_a_picture_is_in_its_first_bytes(
    content: bytes, sides: tuple[int, int] | None
) -> None:
    assert sides_of(content) == sides


async def test_a_photo_comes_back_in_two_sizes(here: Conversation) -> None:
    sent = await here.bot.send_photo(here.chat.id, SHOT, caption="look")

    assert [(it.width, it.height) for it in sent.photo] == [(160, 120), (640, 480)]
    assert (sent.caption, sent.document) == ("look", None)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"text", "Image_process_failed"),
        (png(9_000, 1_001), "Photo_invalid_dimensions"),
        (png(2_100, 100), "Photo_invalid_dimensions"),
        (SHOT + bytes(limits.PHOTO_BYTES), "too big for a photo"),
    ],
)
async def test_what_is_no_photo_is_refused_alone_and_in_an_album(
    here: Conversation, content: bytes, why: str
) -> None:
    with pytest.raises(BadRequest) as alone:
        await here.bot.send_photo(here.chat.id, content)
    with pytest.raises(BadRequest) as album:
        await here.bot.send_media_group(here.chat.id, [*pictures(1), *pictures(1, content)])

    assert why in alone.value.message
    assert "message #2" in album.value.message
    assert why.lower() in album.value.message.lower()
    assert here.phone.messages == ()


async def test_an_album_has_two_to_ten_of_one_kind(here: Conversation) -> None:
    for count in (2, 10):
        sent = await here.bot.send_media_group(here.chat.id, pictures(count, caption="x"))
        assert len({it.media_group_id for it in sent}) == 1
        assert len(sent) == count
    wrong: list[Sequence[InputMediaPhoto | InputMediaDocument]] = [
        pictures(1),
        pictures(11),
        [*pictures(1), InputMediaDocument(b"x", filename="x.txt")],
        pictures(2, caption="x" * 1025),
    ]
    for media in wrong:
        with pytest.raises(BadRequest):
            await here.bot.send_media_group(here.chat.id, media)
    assert len(here.phone.messages) == 12


async def test_an_album_counts_as_its_messages_and_is_refused_whole(here: Conversation) -> None:
    here.telegram.limit_rates(on=True)
    await here.bot.send_media_group(here.chat.id, pictures(3))

    with pytest.raises(RetryAfter):
        await here.bot.send_media_group(here.chat.id, pictures(3))

    assert len(here.phone.messages) == 3


async def test_a_request_of_more_than_50_mb_is_too_large(here: Conversation) -> None:
    with pytest.raises(NetworkError, match="Request Entity Too Large"):
        await here.bot.send_document(here.chat.id, bytes(limits.REQUEST_BYTES))


async def test_a_file_of_a_person_can_be_fetched_for_an_hour(here: Conversation) -> None:
    sent = file(b"%PDF", name="a.pdf", kind="application/pdf")
    here.phone.send(sent, caption="read this")
    (update,) = await here.poll()
    assert update.message is not None
    assert update.message.document is not None
    assert (update.message.caption, update.message.document.file_name) == ("read this", "a.pdf")
    assert here.telegram.fetched == 0

    path = await path_of(here, sent)
    assert (await got(here, path)).content == b"%PDF"
    here.clock.advance(limits.FETCHED_SECONDS + 1)
    assert (await got(here, path)).status_code == 404
    assert (await got(here, await path_of(here, sent))).content == b"%PDF"
    assert here.telegram.fetched == 3


async def test_larger_files_cannot_be_fetched(here: Conversation) -> None:
    largest = file(bytes(limits.FETCHED_BYTES))
    larger = file(bytes(limits.FETCHED_BYTES + 1))
    here.phone.send(largest)
    here.phone.send(larger)

    assert len((await got(here, await path_of(here, largest))).content) == limits.FETCHED_BYTES
    with pytest.raises(BadRequest, match="File is too big"):
        await here.bot.get_file(larger.id)
    with pytest.raises(BadRequest, match="Invalid file_id"):
        await here.bot.get_file("unknown")


@pytest.mark.parametrize(
    "type", ["photo", "voice", "video", "video_note", "audio", "animation", "sticker"]
)
async def test_each_kind_of_message_is_understood_by_the_library(
    here: Conversation, type: str
) -> None:
    here.phone.send(file(SHOT, name="x", kind="a/b", type=type))

    (update,) = await here.poll()

    assert update.message is not None
    assert update.message.effective_attachment == update.message[type]


async def test_an_album_comes_at_once_unless_it_is_cut(here: Conversation) -> None:
    waiting = await here.waiting()
    first = here.phone.send(file(b"a"), file(b"b"), caption="both")
    whole = await waiting
    assert [message(it).caption for it in whole] == ["both", None]
    assert len({message(it).media_group_id for it in whole}) == 1
    assert message(whole[0]).message_id == first.id

    here.telegram.service.updates.clear()
    waiting = await here.waiting()
    here.phone.send(file(b"a"), file(b"b"), cut=True)
    assert len(await waiting) == 1
    assert len(here.telegram.pending) == 2


async def test_an_answer_can_be_cut_off(here: Conversation) -> None:
    sent = file(bytes(1000))
    here.phone.send(sent)
    here.telegram.cut_off("file", after=500)
    path = await path_of(here, sent)

    with pytest.raises(httpx.RemoteProtocolError):
        await got(here, path)
    assert (await got(here, path)).content == bytes(1000)


def message(update: object) -> Message:
    found = getattr(update, "message", None)
    assert isinstance(found, Message)
    return found
