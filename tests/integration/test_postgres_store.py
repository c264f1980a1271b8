"""The PostgreSQL store when the way to its server fails, and when the server does."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, ChannelState, Status
from chatbridge.core.store_port import Transaction
from chatbridge.store.database import ConnectionLost
from chatbridge.store.postgres import connection, migrate
from chatbridge.store.postgres.connection import Address, PostgresConnection
from chatbridge.store.postgres.file_copies import FileTable
from chatbridge.store.postgres.store import FINISH_SECONDS, PostgresStore
from tests.contract.asks import an_ask
from tests.fakes.postgres import (
    END_SESSIONS,
    FENCE,
    LEADS,
    USER,
    Postgres,
    pooler,
    rule,
    running,
    stranger,
)
from tests.fakes.postgres_wire import Wire

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0
DISK_BYTES = 24 * 1024 * 1024
FILL = "INSERT INTO filled SELECT repeat('x', 999) FROM generate_series(1, {rows})"
ASCII = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
NOISE = random.Random(1).randbytes(200_000).hex()
"""What a database cannot compress."""

WRITING_UNTIL_KILLED = """
import asyncio, sys
from chatbridge.core.model import ChannelState, Status
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import FINISH_SECONDS, PostgresStore
from tests.contract.asks import an_ask, answered
from tests.fakes.postgres import FENCE

async def ask_and_answer(store, writer):
    while True:
        ask = an_ask(text="x" * 500)
        await store.write(lambda tx: tx.add_ask(ask))
        print(ask.id, "open", flush=True)
        async def settle(tx):
            await tx.save_ask(answered(ask), was=Status.OPEN)
            await tx.save_note(ChannelState(channel="test", key=str(writer), value=ask.id, at=1.0))
        await store.write(settle)
        print(ask.id, "answered", writer, flush=True)

async def main():
    store = await PostgresStore.open(Address(sys.argv[1]), fence=FENCE)
    await asyncio.gather(*(ask_and_answer(store, writer) for writer in range(8)))

