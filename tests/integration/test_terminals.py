"""Commands of a person over the hub's socket: each request has a reply, or a sentence why not."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chatbridge.core.errors import UnknownAsk
from chatbridge.hub.control.server import Json, Request, Terminals

PATIENCE = 20.0
DEEP = b'{"do":"echo","say":' + b"[" * 5000 + b"]" * 5000 + b"}"


async def echo(request: Request) -> Json:
    return {"said": request.given.get("say"), "uid": request.uid}


async def refuse(_request: Request) -> Json:
    raise UnknownAsk("k3f9a2", known=("p81xz0",))


async def fail(_request: Request) -> Json:
    raise ZeroDivisionError("secret inside")


class Ticks:
    """A stream that notices when nobody listens any more."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def __call__(self, _request: Request) -> AsyncGenerator[Json, None]:
        try:
            yield {"tick": 1}
            await asyncio.Event().wait()
        finally:
            self.closed.set()


class Terminal:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, line: bytes) -> Any:
        self.writer.write(line + b"\n")
        return await self.hear()

    async def hear(self) -> Any:
        return json.loads(await asyncio.wait_for(self.reader.readline(), PATIENCE))


@asynccontextmanager
async def terminal(terminals: Terminals) -> AsyncIterator[Terminal]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    serving = asyncio.ensure_future(terminals.serve(reader, writer, pid=0, uid=os.getuid()))
    mine = Terminal(*await asyncio.open_connection(sock=ours))
    try:
        yield mine
    finally:
        mine.writer.close()
        await asyncio.wait_for(serving, PATIENCE)
        writer.close()


ANSWERS = {"echo": echo, "refuse": refuse, "fail": fail}


async def test_each_request_has_its_reply_on_one_connection() -> None:
    async with terminal(Terminals(ANSWERS)) as mine:
        for word in ("one", "two"):
            reply = await mine.ask(json.dumps({"do": "echo", "say": word}).encode())
            assert reply == {"result": {"said": word, "uid": os.getuid()}}


async def test_an_error_is_a_sentence_with_its_kind_and_the_connection_goes_on() -> None:
    async with terminal(Terminals(ANSWERS)) as mine:
        reply = await mine.ask(b'{"do":"refuse"}')
        assert reply["kind"] == "UnknownAsk"
        assert "p81xz0" in reply["error"]
        assert (await mine.ask(b'{"do":"echo"}'))["result"]["uid"] == os.getuid()


async def test_a_fault_inside_tells_the_terminal_nothing_but_where_to_look() -> None:
    async with terminal(Terminals(ANSWERS)) as mine:
        reply = await mine.ask(b'{"do":"fail"}')
        assert reply["kind"] == "failure"
        assert "secret" not in reply["error"]
        assert "log" in reply["error"]


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b'{"do":1}', b"\xff\xfe", b"[" * 5000, DEEP])
async def test_what_is_no_request_is_refused_and_the_next_one_served(line: bytes) -> None:
    async with terminal(Terminals(ANSWERS)) as mine:
        assert "error" in await mine.ask(line)
        assert "result" in await mine.ask(b'{"do":"echo"}')


async def test_a_request_that_the_hub_does_not_know_says_that_versions_differ() -> None:
    async with terminal(Terminals(ANSWERS)) as mine:
        assert "another version" in (await mine.ask(b'{"do":"fly"}'))["error"]


async def test_a_stream_ends_when_its_terminal_leaves() -> None:
    ticks = Ticks()
    async with terminal(Terminals(ANSWERS, {"ticks": ticks})) as mine:
        assert await mine.ask(b'{"do":"ticks"}') == {"event": {"tick": 1}}
        assert not ticks.closed.is_set()
    assert ticks.closed.is_set()


async def test_what_a_terminal_says_during_a_stream_is_not_held_in_memory() -> None:
    ticks = Ticks()
    async with terminal(Terminals(ANSWERS, {"ticks": ticks})) as mine:
        assert await mine.ask(b'{"do":"ticks"}') == {"event": {"tick": 1}}
        tracemalloc.start()
        try:
            for _ in range(64):
                mine.writer.write(bytes(1_000_000))
                await asyncio.wait_for(mine.writer.drain(), PATIENCE)
            assert tracemalloc.get_traced_memory()[0] < 16_000_000
        finally:
            tracemalloc.stop()
        assert not ticks.closed.is_set()


async def test_a_line_that_is_too_long_ends_the_connection_with_a_sentence() -> None:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs, limit=1_000)
    mine = Terminal(*await asyncio.open_connection(sock=ours))
    mine.writer.write(b"x" * 2_000)
    await asyncio.wait_for(Terminals(ANSWERS).serve(reader, writer, pid=0, uid=7), PATIENCE)
    assert (await mine.hear())["error"] == "this request is too long"
    for each in (mine.writer, writer):
        each.close()
