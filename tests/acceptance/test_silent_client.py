"""The Python SDK before 2.0, as most agent frameworks have it: after its time-out it says nothing,
and its agent asks again in the same words. There is one card; the answer reaches the live call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.bridge import PATIENCE, Home, Json, new_home, until

pytestmark = pytest.mark.mcp1
PROGRAM = Path(__file__).resolve().parents[1] / "fakes" / "mcp1_client.py"


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home() as made:
        # A person looks within a second: the inbox has to be open before an agent asks.
        start = [sys.executable, "-m", "chatbridge", "restart"]
        subprocess.run(start, env=made.environment, check=True, stdout=subprocess.DEVNULL)
        yield made


class OldAgent:
    def __init__(self, home: Home, project: str, running: subprocess.Popen[str]) -> None:
        self._home = home
        self._project = project
        self._running = running

    def says(self) -> Json:
        """What became of its next call. It ends by itself: no call of it is without a limit."""
        assert self._running.stdout
        line = self._running.stdout.readline()
        assert line, "it has ended"
        said: Json = json.loads(line)
        return said

    def card(self) -> Json:
        """The only one there is."""
        asks = self._home.person.open_asks()
        (card,) = (ask for ask in asks if ask["agent"]["project"] == self._project)
        return card

    def card_after(self, revision: int) -> Json:
        """Once the question was asked again."""

        def found() -> Json | None:
            card = self.card()
            return card if card["revision"] > revision else None

        return until(found, "the call to join")


@contextmanager
def asking(home: Home, python: str, project: str, *limits: float) -> Iterator[OldAgent]:
    server = [sys.executable, "-m", "chatbridge", "mcp"]
    running = subprocess.Popen(
        [python, PROGRAM, json.dumps(limits), *server],
        env=home.environment,
        cwd=home.project(project),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield OldAgent(home, project, running)
    finally:
        running.kill()
        running.communicate()


def test_a_question_that_is_asked_again_in_silence_is_one_card_and_its_answer_arrives(
    home: Home, mcp1_python: str
) -> None:
    with asking(home, mcp1_python, "again", 1.0, 1.0, PATIENCE) as agent:
        first = home.person.sees("Blue?", project="again")
        assert agent.says() == {"gaveUp": True}
        second = agent.card_after(first["revision"])
        assert agent.says() == {"gaveUp": True}
        agent.card_after(second["revision"])
        home.person.answer(first, {"values": ["blue"]})
        assert agent.says()["answers"] == [{"questionId": "c", "values": ["blue"]}]

    def delivered() -> bool | None:
        return home.person.request(f"/api/asks/{first['id']}")["delivered"] or None

    assert until(delivered, "the answer to be delivered")


@pytest.mark.early
def test_a_limit_that_nobody_knew_is_learned_and_the_next_call_ends_with_a_ticket(
    home: Home, mcp1_python: str
) -> None:
    with asking(home, mcp1_python, "learned", 7.0, PATIENCE) as agent:
        asked = home.person.sees("Blue?", project="learned")
        assert agent.says() == {"gaveUp": True}
        ticket = agent.says()
        assert (ticket.get("pending"), ticket.get("askId")) == (True, asked["id"])
        home.person.answer(asked, {"values": ["blue"]})
        assert agent.says()["answers"] == [{"questionId": "c", "values": ["blue"]}]
