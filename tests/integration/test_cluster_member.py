"""A hub of several in this process, over a real PostgreSQL: how it comes to lead, and what keeps it
from that."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import pytest

from chatbridge import runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.core.tasks import end_tasks
from chatbridge.hub.cluster import member
from chatbridge.hub.http import serving
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.hub import settings_in_force
from chatbridge.store.postgres import migrate
from chatbridge.store.postgres.connection import Address
from tests.fakes.cluster import Hole, free_port
from tests.fakes.postgres import Postgres, value
from tests.integration.test_cluster_election import Node, leads, nodes

pytestmark = pytest.mark.postgres

PATIENCE = 20.0
AT_ONCE = 5.0
TURN_SECONDS = 2.0
FEED_SECONDS = 0.1
DEPOSES = "UPDATE leader SET holder = '', epoch = epoch + 1"
WAITING = "SELECT 1 FROM pg_locks WHERE relation = 'notes'::regclass AND NOT granted"
LEADS, FOLLOWS, FED = ", ready", ", follows", "WATCHDOG=1"


class Forgetful(Hole):
    """Lets the second connection pass nothing on from the moment in which it asks for the version
    of the tables, and tells nobody. The first one is that of the election."""

    def __init__(self, port: int) -> None:
        self._asked = 0
        self.forgotten = threading.Event()
        super().__init__(port)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if b"to_regclass" in data:
                    self._asked += 1
                    if self._asked == 2:
                        self.forgotten.set()
                        return
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Manager(Systemd):
    """May be kept from ending, as anything that a hub waits for at its end may."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def feed_watchdog(
        self, responds: Callable[[], Awaitable[None]], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        try:
            await super().feed_watchdog(responds, sleep)
        finally:
            await self.goes_on.wait()


