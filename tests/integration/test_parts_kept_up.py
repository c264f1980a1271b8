"""A real hub begins its parts again when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from chatbridge.core.model import Ask
from chatbridge.core.tasks import FIRST_PAUSE_SECONDS
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.wiring import database, hub
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import StillClock

PATIENCE = 20.0
MOST_TURNS = 10


async def test_deadlines_are_begun_again_after_an_error_that_nobody_thought_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, failed, again = StillClock(), asyncio.Event(), asyncio.Event()

    class DamagedStore(SqliteStore):
        async def unsettled_delivery(self) -> Sequence[Ask]:
            if not failed.is_set():
                failed.set()
                raise RuntimeError("not an error of the store's")
            again.set()
            return await super().unsettled_delivery()

    monkeypatch.setattr(hub, "SystemClock", lambda: clock)
    monkeypatch.setattr(database, "SqliteStore", DamagedStore)
    monkeypatch.setenv("CHATBRIDGE_WEB__ENABLED", "false")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "none.toml"))
    settings = hub.settings_in_force(None)
    with Lock(str(tmp_path), started_by="person") as lock:
        async with hub.open_hub(lock, settings, config=None, agents=list):
            await asyncio.wait_for(failed.wait(), PATIENCE)
            clock.advance(FIRST_PAUSE_SECONDS)
            await asyncio.wait_for(again.wait(), PATIENCE)


async def test_a_hub_that_ends_just_after_its_start_waits_for_none_of_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever turn of the event loop that is: its channels are begun meanwhile."""
    monkeypatch.setenv("CHATBRIDGE_WEB__ENABLED", "false")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "none.toml"))
    settings = hub.settings_in_force(None)
    with Lock(str(tmp_path), started_by="person") as lock:
        for turns in range(MOST_TURNS):
            async with (
                asyncio.timeout(PATIENCE),
                hub.open_hub(lock, settings, config=None, agents=list, commands=False),
            ):
                for _ in range(turns):
                    await asyncio.sleep(0)
