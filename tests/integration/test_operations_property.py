"""Whatever happens in whatever order: every operation ends once, and is handed out once at most."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.core.operation import Operation, Stage
from tests.fakes.clock import StillClock
from tests.fakes.databases import Database, SqliteFile
from tests.fakes.operating import PATIENCE, Operating, PretendGate, operating, operation
from tests.fakes.runner import PretendRunner

LIMIT, GROUP_LIMIT = 2, 1

_begin = st.tuples(
    st.just("begin"),
    st.sampled_from(["link-1", "link-2"]),
    st.sampled_from(["cargo", "git"]),
    st.booleans(),
    st.sampled_from([Stage.QUEUED, Stage.AWAITING_APPROVAL]),
)
_upon = st.tuples(
    st.sampled_from(["again", "allow", "deny", "end", "fail", "cancel", "delivered"]),
    st.integers(0, 20),
)
_around = st.tuples(
    st.sampled_from(["restart", "unreachable", "reachable", "dies", "unconfirmed", "confirmed"])
)
_wait = st.tuples(st.just("wait"), st.integers(0, 30))
steps = st.lists(st.one_of(_begin, _begin, _upon, _upon, _wait, _around), max_size=40)


class Life:
    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self.clock = StillClock()
        self.runner = PretendRunner(self.clock)
        self.gate = PretendGate()
        self.wanted: dict[str, Operation] = {}
        self.told: Counter[str] = Counter()
        self.hub: Operating
        self.ends: Counter[str]
        self.beside: set[asyncio.Task[Any]] = set()
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Life:
        await self._hub()
        # Every end that is stored, whoever is alive to notice it.
        await self.database.rows("CREATE TABLE ends (id TEXT)")
        await self.database.add_trigger(
            "an_end",
            "AFTER UPDATE OF stage ON operations",
            when="new.ended_at IS NOT NULL",
            do="INSERT INTO ends VALUES (new.id)",
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.kill()
        await self.database.drop_trigger("an_end", "operations")
        self.ends = Counter(row[0] for row in await self.database.rows("SELECT id FROM ends"))
        await self.database.rows("DROP TABLE ends")
        await self.database.clear()

    async def _hub(self) -> None:
        opened = operating(
            self.folder,
            self.runner,
            self.gate,
            clock=self.clock,
            concurrency=LIMIT,
            database=self.database,
        )
        self.hub = await self._open.enter_async_context(opened)

    async def kill(self) -> None:
        for task in self.beside:
            task.cancel()
        await asyncio.gather(*self.beside, return_exceptions=True)
        self.beside.clear()
        self.told.update(each.id for each in self.hub.ended)
        await self._open.aclose()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self.beside.add(asyncio.ensure_future(work))

    async def step(self, name: str, *given: Any) -> None:
        match name, given:
            case "begin", (link, group, synchronous, stage):
                wanted = operation(
                    link=link,
                    group=group,
                    synchronous=synchronous,
                    stage=stage,
                    concurrency=GROUP_LIMIT if group == "cargo" else None,
                )
                self.wanted[wanted.id] = wanted
                self.spawn(self.hub.operations.begin(wanted))
            case "wait", (times,):
                for _ in range(times):
                    await self.hub.store.operations.get("none")
                self.clock.advance(1.0)
            case "restart", _:
                await self.kill()
                self._open = AsyncExitStack()
                await self._hub()
            case "unreachable" | "reachable", _:
                self.runner.reachable = name == "reachable"
            case "unconfirmed" | "confirmed", _:
                self.runner.loses_confirmations = name == "unconfirmed"
            case "dies", _:
                self.runner.die()
            case _, (number,):
                self.upon(name, number)

    def upon(self, name: str, number: int) -> None:
        if name in ("allow", "deny") and self.gate.asks:
            ask_id = list(self.gate.asks)[number % len(self.gate.asks)]
            self.gate.say(ask_id, None if name == "allow" else name)
        elif name in ("end", "fail") and self.runner.running:
            operation_id = list(self.runner.running)[number % len(self.runner.running)]
            self.runner.end(operation_id, int(name == "fail"), output=b"words")
        elif name in ("again", "cancel", "delivered") and self.wanted:
            it = self.wanted[list(self.wanted)[number % len(self.wanted)]]
            doing = self.hub.operations
            match name:
                case "again":
                    again = operation()
                    self.wanted[again.id] = again = replace(it, id=again.id)
                    self.spawn(doing.begin(again))
                case "cancel":
                    self.spawn(doing.cancel(it.id, project=it.project.key))
                case _:
                    self.spawn(doing.delivered(it.call))

    def check(self) -> None:
        handed = [order.id for order in self.runner.handed]
        assert len(set(handed)) == len(handed), "an order was handed out twice"
        running = [self.wanted[operation_id] for operation_id in self.runner.running]
        kinds = Counter(each.plan.synchronous for each in running)
        assert all(number <= LIMIT for number in kinds.values())
        assert sum(each.group == "cargo" for each in running) <= GROUP_LIMIT

    async def to_the_end(self) -> Sequence[Operation]:
        """Everybody answers, every command ends, nothing is wrong any more."""
        self.runner.reachable, self.runner.loses_confirmations = True, False
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for ask_id in list(self.gate.asks):
                self.gate.say(ask_id, None)
            for operation_id in list(self.runner.running):
                self.runner.end(operation_id)
            stored = all(task.done() for task in self.beside)
            rows = [await self.hub.store.operations.get(each) for each in self.wanted]
            over = stored and all(row is None or row.ended for row in rows)
            if over and not self.runner.ends:
                return [row for row in rows if row is not None]
            self.check()
            self.clock.advance(10.0)
        raise AssertionError(f"never over: {rows}, {self.runner.ends}")


def test_every_operation_ends_once_and_no_order_is_given_twice(database: Database) -> None:
    @settings(max_examples=30 if isinstance(database, SqliteFile) else 8)
    @given(steps)
    def lives(happenings: list[tuple[Any, ...]]) -> None:
        asyncio.run(live(database, happenings))

    lives()


async def live(database: Database, happenings: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory(prefix="cb-") as folder:
        async with Life(Path(folder), database) as life:
            for happening in happenings:
                await life.step(*happening)
                life.check()
            rows = await life.to_the_end()
        assert life.ends == Counter(row.id for row in rows)
        assert all(number <= 1 for number in life.told.values())
        handed = {order.id for order in life.runner.handed}
        for row in rows:
            if row.stage is Stage.SUCCEEDED:
                assert row.id in handed
            if row.stage is Stage.DENIED or row.started_at is None:
                assert row.id not in handed
            if life.wanted[row.id].stage is Stage.AWAITING_APPROVAL and row.id in handed:
                assert row.ask_id is not None
                assert life.gate.words[row.ask_id] is None
