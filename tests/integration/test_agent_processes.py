"""Who sits at a terminal, and what an agent has started, told apart by the kernel's own facts."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.errors import MessageRefused
from chatbridge.hub.control.server import Request
from chatbridge.hub.links.processes import MAX_ANCESTORS, AgentProcesses
from tests.fakes.message_desk import Json, desk
from tests.fakes.on_terminal import OnTerminal

PATIENCE = 30.0
SHELL = ("bash", "--norc", "--noprofile", "-i")
CLIENT = """
import json, subprocess, sys, time
for words, group in json.loads(sys.argv[1]):
    subprocess.Popen(words, stdin=subprocess.DEVNULL, process_group=0 if group else None)
time.sleep(60)
"""
"""An agent's client: it starts its link, and what the agent wants to run."""
STAY = 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 60'
NESTED = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork():
        os.wait()
        os._exit(0)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Stage:
    """Programs that stay where they were started. Each notes its pid under its name."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.agents = AgentProcesses()

    def stays(self, name: str) -> list[str]:
        return ["sh", "-c", STAY, str(self.folder / name)]

    def client(self, *children: Sequence[str], group: bool = False) -> list[str]:
        given = json.dumps([[list(words), group] for words in children])
        return [sys.executable, "-c", CLIENT, given]

    def terminal(self, *command: str) -> OnTerminal:
        """A terminal with a person's shell in it, or with this program instead."""
        shown = OnTerminal({}, command=command or SHELL)
        return self._stack.enter_context(shown)

    def pid(self, name: str) -> int:
        until = time.monotonic() + PATIENCE
        while not (self.folder / name).exists():
            assert time.monotonic() < until, f"{name} never ran"
            time.sleep(0.01)
        pid = int((self.folder / name).read_text())
        self._stack.callback(_end, pid)
        return pid

    def note(self, name: str) -> None:
        asyncio.run(self.agents.note(self.pid(name)))

    def person_at(self, name: str) -> bool:
        return self.agents.is_person(self.pid(name))


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(tmp_path, stack)


def in_script(words: Sequence[str]) -> list[str]:
    """With a terminal of its own, as anybody can get one."""
    return ["script", "-qec", shlex.join(words), "/dev/null"]


def test_a_person_in_a_shell_counts_while_an_agent_works_in_another_terminal(stage: Stage) -> None:
    stage.terminal().type(shlex.join(stage.client(stage.stays("link"))))
    stage.note("link")
    stage.terminal().type(shlex.join(stage.stays("tell")))
    assert stage.person_at("tell")


def test_a_person_counts_in_the_shell_that_has_the_agent_in_its_background(stage: Stage) -> None:
    shell = stage.terminal()
    shell.type(f"{shlex.join(stage.client(stage.stays('link')))} &")
    stage.note("link")
    shell.type(shlex.join(stage.stays("tell")))
    assert stage.person_at("tell")


@pytest.mark.parametrize("group", [False, True], ids=["same group", "groups of their own"])
@pytest.mark.parametrize("own_terminal", [False, True], ids=["in a shell", "without a shell"])
def test_what_an_agent_runs_is_no_person_with_or_without_a_terminal_of_its_own(
    stage: Stage, group: bool, own_terminal: bool
) -> None:
    client = stage.client(
        stage.stays("link"),
        stage.stays("plain"),
        in_script(stage.stays("scripted")),
        ["sh", "-c", f"{shlex.join(in_script(stage.stays('deep')))}; true"],
        group=group,
    )
    if own_terminal:
        stage.terminal(*client)
    else:
        stage.terminal().type(shlex.join(client))
    assert AgentProcesses().is_person(stage.pid("scripted"))  # but for who has started it
    stage.note("link")
    assert not any(map(stage.person_at, ("plain", "scripted", "deep")))
    stage.terminal().type(shlex.join(stage.stays("tell")))
    assert stage.person_at("tell")


