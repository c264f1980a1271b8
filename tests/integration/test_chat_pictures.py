"""Pictures of a question on their way to a chat: shrunk without what they tell of places, together
above the card, and whole for who wants them so."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.model import Attachment
from tests.fakes.inbox import SELECT
from tests.fakes.telegram.people import Card
from tests.fakes.telegram_desk import Telegram, running_telegram

DESCRIPTION, PLACE = 0x010E, "N52 31 12 E13 24 18"


def photo(size: tuple[int, int], *, color: str) -> bytes:
    """As a phone takes it, with the place in it."""
    content, exif = io.BytesIO(), Image.Exif()
    exif[DESCRIPTION] = PLACE
    Image.new("RGB", size, color).save(content, "JPEG", exif=exif)
    return content.getvalue()


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    async with running_telegram(tmp_path) as found:
        store = AttachmentFiles(tmp_path / "state", AttachmentLimits(), found.clock)
        found.desk.inbox.attachments = store
        try:
            yield found
        finally:
            await store.close()


def is_file(content: bytes, message: Card) -> bool:
    return message.document is not None and message.document.content == content


async def kept(telegram: Telegram, name: str, content: bytes) -> Attachment:
    store = telegram.desk.inbox.attachments
    assert isinstance(store, AttachmentFiles)
    return await store.add(io.BytesIO(content), name=name)


async def test_a_question_about_layouts_is_answered_by_the_number_of_a_picture(
    telegram: Telegram,
) -> None:
    contents = [photo((3000, 2000), color=color) for color in ("red", "blue")]
    images = [
        await kept(telegram, f"{name}.jpg", content)
        for name, content in zip("ab", contents, strict=True)
    ]
    options = tuple(
        replace(option, image=image) for option, image in zip(SELECT.options, images, strict=True)
    )
    log = await kept(telegram, "build.log", b"first line\nsecond line\n")
    ask = await telegram.desk.ask(replace(SELECT, options=options), attachments=(log,))
    card = await telegram.card(ask)

    first, second, file = telegram.phone.messages[:3]
    assert card == telegram.phone.messages[3]
    shown = [it.document for it in (first, second) if it.document]
    assert [it.type for it in shown] == ["photo", "photo"]
    assert [first.text, second.text] == ["1 · PostgreSQL in Docker", "2 · SQLite"]
    assert all(it.sides == (1568, 1045) and len(it.content) < 1_100_000 for it in shown)
    assert all(PLACE.encode() not in it.content for it in shown)
    assert file.document is not None
    assert (file.document.type, file.document.content) == ("document", b"first line\nsecond line\n")
    assert "2 pictures, 1 file (build.log, 23 bytes)" in card.text
    assert "second line" in card.text

    assert await telegram.tap(card, "Originals") == "They come as files."
    for content in contents:
        await telegram.sees(partial(is_file, content))
    await telegram.tap(card, "2 · SQLite")
    assert (await telegram.answers(ask))[0].values == ("SQLite",)


async def test_what_only_looks_like_a_picture_comes_as_a_file(telegram: Telegram) -> None:
    broken = photo((300, 200), color="red")[:600]
    image = await kept(telegram, "half.jpg", broken)
    ask = await telegram.desk.ask(SELECT, attachments=(image,))
    card = await telegram.card(ask)
    (sent, _) = telegram.phone.messages
    assert sent.document is not None
    assert (sent.document.type, sent.document.content) == ("document", broken)
    assert "in the inbox" not in card.text
