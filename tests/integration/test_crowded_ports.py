"""Strangers who crowd a port: at the inbox and at the agents' door the owner still comes in, and
whoever is in stays."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatbridge.channels.web import server
from tests.fakes.core_env import BLUE, OWNER, PATIENCE
from tests.fakes.inbox import SELECT
from tests.fakes.remote import ERAS, open_door, result_of, text_of
from tests.fakes.web import TOKEN, running_web, visitor
from tests.fakes.web_stream import stream

LIMIT, KNOWN, STRANGERS = 12, 8, 30

HEAD = "POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 50\r\n\r\ncode="
SAYING = {"nothing": "", "half a head": HEAD, "half a body": HEAD + FORM}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", LIMIT)
    monkeypatch.setattr(server, "MAX_KNOWN", KNOWN)
    for limit in ("REQUEST_SECONDS", "IDLE_SECONDS"):  # whoever goes makes way
        monkeypatch.setattr(server, limit, 600)


class Visit:
    """A connection, and what it says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def is_closed(self) -> bool:
        """Ends when it is."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._reader.read() == b""
            except ConnectionError:
                return True

    @property
    def seems_open(self) -> bool:
        return not self._reader.at_eof() and self._reader.exception() is None

    async def asks(self, path: str, *lines: str, body: str = "") -> int:
        """The status of what is answered."""
        host = ":".join(map(str, self._writer.get_extra_info("peername")))
        method = "POST" if body else "GET"
        head = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", *lines]
        length = f"Content-Length: {len(body)}"
        self._writer.write("\r\n".join([*head, length, "", body]).encode())
        async with asyncio.timeout(PATIENCE):
            answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
            _, _, rest = answer.partition("content-length: ")
            await self._reader.readexactly(int(rest.partition("\r\n")[0]))
        return int(answer.split(" ")[1])


@asynccontextmanager
async def coming(port: int, number: int = 1, saying: str = "") -> AsyncIterator[list[Visit]]:
    opened = []
    try:
        for _ in range(number):
            opened.append(await asyncio.open_connection("127.0.0.1", port))
            opened[-1][1].write(saying.format(port=port).encode())
        yield [Visit(*each) for each in opened]
    finally:
        for _, writer in opened:
            writer.close()


@asynccontextmanager
async def crowded(port: int, saying: str = "") -> AsyncIterator[list[Visit]]:
    """The port is full of strangers, and its oldest visitors have made way."""
    async with coming(port, STRANGERS, saying) as strangers:
        for stranger in strangers[: STRANGERS - LIMIT]:
            assert await stranger.is_closed()
        yield strangers


@pytest.mark.parametrize("saying", SAYING)
async def test_the_owner_comes_in_and_answers_though_strangers_crowd_the_inbox(
    tmp_path: Path, saying: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_web(tmp_path) as web, stream(web, page=True) as page:
        ask = await web.desk.ask(SELECT)
        assert (await page.next())["status"] == "open"
        async with crowded(web.port, SAYING[saying]) as strangers:
            async with visitor(web.address, {"Origin": web.address}) as another:
                await web.log_in(another)
                assert "Which database" in (await another.get(f"/asks/{ask.id}")).text
                tap = {"do": "choose", "step": "0", "option": "1"}
                reply = await another.post(f"/asks/{ask.id}/form", data=tap)
                assert reply.status_code in (200, 303), reply.text
            assert strangers[-1].seems_open
            assert (await page.next())["status"] == "answered"
        assert not (await web.desk.inbox.ask(ask.id)).open
    lines = [it.getMessage() for it in caplog.records if it.levelno >= logging.WARNING]
    assert [line.partition(":")[0] for line in lines] == ["the web inbox"]


async def test_an_agents_call_waits_on_and_another_agent_comes_in_though_strangers_crowd_the_door(
    tmp_path: Path,
) -> None:
    async with open_door(tmp_path) as door, door.agent(ERAS[0]) as agent:
        call = agent.asking()
        first = await door.shown()
        async with crowded(door.port), door.agent(ERAS[1]) as other:
            another_call = other.asking()
            second = await door.hub.until(lambda ask: ask.open and ask.id != first.id)
            for ask in (first, second):
                await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
            assert "blue" in text_of(result_of(await call))
            assert "blue" in text_of(result_of(await another_call))


BEARER = f"Authorization: Bearer {TOKEN}"


async def test_a_connection_that_has_logged_in_stays_also_between_two_requests(
    tmp_path: Path,
) -> None:
    async with running_web(tmp_path) as web, coming(web.port) as (visit,):
        assert await visit.asks("/api/asks", BEARER) == 200
        async with crowded(web.port):
            assert await visit.asks("/api/asks", BEARER) == 200


async def test_a_cookie_counts_also_with_what_everybody_may_have(tmp_path: Path) -> None:
    async with running_web(tmp_path) as web, coming(web.port) as (visit,):
        cookie = f"Cookie: {web.cookie}={web.browser.cookies[web.cookie]}"
        assert await visit.asks("/healthz", cookie) == 200
        async with crowded(web.port):
            assert await visit.asks("/healthz", cookie) == 200


async def test_scripts_with_the_token_do_not_take_the_places_of_pages(tmp_path: Path) -> None:
    async with running_web(tmp_path) as web, coming(web.port, KNOWN) as scripts:
        for script in scripts:
            assert await script.asks("/api/asks", BEARER) == 200
        async with coming(web.port) as (page,):
            cookie = f"Cookie: {web.cookie}={web.browser.cookies[web.cookie]}"
            assert await page.asks("/healthz", cookie) == 200
            async with crowded(web.port):
                assert await page.asks("/healthz", cookie) == 200


async def test_who_has_just_used_a_code_is_not_pushed_out_before_the_cookie_is_used(
    tmp_path: Path,
) -> None:
    async with running_web(tmp_path) as web, coming(web.port) as (visit,):
        kind = "Content-Type: application/x-www-form-urlencoded"
        body = f"code={await web.new_code()}"
        assert await visit.asks("/login", kind, body=body) == 303
        async with crowded(web.port):
            assert await visit.asks("/healthz") == 200


REFUSED = {
    "nothing": ("/healthz",),
    "a wrong token": ("/api/asks", f"{BEARER}x"),
    "a wrong cookie": ("/", "Cookie: chatbridge-{port}=1.a.b"),
    "the token where it does not count": ("/history", BEARER),
}


@pytest.mark.parametrize("given", REFUSED)
async def test_a_strangers_request_over_the_same_connection_makes_it_a_strangers(
    tmp_path: Path, given: str
) -> None:
    async with running_web(tmp_path) as web, coming(web.port) as (visit,):
        assert await visit.asks("/api/asks", BEARER) == 200
        path, *lines = (each.format(port=web.port) for each in REFUSED[given])
        assert await visit.asks(path, *lines) in (200, 303, 401)
        async with crowded(web.port):
            assert await visit.is_closed()


async def test_nothing_is_left_of_those_who_made_way(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def connections() -> int:
        gc.collect()
        return sum(type(it) is server._Connection for it in gc.get_objects())

    async with running_web(tmp_path) as web:
        open_before, kept_before = descriptors(), connections()
        async with crowded(web.port):
            pass
        async with asyncio.timeout(PATIENCE):
            while descriptors() > open_before:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0)
        assert connections() <= kept_before