def test_launchers_between_a_client_and_its_link_hide_nothing(stage: Stage) -> None:
    launched = [
        "sh",
        "-c",
        f"{shlex.join(['env', 'sh', '-c', shlex.join(stage.stays('link'))])}; :",
    ]
    stage.terminal().type(
        shlex.join(stage.client(launched, in_script(stage.stays("scripted")), group=True))
    )
    stage.note("link")
    assert len(stage.agents.client(stage.pid("link"))) >= 2
    assert not stage.person_at("scripted")


def test_an_agent_without_a_terminal_is_known_up_to_its_first_process(stage: Stage) -> None:
    """An editor: one process has the link, another one the terminal, and a third is above both."""
    parts = [stage.client(stage.stays("link")), in_script(stage.stays("scripted"))]
    editor = subprocess.Popen(stage.client(*parts), start_new_session=True)
    try:
        stage.note("link")
        assert not stage.person_at("scripted")
    finally:
        editor.kill()
        editor.wait(PATIENCE)


def test_an_agent_that_ends_its_link_is_still_known(stage: Stage) -> None:
    stage.terminal().type(
        shlex.join(stage.client(stage.stays("link"), in_script(stage.stays("scripted"))))
    )
    stage.note("link")
    _end(stage.pid("link"))
    stage.terminal().type(shlex.join(stage.client(stage.stays("other"))))
    stage.note("other")
    assert not stage.person_at("scripted")


async def test_an_agent_that_only_its_hooks_tell_of_cannot_write_and_a_person_can(
    stage: Stage, tmp_path: Path
) -> None:
    stage.terminal().type(
        shlex.join(stage.client(stage.stays("hook"), in_script(stage.stays("scripted"))))
    )
    stage.terminal().type(shlex.join(stage.stays("tell")))
    async with desk(tmp_path, writes="person") as here:

        async def action(do: str, name: str, **given: Any) -> Json:
            pid = await asyncio.to_thread(stage.pid, name)
            request = Request(do=do, given=given, uid=os.getuid(), pid=pid)
            return await here.messages.answers[do](request)

        await action("collect", "hook", **here.hooked)
        with pytest.raises(MessageRefused, match="Only a person at a terminal"):
            await action("tell", "scripted", agent="shop", text="Delete it")
        assert await here.stored() == []
        await action("tell", "tell", agent="shop", text="Use tabs")
        assert [each.text for each in await here.stored()] == ["Use tabs"]


def test_a_client_that_has_ended_is_forgotten(stage: Stage) -> None:
    with OnTerminal({}, command=stage.client(stage.stays("link"))) as window:
        stage.note("link")
        known = {pid for pid, _ in stage.agents._known}
        assert window.process.pid in known
    stage.agents.prune_at = len(known)
    stage.terminal().type(shlex.join(stage.client(stage.stays("other"))))
    stage.note("other")
    assert known.isdisjoint(pid for pid, _ in stage.agents._known)


def test_nobody_is_at_a_program_in_the_background_or_without_a_terminal(stage: Stage) -> None:
    shell = stage.terminal()
    shell.type(f"{shlex.join(stage.stays('background'))} &")
    shell.type(f"setsid {shlex.join(stage.stays('detached'))} &")
    assert not stage.person_at("background")
    assert not stage.person_at("detached")


def test_a_process_that_is_gone_or_that_nobody_knows_is_no_person(stage: Stage) -> None:
    shell = stage.terminal()
    shell.type(shlex.join(stage.stays("tell")))
    pid = stage.pid("tell")
    _end(pid)
    shell.type(shlex.join(stage.stays("next")))
    stage.pid("next")  # the shell has seen its end
    assert not stage.agents.is_person(pid)
    assert not stage.agents.is_person(0)


def test_more_processes_than_are_looked_at_hide_no_agent(stage: Stage) -> None:
    nested = [sys.executable, "-c", NESTED, str(MAX_ANCESTORS), *stage.stays("tell")]
    stage.terminal().type(shlex.join(nested))
    assert not stage.person_at("tell")
