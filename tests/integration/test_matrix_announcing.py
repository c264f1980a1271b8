"""What agents tell without asking, in a room: silently or not, once, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatbridge.core.model import Level
from tests.ended_operations import BADLY, HOSTILE, WELL
from tests.fakes.inbox import SELECT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_timeline import Message
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse
from tests.matrix_asks import plain

SENDS = "PUT .*/send/m.room.message"


def by_bot(matrix: Matrix) -> list[Message]:
    return [m for m in matrix.ada.messages(matrix.room) if m.sender == matrix.bot.user_id]


async def test_an_info_is_silent_and_a_warning_or_an_error_calls(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        await matrix.desk.notify("412 pass.", title="Night run")
        await matrix.desk.notify("The disk is nearly full.", level=Level.WARNING)
        await matrix.desk.notify("x😀" * 5_000, title="The build failed", level=Level.ERROR)
        info = await matrix.told("412 pass.")
        warning = await matrix.told("The disk is nearly full.")
        error = await matrix.told("The build failed")
        ada = (matrix.ada.user_id,)
        assert [(m.msgtype, m.mentions) for m in (info, warning, error)] == [
            ("m.notice", ()),
            ("m.text", ada),
            ("m.text", ada),
        ]
        assert plain(info.body) == "ℹ️ shop-api · Claude Code\nNight run\n412 pass."
        assert plain(warning.body).startswith("⚠️ Warning · shop-api · Claude Code\n")
        assert error.body.endswith("… The whole message is in the web inbox.")
        assert [m.event_id for m in by_bot(matrix)] == [
            info.event_id,
            warning.event_id,
            error.event_id,
        ]


async def test_an_operation_that_failed_calls_and_says_where_its_output_is(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        await matrix.desk.tell_end(WELL)
        await matrix.desk.tell_end(BADLY)
        await matrix.desk.tell_end(HOSTILE)
        well, badly = await matrix.told("cargo build"), await matrix.told("pytest")
        hostile = await matrix.told("all fine")
        ada = (matrix.ada.user_id,)
        assert [(m.msgtype, m.mentions) for m in (well, badly, hostile)] == [
            ("m.notice", ()),
            ("m.text", ada),
            ("m.text", ada),
        ]
        assert plain(well.body) == "✅ cargo build finished · shop-api\n4 min 12 s"
        assert plain(badly.body) == (
            "❌ pytest failed · shop-api\nexit 1 after 4 min 12 s\n"
            "E   assert 1 == 2\n1 failed, 411 passed\nThe whole output is in the web inbox."
        )
        assert plain(hostile.body).startswith("❌ </b></pre><script>1</script> ❓ ⟨U+202E⟩shop ")
        assert hostile.html is not None
        assert hostile.html.count("<pre>") == hostile.html.count("</pre>") == 1


async def test_a_notice_whose_send_was_cut_is_there_once_also_for_the_next_hub(
    tmp_path: Path, synapse: Synapse
) -> None:
    for encrypted in (False, True):
        folder = tmp_path / str(encrypted)
        folder.mkdir()
        async with (
            Relay.running(synapse.port) as relay,
            running_matrix(folder, synapse, encrypted=encrypted, address=relay.address) as matrix,
        ):
            lost = relay.lose("PUT .*/send/m.room.(message|encrypted)")
            notice = await matrix.desk.notify("Once.", request='"same"')
            await lost.came()
            told = await matrix.in_time(matrix.told("Once."))
            assert told.encrypted == encrypted
            assert await matrix.desk.notify("Once.", request='"same"') == notice
            (surface,) = matrix.channel.surfaces
            await surface.announce(notice)  # as a hub that did not live to note it
            again: dict[str, Any] = {"ada": matrix.ada, "bot": matrix.bot, "room": matrix.room}
            await matrix.desk.notify("The end.")
            await matrix.in_time(matrix.told("The end."))
            async with running_matrix(folder, synapse, **again) as later:
                await later.desk.notify("And on.", level=Level.WARNING)
                await later.told("And on.")
                said = [plain(body).split("\n")[-1] for body in later.said()]
                assert said == ["Once.", "The end.", "And on."]


async def test_a_notice_waits_for_the_room_and_comes_with_the_questions(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        await matrix.ada.kick(matrix.room, matrix.bot.user_id)
        await matrix.dealt_with()
        await matrix.desk.notify("Later.")
        await matrix.until(lambda: "is not in the room" in (matrix.channel.trouble or ""))
        ask = await matrix.desk.ask(SELECT)
        await matrix.ada.invite(matrix.room, matrix.bot.user_id)
        card = await matrix.in_time(matrix.card(ask))
        told = await matrix.in_time(matrix.told("Later."))
        assert {m.event_id for m in by_bot(matrix)} == {card.event_id, told.event_id}
        assert matrix.channel.trouble is None
