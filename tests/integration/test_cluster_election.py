"""Hubs of one process over a real PostgreSQL: who leads, and what becomes of who does not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import asyncpg
import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.tasks import end_tasks
from chatbridge.hub.cluster.member import Turns, looked_over
from chatbridge.store.fence import Deposed, Fence
from chatbridge.store.postgres import election, hub_name, lease, migrate
from chatbridge.store.postgres.connection import Address, PostgresConnection, connect
from chatbridge.store.postgres.election import Candidate, Election
from tests.fakes.postgres import Postgres
from tests.fakes.postgres_wire import Wire

pytestmark = pytest.mark.postgres

PATIENCE = 20.0
FASTER = 5
WAITS_FOR_ME = """SELECT count(*) FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"""


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database() as found:
        await postgres.sql("UPDATE leader SET holder = ''", found.name.partition(" ")[0])
        yield found


class Node:
    """A hub's part in the election, which can be cut off."""

    def __init__(self, address: Address, name: str, called: str | None = None) -> None:
        self.address, self.name, self.cut = address, name, False
        me = Candidate(
            id=f"id of {name}",
            name=called or name,
            release="1",
            address="127.0.0.1:1",
            certificate=f"certificate of {name}",
        )
        self.election = Election(self._connect, me, partial(looked_over, address))
        self._running: asyncio.Task[None] | None = None

    async def _connect(self) -> asyncpg.Connection[Any]:
        if self.cut:
            raise ConnectionRefusedError("cut off")
        return await connect(self.address)

    def start(self) -> Node:
        self._running = asyncio.ensure_future(self.election.run())
        return self

    async def stop(self) -> None:
        """As if it stood still: it gives nothing back."""
        if self._running is not None:
            await end_tasks([self._running])

    @property
    def fence(self) -> Fence:
        assert self.election.epoch is not None
        return Fence(self.election.candidate.id, self.election.epoch)


@asynccontextmanager
async def nodes(
    address: Address, *names: str, called: str | None = None
) -> AsyncIterator[list[Node]]:
    async with AsyncExitStack() as stack:
        found = []
        for name in names:
            found.append(node := Node(address, name, called))
            stack.push_async_callback(node.stop)
        yield found


async def leads(*among: Node) -> Node:
    waiting = {asyncio.ensure_future(node.election.elected.wait()): node for node in among}
    async with asyncio.timeout(PATIENCE):
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    await end_tasks(waiting)
    return waiting[done.pop()]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - an election tells nobody of what it reads
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in a statement"])
async def test_a_hub_that_stands_still_in_a_transaction_keeps_nobody_from_leading(
    address: Address, busy: bool
) -> None:
    async with nodes(address, "a", "b") as (a, b):
        await leads(a.start())
        b.start()
        writing = PostgresConnection(address, fence=a.fence)
        await writing.open()
        await writing.begin()
        await writing.change("INSERT INTO notes VALUES ('a', 'k', 'v', 0)")
        doing = asyncio.ensure_future(writing.rows("SELECT pg_sleep(60)")) if busy else None
        await a.stop()
        async with asyncio.timeout(lease.LEASE_SECONDS + 2):
            await leads(b)
        if doing is not None:
            with pytest.raises(StoreError):
                await doing
        with pytest.raises(StoreError):
            await writing.commit()
        with pytest.raises(Deposed):
            await writing.begin()
        reading = PostgresConnection(address, fence=b.fence)
        assert await reading.rows("SELECT * FROM notes") == []
        for each in (writing, reading):
            await each.close()


async def test_who_leads_gives_back_what_the_next_one_takes_at_once(address: Address) -> None:
    async with nodes(address, "a", "b") as (a, b):
        await leads(a.start())
        first = a.fence
        b.start()
        await asyncio.sleep(0)
        await a.election.release()
        async with asyncio.timeout(lease.LEASE_SECONDS):
            assert (await leads(a, b)).fence.epoch == first.epoch + 1
        writing = PostgresConnection(address, fence=first)
        with pytest.raises(Deposed):
            await writing.begin()
        await writing.close()


async def test_a_lease_is_given_back_though_it_is_just_being_renewed(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(election, "ANSWER_WITHIN_SECONDS", PATIENCE)
    async with nodes(address, "a") as (a,):
        await leads(a.start())
        other = await connect(address)
        try:
            async with asyncio.timeout(PATIENCE), other.transaction():
                await other.execute("SELECT FROM leader FOR UPDATE")
                while not await other.fetchval(WAITS_FOR_ME):
                    pass
                releasing = asyncio.ensure_future(a.election.release())
                await asyncio.sleep(0)
            await releasing
            assert await other.fetchval("SELECT holder FROM leader") != "id of a"
        finally:
            other.terminate()


async def test_the_last_of_three_hosts_is_found_while_the_others_are_silent(
    postgres: Postgres, address: Address
) -> None:
    async with AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(Wire.running(postgres.port)) for _ in range(2)]
        for wire in silent:
            wire.silence()
        ports = (*(wire.port for wire in silent), postgres.port)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        several = Address(address.dsn.replace(f"127.0.0.1:{postgres.port}", hosts))
        (node,) = await stack.enter_async_context(nodes(several, "a"))
        await leads(node.start())


