"""When the homeserver is away, slow, strict or closed to the bot, and when a hub dies while it
sends: in the end everything is there, once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chatbridge.clock import SystemClock
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import Ask, Status
from tests.fakes.disk import failing
from tests.fakes.inbox import SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_timeline import Event
from tests.fakes.network import free_port
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse
from tests.fakes.telegram_log import warnings

PATIENCE = 20.0
NOW = r"GET .*/sync\?(?!.*timeout=)"
"""What is there, without waiting for more."""
SENDS = r"PUT .*/(send|redact)/"
LIMITED = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast", "retry_after_ms": 100}
SEEDS = ["1️⃣", "2️⃣", "❔", "❌"]


async def crash(matrix: Matrix) -> None:
    matrix.running.cancel()
    await asyncio.wait({matrix.running})


def by_bot(matrix: Matrix, kind: str) -> list[Event]:
    """Edits are no messages of their own."""
    found = [
        event
        for event in matrix.ada.events(matrix.room)
        if event["sender"] == matrix.bot.user_id and event["type"] == kind
    ]
    return [it for it in found if "m.new_content" not in it["content"]]


def is_notice(event: Event) -> bool:
    return bool(event["content"].get("msgtype") == "m.notice")


async def set_levels(matrix: Matrix, events: dict[str, int]) -> None:
    """The power that these take in the room; the bot has none."""
    levels = dict(matrix.ada.state(matrix.room, "m.room.power_levels") or {}) | {"events": events}
    await matrix.ada.set_state(matrix.room, "m.room.power_levels", levels)


async def answered(matrix: Matrix, ask: Ask) -> bool:
    return (await matrix.now(ask)).status is Status.ANSWERED


# ── the homeserver ────────────────────────────────────────────────────────────────────────────────


async def test_a_homeserver_that_is_down_at_the_start_and_again_later_loses_nothing(
    tmp_path: Path, synapse: Synapse, caplog: pytest.LogCaptureFixture
) -> None:
    async with Relay.running(synapse.port) as relay:
        nobody = f"http://127.0.0.1:{free_port()}"
        async with running_matrix(tmp_path, synapse, address=nobody, ready=False) as early:
            await asyncio.wait({early.running}, timeout=PATIENCE)
            error = early.running.exception()
            assert isinstance(error, RetryLater)
            assert "the homeserver cannot be reached" in str(error)
            async with running_matrix(
                tmp_path,
                synapse,
                ada=early.ada,
                bot=early.bot,
                room=early.room,
                address=relay.address,
            ) as matrix:
                first = await matrix.desk.ask(TEXT)
                card = await matrix.card(first)
                caplog.clear()
                with relay.down():
                    await matrix.until(lambda: matrix.channel.trouble)
                    assert "cannot be reached" in (matrix.channel.trouble or "")
                    second = await matrix.desk.ask(SELECT)
                    await matrix.ada.in_thread(matrix.room, "fix: it", root=card.event_id)
                await matrix.in_time(matrix.dealt_with())
                assert await answered(matrix, first)
                await matrix.in_time(matrix.card(second))
                await matrix.tap(second, "2️⃣")
                assert await answered(matrix, second)
                assert matrix.channel.trouble is None
                reading = [it for it in warnings(caplog) if it.startswith("matrix: the homeserver")]
                assert len(reading) == 1, "a night without network is one line"


async def test_a_homeserver_that_does_not_answer_holds_up_nobody_and_loses_nothing(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        first = await matrix.desk.ask(TEXT)
        card = await matrix.in_time(matrix.card(first))
        with relay.silent():
            waiting = asyncio.ensure_future(matrix.channel.drain())
            await matrix.until(lambda: "did not answer in time" in (matrix.channel.trouble or ""))
            second = await matrix.desk.ask(SELECT)
            assert (await matrix.now(second)).open
            assert not waiting.done()
        await matrix.ada.in_thread(matrix.room, "fix: slowly", root=card.event_id)
        await matrix.in_time(matrix.dealt_with())
        assert waiting.done()
        assert await answered(matrix, first)
        assert (await matrix.in_time(matrix.card(second))).event_id
        assert len(by_bot(matrix, "m.room.message")) == 2


async def test_an_old_answer_that_comes_again_is_not_taken_for_the_newest(
    tmp_path: Path, synapse: Synapse
) -> None:
    """A homeserver keeps what it said, and says it again to who asks again from the same place."""
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        ask = await matrix.desk.ask(TEXT)
        card = await matrix.card(ask)
        await matrix.dealt_with()
        await matrix.ada.create_room("elsewhere")
        relay.lose(NOW)
        lost = relay.lose(NOW)  # the session tries once more by itself
        waiting = asyncio.ensure_future(matrix.dealt_with())
        await lost.came()
        await matrix.ada.in_thread(matrix.room, "fix: it", root=card.event_id)
        await matrix.in_time(matrix.dealt_with())
        assert await answered(matrix, ask)
        await waiting


async def test_a_server_with_limits_gets_its_pauses_and_everything_comes_in_order(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, clock=SystemClock(), address=relay.address) as matrix,
    ):
        await asyncio.to_thread(synapse.limit_rate_of, matrix.bot.user_id, 5, 3)
        first = relay.refuse("PUT .*/send/m.room.message", status=429, body=LIMITED, hold=True)
        asks = [await matrix.desk.ask(SELECT, title=f"Number {it}.") for it in (1, 2, 3)]
        await first.came()
        first.go.set()
        cards = [await matrix.card(ask) for ask in asks]
        await matrix.tap(asks[0], "2️⃣")
        assert await answered(matrix, asks[0])
        sent = [it["event_id"] for it in by_bot(matrix, "m.room.message")]
        assert sent == [it.event_id for it in cards]
        for card in cards[1:]:
            assert list(card.reactions) == SEEDS
        assert matrix.channel.trouble is None
        there = len(by_bot(matrix, "m.room.message")) + len(by_bot(matrix, "m.reaction"))
        assert there < relay.count(SENDS) <= 2 * there + 2, "after a pause it goes on at once"


async def test_a_plain_message_is_asked_about_though_the_server_wants_a_pause_before_that(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        asks = [await matrix.desk.ask(TEXT, title=f"Number {it}.") for it in (1, 2)]
        for ask in asks:
            await matrix.card(ask)
        limited = LIMITED | {"retry_after_ms": 300}
        refused = [
            relay.refuse(f"PUT .*/send/{kind}", status=429, body=limited)
            for kind in ("m.room.message", "m.reaction")
        ]
        await matrix.ada.say(matrix.room, "fix: it")
        asked = await matrix.in_time(matrix.told("Which question is this for?"), step=0.1)
        for each in refused:
            await matrix.in_time(each.came(), step=0.1)
        await matrix.in_time(
            matrix.ada.until(matrix.room, asked.event_id, lambda it: len(it.reactions) == 2),
            step=0.1,
        )
        await matrix.ada.react(matrix.room, asked.event_id, "2️⃣")
        await matrix.dealt_with()
        assert await answered(matrix, asks[1])
        assert not await answered(matrix, asks[0])
        assert len([it for it in by_bot(matrix, "m.room.message") if is_notice(it)]) == 1


# ── a hub that dies while it sends ────────────────────────────────────────────────────────────────


async def test_a_card_that_was_sent_and_not_noted_is_not_sent_again_and_its_reaction_counts(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        async with failing(tmp_path, "posts"):
            ask = await matrix.desk.ask(SELECT)
            card = await matrix.told("Which database")
            await crash(matrix)
        await matrix.ada.react(matrix.room, card.event_id, "2️⃣")
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room
        ) as after:
            assert await answered(after, ask)
            await after.ada.until(after.room, card.event_id, lambda it: "Answered" in it.body)
            assert len(by_bot(after, "m.room.message")) == 1


async def test_what_a_server_did_before_the_hub_died_or_the_line_broke_is_not_done_twice(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        relay.lose("PUT .*/send/m.room.message")
        lost = relay.lose("PUT .*/send/m.reaction")
        ask = await matrix.desk.ask(SELECT)
        await matrix.in_time(lost.came())
        next_one = relay.hold("PUT .*/send/m.reaction")
        await matrix.in_time(next_one.came())
        await crash(matrix)
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room
        ) as after:
            assert list((await after.card(ask)).reactions) == SEEDS
            assert len(by_bot(after, "m.room.message")) == 1
            assert len(by_bot(after, "m.reaction")) == len(SEEDS)


async def test_a_card_that_was_removed_and_could_not_be_posted_anew_is_posted_by_the_next_hub(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        running_matrix(tmp_path, synapse, address=relay.address) as matrix,
    ):
        ask = await matrix.desk.ask(SELECT)
        removed = await matrix.card(ask)
        refused = relay.refuse("PUT .*/send/m.room.message", status=503, body={})
        await matrix.ada.redact(matrix.room, removed.event_id)
        await refused.came()  # and time stands still: it is not tried again
        await crash(matrix)
        async with running_matrix(
            tmp_path, synapse, ada=matrix.ada, bot=matrix.bot, room=matrix.room
        ) as after:
            card = await after.card(ask)
            assert card.event_id != removed.event_id
            assert (card.mentions, list(card.reactions)) == ((after.ada.user_id,), SEEDS)
            assert after.said() == [removed.body]
            await after.tap(ask, "2️⃣")
            assert await answered(after, ask)


# ── the room ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_bot_that_was_kicked_says_so_and_comes_back_with_its_cards_when_invited(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        first = await matrix.desk.ask(TEXT)
        card = await matrix.card(first)
        await matrix.ada.kick(matrix.room, matrix.bot.user_id)
        await matrix.dealt_with()
        second = await matrix.desk.ask(SELECT)
        await matrix.until(lambda: "is not in the room" in (matrix.channel.trouble or ""))
        assert f"Invite {matrix.bot.user_id} there" in (matrix.channel.trouble or "")
        await matrix.ada.invite(matrix.room, matrix.bot.user_id)
        assert (await matrix.card(second)).event_id
        assert matrix.channel.trouble is None
        await matrix.ada.in_thread(matrix.room, "fix: back", root=card.event_id)
        await matrix.dealt_with()
        assert await answered(matrix, first)


async def test_a_room_where_the_bot_may_not_post_is_said_and_gets_the_card_once_it_may(
    tmp_path: Path, synapse: Synapse
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        levels = {"events_default": 50, "users": {matrix.ada.user_id: 100}}
        version = matrix.ada.state(matrix.room, "m.room.create") or {}
        if version.get("room_version") == "12":
            levels["users"] = {}
        await matrix.ada.set_state(matrix.room, "m.room.power_levels", levels)
        ask = await matrix.desk.ask(SELECT)
        await matrix.until(lambda: "may not write to the room" in (matrix.channel.trouble or ""))
        assert "raise the bot's power level" in (matrix.channel.trouble or "")
        await matrix.ada.set_power(matrix.room, matrix.bot.user_id, 50)
        card = await matrix.in_time(matrix.card(ask))
        assert list(card.reactions) == SEEDS
        assert matrix.channel.trouble is None


async def test_a_bot_that_may_neither_redact_nor_react_brings_cards_that_are_answered_by_typing(
    tmp_path: Path, synapse: Synapse, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_matrix(tmp_path, synapse) as matrix:
        await set_levels(matrix, {"m.room.redaction": 50})
        first = await matrix.desk.ask(SELECT)
        await matrix.tap(first, "2️⃣")
        assert await answered(matrix, first)
        ended = await matrix.root(first)
        assert "✅ Answered" in ended.body
        assert matrix.buttons(ended) == " ".join(SEEDS), "they stay, and that is all"
        second = await matrix.desk.ask(SELECT, title="Number 2.")
        assert list((await matrix.card(second)).reactions) == SEEDS
        assert matrix.channel.trouble is None
        assert warnings(caplog) == []

        await set_levels(matrix, {"m.reaction": 50})
        third, fourth = [await matrix.desk.ask(SELECT, title=f"Number {it}.") for it in (3, 4)]
        for ask in (third, fourth):
            card = await matrix.card(ask)
            assert "\nReply with a number or your own words." in card.body
            assert card.reactions == {}
        await matrix.say(third, "2")
        assert await answered(matrix, third)
        assert "✅ Answered" in (await matrix.root(third)).body
        await matrix.ada.react(matrix.room, card.event_id, "1️⃣")  # what she may do counts
        await matrix.dealt_with()
        assert await answered(matrix, fourth)
        assert matrix.channel.trouble is None
        (said,) = warnings(caplog)
        assert "without reactions, so answers are typed" in said
