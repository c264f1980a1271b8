"""Where a post is: what other versions have stored of it is read as far as it can be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chatbridge.channels.chat.card_messages import (
    ALL_SENT,
    CardMessages,
    Part,
    Prompt,
    SentFiles,
)
from chatbridge.channels.telegram.outbound.card_messages import from_text, to_text

PLACE = CardMessages(
    room="7",
    parts=(Part(event="8", step=2),),
    since=9.5,
    topic="3",
    again=True,
    pages=("",),
    prompt=Prompt(id="10", step=2),
    old=("4", "5"),
    above="6",
    raised=2,
    raising=3,
    files=SentFiles(missing=("ab12",), shrunk=True),
)
STORED = (
    '{"chat":7,"card":8,"step":2,"since":9.5,"thread":3,"again":true,"files":1,'
    '"prompt":{"id":10,"step":2},"old":[4,5],"above":6,"raised":2,"raising":3,'
    '"attached":{"missing":["ab12"],"shrunk":true}}'
)


def test_a_place_can_be_read_again() -> None:
    assert to_text(PLACE) == STORED
    assert from_text(STORED) == PLACE


def test_what_an_earlier_version_did_not_store_has_its_default() -> None:
    """As before cards could take the place of others."""
    stored = json.loads(to_text(PLACE))
    del stored["old"], stored["above"], stored["attached"]
    found = from_text(json.dumps({**stored, "drawn": "8489a4449b3bd482"}))
    assert found == replace(PLACE, old=(), above="", files=ALL_SENT)


def test_what_a_later_version_stores_beside_it_is_ignored() -> None:
    stored = {**json.loads(to_text(PLACE)), "colour": "blue"}
    assert from_text(json.dumps(stored)) == PLACE


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"chat": 7}', '{"chat": 7, "card": "a"}'])
def test_a_place_without_its_message_is_none(text: str) -> None:
    assert from_text(text) is None
