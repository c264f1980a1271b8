"""What is counted of asks, how long they took, and the words for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.model import Status
from chatbridge.core.statistics import (
    LISTED,
    QUARTER,
    AskTimes,
    ended_words,
    is_empty,
    statistics_object,
    statistics_of,
    time_words,
)

Json = dict[str, Any]
UNTIL = 30 * 86400.0


def taken(
    *spans: tuple[float, int],
    status: Status = Status.ANSWERED,
    approval: bool = False,
    project: str = "shop",
    agent: str = "Claude",
    unheard: Sequence[tuple[float, int]] = (),
) -> AskTimes:
    """Of each ask when it was asked, and its seconds."""

    def columns(given: Sequence[tuple[float, int]]) -> tuple[list[int], list[int]]:
        return [int(at // QUARTER) for at, _ in given], [seconds for _, seconds in given]

    return AskTimes(
        project=project,
        agent=agent,
        approval=approval,
        status=status,
        taken=columns(spans),
        unheard=columns(unheard),
    )


def counted(*times: AskTimes, offset_of: Callable[[float], int] = lambda at: 0) -> Json:
    stats = statistics_of(times, since=0.0, until=UNTIL, offset_of=offset_of)
    found = statistics_object(stats)
    return dict(json.loads(json.dumps(found)))


def test_questions_are_counted_by_how_they_ended() -> None:
    found = counted(
        taken((0, 10), (0, 20)),
        taken((0, 600), status=Status.TIMED_OUT),
        taken((0, 30), status=Status.CANCELLED),
        taken((0, 40), status=Status.WITHDRAWN),
        taken((0, 50), status=Status.OPEN),
    )
    assert found["total"]["questions"] == {
        "asked": 6, "answered": 2, "timedOut": 1, "cancelled": 1, "withdrawn": 1, "open": 1,
    }  # fmt: skip
    assert found["total"]["waitedSeconds"] == 750


@pytest.mark.parametrize(
    ("seconds", "median", "worst"),
    [([7], 7, 7), ([1, 9], 1, 9), ([900, 1, 3], 3, 900), ([4, 2, 8, 6], 4, 8), ([], None, None)],
)
def test_median_and_worst_are_those_of_the_answered_questions(
    seconds: list[int], median: int | None, worst: int | None
) -> None:
    answered = [taken(*((0, each) for each in seconds))] if seconds else []
    found = counted(*answered, taken((0, 28_800), status=Status.TIMED_OUT))
    assert (found["total"]["medianSeconds"], found["total"]["worstSeconds"]) == (median, worst)


def test_the_total_has_the_median_of_all_and_not_one_of_medians() -> None:
    quick = taken(*((0, each) for each in (1, 2, 3, 4, 5)))
    found = counted(quick, taken((0, 900), agent="Codex"))
    assert found["total"]["medianSeconds"] == 3
    assert [agent["medianSeconds"] for agent in found["agents"]] == [900, 3]


def test_approvals_are_waited_for_but_are_no_questions() -> None:
    found = counted(
        taken((0, 60)),
        taken((0, 7), approval=True),
        taken((3600, 1_000), approval=True, status=Status.TIMED_OUT),
    )
    total = found["total"]
    assert total["questions"]["asked"] == 1
    assert (total["approvals"]["asked"], total["approvals"]["timedOut"]) == (2, 1)
    assert (total["medianSeconds"], total["worstSeconds"]) == (60, 60)
    assert total["waitedSeconds"] == 1_067
    assert [(hour["asked"], hour["waitedSeconds"]) for hour in found["hours"][:2]] == [
        (1, 67),
        (0, 1_000),
    ]


def test_an_agent_that_has_gone_does_not_wait_but_its_answer_took_as_long() -> None:
    found = counted(taken((7_200, 30_000), unheard=[(7_200, 29_000)]))
    assert found["total"]["waitedSeconds"] == 1_000
    assert found["total"]["worstSeconds"] == 30_000
    assert found["hours"][2]["waitedSeconds"] == 1_000


def ahead_in(zone: ZoneInfo) -> Callable[[float], int]:
    def ahead(at: float) -> int:
        offset = datetime.fromtimestamp(at, zone).utcoffset()
        assert offset is not None
        return int(offset.total_seconds())

    return ahead


@pytest.mark.parametrize("name", ["Asia/Kathmandu", "Europe/Berlin", "America/St_Johns"])
@given(day=st.integers(0, 364), minute=st.integers(0, 24 * 60 - 1))
def test_hours_are_those_of_the_zone_on_every_day_of_a_year(
    name: str, day: int, minute: int
) -> None:
    zone = ZoneInfo(name)
    at = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + day * 86400.0 + minute * 60.0
    found = counted(taken((at, 5)), offset_of=ahead_in(zone))["hours"]
    expected = datetime.fromtimestamp(at, zone).hour
    assert [it["hour"] for it in found if it["asked"]] == [expected]
    assert found[expected]["waitedSeconds"] == 5


def test_the_hour_after_a_change_of_clocks_is_the_one_on_the_wall() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    times = [datetime(2026, 3, day, 3, 10, tzinfo=berlin).timestamp() for day in (28, 29)]
    assert times[1] - times[0] == 23 * 3600  # an hour was left out in that night
    found = counted(taken(*((at, 5) for at in times)), offset_of=ahead_in(berlin))
    assert found["hours"][3]["asked"] == 2


def test_agents_are_apart_and_who_waited_most_comes_first() -> None:
    found = counted(
        taken((0, 10)),
        taken((0, 99), status=Status.TIMED_OUT),
        taken((0, 500), project="infra"),
        taken((0, 50), agent="Codex"),
    )
    assert [(it["project"], it["agent"], it["waitedSeconds"]) for it in found["agents"]] == [
        ("infra", "Claude", 500),
        ("shop", "Claude", 109),
        ("shop", "Codex", 50),
    ]


def test_an_agent_with_very_many_names_fills_no_screen_and_is_still_counted() -> None:
    found = counted(*(taken((0, 1), agent=f"agent {number}") for number in range(LISTED + 20)))
    assert len(found["agents"]) == LISTED
    assert found["agentsNotListed"] == 20
    assert found["total"]["questions"]["asked"] == LISTED + 20


def test_nothing_asked_is_empty_and_an_approval_alone_is_not() -> None:
    empty = counted()
    assert is_empty(empty)
    assert len(empty["hours"]) == 24
    assert not is_empty(counted(taken((0, 1), approval=True)))


def test_words_say_only_what_there_was() -> None:
    (agent,) = counted(taken((0, 252), (0, 10), (0, 32_400)))["agents"]
    assert ended_words(agent) == "3 questions: 3 answered"
    assert time_words(agent) == (
        "Median answer after 4 min 12 s, worst after 9 h · Waited 9 h 4 min"
    )
    (agent,) = counted(taken((0, 61), status=Status.TIMED_OUT, approval=True))["agents"]
    assert ended_words(agent) == "1 approval (1 denied by silence)"
    assert time_words(agent) == "Waited 1 min 1 s"
    several = [taken((0, 1), status=status) for status in (Status.OPEN, Status.TIMED_OUT)]
    (agent,) = counted(*several, taken((0, 1), (0, 1), approval=True))["agents"]
    assert ended_words(agent) == "2 questions: 1 timed out, 1 still open · 2 approvals"
