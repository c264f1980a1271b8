"""Where a post is: what the store keeps of it says the same again."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.card_messages import (
    BotReaction,
    CardMessages,
    Part,
    from_text,
    to_text,
)
from chatbridge.core.model import View
from tests.chat_places import places


@given(places())
def test_a_place_can_be_read_again(place: CardMessages) -> None:
    text = to_text(place)
    assert from_text(text) == place
    assert json.loads(text)["room"] == place.room  # the store takes text in one piece
    assert "\n" not in text


@given(places())
def test_a_place_of_another_version_is_read_as_far_as_it_can_be(place: CardMessages) -> None:
    stored = json.loads(to_text(place))
    del stored["pages"], stored["raised"]
    stored["colour"] = "blue"
    assert from_text(json.dumps(stored)) == replace(place, pages=(), raised=0)


@given(places(), st.sampled_from(["room", "parts"]))
def test_a_place_without_its_messages_is_none(place: CardMessages, missing: str) -> None:
    stored = json.loads(to_text(place))
    del stored[missing]
    assert from_text(json.dumps(stored)) is None
    assert from_text(json.dumps({**stored, missing: []})) is None
    assert from_text(json.dumps({**json.loads(to_text(place)), "parts": [{"view": "new"}]})) is None


@given(places(), st.integers(0, 10**6))
def test_a_part_takes_the_place_of_the_one_of_its_event_or_comes_last(
    place: CardMessages, number: int
) -> None:
    known = place.parts[number % len(place.parts)]
    changed = Part(event=known.event, step=known.step, view=View.CANCEL, at=9, shows="other")
    found = place.having(changed)
    assert [part.event for part in found.parts] == [part.event for part in place.parts]
    assert found.part(known.event) == changed
    others = [part for part in place.parts if part.event != known.event]
    assert [part for part in found.parts if part.event != known.event] == others
    new = Part(event="$new", step=99, view=View.REVIEW, at=0, shows="new", seeds=(SEED,))
    longer = found.having(new)
    assert (longer.parts, longer.newest, longer.root) == (
        (*found.parts, new),
        new,
        found.parts[0],
    )
    assert place.part("$new") is None


SEED = BotReaction(emoji="1️⃣", event="$seed")
