"""Pictures and files both ways in Telegram, with everything behind the chat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.telegram.client.attached import FETCHED
from chatbridge.channels.telegram.client.uploads import FILES
from chatbridge.core.model import Ask, Attachment
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.sample_files import png
from tests.fakes.telegram.chats import Document
from tests.fakes.telegram.people import Card, Phone, file
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram

PHOTO = file(png(64, 48), type="photo")
LOG = file(b"red\n" * 1000, name="build.log", kind="text/x-log")


async def sends(
    telegram: Telegram,
    *files: Document,
    caption: str = "",
    reply_to: Card | None = None,
    phone: Phone | None = None,
) -> Card:
    """It, once the bot has dealt with it."""
    sent = (phone or telegram.phone).send(*files, caption=caption, reply_to=reply_to)
    await telegram.in_time(telegram.dealt_with())
    return sent


async def received(telegram: Telegram, ask: Ask) -> list[tuple[str, bytes]]:
    """The names and the contents of the files in the answer."""
    return [
        (each.name, content_of(telegram, each))
        for answer in await telegram.answers(ask)
        for each in answer.attachments
    ]


def content_of(telegram: Telegram, attachment: Attachment) -> bytes:
    path = telegram.desk.files.path(attachment)
    assert path is not None
    return Path(path).read_bytes()


async def test_a_photo_in_reply_to_a_question_is_its_answer(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    sent = await sends(telegram, PHOTO, caption="the error", reply_to=await telegram.card(ask))

    assert await received(telegram, ask) == [("photo.jpg", PHOTO.content)]
    (answer,) = await telegram.answers(ask)
    assert answer.values == ("the error",)
    await telegram.until(sent, lambda card: card.reactions == ("👍",))


async def test_an_album_beside_the_cards_answers_the_only_question(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    await telegram.card(ask)
    telegram.clock.advance(5.0)

    await sends(telegram, PHOTO, LOG, caption="both")

    names = [("photo.jpg", PHOTO.content), ("build.log", LOG.content)]
    assert await received(telegram, ask) == names
    assert telegram.api.fetched == 2


async def test_a_voice_message_that_nothing_transcribes_is_sent_as_a_recording(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(TEXT)
    spoken = file(b"OggS", type="voice", kind="audio/ogg")

    await sends(telegram, spoken, reply_to=await telegram.card(ask))

    assert await received(telegram, ask) == [("voice.ogg", b"OggS")]
    await telegram.sees("Sent as a recording.")


async def test_a_file_for_which_the_question_is_not_clear_is_fetched_once_it_is(
    telegram: Telegram,
) -> None:
    asks = [await telegram.desk.ask(TEXT), await telegram.desk.ask(TEXT, title="The other one.")]
    for ask in asks:
        await telegram.card(ask)
    telegram.clock.advance(5.0)

    await sends(telegram, PHOTO, LOG)
    asked = await telegram.sees("Which question is this for?")
    assert telegram.api.fetched == 0
    await telegram.tap(asked, asked.keys[0].text)

    found = [await received(telegram, ask) for ask in asks]
    assert sorted(map(len, found)) == [0, 2]
    assert telegram.api.fetched == 2


async def test_what_is_too_large_is_told_at_once_and_not_fetched(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    large = file(bytes(FETCHED + 1), name="film.mp4", type="video")

    await sends(telegram, large, reply_to=card)

    await telegram.sees(FILES.too_large)
    assert (await telegram.now(ask)).open
    assert telegram.api.calls("getFile") == ()


async def test_a_file_that_is_larger_than_telegram_says_is_given_up(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    telegram.api.rewrite("file", lambda body: bytes(FETCHED + 1), times=1)

    await sends(telegram, LOG, reply_to=card)

    await telegram.sees("Send less, or smaller ones.")
    assert (await telegram.now(ask)).open


async def test_a_download_that_fails_is_told_and_can_be_done_again(telegram: Telegram) -> None:
    ask = await telegram.desk.ask(TEXT)
    card = await telegram.card(ask)
    telegram.api.cut_off("file", after=10)

    await sends(telegram, LOG, reply_to=card)
    await telegram.sees("could not be fetched")
    assert (await telegram.now(ask)).open
    await sends(telegram, LOG, reply_to=card)

    assert await received(telegram, ask) == [("build.log", LOG.content)]


@pytest.mark.parametrize("group", [False, True])
async def test_a_strangers_files_are_never_fetched(tmp_path: Path, group: bool) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada, eve = api.person("Ada"), api.person("Eve")
        chat = api.group("team", ada, eve, privacy=False) if group else api.private(ada)
        theirs = chat if group else api.private(eve)
        async with running_telegram(
            tmp_path, api=api, clock=clock, chat=chat, phone=chat.phone(ada)
        ) as telegram:
            ask = await telegram.desk.ask(TEXT)
            card = await telegram.card(ask)
            phone, reply_to = theirs.phone(eve), card if group else None
            for files in ((PHOTO,), (LOG,), (PHOTO, LOG), (file(b"x", type="voice"),)):
                await sends(telegram, *files, caption="1", reply_to=reply_to, phone=phone)

            assert (api.calls("getFile"), api.fetched) == ((), 0)
            assert await telegram.now(ask) == ask


async def test_pictures_of_options_are_an_album_above_the_card(telegram: Telegram) -> None:
    stored = telegram.desk.files
    first, second = [
        replace(option, image=await stored.picture(f"{option.label}.png"))
        for option in SELECT.options
    ]
    log = await stored.text("build.log", "red\n")

    ask = await telegram.desk.ask(replace(SELECT, options=(first, second)), attachments=(log,))
    card = await telegram.card(ask)

    *files, last = telegram.phone.messages
    assert last.id == card.id
    assert [(it.document.type, it.text) for it in files if it.document] == [
        ("photo", "1 · PostgreSQL in Docker"),
        ("photo", "2 · SQLite"),
        ("document", ""),
    ]
    assert files[0].album == files[1].album != files[2].album
    assert [it.silent for it in files] == [True] * 3


async def test_a_picture_that_telegram_does_not_show_comes_as_a_file(telegram: Telegram) -> None:
    wide = await telegram.desk.files.picture("wide.png", size=(90, 1))

    ask = await telegram.desk.ask(CONFIRM, attachments=(wide,))
    await telegram.card(ask)

    first = telegram.phone.messages[0]
    assert first.document
    assert (first.document.type, first.document.name) == ("document", "wide.png")
    assert [it.status for it in telegram.api.calls("sendPhoto")] == [400]
