"""Whatever waits at a surface: nothing is lost, and nobody waits for all of another's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.delivery.queue import MAX_PASSED_OVER, AskQueue, Urgency
from chatbridge.core.model import Ask, Project
from tests.contract.asks import an_ask

WAITING = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Urgency)), max_size=60)


def ask_of(project: int | str) -> Ask:
    return an_ask(project=Project(key=f"/src/{project}", name=str(project)))


def all_of(queue: AskQueue) -> list[Ask]:
    found = []
    while (ask := queue.take(lambda _: True)) is not None:
        found.append(ask)
    return found


@given(WAITING)
def test_everything_comes_once_and_the_asks_of_a_party_in_their_order(
    waiting: list[tuple[int, Urgency]],
) -> None:
    queue = AskQueue()
    asks = [(ask_of(project), urgency) for project, urgency in waiting]
    for ask, urgency in asks:
        queue.put(ask, urgency)
    taken = all_of(queue)
    assert {ask.id for ask in taken} == {ask.id for ask, _ in asks}
    assert len(taken) == len(asks)
    assert not [*queue]
    place = {ask.id: number for number, ask in enumerate(taken)}
    for project in {ask.project.key for ask, _ in asks}:
        for urgency in Urgency:
            mine = [a.id for a, u in asks if u is urgency and a.project.key == project]
            assert mine == sorted(mine, key=place.__getitem__)


@given(WAITING, st.sampled_from(Urgency))
def test_an_ask_waits_for_one_of_each_other_party_and_never_longer_than_its_turn(
    waiting: list[tuple[int, Urgency]], urgency: Urgency
) -> None:
    queue = AskQueue()
    for project, other in waiting:
        queue.put(ask_of(project), other)
    mine = ask_of("mine")
    queue.put(mine, urgency)
    parties = len({project for project, _ in waiting})
    before = [ask.id for ask in all_of(queue)].index(mine.id)
    assert before <= (parties + 1) * (MAX_PASSED_OVER + 1) * 2


def test_what_is_not_ready_is_passed_over_and_stays() -> None:
    queue = AskQueue()
    first, second = ask_of("a"), ask_of("a")
    queue.put(first, Urgency.ANYTHING)
    queue.put(second, Urgency.ANYTHING)
    assert queue.take(lambda ask_id: ask_id != first.id) is second
    assert [*queue] == [first.id]
    assert queue.take(lambda _: False) is None


def test_the_newest_state_of_an_ask_takes_its_place_and_may_be_more_urgent() -> None:
    queue = AskQueue()
    first, second = ask_of("a"), ask_of("a")
    queue.put(first, Urgency.ANYTHING)
    queue.put(second, Urgency.ANYTHING)
    queue.put(second, Urgency.ANSWERING)
    assert queue.get(second.id) is second
    assert all_of(queue) == [second, first]
