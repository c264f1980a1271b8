"""Which events are done, of a service that tells each until it is acknowledged."""

from __future__ import annotations

import pytest

from chatbridge.channels.sockets.retold import IMPOSSIBLE, MOST_NAMES, OVERLAP, Done, Told

NOW = 1_700_000_000.0


def told(at: float, *, room: str = "C1") -> Told:
    return Told(kind="message", data={}, source=room, time=f"{at:.6f}")


def test_an_event_that_is_done_stays_so_when_it_is_read_from_the_store() -> None:
    done = Done(NOW).and_also(told(NOW + 5), now=NOW + 5)
    again = Done.from_text(done.to_text())
    assert again.has(told(NOW + 5))
    assert again.has(told(NOW - 1))


def test_an_event_that_comes_after_a_later_one_is_not_done() -> None:
    done = Done(NOW).and_also(told(NOW + 5), now=NOW + 5)
    assert not done.has(told(NOW + 4))
    assert not done.has(told(NOW + 5, room="C2"))


def test_names_are_forgotten_once_nothing_so_old_can_come_again() -> None:
    done = Done(NOW).and_also(told(NOW + 5), now=NOW + 5)
    later = NOW + 6 + OVERLAP
    done = done.and_also(told(later), now=later)
    assert [*done.names] == [told(later).name]
    assert done.has(told(NOW + 5))


def test_no_more_names_are_kept_than_there_is_room_for_and_none_comes_twice() -> None:
    done = Done(NOW)
    for i in range(1, MOST_NAMES + 50):
        done = done.and_also(told(NOW + i / 10), now=NOW + 60)
    assert len(done.names) < MOST_NAMES + 1
    assert all(done.has(told(NOW + i / 10)) for i in range(1, MOST_NAMES + 50))


@pytest.mark.parametrize("time", ["", "None", "yesterday", "0"])
def test_what_has_no_time_comes_once_and_leaves_no_trace(time: str) -> None:
    it = Told(kind="command", data={}, source="U1", time=time)
    assert not Done(NOW).has(it)
    assert Done(NOW).and_also(it, now=NOW) == Done(NOW)


def test_a_time_that_cannot_be_does_not_hide_what_follows() -> None:
    done = Done(NOW).and_also(told(NOW + IMPOSSIBLE + 1), now=NOW)
    assert not done.has(told(NOW + 1))
