"""What a server did though the hub never heard of it, and what was in the way for a while: in the
end a room shows every ask as it is."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from chatbridge.channels.matrix.api import STORE
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Status
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse

LONG = 1200.0
SEND = "send/m.room.message"


async def crash(matrix: Matrix) -> None:
    matrix.running.cancel()
    await asyncio.wait({matrix.running})


def next_hub(matrix: Matrix, folder: Path) -> AbstractAsyncContextManager[Matrix]:
    return running_matrix(
        folder,
        matrix.synapse,
        clock=matrix.clock,
        ada=matrix.ada,
        bot=matrix.bot,
        room=matrix.room,
    )


async def without_buttons(matrix: Matrix, event: str) -> str:
    """What the message says once the bot has taken its reactions away."""
    shown = await matrix.in_time(
        matrix.ada.until(matrix.room, event, lambda m: not matrix.buttons(m) and "❓" not in m.body)
    )
    return shown.body


async def test_a_reaction_that_nobody_noted_goes_with_the_others(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        first = relay.lose("send/m.reaction")
        ask = await matrix.desk.ask(SELECT, timeout=LONG)
        await first.came()
        card = await matrix.ada.sees(
            lambda m: matrix.bot.user_id in m.reactions.get("1️⃣", ()), room=matrix.room
        )
        await matrix.ada.react(matrix.room, card.event_id, "2️⃣")
        await matrix.dealt_with()
        assert (await matrix.now(ask)).status is Status.ANSWERED
        assert "SQLite" in await without_buttons(matrix, card.event_id)


@pytest.mark.parametrize("step", [0, 1], ids=["root", "step"])
async def test_a_card_that_is_answered_before_it_was_noted_says_so(
    tmp_path: Path, synapse: Synapse, step: int
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        ask = await matrix.desk.ask(*[CONFIRM] * step, SELECT, timeout=LONG) if step else None
        before = await matrix.card(ask) if ask else None
        relay.lose(SEND)
        lost = relay.lose(SEND)  # nio's session tries once more by itself
        if ask is None or before is None:
            ask = await matrix.desk.ask(SELECT, timeout=LONG)
        else:
            await matrix.ada.react(matrix.room, before.event_id, "👍")
        await lost.came()
        card = await matrix.ada.sees(lambda m: "React with a number" in m.body, room=matrix.room)
        await matrix.ada.react(matrix.room, card.event_id, "2️⃣")
        await matrix.dealt_with()
        assert (await matrix.now(ask)).draft.entries[step].picked == (1,)
        assert "SQLite" in await without_buttons(matrix, card.event_id)


async def test_when_the_root_of_a_form_is_removed_its_old_step_is_retired(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        ask = await matrix.desk.ask(SELECT, CONFIRM, timeout=LONG)
        root = await matrix.root(ask)
        await matrix.tap(ask, "1️⃣")
        step = await matrix.card(ask)
        await matrix.ada.redact(matrix.room, root.event_id)
        await matrix.dealt_with()
        new = await matrix.card(ask)
        assert new.event_id not in (root.event_id, step.event_id)
        assert await without_buttons(matrix, step.event_id)
        await matrix.tap(ask, "👍", "✅")
        assert (await matrix.now(ask)).status is Status.ANSWERED


@pytest.mark.parametrize("dies", [False, True], ids=["fails", "dies"])
async def test_an_upgraded_room_is_followed_though_something_fails_on_the_way(
    tmp_path: Path, synapse: Synapse, dies: bool
) -> None:
    clock = StillClock(at=time.time() - 3600.0)
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, clock=clock, address=relay.address) as matrix,
    ):
        await matrix.card(await matrix.desk.ask(SELECT, timeout=LONG))
        new = await matrix.ada.upgrade_room(matrix.room)
        await matrix.dealt_with()
        if not dies:
            relay.refuse("GET.*m.room.create", status=502, body={})
        await matrix.ada.invite(new, matrix.bot.user_id)
        await matrix.ada.sees_member(new, matrix.bot.user_id)
        if dies:
            await crash(matrix)
            async with next_hub(matrix, tmp_path) as later:
                await later.in_time(later.ada.sees(lambda m: "Which" in m.body, room=new))
        else:
            await matrix.in_time(matrix.ada.sees(lambda m: "Which" in m.body, room=new))


async def test_keys_that_are_damaged_or_lost_are_said_with_what_to_do(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        await matrix.card(await matrix.desk.ask(SELECT, timeout=LONG))
        await crash(matrix)
        (keys,) = (tmp_path / "matrix").glob(f"*/{STORE}")
        keys.write_bytes(b"no database at all" * 100)
        with pytest.raises(SettingsError, match=r"crypto\.db cannot be read .*Put back a copy"):
            async with next_hub(matrix, tmp_path):
                pass
        keys.unlink()
        async with next_hub(matrix, tmp_path) as later:
            assert "Log it in anew" in (later.channel.trouble or "")
