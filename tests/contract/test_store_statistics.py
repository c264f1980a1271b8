"""How long asks took, as every store tells it: the same as counted one by one."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chatbridge.core.model import Agent, Ask, Project, Question, QuestionType, Status
from chatbridge.core.statistics import QUARTER, AskTimes
from chatbridge.core.store_port import Store
from tests.contract.asks import a_late_answer, an_ask, answered, keep, timed_out
from tests.contract.stores import takes

NOW = 1_000_000.0
APPROVAL = (Question(id="port", text="Run it?", type=QuestionType.APPROVAL),)
One = tuple[str, str, bool, Status, int, int, int]
EXAMPLES = itertools.count()


def one_by_one(found: list[AskTimes]) -> Counter[One]:
    """Every ask by itself: when it was asked, its seconds, and how many of them nobody heard."""
    counted: Counter[One] = Counter()
    for times in found:
        unheard = Counter(dict(zip(*times.unheard, strict=True)))
        for quarter, seconds in zip(*times.taken, strict=True):
            name = times.project, times.agent, times.approval, times.status
            counted[*name, quarter, seconds, unheard.pop(quarter, 0)] += 1
        assert not unheard
    return counted


async def found(store: Store, *, since: float = 0.0, until: float = NOW) -> list[AskTimes]:
    return list(await store.ask_times(since=since, until=until))


async def test_an_empty_store_has_no_times(store: Store) -> None:
    assert await found(store) == []


async def test_each_end_and_each_agent_is_told_by_itself(store: Store) -> None:
    codex = Agent(client="codex", name="Codex")
    await keep(
        store,
        answered(an_ask(created_at=900.0), at=1000.0),
        answered(an_ask(created_at=9000.0), at=9005.5),
        answered(an_ask(created_at=900.0, agent=codex), at=930.0),
        answered(an_ask(created_at=900.0, questions=APPROVAL), at=910.0),
        timed_out(an_ask(created_at=1800.0), at=2400.0, late=a_late_answer()),
        an_ask(created_at=NOW - 100.0),
    )
    assert one_by_one(await found(store)) == Counter(
        [
            ("shop", "Claude", False, Status.ANSWERED, 1, 100, 0),
            ("shop", "Claude", False, Status.ANSWERED, 10, 5, 0),
            ("shop", "Codex", False, Status.ANSWERED, 1, 30, 0),
            ("shop", "Claude", True, Status.ANSWERED, 1, 10, 0),
            ("shop", "Claude", False, Status.TIMED_OUT, 2, 600, 0),
            ("shop", "Claude", False, Status.OPEN, int((NOW - 100) // QUARTER), 100, 0),
        ]
    )


@pytest.mark.parametrize(("alone", "unheard"), [(1600.0, 400), (500.0, 1000), (2500.0, 0)])
async def test_what_came_after_the_agent_had_gone_is_told_apart(
    store: Store, alone: float, unheard: int
) -> None:
    gone = an_ask(created_at=1000.0, orphaned_since=alone)
    await keep(store, answered(gone, at=2000.0))
    ((*_, seconds, after),) = one_by_one(await found(store))
    assert (seconds, after) == (1000, unheard)


async def test_the_agent_of_an_open_ask_may_have_gone_as_well(store: Store) -> None:
    await keep(store, an_ask(created_at=NOW - 500.0, orphaned_since=NOW - 200.0))
    ((*_, seconds, after),) = one_by_one(await found(store))
    assert (seconds, after) == (500, 200)


async def test_only_what_was_asked_in_the_period_counts(store: Store) -> None:
    times = (999.0, 1000.0, 5000.0, 5001.0)
    await keep(store, *(answered(an_ask(created_at=at), at=at + 10) for at in times))
    await keep(store, *(an_ask(created_at=at) for at in times))
    counted = one_by_one(await found(store, since=1000.0, until=5000.0))
    assert Counter(status for *_, status, _, _, _ in counted.elements()) == {
        Status.ANSWERED: 2,
        Status.OPEN: 2,
    }


@pytest.mark.parametrize(("end", "seconds"), [(10.0, 0), (1e300, 99_999_999)])
async def test_a_clock_that_was_set_makes_no_time_negative_or_endless(
    store: Store, end: float, seconds: int
) -> None:
    await keep(store, answered(an_ask(created_at=1000.0), at=end))
    ((*_, told, _),) = one_by_one(await found(store))
    assert told == seconds


async def test_an_answer_that_comes_is_counted_at_once(store: Store) -> None:
    ask = an_ask(created_at=1000.0)
    await keep(store, ask)
    await store.write(lambda tx: tx.save_ask(answered(ask, at=1300.0), was=Status.OPEN))
    ((*_, status, _, seconds, _),) = one_by_one(await found(store))
    assert (status, seconds) == (Status.ANSWERED, 300)


NAMES = st.sampled_from(
    ["shop", "", "a,b", "]1,2[", "'; DROP TABLE asks; --", "日本\u202e\x00", "ß"]
)


@st.composite
def some_ask(draw: st.DrawFn) -> Ask:
    at = draw(st.floats(0, NOW))
    ask = an_ask(
        created_at=at,
        project=Project(key=draw(NAMES), name=draw(NAMES)),
        agent=Agent(client="x", name=draw(NAMES)),
        questions=draw(st.sampled_from([APPROVAL, an_ask().questions])),
        orphaned_since=draw(st.none() | st.floats(0, NOW)),
    )
    status = draw(st.sampled_from(Status))
    if status is Status.OPEN:
        return ask
    return dataclasses.replace(answered(ask, at=draw(st.floats(at, NOW))), status=status)


def counted_by_hand(ask: Ask, *, since: float, until: float) -> One | None:
    if not since <= ask.created_at <= until:
        return None
    end = until if ask.settled_at is None else ask.settled_at
    gone = ask.orphaned_since
    heard = end if gone is None or gone >= end else max(gone, ask.created_at)
    quarter = int(ask.created_at / QUARTER)
    times = quarter, int(max(end - ask.created_at, 0.0)), int(end - heard)
    return (ask.project.name, ask.agent.name, ask.approval, ask.status, *times)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(asks=st.lists(some_ask(), max_size=12), since=st.floats(0, NOW))
async def test_the_query_tells_what_is_counted_one_by_one(
    store: Store, asks: list[Ask], since: float
) -> None:
    assume(takes(store, asks))
    # In one quarter hour each, so that what nobody heard can be told whose it was.
    by_quarter = {int(ask.created_at / QUARTER): ask for ask in asks}
    mark = f" of {next(EXAMPLES)}"  # In one store with all examples
    asks = [
        dataclasses.replace(
            ask, project=dataclasses.replace(ask.project, name=f"{ask.project.name}{mark}")
        )
        for ask in by_quarter.values()
    ]
    await keep(store, *asks)
    times = await found(store, since=since)
    told = one_by_one([each for each in times if each.project.endswith(mark)])
    by_hand = (counted_by_hand(ask, since=since, until=NOW) for ask in asks)
    assert told == Counter(filter(None, by_hand))
