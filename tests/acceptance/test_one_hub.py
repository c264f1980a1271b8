"""One hub per person, however many start at once; and what a client sees when none can start."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.machine import COLOURS, INITIALIZE, House, house


def test_ten_links_at_once_start_one_hub() -> None:
    with house(cold=True) as home, ExitStack() as stack:
        agents = [stack.enter_context(home.agent()) for _ in range(10)]
        for agent in agents:
            agent.request("init", "initialize", INITIALIZE)
        for agent in agents:
            agent.request("list", "tools/list")
        for agent in agents:
            agent.receive()
            agent.receive()
        assert home.hubs() == [home.hub()]


def test_a_second_hub_is_refused_and_the_first_one_undisturbed(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        first = home.hub()
        second = home.run("hub")
        assert second.returncode == 1
        assert f"another hub (pid {first})" in second.stderr
        with home.agent() as other:
            other.initialize()
        assert home.hubs() == [first]
        home.answer(asked)
        assert agent.result()["answered"]


def test_a_service_takes_over_from_a_hub_that_a_link_started(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        before = home.hub()
        with home.service():
            assert home.until()["id"] == asked["id"]
            home.until_gone(before)
            home.answer(asked)
            assert agent.result()["answered"]


def broken_configuration(home: House) -> str:
    config = home.state.parent / "config.toml"
    config.write_text("default_timeout = \n")
    home.environment["CHATBRIDGE_CONFIG"] = str(config)
    return "config.toml"


def newer_database(home: House) -> str:
    home.state.mkdir(mode=0o700)
    path = home.state / "chatbridge.db"
    asyncio.run(make_database(path))
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 9999")
    return "schema version 9999"


async def make_database(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.close()


@pytest.mark.parametrize("fault", [broken_configuration, newer_database])
def test_a_hub_that_cannot_start_is_explained_in_every_call(
    home: House, fault: Callable[[House], str]
) -> None:
    said = fault(home)
    with home.agent() as agent:
        reply = agent.initialize()
        assert reply["result"]["serverInfo"]["name"] == "chatbridge"
        for number in (1, 2):
            agent.ask(number)
            reply = agent.receive()
            assert reply["result"]["isError"] is True
            assert said in reply["result"]["content"][0]["text"]


def test_ten_links_at_once_all_learn_why_no_hub_can_start(home: House) -> None:
    said = broken_configuration(home)
    with ExitStack() as stack:
        agents = [stack.enter_context(home.agent()) for _ in range(10)]
        for agent in agents:
            agent.request("init", "initialize", INITIALIZE)
            agent.ask(1)
        for agent in agents:
            agent.receive()
            assert said in agent.receive()["result"]["content"][0]["text"]


def test_a_link_recovers_when_the_configuration_is_mended(home: House) -> None:
    broken_configuration(home)
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        assert agent.receive()["result"]["isError"] is True
        (home.state.parent / "config.toml").write_text("")
        agent.ask(2, {**COLOURS, "wait": False})
        while "result" not in (reply := agent.receive()):
            assert reply["method"] == "notifications/tools/list_changed"
        assert reply["result"]["structuredContent"]["pending"] is True


def test_stopping_a_hub_leaves_its_questions_open(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1, {**COLOURS, "wait": False})
        asked = agent.result()["askId"]
    assert "stopped" in home.run("stop").stdout
    assert home.hubs() == []
    assert home.run("stop").stdout == "The hub is not running.\n"
    with home.agent() as agent:
        agent.initialize()
        agent.request("list", "tools/list")
        agent.receive()
        assert [ask["id"] for ask in home.asks()] == [asked]
