"""Who may answer, and what they are called."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given

from chatbridge.channels.chat.people import MAX_NAME_CHARACTERS, Allowlist, display_name
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
