"""An agent that has chosen every word it can, its project's folder included, against the commands
that its owner types: what they print can be read, and does nothing else."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chatbridge.cli import command
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.run import all_checks, run_tonight
from chatbridge.cli.doctor.run import run as run_checks
from tests.fakes.machine import INITIALIZE, House, house

Json = dict[str, Any]

TRICKS = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil\x1b\\link\x1b]52;c;ZXZpbA==\x07\x9b31m\x90q\x9c"
    "\x7f\r\u202e\u2067\u200b\ufeff\u2028\U000e0041\nID  PROJECT  AGENT\n✓ hub  all is well"
    f"{chr(0x301) * 20}"
)
"""Colours, titles, links, the clipboard, C1, directions, what is not seen, lines that look like
ours, and a tower of accents."""
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
FOLDER = TRICKS.replace("/", "|")[:80]
ASK: Json = {
    "title": TRICKS[:90],
    "questions": [
        {
            "id": f"q{TRICKS}",
            "question": TRICKS * 4,
            "type": "select",
            "options": [{"label": f"{n}{TRICKS}", "description": TRICKS} for n in "ab"],
        },
    ],
}


@pytest.fixture(scope="module")
def machine() -> Iterator[House]:
    with house() as machine:
        yield machine.with_project(FOLDER)


@pytest.fixture(scope="module")
def asked(machine: House) -> Iterator[tuple[str, str]]:
    """The ids of an open ask, and of one that ended with words of the same kind."""
    client = {"name": TRICKS, "version": TRICKS, "title": TRICKS}
    with machine.agent() as agent:
        agent.request("init", "initialize", {**INITIALIZE, "clientInfo": client})
        agent.receive()
        agent.notify("notifications/initialized")
        agent.ask(1, ASK)
        ended = machine.until()
        machine.api(f"/api/asks/{ended['id']}/cancel", {"reason": TRICKS})
        agent.receive()
        agent.ask(2, ASK)
        still_open = machine.until(lambda ask: bool(ask["id"] != ended["id"]))
        yield still_open["id"], ended["id"]


COMMANDS: dict[str, tuple[Callable[[list[str]], int], list[str]]] = {
    "pending": (command("pending"), []),
    "history": (command("history"), []),
    "stats": (command("stats"), []),
    "quiet": (command("quiet"), ["on", "2h"]),
    "status": (command("status"), []),
    "people": (command("people"), []),
    "tools list": (command("tools"), ["list"]),
    "tools check": (command("tools"), ["check", f"{FOLDER}.json"]),
    "connect": (command("connect"), []),
    "connect in the project": (command("connect"), ["claude-code", "--project"]),
    "doctor": (
        lambda _: run_checks(DoctorContext.here(), all_checks(), as_json=False),
        [],
    ),  # main ends processes
    "doctor --tonight": (lambda _: run_tonight(DoctorContext.here()), []),
    "answer": (command("answer"), ["OPEN"]),
    "an option that is not there": (command("answer"), ["OPEN", "99"]),
    "an answer to what has ended": (command("answer"), ["ENDED", "1"]),
    "the end of what has ended": (command("cancel"), ["ENDED"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_an_agent_wrote_cannot_steer_the_terminal_of_a_command(
    machine: House,
    asked: tuple[str, str],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for variable, value in machine.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(machine.project)
    main, words = COMMANDS[name]
    main([{"OPEN": asked[0], "ENDED": asked[1]}.get(word, word) for word in words])
    printed = capsys.readouterr()
    shown = printed.out + printed.err
    assert shown.strip()
    for char in shown:
        assert char in "\n\u2068\u2069" or unicodedata.category(char) not in CONTROLS, repr(shown)
    assert all(not line.startswith(("ID  P", "✓ hub  all")) for line in shown.splitlines())
    assert "\u0301" * 9 not in shown


def test_the_trick_is_in_what_they_print(
    machine: House,
    asked: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else the test above would show nothing."""
    for variable, value in machine.environment.items():
        monkeypatch.setenv(variable, value)
    command("pending")([])
    (row,) = [line for line in capsys.readouterr().out.splitlines() if asked[0][:6] in line]
    assert row.count("⟨U+001B⟩") >= 2
