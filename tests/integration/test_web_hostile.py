"""Bodies that never end, bytes that mean nothing, and texts that want to be code."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.web import server
from chatbridge.channels.web.request_parsing import MAX_BODY
from chatbridge.core.forms import form
from chatbridge.core.model import Agent, Answer, Option, Person, Project, Question, QuestionType
from tests.fakes.inbox import CONFIRM, SELECT, TEXT
from tests.fakes.web import MARK, TOKEN, Web, running_web


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    async with running_web(tmp_path, body_seconds=0.2) as web:
        yield web


async def raw(web: Web, *parts: bytes, path: str = "/api/asks/x/cancel") -> bytes:
    """Send a POST whose body is `parts`, as it is; what comes back until the server closes."""
    reader, writer = await asyncio.open_connection(web.host, web.port)
    head = f"POST {path} HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n"
    writer.write(f"{head}Authorization: Bearer {TOKEN}\r\n".encode())
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await until_closed(reader)
    finally:
        writer.close()


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(20):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


# ── sizes and times ───────────────────────────────────────────────────────────────────────────────


async def test_a_declared_body_over_the_limit_is_413_before_it_is_read(web: Web) -> None:
    reply = await raw(web, f"Content-Length: {MAX_BODY + 1}\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"256 KiB" in reply


async def test_an_endless_body_is_413_as_soon_as_it_is_too_long(web: Web) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    reply = await raw(web, b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 5)
    assert reply.startswith(b"HTTP/1.1 413")


async def test_a_body_of_the_largest_size_is_read(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    body = json.dumps({"reason": "x"}).encode().ljust(MAX_BODY)
    response = await web.script.post(
        f"/api/asks/{ask.id}/cancel", content=body, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 200


async def test_a_stranger_with_an_endless_body_is_cut_off(web: Web) -> None:
    reader, writer = await asyncio.open_connection(web.host, web.port)
    writer.write(
        f"POST /api/asks HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n".encode()
    )
    reply = await until_closed(reader)
    assert reply.startswith(b"HTTP/1.1 401")
    writer.close()


async def test_a_connection_with_half_a_second_request_makes_room(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = await asyncio.open_connection(web.host, web.port)
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n\r\n".encode())
    async with asyncio.timeout(20):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)
    writer.write(b"GET /healthz HTTP/1.1\r\nHo")
    assert await until_closed(reader) == b""
    writer.close()


# ── bytes that mean nothing ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"answers": "\xff"}',
        b'{"answers": [{"questionId": "\\ud800"}]}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"answers":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"answers": ' + b"9" * 10_000 + b"}",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"NaN",
        b"\x00",
    ],
    ids=range(15),
)
@pytest.mark.parametrize("call", ["answer", "cancel"])
async def test_garbage_is_422_and_changes_nothing(web: Web, body: bytes, call: str) -> None:
    ask = await web.desk.ask(TEXT)
    headers = {"Content-Type": "application/json; charset=utf-8"}
    response = await web.script.post(f"/api/asks/{ask.id}/{call}", content=body, headers=headers)
    assert response.status_code == 422
    assert response.json().keys() == {"error", "path"}
    assert "Traceback" not in response.text
    assert await web.desk.inbox.ask(ask.id) == ask


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "é"])
async def test_json_of_another_type_is_415(web: Web, kind: str) -> None:
    ask = await web.desk.ask(TEXT)
    response = await web.script.post(
        f"/api/asks/{ask.id}/cancel", content=b"{}", headers={b"Content-Type": kind.encode()}
    )
    assert response.status_code == 415
    assert (await web.desk.inbox.ask(ask.id)).open


@pytest.mark.parametrize("body", [b"do=text&step=0&text=%ff", b"&".join([b"a=1"] * 100), b"\xff"])
async def test_a_form_that_cannot_be_read_is_422(web: Web, body: bytes) -> None:
    ask = await web.desk.ask(TEXT)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await web.browser.post(f"/asks/{ask.id}/form", content=body, headers=headers)
    assert response.status_code == 422
    assert await web.desk.inbox.ask(ask.id) == ask


async def test_a_form_as_json_or_multipart_is_415(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    path = f"/asks/{ask.id}/form"
    assert (await web.browser.post(path, json={"do": "discard"})).status_code == 415
    files = {"text": ("name", b"content")}
    assert (await web.browser.post(path, files=files)).status_code == 415


@pytest.mark.parametrize(
    "path",
    [
        "/static/../channel.py",
        "/static/..%2fchannel.py",
        "/static/%2e%2e/channel.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/",
        "/static/./inbox.css",
        "/static/..\\channel.py",
    ],
)
async def test_no_path_leads_out_of_the_static_files(web: Web, path: str) -> None:
    reader, writer = await asyncio.open_connection(web.host, web.port)
    writer.write(f"GET {path} HTTP/1.0\r\nHost: {web.host}:{web.port}\r\n\r\n".encode())
    reply = await until_closed(reader)
    writer.close()
    assert reply.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400"))
    assert b"import" not in reply
    assert b"root:" not in reply


async def test_a_fault_inside_is_a_500_without_its_details(
    web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(**_page: int) -> None:
        raise RuntimeError("inner secret")

    for read in ("open_asks", "open_rows"):
        monkeypatch.setattr(web.desk.inbox, read, broken)
    for client, path in ((web.script, "/api/asks"), (web.browser, "/"), (web.browser, "/rows")):
        response = await client.get(path)
        assert response.status_code == 500
        assert "secret" not in response.text
        assert "Traceback" not in response.text
    assert "inner secret" in caplog.text
    assert TOKEN not in caplog.text


async def test_neither_token_nor_code_is_ever_logged(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    code = await web.new_code()
    await web.stranger.get(f"/login/{code}")
    await web.stranger.post("/login", data={"code": code})
    await web.stranger.get("/api/asks", headers={"Authorization": f"Bearer {TOKEN}x"})
    lines = [f"{r.name}: {r.getMessage()}" for r in caplog.records]
    ours = [line for line in lines if not line.startswith(("httpx", "httpcore"))]
    assert [line for line in ours if TOKEN in line or code in line] == []


# ── texts that want to be code ────────────────────────────────────────────────────────────────────

TYPED = """<script>alert(1)</script><img src=x onerror=alert(2)>"'><b>&lt;}}{{7*7}}"""
EVIL = f"{TYPED}\u202e"
MARKDOWN = f"""{EVIL}

[click](javascript:alert(3)) ![pic](http://evil.example/p.png) <http://evil.example/a>

```"><script>alert(4)</script>
{EVIL}
```

- {EVIL}
"""


