"""Sessions over HTTP: whose they are, how many there may be, and when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chatbridge.hub.http import agents as http_agents
from chatbridge.hub.http import tokens as http_tokens
from chatbridge.hub.http.sessions import (
    IDLE,
    MAX_SESSIONS,
    TICK,
    Exchange,
    HttpSession,
    HttpSessions,
    nothing_more,
    unheard,
)
from chatbridge.hub.http.tokens import Token, Tokens
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.remote import ERAS, Door, RawAgent, cut, initialize, open_door

FEW = 3


@dataclass(slots=True)
class Book:
    """The sessions of a hub without any HTTP."""

    hub: World
    state: str
    sessions: HttpSessions
    token: Token
    discarded: list[str | None] = field(default_factory=list)

    async def tick(self, seconds: float = TICK) -> None:
        await asyncio.wait_for(self.hub.clock.until_asleep(TICK), PATIENCE)
        self.hub.clock.advance(seconds)

    async def orphaned(self) -> None:
        await self.hub.until(lambda ask: ask.open and ask.orphaned_since is not None)


@pytest.fixture
async def book(tmp_path: Path) -> AsyncIterator[Book]:
    http_tokens.add(str(tmp_path), "ci", now=1.0)
    tokens = Tokens(str(tmp_path))
    discarded: list[str | None] = []

    async def discard(session: HttpSession) -> None:
        discarded.append(session.id)
        for exchange in session.open:
            exchange.ended.set()

    async with world(tmp_path) as hub:
        sessions = HttpSessions(
            hub.broker.waiting_calls, tokens=tokens, clock=hub.clock, discard=discard
        )
        (token,) = tokens.all()
        yield Book(hub, str(tmp_path), sessions, token, discarded)
        await sessions.close()


def exchange(session: HttpSession) -> Exchange:
    made = request()
    session.open.add(made)
    return made


def request() -> Exchange:
    return Exchange({"type": "http"}, nothing_more, unheard, {})


@pytest.mark.parametrize("named", ["s1", None])
async def test_an_idle_session_ends_and_its_calls_wait_no_longer(
    book: Book, named: str | None
) -> None:
    session = book.sessions.opened(named, book.token)
    await book.hub.ask(link=session.link, timeout=10 * IDLE)
    # The world has opened it once more.
    book.hub.broker.waiting_calls._links[session.link].connections = 1
    await book.tick(IDLE - 1)
    assert list(book.sessions) == [session]
    await book.tick(1.0)
    await book.orphaned()
    assert not list(book.sessions)
    assert book.discarded == ([named] if named else [])


async def test_a_session_with_an_open_stream_is_not_idle(book: Book) -> None:
    session = book.sessions.opened("s1", book.token)
    exchange(session)
    await book.tick(IDLE)
    await book.tick()
    assert list(book.sessions) == [session]


async def test_a_removed_token_ends_its_sessions_and_cuts_their_streams(book: Book) -> None:
    session = book.sessions.opened("s1", book.token)
    stream = exchange(session)
    http_tokens.remove(book.state, "ci")
    await book.tick()
    await asyncio.wait_for(stream.cut.wait(), PATIENCE)
    assert not list(book.sessions)


async def test_a_session_whose_end_takes_long_keeps_no_other_of_a_removed_token_open(
    book: Book,
) -> None:
    exchange(book.sessions.without_id(book.token))  # its last byte is never written
    stream = exchange(book.sessions.opened("s1", book.token))
    http_tokens.remove(book.state, "ci")
    await book.tick()
    await asyncio.wait_for(stream.cut.wait(), PATIENCE)


async def test_a_new_token_of_the_same_name_has_none_of_the_old_ones_sessions(book: Book) -> None:
    session = book.sessions.opened("s1", book.token)
    http_tokens.remove(book.state, "ci")
    http_tokens.add(book.state, "ci", now=2.0)
    (other,) = Tokens(book.state).all()
    assert book.sessions.of("s1", book.token) is session
    assert book.sessions.of("s1", other) is None


async def test_the_one_that_was_idle_longest_makes_room(book: Book) -> None:
    for number in range(MAX_SESSIONS):
        book.sessions.opened(f"s{number}", book.token).used = float(MAX_SESSIONS - number)
    assert await book.sessions.make_room(book.token, request())
    assert book.discarded == [f"s{MAX_SESSIONS - 1}"]


async def test_there_is_no_room_where_all_are_busy(book: Book) -> None:
    for number in range(MAX_SESSIONS):
        exchange(book.sessions.opened(f"s{number}", book.token))
    assert not await book.sessions.make_room(book.token, request())
    assert not book.discarded


async def test_those_that_are_about_to_open_a_session_take_its_room(book: Book) -> None:
    book.sessions.opened("s0", book.token)
    given = [await book.sessions.make_room(book.token, request()) for _ in range(2 * MAX_SESSIONS)]
    assert sum(given) == MAX_SESSIONS
    assert book.discarded == ["s0"]


# ── over the wire ─────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_opens_sessions_without_end_has_only_the_newest(
    tmp_path: Path,
) -> None:
    async with open_door(tmp_path) as door, door.visitor() as http:
        agents = [RawAgent(http, ERAS[0]) for _ in range(MAX_SESSIONS + 1)]
        for agent in agents:
            assert (await agent.initialize()).status_code == 200
        ping = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
        assert (await agents[0].post(ping)).status_code == 404
        assert (await agents[-1].post(ping)).status_code == 200


async def test_sessions_that_are_opened_at_once_are_no_more_than_others(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door, door.visitor() as http:
        agents = [RawAgent(http, ERAS[0]) for _ in range(MAX_SESSIONS + FEW)]
        for _ in range(2):
            await asyncio.gather(*(agent.initialize() for agent in agents))
            assert len(list(door.agents._sessions)) == MAX_SESSIONS
        assert not door.agents._sessions.coming


@pytest.mark.parametrize("era", ERAS)
async def test_too_many_open_requests_of_one_token_hurt_no_other(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_agents, "MAX_OPEN", FEW)
    async with open_door(tmp_path) as door, door.agent(era) as agent:
        calls = []
        for number in range(FEW):
            calls.append(agent.asking(number, question=f"Number {number}?"))
            await door.shown()
        refused = await agent.post(agent.call(FEW))
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        await other_is_served(door)
        for call in calls:
            await cut(call)


async def other_is_served(door: Door) -> None:
    async with door.visitor(door.add_token("other")) as http:
        assert (await http.post("/mcp", json=initialize())).status_code == 200
