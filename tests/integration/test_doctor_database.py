"""doctor looks through the database, beside a hub that writes to it, and when it is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.cli.database import DatabaseFile, notes
from chatbridge.cli.doctor import database as module
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.run import Check
from chatbridge.core.model import ChannelState
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask
from tests.fakes.doctor import Machine, screen

DATABASE = Check("database", database)
PAGE = 4096


@pytest.fixture
def path(machine: Machine) -> Path:
    machine.state.mkdir(mode=0o700)
    return machine.state / "chatbridge.db"


async def filled(path: Path, questions: int) -> SqliteStore:
    store = await SqliteStore.open(path)
    for _ in range(questions):
        ask = an_ask()
        await store.write(lambda tx, ask=ask: tx.add_ask(ask))  # type: ignore[misc]
    return store


def damage(path: Path, *, at: int = 3 * PAGE) -> None:
    with open(path, "r+b" if path.exists() else "wb") as file:
        file.seek(at)
        file.write(b"\xff" * PAGE * 4)


async def test_before_the_first_hub_there_is_none(machine: Machine) -> None:
    assert screen(await machine.look(DATABASE)) == (
        "✓ database         none yet: the first hub creates it\n"
    )


async def test_questions_are_counted(machine: Machine, path: Path) -> None:
    await (await filled(path, 3)).close()
    assert screen(await machine.look(DATABASE)) == "✓ database         3 questions, integrity ok\n"


@pytest.mark.parametrize(
    "damage", ["questions = '[7]'", "title = CAST(x'ff41' AS TEXT)", "title = x'ff'"]
)
async def test_what_this_version_cannot_read_is_a_problem_and_named(
    machine: Machine, path: Path, damage: str
) -> None:
    store = await filled(path, 2)
    (broken, _) = await store.open_asks()
    await store.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE asks SET {damage} WHERE id = ?", (broken.id,))  # noqa: S608
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert found.what == f"this version cannot read question {broken.id}"
    assert "reinstall the version" in found.fix[0]


async def test_what_a_running_hub_has_only_in_its_log_counts(machine: Machine, path: Path) -> None:
    store = await filled(path, 1)
    try:
        assert path.with_name("chatbridge.db-wal").stat().st_size > 0
        (found,) = await machine.look(DATABASE)
        assert found.what == "1 question, integrity ok"
    finally:
        await store.close()


async def test_a_damaged_one_is_a_problem_with_a_way_out(machine: Machine, path: Path) -> None:
    await (await filled(path, 200)).close()
    damage(path)
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("~/s/chatbridge.db is damaged")
    assert found.fix == (
        "chatbridge stop, then put back a copy, or save what can be read with sqlite.org's: "
        "sqlite3 ~/s/chatbridge.db .recover",
    )


async def test_a_file_that_is_no_database_is_a_problem(machine: Machine, path: Path) -> None:
    damage(path, at=0)
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert "not a SQLite database" in found.what


async def test_a_newer_database_is_a_problem(machine: Machine, path: Path) -> None:
    await (await filled(path, 1)).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 99")
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert "is of a newer chatbridge (schema version 99, this one knows up to" in found.what
    assert "Install the newer one again, or put back a copy" in " ".join(found.fix)


async def test_one_that_takes_too_long_is_left_alone(
    machine: Machine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await filled(path, 50)).close()
    monkeypatch.setattr(module, "LOOK_SECONDS", -1.0)
    monkeypatch.setattr(module, "STEPS", 1)
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.REMARK
    assert found.what.startswith("too large to be checked")


async def test_what_a_channel_remembers_is_read_without_the_hub(path: Path) -> None:
    store = await SqliteStore.open(path)
    note = ChannelState(channel="telegram", key="chat:telegram:-1", value="-100", at=1.0)
    await store.write(lambda tx: tx.save_note(note))
    await store.close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO notes VALUES ('telegram', 'odd', CAST(x'ff' AS TEXT), 1.0)")
    assert notes(DatabaseFile(path), "telegram") == {"chat:telegram:-1": "-100", "odd": "\ufffd"}
    assert notes(DatabaseFile(path), "matrix") == {}
    assert notes(DatabaseFile(path.with_name("none.db")), "matrix") == {}
