"""Real stdio clients, as they come: each mode, each carrier, and with the barest environment."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.acceptance.bridge import (
    CARRIERS,
    MODES,
    ROOT,
    Home,
    Json,
    connected,
    new_home,
    text_of,
    told,
    until,
)
from tests.acceptance.connections import Connections

pytestmark = pytest.mark.asyncio(loop_scope="session")


def select(text: str) -> Json:
    question = {"id": "n", "question": text, "type": "select", "options": ["red", "blue"]}
    return {"questions": [question]}


def bare(home: Home, carrier: str) -> list[str]:
    """Run chatbridge with nothing but what a login leaves: no variable of ours, nor Python's."""
    kept = {"HOME": str(home.folder), "USER": "robin", "SHELL": "/bin/sh", "TERM": "dumb"}
    kept["PATH"] = os.environ["PATH"]
    words = ["env", "-i", *(f"{name}={value}" for name, value in kept.items())]
    words += [sys.executable, "-m", "chatbridge", "mcp"]
    return words + (["--standalone"] if carrier == "standalone" else [])


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_lists_asks_and_is_answered(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    tools = await connection.client.list_tools()
    assert "ask_user" in [tool.name for tool in tools.tools]
    async with connection.asking(select("Hello?")) as (call, ask):
        assert ask["agent"]["client"] == "acceptance"
        await asyncio.to_thread(connection.person.answer, ask, {"values": ["blue"]})
        assert told(await call)["answers"] == [{"questionId": "n", "values": ["blue"]}]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_gets_each_answer_of_calls_that_wait_at_the_same_time(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    questions = [{"question": f"At once, {i}?"} for i in range(5)]
    results = await asyncio.gather(
        *(
            connection.answered(arguments, {"values": [f"answer {i}"]})
            for i, arguments in enumerate(questions)
        )
    )
    assert [text_of(result) for result in results] == [
        f"User answered: answer {i}" for i in range(5)
    ]


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_client_with_a_bare_environment_is_served(carrier: str) -> None:
    with new_home(cold=True) as home:
        home.state = home.folder / ".local" / "state" / "chatbridge"
        home.person.state = home.state
        # A checkout that is not installed is importable only from its own directory.
        project = home.project("bare")
        (project / "chatbridge").symlink_to(ROOT / "chatbridge")
        async with connected(home, project, command=bare(home, carrier)) as connection:
            result = await connection.answered(select("Hello?"), {"values": ["red"]})
            assert told(result)["answers"] == [{"questionId": "n", "values": ["red"]}]


async def test_two_clients_with_the_same_words_in_one_project_get_their_own_answers(
    connections: Connections,
) -> None:
    one = await connections.get(project="shared")
    two = await connections.get(project="shared", mode="legacy")
    arguments = select("Both?")
    calls = [asyncio.create_task(client.ask(arguments)) for client in (one, two)]

    def both() -> list[Json] | None:
        asks = [a for a in one.person.open_asks() if a["questions"][0]["question"] == "Both?"]
        return asks if len(asks) == 2 else None

    asks = await asyncio.to_thread(until, both, "both asks")
    for ask, colour in zip(asks, ("red", "blue"), strict=True):
        await asyncio.to_thread(one.person.answer, ask, {"values": [colour]})
    values = [told(await call)["answers"][0]["values"] for call in calls]
    assert sorted(values) == [["blue"], ["red"]]
