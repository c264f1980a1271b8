"""Quiet hours as periods of time, against the clock on the wall of each zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.model import QuietRule
from chatbridge.core.nights.hours import (
    MINUTES_OF_A_DAY,
    WEEK_SECONDS,
    Calendar,
    Period,
    QuietHours,
    Switch,
    parse_rule,
)

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
LORD_HOWE, TOKYO = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Tokyo")
NIGHT = QuietRule(hours=("22:30-07:00",) * 7, zone="Europe/Berlin")

CHANGES = [
    datetime(2026, 3, 29, 1, tzinfo=UTC),  # Berlin, forward
    datetime(2026, 10, 25, 1, tzinfo=UTC),  # Berlin, back
    datetime(2026, 3, 8, 7, tzinfo=UTC),  # New York, forward
    datetime(2026, 11, 1, 6, tzinfo=UTC),  # New York, back
    datetime(2026, 10, 3, 15, 30, tzinfo=UTC),  # Lord Howe, forward by half an hour
    datetime(2026, 4, 4, 15, tzinfo=UTC),  # Lord Howe, back by half an hour
]
zones = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, TOKYO])
minutes = st.integers(0, MINUTES_OF_A_DAY - 1) | st.sampled_from([0, 90, 105, 120, 150, 170, 180])
windows = st.tuples(minutes, minutes | st.just(MINUTES_OF_A_DAY)).filter(lambda it: it[0] != it[1])
weeks = st.lists(st.lists(windows, max_size=2).map(tuple), min_size=7, max_size=7).map(tuple)
moments = st.builds(
    lambda change, minutes: (change + timedelta(minutes=minutes)).timestamp(),
    st.sampled_from(CHANGES),
    st.integers(-2 * MINUTES_OF_A_DAY, 2 * MINUTES_OF_A_DAY),
)


@st.composite
def hours(draw: st.DrawFn) -> QuietHours:
    found = QuietHours(draw(weeks), draw(zones))
    texts = tuple(",".join(map(written, day)) for day in found.windows)
    try:
        return parse_rule(QuietRule(hours=texts, zone=found.zone.key if found.zone else None))
    except ValueError:  # quiet all week long
        return QuietHours(((),) * 7, found.zone)


def written(window: tuple[int, int]) -> str:
    start, end = window
    return f"{start // 60:02}:{start % 60:02}-{end // 60}:{end % 60:02}"


def wall(text: str, zone: ZoneInfo, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def quiet_by_the_wall(hours: QuietHours, at: float) -> bool:
    there = datetime.fromtimestamp(at, hours.zone)
    minute = there.hour * 60 + there.minute
    of_today = hours.windows[there.weekday()]
    of_yesterday = hours.windows[(there.weekday() - 1) % 7]
    return any(
        start <= minute < end if start < end else start <= minute for start, end in of_today
    ) or any(minute < end for start, end in of_yesterday if start >= end)


def is_repeated(zone: ZoneInfo | None, at: float) -> bool:
    """Whether the clock on the wall shows this time twice."""
    there = datetime.fromtimestamp(at, zone)
    return there.replace(fold=0).utcoffset() != there.replace(fold=1).utcoffset()


@given(hours(), moments)
def test_it_is_quiet_when_the_clock_on_the_wall_says_so(hours: QuietHours, at: float) -> None:
    quiet = Calendar((hours,)).period_at(at) is not None
    if quiet_by_the_wall(hours, at):
        assert quiet
    elif quiet:
        assert is_repeated(hours.zone, at)


@given(hours(), moments)
def test_periods_rise_do_not_touch_and_contain_the_moment(hours: QuietHours, at: float) -> None:
    calendar = Calendar((hours,))
    period, last, end = calendar.period_at(at), calendar.last(at), calendar.end_after(at)
    if period is not None:
        assert period.start <= at < period.end
        assert end == period.end
        assert calendar.period_at(period.end) is None
        assert period.end - period.start < WEEK_SECONDS
    if last is not None:
        assert last.start < last.end <= at
        assert period is None or last.end < period.start
    if any(hours.windows):
        assert end is not None
        assert end > at


@given(hours(), hours(), moments)
def test_a_projects_hours_only_add_to_the_owners(
    owners: QuietHours, project: QuietHours, at: float
) -> None:
    alone, both = Calendar((owners,)), Calendar((owners,), project=project)
    mine, together = alone.period_at(at), both.period_at(at)
    if mine is not None:
        assert together is not None
        assert together.start <= mine.start
        assert together.end >= mine.end
    if together is not None:
        assert together.end - together.start <= WEEK_SECONDS
        assert mine or Calendar((project,)).period_at(at)


@given(hours(), hours(), moments, st.integers(1, 600), st.booleans())
def test_a_switch_counts_for_its_period_and_never_ends_a_projects_hours(
    owners: QuietHours, project: QuietHours, at: float, minutes: int, on: bool
) -> None:
    switch = Switch(on, Period(at, at + minutes * 60.0))
    switched = Calendar((owners,), switch)
    for moment in (at, at + minutes * 30.0, at + minutes * 60.0 - 1):
        assert (switched.period_at(moment) is not None) == on
    for outside in (at - 1, at + minutes * 60.0):
        before = Calendar((owners,)).period_at(outside)
        assert (switched.period_at(outside) is None) == (before is None)
    theirs = Calendar((), project=project).period_at(at)
    if theirs is not None and not on:
        assert Calendar((owners,), switch, project).period_at(at) is not None


@pytest.mark.parametrize(
    ("zone", "night", "hours"),
    [
        (BERLIN, "2026-03-28", 7.5),
        (BERLIN, "2026-10-24", 9.5),
        (NEW_YORK, "2026-03-07", 7.5),
        (NEW_YORK, "2026-10-31", 9.5),
        (LORD_HOWE, "2026-10-03", 8.0),
        (LORD_HOWE, "2026-04-04", 9.0),
        (TOKYO, "2026-03-28", 8.5),
    ],
)
def test_a_night_in_which_the_clocks_change_begins_and_ends_by_the_wall(
    zone: ZoneInfo, night: str, hours: float
) -> None:
    rule = QuietRule(hours=("22:30-07:00",) * 7, zone=zone.key)
    start = wall(f"{night} 22:30", zone)
    period = Calendar((parse_rule(rule),)).period_at(start)
    assert period is not None
    assert period.start == start
    assert f"{datetime.fromtimestamp(period.end, zone):%H:%M}" == "07:00"
    assert period.end - period.start == hours * 3600


def test_where_the_clock_is_set_back_the_earlier_start_and_the_later_end_count() -> None:
    starts = parse_rule(QuietRule(hours=("02:30-07:00",) * 7, zone="Europe/Berlin"))
    ends = parse_rule(QuietRule(hours=("22:30-02:30",) * 7, zone="Europe/Berlin"))
    first, second = (wall("2026-10-25 02:30", BERLIN, fold=fold) for fold in (0, 1))
    started, ended = Calendar((starts,)).period_at(second), Calendar((ends,)).period_at(first)
    assert started is not None
    assert ended is not None
    assert (started.start, ended.end) == (first, second)


def test_a_time_that_the_clock_skips_is_the_one_to_which_it_skips() -> None:
    skips = wall("2026-03-29 03:00", BERLIN)
    for text, start, end in [
        ("02:30-07:00", skips, wall("2026-03-29 07:00", BERLIN)),
        ("22:30-02:30", wall("2026-03-28 22:30", BERLIN), skips),
        ("02:10-03:05", skips, skips + 300),
    ]:
        rule = parse_rule(QuietRule(hours=(text,) * 7, zone="Europe/Berlin"))
        assert Period(start, end) in rule.around(skips)
    nothing = parse_rule(QuietRule(hours=("02:10-02:40",) * 7, zone="Europe/Berlin"))
    assert not [period for period in nothing.around(skips) if abs(period.start - skips) < 7200]


def test_a_window_belongs_to_the_day_on_which_it_begins() -> None:
    friday = ("", "", "", "", "23:00-08:00", "", "")
    calendar = Calendar((parse_rule(QuietRule(hours=friday, zone="Asia/Tokyo")),))
    assert calendar.period_at(wall("2026-11-20 23:30", TOKYO)) is not None  # a Friday
    assert calendar.period_at(wall("2026-11-21 07:59", TOKYO)) is not None
    assert calendar.period_at(wall("2026-11-21 23:30", TOKYO)) is None
    assert calendar.end_after(wall("2026-11-21 08:00", TOKYO)) == wall("2026-11-28 08:00", TOKYO)


def test_windows_that_touch_are_one_period() -> None:
    rule = QuietRule(hours=("20:00-24:00, 00:00-06:00, 05:00-07:30",) * 7, zone="Asia/Tokyo")
    period = Calendar((parse_rule(rule),)).period_at(wall("2026-11-20 23:59", TOKYO))
    assert period == Period(wall("2026-11-20 20:00", TOKYO), wall("2026-11-21 07:30", TOKYO))


def test_an_owner_and_a_project_in_two_zones_make_one_long_night() -> None:
    project = parse_rule(QuietRule(hours=("22:00-06:00",) * 7, zone="America/New_York"))
    calendar = Calendar((parse_rule(NIGHT),), project=project)
    period = calendar.period_at(wall("2026-11-20 23:00", BERLIN))
    assert period == Period(
        wall("2026-11-20 22:30", BERLIN),
        wall("2026-11-21 06:00", NEW_YORK),
    )


def test_hours_of_a_project_that_leave_no_time_beside_the_owners_do_not_count() -> None:
    project = parse_rule(QuietRule(hours=("06:00-23:00",) * 7, zone="Europe/Berlin"))
    calendar = Calendar((parse_rule(NIGHT),), project=project)
    assert calendar.period_at(wall("2026-11-20 12:00", BERLIN)) is None
    assert calendar.period_at(wall("2026-11-20 23:00", BERLIN)) is not None


def test_nothing_is_quiet_without_hours() -> None:
    assert Calendar().period_at(0.0) is None
    assert Calendar().end_after(0.0) is None
    assert Calendar((parse_rule(QuietRule(hours=("",) * 7)),)).period_at(0.0) is None
