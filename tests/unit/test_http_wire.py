"""What counts as an answer that has reached its client over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from chatbridge.core.model import CallName, Project
from chatbridge.hub.http.sessions import Exchange, repaired, replayed
from chatbridge.tools.call import Remote

RESULT = {
    "jsonrpc": "2.0",
    "id": 7,
    "result": {"content": [{"type": "text", "text": "a\nb\u2028"}]},
}


def as_json(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def as_event(message: object) -> bytes:
    return b"event: message\r\ndata: " + as_json(message) + b"\r\n\r\n"


class Client:
    """The other end: what it was sent, and when it goes."""

    def __init__(self, *, call: bool = True) -> None:
        self.heard: list[Message] = []
        self.gone = asyncio.Event()
        body = replayed(b"{}", self._receive)
        message = {"id": 7, "method": "tools/call"}
        self.exchange = Exchange({"type": "http"}, body, self._send, message)
        self.exchange.remote = Remote(
            link="l", project=Project(key="http:ci", name="ci"), usual=60.0
        )
        self.exchange.call = CallName(link="l", request="7") if call else None

    async def _receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.heard.append(message)

    async def is_sent(self, *pieces: bytes) -> None:
        await self.exchange.send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await self.exchange.send(
                {"type": "http.response.body", "body": piece, "more_body": True}
            )


@pytest.mark.parametrize("wrapped", [as_json, as_event])
async def test_a_result_that_is_written_while_the_client_is_there_counts(wrapped: Any) -> None:
    client = Client()
    await client.is_sent(b": ping\r\n\r\n", wrapped(RESULT))
    assert client.exchange.written


@pytest.mark.parametrize("wrapped", [as_json, as_event])
async def test_a_result_that_is_written_after_the_client_has_gone_does_not_count(
    wrapped: Any,
) -> None:
    client = Client()
    assert (await client.exchange.receive())["type"] == "http.request"
    client.gone.set()
    assert (await client.exchange.receive())["type"] == "http.disconnect"
    await client.is_sent(wrapped(RESULT))
    assert not client.exchange.written


@pytest.mark.parametrize(
    "message",
    [
        {**RESULT, "id": 8},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "Request cancelled"}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"result": 1}},
        [RESULT],
        "result",
    ],
)
async def test_nothing_else_in_a_stream_is_taken_for_the_result(message: object) -> None:
    client = Client()
    await client.is_sent(as_json(message), as_event(message), b"", b"\xff", b"data: " * 3)
    assert not client.exchange.written


async def test_a_request_that_carries_no_call_has_nothing_to_deliver() -> None:
    client = Client(call=False)
    await client.is_sent(as_event(RESULT))
    assert not client.exchange.written


async def test_a_response_that_is_cut_short_has_an_end() -> None:
    client = Client()
    await client.is_sent(b": ping\r\n\r\n")
    client.exchange.cut.set()
    await client.exchange.receive()
    assert (await client.exchange.receive())["type"] == "http.disconnect"
    await client.exchange.finish()
    assert client.heard[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


@pytest.mark.parametrize(("present", "status"), [(True, 401), (False, 503)])
async def test_a_request_that_is_cut_before_its_response_is_told_why(
    present: bool, status: int
) -> None:
    client = Client()
    client.exchange.remote.present = present
    client.exchange.cut.set()
    await client.exchange.finish()
    assert client.heard[0]["status"] == status


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: as_json({"a": text})))
def test_a_body_without_half_a_pair_is_passed_on_as_it_means(body: bytes) -> None:
    after = repaired(body)
    try:
        before = json.loads(body)
    except ValueError:
        assert after == body
    else:
        assert json.loads(after) == before
