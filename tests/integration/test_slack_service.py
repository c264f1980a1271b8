"""What Slack does by itself: rate limits, deadlines, retries, connections of others, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.errors import TokenRejected
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Person, Status
from tests.fakes.clock import StillClock
from tests.fakes.disk import failing
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.slack.limits import MESSAGES_BURST, Rate
from tests.fakes.slack.server import Slack, running_slack
from tests.fakes.slack.socket_mode import ACKNOWLEDGE_SECONDS, MOST_CONNECTIONS
from tests.fakes.slack_desk import SlackDesk, read, running_channel

Json = dict[str, Any]
FIRST = form.Choose(step=0, option=0)
ELSEWHERE = Person(name="Ada", channel="elsewhere")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def slack(clock: StillClock) -> AsyncIterator[Slack]:
    async with running_slack(clock) as found:
        yield found


@pytest.fixture
async def desk(slack: Slack, clock: StillClock, tmp_path: Path) -> AsyncIterator[SlackDesk]:
    async with running_channel(tmp_path, slack, clock) as found:
        yield found


async def while_time_passes(clock: StillClock, fits: Any, *, step: float = 0.5) -> None:
    """Until it is so; the clock goes on whenever nobody has anything to do."""
    async with asyncio.timeout(20):
        while not fits():
            clock.advance(step)
            await asyncio.sleep(0.002)


def first_button(card: Json) -> Json:
    value = card["blocks"][1]["elements"][0]["value"]
    return {"type": "button", "action_id": "0", "value": value}


async def status(desk: SlackDesk, ask: Ask) -> Status:
    return (await desk.desk.inbox.ask(ask.id)).status


# ── rate limits ───────────────────────────────────────────────────────────────────────────────────


async def test_the_channels_own_pace_never_overdraws_slacks(
    slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    slack.limits.tighter = {
        "chat.postMessage": Rate(burst=5, a_second=1.0),
        "chat.update": Rate(burst=5, a_second=50 / 60),
    }
    async with running_channel(tmp_path, slack, clock, pace=None) as desk:
        asks = [await desk.desk.ask(CONFIRM) for _ in range(15)]
        await while_time_passes(clock, lambda: len(desk.bots) == len(asks))
        for ask in asks:
            await desk.desk.inbox.cancel(ask.id, reason=None, person=ELSEWHERE)
        await while_time_passes(
            clock, lambda: sum("Cancelled" in read(each) for each in desk.bots) == len(asks)
        )
    assert slack.limits.refused == 0


async def test_more_than_slack_takes_at_once_comes_later_and_each_once(
    desk: SlackDesk, slack: Slack, clock: StillClock
) -> None:
    asks = [await desk.desk.ask(CONFIRM) for _ in range(int(MESSAGES_BURST) + 10)]
    await slack.until(lambda: slack.limits.refused)
    await while_time_passes(clock, lambda: len(desk.bots) >= len(asks))
    for ask in asks:
        await desk.card(ask)
    assert len(desk.bots) == len(asks)


# ── deadlines and retries ─────────────────────────────────────────────────────────────────────────


async def test_a_message_that_waited_for_the_disk_comes_again_and_counts_once(
    desk: SlackDesk, slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    ask = await desk.desk.ask(TEXT, TEXT)
    card = await desk.card(ask)
    async with failing(tmp_path, "asks"):
        said = await slack.say(desk.ada, desk.room, "one", thread=card["ts"])
        async with asyncio.timeout(20):
            await clock.until_asleep(1.0)
            clock.advance(ACKNOWLEDGE_SECONDS)
            await slack.until(lambda: said.attempt == 1)
    await while_time_passes(clock, said.acknowledged.done)
    await desk.channel.drain()
    now = await desk.desk.inbox.ask(ask.id)
    assert [each.text for each in now.draft.entries if each.text] == ["one"]


async def test_a_tap_that_waited_for_the_disk_counts_though_its_person_was_warned(
    desk: SlackDesk, slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    ask = await desk.desk.ask(CONFIRM)
    card = await desk.card(ask)
    async with failing(tmp_path, "asks"):
        tap = await slack.tap(desk.ada, desk.room, card, first_button(card))
        async with asyncio.timeout(20):
            await clock.until_asleep(1.0)
        clock.advance(ACKNOWLEDGE_SECONDS)
        await slack.until(lambda: tap.failed)
        assert await status(desk, ask) is Status.OPEN
    await while_time_passes(clock, tap.acknowledged.done)
    assert await status(desk, ask) is Status.ANSWERED


async def test_a_modal_is_not_opened_for_a_tap_that_came_late_and_that_is_said(
    desk: SlackDesk, slack: Slack
) -> None:
    card = await desk.card(await desk.desk.ask(TEXT))
    tap = await slack.tap(desk.ada, desk.room, card, first_button(card), ago=4.0)
    await desk.acknowledged(tap)
    assert not slack.views
    ((who, said),) = slack.whispers
    assert who == desk.ada
    assert "Tap again" in said


# ── connections ───────────────────────────────────────────────────────────────────────────────────


async def test_replies_that_another_connection_swallowed_come_again_and_count(
    slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    slack.others = 1
    async with running_channel(tmp_path, slack, clock) as desk:
        asks = [await desk.desk.ask(TEXT, timeout=3_600) for _ in range(4)]  # longer than all tries
        said = [
            await slack.say(desk.ada, desk.room, f"answer {i}", thread=(await desk.card(ask))["ts"])
            for i, ask in enumerate(asks)
        ]
        await while_time_passes(
            clock, lambda: all(each.acknowledged.done() or each.failed for each in said)
        )
        await desk.channel.drain()  # one may have had bad luck with each try
        await desk.settled()
        assert any(each.attempt for each in said)  # the other one had its share
        for i, ask in enumerate(asks):
            outcome = (await desk.desk.inbox.ask(ask.id)).outcome
            assert outcome
            assert outcome.answers == (Answer(values=(f"answer {i}",)),)


async def test_a_tap_that_another_connection_swallowed_can_be_made_again(
    slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    async with running_channel(tmp_path, slack, clock) as desk:
        ask = await desk.desk.ask(CONFIRM)
        card = await desk.card(ask)
        slack.swallowing = 1
        tap = await slack.tap(desk.ada, desk.room, card, first_button(card))
        clock.advance(ACKNOWLEDGE_SECONDS)
        await slack.until(lambda: tap.failed)
        assert await status(desk, ask) is Status.OPEN
        await desk.put(ask, FIRST)
        assert await status(desk, ask) is Status.ANSWERED


async def test_too_many_connections_are_said_and_not_made_more(
    desk: SlackDesk, slack: Slack, clock: StillClock
) -> None:
    slack.others = MOST_CONNECTIONS
    await slack.cut_connections()
    async with asyncio.timeout(20):
        await clock.until_asleep(1.0)
    assert "too_many_websockets" in (desk.channel.trouble or "")
    assert slack.calls["apps.connections.open"] == 2
    slack.others = 0
    clock.advance(1.0)
    await slack.until(lambda: slack.connected)


async def test_a_stale_app_token_ends_the_channel_with_where_it_is_set(
    desk: SlackDesk, slack: Slack
) -> None:
    slack.app_token_error = "token_revoked"
    await slack.cut_connections()
    with pytest.raises(TokenRejected, match=r"\(token_revoked\)\. Check slack\.bot_token"):
        await asyncio.wait_for(desk.running, 20)


async def test_an_app_token_without_its_scope_is_said(
    desk: SlackDesk, slack: Slack, clock: StillClock
) -> None:
    slack.app_scopes.clear()
    await slack.cut_connections()
    async with asyncio.timeout(20):
        await clock.until_asleep(1.0)
    said = "lacks the scope connections:write. Add it under Basic Information, App-Level Tokens"
    assert said in (desk.channel.trouble or "")


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "code",
    [
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "no_permission",
    ],
)
async def test_a_channel_in_which_the_app_may_not_write_is_said_and_the_rest_goes_on(
    desk: SlackDesk, code: str
) -> None:
    desk.room.restricted = code
    await desk.desk.ask(CONFIRM)
    assert code in await desk.trouble()
    assert not desk.running.done()


async def test_a_channel_without_the_bot_keeps_no_other_from_its_cards(
    slack: Slack, clock: StillClock, tmp_path: Path
) -> None:
    without = slack.channel()
    without.members.clear()
    async with running_channel(tmp_path, slack, clock, beside=[without]) as desk:
        await desk.desk.ask(CONFIRM)
        await slack.until(lambda: desk.bots)
        assert not desk.running.done()
        assert "not_in_channel" in (desk.channel.trouble or "")


async def test_a_card_in_an_archived_channel_is_a_trouble(desk: SlackDesk) -> None:
    ask = await desk.desk.ask(CONFIRM)
    await desk.card(ask)
    desk.room.archived = True
    await desk.desk.inbox.cancel(ask.id, reason=None, person=ELSEWHERE)
    assert "is_inactive" in await desk.trouble()


async def test_a_card_that_can_be_edited_no_more_is_posted_again(
    desk: SlackDesk, slack: Slack, clock: StillClock
) -> None:
    ask = await desk.desk.ask(CONFIRM, SELECT)
    await desk.card(ask)
    slack.edit_window = 60.0
    clock.advance(61)
    await desk.desk.inbox.put(ask.id, FIRST, person=ELSEWHERE)
    assert SELECT.text in read(await desk.sees(SELECT.text))
    assert len(desk.bots) == 2


@pytest.mark.parametrize("why", ["user_disabled", "user_not_found"])
async def test_a_person_who_has_left_is_said_and_others_are_still_asked(
    slack: Slack, clock: StillClock, tmp_path: Path, why: str
) -> None:
    ada = slack.person("Ada")
    room = slack.direct(ada)
    if why == "user_disabled":
        slack.disabled.add(ada)
    else:
        del slack.people[ada]
    async with running_channel(tmp_path, slack, clock, room=room, ada=ada) as desk:
        await desk.desk.ask(CONFIRM)
        assert why in await desk.trouble()
        assert not desk.running.done()
