"""What `make chaos` strikes with: drawn from the seed, and each does what its name says."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest

from tests.chaos.discord_faults import DISCORD_FAULTS
from tests.chaos.faults import FAULTS
from tests.chaos.manner import BUSY, TYPED
from tests.chaos.moved_clock import MovedClock, NoClock
from tests.chaos.places import DiscordPlace
from tests.chaos.relays import Passed, Relay, discord_limit, matrix_limit, telegram_limit
from tests.chaos.riddles import Deck, Kind
from tests.chaos.schedule import FOR_SEVERAL, WEIGHTS, Strike, draw
from tests.chaos.world import ChaosWorld
from tests.fakes.discord_desk import running_discord
from tests.fakes.inbox import TEXT

HOUR = 3600.0
EACH_ANEW = httpx.Limits(max_keepalive_connections=0)


def test_the_same_seed_brings_the_same_faults() -> None:
    once, again = (draw(random.Random(7), HOUR, pause=BUSY.pause) for _ in range(2))
    assert once == again
    assert {strike.fault for strike in once} == set(WEIGHTS)
    assert draw(random.Random(8), HOUR, pause=BUSY.pause) != once


def test_every_fault_comes_in_some_night() -> None:
    of_hubs = draw(random.Random(7), HOUR, pause=BUSY.pause, weights=FOR_SEVERAL)
    assert {strike.fault for strike in of_hubs} == set(FOR_SEVERAL)
    assert {*WEIGHTS, *FOR_SEVERAL} == set(FAULTS)


def test_a_fault_that_cannot_be_had_leaves_the_others_as_they_are() -> None:
    everything = draw(random.Random(7), HOUR, pause=BUSY.pause)
    without = draw(random.Random(7), HOUR, pause=BUSY.pause, left_out=["fill the disk"])
    assert without == tuple(it for it in everything if it.fault != "fill the disk")


def test_a_quiet_night_has_fewer_faults_and_mostly_texts() -> None:
    faults = draw(random.Random(7), HOUR, pause=TYPED.pause)
    assert 0 < len(faults) < len(draw(random.Random(7), HOUR, pause=BUSY.pause)) / 3
    deck = Deck(random.Random(7), texts=TYPED.texts)
    drawn = [deck.draw("ada") for _ in range(200)]
    assert sum([part.kind for part in it.parts] == [Kind.TEXT] for it in drawn) > 120


@dataclass(slots=True)
class Server:
    """Says yes to everything, and notes it."""

    requests: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    heard: dict[str, bool] = field(default_factory=dict)
    """What the relay says of each request: whether its answer went back."""
    serving: set[asyncio.Task[None]] = field(default_factory=set)
    """One for each connection. Those that have ended stay in it."""

    def note(self, passed: Passed) -> None:
        # What was cut may have been on its way here still.
        assert passed.answer.startswith(b"HTTP/1.1 200") or not (passed.heard or passed.answer)
        self.heard[passed.request.partition(b" HTTP/")[0].decode()] = passed.heard

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.add(serving := asyncio.ensure_future(self._answer(reader, writer)))
        await serving

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionResetError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head.partition(b" HTTP/")[0].decode())
                self.asked.set()
                writer.write(b"HTTP/1.1 200 Yes\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()


@asynccontextmanager
async def relayed() -> AsyncIterator[tuple[Relay, Server, httpx.AsyncClient]]:
    server = Server()
    async with await asyncio.start_server(server.take, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with (
            Relay.running(port, telegram_limit, note=server.note) as relay,
            httpx.AsyncClient(base_url=relay.address, limits=EACH_ANEW) as client,
        ):
            yield relay, server, client
        await asyncio.wait_for(asyncio.gather(*server.serving), 20)


async def test_a_relay_loses_the_answer_to_what_has_been_done() -> None:
    async with relayed() as (relay, server, client):
        relay.lost = 1
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/lost")
        assert server.requests == ["GET /lost"]
        assert (await client.get("/next")).status_code == 200
        assert server.heard == {"GET /lost": False, "GET /next": True}


async def test_a_relay_refuses_and_cuts_until_it_is_healed() -> None:
    async with relayed() as (relay, server, client):
        assert (await client.get("/")).status_code == 200
        await relay.refuse()
        with pytest.raises(httpx.ConnectError):
            await client.get("/refused")
        await relay.heal()
        assert (await client.get("/again")).status_code == 200
        relay.delay = 60.0
        server.asked.clear()
        waiting = asyncio.ensure_future(client.get("/cut"))
        await asyncio.wait_for(server.asked.wait(), 20)
        relay.cut()
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await waiting
    assert server.heard == {"GET /": True, "GET /again": True, "GET /cut": False}


async def test_a_relay_tells_to_try_again_later_in_the_services_words() -> None:
    async with relayed() as (relay, server, client):
        relay.limit = 2.0
        limited = await client.get("/")
        assert limited.status_code == 429
        assert limited.json()["parameters"] == {"retry_after": 2}
        assert server.requests == []
        assert not server.heard
    assert b'"retry_after_ms": 1500' in matrix_limit(1.5)
    assert b'"retry_after": 1, "global": false' in discord_limit(1)
    assert b'"retry_after": 3, "global": true' in discord_limit(3)


@pytest.mark.parametrize("fault", DISCORD_FAULTS)
async def test_nothing_is_left_of_a_fault_of_discord(tmp_path: Path, fault: str) -> None:
    async with running_discord(tmp_path) as desk:
        ask = await desk.desk.ask(TEXT)
        card, gateway = await desk.card(ask), desk.discord.gateway
        await desk.dealt_with()
        gateway.interval = 1
        place = DiscordPlace(server=desk.discord, person=desk.ada, room=desk.room)
        strike = Strike(at=0.0, fault=fault, seconds=0.05, chance=0.9)
        await DISCORD_FAULTS[fault](cast(ChaosWorld, SimpleNamespace(discord=place)), strike)
        assert [gateway.deaf, gateway.silent, gateway.down] == [False] * 3
        assert not desk.discord.rest.faults
        desk.clock.advance(10)  # a new session may not be begun at once
        desk.discord.say(desk.ada, desk.room, "feat: more", reply_to=card)
        await desk.dealt_with_later()
        assert len(await desk.answers(ask)) == 1


def test_only_the_wall_clock_of_those_who_go_by_it_is_moved(tmp_path: Path) -> None:
    try:
        clock = MovedClock(tmp_path)
    except NoClock as why:
        pytest.skip(str(why))
    clock.move(-2 * HOUR)
    look = "import time; print(time.time(), time.monotonic())"
    told = subprocess.check_output(
        [sys.executable, "-c", look], env={**os.environ, **clock.environment()}
    )
    wall, monotonic = map(float, told.split())
    assert wall - time.time() == pytest.approx(-2 * HOUR, abs=60)
    assert monotonic == pytest.approx(time.monotonic(), abs=60)
