"""Turns are fair: links take turns, a limit is never passed, quick ones do not wait for builds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.operations.fair_queue import FairQueue
from chatbridge.core.operation import Operation
from tests.fakes.operating import operation


def turn(
    link: str = "a", group: str = "cargo", *, limit: int | None = None, synchronous: bool = False
) -> Operation:
    return operation(link=link, group=group, concurrency=limit, synchronous=synchronous)


def all_of(turns: FairQueue) -> list[str]:
    """Whoever may run now, in order."""
    return list(iter(turns.next, None))


def test_as_many_run_as_there_are_places_and_the_next_when_one_is_done() -> None:
    turns = FairQueue(2)
    first, second, third = turn(), turn(), turn()
    for each in (first, second, third):
        turns.add(each)
    assert all_of(turns) == [first.id, second.id]
    turns.done(first.id)
    assert all_of(turns) == [third.id]


def test_a_quick_one_does_not_wait_behind_builds() -> None:
    turns = FairQueue(1)
    build, waiting, status = turn(), turn(), turn(group="git", synchronous=True)
    for each in (build, waiting, status):
        turns.add(each)
    assert set(all_of(turns)) == {build.id, status.id}


def test_a_groups_limit_holds_for_both_kinds_and_others_pass() -> None:
    turns = FairQueue(8)
    one = turn(limit=1, synchronous=True)
    two = turn(limit=1)
    other = turn(group="npm")
    for each in (one, two, other):
        turns.add(each)
    assert set(all_of(turns)) == {one.id, other.id}
    turns.done(one.id)
    assert all_of(turns) == [two.id]


def test_quick_ones_that_came_later_do_not_keep_a_build_from_its_group() -> None:
    turns = FairQueue(8)
    running, build = turn(limit=1, synchronous=True), turn(limit=1)
    for each in (running, build):
        turns.add(each)
    assert all_of(turns) == [running.id]
    later = turn(limit=1, synchronous=True)
    turns.add(later)
    turns.done(running.id)
    assert all_of(turns) == [build.id]
    turns.done(build.id)
    assert all_of(turns) == [later.id]


def test_one_who_came_late_does_not_wait_for_all_of_anothers() -> None:
    turns = FairQueue(1)
    for _ in range(100):
        turns.add(turn("greedy"))
    served = [turns.next()]
    late = turn("late")
    turns.add(late)
    while late.id not in served:
        turns.done(served[-1] or "")
        served.append(turns.next())
    assert len(served) <= 3


def test_the_newest_limit_of_a_group_counts_for_all_of_it() -> None:
    turns = FairQueue(8)
    old = [turn(limit=1) for _ in range(3)]
    for each in old:
        turns.add(each)
    assert all_of(turns) == [old[0].id]
    new = turn(limit=3)
    turns.add(new)
    assert all_of(turns) == [old[1].id, old[2].id]
    turns.done(old[0].id)
    assert all_of(turns) == [new.id]


def test_what_ran_before_a_restart_counts_even_beyond_the_limit() -> None:
    turns = FairQueue(2)
    running = [turn() for _ in range(3)]
    for each in running:
        turns.runs(each)
    waiting = turn()
    turns.add(waiting)
    assert all_of(turns) == []
    turns.done(running[0].id)
    assert all_of(turns) == []
    turns.done(running[1].id)
    assert all_of(turns) == [waiting.id]


def test_one_that_wants_no_turn_any_more_gets_none() -> None:
    turns = FairQueue(1)
    first, gone, last = turn(), turn(), turn()
    for each in (first, gone, last):
        turns.add(each)
    assert all_of(turns) == [first.id]
    turns.done(gone.id)
    turns.done(gone.id)
    turns.done(first.id)
    assert all_of(turns) == [last.id]


@given(st.lists(st.sampled_from("abcd"), max_size=40))
def test_links_that_wait_at_the_same_time_get_as_many_turns_each(links: list[str]) -> None:
    turns = FairQueue(1)
    wanted = [turn(link) for link in links]
    link_of = {each.id: each.call.link for each in wanted}
    for each in wanted:
        turns.add(each)
    left, had = Counter(links), Counter[str]()
    while (served := turns.next()) is not None:
        link = link_of[served]
        left[link] -= 1
        had[link] += 1
        assert all(had[link] <= had[other] + 1 for other in left if left[other])
        turns.done(served)
    assert not left.total()
