"""A client replies to a form with something that is no reply. The ids of forms are the hub's, those
of calls the client's, and both count from 1: no call ends by an error about a form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.machine import INITIALIZE, Agent, House, house

Json = dict[str, Any]
ENORMOUS = {"action": "accept", "content": {"answer": "x" * 5 * 1024 * 1024}}
REPLIES: list[Json] = [{"result": None}, {"result": []}, {"error": "no"}, {"result": ENORMOUS}]


def form(agent: Agent) -> Json:
    """The next form that the client is asked to show."""
    while (message := agent.receive()).get("method") != "elicitation/create":
        pass
    return message


def answered(agent: Agent, home: House, number: int, reply: Json) -> object:
    """What becomes of this call: the client replies so, and then the person on the phone."""
    ask = {"name": "question_ask", "arguments": {"question": f"Which way, {number}?"}}
    agent.request(number, "tools/call", ask)
    shown = form(agent)
    assert str(shown["id"]).rpartition(".")[2] == str(number), "both ids are to be alike"
    agent.send({"jsonrpc": "2.0", "id": shown["id"], **reply})
    home.answer(home.until(), "left")
    while (message := agent.receive()).get("id") != number:
        pass
    assert "result" in message, message
    return message["result"]["structuredContent"]["answer"]


@pytest.mark.parametrize("words", [(), ("--standalone",)], ids=["link", "standalone"])
def test_a_reply_that_is_none_ends_no_call(words: tuple[str, ...]) -> None:
    with house() as home, Agent(home.environment, *words, cwd=home.project) as agent:
        agent.request("init", "initialize", {**INITIALIZE, "capabilities": {"elicitation": {}}})
        agent.receive()
        agent.notify("notifications/initialized")
        for number, reply in enumerate(REPLIES, start=1):
            assert answered(agent, home, number, reply) == "left"
