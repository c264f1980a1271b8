"""How often a stranger is worth a line in the log."""

from __future__ import annotations

import pytest

from chatbridge.channels.chat.people import (
    LOG_EVERY_SECONDS,
    LOG_SAME_EVERY_SECONDS,
    MAX_REMEMBERED,
    Allowlist,
)
from tests.fakes.clock import StillClock


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def strangers(clock: StillClock) -> Allowlist[str]:
    return Allowlist("matrix", ["@ada:example.org"], clock=clock)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_the_owner_finds_the_id_to_add_in_the_log(
    strangers: Allowlist[str], caplog: pytest.LogCaptureFixture
) -> None:
    strangers.allows("@eve:example.org")
    assert said(caplog) == [
        "matrix: the person @eve:example.org is not in matrix.allowed_users and was ignored"
    ]


def test_an_id_from_a_foreign_server_forges_no_line_in_the_log(
    strangers: Allowlist[str], caplog: pytest.LogCaptureFixture
) -> None:
    strangers.allows("@eve\n2026-11-15 INFO all is well\u202e\x1b[2J:evil.example" + "x" * 9000)
    (line,) = said(caplog)
    assert line.startswith("matrix: the person @eve 2026-11-15 INFO all is well⟨U+202E⟩⟨U+001B⟩[2J")
    assert len(line) < 400
    assert line.isprintable()


def test_the_same_stranger_is_named_once_an_hour(
    strangers: Allowlist[str], clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        strangers.allows("@eve:example.org")
    clock.advance(LOG_SAME_EVERY_SECONDS - 1)
    strangers.allows("@eve:example.org")
    assert len(said(caplog)) == 1
    clock.advance(1)
    strangers.allows("@eve:example.org")
    assert len(said(caplog)) == 2


def test_a_crowd_of_strangers_is_one_line_a_minute(
    strangers: Allowlist[str], clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(500):
        strangers.allows(f"@eve{number}:example.org")
    assert len(said(caplog)) == 1
    clock.advance(LOG_EVERY_SECONDS)
    strangers.allows("@mallory:example.org")
    assert "@mallory:example.org" in said(caplog)[-1]
    assert len(said(caplog)) == 2


def test_setting_the_clock_changes_nothing_about_it(
    strangers: Allowlist[str], clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    strangers.allows("@eve:example.org")
    clock.step(10 * LOG_SAME_EVERY_SECONDS)
    strangers.allows("@eve:example.org")
    assert len(said(caplog)) == 1


def test_after_very_many_strangers_the_next_one_is_still_named(
    strangers: Allowlist[str], clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2 * MAX_REMEMBERED + 1):
        strangers.allows(f"@eve{number}:example.org")
        clock.advance(LOG_EVERY_SECONDS)
    assert len(said(caplog)) == 2 * MAX_REMEMBERED + 1
