"""Files of agents and people where several hubs have one database, and a directory each."""

from __future__ import annotations

import asyncio
import io
import signal
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.quota_folder import GRACE_SECONDS
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.errors import AttachmentError, StoreError
from chatbridge.core.model import Ask, Attachment, Status
from chatbridge.store.postgres import file_copies
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import PostgresStore
from tests.contract.asks import an_ask, answered
from tests.fakes.clock import StillClock
from tests.fakes.postgres import FENCE, Postgres

pytestmark = pytest.mark.postgres

LIMITS = AttachmentLimits(largest=8_000_000, quota=10_000_000)
LOG = b"It failed.\n" * 300_000  # more than one part
NAMES = "SELECT count(DISTINCT name) FROM attachment_bytes"


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database() as address:
        yield address


@pytest.fixture
async def store(address: Address) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(address, fence=FENCE)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@asynccontextmanager
async def hub(
    folder: Path, store: PostgresStore, clock: StillClock, *, shared: bool = True
) -> AsyncIterator[AttachmentFiles]:
    files = AttachmentFiles(folder, LIMITS, clock, store.file_copies if shared else None)
    try:
        yield files
    finally:
        await files.close()


async def sent(files: AttachmentFiles, content: bytes) -> Attachment:
    return await files.add(io.BytesIO(content), name="build.log")


async def received(files: AttachmentFiles, content: bytes, ask: Ask) -> Attachment:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    return await files.receive(pieces(), name="a.txt", to=ask)


def content_of(files: AttachmentFiles, attachment: Attachment) -> bytes | None:
    path = files.path(attachment)
    return Path(path).read_bytes() if path else None


def files_in(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


async def count(address: Address) -> int:
    connection = await asyncpg.connect(address.dsn)
    try:
        return int(await connection.fetchval(NAMES))
    finally:
        await connection.close()


async def test_the_next_hub_has_the_files_of_agents_and_people(
    tmp_path: Path, store: PostgresStore, clock: StillClock
) -> None:
    async with hub(tmp_path / "one", store, clock) as one:
        log = await sent(one, LOG)
        ask = an_ask(attachments=(log,))
        photo = await received(one, b"what it says", ask)
        old = await sent(one, b"of an ask that has ended")
        ended = an_ask(attachments=(old,))
        for each in (ask, ended):
            await store.write(lambda tx, each=each: tx.add_ask(each))  # type: ignore[misc]
        await store.write(lambda tx: tx.save_ask(answered(ended), was=Status.OPEN))
    async with hub(tmp_path / "two", store, clock) as two:
        await two.bring(of_open=True)
        assert content_of(two, log) == LOG
        assert content_of(two, photo) == b"what it says"
        assert content_of(two, old) is None
        await two.sweep(store)
        assert content_of(two, old) == b"of an ask that has ended"
        with pytest.raises(AttachmentError, match="space for attached files is full"):
            await sent(two, b"x" * 7_000_000)


async def test_nothing_is_told_of_a_file_that_only_this_hub_has(
    tmp_path: Path, store: PostgresStore, clock: StillClock, postgres: Postgres
) -> None:
    async with hub(tmp_path, store, clock) as files:
        await asyncio.to_thread(postgres.stop, signal.SIGINT)
        try:
            with pytest.raises(AttachmentError, match=r"cannot be stored .*cannot be reached"):
                await sent(files, LOG)
            with pytest.raises(AttachmentError, match="cannot be stored on your computer"):
                await received(files, b"photo", an_ask())
        finally:
            postgres.start()
        assert content_of(files, await sent(files, LOG)) == LOG


async def test_the_copies_go_with_their_asks_and_not_before(
    tmp_path: Path, store: PostgresStore, clock: StillClock, address: Address
) -> None:
    async with hub(tmp_path, store, clock) as files:
        ask = an_ask(attachments=(await sent(files, LOG),))
        await received(files, b"photo", ask)
        await sent(files, b"of an ask that was never asked")
        await store.write(lambda tx: tx.add_ask(ask))
        await files.sweep(store)
        assert await count(address) == 3
        clock.advance(GRACE_SECONDS + 1)
        await files.sweep(store)
        assert await count(address) == 2
        await store.write(lambda tx: tx.save_ask(answered(ask), was=Status.OPEN))
        await store.sweep(before=3000.0)
        await files.sweep(store)
        assert await count(address) == 0
        assert not files_in(tmp_path)


async def test_files_that_were_there_before_their_database_are_copied_to_it(
    tmp_path: Path, store: PostgresStore, clock: StillClock, address: Address
) -> None:
    async with hub(tmp_path / "one", store, clock, shared=False) as alone:
        log = await sent(alone, LOG)
        await sent(alone, b"of no ask")
        ask = an_ask(attachments=(log,))
        photo = await received(alone, b"photo", ask)
    await store.write(lambda tx: tx.add_ask(ask))
    async with hub(tmp_path / "one", store, clock) as one:
        await one.sweep(store)
    assert await count(address) == 2
    async with hub(tmp_path / "two", store, clock) as two:
        await two.bring()
        assert (content_of(two, log), content_of(two, photo)) == (LOG, b"photo")


async def test_a_copy_that_is_another_file_or_has_another_place_is_left_there(
    tmp_path: Path, store: PostgresStore, clock: StillClock, address: Address
) -> None:
    names = [f"attachments/{'a' * 64}", "attachments/../../escaped", "/etc/escaped", "received/x/y"]
    connection = await asyncpg.connect(address.dsn)
    for name in names:
        await connection.execute("INSERT INTO attachment_bytes VALUES ($1, 0, 1.0, 'x')", name)
    await connection.close()
    async with hub(tmp_path / "state", store, clock) as files:
        await files.bring()
    assert not files_in(tmp_path)


async def test_a_file_of_any_size_takes_little_memory(
    tmp_path: Path, store: PostgresStore, clock: StillClock
) -> None:
    content = LOG[: 8 * file_copies.PART_BYTES]
    async with (
        hub(tmp_path / "one", store, clock) as one,
        hub(tmp_path / "two", store, clock) as two,
    ):
        log = await sent(one, content)
        await store.write(lambda tx: tx.add_ask(an_ask(attachments=(log,))))
        tracemalloc.start()
        try:
            await two.bring()
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert content_of(two, log) == content
    assert most < 4 * file_copies.PART_BYTES


async def test_a_server_that_does_not_answer_holds_up_no_file_for_ever(
    address: Address, store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_copies, "STATEMENT_SECONDS", 0.1)
    assert store.file_copies
    path = tmp_path / "build.log"
    path.write_bytes(LOG)
    holder = await asyncpg.connect(address.dsn)
    try:
        await holder.execute("BEGIN; LOCK TABLE attachment_bytes")
        async with asyncio.timeout(20.0):
            with pytest.raises(StoreError, match="does not answer"):
                await store.file_copies.save("attachments/x", path, now=1.0)
    finally:
        await holder.close()
    await store.file_copies.save("attachments/x", path, now=1.0)
    assert b"".join([part async for part in store.file_copies.read("attachments/x")]) == LOG