async def test_an_answer_that_the_library_does_not_understand_is_trouble_with_the_database(
    postgres: Postgres, address: Address, caplog: pytest.LogCaptureFixture
) -> None:
    async with Wire.running(postgres.port) as wire, nodes(wire.over(address), "a") as (node,):
        wire.spoils = b"FROM leader"
        await leads(node.start())
    assert "number of columns" in caplog.text
    assert "could not be looked at" not in caplog.text


async def test_a_database_of_a_newer_version_is_only_followed(address: Address) -> None:
    async with nodes(address, "a", "b") as (a, b):
        await leads(a.start())
        connection = await connect(address)
        await connection.execute("INSERT INTO chatbridge VALUES ($1)", migrate.newest() + 1)
        connection.terminate()
        b.start()
        await until(lambda: b.election.leader is not None)
        await a.election.release()
        await a.stop()
        await until(lambda: b.election.row is not None and not b.election.row.holder)
        assert b.election.following_only
        assert not b.election.elected.is_set()
        assert b.election.trouble
        connection = await connect(address)  # other tests have the database after this one
        await connection.execute("DELETE FROM chatbridge WHERE version > $1", migrate.newest())
        connection.terminate()


async def test_a_hub_that_was_removed_from_the_list_is_known_no_more(
    address: Address, postgres: Postgres
) -> None:
    async with nodes(address, "a", "b", "c") as (a, b, c):
        await leads(a.start())
        for node in (b, c):  # one after the other: the first one is not the newest in the list
            node.start()
            await until(lambda: node.name in a.election.hubs)  # noqa: B023
        await postgres.sql("DELETE FROM hubs WHERE name = 'b'", address.name.partition(" ")[0])
        await until(lambda: sorted(a.election.hubs) == ["a", "c"])


async def test_of_two_hubs_with_one_name_the_second_is_told_and_takes_no_part(
    address: Address, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub_name, "BACK_WITHIN_SECONDS", 1.5)
    monkeypatch.setattr(hub_name, "SETTLED_AFTER_SECONDS", 2.5)
    async with nodes(address, "a", "b", "c", called="debian") as (a, b, c):
        await leads(a.start())
        await until(lambda: a.election._name.may_be_taken(a.election.now()))
        admitted: list[str] = []
        a.election.on_change.append(
            lambda: admitted.extend(hub.certificate for hub in a.election.hubs.values())
        )
        b.start()
        await until(lambda: b.election.namesake is not None)
        assert "cluster.name" in (b.election.trouble or "")
        assert "this hub only follows: another hub is called debian" in caplog.text
        await until(lambda: b.election.hubs["debian"].certificate == "certificate of a")
        assert set(admitted) <= {"certificate of a"}
        assert a.election.elected.is_set()

        await a.election.release()
        await a.stop()
        await leads(c.start())  # what `a` left in the database is no hub any more
        assert c.election.namesake is None
        assert b.election.trouble == b.election.namesake
        assert not b.election.elected.is_set()


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEASE_SECONDS", "HELD_SECONDS"):
        monkeypatch.setattr(lease, name, getattr(lease, name) / FASTER)


async def test_a_hub_that_is_elected_and_never_comes_to_lead_is_replaced_and_ends(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    async with nodes(address, "a", "b") as (a, b):
        await leads(a.start())
        turns, ended = Turns(a.election, asyncio.Event().set, seconds=0.2), asyncio.Event()
        turns.begins()
        turns.is_over()  # in time: it costs nothing
        Turns(b.election, ended.set, seconds=0.2).begins()
        await ended.wait()
        assert a.election.elected.is_set()

        ended.clear()
        Turns(a.election, ended.set, seconds=0.2).begins()
        await leads(b.start())
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
        assert not a.election.elected.is_set()


async def test_never_two_hold_the_lease_whatever_is_cut(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything goes faster, and every connection may be cut at any moment."""
    chance = random.Random(1)
    hurry(monkeypatch)
    for name in ("RENEW_SECONDS", "LOOK_SECONDS", "AGAIN_AFTER_SECONDS", "WATCH_SECONDS"):
        path = f"chatbridge.store.postgres.election.{name}"
        monkeypatch.setattr(path, 0.2 if name == "RENEW_SECONDS" else 0.05)
    held: dict[int, str] = {}

    def check(all_nodes: list[Node]) -> None:
        holding = [node for node in all_nodes if node.election.holds()]
        assert len(holding) <= 1
        for node in holding:
            assert held.setdefault(node.fence.epoch, node.name) == node.name

    async with nodes(address, "a", "b", "c") as three:
        for node in three:
            node.start()
        for turn in range(300):
            if turn >= 30 and len(held) > 1:
                break
            node = chance.choice(three)
            node.cut = chance.random() < 0.4
            if chance.random() < 0.5 and (connection := node.election.connection) is not None:
                connection.terminate()
            if chance.random() < 0.2:
                await node.stop()
                node.election.depose()
                node.start()
            until = asyncio.get_running_loop().time() + chance.choice((0.02, 0.1, 0.4))
            while asyncio.get_running_loop().time() < until:
                check(three)
                await asyncio.sleep(0.005)
        for node in three:
            node.cut = False
        await leads(*three)
    assert list(held) == sorted(held)
    assert len(held) > 1
