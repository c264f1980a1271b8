"""What Slack sends, and when it is acknowledged: taps, retries, gaps, other connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatbridge.channels.slack.api import MOST
from chatbridge.channels.slack.channel import SHARED
from chatbridge.channels.slack.socket_mode import SWITCHED_OFF, SocketMode, _told
from chatbridge.channels.sockets.retold import OVERLAP
from chatbridge.core.errors import RetryLater, TokenRejected
from chatbridge.core.forms.form import Choose
from chatbridge.core.model import Answer, Status
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.slack.server import Fault, Slack, running_slack
from tests.fakes.slack.socket_mode import ACKNOWLEDGE_SECONDS
from tests.fakes.slack_desk import SlackDesk, running_channel

FIRST = Choose(step=0, option=0)


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with running_slack(StillClock()) as found:
        yield found


@pytest.fixture
async def desk(slack: Slack, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as found:
        yield found


async def later(desk: SlackDesk, seconds: float = 1.0) -> None:
    """The channel rests for so long, and goes on."""
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(seconds)
    desk.clock.advance(seconds)


async def answers(desk: SlackDesk, ask_id: str) -> tuple[Answer, ...]:
    async with asyncio.timeout(20):
        outcome = (await desk.desk.broker.ended(ask_id)).outcome
    assert outcome
    return outcome.answers


# ── acknowledging ─────────────────────────────────────────────────────────────────────────────────


async def test_a_tap_is_acknowledged_only_once_it_is_stored(
    desk: SlackDesk, slack: Slack, tmp_path: Path
) -> None:
    ask = await desk.desk.ask(CONFIRM)
    card = await desk.card(ask)
    button = {
        "type": "button",
        "action_id": "0",
        "value": card["blocks"][1]["elements"][0]["value"],
    }
    async with failing(tmp_path, "asks"):
        tap = await slack.tap(desk.ada, desk.room, card, button)
        async with asyncio.timeout(20):
            await desk.clock.until_asleep(1.0)
        assert not tap.acknowledged.done()
    desk.clock.advance(1.0)
    await asyncio.wait_for(tap.acknowledged, 20)
    assert (await desk.desk.inbox.ask(ask.id)).status is Status.ANSWERED


async def test_what_slack_sends_twice_counts_once(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(TEXT, TEXT)
    said = await desk.say("one", to=await desk.card(ask))
    again = await slack.send("events_api", said.payload, attempt=1)
    await desk.acknowledged(again)
    now = await desk.desk.inbox.ask(ask.id)
    assert now.open
    assert now.draft.at == 1


async def test_a_tap_that_comes_twice_counts_once(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(CONFIRM)
    card = await desk.card(ask)
    button = {
        "type": "button",
        "action_id": "0",
        "value": card["blocks"][1]["elements"][0]["value"],
    }
    tap = await slack.tap(desk.ada, desk.room, card, button)
    await desk.acknowledged(tap)
    await desk.acknowledged(await slack.send("interactive", tap.payload))
    assert slack.whispers == []  # not even “Already answered”


async def test_a_retry_counts_also_after_later_messages(desk: SlackDesk, slack: Slack) -> None:
    first, second = await desk.desk.ask(TEXT), await desk.desk.ask(TEXT)
    lost, kept = await desk.card(first), await desk.card(second)
    slack.swallowing = 1
    ghost = await slack.say(desk.ada, desk.room, "to the ghost", thread=lost["ts"])
    await desk.say("seen", to=kept)
    assert (await desk.desk.inbox.ask(first.id)).open
    desk.clock.advance(ACKNOWLEDGE_SECONDS)
    await desk.acknowledged(ghost)
    assert ghost.attempt == 1
    assert await answers(desk, first.id) == (Answer(values=("to the ghost",)),)
    assert await answers(desk, second.id) == (Answer(values=("seen",)),)


async def test_what_was_typed_into_a_window_is_not_lost_while_the_disk_is_full(
    desk: SlackDesk, slack: Slack, tmp_path: Path
) -> None:
    ask = await desk.desk.ask(TEXT)
    await desk.press(await desk.card(ask), "Write answer…")
    (view,) = slack.views.values()
    async with failing(tmp_path, "asks"):
        sent = await slack.submit(desk.ada, view, "feat: typed at length")
        async with asyncio.timeout(20):
            await desk.clock.until_asleep(1.0)
        assert not sent.acknowledged.done()
    desk.clock.advance(1.0)
    await asyncio.wait_for(sent.acknowledged, 20)
    assert await answers(desk, ask.id) == (Answer(values=("feat: typed at length",)),)


# ── gaps ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_reply_of_a_gap_is_read_from_the_thread(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(TEXT)
    card = await desk.card(ask)
    slack.faults["apps.connections.open"] = Fault(error="internal_error")
    await slack.cut_connections()
    await slack.until(lambda: not slack.connected)
    await slack.say(desk.ada, desk.room, "meanwhile", thread=card["ts"])
    await later(desk)
    assert await answers(desk, ask.id) == (Answer(values=("meanwhile",)),)


async def test_what_was_written_while_no_hub_was_there_counts_and_only_once(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock) as before:
        ask = await before.desk.ask(TEXT, TEXT)
        card = await before.card(ask)
        await before.say("one", to=card)
        await before.card(await before.desk.inbox.ask(ask.id))  # it asks for the next one
        room, ada, eve = before.room, before.ada, before.eve
    clock.advance(30)
    await slack.say(ada, room, "two", thread=card["ts"])
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada, eve=eve) as desk:
        await desk.channel.drain()
        now = await desk.desk.inbox.ask(ask.id)
        assert [each.text for each in now.draft.entries] == ["one", "two"]


async def test_what_happens_as_a_hub_returns_hides_nothing_of_a_long_gap(
    slack: Slack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock) as before:
        ask = await before.desk.ask(TEXT, timeout=4 * OVERLAP)
        card = await before.card(ask)
        room, ada, eve = before.room, before.ada, before.eve
    await slack.say(ada, room, "long ago", thread=card["ts"])
    clock.advance(2 * OVERLAP)
    listen = SocketMode.listen

    def listen_to(self: SocketMode, connection: Any, *beside: Any) -> None:
        """Somebody writes at the very moment in which the connection is there."""
        listen(self, connection, *beside)
        ts = slack.time()
        event = {"type": "message", "user": eve, "text": "hi", "ts": ts, "channel": room.id}
        self.arrived(_told("events_api", {"event": event}))

    monkeypatch.setattr(SocketMode, "listen", listen_to)
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada, eve=eve) as desk:
        await desk.channel.drain()
        assert await answers(desk, ask.id) == (Answer(values=("long ago",)),)


async def test_a_reply_is_read_though_the_channel_has_talked_much_since_the_oldest_card(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock) as before:
        room, ada, eve = before.room, before.ada, before.eve
        oldest = await before.desk.ask(TEXT, timeout=9e4)
        await before.card(oldest)
        for _ in range(MOST):
            ts = slack.time()
            room.messages[ts] = {"type": "message", "user": eve, "text": "talk", "ts": ts}
        ask = await before.desk.ask(TEXT, timeout=9e4)
        card = await before.card(ask)
        await before.channel.drain()
    clock.advance(2 * OVERLAP)
    await slack.say(ada, room, "at last", thread=card["ts"])
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada, eve=eve) as desk:
        await desk.channel.drain()
        assert await answers(desk, ask.id) == (Answer(values=("at last",)),)


async def test_threads_of_others_are_not_read_after_a_gap_and_keep_no_tap_waiting(
    slack: Slack, tmp_path: Path
) -> None:
    clock = slack.clock
    assert isinstance(clock, StillClock)
    async with running_channel(tmp_path, slack, clock) as before:
        ask = await before.desk.ask(TEXT)
        card = await before.card(ask)
        room, ada, eve = before.room, before.ada, before.eve
    for i in range(70):
        await slack.say(eve, room, f"topic {i}")
        root = [*room.messages][-1]
        await slack.say(eve, room, "a reply", thread=root)
    await slack.say(ada, room, "meanwhile", thread=card["ts"])
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada, eve=eve) as desk:
        assert await answers(desk, ask.id) == (Answer(values=("meanwhile",)),)
    assert slack.calls["conversations.replies"] < 5


async def test_on_the_first_start_older_messages_are_nobodys_answer(
    slack: Slack, tmp_path: Path
) -> None:
    ada = slack.person("Ada")
    room = slack.direct(ada)
    for text in ("hello?", "is anybody there?"):
        await slack.say(ada, room, text)
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock, room=room, ada=ada) as desk:
        await desk.channel.drain()
        await desk.settled()
        assert desk.bots == []


# ── connections ───────────────────────────────────────────────────────────────────────────────────


async def test_no_card_is_out_before_its_taps_are_heard(slack: Slack, tmp_path: Path) -> None:
    slack.faults["apps.connections.open"] = Fault(error="internal_error")
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as desk:
        with pytest.raises(RetryLater, match="slack cannot be reached"):
            await asyncio.wait_for(desk.running, 20)
        await desk.desk.ask(SELECT)
    assert not slack.calls["chat.postMessage"]


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_before_slack_closes_a_connection_there_is_another(
    desk: SlackDesk, slack: Slack, reason: str
) -> None:
    ask = await desk.desk.ask(CONFIRM)
    await desk.card(ask)
    await slack.disconnect(reason)
    await slack.until(lambda: slack.connected == 2)
    await desk.put(ask, FIRST)
    assert (await desk.desk.inbox.ask(ask.id)).status is Status.ANSWERED
    assert desk.channel.remarks == ()  # both are ours


async def test_a_connection_that_is_cut_is_opened_again(desk: SlackDesk, slack: Slack) -> None:
    ask = await desk.desk.ask(CONFIRM)
    await slack.cut_connections()
    await slack.until(lambda: slack.calls["apps.connections.open"] == 2 and slack.connected)
    await desk.put(ask, FIRST)
    assert (await desk.desk.inbox.ask(ask.id)).status is Status.ANSWERED


async def test_a_dead_connection_is_noticed(slack: Slack, tmp_path: Path) -> None:
    slack.pongs = False
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock, ping=0.1):
        await slack.until(lambda: slack.calls["apps.connections.open"] > 1)


async def test_connections_that_slack_closes_at_once_are_opened_with_pauses(
    desk: SlackDesk, slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = web.WebSocketResponse.send_json

    async def send_and_close(self: web.WebSocketResponse, data: Any) -> None:
        await send(self, data)
        if data["type"] == "hello":
            await self.close()

    monkeypatch.setattr(web.WebSocketResponse, "send_json", send_and_close)
    await slack.cut_connections()
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(1.0)
    assert slack.calls["apps.connections.open"] <= 3


async def test_another_program_with_the_same_app_is_said(slack: Slack, tmp_path: Path) -> None:
    slack.others = 1
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as desk:
        await desk.channel.drain()
        assert [*desk.channel.remarks] == [SHARED]
        slack.others = 0
        await slack.cut_connections()
        await slack.until(lambda: slack.calls["apps.connections.open"] == 2 and slack.connected)
        await desk.channel.drain()
        assert not desk.channel.remarks


async def test_socket_mode_that_is_switched_off_is_said_with_where(
    desk: SlackDesk, slack: Slack
) -> None:
    await slack.disconnect("link_disabled")
    async with asyncio.timeout(20):
        await desk.clock.until_asleep(1.0)
    assert desk.channel.trouble == SWITCHED_OFF


# ── tokens, scopes, answers that cannot be read ───────────────────────────────────────────────────


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_a_token_that_slack_rejects_ends_the_channel_with_where_it_is_set(
    desk: SlackDesk, slack: Slack, code: str
) -> None:
    slack.token_error = code
    await slack.cut_connections()
    with pytest.raises(TokenRejected, match=rf"\({code}\)\. Check slack\.bot_token"):
        await asyncio.wait_for(desk.running, 20)


async def test_a_missing_scope_is_named(slack: Slack, tmp_path: Path) -> None:
    slack.scopes -= {"chat:write"}
    assert isinstance(slack.clock, StillClock)
    async with running_channel(tmp_path, slack, slack.clock) as desk:
        assert "lacks scopes: chat:write" in (desk.channel.trouble or "")
        await desk.desk.ask(SELECT)
        assert "lacks the scope chat:write" in await desk.trouble()


BAD: list[Any] = [
    {},
    {"type": "block_actions", "actions": []},
    {"type": "block_actions", "actions": [None], "user": {"id": 7}, "channel": 1},
    {"type": "view_submission", "view": {"private_metadata": "[" * 5_000}},
    {"type": "view_submission", "view": {"private_metadata": '{"room": 1, "step": "x"}'}},
    {"event": {"type": "message", "ts": "x", "channel": [], "user": {}, "text": 5}},
    {"event": 7},
]


async def test_what_cannot_be_read_is_acknowledged_and_stops_nothing(
    desk: SlackDesk, slack: Slack
) -> None:
    for kind in ("interactive", "events_api", "slash_commands", "news"):
        for payload in BAD:
            await desk.acknowledged(await slack.send(kind, payload))
    for connection in slack._connections:
        await connection.send_str("no json")
    ask = await desk.desk.ask(CONFIRM)
    await desk.put(ask, FIRST)
    assert (await desk.desk.inbox.ask(ask.id)).status is Status.ANSWERED