asyncio.run(main())
"""


@dataclass
class Adding:
    """A work that adds an ask and leaves a note of it, and counts how often it ran."""

    ask: Ask = field(default_factory=an_ask)
    runs: int = 0
    told: int = 0

    async def __call__(self, tx: Transaction) -> None:
        self.runs += 1
        await tx.add_ask(self.ask)
        await self.between()
        note = ChannelState(channel="test", key=self.ask.id, value="added", at=1.0)
        await tx.save_note(note)

    async def between(self) -> None:
        pass

    async def to(self, store: PostgresStore) -> None:
        await asyncio.wait_for(store.write(self, then=self.tell), PATIENCE)

    def tell(self, _: None) -> None:
        self.told += 1

    async def happened(self, address: Address) -> bool:
        """As a hub that starts now sees it."""
        async with store_at(address) as fresh:
            ask, note = await fresh.ask(self.ask.id), await fresh.note("test", self.ask.id)
        assert bool(ask) == bool(note), "half of it was committed"
        return ask is not None


@asynccontextmanager
async def store_at(address: Address) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(address, fence=FENCE)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database() as address:
        yield address


@pytest.fixture
async def wire(postgres: Postgres) -> AsyncIterator[Wire]:
    async with Wire.running(postgres.port) as wire:
        yield wire


@pytest.fixture
async def store(address: Address, wire: Wire) -> AsyncIterator[PostgresStore]:
    """Over the wire."""
    async with store_at(wire.over(address)) as store:
        yield store


# ── a connection that is lost ─────────────────────────────────────────────────────────────────────


async def test_a_connection_that_was_cut_between_works_is_not_noticed(
    store: PostgresStore, wire: Wire, address: Address
) -> None:
    adding = Adding()
    await wire.cut()
    assert await store.open_asks() == []
    await adding.to(store)
    assert (adding.runs, adding.told) == (1, 1)
    assert await adding.happened(address)


async def test_a_work_whose_connection_is_cut_in_the_middle_runs_again_and_happens_once(
    store: PostgresStore, wire: Wire, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_once() -> None:
        if adding.runs == 1:
            await wire.cut()

    adding, neighbour = Adding(), Adding()
    monkeypatch.setattr(adding, "between", cut_once)
    await asyncio.gather(adding.to(store), neighbour.to(store))
    assert (adding.runs, adding.told, neighbour.told) == (2, 1, 1)
    assert await adding.happened(address)
    assert await neighbour.happened(address)


async def test_a_work_that_makes_an_error_of_its_own_of_a_lost_connection_runs_again_too(
    store: PostgresStore, wire: Wire
) -> None:
    runs = 0

    async def work(tx: Transaction) -> str:
        nonlocal runs
        runs += 1
        if runs == 1:
            await wire.cut()
        try:
            await tx.add_ask(an_ask())
        except StoreError as error:
            raise LookupError from error
        return "done"

    assert await store.write(work) == "done"


async def test_a_commit_whose_answer_is_lost_is_told_once_and_not_done_again(
    store: PostgresStore, wire: Wire, address: Address
) -> None:
    adding = Adding()
    wire.loses_answer = True
    await adding.to(store)
    assert wire.met.is_set()
    assert (adding.runs, adding.told) == (1, 1)
    assert await adding.happened(address)


async def test_a_commit_that_the_server_never_heard_of_is_done_again(
    store: PostgresStore, wire: Wire, address: Address
) -> None:
    adding = Adding()
    wire.loses_commit = True
    await adding.to(store)
    assert wire.met.is_set()
    assert (adding.runs, adding.told) == (2, 1)
    assert await adding.happened(address)


async def test_nothing_is_told_while_the_server_may_yet_commit(
    store: PostgresStore, wire: Wire, address: Address, postgres: Postgres
) -> None:
    adding = Adding()
    wire.holds_commit = True
    writing = asyncio.create_task(adding.to(store))
    await asyncio.wait_for(wire.met.wait(), PATIENCE)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    server = await postgres.connect()
    async with asyncio.timeout(PATIENCE):
        while not await server.fetchval(waits):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
    await server.close()
    assert not writing.done()
    wire.go.set()
    await writing
    assert (adding.runs, adding.told) == (1, 1)
    assert await adding.happened(address)


async def test_a_way_that_falls_silent_counts_as_lost(
    store: PostgresStore, wire: Wire, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", PATIENCE)
    adding, silent = Adding(), asyncio.Event()

    async def silent_once() -> None:
        if adding.runs == 1:
            wire.silence()
            silent.set()

    monkeypatch.setattr(adding, "between", silent_once)
    writing = asyncio.create_task(adding.to(store))
    reading = asyncio.create_task(store.history(limit=9))
    await asyncio.wait_for(silent.wait(), PATIENCE)
    await asyncio.wait({reading}, timeout=1.2)
    wire.speak()
    await writing
    assert await reading == []
    assert adding.told == 1
    assert await adding.happened(address)


async def test_what_reads_or_begins_is_tried_again_however_late_the_silence_is_noticed(
    store: PostgresStore, wire: Wire, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", 0.5)
    adding = Adding()
    wire.forget()
    assert await store.open_asks() == []
    await adding.to(store)
    assert (adding.runs, adding.told) == (1, 1)
    assert await adding.happened(address)


async def test_a_connection_that_a_firewall_forgot_in_a_quiet_time_holds_up_nobody_for_long(
    store: PostgresStore, wire: Wire, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "QUIET_SECONDS", 0.0)
    adding = Adding()
    wire.forget()
    async with asyncio.timeout(connection.STATEMENT_SECONDS / 2):
        assert await store.open_asks() == []
        await adding.to(store)
    assert (adding.runs, adding.told) == (1, 1)
    assert await adding.happened(address)


async def test_the_server_asks_soon_whether_a_quiet_hub_is_still_there(address: Address) -> None:
    reading = PostgresConnection(address)
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval")
    found = [(await reading.rows(f"SELECT current_setting('{name}')"))[0][0] for name in names]
    await reading.close()
    assert found == ["60", "10"]


async def test_a_reader_that_goes_in_the_middle_leaves_the_others_their_connection(
    store: PostgresStore,
) -> None:
    async def read() -> None:
        await store.history(limit=9)

    for moment in range(20):
        leaving = asyncio.create_task(read())
        for _ in range(moment):
            await asyncio.sleep(0)
        leaving.cancel()
        assert await asyncio.wait_for(store.history(limit=9), PATIENCE) == []


# ── a server that goes and comes back ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["orderly", "crash"])
async def test_works_and_reads_wait_for_a_server_that_restarts(
    postgres: Postgres, address: Address, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", PATIENCE)
    done: asyncio.Queue[Adding] = asyncio.Queue()
    over = asyncio.Event()

    async def write(store: PostgresStore) -> None:
        while not over.is_set():
            adding = Adding()
            await adding.to(store)
            assert adding.told == 1
            done.put_nowait(adding)

    async def read(store: PostgresStore) -> None:
        while not over.is_set():
            await store.history(limit=9)
            await asyncio.sleep(0)

    async def some() -> set[str]:
        async with asyncio.timeout(PATIENCE):
            return {(await done.get()).ask.id for _ in range(10)}

    async with store_at(address) as store:
        busy = [asyncio.create_task(each(store)) for each in (write, write, write, read)]
        written = await some()
        await asyncio.to_thread(postgres.stop, how)
        postgres.start()  # in the thread that stays: the server ends with it
        written |= await some()
        over.set()
        await asyncio.gather(*busy)
    written |= {done.get_nowait().ask.id for _ in range(done.qsize())}
    async with store_at(address) as fresh:
        found = {ask.id for ask in await fresh.open_asks()}
    assert found == written


async def test_a_server_that_stays_away_is_said_and_all_goes_on_when_it_is_back(
    postgres: Postgres, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", 0.2)
    adding = Adding()
    async with store_at(address) as store:
        await asyncio.to_thread(postgres.stop)
        try:
            with pytest.raises(StoreError, match=r"cannot be reached .*Check that it runs"):
                await adding.to(store)
            with pytest.raises(StoreError, match="cannot be reached"):
                await store.open_asks()
        finally:
            postgres.start()  # in the thread that stays: the server ends with it
        assert (adding.runs, adding.told) == (0, 0)
        assert not await adding.happened(address)
        await adding.to(store)
    assert await adding.happened(address)


async def test_a_store_is_closed_soon_also_while_the_end_of_a_commit_is_unknown(
    postgres: Postgres, wire: Wire, store: PostgresStore
) -> None:
    adding = Adding()
    wire.loses_answer = True
    writing = asyncio.create_task(adding.to(store))
    await asyncio.wait_for(wire.met.wait(), PATIENCE)
    wire.silence()
    async with asyncio.timeout(2 * FINISH_SECONDS):
        await store.close()
    with pytest.raises(StoreError):
        await writing
    assert adding.told == 0


async def test_what_was_committed_survives_a_kill_in_the_middle_of_writing(
    address: Address,
) -> None:
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
        [sys.executable, "-c", WRITING_UNTIL_KILLED, address.dsn],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(200)]
        process.kill()
        printed += [line for line in process.stdout if line.endswith("\n")]
    async with store_at(address) as store:
        writers = set()
        for line in printed:
            ask_id, status, *writer = line.split()
            found = await store.ask(ask_id)
            assert found, "a committed ask is gone"
            if status == "answered":
                assert found.status is Status.ANSWERED
                writers.add(writer[0])
        assert writers
        for key in writers:
            cursor = await store.note(channel="test", key=key)
            assert cursor
            newest = await store.ask(cursor.value)
            assert newest
            assert newest.status is Status.ANSWERED, "a cursor was committed without its effect"


# ── a server that takes nothing ───────────────────────────────────────────────────────────────────


@pytest.fixture
def small_disk(postgres: Postgres) -> Iterator[Path]:
    folder = postgres.folder / "small"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("no full disk was tried: only root, where it may mount, can make a small one")
    try:
        shutil.chown(folder, USER, "nogroup")
        yield folder
    finally:
        # The server may keep a file of it open for a while.
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.root
async def test_a_full_disk_is_said_loses_nothing_and_heals_by_itself(
    postgres: Postgres, small_disk: Path
) -> None:
    await postgres.sql(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    await postgres.sql("CREATE DATABASE small TABLESPACE small")
    address, kept, lost = postgres.address("small"), Adding(), Adding(an_ask(text=NOISE))
    try:
        await migrate.upgrade(address)
        await postgres.sql(LEADS, "small")
        async with store_at(address) as store:
            await kept.to(store)
            await postgres.sql("CREATE TABLE filled (words text)", "small")
            for rows in (8192, 1024, 128, 16):
                with suppress(asyncpg.DiskFullError):
                    while True:
                        await postgres.sql(FILL.format(rows=rows), "small")
            with pytest.raises(StoreError, match=r"disk is full .*Free some space there"):
                await lost.to(store)
            assert await store.open_asks() == [kept.ask]
            assert lost.told == 0
            await postgres.sql("DROP TABLE filled", "small")
            await lost.to(store)
            assert await lost.happened(address)
            assert await kept.happened(address)
    finally:
        await postgres.sql("DROP DATABASE small WITH (FORCE)")
        await postgres.sql("DROP TABLESPACE small")


async def test_a_server_that_takes_no_writes_any_more_is_said_and_used_again_when_it_does(
    postgres: Postgres, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", 0.2)
    name, adding = address.name.split()[0], Adding()
    async with store_at(address) as store:
        await postgres.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await postgres.sql(END_SESSIONS.format(name=name))
        with pytest.raises(StoreError, match=r"read-only. Name the primary one"):
            await adding.to(store)
        await postgres.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await adding.to(store)
    assert await adding.happened(address)


async def test_of_several_hosts_the_one_that_can_write_is_found_also_after_a_fail_over(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BACK_WITHIN_SECONDS", PATIENCE)
    before, after = Adding(), Adding()
    async with AsyncExitStack() as stack:
        silent = await stack.enter_async_context(Wire.running(1))
        primary = stack.enter_context(running(postgres.programs))
        address = await stack.enter_async_context(primary.database(empty=True))
        silent.silence()
        await migrate.upgrade(address)
        name = address.name.split()[0]
        await primary.sql(LEADS, name)
        standby = stack.enter_context(primary.standby())
        with pytest.raises(StoreError, match="read-only"):
            await PostgresStore.open(standby.address(name))
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in (silent, standby, primary))
        several = Address(f"postgresql://{USER}@{hosts}/{name}?target_session_attrs=read-write")
        monkeypatch.setattr(connection, "CONNECT_SECONDS", 1.5)
        async with store_at(several) as store:
            await before.to(store)
            primary.stop(signal.SIGQUIT)
            writing = asyncio.create_task(after.to(store))
            await standby.sql("SELECT pg_promote()")
            await writing
        assert after.told == 1
        assert await before.happened(several)
        assert await after.happened(several)
        primary.start()  # its database is given back


async def test_a_transaction_is_as_the_lease_needs_it_whatever_the_database_has_set(
    postgres: Postgres, address: Address
) -> None:
    name = address.name.split()[0]
    await postgres.sql(f"ALTER DATABASE {name} SET default_transaction_isolation = serializable")
    try:
        async with store_at(address) as store:
            rows = await store.write(lambda tx: tx.rows("SHOW transaction_isolation"))
    finally:
        await postgres.sql(f"ALTER DATABASE {name} RESET default_transaction_isolation")
    assert [row[0] for row in rows] == ["read committed"]


# ── a server that cannot be used ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["session", "transaction"])
async def test_a_pooler_is_refused(postgres: Postgres, address: Address, mode: str) -> None:
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no pooler was tried: install pgbouncer")
    with pooler(Path(program), postgres, mode=mode) as port:
        there = Address(address.dsn.replace(f":{postgres.port}/", f":{port}/"))
        with pytest.raises(StoreError, match="behind a connection pooler") as refused:
            await PostgresStore.open(there)
    assert not isinstance(refused.value, ConnectionLost)


SECRET = "correct-horse"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            "{stranger}:wrong@{place}/{name}",
            "refused the log-in .*Check user and password in store",
        ),
        (
            f"unwelcome:{SECRET}@{{place}}/{{name}}",
            "does not let this computer in .*pg_hba.conf there",
        ),
        (
            f"{{stranger}}:{SECRET}@{{place}}/none",
            "no database .*createdb --owner stranger .* none$",
        ),
        (f"{{stranger}}:{SECRET}@{{place}}/{{name}}", "may not do that .*owner of this database"),
        (
            "nobody@{place}/ascii",
            "its encoding is SQL_ASCII, .*createdb --owner nobody .* ascii$",
        ),
        (f"a:{SECRET}@{{place}}/{{name}}?sslmode=require", "the server has no TLS .*Switch ssl on"),
        (f"a:{SECRET}@127.0.0.1:1/{{name}}", "cannot be reached .*Check that it runs"),
        (f"a:{SECRET}@{{place}}x/{{name}}", "address in store cannot be read: the port is"),
        (f"a:{SECRET}@no.such.host.invalid/{{name}}", "cannot be reached"),
    ],
    ids=(
        *("password", "rules", "database", "permission", "encoding"),
        *("tls", "nobody", "unreadable", "unknown"),
    ),
)
async def test_what_is_wrong_with_an_address_is_said_without_its_password(
    postgres: Postgres, caplog: pytest.LogCaptureFixture, address: str, says: str
) -> None:
    async with (
        postgres.database(empty=True) as empty,
        rule(postgres, "host all unwelcome 127.0.0.1/32 reject"),
        stranger(postgres, SECRET) as name,
    ):
        await postgres.sql(ASCII)
        place = f"127.0.0.1:{postgres.port}"
        names = {"stranger": name, "place": place, "name": empty.name.split()[0]}
        given = Address("postgresql://" + address.format(**names))
        try:
            with pytest.raises(StoreError, match=says) as refused:
                await migrate.upgrade(given)
        finally:
            await postgres.sql("DROP DATABASE ascii")
    shown = f"{refused.value!r} {refused.value} {given!r} {given} {caplog.text}"
    assert SECRET not in shown
    assert ":wrong" not in shown
    assert given.called in str(refused.value)


def test_a_connection_that_breaks_inside_the_library_counts_as_lost_and_is_called_so() -> None:
    broken = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is on")
    failure = connection.translated_error(broken, "the database x")
    assert isinstance(failure, ConnectionLost)
    assert "the connection was lost" in str(failure)


async def test_an_answer_that_the_library_does_not_understand_is_an_error_of_the_store(
    address: Address, wire: Wire
) -> None:
    wire.spoils = b"FROM chatbridge"
    with pytest.raises(StoreError, match="number of columns"):
        await migrate.upgrade(wire.over(address))
    wire.spoils = b"FROM attachment_bytes"
    assert await FileTable(wire.over(address)).names() == []  # tried again
    assert not wire.spoils


def test_a_server_that_is_too_old_is_refused() -> None:
    about = {"version": 13, "encoding": "UTF8", "read_only": False}
    with pytest.raises(StoreError, match=r"PostgreSQL 13 is too old. Use version 14 or newer"):
        connection.check_fit(about, "the database x", "postgresql://db.internal/x")
