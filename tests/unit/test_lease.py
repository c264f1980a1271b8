"""The lease: hubs that stop and start, lose replies and wait, and never lead together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.store.postgres.lease import (
    HELD_SECONDS,
    LEASE_SECONDS,
    LOOK_SECONDS,
    NOBODY,
    Lease,
    Look,
    Renew,
    Row,
    Statement,
    Take,
)

TICK = 0.25
START = Row(holder=NOBODY, epoch=0, beat=0)


@dataclass
class Server:
    row: Row = START

    def run(self, statement: Statement, holder: str) -> Row | None:
        """What the SQL does: each statement alone, at some moment between question and answer."""
        row = self.row
        match statement:
            case Take(epoch, beat):
                if (row.epoch, row.beat) != (epoch, beat):
                    return None
                self.row = Row(holder=holder, epoch=epoch + 1, beat=beat + 1)
            case Renew(epoch):
                if (row.holder, row.epoch) != (holder, epoch):
                    return None
                self.row = replace(row, beat=row.beat + 1)
        return self.row

    def release(self, lease: Lease) -> None:
        if (self.row.holder, self.row.epoch) == (lease.holder, lease.epoch):
            self.row = replace(self.row, holder=NOBODY)
        lease.lost()


@dataclass
class Asked:
    statement: Statement
    began: float
    ran: bool = False
    row: Row | None = None


@dataclass
class Hub:
    """One that is asleep between its steps, for as long as the schedule likes."""

    lease: Lease
    asked: Asked | None = None

    def ask(self, now: float) -> None:
        if not self.lease.holds(now) and self.lease.epoch is not None:
            self.lease.lost()
        self.asked = Asked(self.lease.statement(now), now)

    def hear(self, now: float) -> None:
        asked, self.asked = self.asked, None
        if asked is not None and asked.ran:
            self.lease.answered(asked.statement, asked.row, began=asked.began, now=now)


def answer(hub: Hub, server: Server) -> None:
    assert hub.asked is not None
    hub.asked.ran, hub.asked.row = True, server.run(hub.asked.statement, hub.lease.holder)


STEPS = st.sampled_from((*("whole",) * 6, *("ask", "run", "hear") * 2, "cut", "release"))
MOMENTS = st.lists(
    st.tuples(st.integers(0, 2), STEPS, st.sampled_from((0, 0, 1, 2, 4, 6, 9, 11, 12, 13, 40))),
    min_size=40,
    max_size=120,
)


@settings(max_examples=100)
@given(MOMENTS, st.tuples(*[st.sampled_from((0.0, 1e6, -3e4))] * 3))
def test_never_two_lead_at_once_and_the_epoch_only_rises(
    moments: list[tuple[int, str, int]], offsets: tuple[float, float, float]
) -> None:
    """Each hub has a clock of its own, which shows another time and goes as fast."""
    server, now = Server(), 0.0
    hubs = [Hub(Lease(f"hub {n}")) for n in range(3)]
    late: list[tuple[int, Asked]] = []  # Statements whose connection was cut before they ran
    led: dict[int, str] = {}
    for number, step, ticks in moments:
        now += ticks * TICK
        hub, own = hubs[number], now + offsets[number]
        asked = hub.asked
        match step:
            case "ask" if asked is None:
                hub.ask(own)
            case "run" if asked is not None and not asked.ran:
                answer(hub, server)
            case "run" if late:
                whose, lost = late.pop(0)
                server.run(lost.statement, hubs[whose].lease.holder)
            case "hear" if asked is not None and asked.ran:
                hub.hear(own)
            case "cut" if asked is not None:
                late += [] if asked.ran else [(number, asked)]
                hub.asked = None
            case "whole":
                hub.asked = None
                hub.ask(own)
                answer(hub, server)
                hub.hear(own)
            case "release" if asked is None and hub.lease.epoch is not None:
                server.release(hub.lease)
        leading = [
            one.lease for one, o in zip(hubs, offsets, strict=True) if one.lease.holds(now + o)
        ]
        assert len(leading) <= 1
        for lease in leading:
            assert lease.epoch is not None
            assert led.setdefault(lease.epoch, lease.holder) == lease.holder
            assert lease.epoch <= server.row.epoch
    assert server.row.epoch >= max(led, default=0)


@given(MOMENTS)
def test_somebody_leads_again_once_the_faults_are_over(moments: list[tuple[int, str, int]]) -> None:
    server, now = Server(), 0.0
    hubs = [Hub(Lease(f"hub {n}")) for n in range(3)]

    def turn(hub: Hub) -> None:
        hub.asked = None
        hub.ask(now)
        answer(hub, server)
        hub.hear(now)

    for number, _, ticks in moments:
        now += ticks * TICK
        turn(hubs[number])
    over = now
    while not any(hub.lease.holds(now) for hub in hubs[1:]):  # the first one does not come back
        now += LOOK_SECONDS
        for hub in hubs[1:]:
            turn(hub)
        assert now - over <= LEASE_SECONDS + 2 * LOOK_SECONDS


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    server, first, second = Server(), Hub(Lease("a")), Hub(Lease("b"))
    for statement in (Look(), Take(0, 0, NOBODY)):
        assert first.lease.statement(5.0) == statement
        row = server.run(statement, "a")
        first.lease.answered(statement, row, began=5.0, now=5.0)
    assert first.lease.epoch == 1
    server.release(first.lease)
    second.lease.answered(Look(), server.row, began=5.1, now=5.1)
    assert isinstance(second.lease.statement(5.1), Take)


def test_a_holder_counts_as_deposed_before_anybody_can_take_over() -> None:
    lease = Lease("a")
    lease.answered(Look(), Row(holder=NOBODY, epoch=0, beat=0), began=1.0, now=1.0)
    taken = Row(holder="a", epoch=1, beat=1)
    lease.answered(Take(0, 0, NOBODY), taken, began=1.0, now=2.0)
    assert lease.holds(1.0 + HELD_SECONDS - 0.1)
    assert not lease.holds(1.0 + HELD_SECONDS)


def test_the_time_that_nothing_changes_counts_from_the_answer() -> None:
    """The question was long on its way, and the holder has renewed meanwhile."""
    lease = Lease("b")
    lease.answered(Look(), Row(holder="a", epoch=1, beat=7), began=1.0, now=4.0)
    assert lease.statement(4.0 + LEASE_SECONDS - 0.1) == Look()
    assert lease.statement(4.0 + LEASE_SECONDS) == Take(1, 7, "a")
