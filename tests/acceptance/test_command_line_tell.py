"""`chatbridge agents` and `tell`: a person at a terminal, a script, and an agent that tries."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import INITIALIZE, Agent, House, house
from tests.fakes.on_terminal import OnTerminal, in_pipe
from tests.fakes.program import CHATBRIDGE, bare

Json = dict[str, Any]
CLIENT = f"""
import json, subprocess, sys
link = subprocess.Popen(
    json.loads(sys.argv[1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
)
def said(**line):
    print(json.dumps({{"jsonrpc": "2.0", **line}}), file=link.stdin, flush=True)
def asked(number, method, params):
    said(id=number, method=method, params=params)
    while "result" not in (reply := json.loads(link.stdout.readline())):
        pass
    return reply["result"]
asked(1, "initialize", {INITIALIZE!r})
said(method="notifications/initialized")
asked(2, "tools/list", {{}})
print("CONNECTED", flush=True)
for number, line in enumerate(sys.stdin):
    if line.strip() == "look":
        found = asked(number + 3, "tools/call", {{"name": "check_messages", "arguments": {{}}}})
        print("FOUND", " | ".join(each["text"] for each in found["content"]), flush=True)
        continue
    done = subprocess.run(
        line, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    print("ENDED", done.returncode, " ".join((done.stdout + done.stderr).split()), flush=True)
"""
"""An agent's client with a link. What is typed into its window, the agent runs."""


@contextmanager
def client(home: House) -> Iterator[OnTerminal]:
    words = (sys.executable, "-c", CLIENT, json.dumps([*CHATBRIDGE, "mcp"]))
    with OnTerminal(home.environment, cwd=home.project, command=words, columns=2_000) as window:
        window.expect("CONNECTED")
        yield window


def tell(*words: str) -> str:
    """Not of `warm_processes`: it has to descend from who has started it."""
    return shlex.join([*CHATBRIDGE, "tell", *words])


def at_terminal(home: House, *words: str) -> tuple[int, str]:
    with OnTerminal(home.environment, *words, command=CHATBRIDGE, columns=500) as terminal:
        return terminal.finish()


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as it:
        yield it


def waiting(home: House) -> list[str]:
    found = json.loads(run(home, "agents", "--json").stdout)
    return [each["text"] for each in found["messages"]]


def run(home: House, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHATBRIDGE, *words],
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=bare(home.environment),
    )


def test_a_person_at_a_terminal_writes_and_an_agent_cannot_pass_for_one(home: House) -> None:
    with client(home) as window:
        code, shown = at_terminal(home, "tell", "shop", "Use", "tabs")
        assert (code, waiting(home)) == (0, ["Use tabs"])
        first, second = shown.strip().splitlines()
        assert first == "shop gets it with its next step."
        assert second.startswith("Take it back with: chatbridge tell --take-back ")
        scripted = shlex.join(["script", "-qec", tell("shop", "Delete", "it"), "/dev/null"])
        for command in (tell("shop", "Delete", "it"), scripted):
            window.type(command)
            window.expect("ENDED 1 Only a person at a terminal can write to an agent")
        assert waiting(home) == ["Use tabs"]
        code, shown = at_terminal(home, "tell", "--take-back", shown.split()[-1])
        assert (code, shown.strip()) == (0, "Taken back. shop does not get it.")
        at_terminal(home, "tell", "shop", "Stop after this")
        window.type("look")
        window.expect("FOUND Message from the owner of this computer")
        window.expect("in the terminal: Stop after this")
    code, shown = at_terminal(home, "tell", "shop", "Hello?")
    assert (code, shown.strip()) == (1, "No agent is connected.")


def test_without_a_terminal_nothing_is_told_and_what_to_do_is_said(home: House) -> None:
    with client(home):
        done = run(home, "tell", "shop", "Use tabs")
        assert done.returncode == 1
        assert done.stderr.startswith("Only a person at a terminal can write to an agent")
        assert 'terminal = "anybody" under [messages] in config.toml' in done.stderr
        assert waiting(home) == []


# ── a script, where the owner lets programs write ─────────────────────────────────────────────────


@pytest.fixture(scope="module")
def open_home() -> Iterator[House]:
    with house() as it:
        folder = Path(it.environment["HOME"], ".config/chatbridge")
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text('[messages]\nterminal = "anybody"\n')
        yield it


@pytest.fixture
def agent(open_home: House) -> Iterator[Agent]:
    with open_home.agent() as it:
        it.initialize()
        it.request(1, "tools/list", {})
        it.receive()
        yield it


def scripted(home: House, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return in_pipe(home.environment, *words, said=said)


def called(agent: Agent) -> list[str]:
    agent.request(2, "tools/call", {"name": "check_messages", "arguments": {}})
    content: Sequence[Json] = agent.receive()["result"]["content"]
    return [each["text"] for each in content if each["type"] == "text"]


def test_a_script_writes_with_a_file_and_from_its_input_where_it_may(
    open_home: House, agent: Agent
) -> None:
    plan = open_home.project / "plan.md"
    plan.write_text("first the tests\n")
    done = scripted(open_home, "tell", "shop", "--attach", str(plan), "Do", "this")
    assert (done.returncode, done.stdout) == (0, "")
    assert scripted(open_home, "tell", "shop", "-", said="one\ntwo\n").returncode == 0
    first, file, second = called(agent)
    assert first.endswith(": Do this")
    assert "plan.md" in file
    assert second.endswith(":\none\ntwo")


def test_agents_and_their_messages_are_listed_for_people_and_for_programs(
    open_home: House, agent: Agent
) -> None:
    scripted(open_home, "tell", "shop", "\x1b[2JUse tabs")
    assert scripted(open_home, "agents", "--names").stdout == "shop\n"
    with OnTerminal(open_home.environment, "agents") as terminal:
        code, shown = terminal.finish()
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.split("\n")[1].split()[:3] == ["shop", "Claude", "Code"]
    assert "⟨U+001B⟩[2JUse tabs" in shown
    assert "Write to one: chatbridge tell shop TEXT" in shown
    called(agent)
    assert "MESSAGE " not in scripted(open_home, "agents").stdout


def test_the_second_agent_of_a_project_is_named_as_it_was_written_to(
    open_home: House, agent: Agent
) -> None:
    with open_home.agent() as second:
        second.initialize()
        second.request(1, "tools/list", {})
        second.receive()
        with OnTerminal(open_home.environment, "tell", "shop-2", "Hi", columns=80) as terminal:
            code, shown = terminal.finish()
        assert (code, shown.splitlines()[0]) == (0, "shop-2 gets it with its next step.")
        assert called(second)[0].endswith(": Hi")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "name the agent"),
        (["shop"], 2, "what should shop be told?"),
        (["shop", ""], 2, "what should shop be told?"),
        (["shop", "x" * 10_001], 2, "too long (at most 10,000 characters)"),
        (["shop", "use", "-O2"], 2, "there is no argument -O2"),
        (["shop", "hi", "--attach", "/no/such"], 2, "--attach '/no/such': not found"),
        (["shop", "hi", "--attach", "/proc/self/stat"], 1, "--attach '/proc/self/stat': "),
        (["bank", "hi"], 1, "No agent 'bank' is connected. There are: shop"),
        (["--take-back", "zzzzzz"], 1, "No message with this id waits."),
        (["shop", "--take-back", "zzzzzz"], 2, "--take-back takes an id and nothing else"),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_to_do(
    open_home: House, agent: Agent, words: list[str], code: int, said: str
) -> None:
    done = scripted(open_home, "tell", *words)
    assert done.returncode == code, done.stderr
    assert said in " ".join(done.stderr.split())
    assert json.loads(scripted(open_home, "agents", "--json").stdout)["messages"] == []


def test_no_hub_is_started_just_to_find_nobody() -> None:
    with house() as empty:
        for words in (["agents"], ["tell", "shop", "hi"], ["tell", "--take-back", "a"]):
            done = scripted(empty, *words)
            assert (done.returncode, done.stdout) == (4, "")
        assert empty.hubs() == []
