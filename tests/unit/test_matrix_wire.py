"""Whatever is in an event, what the channel gets of it has the promised form."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.client.events import (
    LONGEST_ID,
    Mark,
    Relation,
    RoomEvent,
    event_from,
    mark,
    marked,
    relation,
)

ROOM = "!room:example.org"

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, -(10**400), "", "\ud800", "join", "m.thread", "$a", "$" * 256])
)
_keys = st.sampled_from(
    [
        *("event_id", "sender", "type", "content", "origin_server_ts", "state_key", "redacts"),
        *("unsigned", "prev_content", "membership", "redacted_because", "m.relates_to"),
        *("rel_type", "key", "m.in_reply_to", "is_falling_back", "chatbridge.card", "ask", "step"),
    ]
)
json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=8),
    max_leaves=12,
)
contents = st.dictionaries(_keys, json_values, max_size=6)


@given(
    json_values
    | st.fixed_dictionaries(
        {"event_id": st.just("$a"), "sender": st.just("@a:b"), "type": st.just("m.x")},
        optional={
            "content": json_values | contents,
            "origin_server_ts": json_values,
            "state_key": json_values,
            "redacts": json_values,
            "unsigned": json_values | contents,
        },
    ),
    st.booleans(),
)
def test_any_json_is_an_event_of_the_promised_form_or_none(source: Any, unreadable: bool) -> None:
    event = event_from(source, room=ROOM, unreadable=unreadable)
    if event is None:
        return
    assert (event.room, event.unreadable) == (ROOM, unreadable)
    for text in (event.id, event.sender, event.type):
        assert isinstance(text, str)
        assert text
    assert isinstance(event.content, dict)
    assert type(event.at) is float
    assert math.isfinite(event.at)
    assert isinstance(event.state_key, str | None)
    assert event.redacts is None or event.redacts.startswith("$")
    assert type(event.redacted) is type(event.still_in) is bool


@given(contents)
def test_any_content_has_a_relation_of_the_promised_form(content: dict[str, Any]) -> None:
    found = relation(content)
    for text in (found.kind, found.key):
        assert isinstance(text, str | None)
        assert text != ""
    for event in (found.event, found.reply_to):
        assert event is None or (event.startswith("$") and len(event) <= LONGEST_ID)
    assert type(found.falling_back) is bool
    made = mark(content)
    assert made is None or (made.ask_id != "" and type(made.step) is int)


@given(st.text(min_size=1), st.integers())
def test_a_mark_can_be_read_again(ask_id: str, step: int) -> None:
    made = Mark(ask_id=ask_id, step=step)
    assert mark({"body": "a card", **marked(made)}) == made


@pytest.mark.parametrize(
    "found",
    [None, "a", [], {}, {"ask": "a"}, {"step": 1}, {"ask": "", "step": 1}, {"ask": 7, "step": 1}]
    + [{"ask": "a", "step": step} for step in (True, 1.0, "1", None, [1])],
)
def test_what_is_only_like_a_mark_is_none(found: object) -> None:
    assert mark({"chatbridge.card": found}) is None


def an_event(**changes: object) -> RoomEvent | None:
    plain = {
        "event_id": "$a",
        "sender": "@ada:example.org",
        "type": "m.room.redaction",
        "content": {},
        "origin_server_ts": 1500,
    }
    return event_from({**plain, **changes}, room=ROOM)


@pytest.mark.parametrize("lacking", ["event_id", "sender", "type", "content"])
def test_an_event_without_what_every_event_has_is_none(lacking: str) -> None:
    assert an_event(**{lacking: None}) is None
    assert an_event(**{lacking: ""}) is None
    assert an_event(**{lacking: 7}) is None


def test_what_a_redaction_removes_is_found_in_rooms_of_every_version() -> None:
    for event in (an_event(redacts="$b"), an_event(content={"redacts": "$b"})):
        assert event is not None
        assert (event.redacts, event.at) == ("$b", 1.5)


@pytest.mark.parametrize(
    ("unsigned", "still"),
    [
        ({"prev_content": {"membership": "join"}}, True),
        ({"prev_content": {"membership": "invite"}}, False),
        ({"prev_content": "join"}, False),
        (None, False),
    ],
)
def test_who_was_in_the_room_before_is_still_in(unsigned: object, still: bool) -> None:
    event = an_event(unsigned=unsigned)
    assert event is not None
    assert event.still_in is still


def test_a_message_in_a_thread_says_which_and_whether_it_replies() -> None:
    content = {
        "m.relates_to": {
            "rel_type": "m.thread",
            "event_id": "$root",
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": "$last"},
        }
    }
    expected = Relation(kind="m.thread", event="$root", reply_to="$last", falling_back=True)
    assert relation(content) == expected
