"""A database that is deleted or replaced under a running hub: noticed, said, and nothing new is
promised that the next hub could not keep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Question, Status
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.core_env import BLUE, OWNER, PATIENCE, world
from tests.fakes.machine import house

OTHER = Question(id="q", text="And now?")


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    new.replace(path)


def delete_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def delete_folder(path: Path) -> None:
    for each in path.parent.iterdir():
        each.unlink()
    path.parent.rmdir()


@pytest.mark.parametrize("lose", [delete, replace, delete_log, delete_folder])
async def test_agents_that_wait_get_their_answer_and_nothing_new_is_asked(
    tmp_path: Path, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    told: list[str] = []
    async with world(folder) as hub:
        hub.store.on_lost = told.append
        ask = await hub.ask()
        assert hub.store.faults() == []
        lose(folder / "chatbridge.db")
        waiting = asyncio.ensure_future(hub.ended(ask))
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert (await waiting).status is Status.ANSWERED
        with pytest.raises(StoreError, match="was deleted or replaced while the hub runs"):
            await hub.ask(OTHER, number=2)
        (fault,) = hub.store.faults()
    assert told == [fault]
    assert "chatbridge restart" in fault
    assert caplog.text.count("was deleted or replaced") == 1


async def test_it_is_noticed_while_nobody_writes_as_long_as_something_is_open(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    async with world(tmp_path, max_timeout=1e6) as hub:
        hub.store.on_lost = told.append
        await hub.ask(timeout=1e5)
        await asyncio.wait_for(hub.clock.until_asleep(30.0), PATIENCE)
        delete(tmp_path / "chatbridge.db")
        async with asyncio.timeout(PATIENCE):
            while not told:
                hub.clock.advance(30.0)
                await asyncio.sleep(0.001)


async def test_one_that_is_put_back_goes_on_with_all_that_was_written_meanwhile(
    tmp_path: Path,
) -> None:
    path, elsewhere = tmp_path / "chatbridge.db", tmp_path / "elsewhere"
    async with world(tmp_path) as hub:
        ask = await hub.ask()
        path.rename(elsewhere)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        assert hub.store.faults()
        elsewhere.rename(path)
        assert hub.store.faults() == []
        other = await hub.ask(OTHER, number=2)
    store = await SqliteStore.open(path)
    try:
        assert [each.id for each in await store.open_asks()] == [other.id]
        assert [each.id for each in await store.history(limit=9)] == [ask.id]
    finally:
        await store.close()


def test_doctor_status_and_the_agent_are_told_what_to_do() -> None:
    with house() as home:
        with home.agent() as first, home.agent() as second:
            first.initialize()
            second.initialize()
            first.ask(1)
            ask = home.until()
            home.database.unlink()
            second.ask(2, {"question": "And now?"})
            refused = json.dumps(second.result())
            assert "was deleted or replaced while the hub runs" in refused
            (said,) = json.loads(home.run("status", "--json").stdout)["faults"]
            assert "chatbridge restart" in said
            found = home.run("doctor", "--json")
            checks = json.loads(found.stdout)["checks"]
            (database,) = [each for each in checks if each["name"] == "database"]
            assert (found.returncode, database["result"]) == (1, "problem")
            assert "was deleted or replaced" in database["what"]
            home.answer(ask)
            assert "blue" in json.dumps(first.result())
        home.kill_hub()
        with home.agent() as third:  # and the next hub begins with a new one
            third.initialize()
            third.ask(3)
            assert home.until()["id"] != ask["id"]
