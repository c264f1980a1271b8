"""Of two hubs with one name, the one that has it keeps it; a hub that crashed keeps nobody out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.store.postgres.hub_name import BACK_WITHIN_SECONDS, SETTLED_AFTER_SECONDS, HubName

LOOKS, WRITES = 1.0, 1.0
"""How often each looks at most, and how long a statement may take."""


def settled(*, taken: float, seen: float) -> HubName:
    name = HubName()
    name.taken(taken)
    name.seen(seen)
    return name


def test_who_starts_takes_the_name_of_a_hub_that_left_its_row() -> None:
    assert HubName().may_be_taken(0.0)


def test_who_has_the_name_takes_it_back_from_a_newcomer() -> None:
    assert settled(taken=0.0, seen=100.0).may_be_taken(100.0 + LOOKS)


def test_a_newcomer_whose_name_was_taken_back_gives_it_up() -> None:
    assert not settled(taken=99.0, seen=100.0).may_be_taken(100.5)
    newest = HubName()
    newest.taken(99.0)
    assert not newest.may_be_taken(99.5)


def test_a_hub_that_stood_still_meanwhile_gives_the_name_up() -> None:
    assert not settled(taken=0.0, seen=100.0).may_be_taken(160.0)


@given(st.floats(0, 60), st.floats(0, BACK_WITHIN_SECONDS), st.floats(0, WRITES), st.floats(0, 60))
def test_it_is_never_taken_from_who_took_it_back(
    had: float, noticed: float, wrote: float, later: float
) -> None:
    """The newcomer takes the name right after the first one saw its own row, and sees its own until
    the other one has written."""
    first = settled(taken=-SETTLED_AFTER_SECONDS - had, seen=0.0)
    newcomer = settled(taken=0.0, seen=noticed + wrote)
    if first.may_be_taken(noticed):
        assert not newcomer.may_be_taken(noticed + wrote + later)
