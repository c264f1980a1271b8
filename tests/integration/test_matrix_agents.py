"""Messages to agents in a Matrix room: threads, recordings, and what was written before a start."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chatbridge.channels.chat import agents as words
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.core.model import Level
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CLAUDE, SHOP, Desk
from tests.fakes.matrix_desk import running_matrix
from tests.fakes.synapse import Synapse

pytestmark = pytest.mark.process


def sent(desk: Desk) -> list[tuple[str, str]]:
    return [(each.link, each.text) for each in desk.inbox.messages.waiting()]


async def test_a_thread_below_a_notice_is_for_its_agent(tmp_path: Path, synapse: Synapse) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        matrix.desk.inbox.messages.agents.seen("link", SHOP, CLAUDE)
        notice = await matrix.desk.notify("The build is green.", level=Level.WARNING)
        assert await matrix.desk.shown_on(notice)
        shown = await matrix.told("The build is green.")
        written = await matrix.ada.in_thread(matrix.room, "deploy  it", root=shown.event_id)
        await matrix.dealt_with()
        assert sent(matrix.desk) == [("link", "deploy  it")]
        (message,) = matrix.desk.inbox.messages.waiting()
        at = WrittenAt.from_text(message.reply_to)
        assert at == WrittenAt(room=matrix.room, message=written, root=shown.event_id)
        await matrix.ada.in_thread(matrix.room, "!agents", root=shown.event_id)
        await matrix.told("1 agent is connected")


async def test_a_voice_message_to_an_agent_is_sent_as_a_recording(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        matrix.desk.inbox.messages.agents.seen("link", SHOP, CLAUDE)
        notice = await matrix.desk.notify("The build is green.", level=Level.WARNING)
        assert await matrix.desk.shown_on(notice)
        shown = await matrix.told("The build is green.")
        where = await matrix.ada.upload(b"OggS hello", type="audio/ogg")
        said = {"msgtype": "m.audio", "body": "voice.ogg", "org.matrix.msc3245.voice": {}, **where}
        said["m.relates_to"] = {"m.in_reply_to": {"event_id": shown.event_id}}
        await matrix.ada.send_raw(matrix.room, "m.room.message", said)
        await matrix.dealt_with()
        (message,) = matrix.desk.inbox.messages.waiting()
        assert len(message.attachments) == 1
        await matrix.told(words.AS_RECORDING)


async def test_what_was_written_before_the_start_counts_if_it_names_its_agent(
    tmp_path: Path, synapse: Synapse
) -> None:
    started_later = StillClock(at=time.time() + 3600.0)
    async with running_matrix(tmp_path, synapse, clock=started_later) as matrix:
        matrix.desk.inbox.messages.agents.seen("link", SHOP, CLAUDE)
        await matrix.ada.say(matrix.room, "!tell use tabs")
        asked = await matrix.told("Which agent is this for?")
        assert "Send it again with a name: !tell shop-api use tabs." in asked.body
        assert sent(matrix.desk) == []
        await matrix.ada.say(matrix.room, "!tell shop-api use tabs")
        await matrix.dealt_with()
        assert sent(matrix.desk) == [("link", "use tabs")]
