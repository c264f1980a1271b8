"""Messages to agents: what they cost an answer, how soon a waiting agent has one, and what the hook
costs that looks for them after every tool."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatbridge import lock_file
from chatbridge.link.preface import PROTOCOL
from tests.bench.latency import WARM, question, round_trips
from tests.bench.machine import (
    CHATBRIDGE,
    PATIENCE,
    Client,
    Json,
    Machine,
    machine,
    milliseconds,
    percentiles,
)
from tests.bench.person import Person, person
from tests.bench.references import python_process

WAITS = {"name": "check_messages", "arguments": {"waitSeconds": 600}}
ANYBODY = '[messages]\nterminal = "anybody"\n'


async def messages(rounds: int, hooks: int) -> Json:
    async with machine() as here:
        config = here.state.parent / "config.toml"
        config.write_text(ANYBODY)
        config.chmod(0o600)
        here.environment["CHATBRIDGE_CONFIG"] = str(config)
        project = here.state.parent / "project"
        project.mkdir()
        async with here.link(folder=project) as link:
            await link.list_tools()
            async with person(here) as somebody, _terminal(here) as owner:
                await round_trips(link, somebody, WARM)
                _, plain = await round_trips(link, somebody, rounds)
                along = [await _along(link, somebody, owner, i) for i in range(rounds)]
                told = [await _told(link, owner, i) for i in range(-WARM, rounds)]
            bare, hook = [], []
            for _ in range(hooks):
                bare.append(python_process("-c", "pass"))
                hook.append(_hook(here, str(project)))
    return {
        "without_ms": percentiles(plain),
        "along_ms": percentiles(along),
        "told_ms": percentiles(told[WARM:]),
        "hook_ms": milliseconds(hook),
        "python_ms": milliseconds(bare),
    }


class Owner:
    """A command's connection to the hub."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def say(self, line: Json) -> Json:
        self._writer.write(json.dumps(line).encode() + b"\n")
        heard: Json = json.loads(await asyncio.wait_for(self._reader.readline(), PATIENCE))
        return heard

    async def tell(self, text: str) -> None:
        said = await self.say({"do": "tell", "agent": "project", "text": text})
        assert "result" in said, said


@asynccontextmanager
async def _terminal(here: Machine) -> AsyncIterator[Owner]:
    hub = lock_file.find_holder(str(here.state))
    assert hub
    assert hub.socket
    reader, writer = await asyncio.open_unix_connection(hub.socket)
    owner = Owner(reader, writer)
    greeting = await owner.say({"chatbridge": "terminal", "protocol": PROTOCOL})
    assert greeting["chatbridge"] == "hub", greeting
    try:
        yield owner
    finally:
        writer.close()


async def _along(link: Client, somebody: Person, owner: Owner, number: int) -> float:
    """Seconds from an answer to its result, which takes a message along."""
    link.request(number + 10, "tools/call", question(number))
    ask_id, _ = await somebody.sees()
    await owner.tell("use tabs")
    answered = time.perf_counter()
    answering = asyncio.ensure_future(somebody.answer_all([ask_id]))
    result = (await link.receive())["result"]
    took = time.perf_counter() - answered
    assert result["content"][1]["text"].endswith("use tabs"), result
    await answering
    return took


async def _told(link: Client, owner: Owner, number: int) -> float:
    """Seconds from writing until an agent has it that waits for messages."""
    link.request(number + 10_000, "tools/call", WAITS)
    await owner.say({"do": "agents"})  # the call has come before this
    began = time.perf_counter()
    telling = asyncio.ensure_future(owner.tell("use tabs"))
    result = (await link.receive())["result"]
    took = time.perf_counter() - began
    assert result["content"][0]["text"].endswith("use tabs"), result
    await telling
    return took


def _hook(here: Machine, folder: str) -> float:
    """Seconds that the hook takes after a tool while nothing waits."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "bench",
        "cwd": folder,
        "tool_name": "Bash",
        "tool_input": {"command": "true"},
    }
    began = time.perf_counter()
    done = subprocess.run(
        [*CHATBRIDGE, "hook"],
        input=json.dumps(event).encode(),
        env={**here.environment, "CLAUDE_PROJECT_DIR": folder},
        check=True,
        capture_output=True,
    )
    assert not done.stdout, done.stdout
    return time.perf_counter() - began
