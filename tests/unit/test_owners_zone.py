"""Times are said in the owner's time zone, whatever the computer's is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from chatbridge.core.cards.phrases import clock_time, format_time, use_zone
from chatbridge.core.model import Status
from chatbridge.core.statistics import QUARTER, AskTimes, statistics_of

SUMMER, WINTER = (datetime(2026, month, 5, 22, 15, tzinfo=UTC).timestamp() for month in (7, 1))


@pytest.fixture(autouse=True)
def computers_zone_afterwards() -> Iterator[None]:
    yield
    use_zone(None)


def test_all_times_are_in_the_owners_zone_with_its_summer_time() -> None:
    before = dict(os.environ)
    use_zone(ZoneInfo("Australia/Lord_Howe"))
    assert (clock_time(SUMMER), clock_time(WINTER)) == ("08:45", "09:15")
    assert format_time(SUMMER, now=SUMMER + 30 * 3600) == "Mon 08:45"
    assert dict(os.environ) == before  # commands that agents start keep the computer's zone


def test_without_one_they_are_in_the_computers() -> None:
    use_zone(ZoneInfo("Australia/Lord_Howe"))
    use_zone(None)
    assert clock_time(SUMMER) == time.strftime("%H:%M", time.localtime(SUMMER))


def test_statistics_count_by_the_hours_of_the_owner() -> None:
    use_zone(ZoneInfo("Australia/Lord_Howe"))
    spans = [int(at // QUARTER) for at in (SUMMER, WINTER)], [5, 5]
    asked = AskTimes(
        project="shop-api", agent="Claude", approval=False, status=Status.ANSWERED, taken=spans
    )
    found = statistics_of([asked], since=WINTER, until=SUMMER + 60)
    assert found.asked[Status.ANSWERED] == {8: 1, 9: 1}