def evil_questions() -> tuple[Question, ...]:
    options = (Option(label=EVIL, description=EVIL), Option(label="b" + EVIL))
    return (
        Question(id="a", text=MARKDOWN, placeholder=EVIL),
        Question(id="b", text=MARKDOWN, type=QuestionType.SELECT, options=options),
        Question(id="c", text=MARKDOWN, type=QuestionType.MULTI_SELECT, options=options),
    )


def assert_harmless(page: str) -> None:
    for tag in re.findall(r"<(script|img|iframe|a)\b([^>]*)>", page):
        for attribute in re.findall(r'(?:src|href)="([^"]*)"', tag[1]):
            assert attribute.startswith(("/", "#")), attribute
    assert not re.search(r"<[^>]*\son\w+\s*=", re.sub(r'"[^"]*"', '""', page))
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)
    assert "<style" not in page
    assert not re.search(r"<[^>]*\sstyle\s*=", re.sub(r'"[^"]*"', '""', page))
    assert "\u202e" not in page


async def test_what_an_agent_writes_stays_text_on_every_page(web: Web) -> None:
    project = Project(key="/x", name=f"p{EVIL}", label=f"l{EVIL}")
    agent = Agent(client=EVIL, name=f"n{EVIL}")
    questions = evil_questions()
    ask = await web.desk.ask(*questions, title=f"t{EVIL}", project=project, agent=agent)
    me = Person(name=TYPED, channel=TYPED)
    steps: list[form.Event] = [
        form.Text(text=TYPED, step=0),
        form.Other(step=1),
        form.Text(text=TYPED, step=2),
        form.Toggle(step=3, option=0, on=True),
        form.Text(text=TYPED, step=3),
        form.AskCancel(step=4),
        form.Back(step=5),
        form.Done(step=6),
        form.Submit(step=7),
    ]
    seen = 0
    for event in [None, *steps]:
        if event is not None:
            step = await web.desk.inbox.put(ask.id, event, person=me)
            assert not isinstance(step, form.Refused), event
        own = (f"/asks/{ask.id}", f"/asks/{ask.id}/card")
        for path in ("/?stay", *own, "/rows", "/history", "/summary"):
            page = (await web.browser.get(path)).text
            assert_harmless(page)
            seen += "&lt;script&gt;alert(1)" in page
    assert seen > 30
    assert not (await web.desk.inbox.ask(ask.id)).open


async def test_what_is_in_an_address_stays_text(web: Web) -> None:
    for path in (f"/asks/{EVIL}", f"/history?q={EVIL}", f"/login/{EVIL}", f"/{EVIL}"):
        page = (await web.browser.get(path)).text
        assert_harmless(page)


async def test_an_agents_address_is_shown_whole_and_never_a_link(web: Web) -> None:
    question = replace(TEXT, text="See [the docs](https://evil.example/a?b=1&c=2).")
    ask = await web.desk.ask(question)
    card = (await web.browser.get(f"/asks/{ask.id}/card")).text
    assert "<code>https://evil.example/a?b=1&amp;c=2</code>" in card
    assert 'href="http' not in card


async def test_an_outcome_from_another_channel_stays_text(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    evil = Person(name=TYPED, channel=TYPED)
    await web.desk.inbox.answer(ask.id, (Answer(custom_text=EVIL),), person=evil)
    for path in (f"/asks/{ask.id}", "/history"):
        assert_harmless((await web.browser.get(path)).text)


async def test_a_toast_is_a_header_that_cannot_be_split(web: Web) -> None:
    ask = await web.desk.ask(TEXT)
    fields = {"do": "text", "step": "9", "text": "x\r\nSet-Cookie: a=b"}
    response = await web.browser.post(f"/asks/{ask.id}/form", data=fields, headers=MARK)
    assert response.status_code == 409
    assert "set-cookie" not in response.headers
    assert re.fullmatch(r"[\w%.~-]+", response.headers["x-chatbridge-toast"])
