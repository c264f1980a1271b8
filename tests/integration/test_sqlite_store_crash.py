"""The SQLite store when its process is killed and when its disk is full."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.core.model import Status
from chatbridge.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parent.parent.parent

WRITING_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from chatbridge.core.model import ChannelState, Status
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, answered

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
    store = await SqliteStore.open(Path(sys.argv[1]))
    await asyncio.gather(*(ask_and_answer(store, writer) for writer in range(8)))

asyncio.run(main())
"""

FILLING_THE_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
from chatbridge.core.errors import StoreError
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    async def add():
        ask = an_ask(text="x" * 5000)
        await store.write(lambda tx: tx.add_ask(ask))
        return ask.id

    committed, errors = [], []
    limit(500_000)
    while not errors:
        batch = await asyncio.gather(*(add() for _ in range(10)), return_exceptions=True)
        committed += [each for each in batch if isinstance(each, str)]
        errors += [each for each in batch if not isinstance(each, str)]
    readable = len(await store.open_asks())
    limit(resource.RLIM_INFINITY)
    after = await add()
    await store.close()
    print(json.dumps({
        "committed": committed, "readable": readable, "after": after,
        "kinds": [type(error).__name__ for error in errors], "message": str(errors[0]),
    }))

asyncio.run(main())
"""


def python(script: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("lines", [1, 50, 400])
async def test_what_was_committed_survives_a_kill_in_the_middle_of_writing(
    tmp_path: Path, lines: int
) -> None:
    path = tmp_path / "chatbridge.db"
    with python(WRITING_UNTIL_KILLED, path) as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        # A line that the kill cut off says nothing.
        printed += [line for line in process.stdout if line.endswith("\n")]
    store = await SqliteStore.open(path)
    writers = set()
    for line in printed:
        ask_id, status, *writer = line.split()
        found = await store.ask(ask_id)
        assert found, "a committed ask is gone"
        if status == "answered":
            assert found.status is Status.ANSWERED
            writers.add(writer[0])
    for key in writers:
        cursor = await store.note(channel="test", key=key)
        assert cursor
        newest = await store.ask(cursor.value)
        assert newest
        assert newest.status is Status.ANSWERED, "a cursor was committed without its effect"
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_a_full_disk_is_said_loses_nothing_and_heals_by_itself(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk: it needs no rights."""
    path = tmp_path / "chatbridge.db"
    with python(FILLING_THE_DISK, path) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    result = json.loads(output)
    assert set(result["kinds"]) == {"StoreError"}
    assert str(path) in result["message"]
    assert "disk" in result["message"]
    assert result["readable"] == len(result["committed"])
    store = await SqliteStore.open(path)
    found = {ask.id for ask in await store.open_asks()}
    await store.close()
    assert found == {*result["committed"], result["after"]}
