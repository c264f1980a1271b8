"""The event stream: what a page learns, when it comes back, and what a slow one cannot do."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from chatbridge.channels.web import events
from chatbridge.channels.web.events import AskChange, Events
from chatbridge.channels.web.server import serving
from chatbridge.core.model import Answer, Person, Priority, Question
from tests.fakes.inbox import CONFIRM, SELECT, TEXT, more_time
from tests.fakes.web import TOKEN, Web, running_web
from tests.fakes.web_stream import stream

ADA = Person(name="Ada", channel="telegram")


async def test_a_page_gets_all_open_asks_and_then_every_change(web: Web) -> None:
    first = await web.desk.ask(SELECT, timeout=60)
    second = await web.desk.ask(TEXT, timeout=120)
    async with stream(web) as page:
        assert [(await page.next())["id"] for _ in range(2)] == [first.id, second.id]
        third = await web.desk.ask(CONFIRM)
        assert (await page.next())["id"] == third.id
        await web.desk.inbox.answer(third.id, (Answer(values=("yes",)),), person=ADA)
        ended = await page.next()
        assert (ended["status"], ended["outcome"]["by"]) == ("answered", "Ada")
        assert ended["revision"] > third.revision


async def test_the_pages_own_stream_names_what_changes_and_sends_no_texts(web: Web) -> None:
    before = await web.desk.ask(SELECT)
    async with stream(web, query="?alive&brief", page=True) as page:
        ask = await web.desk.ask(Question(id="long", text="word " * 20_000))
        told = await page.next()
        assert told.pop("rings")["title"] == "shop-api asks"
        assert told == {"id": ask.id, "revision": ask.revision, "open": True}
        await web.desk.inbox.cancel(before.id, reason=None, person=ADA)
        told = await page.next()
        assert (told["id"], told["open"]) == (before.id, False)


async def test_a_page_that_is_back_rings_for_what_came_meanwhile_and_a_new_one_for_nothing(
    web: Web,
) -> None:
    await web.desk.ask(SELECT)
    web.clock.advance(60)
    await web.desk.ask(TEXT, priority=Priority.LOW)
    missed = await web.desk.ask(CONFIRM)
    web.clock.advance(10)
    for query, rings in (
        ("&away=30000", [missed.id]),
        ("&away=9000", [missed.id]),  # the request was on its way for a second
        ("&away=5000", []),
        ("&away=1e9", []),
        ("", []),
    ):
        async with stream(web, query=f"?alive&brief{query}", page=True) as page:
            last = await web.desk.ask(CONFIRM, priority=Priority.LOW)
            told = [await page.next()]
            while told[-1]["id"] != last.id:
                told.append(await page.next())
        assert [each["id"] for each in told if "rings" in each] == rings


async def test_all_pages_learn_of_a_change(web: Web) -> None:
    async with stream(web) as one, stream(web) as two:
        ask = await web.desk.ask(CONFIRM)
        assert (await one.next())["id"] == (await two.next())["id"] == ask.id


async def test_a_page_that_comes_back_learns_what_ended_meanwhile(web: Web) -> None:
    ended = await web.desk.ask(CONFIRM, timeout=60)
    still_open = await web.desk.ask(TEXT, timeout=90)
    async with stream(web) as page:
        last = await page.next()
    await web.desk.inbox.cancel(ended.id, reason=None, person=ADA)
    async with stream(web, f"Last-Event-ID: {last['revision']}") as page:
        found = {ask["id"]: ask["status"] for ask in [await page.next(), await page.next()]}
    assert found == {still_open.id: "open", ended.id: "cancelled"}


async def test_a_new_page_is_not_told_of_old_asks(web: Web) -> None:
    old = await web.desk.ask(CONFIRM)
    await web.desk.inbox.cancel(old.id, reason=None, person=ADA)
    async with stream(web) as page:
        new = await web.desk.ask(TEXT)
        assert (await page.next())["id"] == new.id


async def test_a_quiet_stream_shows_that_it_is_alive(tmp_path: Path) -> None:
    async with running_web(tmp_path, heartbeat=0.02) as web:
        async with stream(web) as script:
            while await script.line() != ": alive":
                pass
        async with stream(web, query="?alive") as page:
            while await page.line() != "event: alive":
                pass


async def test_open_streams_and_slow_clients_do_not_hold_up_the_end(web: Web) -> None:
    silent = await asyncio.open_connection(web.host, web.port)
    slow = await asyncio.open_connection(web.host, web.port)
    slow[1].write(
        f"POST /api/asks/x/cancel HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n{{".encode()
    )
    await slow[1].drain()
    async with stream(web), stream(web):
        web.running.cancel()
        for _ in range(100):  # a loaded machine's hundredths of a second are longer
            await asyncio.wait({web.running}, timeout=0.01)
        assert web.running.cancelled()
        for reader, writer in (silent, slow):
            async with asyncio.timeout(20):
                await reader.read()
            writer.close()


async def test_a_request_that_is_cut_at_the_end_is_no_fault_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, cut = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    async with asyncio.timeout(20), serving(app, listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await begun.wait()
    async with asyncio.timeout(20):
        await cut.wait()
    writer.close()
    assert caplog.records == []


async def test_a_closed_page_leaves_nothing_behind(web: Web) -> None:
    readers = web.channel.events._readers
    async with stream(web):
        assert len(readers) == 1
    async with asyncio.timeout(20):
        while readers:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)


async def test_too_many_streams_are_refused_and_those_of_scripts_keep_no_page_out(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_STREAMS", 1)
    async with stream(web), stream(web, page=True):
        for visitor in (web.script, web.browser):
            response = await visitor.get("/api/events")
            assert response.status_code == 503
            assert "Close one." in response.json()["error"]


# ── one reader ────────────────────────────────────────────────────────────────────────────────────


async def test_a_slow_page_misses_steps_but_not_the_newest_state(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    later = await more_time(web.desk.inbox, ask.id, person=ADA)
    published = Events()
    with published.reader(session=None) as reader:
        for state in (ask, later) * 1000 + (later,):
            published.publish(AskChange(state))
        assert await reader.news(within=5) == (AskChange(later),)


async def test_a_slow_page_rings_for_what_still_waits_and_for_nothing_that_has_ended(
    web: Web,
) -> None:
    said = {"title": "shop-api asks", "body": ""}
    ask = await web.desk.ask(CONFIRM)
    later = await more_time(web.desk.inbox, ask.id, person=ADA)
    published = Events()
    with published.reader(session=None) as reader:
        published.publish(AskChange(ask, rings=said))
        published.publish(AskChange(later))
        assert await reader.news(within=5) == (AskChange(later, rings=said),)
        await web.desk.inbox.cancel(ask.id, reason=None, person=ADA)
        ended = AskChange(await web.desk.inbox.ask(ask.id))
        published.publish(AskChange(later, rings=said))
        published.publish(ended)
        assert await reader.news(within=5) == (ended,)


async def test_a_page_that_is_too_far_behind_is_closed(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MAX_WAITING", 1)
    published = Events()
    with published.reader(session=None) as reader:
        for question in (TEXT, CONFIRM):
            published.publish(AskChange(await web.desk.ask(question)))
        assert await reader.news(within=5) is None


async def test_what_a_page_has_just_been_given_is_not_told_again(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    published = Events()
    with published.reader(session=None) as reader:
        published.publish(AskChange(ask))
        reader.has_seen([ask])
        assert await reader.news(within=5) == ()
