"""A call that waits: it shows that it is alive, and ends with the ask or with its limit."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from chatbridge.clock import SystemClock
from chatbridge.core.asks import transitions
from chatbridge.core.model import Agent, Ask, AskRequest, CallName, Project, Question
from chatbridge.tools import call as calls
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.clients import Client
from tests.fakes.clock import StillClock

NAME = CallName(link="l", request="1")
PROJECT, AGENT = Project(key="/p", name="p"), Agent(client="c", name="C")
REQUEST = AskRequest(
    project=PROJECT,
    agent=AGENT,
    tool="ask_user",
    dialect="questions",
    questions=(Question(id="q", text="?"),),
)
ASK = transitions.open_ask(REQUEST, now=0.0, deadline=None)


class Beats:
    """Notes the progress that a call reports, and lets a test wait for it."""

    def __init__(self, wanted: int) -> None:
        self.heard: list[tuple[float, str]] = []
        self._wanted = wanted
        self.enough = asyncio.Event()

    async def report(self, progress: float, message: str) -> None:
        self.heard.append((progress, message))
        if len(self.heard) >= self._wanted:
            self.enough.set()


def started(seconds_ago: float) -> float:
    return time.time() - seconds_ago


async def waiting() -> str:
    return "waiting for an answer"


def tool_call(beats: Beats | None, client: Client | None = None) -> ToolCall:
    report = beats.report if beats else None
    peer = Peer(agent=AGENT, client=client or Client())
    return ToolCall(
        name=NAME, id="call", project=PROJECT, peer=peer, report=report, clock=SystemClock()
    )


@pytest.mark.parametrize("seconds_ago", [0.0, -3600.0, 7300.0])
async def test_a_waiting_call_reports_progress_that_always_rises(
    monkeypatch: pytest.MonkeyPatch, seconds_ago: float
) -> None:
    """Also where the clock was set back by an hour since the call came."""
    monkeypatch.setattr(calls, "HEARTBEAT", 0.005)
    beats = Beats(5)
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(
        tool_call(beats).watch(end, started(seconds_ago), limit=None, doing=waiting)
    )
    await asyncio.wait_for(beats.enough.wait(), 30)
    end.set_result(ASK)
    assert await watching is ASK
    assert all(before < after for (before, _), (after, _) in pairwise(beats.heard))
    assert beats.heard[0][0] >= 0


async def test_progress_counts_from_the_calls_own_beginning_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "HEARTBEAT", 0.005)
    beats = Beats(1)
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(
        tool_call(beats).watch(end, started(7300.0), limit=None, doing=waiting)
    )
    await asyncio.wait_for(beats.enough.wait(), 30)
    watching.cancel()
    progress, message = beats.heard[0]
    assert progress >= 7300
    assert message == "waiting for an answer, 2 h 1 min"


async def test_without_a_progress_token_nothing_is_reported_and_the_end_still_noticed() -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(
        tool_call(None).watch(end, started(0.0), limit=None, doing=waiting)
    )
    end.set_result(ASK)
    assert await watching is ASK


@pytest.mark.parametrize("limit", [0.0, 0.01])
async def test_at_its_limit_a_call_ends_without_the_ask_and_waits_no_more(limit: float) -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    assert await tool_call(Beats(1)).watch(end, started(0.0), limit=limit, doing=waiting) is None
    assert end.cancelled()


async def test_a_cancelled_call_waits_no_more() -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(
        tool_call(None).watch(end, started(0.0), limit=None, doing=waiting)
    )
    await asyncio.sleep(0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert end.cancelled()


async def test_the_heartbeat_says_where_the_question_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "HEARTBEAT", 0.005)
    beats = Beats(1)
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()

    async def doing() -> str:
        return "waiting on Telegram"

    watching = asyncio.create_task(
        tool_call(beats).watch(end, started(150.0), limit=None, doing=doing)
    )
    await asyncio.wait_for(beats.enough.wait(), 30)
    watching.cancel()
    assert beats.heard[0][1] == "waiting on Telegram, 2 min 30 s"


@pytest.mark.parametrize(("idle", "every"), [(None, 15.0), (1800.0, 15.0), (9.0, 3.0)])
def test_a_client_hears_of_its_call_at_least_three_times_before_it_would_give_up(
    idle: float | None, every: float
) -> None:
    assert Client(idle=idle).beat(15.0) == every


def stood_still(clock: StillClock, client: Client) -> ToolCall:
    peer = Peer(agent=AGENT, client=client)
    return ToolCall(name=NAME, id="call", project=PROJECT, peer=peer, report=None, clock=clock)


def test_a_response_counts_from_when_the_call_came_and_only_where_the_client_is_silent() -> None:
    clock = StillClock()
    silent = stood_still(clock, Client(limit=60.0, cancels=False))
    clock.advance(10)
    assert silent.counts_for == 50.0
    assert stood_still(clock, Client(limit=60.0)).counts_for is None
    assert stood_still(clock, Client(cancels=False)).counts_for is None


def test_a_calls_age_is_that_of_the_first_time_it_was_made_and_sleep_adds_nothing() -> None:
    clock = StillClock()
    call = stood_still(clock, Client())
    assert call.since(clock.time() - 100) == clock.monotonic() - 100
    assert call.since(clock.time() + 3) == call.began
