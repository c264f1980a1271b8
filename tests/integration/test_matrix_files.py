"""Pictures and files in rooms of a real homeserver, both ways."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.writer import MessageRejected, Outgoing
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.core.model import Attachment
from tests.fakes.core_env import OWNER
from tests.fakes.inbox import SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.relay import Relay
from tests.fakes.synapse import MAX_UPLOAD, SERVER_NAME, Synapse

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3_000
"""Longer than what is read at once."""


def in_thread(root: str) -> dict[str, object]:
    return {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}


def in_reply(to: str) -> dict[str, object]:
    return {"m.in_reply_to": {"event_id": to}}


def stored(matrix: Matrix, *files: Attachment) -> list[tuple[str, bytes]]:
    """Their names, and what is stored of them."""
    paths = [(file.name, matrix.desk.files.path(file)) for file in files]
    return [(name, Path(path).read_bytes()) for name, path in paths if path]


def chat_of(matrix: Matrix) -> Chat:
    (chat,) = matrix.channel.surfaces
    assert isinstance(chat, Chat)
    return chat


async def send(matrix: Matrix, file: File, *, key: str = "a") -> str:
    sent = await chat_of(matrix).send(
        Outgoing(room=matrix.room, what=Upload.of(file), key=("upload", key))
    )
    return sent.id


@pytest.mark.parametrize("encrypted", [False, True])
async def test_a_person_gets_the_picture_that_was_sent(
    tmp_path: Path, synapse: Synapse, encrypted: bool
) -> None:
    at = tmp_path / "shown"
    at.write_bytes(PNG)
    picture = File(
        name="Ä layout.png",
        path=str(at),
        type="image/png",
        caption="1 · Sidebar",
        size=(640, 480),
    )
    async with running_matrix(tmp_path, synapse, encrypted=encrypted) as matrix:
        event = await send(matrix, picture)
        content = (await matrix.ada.sees_event(matrix.room, event))["content"]
        assert ("file" in content, "url" in content) == (encrypted, not encrypted)
        assert await matrix.ada.download(content) == PNG
        assert {name: content[name] for name in ("msgtype", "body", "filename", "info")} == {
            "msgtype": "m.image",
            "body": "1 · Sidebar",
            "filename": "Ä layout.png",
            "info": {"mimetype": "image/png", "size": len(PNG), "w": 640, "h": 480},
        }
        assert await send(matrix, picture) == event, "the same deed is one message"


async def test_a_file_that_the_server_does_not_take_is_refused_without_being_read(
    tmp_path: Path, synapse: Synapse
) -> None:
    large, gone = tmp_path / "large", tmp_path / "gone"
    with large.open("wb") as file:
        os.truncate(file.fileno(), MAX_UPLOAD + 1)
    async with running_matrix(tmp_path, synapse) as matrix:
        with pytest.raises(MessageRejected, match=r"up to 30 MB"):
            await send(matrix, File(name="a.bin", path=str(large)))
        with pytest.raises(MessageRejected, match="cannot be read"):
            await send(matrix, File(name="a.bin", path=str(gone)))
        assert await send(matrix, File(name="a.txt", content=b"small"))


async def test_in_quiet_hours_a_picture_stays_in_the_inbox_because_it_would_ring(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        await matrix.desk.inbox.switch_quiet("2h", person=OWNER)
        ask = await matrix.desk.ask(TEXT, attachments=(await matrix.desk.files.picture("a.png"),))
        card = await matrix.root(ask)
        assert "could not be sent here; it is in the inbox." in card.body
        assert [each.msgtype for each in matrix.ada.messages(matrix.room)] == ["m.notice"]
        await matrix.desk.inbox.switch_quiet("off", person=OWNER)
        ask = await matrix.desk.ask(TEXT, attachments=(await matrix.desk.files.picture("b.png"),))
        card = await matrix.root(ask)
        assert "in the inbox" not in card.body
        picture = matrix.ada.messages(matrix.room)[-2]
        assert (picture.msgtype, picture.body) == ("m.image", "b.png")


async def test_a_picture_that_is_shown_smaller_comes_as_it_is_to_who_asks_for_it(
    matrix: Matrix,
) -> None:
    large = await matrix.desk.files.picture("wide.png", size=(3_000, 20), caption="Before")
    ask = await matrix.desk.ask(TEXT, attachments=(large,))
    root = await matrix.root(ask)
    assert "Reply !originals for the pictures in full size." in root.body
    await matrix.say(ask, "!Originals")
    file = await matrix.ada.sees(lambda it: it.msgtype == "m.file", room=matrix.room)
    assert (file.thread, file.body) == (root.event_id, "Before")
    content = await matrix.ada.download(file.content)
    assert stored(matrix, large) == [("wide.png", content)]
    await matrix.told("They come as files.")
    assert await matrix.now(ask) == ask


async def test_the_file_of_a_notice_is_a_reply_to_it_and_not_hidden_in_a_thread(
    matrix: Matrix,
) -> None:
    log = await matrix.desk.files.text("build.log", "all green")
    await matrix.desk.shown_on(await matrix.desk.notify("It is done", attachments=(log,)))
    file = await matrix.ada.sees(lambda it: it.msgtype == "m.file", room=matrix.room)
    assert file.thread is None
    assert file.in_reply_to is not None
    assert "It is done" in matrix.ada.message(matrix.room, file.in_reply_to).body
    assert await matrix.ada.download(file.content) == b"all green"


# ── from people ───────────────────────────────────────────────────────────────────────────────────


async def test_an_encrypted_picture_is_the_answer_and_one_that_was_changed_is_not(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        ask = await matrix.desk.ask(TEXT)
        thread = in_thread((await matrix.root(ask)).event_id)
        where, other = [await matrix.ada.upload(each, lock=True) for each in (PNG, PNG[:-1])]
        where["file"]["url"] = other["file"]["url"]
        changed = {"msgtype": "m.image", "body": "a.png", "m.relates_to": thread, **where}
        await matrix.ada.send_raw(matrix.room, "m.room.message", changed)
        assert (await matrix.told("arrived damaged")).thread == thread["event_id"]
        assert await matrix.now(ask) == ask
        name, caption = "../../error ü.png", "This is the error"
        await matrix.ada.send_file(matrix.room, PNG, name=name, caption=caption, relates=thread)
        await matrix.dealt_with()
        (answer,) = await matrix.answers(ask)
        assert answer.values == (caption,)
        assert stored(matrix, *answer.attachments) == [("error ü.png", PNG)]


async def test_a_picture_as_a_reply_waits_for_the_option_that_it_is_for(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(SELECT)
    root = await matrix.root(ask)
    await matrix.ada.send_file(matrix.room, PNG, relates=in_reply(root.event_id))
    await matrix.dealt_with()
    assert (await matrix.now(ask)).open
    assert "photo.png" in (await matrix.card(ask)).body
    await matrix.tap(ask, "2️⃣")
    (answer,) = await matrix.answers(ask)
    assert answer.values == ("SQLite",)
    assert stored(matrix, *answer.attachments) == [("photo.png", PNG)]


async def test_a_reply_to_the_picture_of_a_question_is_for_that_question(matrix: Matrix) -> None:
    asks = [
        await matrix.desk.ask(TEXT, attachments=(await matrix.desk.files.picture(name),))
        for name in ("a.png", "b.png")
    ]
    for ask in asks:
        await matrix.root(ask)
    shown = await matrix.ada.sees(lambda it: it.body == "a.png", room=matrix.room)
    await matrix.ada.reply(matrix.room, "The left one", to=shown.event_id)
    await matrix.dealt_with()
    (answer,) = await matrix.answers(asks[0])
    assert answer.values == ("The left one",)
    assert (await matrix.now(asks[1])).open


async def test_a_picture_beside_the_cards_is_for_the_question_that_a_tap_names(
    matrix: Matrix,
) -> None:
    asks = [await matrix.desk.ask(TEXT), await matrix.desk.ask(TEXT, timeout=900.0)]
    for ask in asks:
        await matrix.root(ask)
    await matrix.ada.send_file(matrix.room, PNG, caption="Look")
    asked = await matrix.told("Which question is this for?")
    await matrix.ada.react(matrix.room, asked.event_id, "2️⃣")
    await matrix.dealt_with()
    (answer,) = await matrix.answers(asks[1])
    assert answer.values == ("Look",)
    assert stored(matrix, *answer.attachments) == [("photo.png", PNG)]
    assert (await matrix.now(asks[0])).open


async def test_a_file_that_is_not_there_is_told_and_changes_nothing(matrix: Matrix) -> None:
    ask = await matrix.desk.ask(TEXT)
    root = await matrix.root(ask)
    said = {"msgtype": "m.image", "body": "a.png", "m.relates_to": in_thread(root.event_id)}
    missing = {"url": f"mxc://{SERVER_NAME}/missing"}
    await matrix.ada.send_raw(matrix.room, "m.room.message", said | missing)
    await matrix.told("does not hand that file out (M_NOT_FOUND)")
    await matrix.ada.send_raw(matrix.room, "m.room.message", said)
    await matrix.told("did not say where that file is")
    assert (await matrix.now(ask)) == ask


async def test_neither_a_strangers_picture_nor_a_sticker_is_fetched(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
        Person.online(synapse, "Eve", tmp_path / "eve") as eve,
    ):
        ask = await matrix.desk.ask(TEXT)
        root = (await matrix.root(ask)).event_id
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        said = len(matrix.said())
        await eve.send_file(matrix.room, PNG, relates=in_thread(root))
        sticker = {"body": "cat", "m.relates_to": in_thread(root)}
        sticker |= await matrix.ada.upload(PNG)
        await matrix.ada.send_raw(matrix.room, "m.sticker", sticker)
        await matrix.dealt_with()
        assert (await matrix.now(ask)) == ask
        await matrix.settled()
        assert len(matrix.said()) == said
        assert not [each for each in relay.requests if "/media/" in each]
        await matrix.ada.send_file(matrix.room, PNG, relates=in_thread(root))
        await matrix.dealt_with()
        assert len(await matrix.answers(ask)) == 1
        assert len([each for each in relay.requests if "/media/download/" in each]) == 1
