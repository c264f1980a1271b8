"""The morning summary: sent once whatever restarts or fails, and kept up to date for an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.delivery.summary_post import SummaryPost
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater, StoreError
from chatbridge.core.model import QuietRule
from chatbridge.core.nights.hours import DAY, HOUR, Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.summaries import AFTER_SECONDS, CLOCK_CHECK_SECONDS, Summaries
from chatbridge.core.nights.summary import (
    EDIT_WITHIN_SECONDS,
    SEND_WITHIN_SECONDS,
    BuildSummary,
    Summary,
    Tally,
)
from chatbridge.core.policy import Policy
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, answered, keep
from tests.contract.test_store_notices import DONE
from tests.fakes.chat import Chat
from tests.fakes.clock import START, StillClock
from tests.fakes.core_env import OWNER, PATIENCE
from tests.fakes.disk import failing

NIGHTLY = NightPolicy(quiet=QuietRule(hours=("22:30-07:00",) * 7, zone="UTC"))
NIGHT = Period(START - 11 * 60, START + 8 * HOUR + 19 * 60)
"""The clock starts at 22:41."""
UNREACHABLE = RetryLater("no connection", unsent=True)
PAUSE = RetryLater("too many requests", after=3.0)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(folder / "chatbridge.db")
    try:
        yield store
    finally:
        await store.close()


# ── on one surface ────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Morning:
    """A chat, a clock after the night, and what there is to say. A new hub is a new `post` on a
    store that was opened anew."""

    folder: Path
    chat: Chat = field(default_factory=Chat)
    clock: StillClock = field(default_factory=lambda: StillClock(NIGHT.end + 5.0))
    tally: Tally = field(default_factory=lambda: Tally(notices=1))

    async def build(self, period: Period) -> Summary:
        return Summary(period=period, at=self.clock.time(), tally=self.tally)

    @asynccontextmanager
    async def hub(self, period: Period = NIGHT) -> AsyncIterator[SummaryPost]:
        async with opened(self.folder) as store:
            post = SummaryPost(self.chat, store, self.clock)
            post.want(period, self.build)
            yield post


@pytest.fixture
def morning(tmp_path: Path) -> Morning:
    return Morning(tmp_path)


async def test_it_is_sent_once_and_then_edited(morning: Morning) -> None:
    async with morning.hub() as post:
        await post.update()
        morning.tally = Tally(notices=2)
        post.asks_changed()
        assert post.due
        await post.update()
    assert morning.chat.summaries_sent == 1
    assert [each.tally.notices for each in morning.chat.summaries] == [1, 2]


async def test_what_comes_while_it_is_built_is_not_lost(morning: Morning) -> None:
    tomorrow = Period(NIGHT.end, NIGHT.end + 1.0)
    async with morning.hub() as post:
        await post.update()

        async def meanwhile(period: Period) -> Summary:
            post.want(tomorrow, morning.build)
            return await morning.build(period)

        post.want(NIGHT, meanwhile)
        await post.update()
        assert post.due
        await post.update()
    assert [each.period for each in morning.chat.summaries] == [NIGHT, NIGHT, tomorrow]


async def test_another_hub_edits_the_one_that_is_there(morning: Morning) -> None:
    async with morning.hub() as post:
        await post.update()
    async with morning.hub() as post:
        await post.update()
    assert (morning.chat.summaries_sent, len(morning.chat.summaries)) == (1, 2)


async def test_after_an_hour_it_stays_as_it_is(morning: Morning) -> None:
    async with morning.hub() as post:
        await post.update()
        morning.clock.advance(EDIT_WITHIN_SECONDS)
        post.asks_changed()
        await post.update()
        post.asks_changed()
        assert not post.due
    assert len(morning.chat.summaries) == 1


async def test_nothing_to_say_is_said_once_by_saying_nothing(morning: Morning) -> None:
    morning.tally = Tally()
    async with morning.hub() as post:
        await post.update()
    morning.tally = Tally(notices=1)
    async with morning.hub() as post:
        await post.update()
    assert not morning.chat.summaries


@pytest.mark.parametrize("error", [UNREACHABLE, PAUSE, ChatRefused("blocked")])
async def test_what_did_not_get_out_is_sent_later_also_by_another_hub(
    morning: Morning, error: Exception
) -> None:
    morning.chat.faults = [error]
    async with morning.hub() as post:
        with pytest.raises(type(error)):
            await post.update()
        assert post.due
    async with morning.hub() as post:
        morning.clock.advance(5 * HOUR)
        await post.update()
    assert morning.chat.summaries_sent == 1


async def test_after_six_hours_nobody_wants_to_know(morning: Morning) -> None:
    morning.chat.faults = [UNREACHABLE]
    async with morning.hub() as post:
        with pytest.raises(RetryLater):
            await post.update()
        morning.clock.advance(SEND_WITHIN_SECONDS)
        await post.update()
        assert not post.due
    assert not morning.chat.summaries


async def test_what_may_have_been_sent_is_not_sent_again(morning: Morning) -> None:
    morning.chat.lose_response = True
    async with morning.hub() as post:
        with pytest.raises(RetryLater):
            await post.update()
        assert not post.due
        post.asks_changed()
        await post.update()
    async with morning.hub() as post:
        await post.update()
    assert len(morning.chat.summaries) == 1


async def test_a_service_that_knows_what_it_has_gets_it_again_as_the_same(morning: Morning) -> None:
    morning.chat.idempotent, morning.chat.lose_response = True, True
    async with morning.hub() as post:
        with pytest.raises(RetryLater):
            await post.update()
        assert post.due
    async with morning.hub() as post:
        await post.update()
    assert morning.chat.again == [False, True]


class Killed(BaseException):
    """The process is gone, in the middle of something."""


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("sent", [False, True])
async def test_a_hub_that_was_killed_while_sending_leaves_at_most_one(
    morning: Morning, idempotent: bool, sent: bool
) -> None:
    chat = morning.chat
    chat.idempotent, chat.killed = idempotent, Killed() if sent else None
    chat.faults = [] if sent else [Killed()]  # type: ignore[list-item]
    async with morning.hub() as post:
        with pytest.raises(Killed):
            await post.update()
    async with morning.hub() as post:
        await post.update()
    # A service that takes both for the same shows one of them.
    assert len(chat.summaries) == int(sent) + int(idempotent)
    assert chat.again[1:] == ([True] if idempotent and sent else [])


async def test_a_hub_that_was_killed_before_it_noted_its_message_sends_no_other(
    morning: Morning,
) -> None:
    second = "NEW.value NOT LIKE '%\"trying\": true%'"
    async with morning.hub() as post, failing(morning.folder, "notes", when=second):
        with pytest.raises(StoreError):
            await post.update()
    async with morning.hub() as post:
        await post.update()
    assert len(morning.chat.summaries) == 1


async def test_what_cannot_be_noted_is_not_sent(morning: Morning) -> None:
    async with morning.hub() as post:
        async with failing(morning.folder, "notes"):
            with pytest.raises(StoreError):
                await post.update()
            assert not morning.chat.summaries
        assert post.due
        await post.update()
    assert morning.chat.summaries_sent == 1


async def test_one_that_somebody_removed_does_not_come_back(morning: Morning) -> None:
    async with morning.hub() as post:
        await post.update()
        morning.chat.faults = [PostGone()]
        for _ in range(2):
            post.asks_changed()
            await post.update()
    assert len(morning.chat.summaries) == 1


async def test_each_night_has_its_own_whatever_the_clock_does(morning: Morning) -> None:
    next_night = Period(NIGHT.start + DAY, NIGHT.end + DAY)
    async with morning.hub() as post:
        await post.update()
        morning.clock.advance(DAY)
        post.want(next_night, morning.build)
        await post.update()
        morning.clock.step(-DAY)
        post.want(NIGHT, morning.build)
        await post.update()
        morning.clock.step(DAY)
        post.want(next_night, morning.build)
        await post.update()
    assert morning.chat.summaries_sent == 2


async def test_a_note_that_cannot_be_read_is_none(morning: Morning) -> None:
    async with morning.hub() as post:
        await post.update()
        note = await post.store.note("summary", morning.chat.name)
        assert note
        for value in ("", "[]", '{"ends": "x"}', "null"):
            await keep(post.store, replace(note, value=value))
            post.want(NIGHT, morning.build)
            await post.update()
    assert morning.chat.summaries_sent == 5


# ── when it is due ────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Handed:
    """A delivery that keeps what it is handed."""

    periods: list[Period] = field(default_factory=list)
    some: asyncio.Event = field(default_factory=asyncio.Event)

    def summarize(self, period: Period, build: BuildSummary) -> None:
        self.periods.append(period)
        self.some.set()


@asynccontextmanager
async def running(
    store: SqliteStore, clock: StillClock, nights: Nights
) -> AsyncIterator[tuple[Handed, Summaries]]:
    handed = Handed()
    summaries = Summaries(store, handed, nights=nights, clock=clock)
    task = asyncio.ensure_future(summaries.run())
    try:
        yield handed, summaries
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def looked(clock: StillClock, *, until: float = CLOCK_CHECK_SECONDS) -> None:
    """It has looked since the clock was moved, and sleeps."""
    async with asyncio.timeout(PATIENCE):
        await clock.until_asleep(until)


async def test_it_is_handed_over_some_seconds_after_quiet_hours(tmp_path: Path) -> None:
    clock, nights = StillClock(), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store, running(store, clock, nights) as (handed, _):
        await keep(store, an_ask())
        await looked(clock)
        clock.advance(NIGHT.end - clock.time())
        await looked(clock, until=AFTER_SECONDS)
        assert not handed.periods
        clock.advance(AFTER_SECONDS)
        await looked(clock)
        assert handed.periods == [NIGHT]
        for _ in range(3):
            clock.advance(CLOCK_CHECK_SECONDS)
            await looked(clock)
        assert handed.periods == [NIGHT]


async def test_a_machine_that_slept_has_it_within_a_minute_of_waking(tmp_path: Path) -> None:
    clock, nights = StillClock(), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store, running(store, clock, nights) as (handed, _):
        await keep(store, an_ask())
        await looked(clock)
        clock.step(NIGHT.end + HOUR - clock.time())
        clock.advance(CLOCK_CHECK_SECONDS)
        await looked(clock)
        assert handed.periods == [NIGHT]


@pytest.mark.parametrize(("hours", "comes"), [(5.9, True), (6.1, False)])
async def test_a_hub_that_comes_later_has_it_for_six_hours(
    tmp_path: Path, hours: float, comes: bool
) -> None:
    clock, nights = StillClock(NIGHT.end + hours * HOUR), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store:
        await keep(store, an_ask())
        async with running(store, clock, nights) as (handed, _):
            await looked(clock)
            assert handed.periods == [NIGHT] * comes


async def test_nothing_to_say_is_remembered(tmp_path: Path) -> None:
    clock, nights = StillClock(NIGHT.end + AFTER_SECONDS), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store:
        await keep(store, answered(an_ask()))
        for _ in range(2):
            async with running(store, clock, nights) as (handed, _):
                await looked(clock)
                await keep(store, an_ask())  # that one rings itself
                clock.advance(CLOCK_CHECK_SECONDS)
                await looked(clock)
            assert not handed.periods


async def test_a_clock_that_is_set_back_hands_nothing_over_again(tmp_path: Path) -> None:
    clock, nights = StillClock(NIGHT.end + AFTER_SECONDS), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store:
        await keep(store, an_ask())
        async with running(store, clock, nights) as (handed, _):
            await looked(clock)
            clock.step(-2 * CLOCK_CHECK_SECONDS)
            for _ in range(4):
                clock.advance(CLOCK_CHECK_SECONDS)
                await looked(clock)
            assert handed.periods == [NIGHT]


async def test_quiet_hours_by_hand_end_with_one(tmp_path: Path) -> None:
    clock, nights = StillClock(), Nights()
    nap = Period(START, START + 2 * HOUR)
    async with opened(tmp_path) as store:
        await keep(store, an_ask())
        async with running(store, clock, nights) as (handed, summaries):
            await no_timer(clock)
            nights.switch = Switch(on=True, period=nap)
            summaries.look()
            await looked(clock)
            clock.advance(2 * HOUR + AFTER_SECONDS)
            async with asyncio.timeout(PATIENCE):
                await handed.some.wait()
            assert handed.periods == [nap]


def intake_of(
    store: SqliteStore, clock: StillClock, nights: Nights, summaries: Summaries
) -> AskActions:
    async def drained() -> None:
        return None

    broker = Broker(
        store,
        clock=clock,
        policy=Policy(nights=nights),
        changed=lambda _: None,
        drained=drained,
    )
    broker.switched = summaries.look
    return AskActions(broker, store=store, clock=clock)


async def test_the_broker_says_when_quiet_hours_are_switched(tmp_path: Path) -> None:
    clock, nights = StillClock(), Nights()

    async with opened(tmp_path) as store, running(store, clock, nights) as (handed, summaries):
        await keep(store, DONE)
        intake = intake_of(store, clock, nights, summaries)
        await intake.switch_quiet("2h", person=OWNER)
        await looked(clock)
        await keep(store, replace(DONE, id="n-2", message="Another one.", at=clock.time()))
        clock.advance(HOUR)
        await looked(clock)
        await intake.switch_quiet("off", person=OWNER)
        await looked(clock, until=AFTER_SECONDS)
        clock.advance(AFTER_SECONDS)
        async with asyncio.timeout(PATIENCE):
            await handed.some.wait()
        assert handed.periods == [Period(START, START + HOUR)]


async def test_a_night_that_was_ended_by_hand_has_no_other_when_quiet_hours_are_switched_again(
    tmp_path: Path,
) -> None:
    clock, nights = StillClock(), Nights(policy=NIGHTLY)

    async with opened(tmp_path) as store:
        await keep(store, an_ask())
        async with running(store, clock, nights) as (handed, summaries):
            intake = intake_of(store, clock, nights, summaries)
            await looked(clock)
            clock.advance(HOUR)
            await looked(clock)
            await intake.switch_quiet("off", person=OWNER)
            await looked(clock, until=AFTER_SECONDS)
            clock.advance(AFTER_SECONDS)
            await looked(clock)
            short = Period(NIGHT.start, START + HOUR)
            assert handed.periods == [short]
            clock.advance(NIGHT.end + HOUR - clock.time())
            await looked(clock)
            await intake.switch_quiet(
                "on 1h", person=OWNER
            )  # the night is whole again, and long over
            await looked(clock)
            clock.advance(CLOCK_CHECK_SECONDS)
            await looked(clock)
            assert handed.periods == [short]
        async with running(store, clock, nights) as (handed, _):
            await looked(clock)
            assert not [each for each in handed.periods if each != short]


async def test_without_quiet_hours_there_is_no_timer(tmp_path: Path) -> None:
    for policy in (NightPolicy(), replace(NIGHTLY, summary=False)):
        clock, nights = StillClock(), Nights(policy=policy)
        async with opened(tmp_path) as store, running(store, clock, nights) as (_, summaries):
            await no_timer(clock)
            summaries.look()
            await no_timer(clock)


async def no_timer(clock: StillClock) -> None:
    for _ in range(10):
        await asyncio.sleep(0)
    assert not clock.sleepers


async def test_a_disk_that_is_full_delays_it(tmp_path: Path) -> None:
    clock, nights = StillClock(NIGHT.end + AFTER_SECONDS), Nights(policy=NIGHTLY)
    async with opened(tmp_path) as store:
        await keep(store, an_ask())
        async with failing(tmp_path, "notes"), running(store, clock, nights) as (handed, _):
            await looked(clock)
        assert not handed.periods
        async with running(store, clock, nights) as (handed, _):
            await looked(clock)
            assert handed.periods == [NIGHT]
