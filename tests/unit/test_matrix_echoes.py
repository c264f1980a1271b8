"""Which of the bot's messages were there before what is being read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.outbound.visibility import REMEMBERED, OwnEvents


def test_a_message_is_ahead_until_it_has_come_back() -> None:
    own_events = OwnEvents()
    assert not own_events.is_ahead("$a")
    own_events.sent("$a")
    assert own_events.is_ahead("$a")
    own_events.passed("$a")
    assert not own_events.is_ahead("$a")


def test_a_message_that_came_back_before_its_answer_did_is_not_ahead() -> None:
    own_events = OwnEvents()
    own_events.passed("$a")
    own_events.sent("$a")
    assert not own_events.is_ahead("$a")


def test_what_an_earlier_hub_sent_is_ahead_while_it_is_still_to_be_read() -> None:
    own_events = OwnEvents()
    own_events.coming(["$a", "$b"])
    own_events.passed("$a")
    assert (own_events.is_ahead("$a"), own_events.is_ahead("$b")) == (False, True)
    own_events.coming(["$a", "$b"])  # the same batch once more, after a full disk
    assert (own_events.is_ahead("$a"), own_events.is_ahead("$b")) == (False, True)


@given(st.lists(st.tuples(st.sampled_from(["sent", "passed"]), st.integers(0, 5))))
def test_ahead_is_what_was_sent_and_never_passed(calls: list[tuple[str, int]]) -> None:
    own_events = OwnEvents()
    sent: set[str] = set()
    passed: set[str] = set()
    for kind, number in calls:
        event = f"${number}"
        if kind == "sent":
            own_events.sent(event)
            sent.add(event)
        else:
            own_events.passed(event)
            passed.add(event)
        for each in sent | passed:
            assert own_events.is_ahead(each) == (each in sent and each not in passed)


def test_a_thousand_events_are_remembered() -> None:
    own_events = OwnEvents()
    for number in range(REMEMBERED + 1):
        own_events.passed(f"${number}")
    own_events.sent("$1")
    assert not own_events.is_ahead("$1")
    own_events.sent("$0")
    assert own_events.is_ahead("$0")
