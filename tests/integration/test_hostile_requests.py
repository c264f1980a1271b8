"""HTTP that two programs could read in two ways, that is too large, or addressed to somebody else:
at the inbox and at the agents' door alike, also from who has a token."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from chatbridge.channels.web import server
from chatbridge.channels.web.channel import healthz
from chatbridge.channels.web.limits import ConnectionLimits
from tests.fakes.inbox import CONFIRM
from tests.fakes.remote import ERAS, RawAgent, open_door
from tests.fakes.web import TOKEN, running_web

PATIENCE = 20.0
LINE = "\r\n"


@dataclass(slots=True, kw_only=True)
class Entrance:
    """A request that would have an effect here, and whether one had."""

    port: int
    head: str
    """Of a right request, but for how long its body is."""
    body: str
    untouched: Callable[[], Awaitable[bool]]
    asked: Callable[[], Coroutine[Any, Any, object]]
    """Ends when it has led to a question: such a request is not answered before that is."""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def hears(self, request: str) -> list[int]:
        """The statuses that come back until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request.encode("latin-1"))
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await reader.read()
        except ConnectionError:
            reply = b""
        finally:
            writer.close()
        return [int(part[:3]) for part in reply.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture(params=["inbox", "agents"])
async def entrance(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Entrance]:
    if request.param == "inbox":
        async with running_web(tmp_path, body_seconds=0.2) as web:
            ask = await web.desk.ask(CONFIRM)

            async def is_open() -> bool:
                return await web.desk.inbox.ask(ask.id) == ask

            yield Entrance(
                port=web.port,
                head=f"POST /api/asks/{ask.id}/cancel HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
                f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n",
                body="{}",
                untouched=is_open,
                asked=asyncio.Event().wait,
            )
    else:
        async with open_door(tmp_path, body_seconds=0.2) as door, door.visitor() as http:
            agent = RawAgent(http, ERAS[1])
            given = {**http.headers, **agent.headers(), "host": f"127.0.0.1:{door.port}"}
            lines = [f"{name}: {value}\r\n" for name, value in given.items()]

            async def is_empty() -> bool:
                return not await door.hub.store.open_asks()

            yield Entrance(
                port=door.port,
                head="".join(["POST /mcp HTTP/1.1\r\n", *lines]),
                body=json.dumps(agent.call()),
                untouched=is_empty,
                asked=door.shown,
            )


def chunked(body: str) -> str:
    return f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"


SHAPES = {
    "both-lengths": "Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}",
    "both-lengths-other-order": "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{chunked}",
    "two-lengths": "Content-Length: {n}\r\nContent-Length: 0\r\n\r\n{body}",
    "length-with-sign": "Content-Length: +{n}\r\n\r\n{body}",
    "length-negative": "Content-Length: -1\r\n\r\n{body}",
    "length-hexadecimal": "Content-Length: 0x{n:x}\r\n\r\n{body}",
    "length-of-5000-digits": "Content-Length: {zeros}{n}\r\n\r\n{body}",
    "encoding-misspelt": "Transfer-Encoding: xchunked\r\n\r\n{chunked}",
    "encoding-twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{chunked}",
    "encoding-of-two": "Transfer-Encoding: gzip, chunked\r\n\r\n{chunked}",
    "encoding-of-nothing-first": "Transfer-Encoding: identity\r\n"
    "Transfer-Encoding: chunked\r\n\r\n{chunked}",
    "body-of-another-protocol": "Connection: Upgrade\r\nUpgrade: h2c\r\n"
    "Content-Length: {n}\r\n\r\n{body}",
    "space-before-colon": "Transfer-Encoding : chunked\r\n\r\n{chunked}",
    "chunk-without-length": "Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n",
    "chunk-negative": "Transfer-Encoding: chunked\r\n\r\n-2\r\n{body}\r\n0\r\n\r\n",
    "chunk-that-does-not-end": "Transfer-Encoding: chunked\r\n\r\nfffff\r\n{body}\r\n0\r\n\r\n",
    "second-host": "Host: evil.example\r\nContent-Length: {n}\r\n\r\n{body}",
    "nul-in-a-header": "X-A: a\0b\r\nContent-Length: {n}\r\n\r\n{body}",
}


async def test_a_request_that_could_be_read_in_two_ways_is_refused_and_the_connection_closed(
    entrance: Entrance, caplog: pytest.LogCaptureFixture
) -> None:
    body = entrance.body
    hidden = f"GET /healthz HTTP/1.1\r\nHost: {entrance.host}\r\n\r\n"
    for name, shape in SHAPES.items():
        rest = shape.format(n=len(body), body=body, chunked=chunked(body), zeros="0" * 5000)
        (status,) = await entrance.hears(f"{entrance.head}{rest}{hidden}")
        assert status in (400, 408), name
        assert await entrance.untouched(), name
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


OLD = ["GET /healthz", "GET /healthz HTTP/0.9", "GET /healthz HTTP/2.0", "GET /healthz HTTP/1.1"]


async def test_another_version_and_a_request_to_nobody_are_refused(entrance: Entrance) -> None:
    for line in OLD:
        hosts = "" if line.endswith("1.1") else f"Host: {entrance.host}\r\n"
        assert await entrance.hears(f"{line}\r\n{hosts}\r\n") == [400], line


async def test_a_header_behind_the_body_is_none(entrance: Entrance) -> None:
    lines = entrance.head.splitlines(keepends=True)
    (token,) = [line for line in lines if line.lower().startswith("authorization:")]
    body = f"Transfer-Encoding: chunked\r\n\r\n{chunked(entrance.body)}"
    (status,) = await entrance.hears(
        f"{''.join(lines).replace(token, '')}{body.removesuffix(LINE)}{token}{LINE}"
    )
    assert status == 401
    assert await entrance.untouched()


async def test_what_comes_before_nonsense_is_answered_and_nothing_after_it(
    entrance: Entrance,
) -> None:
    good = f"GET /x HTTP/1.1\r\nHost: {entrance.host}\r\n\r\n"
    status, *others = await entrance.hears(f"{good}nonsense\r\n\r\n{good}")
    assert status in (303, 404)
    assert others in ([], [400])


async def test_requests_without_end_that_wait_for_their_turn_are_not_collected(
    entrance: Entrance,
) -> None:
    good = f"GET /x HTTP/1.1\r\nHost: {entrance.host}\r\n\r\n"
    assert len(await entrance.hears(good * 5_000)) < 100


ENDLESS = {
    "a-chunks-extension": "2;" + "x" * 200_000,
    "trailers": "2\r\n{}\r\n0\r\nX-A: " + "a" * 200_000,
}


@pytest.mark.parametrize("shape", ENDLESS)
async def test_what_has_no_end_beside_a_body_is_cut_off(entrance: Entrance, shape: str) -> None:
    rest = f"Transfer-Encoding: chunked\r\n\r\n{ENDLESS[shape]}"
    assert await entrance.hears(entrance.head + rest) in ([], [400])


async def test_a_body_that_does_not_end_is_408(entrance: Entrance) -> None:
    assert await entrance.hears(f"{entrance.head}Content-Length: 50\r\n\r\n{{") == [408]


async def test_a_head_that_does_not_end_is_cut_off(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)
    assert await entrance.hears(f"{entrance.head}X-Slow: ") == []


async def test_the_same_request_in_order_has_its_effect(entrance: Entrance) -> None:
    rest = f"Content-Length: {len(entrance.body)}\r\nConnection: close\r\n\r\n{entrance.body}"
    sending = asyncio.create_task(entrance.hears(f"{entrance.head}{rest}"))
    asked = asyncio.create_task(entrance.asked())
    await asyncio.wait({sending, asked}, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
    assert not await entrance.untouched()
    for task in (sending, asked):
        task.cancel()
    await asyncio.wait({sending, asked})


LARGE = {
    "one-header": "X-A: " + "a" * 1_000_000 + "\r\n\r\n",
    "many-headers": "X-A: a\r\n" * 100_000,
    "a-header-without-end": "X-A: " + "a" * 200_000,
}


@pytest.mark.parametrize("shape", LARGE)
async def test_a_head_that_is_too_large_is_cut_off(entrance: Entrance, shape: str) -> None:
    assert await entrance.hears(entrance.head + LARGE[shape]) in ([], [400])
    assert await entrance.untouched()


ELSEWHERE = [
    "evil.example:{port}",
    "127.0.0.1.:{port}",
    "localhost.:{port}",
    "127.0.0.1.evil.example:{port}",
    "127.0.0.1:{port}:{port}",
    "127.0.0.1:{port}@evil.example",
    "user@127.0.0.1:{port}",
    "evil.example, 127.0.0.1:{port}",
    "127.0.0.1:0{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[127.0.0.1]:{port}",
    "127.0.0.1\xa0:{port}",
    "127.0.0.1",
    "[::1",
    ":{port}",
]


async def test_a_request_to_another_name_is_refused_though_it_has_the_token(
    entrance: Entrance,
) -> None:
    rest = f"Content-Length: {len(entrance.body)}\r\nConnection: close\r\n\r\n{entrance.body}"
    for name in ELSEWHERE:
        head = entrance.head.replace(entrance.host, name.format(port=entrance.port), 1)
        assert await entrance.hears(head + rest) in ([403], [400]), name
        assert await entrance.untouched(), name


TARGETS = [
    "http://{host}{path}",
    "http://evil.example{path}",
    "//evil.example{path}",
    "/{path}",
    "{path}/",
    "{path}%00",
    "{path}%2f..%2fx",
    "/x/..{path}",
    "/%2e%2e{path}",
    "\\{path}",
    "*",
    "evil.example:443",
]


async def test_another_way_to_write_the_address_leads_nowhere(entrance: Entrance) -> None:
    method, path, rest = entrance.head.split(" ", 2)
    ending = f"Content-Length: {len(entrance.body)}\r\nConnection: close\r\n\r\n{entrance.body}"
    for target in TARGETS:
        written = target.format(host=entrance.host, path=path)
        (status,) = await entrance.hears(f"{method} {written} {rest}{ending}")
        assert status in (400, 401, 403, 404, 405), target
        assert await entrance.untouched(), target


@pytest.mark.parametrize("wish", ["websocket", "h2c"])
async def test_no_other_protocol_is_spoken_and_nothing_is_logged(
    entrance: Entrance, wish: str, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"GET /x HTTP/1.1\r\nHost: {entrance.host}\r\n"
    (status,) = await entrance.hears(f"{head}Connection: close, Upgrade\r\nUpgrade: {wish}\r\n\r\n")
    assert status in (303, 404)
    assert await entrance.hears("\x16\x03\x01\x02\x00\x01") == [400]
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


async def wishes_for_ever(sock: socket.socket, wish: bytes) -> None:
    """:raises ConnectionError: nobody is there any more."""
    while True:
        await asyncio.get_running_loop().sock_sendall(sock, wish * 50)


async def test_somebody_who_never_reads_the_answers_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STALLED_SECONDS", 0.05)
    async with running_web(tmp_path) as web:
        silent = socket.socket()
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect((web.host, web.port))
        silent.setblocking(False)
        wish = f"GET /static/inbox.css HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n\r\n".encode()
        with silent, pytest.raises(ConnectionError):
            await asyncio.wait_for(wishes_for_ever(silent, wish), PATIENCE)
        assert (await web.script.get("/api/asks")).status_code == 200


class SlowReader(asyncio.Transport):
    """Its other end reads when the test says so."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 80)})
        self.unread, self.aborted = 1_000_000, False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True


async def test_somebody_who_reads_slowly_is_not_cut_off_before_reading_has_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    due: list[Callable[[], None]] = []

    def call_later(delay: float, work: Callable[..., None], *given: Any) -> asyncio.TimerHandle:
        if delay == server.STALLED_SECONDS:
            due.append(lambda: work(*given))
        return asyncio.TimerHandle(0.0, work, given, loop)

    loop = asyncio.get_running_loop()
    config = Config(healthz, lifespan="off", log_config=None, ws="none")
    config.load()
    crowd = ConnectionLimits("the port", limit=2, known=1)
    protocol = server._Connection(config, ServerState(), crowd, loop)
    reader = SlowReader()
    with monkeypatch.context() as patched:
        patched.setattr(loop, "call_later", call_later)
        protocol.connection_made(reader)
        protocol.pause_writing()
        for _ in range(3):
            reader.unread -= 1
            due.pop()()
            assert not reader.aborted
        due.pop()()
        assert reader.aborted
