"""Whoever is not let in over HTTP causes nothing and learns nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from chatbridge.channels.web.guard import Hosts
from chatbridge.hub.http import tokens as http_tokens
from chatbridge.hub.http.guard import (
    FREE_GUESSES,
    GUESS_SECONDS,
    MAX_ADDRESSES,
    MAX_WAITING,
    SAY_EVERY,
    TOKEN,
    WINDOW,
    Guesses,
    HttpGuard,
)
from chatbridge.hub.http.sessions import TICK
from chatbridge.hub.http.tokens import Tokens
from tests.fakes.clock import StillClock
from tests.fakes.core_env import BLUE, OWNER, PATIENCE
from tests.fakes.remote import ERAS, Door, RawAgent, cut, initialize, open_door, result_of, text_of

NAMED = "agents.example.org"


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path, also=[NAMED]) as it:
        yield it


async def nothing_was_asked(door: Door) -> None:
    assert door.hub.changes.empty()
    assert not await door.hub.store.open_asks()
    assert not door.agents.projects()


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
async def test_nobody_comes_in_without_a_token(door: Door, method: str) -> None:
    async with door.visitor("") as http:
        refused = await http.request(method, "/mcp", json=initialize())
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "mcp-session-id" not in refused.headers
    await nothing_was_asked(door)


@pytest.mark.parametrize(
    "given",
    [
        "Bearer cb_wrong",
        "Bearer {token}x",
        "Bearer {upper}",
        "Bearer",
        "Basic {token}",
        "{token}",
        "Bearer {digest}",
        "Bearer {token}, Bearer {token}",
        "Bearer \xff{token}",
    ],
)
async def test_nobody_comes_in_with_another_token(door: Door, given: str) -> None:
    digest = http_tokens.digest_of(door.token)
    header = given.format(token=door.token, upper=door.token.upper(), digest=digest)
    async with door.visitor("") as http:
        headers = {b"authorization": header.encode("latin-1")}
        refused = await http.post("/mcp", json=initialize(), headers=headers)
    assert refused.status_code == 401
    await nothing_was_asked(door)


async def test_two_authorization_headers_are_none(door: Door) -> None:
    async with door.visitor("") as http:
        twice = [("authorization", f"Bearer {door.token}")] * 2
        assert (await http.post("/mcp", json=initialize(), headers=twice)).status_code == 401


@pytest.mark.parametrize("name", ["token", "access_token", "authorization"])
async def test_a_token_in_the_address_or_a_cookie_is_none(door: Door, name: str) -> None:
    async with door.visitor("") as http:
        asked = await http.post("/mcp", params={name: door.token}, json=initialize())
        assert asked.status_code == 401
        cookie = {"cookie": f"{name}={door.token}"}
        assert (await http.post("/mcp", json=initialize(), headers=cookie)).status_code == 401
    await nothing_was_asked(door)


@pytest.mark.parametrize("content", ["{", "", '{"tokens": [{"name": "ci"}]}', "[]", "null"])
def test_a_damaged_file_of_tokens_lets_nobody_in(tmp_path: Path, content: str) -> None:
    tokens, token = Tokens(str(tmp_path)), http_tokens.add(str(tmp_path), "ci", now=1.0)
    path = Path(http_tokens.tokens_path(str(tmp_path)))
    sound = path.read_text()
    assert tokens.owner(token)
    path.write_text(content)
    assert tokens.owner(token) is None
    path.unlink()
    assert tokens.owner(token) is None
    path.write_text(sound)
    path.chmod(0o600)
    assert tokens.owner(token)
    path.chmod(0o622)
    assert tokens.owner(token) is None


@pytest.mark.parametrize("era", ERAS)
async def test_a_removed_token_ends_at_once_also_for_who_is_connected(door: Door, era: str) -> None:
    async with door.agent(era) as agent:
        waiting = agent.asking(1)
        ask = await door.shown()
        http_tokens.remove(str(door.state), "ci")
        assert (await agent.post(agent.call(2))).status_code == 401
        await asyncio.wait_for(door.hub.clock.until_asleep(TICK), PATIENCE)
        door.hub.clock.advance(TICK)
        assert "result" not in (await asyncio.wait_for(waiting, PATIENCE)).text
        assert (await door.left_alone()).id == ask.id
        assert not door.agents.projects()


async def test_no_token_is_in_the_log_or_in_any_file(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with door.client("legacy") as client:
        await client.list_tools()
    async with door.visitor(door.token + "x") as http:
        await http.post("/mcp", params={"token": door.token}, json=initialize())
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore", "hpack"))]
    assert ours
    assert all(door.token not in record.getMessage() for record in ours)
    for file in door.state.rglob("*"):
        assert not file.is_file() or door.token.encode() not in file.read_bytes()


async def test_a_thousand_wrong_tokens_are_slow_and_keep_nobody_out(tmp_path: Path) -> None:
    token = http_tokens.add(str(tmp_path), "ci", now=1.0)
    clock, let_in, answers = StillClock(), [], []

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        let_in.append(scope[TOKEN].name)

    async def nothing() -> Message:
        raise AssertionError("nobody reads a stranger's body")

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    guard = HttpGuard(
        inside,
        hosts=Hosts("127.0.0.1", 8788),
        tokens=Tokens(str(tmp_path)),
        guesses=Guesses(clock),
        clock=clock,
    )

    async def come(given: str) -> None:
        headers = {b"host": b"127.0.0.1:8788", b"authorization": f"Bearer {given}".encode()}
        scope = {"type": "http", "method": "POST", "path": "/mcp", "client": ("192.0.2.1", 1)}
        await guard({**scope, "headers": list(headers.items())}, nothing, note)

    guesses = [asyncio.create_task(come(f"cb_{number:043}")) for number in range(1000)]
    await asyncio.wait_for(clock.until_asleep(GUESS_SECONDS), PATIENCE)
    await come(token)
    assert let_in == ["ci"]
    clock.advance(GUESS_SECONDS)
    await asyncio.wait_for(asyncio.gather(*guesses), PATIENCE)
    assert let_in == ["ci"]
    assert answers.count(401) == FREE_GUESSES + MAX_WAITING
    assert answers.count(429) == 1000 - FREE_GUESSES - MAX_WAITING


async def test_after_some_wrong_tokens_the_next_one_waits_and_many_are_sent_away() -> None:
    clock = StillClock()
    guesses = Guesses(clock)
    for _ in range(FREE_GUESSES):
        assert await guesses.wrong("192.0.2.1")
    waiting = [asyncio.create_task(guesses.wrong("192.0.2.1")) for _ in range(MAX_WAITING)]
    await asyncio.wait_for(clock.until_asleep(GUESS_SECONDS), PATIENCE)
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    assert not await guesses.wrong("192.0.2.1")
    assert await guesses.wrong("192.0.2.2")
    clock.advance(GUESS_SECONDS)
    assert all(await asyncio.gather(*waiting))
    clock.advance(WINDOW)
    assert await asyncio.wait_for(guesses.wrong("192.0.2.1"), PATIENCE)


async def test_guessers_from_everywhere_fill_no_memory() -> None:
    guesses = Guesses(StillClock())
    for number in range(2 * MAX_ADDRESSES):
        assert await guesses.wrong(f"10.0.{number // 256}.{number % 256}")
    assert len(guesses._counts) == MAX_ADDRESSES
    for number in range(FREE_GUESSES):
        assert await guesses.wrong(f"2001:db8::{number:x}")
    assert guesses._counts["2001:db8::/64"][0] == FREE_GUESSES


async def test_guessers_from_everywhere_are_one_line_an_hour_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = StillClock()
    guesses = Guesses(clock)
    for hour in range(2):
        for network in range(2 * MAX_WAITING):
            for _ in range(FREE_GUESSES):
                assert await guesses.wrong(f"2001:db8:0:{network:x}::1")
            waiting = asyncio.create_task(guesses.wrong(f"2001:db8:0:{network:x}::2"))
            await asyncio.wait_for(clock.until_asleep(GUESS_SECONDS), PATIENCE)
            clock.advance(GUESS_SECONDS)
            assert await asyncio.wait_for(waiting, PATIENCE)
        assert [it.getMessage() for it in caplog.records] == [
            "many wrong tokens over HTTP from 2001:db8::/64"
        ] * (hour + 1)
        clock.advance(SAY_EVERY)


# ── hosts and origins ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", f"x{NAMED}", f"{NAMED}.evil.example"]
)
async def test_another_host_is_refused_also_with_a_token(door: Door, host: str) -> None:
    async with door.visitor(host=host) as http:
        assert (await http.post("/mcp", json=initialize())).status_code in (400, 403)
    await nothing_was_asked(door)


@pytest.mark.parametrize("host", [NAMED, f"{NAMED}:8443", NAMED.upper()])
async def test_a_host_that_the_owner_has_named_is_served(door: Door, host: str) -> None:
    async with door.visitor(host=host, origin=f"https://{host.lower()}") as http:
        assert (await http.post("/mcp", json=initialize())).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"http://{NAMED}", "http://127.0.0.1", "file://"]
)
async def test_a_page_of_another_site_is_refused_also_with_a_token(door: Door, origin: str) -> None:
    async with door.visitor(origin=origin) as http:
        assert (await http.post("/mcp", json=initialize())).status_code == 403
    await nothing_was_asked(door)


async def test_a_second_origin_counts_too(door: Door) -> None:
    async with door.visitor() as http:
        own = f"http://127.0.0.1:{door.port}"
        twice = [("origin", own), ("origin", "http://evil.example")]
        response = await http.post("/mcp", json=initialize(), headers=twice)
        assert response.status_code == 403


async def test_there_is_nothing_at_other_paths(door: Door) -> None:
    async with door.visitor() as http:
        for path in ("/", "/mcp/", "/mcp/x", "/.well-known/oauth-protected-resource", "/api/asks"):
            assert (await http.get(path)).status_code == 404


# ── other agents ──────────────────────────────────────────────────────────────────────────────────


async def test_the_session_of_another_token_is_not_there(door: Door) -> None:
    async with door.visitor() as http, door.visitor(door.add_token("other")) as theirs:
        agent, thief = RawAgent(http, ERAS[0]), RawAgent(theirs, ERAS[0])
        await agent.begin()
        thief.session = agent.session
        waiting = agent.asking(1)
        ask = await door.shown()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        for message in (agent.call(1), agent.call(2), cancel):
            assert (await thief.post(message)).status_code == 404
        assert (await theirs.get("/mcp", headers=thief.headers())).status_code == 404
        assert (await theirs.delete("/mcp", headers=thief.headers())).status_code == 404
        await door.hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert text_of(result_of(await waiting)) == "User selected: blue"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_another_tokens_question_cannot_be_fetched_by_its_id(door: Door, mode: str) -> None:
    other = door.add_token("other")
    async with door.agent(ERAS[0]) as agent, door.client(mode, token=other) as thief:
        waiting = agent.asking(1)
        ask = await door.shown()
        result = await thief.call_tool("wait_for_answer", {"askId": ask.id})
        assert result.is_error
        assert "none is open" in str(result.content)
        assert "colour" not in str(result.content)
        await cut(waiting)
