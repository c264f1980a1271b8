"""A call that waits: it shows that it is alive, and ends with the ask or with its limit."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from chatbridge.core import asks
from chatbridge.core.model import Agent, Ask, AskRequest, Call, CallName, Project, Question
from chatbridge.tools import call as calls
from chatbridge.tools.call import ToolCall

NAME = CallName(link="l", request="1")
PROJECT, AGENT = Project(key="/p", name="p"), Agent(client="c", name="C")
REQUEST = AskRequest(
    project=PROJECT,
    agent=AGENT,
    tool="ask_user",
    dialect="questions",
    questions=(Question(id="q", text="?"),),
)
ASK = asks.opened(REQUEST, now=0.0, deadline=None)


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


def started(seconds_ago: float) -> Call:
    return Call(name=NAME, ask_id=ASK.id, question_ids=("q",), started_at=time.time() - seconds_ago)


def tool_call(beats: Beats | None) -> ToolCall:
    report = beats.report if beats else None
    return ToolCall(name=NAME, id="call", project=PROJECT, agent=AGENT, report=report)


@pytest.mark.parametrize("seconds_ago", [0.0, -3600.0, 7300.0])
async def test_a_waiting_call_reports_progress_that_always_rises(
    monkeypatch: pytest.MonkeyPatch, seconds_ago: float
) -> None:
    """Also where the clock was set back by an hour since the call came."""
    monkeypatch.setattr(calls, "HEARTBEAT", 0.005)
    beats = Beats(5)
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(tool_call(beats).watch(end, started(seconds_ago), limit=None))
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
    watching = asyncio.create_task(tool_call(beats).watch(end, started(7300.0), limit=None))
    await asyncio.wait_for(beats.enough.wait(), 30)
    watching.cancel()
    progress, message = beats.heard[0]
    assert progress >= 7300
    assert message == "waiting for an answer, 2 h 1 min"


async def test_without_a_progress_token_nothing_is_reported_and_the_end_still_noticed() -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(tool_call(None).watch(end, started(0.0), limit=None))
    end.set_result(ASK)
    assert await watching is ASK


@pytest.mark.parametrize("limit", [0.0, 0.01])
async def test_at_its_limit_a_call_ends_without_the_ask_and_waits_no_more(limit: float) -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    assert await tool_call(Beats(1)).watch(end, started(0.0), limit=limit) is None
    assert end.cancelled()


async def test_a_cancelled_call_waits_no_more() -> None:
    end: asyncio.Future[Ask] = asyncio.get_running_loop().create_future()
    watching = asyncio.create_task(tool_call(None).watch(end, started(0.0), limit=None))
    await asyncio.sleep(0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert end.cancelled()
