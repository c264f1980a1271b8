"""What a server did though the hub never heard of it, and what was in the way for a while: in the
end a room shows every ask as it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from chatbridge.channels.matrix.client.api import STORE
from chatbridge.core.asks import transitions
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Answer, Ask, Person, Post, Status
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import StillClock
from tests.fakes.inbox import CONFIRM, SELECT
from tests.fakes.matrix_desk import PATIENCE, Matrix, running_matrix
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse

LONG = 1200.0
SEND = "send/m.room.message"
OWNER = Person(name="Ada", channel="web")


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
        matrix.ada.until(
            matrix.room,
            event,
            lambda m: not matrix.buttons(m) and ("❓" not in m.body or "continued below" in m.body),
        )
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


async def test_a_reaction_that_nobody_noted_goes_from_a_card_that_goes_on_below(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        relay.lose("send/m.reaction")
        lost = relay.lose("send/m.reaction")  # nio's session tries once more by itself
        ask = await matrix.desk.ask(SELECT, timeout=LONG)
        await lost.came()
        card = await matrix.ada.sees(
            lambda m: matrix.bot.user_id in m.reactions.get("1️⃣", ()), room=matrix.room
        )
        await crash(matrix)
        remind = partial(transitions.remind, now=matrix.clock.time(), last=False)
        await matrix.desk.broker.change(ask.id, remind)
        async with next_hub(matrix, tmp_path) as after:
            await after.in_time(
                after.ada.until(
                    after.room, card.event_id, lambda m: m.body.endswith("continued below")
                )
            )
            await after.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=OWNER)
            assert await without_buttons(after, card.event_id)


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


@pytest.mark.parametrize("dies", [False, True], ids=["fails", "dies"])
async def test_a_card_that_nobody_noted_before_its_ask_was_answered_elsewhere_says_so(
    tmp_path: Path, synapse: Synapse, dies: bool
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        relay.lose(SEND)
        lost = relay.lose(SEND)  # nio's session tries once more by itself
        ask = await matrix.desk.ask(SELECT, timeout=LONG)
        await lost.came()
        card = await matrix.ada.sees(lambda m: "React with a number" in m.body, room=matrix.room)
        if dies:
            await crash(matrix)
        await matrix.desk.inbox.answer(ask.id, (Answer(values=("SQLite",)),), person=OWNER)
        if not dies:
            assert "SQLite" in await without_buttons(matrix, card.event_id)
            return
        async with next_hub(matrix, tmp_path) as after:
            assert "SQLite" in await without_buttons(after, card.event_id)


async def test_a_card_that_is_noted_while_its_echo_is_read_stays_as_it_was_noted(
    tmp_path: Path, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_matrix(tmp_path, synapse, reactions=False) as matrix:
        inbox, (room,) = matrix.desk.inbox, matrix.channel.surfaces
        post = inbox.post

        async def nothing(_: str, *, surface: str) -> None:
            """What was known before the card, and is said only when it has been noted."""
            while True:
                if shown and await post(shown[0].id, surface=surface) is not None:
                    return
                await asyncio.sleep(0.005)

        shown: list[Ask] = []
        with monkeypatch.context() as late:
            late.setattr(inbox, "post", nothing)
            late.setattr(inbox, "post_at", nothing)
            shown.append(await matrix.desk.ask(SELECT))
            await matrix.told("Which database")
            await matrix.dealt_with()
        noted = await post(shown[0].id, surface=room.name)
        assert noted is not None
        assert noted.revision == shown[0].revision
        assert "Which database" in (await matrix.card(shown[0])).body


async def test_a_card_whose_ask_ends_while_its_echo_is_noted_says_so(
    tmp_path: Path, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        inbox, look, looked = matrix.desk.inbox, SqliteStore.post, asyncio.Event()
        adopt = inbox.adopt
        noted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def post(store: SqliteStore, ask_id: str, *, surface: str) -> Post | None:
            found = await look(store, ask_id, surface=surface)
            looked.set()
            return found

        async def after_the_end(post: Post, *, over: Post | None, handles: Sequence[str]) -> bool:
            """As with a busy disk: whoever sent the card has looked, and found none."""
            await inbox.answer(post.ask_id, (Answer(values=("SQLite",)),), person=OWNER)
            looked.clear()
            await matrix.in_time(looked.wait())
            noted.set_result(await adopt(post, over=over, handles=handles))
            return await noted

        monkeypatch.setattr(SqliteStore, "post", post)
        monkeypatch.setattr(inbox, "adopt", after_the_end)
        relay.lose(SEND)
        relay.lose(SEND)  # nio's session tries once more by itself
        await matrix.desk.ask(SELECT, timeout=LONG)
        card = await matrix.ada.sees(lambda m: "React with a number" in m.body, room=matrix.room)
        assert await asyncio.wait_for(noted, PATIENCE) is True
        # The clock stands: nothing else that becomes due changes the card.
        await matrix.ada.until(matrix.room, card.event_id, lambda m: "❓" not in m.body)


async def test_a_tap_on_a_card_that_was_noted_just_now_leaves_it_as_it_was_noted(
    tmp_path: Path, synapse: Synapse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        ask = await matrix.desk.ask(SELECT, timeout=LONG)
        card = await matrix.card(ask)

        async def not_yet(_: str, *, surface: str) -> None:
            """As it was a moment ago."""

        monkeypatch.setattr(matrix.desk.inbox, "post_at", not_yet)
        await matrix.ada.react(matrix.room, card.event_id, "2️⃣")
        await matrix.dealt_with()
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
            assert "Log it in again" in (later.channel.trouble or "")
