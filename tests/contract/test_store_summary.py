"""What every store counts for a summary."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.model import CallName
from chatbridge.core.nights.summary import Tally
from chatbridge.core.operation import Plan, Stage
from chatbridge.core.store_port import Store
from tests.contract.asks import a_call, a_late_answer, an_ask, answered, keep, timed_out
from tests.contract.test_store_notices import DONE
from tests.contract.test_store_operations import ended, numbered

NIGHT = {"since": 1000.0, "until": 2000.0}


async def tally(store: Store, *, now: float = 2000.0) -> Tally:
    return await store.tally(**NIGHT, now=now)


async def test_nothing_has_happened_in_an_empty_store(store: Store) -> None:
    assert await tally(store) == Tally()


async def test_questions_that_timed_out_count_from_the_beginning_until_now(store: Store) -> None:
    asks = [timed_out(an_ask(), at=at) for at in (999.0, 1000.0, 2000.0, 2500.0)]
    await keep(store, *asks, answered(an_ask(), at=1500.0), an_ask())
    assert await tally(store) == Tally(timed_out=2)
    assert await tally(store, now=2500.0) == Tally(timed_out=3)


async def test_a_kept_answer_counts_once_an_agent_has_picked_it_up(store: Store) -> None:
    ask = timed_out(an_ask(), at=500.0, late=a_late_answer(at=900.0))
    told = a_call(ask, delivered_at=1200.0)
    again = a_call(ask, request="2", late=True, ended_at=1300.0)
    await keep(store, ask, told, again)
    assert await tally(store) == Tally()
    await keep(store, replace(again, delivered_at=1400.0))
    assert await tally(store) == Tally(late=1)
    assert await store.tally(since=1400.5, until=2000.0, now=2000.0) == Tally()


async def test_notices_of_agents_count_up_to_the_end_of_the_period(store: Store) -> None:
    notices = [
        replace(DONE, id=f"n-{at}", call=CallName(link="link-1", request=str(at)), at=at)
        for at in (999.0, 1000.0, 2000.0, 2001.0)
    ]
    await keep(store, *notices)
    assert await tally(store, now=3000.0) == Tally(notices=2)


async def test_commands_count_that_failed_while_nobody_waited_for_them(store: Store) -> None:
    def background(plan: Plan) -> Plan:
        return replace(plan, synchronous=False)

    stages = [Stage.FAILED, Stage.TIMED_OUT, Stage.INTERRUPTED, Stage.SUCCEEDED, Stage.DENIED]
    for number, stage in enumerate(stages):
        operation = numbered(number)
        operation = replace(operation, plan=background(operation.plan))
        await store.operations.add(operation)
        await store.operations.save(ended(operation, at=1500.0, stage=stage), was=Stage.QUEUED)
    waited_for, later = numbered(10), numbered(11)
    for operation, at in ((waited_for, 1500.0), (later, 2500.0)):
        await store.operations.add(operation)
        await store.operations.save(ended(operation, at=at), was=Stage.QUEUED)
    assert await tally(store, now=3000.0) == Tally(failed=3)
