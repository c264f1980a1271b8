"""Standalone: hub and MCP server in one process, on standard input and output.

For containers, and where a Unix socket cannot be had. Takes the same lock as a hub.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from chatbridge import runtime_paths, safe_json
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.tasks import end_tasks, race
from chatbridge.framing import MAX_LINE
from chatbridge.hub.links.session import Send, Session
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.wiring.hub import open_hub, settings_in_force
from chatbridge.hub.wiring.serving import stop_on_signals
from chatbridge.link import unavailable
from chatbridge.link.preface import working_directory
from chatbridge.projects import project_of
from chatbridge.redaction import redacted

LAST_WORDS = 0.5  # How long the end may take to be noted: the process ends within a second


async def run_standalone(*, config: Path | None, label: str | None, limit: int | None) -> None:
    """Serve one client until it closes standard input, or SIGTERM; if that cannot be, answer it
    with what is wrong."""
    stop = stop_on_signals()
    reader, send = await _stdio()
    try:
        with Lock(runtime_paths.state_dir(), started_by="person") as lock:
            await _serve(lock, reader, send, stop, config=config, label=label, limit=limit)
    except ChatbridgeError as error:
        problem = redacted(str(error))
        sys.stderr.write(f"{problem}\n")
        await _answer(problem, reader, send, stop)


async def _serve(
    lock: Lock,
    reader: asyncio.StreamReader,
    send: Send,
    stop: asyncio.Event,
    *,
    config: Path | None,
    label: str | None,
    limit: int | None,
) -> None:
    link = secrets.token_hex(16)
    project = project_of(working_directory(), link=link, label=label)
    settings = settings_in_force(config)
    async with open_hub(lock, settings, config=config, agents=lambda: [project.name]) as hub:
        hub.commands.opened(project)
        session = Session(
            link=link,
            project=project,
            reader=reader,
            send=send,
            waiting_calls=hub.waiting_calls,
            confirms=False,
            limit=limit,
            folder=working_directory(),
            pid=os.getpid(),
            pushes=hub.commands.pushes,
            delivered=hub.commands.delivered,
        )
        hub.waiting_calls.link_opened(link)
        serving = asyncio.ensure_future(session.serve(hub.server))
        await race(stop.wait(), asyncio.wait({serving}))
        session.mute()
        await end_tasks([serving])
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await hub.waiting_calls.link_closed(link)


async def _answer(
    problem: str, reader: asyncio.StreamReader, send: Send, stop: asyncio.Event
) -> None:
    client: object = None
    while True:
        with suppress(ValueError):  # no JSON, or too long a line, or too deep a one
            if not (line := await race(reader.readline(), stop.wait())):
                return
            request = safe_json.loads(line)
            if isinstance(request, dict) and "id" in request and "method" in request:
                client = unavailable.client_named_in(request) or client
                response = unavailable.answer(request, problem, client=client)
                await send(json.dumps(response).encode() + b"\n")


async def _stdio() -> tuple[asyncio.StreamReader, Send]:
    """Standard input as a stream, and a way to write to the real standard output. What else this
    process prints goes to standard error: the client reads MCP and nothing else."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    output = os.dup(1)
    os.dup2(2, 1)
    if not _can_wait(0):
        reader.feed_data(sys.stdin.buffer.read())
        reader.feed_eof()
    else:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def send(line: bytes) -> None:
        if writer is None:
            os.write(output, line)
        else:
            writer.write(line)
            await writer.drain()

    writer: asyncio.StreamWriter | None = None
    if not _can_wait(output):
        return reader, send
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(output, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return reader, send


def _can_wait(fd: int) -> bool:
    """A plain file and /dev/null are always ready, and the event loop cannot watch them."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
