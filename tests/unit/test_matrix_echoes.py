"""Which of the bot's messages were there before what is being read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.outbound.visibility import REMEMBERED, Echoes


def test_a_message_is_ahead_until_it_has_come_back() -> None:
    echoes = Echoes()
    assert not echoes.is_ahead("$a")
    echoes.sent("$a")
    assert echoes.is_ahead("$a")
    echoes.passed("$a")
    assert not echoes.is_ahead("$a")


def test_a_message_that_came_back_before_its_answer_did_is_not_ahead() -> None:
    echoes = Echoes()
    echoes.passed("$a")
    echoes.sent("$a")
    assert not echoes.is_ahead("$a")


def test_what_an_earlier_hub_sent_is_ahead_while_it_is_still_to_be_read() -> None:
    echoes = Echoes()
    echoes.coming(["$a", "$b"])
    echoes.passed("$a")
    assert (echoes.is_ahead("$a"), echoes.is_ahead("$b")) == (False, True)
    echoes.coming(["$a", "$b"])  # the same batch once more, after a full disk
    assert (echoes.is_ahead("$a"), echoes.is_ahead("$b")) == (False, True)


@given(st.lists(st.tuples(st.sampled_from(["sent", "passed"]), st.integers(0, 5))))
def test_ahead_is_what_was_sent_and_never_passed(calls: list[tuple[str, int]]) -> None:
    echoes = Echoes()
    sent: set[str] = set()
    passed: set[str] = set()
    for kind, number in calls:
        event = f"${number}"
        if kind == "sent":
            echoes.sent(event)
            sent.add(event)
        else:
            echoes.passed(event)
            passed.add(event)
        for each in sent | passed:
            assert echoes.is_ahead(each) == (each in sent and each not in passed)


def test_a_thousand_events_are_remembered() -> None:
    echoes = Echoes()
    for number in range(REMEMBERED + 1):
        echoes.passed(f"${number}")
    echoes.sent("$1")
    assert not echoes.is_ahead("$1")
    echoes.sent("$0")
    assert echoes.is_ahead("$0")
