"""Hubs and links that die at the worst moment: no answer is lost, none comes twice."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from chatbridge.clock import SystemClock
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.model import Answer, Person
from chatbridge.core.policy import Policy
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.machine import COLOURS, Agent, House, house

BLUE = [{"questionId": "c", "values": ["blue"]}]
ENDINGS = pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
NUMBERS = itertools.count(1)
ERAS = pytest.mark.parametrize("stateless", [False, True], ids=["handshake", "stateless"])


@pytest.fixture(scope="module")
def machine() -> Iterator[House]:
    """One for all tests here: the hub that a test leaves is the next one's to kill."""
    with house() as here:
        yield here


@pytest.fixture
def home(machine: House) -> House:
    return machine.with_project(f"project-{next(NUMBERS)}")


def nothing_more(agent: Agent) -> None:
    """The next thing the agent hears is the answer to what it says next."""
    agent.request("end", "tools/list")
    reply = agent.receive()
    assert reply["id"] == "end", reply


@ENDINGS
@ERAS
def test_a_call_that_waits_through_a_restart_gets_its_answer_once(
    home: House, how: signal.Signals, stateless: bool
) -> None:
    with home.agent() as agent:
        if not stateless:
            agent.initialize()
        agent.ask(1, stateless=stateless)
        asked = home.until()
        before = home.kill_hub(how)
        again = home.until()
        assert home.hub() != before
        assert again["id"] == asked["id"]
        assert len(home.asks()) == 1
        home.answer(again)
        assert agent.result()["answers"] == BLUE
        home.until_it(asked, lambda ask: ask["delivered"])


@ENDINGS
def test_two_identical_calls_on_one_link_are_one_card_also_after_a_restart(
    home: House, how: signal.Signals
) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        first = home.until()
        agent.ask(2, {"questions": [{**COLOURS["questions"][0], "id": "mine"}]})
        home.until_it(first, lambda ask: ask["revision"] > first["revision"])
        home.kill_hub(how)
        home.until()
        assert [ask["id"] for ask in home.asks()] == [first["id"]]
        home.answer(first, "blue")
        told = {result["id"]: result["answers"] for result in (agent.result(), agent.result())}
        assert told == {1: BLUE, 2: [{"questionId": "mine", "values": ["blue"]}]}
        home.until_it(first, lambda ask: ask["delivered"])


def test_an_answer_committed_before_the_response_was_written_arrives(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        os.kill(agent.process.pid, signal.SIGSTOP)  # so that no new hub is started meanwhile
        home.kill_hub()
        asyncio.run(commit_an_answer(home, asked["id"]))
        os.kill(agent.process.pid, signal.SIGCONT)
        assert agent.result()["answers"] == BLUE
        home.until_it(asked, lambda ask: ask["delivered"])


async def commit_an_answer(home: House, ask_id: str) -> None:
    """What a hub does that dies right after the commit."""
    clock = SystemClock()
    store = await SqliteStore.open(home.state / "chatbridge.db")

    async def drained() -> None:
        return None

    broker = Broker(store, clock=clock, policy=Policy(), changed=lambda ask: None, drained=drained)
    owner = Person(name="Ada", channel="web")
    inbox = AskActions(broker, store=store, clock=clock)
    await inbox.answer(ask_id, (Answer(values=("blue",)),), person=owner)
    await store.close()


def test_a_response_whose_confirmation_was_lost_is_confirmed_to_the_next_hub(
    home: House,
) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        os.kill(agent.process.pid, signal.SIGSTOP)
        home.answer(asked)  # the response waits in the link's socket
        home.until_it(asked, lambda ask: ask["kept"])  # not confirmed in time
        home.kill_hub()
        os.kill(agent.process.pid, signal.SIGCONT)
        assert agent.result()["answers"] == BLUE
        home.until_it(asked, lambda ask: ask["delivered"] and not ask["kept"])


def test_an_answer_for_a_dead_link_is_kept_and_given_to_the_next_identical_ask_once(
    home: House,
) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        agent.process.kill()
    home.answer(asked)
    home.until_it(asked, lambda ask: ask["kept"])
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        late: dict[str, Any] = agent.result()
        assert late["answers"] == BLUE
        assert late["late"] is True
        home.until_it(asked, lambda ask: ask["delivered"])
        agent.ask(2)
        assert home.until()["id"] != asked["id"]


def test_asking_again_after_the_link_died_shows_no_second_card(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        agent.process.kill()
    with home.agent() as agent:
        agent.initialize()
        other_ids = {"questions": [{**COLOURS["questions"][0], "id": "mine"}]}
        agent.ask(1, other_ids)
        home.until_it(asked, lambda ask: ask["revision"] > asked["revision"])
        assert [ask["id"] for ask in home.asks()] == [asked["id"]]
        home.answer(asked)
        assert agent.result()["answers"] == [{"questionId": "mine", "values": ["blue"]}]


@ERAS
def test_a_stopping_hub_writes_no_response(home: House, stateless: bool) -> None:
    with home.agent() as agent:
        if not stateless:
            agent.initialize()
        agent.ask(1, stateless=stateless)
        home.until()
        home.kill_hub(signal.SIGTERM)
        home.until()
        nothing_more(agent)


def test_two_live_agents_with_the_same_words_get_two_cards(home: House) -> None:
    with home.agent() as one, home.agent() as other:
        one.initialize()
        other.initialize()
        one.ask(1)
        first = home.until()
        other.ask(1)
        second = home.until(lambda ask: ask["id"] != first["id"])
        home.answer(second, "red")
        assert other.result()["answers"] == [{"questionId": "c", "values": ["red"]}]
        home.answer(first, "blue")
        assert one.result()["answers"] == BLUE


def test_a_client_that_cancels_leaves_the_question_to_be_answered(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        agent.cancel(1)
        nothing_more(agent)
        home.answer(asked)
        home.until_it(asked, lambda ask: ask["kept"])
        agent.ask(2)
        assert agent.result()["late"] is True
