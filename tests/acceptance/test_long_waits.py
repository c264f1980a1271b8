"""Waits that outlast a client, with real processes: the ticket comes in time, and after a power cut
the same question goes on."""

from __future__ import annotations

import json

import pytest

from tests.fakes.machine import STATELESS, Agent, Json, house

BLUE = [{"questionId": "c", "values": ["blue"]}]
LIMITS = {"claude-code": {"limit": "4s", "cancels": False}}
ERAS = pytest.mark.parametrize("stateless", [False, True], ids=["handshake", "stateless"])


def waits_for(agent: Agent, number: int, ask_id: str, *, stateless: bool) -> None:
    meta = {"_meta": STATELESS} if stateless else {}
    call: Json = {"name": "wait_for_answer", "arguments": {"askId": ask_id}, **meta}
    agent.request(number, "tools/call", call)


@ERAS
def test_a_client_whose_limit_the_owner_has_set_gets_tickets_until_it_gets_the_answer(
    stateless: bool,
) -> None:
    with house(CHATBRIDGE_CLIENTS=json.dumps(LIMITS)) as home, home.agent() as agent:
        if not stateless:
            agent.initialize()
        agent.ask(1, stateless=stateless)
        ticket = agent.result()
        assert (ticket["id"], ticket["pending"]) == (1, True)
        waits_for(agent, 2, ticket["askId"], stateless=stateless)
        again = agent.result()
        assert (again["id"], again["askId"]) == (2, ticket["askId"])
        waits_for(agent, 3, ticket["askId"], stateless=stateless)
        (asked,) = home.asks()
        home.answer(asked)
        assert agent.result()["answers"] == BLUE
        home.until_it(asked, lambda ask: ask["delivered"])


def test_after_agent_and_hub_were_killed_together_a_new_agent_goes_on_with_the_same_card() -> None:
    with house() as home:
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            asked = home.until()
            agent.process.kill()
            agent.process.wait(20)
            home.kill_hub()
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            home.until_it(asked, lambda ask: ask["revision"] > asked["revision"])
            assert [ask["id"] for ask in home.asks()] == [asked["id"]]
            home.answer(asked)
            assert agent.result()["answers"] == BLUE


def test_an_answer_given_before_both_were_killed_reaches_the_new_agent_as_a_late_one() -> None:
    with house() as home:
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            asked = home.until()
            agent.process.kill()
            agent.process.wait(20)
            home.answer(asked)
            home.kill_hub()
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            late = agent.result()
            assert late["answers"] == BLUE
            assert late["late"] is True
            assert home.asks() == []
