"""Whoever does not lead any more commits nothing to PostgreSQL, and works share commits there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from chatbridge.core.store_port import Transaction
from chatbridge.store.fence import Deposed
from chatbridge.store.postgres.connection import IDLE_TRANSACTION_MILLISECONDS, Address
from chatbridge.store.postgres.store import PostgresStore
from tests.contract.asks import an_ask
from tests.fakes.postgres import FENCE, Postgres

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0
TAKE = "UPDATE leader SET epoch = epoch + 1, holder = 'other' WHERE epoch = 1"
BEAT = "UPDATE leader SET beat = beat + 1 WHERE holder = 'test' AND epoch = 1"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"

STOPPED_IN_THE_MIDDLE = """
import asyncio, sys
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import PostgresStore
from tests.contract.asks import an_ask
from tests.fakes.postgres import FENCE

async def work(tx):
    await tx.add_ask(an_ask())
    print("begun", flush=True)
    sys.stdin.readline()

async def main():
    store = await PostgresStore.open(Address(sys.argv[1]), fence=FENCE)
    try:
        await store.write(work)
    except Exception as error:
        print(type(error).__name__, flush=True)

asyncio.run(main())
"""


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database() as address:
        yield address


@pytest.fixture
async def other(address: Address) -> AsyncIterator[asyncpg.Connection[Any]]:
    """What another hub has."""
    connection = await asyncpg.connect(address.dsn)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
def deposed() -> list[str]:
    return []


@pytest.fixture
async def store(address: Address, deposed: list[str]) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(address, fence=FENCE, deposed=lambda: deposed.append("told"))
    try:
        yield store
    finally:
        await store.close()


async def test_a_deposed_hub_commits_nothing_and_is_told_once(
    store: PostgresStore, other: asyncpg.Connection[Any], deposed: list[str]
) -> None:
    ran = 0

    async def work(tx: Transaction) -> None:
        nonlocal ran
        ran += 1
        await tx.add_ask(an_ask())

    await store.write(work)
    await other.execute(TAKE)
    for _ in range(3):
        with pytest.raises(Deposed, match="another hub leads now"):
            await store.write(work)
    assert (ran, deposed) == (1, ["told"])
    assert len(await store.open_asks()) == 1


async def test_a_deposed_hub_needs_no_server_to_know_it(
    store: PostgresStore, other: asyncpg.Connection[Any], postgres: Postgres
) -> None:
    await other.execute(TAKE)
    with pytest.raises(Deposed):
        await store.write(lambda tx: tx.add_ask(an_ask()))
    await asyncio.to_thread(postgres.stop)
    try:
        async with asyncio.timeout(1.0):
            with pytest.raises(Deposed):
                await store.write(lambda tx: tx.add_ask(an_ask()))
    finally:
        postgres.start()


async def test_a_take_over_waits_for_the_transaction_that_has_begun_and_the_lease_does_not(
    store: PostgresStore, other: asyncpg.Connection[Any], address: Address
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def work(tx: Transaction) -> None:
        await tx.add_ask(an_ask())
        begun.set()
        await release.wait()

    writing = asyncio.create_task(store.write(work))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    assert await asyncio.wait_for(other.execute(BEAT), PATIENCE) == "UPDATE 1"
    taking = asyncio.create_task(other.execute(TAKE))
    looking = await asyncpg.connect(address.dsn)
    async with asyncio.timeout(PATIENCE):
        while not await looking.fetchval(WAITING):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
    await looking.close()
    assert not taking.done()
    release.set()
    await writing
    assert await taking == "UPDATE 1"
    assert len(await store.open_asks()) == 1
    with pytest.raises(Deposed):
        await store.write(lambda tx: tx.add_ask(an_ask()))


async def test_a_transaction_that_waits_for_a_take_over_finds_that_it_does_not_lead(
    store: PostgresStore, other: asyncpg.Connection[Any]
) -> None:
    async with other.transaction():
        await other.execute(TAKE)
        writing = asyncio.create_task(store.write(lambda tx: tx.add_ask(an_ask())))
        async with asyncio.timeout(PATIENCE):
            while not await other.fetchval(WAITING):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
    with pytest.raises(Deposed):
        await writing
    assert await store.open_asks() == []


async def test_a_process_that_stands_still_in_a_transaction_holds_up_a_take_over_no_longer(
    address: Address, other: asyncpg.Connection[Any]
) -> None:
    command = [sys.executable, "-c", STOPPED_IN_THE_MIDDLE, address.dsn]
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGSTOP)
        began = asyncio.get_running_loop().time()
        assert await asyncio.wait_for(other.execute(TAKE), PATIENCE) == "UPDATE 1"
        waited = asyncio.get_running_loop().time() - began
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate("go on\n", timeout=PATIENCE)
    assert waited < IDLE_TRANSACTION_MILLISECONDS / 1000 + 1.0
    assert said == "Deposed\n"
    assert await other.fetchval("SELECT count(*) FROM asks") == 0


async def test_a_name_with_quotes_is_a_name(postgres: Postgres, address: Address) -> None:
    name = "o'hub \\' OR true --"
    store = await PostgresStore.open(address, fence=FENCE._replace(holder=name))
    try:
        with pytest.raises(Deposed):
            await store.write(lambda tx: tx.add_ask(an_ask()))
    finally:
        await store.close()


async def test_works_that_wait_together_share_one_commit(
    store: PostgresStore, other: asyncpg.Connection[Any]
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def holding(_: Transaction) -> None:
        begun.set()
        await release.wait()

    async def committed() -> int:
        """How many transactions have written, whoever they are of."""
        return int(await other.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text"))

    first = asyncio.create_task(store.write(holding))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    before = await committed()
    works = [asyncio.create_task(store.write(lambda tx: tx.add_ask(an_ask()))) for _ in range(50)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, *works)
    assert len(await store.open_asks()) == 50
    assert await committed() - before < 10  # two of ours, and what the server does for itself
