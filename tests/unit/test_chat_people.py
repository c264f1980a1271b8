"""Who may answer, what they are called, and how often a stranger is worth a line in the log."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given

from chatbridge.channels.chat.people import (
    LOG_EVERY_SECONDS,
    LOG_SAME_EVERY_SECONDS,
    MAX_NAME_CHARACTERS,
    MAX_REMEMBERED,
    Allowlist,
    display_name,
)
from chatbridge.channels.matrix.channel import NOBODY, MatrixChannel
from chatbridge.channels.matrix.settings import Matrix
from tests import strategies as some
from tests.fakes.clock import StillClock

ADA, BOB, EVE, BOT = (f"@{name}:example.org" for name in ("ada", "bob", "eve", "bot"))


def people(*allowed: str) -> Allowlist[str]:
    return Allowlist("matrix", allowed, bot=BOT, clock=StillClock())


def test_only_those_on_the_list_may_answer_and_an_empty_list_is_nobody() -> None:
    assert people(ADA).allows(ADA)
    assert not people(ADA).allows(EVE)
    assert not people().allows(ADA)
    assert not people().allows("")


@pytest.mark.parametrize("like", ["@ADA:example.org", "@ada:example.org.evil", "@ada", f"{ADA} "])
def test_an_id_that_is_only_like_one_on_the_list_is_a_stranger(like: str) -> None:
    assert not people(ADA).allows(like)


def test_the_bot_itself_may_not_answer_even_if_it_is_on_the_list() -> None:
    both = people(ADA, BOT)
    assert not both.allows(BOT)
    assert both.among([BOT, ADA]) == [ADA]


def test_a_list_with_the_bot_alone_is_an_empty_one(tmp_path: Path) -> None:
    table = Matrix.model_validate(
        {
            "homeserver": "http://127.0.0.1:9",
            "user_id": BOT,
            "access_token": "token",
            "allowed_users": [BOT],
        }
    )
    channel = MatrixChannel(table, folder=tmp_path, clock=StillClock())
    assert (list(channel.surfaces), channel.trouble) == ([], NOBODY)


def test_strangers_are_all_others_but_the_bot() -> None:
    some_of_us = people(BOB, ADA)
    members = [BOT, EVE, BOB, ADA, "@mallory:example.org"]
    assert some_of_us.among(members) == [ADA, BOB]
    assert some_of_us.strangers_among(members) == 2
    assert some_of_us.strangers_among([BOT, ADA]) == 0
    assert people().strangers_among([BOT, ADA]) == 1


@given(some.texts | some.big_texts)
def test_whatever_a_person_is_called_it_is_one_short_line_without_tricks(name: str) -> None:
    called = display_name(name, ADA)
    assert 0 < len(called) <= MAX_NAME_CHARACTERS
    assert called.strip()
    assert not set(called) & set("\n\r\t\u202e\u2066\u2069\u200b\x00\x1b")
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in called)


@pytest.mark.parametrize("name", ["", " ", "\n\t"])
def test_who_has_no_name_goes_by_the_id(name: str) -> None:
    assert display_name(name, ADA) == ADA


# ── strangers in the log ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def strangers(clock: StillClock) -> Allowlist[str]:
    return Allowlist("matrix", [ADA], clock=clock)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_the_owner_finds_the_id_to_add_in_the_log(
    strangers: Allowlist[str], caplog: pytest.LogCaptureFixture
) -> None:
    strangers.allows(EVE)
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
        strangers.allows(EVE)
    clock.advance(LOG_SAME_EVERY_SECONDS - 1)
    strangers.allows(EVE)
    assert len(said(caplog)) == 1
    clock.advance(1)
    strangers.allows(EVE)
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
    strangers.allows(EVE)
    clock.step(10 * LOG_SAME_EVERY_SECONDS)
    strangers.allows(EVE)
    assert len(said(caplog)) == 1


def test_after_very_many_strangers_the_next_one_is_still_named(
    strangers: Allowlist[str], clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2 * MAX_REMEMBERED + 1):
        strangers.allows(f"@eve{number}:example.org")
        clock.advance(LOG_EVERY_SECONDS)
    assert len(said(caplog)) == 2 * MAX_REMEMBERED + 1
