"""Who makes way at a port that is full."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.channels.web.limits import QUIET_SECONDS, ConnectionLimits
from chatbridge.channels.web.server import note_credential
from tests.fakes.clock import StillClock

LIMIT, KNOWN = 8, 4


@dataclass(eq=False, slots=True)
class Somebody:
    gone: bool = False

    def evict(self) -> None:
        self.gone = True


@dataclass(slots=True)
class Port:
    clock: StillClock = field(default_factory=StillClock)
    crowd: ConnectionLimits = field(init=False)

    def __post_init__(self) -> None:
        self.crowd = ConnectionLimits(
            "the port", limit=LIMIT, known=KNOWN, now=self.clock.monotonic
        )

    def come(self, number: int = 1) -> list[Somebody]:
        came = [Somebody() for _ in range(number)]
        for guest in came:
            self.crowd.opened(guest)
        return came

    def known(self, credential: str) -> Somebody:
        (guest,) = self.come()
        self.crowd.identified(guest, credential)
        return guest


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [it.getMessage() for it in caplog.records if it.levelno >= logging.WARNING]


def test_of_those_who_have_shown_nothing_the_oldest_makes_way_for_the_newest() -> None:
    port = Port()
    owner = port.known("owner")
    strangers = port.come(20)
    assert [it.gone for it in strangers] == [True] * 13 + [False] * 7
    assert not owner.gone


def test_who_has_left_takes_no_place() -> None:
    port = Port()
    for _ in range(3):
        came = [*port.come(LIMIT - 1), port.known("owner")]
        assert not any(it.gone for it in came)
        for guest in came:
            port.crowd.closed(guest)


def test_a_request_that_is_read_after_its_connection_made_way_takes_no_place() -> None:
    port = Port()
    late = port.come()[0]
    port.come(LIMIT)
    assert late.gone
    port.crowd.identified(late, "owner")
    port.crowd.closed(late)
    port.crowd.identified(late, "owner")
    owners = [port.known("owner") for _ in range(KNOWN)]
    port.come(LIMIT)
    assert not any(it.gone for it in owners)


def test_a_connection_counts_by_its_newest_request() -> None:
    port = Port()
    shared, own = port.known("owner"), port.known("owner")
    port.crowd.identified(shared, None)
    port.come(LIMIT)
    assert shared.gone
    assert not own.gone


def test_more_known_ones_than_there_is_room_for_stay_until_somebody_needs_it() -> None:
    port = Port()
    owners = [port.known("owner") for _ in range(LIMIT)]
    assert not any(it.gone for it in owners)
    port.come(LIMIT)
    assert [it.gone for it in owners] == [False] * KNOWN + [True] * (LIMIT - KNOWN)


def test_one_token_cannot_take_the_places_of_the_others() -> None:
    port = Port()
    many = [port.known("greedy") for _ in range(LIMIT)]
    modest = port.known("modest")
    many += [port.known("greedy") for _ in range(LIMIT)]
    assert not modest.gone
    assert [it.gone for it in many[: KNOWN - 1]] == [False] * (KNOWN - 1)


def test_a_flood_is_one_line_in_the_log_until_it_has_been_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port = Port()
    for _ in range(100):
        port.come(LIMIT)
        for _ in range(LIMIT):
            port.known("owner")
        port.clock.advance(QUIET_SECONDS / 2)
    full, many_known = warnings(caplog)
    assert full.startswith("the port: more than 8 connections. ")
    assert many_known.startswith("the port: more than 4 connections that have logged in. ")
    port.clock.advance(QUIET_SECONDS)
    port.come(LIMIT + 1)
    assert warnings(caplog) == [full, many_known, full]


def test_an_application_without_a_crowd_around_it_is_told_nothing() -> None:
    note_credential({"type": "http"}, "owner")
    note_credential({"type": "http", "state": {}}, "owner")


steps = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["come", "leave", None, "a", "b", "c"])),
    max_size=40,
)


@given(steps)
@settings(max_examples=40)
def test_whatever_happens_strangers_push_nobody_out_but_strangers(
    steps: list[tuple[int, str | None]],
) -> None:
    port = Port()
    here: list[Somebody] = []
    shown: dict[Somebody, str] = {}
    for number, step in steps:
        known_before = dict(shown)
        if step == "come":
            here += port.come()
            assert not here[-1].gone
        elif here:
            guest = here[number % len(here)]
            if step == "leave":
                port.crowd.closed(guest)
                here.remove(guest)
                shown.pop(guest, None)
            else:
                port.crowd.identified(guest, step)
                shown.pop(guest, None)
                shown |= {guest: step} if step is not None else {}
            assert not any(it.gone for it in here)
        if len(known_before) <= KNOWN:
            assert not any(it.gone for it in known_before)
        here = [it for it in here if not it.gone]
        shown = {it: credential for it, credential in shown.items() if not it.gone}
        assert len(here) <= LIMIT
