"""The MCP inspector, a client by others, lists and calls every tool over stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from chatbridge.tool_names import TOOLS
from tests.acceptance.bridge import PATIENCE, Home, Json, new_home

pytestmark = pytest.mark.inspector


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home(MIN_TIMEOUT="1s", APPROVALS__TIMEOUT="1s") as made:
        yield made


class Inspector:
    def __init__(self, command: str, home: Home) -> None:
        self._command = command
        self._home = home
        self.started: list[subprocess.Popen[str]] = []
        self.project = home.project("inspected")

    def start(self, method: str, *more: str) -> subprocess.Popen[str]:
        given = [f"-e{name}={value}" for name, value in self._home.environment.items()]
        server = [sys.executable, "-m", "chatbridge", "mcp"]
        running = subprocess.Popen(
            [self._command, "--cli", *given, "--method", method, *more, *server],
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(running)
        return running

    def call(self, tool: str, **arguments: object) -> subprocess.Popen[str]:
        pairs = [f"{name}={json.dumps(value)}" for name, value in arguments.items()]
        given = ["--tool-arg", *pairs] if pairs else []
        return self.start("tools/call", "--tool-name", tool, *given, "--")


def finished(running: subprocess.Popen[str]) -> Json:
    out, complaints = running.communicate(timeout=2 * PATIENCE)
    assert running.returncode in (0, 5), complaints  # 5: the tool's own error
    found: Json = json.loads(out)
    return found


def text_of(result: Json) -> str:
    (block,) = result["content"]
    text: str = block["text"]
    return text


@pytest.fixture
def inspector(home: Home, inspector_command: str) -> Iterator[Inspector]:
    made = Inspector(inspector_command, home)
    yield made
    for running in made.started:
        running.kill()
        running.communicate()


def test_it_lists_every_tool_and_finds_no_fault_in_a_schema(inspector: Inspector) -> None:
    running = inspector.start("tools/list", "--strict")
    out, complaints = running.communicate(timeout=2 * PATIENCE)
    assert running.returncode == 0, complaints
    listed = json.loads(out)["tools"]
    # Its command line can show no form, and question_ask is for clients that can.
    assert [tool["name"] for tool in listed] == [name for name in TOOLS if name != "question_ask"]
    for tool in listed:
        assert tool["title"]
        assert tool["annotations"]
        assert tool["icons"]


def test_it_asks_and_gets_the_answer(inspector: Inspector, home: Home) -> None:
    running = inspector.call("ask_user", question="Which colour?", options=["red", "blue"])
    ask = home.person.sees("Which colour?", project="inspected")
    home.person.answer(ask, {"values": ["blue"]})
    assert text_of(finished(running)) == "User selected: blue"


def test_it_takes_a_ticket_and_waits_for_the_answer(inspector: Inspector, home: Home) -> None:
    asked = [{"id": "go", "question": "Go on?", "type": "confirm"}]
    ticket = finished(inspector.call("ask_user", questions=asked, wait=False))
    ask_id = ticket["structuredContent"]["askId"]
    waiting = inspector.call("wait_for_answer", askId=ask_id)
    home.person.answer(home.person.sees("Go on?", project="inspected"), {"values": ["yes"]})
    told = finished(waiting)["structuredContent"]
    assert told["answers"] == [{"questionId": "go", "values": ["yes"]}]


def test_it_asks_the_auq_way_and_fetches_the_answers(inspector: Inspector, home: Home) -> None:
    options = [{"label": "yes"}, {"label": "no"}]
    asked = [{"prompt": "Ship it?", "title": "Ship", "options": options, "multiSelect": False}]
    asking = inspector.call("ask_user_questions", questions=asked, nonBlocking=True)
    assert "Status: pending" in text_of(finished(asking))
    ask = home.person.sees("Ship it?", project="inspected")
    home.person.answer(ask, {"values": ["yes"]})
    fetched = finished(inspector.call("get_answered_questions", session_id=ask["id"]))
    assert "→ yes" in text_of(fetched)


def test_it_tells_the_user_and_reads_the_journal(inspector: Inspector) -> None:
    told = finished(inspector.call("notify_user", message="done"))["structuredContent"]
    assert "web" in [*told["sent"], *told["waiting"]]
    summary = finished(inspector.call("question_summary"))["structuredContent"]
    assert summary["summary"].startswith("# Question/Answer History")


def test_a_tool_use_that_nobody_allows_is_denied(inspector: Inspector) -> None:
    call = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
    running = inspector.call("approve_tool_use", **call)
    assert json.loads(text_of(finished(running)))["behavior"] == "deny"


def test_bad_arguments_come_back_as_the_tools_own_error(inspector: Inspector) -> None:
    refused = finished(inspector.call("ask_user", questions=[]))
    assert refused["isError"]
    first = text_of(refused).split("\n")[0]
    assert first == "Validation error: questions array must have at least 1 item"
