"""Pictures and files in rooms of a real homeserver, both ways."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.channels.chat.document import File, Upload
from chatbridge.channels.chat.writer import MessageRejected, Outgoing
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.core.model import Answer
from tests.fakes.inbox import TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.synapse import MAX_UPLOAD, Synapse

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3_000
"""Longer than what is read at once."""


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
        with pytest.raises(MessageRejected, match=r"up to 30\.0 MB"):
            await send(matrix, File(name="a.bin", path=str(large)))
        with pytest.raises(MessageRejected, match="no longer there"):
            await send(matrix, File(name="a.bin", path=str(gone)))
        assert await send(matrix, File(name="a.txt", content=b"small"))


async def test_in_quiet_hours_a_picture_stays_in_the_inbox_because_it_would_ring(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        await matrix.desk.inbox.switch_quiet("2h")
        ask = await matrix.desk.ask(TEXT, attachments=(matrix.desk.files.picture("a.png"),))
        card = await matrix.root(ask)
        assert "could not be sent here; it is in the inbox." in card.body
        assert [each.msgtype for each in matrix.ada.messages(matrix.room)] == ["m.notice"]
        await matrix.desk.inbox.switch_quiet("off")
        ask = await matrix.desk.ask(TEXT, attachments=(matrix.desk.files.picture("b.png"),))
        card = await matrix.root(ask)
        assert "in the inbox" not in card.body
        picture = matrix.ada.messages(matrix.room)[-2]
        assert (picture.msgtype, picture.body) == ("m.image", "b.png")


async def test_a_reply_to_a_file_above_a_card_answers_its_question(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        ask = await matrix.desk.ask(TEXT, attachments=(matrix.desk.files.text("a.log", "a"),))
        await matrix.desk.ask(TEXT)
        await matrix.root(ask)
        file = next(m for m in matrix.ada.messages(matrix.room) if m.msgtype == "m.file")
        await matrix.ada.react(matrix.room, file.event_id, "❌")
        await matrix.ada.reply(matrix.room, "feat: it", to=file.event_id)
        await matrix.dealt_with()
        answered = (await matrix.now(ask)).answer
        assert answered is not None
        assert answered.answers == (Answer(values=("feat: it",)),)
