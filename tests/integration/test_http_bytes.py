"""Bytes over HTTP that mean nothing, never end, or are too many, from who has a token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.framing import MAX_LINE
from tests.fakes.core_env import PATIENCE
from tests.fakes.remote import ERAS, Door, RawAgent, cut, open_door


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path, body_seconds=0.2) as it:
        yield it


GARBAGE = [
    b"",
    b"\x00\xff\xfe",
    b"{",
    b"null",
    b"[]",
    b'"initialize"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b"1" * 100_000,
    b'{"jsonrpc":"2.0","id":{},"method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{}}',
]


@pytest.mark.parametrize("era", ERAS)
async def test_bodies_that_mean_nothing_are_refused_and_the_session_goes_on(
    door: Door, era: str
) -> None:
    async with door.visitor() as http:
        agent = RawAgent(http, era)
        await agent.begin()
        for body in GARBAGE:
            answer = await http.post("/mcp", content=body, headers=agent.headers())
            assert answer.status_code in (202, 400) or "error" in answer.text, body[:60]
            assert answer.status_code < 500, body[:60]
        call = agent.asking(99)
        assert (await door.shown()).questions[0].text == "Which colour?"
        await cut(call)


async def raw(door: Door, *parts: bytes) -> bytes:
    """A request with the right token whose rest is `parts`; the answer until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n"
    writer.write(f"{head}Authorization: Bearer {door.token}\r\n".encode())
    try:
        async with asyncio.timeout(PATIENCE):
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_declared_body_over_the_limit_is_413_before_it_is_read(door: Door) -> None:
    answer = await raw(door, f"Content-Length: {MAX_LINE + 1}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 413")


async def test_a_body_that_turns_out_too_long_is_cut_off(door: Door) -> None:
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    answer = await raw(door, b"Transfer-Encoding: chunked\r\n\r\n", *[piece] * 80)
    assert answer.startswith(b"HTTP/1.1 413") or answer == b""


async def test_a_body_that_is_cut_short_asks_nothing_even_if_it_could_be_read(door: Door) -> None:
    async with door.visitor() as http:
        agent = RawAgent(http, ERAS[1])
        body = json.dumps(agent.call()).encode()
        given = {**http.headers, **agent.headers(), "content-length": str(len(body) + 1)}
        lines = [f"{name}: {value}" for name, value in given.items() if name != "host"]
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        head = ["POST /mcp HTTP/1.1", f"host: 127.0.0.1:{door.port}", *lines, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
        call = agent.asking(2, question="Another?")
        assert (await door.shown()).questions[0].text == "Another?"
        await cut(call)
