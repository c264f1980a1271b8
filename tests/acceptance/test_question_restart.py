"""The hub dies while a form is open in the client's window: no answer is lost or counts twice."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.bridge import PATIENCE, new_home, told
from tests.acceptance.windows import Reply, accepting, nobody, seated
from tests.fakes.machine import INITIALIZE, Agent, House, Json

QUESTION = "Which way?"


def asks(agent: Agent) -> Json:
    """A client with a window that has called `question_ask`; the form it was asked to show."""
    agent.request("init", "initialize", {**INITIALIZE, "capabilities": {"elicitation": {}}})
    agent.receive()
    agent.notify("notifications/initialized")
    agent.request(7, "tools/call", {"name": "question_ask", "arguments": {"question": QUESTION}})
    return form(agent)


def form(agent: Agent) -> Json:
    """The next form that the client is asked to show."""
    while (message := agent.receive()).get("method") != "elicitation/create":
        assert "id" not in message, message
    assert message["params"]["message"] == QUESTION
    assert "chatbridgeCall" not in message
    return message


def fill_in(agent: Agent, shown: Json, answer: str) -> None:
    result = {"action": "accept", "content": {"answer": answer}}
    agent.send({"jsonrpc": "2.0", "id": shown["id"], "result": result})


def result(agent: Agent) -> tuple[Json, list[object]]:
    """The call's result, and which forms were cancelled until it came."""
    cancelled: list[object] = []
    while (message := agent.receive()).get("id") != 7:
        if message["method"] == "notifications/cancelled":
            cancelled.append(message["params"]["requestId"])
    found: Json = message["result"]["structuredContent"]
    return found, cancelled


def files(home: House) -> list[Path]:
    return sorted(home.project.glob(".chatbridge/questions/*.yaml"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_form_filled_in_while_no_hub_was_there_is_the_answer(
    home: House, how: signal.Signals
) -> None:
    with home.agent() as agent:
        first = asks(agent)
        home.kill_hub(how)
        fill_in(agent, first, "left")
        assert result(agent)[0]["answer"] == "left"
        (file,) = files(home)
        assert 'answer: "left"' in file.read_text()
        assert home.asks() == []


def test_a_form_of_the_old_hub_filled_in_after_it_was_shown_anew_is_the_answer(
    home: House,
) -> None:
    with home.agent() as agent:
        first = asks(agent)
        home.kill_hub()
        second = form(agent)
        assert second["id"] != first["id"]
        fill_in(agent, first, "left")
        found, cancelled = result(agent)
        assert found["answer"] == "left"
        assert cancelled == [second["id"]]  # the first was before the second was shown
        assert len(files(home)) == 1


def test_a_declined_form_of_the_old_hub_is_shown_anew(home: House) -> None:
    """A client that has a form taken away may say that it was declined."""
    with home.agent() as agent:
        first = asks(agent)
        home.kill_hub()
        agent.send({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "decline"}})
        fill_in(agent, form(agent), "right")
        assert result(agent)[0]["answer"] == "right"
        assert len(files(home)) == 1


def test_a_reply_that_a_hub_took_before_it_died_does_not_count_twice(home: House) -> None:
    with home.agent() as agent:
        first = asks(agent)
        asked = home.until()
        with home.no_commits():  # the reply reaches the hub and is not stored
            fill_in(agent, first, "left")
            home.kill_hub()
        found, _ = result(agent)
        assert found["answer"] == "left"
        home.until_it(asked, lambda ask: ask["delivered"])
        assert len(files(home)) == 1


async def test_the_official_client_is_shown_the_form_anew_and_its_answer_counts() -> None:
    with new_home() as home:
        project = home.project("shop")
        async with seated(home, project) as seat:
            person = iter([nobody, accepting({"answer": "straight on"})])

            async def fills_in_the_second() -> Reply:
                return await next(person)()

            seat.window.on(QUESTION, fills_in_the_second)
            call = seat.call(QUESTION)
            first = await seat.window.shown(QUESTION)
            pid = home.lock_holder()
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(first.withdrawn.wait(), PATIENCE)
            await seat.window.shown(QUESTION, times=2)
            assert told(await call)["answer"] == "straight on"
            assert len(seat.saved()) == 1