class Hub:
    """`process_ended` is set instead of ending this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = folder / "config.toml"
        self.process_ended = asyncio.Event()
        self._state = folder / "state"
        self._patch = monkeypatch
        self.told_to_stop = asyncio.Event()
        self._news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._news.bind(str(folder / "news"))
        self._news.setblocking(False)

    @asynccontextmanager
    async def running(self, address: Address, **settings: str) -> AsyncIterator[None]:
        given = {
            "CHATBRIDGE_STORE": address.dsn,
            "CHATBRIDGE_CLUSTER__LISTEN": f"127.0.0.1:{free_port()}",
            "CHATBRIDGE_CLUSTER__NAME": "hub-a",
            "CHATBRIDGE_CONFIG": str(self.config),
            "CHATBRIDGE_STATE_DIR": str(self._state),
            "CHATBRIDGE_WEB__ENABLED": "false",
            "NOTIFY_SOCKET": self._news.getsockname(),
            "WATCHDOG_USEC": str(int(2 * FEED_SECONDS * 1_000_000)),
            **settings,
        }
        for name, setting in given.items():
            self._patch.setenv(name, setting)
        self._patch.setattr(member, "TURN_SECONDS", TURN_SECONDS)
        self._patch.setattr(member, "_hangs", self.process_ended.set)
        self.systemd = Manager()
        with self._news, Lock(str(self._state), started_by="person") as lock:
            path = runtime_paths.socket_path(str(lock.state))
            living = asyncio.ensure_future(
                member.run_member(
                    lock,
                    settings_in_force(None),
                    config=None,
                    ready=lambda: None,
                    systemd=self.systemd,
                    bind=lambda: runtime_paths.bind_socket(path),
                    path=path,
                    system=False,
                    http=None,
                    stop=self.told_to_stop,
                )
            )
            self._living = living
            try:
                yield
            finally:
                await end_tasks([living])

    async def hear(self, news: str) -> None:
        """Wait until its manager is told this, and fail if it ends before."""
        loop = asyncio.get_running_loop()

        async def heard() -> None:
            while news not in (await loop.sock_recv(self._news, 65536)).decode():
                pass

        hearing = asyncio.ensure_future(heard())
        try:
            await asyncio.wait(
                {hearing, self._living},
                timeout=PATIENCE,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if self._living.done():
                self._living.result()
            assert hearing.done(), f"it was not told {news}"
        finally:
            await end_tasks([hearing])

    async def stop(self) -> None:
        self.told_to_stop.set()
        async with asyncio.timeout(AT_ONCE):
            await asyncio.wait({self._living})
        self._living.result()


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    """A database that nobody leads, and no other test has."""
    async with postgres.database(empty=True) as found:
        await migrate.upgrade(found)
        yield found


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with tempfile.TemporaryDirectory(prefix="cb-") as folder:  # short: sockets are in it
        yield Hub(Path(folder), monkeypatch)


# ── new tables ────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def forgetful(
    postgres: Postgres, address: Address
) -> AsyncIterator[tuple[Forgetful, Address]]:
    hole = Forgetful(postgres.port)
    try:
        yield hole, postgres.address(address.name.split()[0], port=hole.port)
    finally:
        hole.close()


async def test_a_hub_whose_question_for_the_version_has_no_answer_lets_another_one_lead(
    hub: Hub, address: Address, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "STATEMENT_SECONDS", 0.2)
    async with (
        nodes(address, "hub-b") as (other,),
        forgetful(postgres, address) as (_, way),
        hub.running(way),
    ):
        await hub.hear(FOLLOWS)
        await hub.hear(FOLLOWS)
        await leads(other.start())


async def test_a_hub_that_waits_for_the_version_of_the_tables_stops_at_once(
    hub: Hub, address: Address, postgres: Postgres
) -> None:
    async with forgetful(postgres, address) as (hole, way), hub.running(way):
        assert await asyncio.to_thread(hole.forgotten.wait, PATIENCE)
        await hub.stop()


@pytest.fixture
async def under_way(
    hub: Hub, address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[asyncio.Event]:
    """The hub leads and changes tables, which takes until the event is set."""
    shutil.copytree(str(migrate.SCHEMA), tmp_path / "schema")
    (tmp_path / "schema" / "9999_newer.sql").write_text("LOCK TABLE notes; SELECT 1;")
    monkeypatch.setattr(migrate, "SCHEMA", tmp_path / "schema")
    changed = asyncio.Event()

    async def hold() -> None:
        async with holding.transaction():
            await holding.execute("LOCK TABLE notes")
            held.set()
            await changed.wait()

    held = asyncio.Event()
    holding = await asyncpg.connect(address.dsn)
    holds = asyncio.ensure_future(hold())
    await held.wait()
    try:
        async with hub.running(address):
            async with asyncio.timeout(PATIENCE):
                while not await value(address, WAITING):  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
            yield changed
    finally:
        await end_tasks([holds])
        await holding.close()


async def test_new_tables_may_take_longer_than_a_turn_and_the_watchdog_is_fed_meanwhile(
    hub: Hub, under_way: asyncio.Event
) -> None:
    began = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() < began + 2 * TURN_SECONDS:
        await hub.hear(FED)
    under_way.set()
    await hub.hear(LEADS)
    assert not hub.process_ended.is_set()
    await hub.stop()


@pytest.mark.usefixtures("under_way")
async def test_a_hub_that_changes_tables_stops_at_once(hub: Hub) -> None:
    await hub.stop()


@pytest.mark.usefixtures("under_way")
async def test_a_hub_that_is_deposed_while_it_changes_tables_follows(
    hub: Hub, address: Address
) -> None:
    await hub.hear(FOLLOWS)
    await value(address, DEPOSES)
    await hub.hear(FOLLOWS)
    await hub.stop()


# ── the end of leading ────────────────────────────────────────────────────────────────────────────


async def test_a_hub_goes_by_the_settings_of_its_start_however_often_it_leads(
    hub: Hub, address: Address
) -> None:
    async with hub.running(address):
        await hub.hear(LEADS)
        hub.config.write_text("[quiet\n")
        await value(address, DEPOSES)
        await hub.hear(FOLLOWS)
        await hub.hear(LEADS)
        await hub.stop()


async def test_a_hub_that_does_not_come_to_its_end_lets_another_one_lead_and_is_ended(
    hub: Hub, address: Address
) -> None:
    async with nodes(address, "hub-b") as (other,), hub.running(address):
        await hub.hear(LEADS)
        hub.systemd.goes_on.clear()
        try:
            hub.told_to_stop.set()
            await leads(other.start())
            async with asyncio.timeout(PATIENCE):
                await hub.process_ended.wait()
        finally:
            hub.systemd.goes_on.set()
        await hub.stop()


# ── agents over HTTP ──────────────────────────────────────────────────────────────────────────────


async def remarks() -> list[str]:
    """Of the hub of this process."""
    found: list[str] = (await asyncio.to_thread(ask_hub, "status"))["remarks"]
    return [each for each in found if "Agents on other machines" in each]


@pytest.fixture
async def led(address: Address) -> AsyncIterator[Node]:
    """Another hub, which leads."""
    async with nodes(address, "hub-b") as (other,):
        await leads(other.start())
        yield other


async def test_a_port_for_agents_that_is_taken_keeps_no_hub_from_following_and_is_had_later(
    hub: Hub, address: Address, led: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "RETRY_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = taken.getsockname()
        async with hub.running(address, CHATBRIDGE_HTTP__ADDRESS="{}:{}".format(*place)):
            await hub.hear(FOLLOWS)
            (remark,) = await remarks()
            assert "http.address" in remark
            taken.close()
            async with asyncio.timeout(PATIENCE):
                while await remarks():
                    pass
            _, agent = await asyncio.open_connection(*place)
            agent.close()
            await hub.stop()


async def test_a_port_for_agents_that_is_taken_keeps_no_hub_from_leading(
    hub: Hub, address: Address
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = "{}:{}".format(*taken.getsockname())
        async with hub.running(address, CHATBRIDGE_HTTP__ADDRESS=place):
            await hub.hear(LEADS)
            assert len(await remarks()) == 1
            await hub.stop()
