"""Lines that are no message: each gets a clear error, and nobody else notices.

"Nobody else" is measured: an ask of another agent is open throughout and is answered afterwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.acceptance.bridge import CARRIERS, Connection, Home, Json, new_home, told
from tests.acceptance.connections import Connections
from tests.acceptance.raw_link import raw_link
from tests.fakes.link_client import LinkClient

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEGABYTE = 1024 * 1024
OTHERS = {"questions": [{"id": "o", "question": "Undisturbed?", "type": "confirm"}]}
HANDSHAKE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "acceptance", "version": "1"},
}
PREFACE: Json = {"chatbridge": "link", "protocol": 1, "link": "f" * 32, "cwd": "/"}


@asynccontextmanager
async def undisturbed(connection: Connection) -> AsyncIterator[Home]:
    """Another agent's ask goes on, and its answer arrives, whatever is done inside."""
    async with connection.asking(OTHERS) as (call, ask):
        hub = connection.home.lock_holder()
        yield connection.home
        await asyncio.to_thread(connection.person.answer, ask, {"values": ["yes"]})
        assert told(await call)["answers"] == [{"questionId": "o", "values": ["yes"]}]
        assert connection.home.lock_holder() == hub


def deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def objects(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


REFUSED_LINES = {
    "invalid UTF-8": b'{"jsonrpc":"2.0","method":"\xff\xfe\xc3","params":{}}',
    "half a line of JSON": b'{"jsonrpc":"2.0","id":7,"meth',
    "not JSON": b"GET / HTTP/1.1",
    "a number": b"5",
    "a list": b"[]",
    "an empty object": b"{}",
    "no JSON-RPC": b'{"hello":"world"}',
    "wrong parameters": b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":5}',
    "too deep": b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + deep(50_000) + b"}",
    "too deep and private": b'{"chatbridge":' + deep(50_000) + b"}",
    "too deep an id": b'{"chatbridge":"delivered","request":' + objects(50_000) + b"}",
    "50 MB": b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * (50 * MEGABYTE) + b'"}',
}


@pytest.mark.parametrize("name", REFUSED_LINES)
async def test_a_line_that_is_no_message_gets_an_error_and_the_session_goes_on(
    connections: Connections, name: str
) -> None:
    line = REFUSED_LINES[name]

    def say(home: Home) -> tuple[Json | None, Json | None]:
        with raw_link(home) as link:
            link.greet(home.project("bad-lines"))
            link.send(line + b"\n")
            first = link.hears()
            link.request(8, "ping", {})
            return first, link.hears()

    async with undisturbed(await connections.get()) as home:
        refusal, pong = await asyncio.to_thread(say, home)
    assert refusal
    assert refusal["error"]["code"] in (-32700, -32600)
    assert refusal["error"]["message"]
    assert refusal["id"] == (7 if b'"id":7' in line else None)
    assert pong == {"jsonrpc": "2.0", "id": 8, "result": {}}


async def test_a_method_that_is_not_known_gets_an_error_under_its_id(
    connections: Connections,
) -> None:
    def say(home: Home) -> Json | None:
        with raw_link(home) as link:
            link.greet(home.project("bad-lines"))
            link.request(7, "no/such/method", {})
            return link.hears()

    async with undisturbed(await connections.get()) as home:
        answer = await asyncio.to_thread(say, home)
    assert answer
    assert (answer["id"], answer["error"]["code"]) == (7, -32601)


async def test_a_call_cut_off_in_the_middle_of_its_line_asks_nothing(
    connections: Connections,
) -> None:
    def say(home: Home) -> Json | None:
        with raw_link(home) as link:
            link.greet(home.project("cut-off"))
            whole = {"name": "ask_user", "arguments": {"question": "Cut off?"}}
            line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": whole})
            link.send(line.encode())  # complete but for its end
            link.finish()
            return link.hears()

    async with undisturbed(await connections.get()) as home:
        assert await asyncio.to_thread(say, home) is None
        open_asks = await asyncio.to_thread(home.person.open_asks)
    assert "cut-off" not in [ask["agent"]["project"] for ask in open_asks]


PREFACES = {
    "noise": b"\x00\xff\x16\x03\x01 noise\n",
    "an empty line": b"\n",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a request": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n',
    "a list": b"[]\n",
    "too deep": deep(50_000) + b"\n",
    "too deep a version": b'{"chatbridge":"terminal","version":' + deep(50_000) + b"}\n",
    "too long": b"x" * (6 * MEGABYTE) + b"\n",
    "no link id": json.dumps({**PREFACE, "link": None}).encode() + b"\n",
    "a folder that is none": json.dumps({**PREFACE, "cwd": 5}).encode() + b"\n",
    "a label that is none": json.dumps({**PREFACE, "label": {}}).encode() + b"\n",
    "another protocol": json.dumps({**PREFACE, "protocol": 99}).encode() + b"\n",
}


@pytest.mark.parametrize("name", PREFACES)
async def test_a_first_line_that_is_no_preface_is_refused_in_words_and_the_connection_closed(
    connections: Connections, name: str
) -> None:
    def say(home: Home) -> tuple[Json | None, Json | None]:
        with raw_link(home) as link:
            link.send(PREFACES[name])
            return link.hears(), link.hears()

    async with undisturbed(await connections.get()) as home:
        refusal, rest = await asyncio.to_thread(say, home)
    assert refusal
    assert refusal["chatbridge"] == "refused"
    assert len(refusal["message"]) > 20
    assert rest is None


CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask_user","arguments":%s}}'
ANSWERED_LINES = {
    "half a surrogate pair": CALL % r'{"question":"\ud83d","wait":false}',
    "too deep": CALL % deep(50_000).decode(),
    "not a number": CALL % '{"question":"Which?","timeout":NaN}',
    "a number of 10,000 digits": CALL % ('{"question":"Which?","timeout":' + "9" * 10_000 + "}"),
    "5 MB": CALL % ('{"question":"' + "x" * (5 * MEGABYTE) + '"}'),
    "arguments that are a list": CALL % "[]",
}


def answered_alone(home: Home, *arguments: str) -> dict[str, Json]:
    """What the client hears first after each of these lines."""
    found = {}
    with LinkClient(home.environment, *arguments, cwd=home.project("awkward")) as client:
        client.request(0, "initialize", HANDSHAKE)
        assert "result" in client.receive()
        client.notify("notifications/initialized")
        for name, line in ANSWERED_LINES.items():
            client.write(line.encode() + b"\n")
            found[name] = client.receive()
        client.request(8, "ping")
        assert client.receive() == {"jsonrpc": "2.0", "id": 8, "result": {}}
    return found


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_call_that_no_parser_likes_is_answered_under_its_id_and_the_next_one_served(
    connections: Connections, carrier: str
) -> None:
    if carrier == "link":
        async with undisturbed(await connections.get()) as home:
            found = await asyncio.to_thread(answered_alone, home)
    else:
        with new_home() as home:
            found = await asyncio.to_thread(answered_alone, home, "--standalone")
    assert {name: answer["id"] for name, answer in found.items()} == dict.fromkeys(found, 7)
    half = found.pop("half a surrogate pair")["result"]
    assert half["content"][0]["text"].startswith("The question is still open")
    assert all("error" in answer or answer["result"]["isError"] for answer in found.values())
