"""How long an ask of an agent over HTTP takes, beside the smallest request of the same door."""

from __future__ import annotations

import asyncio
import time

from chatbridge.hub.http import tokens
from tests.bench.kept import Kept
from tests.bench.latency import WARM, question
from tests.bench.machine import INITIALIZE, Json, machine, percentiles
from tests.bench.person import person
from tests.fakes.network import free_port

STREAMED = {"Accept": "application/json, text/event-stream"}


async def remote(rounds: int) -> Json:
    port = free_port()
    async with machine(CHATBRIDGE_HTTP__ADDRESS=f"127.0.0.1:{port}") as here:
        await here.begin()
        token = tokens.add(str(here.state), "bench", now=time.time())
        bearer = {"Authorization": f"Bearer {token}", **STREAMED}
        async with (
            person(here) as somebody,
            Kept.open(("127.0.0.1", port), **bearer) as http,
        ):
            session = await _session(http)
            out, back, pings = [], [], []
            for number in range(-WARM, rounds):
                began = time.perf_counter()
                asking = asyncio.ensure_future(http.post("/mcp", _call(number + WARM), **session))
                ask_id, seen = await somebody.sees()
                out.append(seen - began)
                answered = time.perf_counter()
                answering = asyncio.ensure_future(somebody.answer_all([ask_id]))
                body = await asking
                back.append(time.perf_counter() - answered)
                assert b'"answered":true' in body.replace(b" ", b""), body
                await answering
                began = time.perf_counter()
                await http.post("/mcp", _ping(number + WARM), **session)
                pings.append(time.perf_counter() - began)
    return {
        "out_ms": percentiles(out[WARM:]),
        "back_ms": percentiles(back[WARM:]),
        "ping_ms": percentiles(pings[WARM:]),
    }


async def _session(http: Kept) -> dict[str, str]:
    hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": INITIALIZE}
    body = await http.post("/mcp", hello)
    assert b"serverInfo" in body, body
    session = {
        "Mcp-Session-Id": http.headers["mcp-session-id"],
        "Mcp-Protocol-Version": INITIALIZE["protocolVersion"],
    }
    await http.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    return session


def _call(number: int) -> Json:
    return {
        "jsonrpc": "2.0",
        "id": f"call-{number}",
        "method": "tools/call",
        "params": question(number),
    }


def _ping(number: int) -> Json:
    return {"jsonrpc": "2.0", "id": f"ping-{number}", "method": "ping"}
