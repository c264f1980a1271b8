"""How every store commits: one work after another, durably, and each for itself."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from chatbridge.core.errors import AskEnded, StoreError
from chatbridge.core.model import Ask, ChannelState, Status
from chatbridge.core.store_port import Store, Transaction
from tests.contract.asks import an_ask, answered

T = TypeVar("T")

CURSOR = ChannelState(channel="telegram", key="bot", value="7", at=1.0)


@asynccontextmanager
async def held_up(store: Store) -> AsyncIterator[None]:
    """Inside of it works only queue up, so that they meet in one commit afterwards."""
    started, release = asyncio.Event(), asyncio.Event()

    async def work(_: Transaction) -> None:
        started.set()
        await release.wait()

    holding = asyncio.create_task(store.write(work))
    await asyncio.wait_for(started.wait(), 10)
    try:
        yield
    finally:
        release.set()
        await asyncio.wait_for(holding, 10)


async def together(
    store: Store, *works: Callable[[Transaction], Awaitable[T]]
) -> list[T | BaseException]:
    async with held_up(store):
        tasks = [asyncio.create_task(store.write(work)) for work in works]
        await asyncio.sleep(0)
    return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)


def adding(ask: Ask) -> Callable[[Transaction], Awaitable[None]]:
    return lambda tx: tx.add_ask(ask)


async def test_of_fifty_concurrent_settles_one_wins(store: Store) -> None:
    ask = an_ask()
    await store.write(adding(ask))

    async def settle(answer: int) -> bool:
        return await store.write(
            lambda tx: tx.save_ask(answered(ask, str(answer)), was=Status.OPEN)
        )

    won = await asyncio.gather(*(settle(answer) for answer in range(50)))
    assert won.count(True) == 1
    assert await store.ask(ask.id) == answered(ask, str(won.index(True)))


async def test_works_run_one_after_another(store: Store) -> None:
    ask = an_ask()
    await store.write(adding(ask))

    async def raise_revision(tx: Transaction) -> None:
        found = await tx.ask(ask.id)
        assert found
        await asyncio.sleep(0)
        await tx.save_ask(dataclasses.replace(found, revision=found.revision + 1), was=Status.OPEN)

    await asyncio.gather(*(store.write(raise_revision) for _ in range(50)))
    found = await store.ask(ask.id)
    assert found
    assert found.revision == ask.revision + 50


async def test_an_effect_and_its_cursor_are_committed_together(store: Store) -> None:
    ask = an_ask()
    await store.write(adding(ask))

    async def put(tx: Transaction) -> None:
        await tx.save_ask(answered(ask), was=Status.OPEN)
        await tx.save_note(CURSOR)

    await store.write(put)
    assert await store.ask(ask.id) == answered(ask)
    assert await store.note(channel="telegram", key="bot") == CURSOR


async def test_a_work_that_raises_leaves_neither_effect_nor_cursor(store: Store) -> None:
    ask = an_ask()
    await store.write(adding(ask))

    async def put(tx: Transaction) -> None:
        await tx.save_note(CURSOR)
        await tx.save_ask(answered(ask), was=Status.OPEN)
        raise AskEnded(ask.id, status="answered")

    with pytest.raises(AskEnded):
        await store.write(put)
    assert await store.ask(ask.id) == ask
    assert await store.note(channel="telegram", key="bot") is None


async def test_a_work_that_fails_does_not_hurt_those_in_the_same_commit(store: Store) -> None:
    before, between, after, never = (an_ask() for _ in range(4))

    async def raising(_: Transaction) -> None:
        raise LookupError

    async def raising_after_a_write(tx: Transaction) -> None:
        await tx.add_ask(never)
        raise LookupError

    async def colliding(tx: Transaction) -> None:
        await tx.add_ask(never)
        await tx.add_ask(before)

    outcomes = await together(
        store,
        adding(before),
        raising,
        raising_after_a_write,
        adding(between),
        colliding,
        adding(after),
    )
    kinds = [type(outcome) for outcome in outcomes]
    nothing = type(None)
    assert kinds == [nothing, LookupError, LookupError, nothing, StoreError, nothing]
    assert [bool(await store.ask(ask.id)) for ask in (before, between, after)] == [True] * 3
    assert await store.ask(never.id) is None


async def test_a_work_that_overlooks_an_error_of_the_store_still_fails(store: Store) -> None:
    ask, never = an_ask(), an_ask()
    await store.write(adding(ask))

    async def overlooking(tx: Transaction) -> None:
        await tx.add_ask(never)
        try:
            await tx.add_ask(ask)
        except StoreError:
            return

    with pytest.raises(StoreError):
        await store.write(overlooking)
    assert await store.ask(never.id) is None


async def test_a_work_sees_what_works_before_it_did_and_its_own_writes(store: Store) -> None:
    first, second = an_ask(), an_ask()

    async def look(tx: Transaction) -> bool:
        await tx.add_ask(second)
        return await tx.ask(first.id) == first and await tx.ask(second.id) == second

    assert await together(store, adding(first), look) == [None, True]


async def test_a_read_does_not_see_what_is_not_committed(store: Store) -> None:
    ask = an_ask()

    async def look_from_outside(tx: Transaction) -> Ask | None:
        await tx.add_ask(ask)
        return await store.ask(ask.id)

    assert await store.write(look_from_outside) is None
    assert await store.ask(ask.id) == ask


async def test_a_caller_that_is_cancelled_in_the_queue_leaves_the_others_alone(
    store: Store,
) -> None:
    def unheard(_: object) -> None:
        raise AssertionError("nothing was committed, and yet it was told")

    given_up, others = an_ask(), [an_ask() for _ in range(3)]
    async with held_up(store):
        leaving = asyncio.create_task(store.write(adding(given_up), then=unheard))
        staying = [asyncio.create_task(store.write(adding(ask))) for ask in others]
        await asyncio.sleep(0)
        leaving.cancel()
    await asyncio.wait_for(asyncio.gather(*staying), 10)
    assert leaving.cancelled()
    assert await store.ask(given_up.id) is None
    assert {ask.id for ask in await store.open_asks()} == {ask.id for ask in others}


async def test_a_caller_that_is_cancelled_while_its_work_runs_breaks_nothing(
    store: Store,
) -> None:
    ask, neighbour = an_ask(), an_ask()
    told: list[str] = []
    started, release = asyncio.Event(), asyncio.Event()

    async def work(tx: Transaction) -> None:
        await tx.add_ask(ask)
        started.set()
        await release.wait()

    leaving = asyncio.create_task(store.write(work, then=lambda _: told.append(ask.id)))
    await asyncio.wait_for(started.wait(), 10)
    staying = asyncio.create_task(store.write(adding(neighbour)))
    leaving.cancel()
    release.set()
    await asyncio.wait_for(staying, 10)
    assert leaving.cancelled()
    assert await store.ask(ask.id) == ask
    assert told == [ask.id]
    assert await store.ask(neighbour.id) == neighbour


async def test_what_fails_in_the_telling_is_its_callers_alone(store: Store) -> None:
    ask, neighbour = an_ask(), an_ask()

    def fail(_: object) -> None:
        raise LookupError(ask.id)

    with pytest.raises(LookupError, match=ask.id):
        await store.write(adding(ask), then=fail)
    await asyncio.wait_for(store.write(adding(neighbour)), 10)
    assert await store.ask(ask.id) == ask


async def test_a_work_that_is_cancelled_from_inside_stops_only_itself(store: Store) -> None:
    ask = an_ask()

    async def cancelled(tx: Transaction) -> None:
        await tx.add_ask(ask)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await store.write(cancelled)
    await asyncio.wait_for(store.write(adding(ask)), 10)
    assert await store.ask(ask.id) == ask


async def test_a_work_that_would_wait_for_itself_is_refused(store: Store) -> None:
    with pytest.raises(RuntimeError, match="wait for itself"):
        await store.write(lambda _: store.write(adding(an_ask())))


async def test_a_transaction_cannot_be_used_after_its_work(store: Store) -> None:
    async def leak(tx: Transaction) -> Transaction:
        return tx

    leaked = await store.write(leak)
    with pytest.raises(RuntimeError, match="after its work"):
        await leaked.add_ask(an_ask())


async def test_a_note_that_was_dropped_is_gone_and_no_other_one(store: Store) -> None:
    notes = [
        dataclasses.replace(CURSOR, channel=channel, key=key)
        for channel in ("telegram", "matrix")
        for key in ("bot", "picks")
    ]

    async def save(tx: Transaction) -> None:
        for note in notes:
            await tx.save_note(note)

    async def drop(tx: Transaction) -> None:
        await tx.drop_note(channel="matrix", key="picks")
        await tx.drop_note(channel="matrix", key="there is none")

    await store.write(save)
    await store.write(drop)
    found = [await store.note(channel=note.channel, key=note.key) for note in notes]
    assert found == [*notes[:3], None]


async def test_a_note_is_dropped_together_with_the_effect_or_not_at_all(store: Store) -> None:
    async def save(tx: Transaction) -> None:
        await tx.save_note(CURSOR)

    async def drop_and_fail(tx: Transaction) -> None:
        await tx.drop_note(channel=CURSOR.channel, key=CURSOR.key)
        raise LookupError

    async def drop_and_save_anew(tx: Transaction) -> None:
        await tx.drop_note(channel=CURSOR.channel, key=CURSOR.key)
        await tx.save_note(dataclasses.replace(CURSOR, value="8"))

    await store.write(save)
    with pytest.raises(LookupError):
        await store.write(drop_and_fail)
    assert await store.note(channel=CURSOR.channel, key=CURSOR.key) == CURSOR
    await store.write(drop_and_save_anew)
    found = await store.note(channel=CURSOR.channel, key=CURSOR.key)
    assert found == dataclasses.replace(CURSOR, value="8")
